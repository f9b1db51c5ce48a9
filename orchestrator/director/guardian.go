package director

import (
	"fmt"
	"math"
	"time"

	"github.com/convene-go/convene/grading"
)

// trajectory is where a worker's alignment goes.
type trajectory string

const (
	improving trajectory = "IMPROVING"
	stable    trajectory = "STABLE"
	worsening trajectory = "WORSENING"
)

// trajectoryOf compares the last two alignments, from 0 to 100; fewer are stable.
func trajectoryOf(alignments []float64) trajectory {
	n := len(alignments)
	if n < 2 {
		return stable
	}
	before, now := grading.Round6(alignments[n-2]), grading.Round6(alignments[n-1])
	switch {
	case now > before:
		return improving
	case now < before:
		return worsening
	}
	return stable
}

// drift is the guardian's verdict on a worker.
type drift string

const (
	onTrack    drift = "ON_TRACK"
	recovering drift = "RECOVERING" // far off and coming back: it gets time
	drifting   drift = "DRIFTING"
	inCircles  drift = "BLOCKED" // it repeats what has failed
	stalled    drift = "STALLED"
)

// check is what the guardian goes by.
type check struct {
	alignment     float64 // 0 to 100
	trajectory    trajectory
	repeating     bool // it goes in circles
	nudgesIgnored int  // in a row, by countIgnored
	inactive      bool // no new message for too long, or the task's time is over
}

// These are the bounds of the verdicts and tones. Each belongs to the better side.
const (
	alignedFrom    = 70
	offTopicFrom   = 50
	offCourseFrom  = 25
	nudgesAtMost   = 2
	gentle, direct = "gentle", "direct"
	firm           = "firm"
)

// countIgnored returns how many nudges in a row were ignored, after a check that may have
// followed a nudge. It runs before verdict. A nudge was heeded if the worker improves, or is
// aligned and does not repeat itself.
func countIgnored(before int, nudged bool, c check) int {
	switch {
	case c.trajectory == improving, grading.Round6(c.alignment) >= alignedFrom && !c.repeating:
		return 0
	case nudged:
		return before + 1
	}
	return before
}

// verdict returns the first that fits of: stalled, in circles, on track, drifting,
// recovering.
func (c check) verdict() drift {
	a := grading.Round6(c.alignment)
	better := c.trajectory == improving
	switch {
	case c.ends(), a < offCourseFrom && !better:
		return stalled
	case c.repeating:
		return inCircles
	case a >= alignedFrom, a >= offTopicFrom && better:
		return onTrack
	case !better:
		return drifting
	}
	return recovering
}

// ends says whether the attempt is ended, and not nudged any more: it is inactive, or has
// ignored too many nudges and does not improve.
func (c check) ends() bool {
	return c.inactive || c.nudgesIgnored >= nudgesAtMost && c.trajectory != improving
}

// tone returns how a worker is nudged; "": not at all.
func tone(v drift, alignment float64) string {
	a := grading.Round6(alignment)
	switch {
	case v == onTrack || v == recovering:
		return ""
	case a >= offTopicFrom:
		return gentle
	case a >= offCourseFrom:
		return direct
	}
	return firm
}

// checkDue says whether a check falls due, after so many tool calls and so long since the
// last one. Both bounds are included; an interval of 0 or less is none.
func checkDue(calls, everyCalls int, elapsed, every time.Duration) bool {
	return everyCalls > 0 && calls >= everyCalls || every > 0 && elapsed >= every
}

// interval adapts the number of tool calls between two checks to the risk of a task, from 0
// to 1; nil is 0.5. A task without risk is looked at two thirds as often, one of the
// highest twice as often.
func interval(base int, risk *float64) (int, error) {
	r := 0.5
	if risk != nil {
		r = *risk
	}
	if !(r >= 0 && r <= 1) { // also refuses NaN
		return 0, fmt.Errorf("director: risk is %v, want 0 to 1", r)
	}
	return max(1, int(math.Floor(grading.Round6(float64(base)*(1.5-r))+0.5))), nil
}
