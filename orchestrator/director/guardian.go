package director

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/convene-go/convene/grading"
)

// Conduct is the argument of a gate of the guardian: how a worker does, after a check or
// without one.
type Conduct struct {
	Alignment  float64   // how well the worker serves its task, 0 to 100; Inactive: at the last check
	Earlier    []float64 // alignments of earlier checks of the attempt, the oldest first
	Trajectory string    // IMPROVING, STABLE or WORSENING
	Repeating  bool      // the worker goes in circles
	Nudged     bool      // the worker was nudged after the last check
	Ignored    int       // nudges in a row that it had ignored before this check
	Inactive   bool      // it said nothing for Inactivity, or its time is over; nobody has looked
}

// Course is what becomes of a worker after a check.
type Course struct {
	Verdict string // ON_TRACK, RECOVERING, DRIFTING, BLOCKED or STALLED
	Tone    string // tone of a nudge: gentle, direct or firm; "": the worker is not nudged
	Ends    bool   // the attempt fails; Tone is not used
	Ignored int    // nudges in a row that the worker has ignored by now
}

// The verdicts and tones of a Course.
const (
	onTrack    = "ON_TRACK"
	recovering = "RECOVERING" // far off and coming back: it gets time
	drifting   = "DRIFTING"
	inCircles  = "BLOCKED" // it repeats what has failed
	stalled    = "STALLED"

	gentle, direct, firm = "gentle", "direct", "firm"
)

// The trajectories: where the alignment of a worker goes.
const (
	improving = "IMPROVING"
	stable    = "STABLE"
	worsening = "WORSENING"
)

// Courses is the gate of the guardian by bounds of the alignment. A bound belongs to the
// better side.
type Courses struct {
	Aligned   float64 `json:"aligned"`   // least alignment of a worker that is on track, 0 to 100
	OffTopic  float64 `json:"offTopic"`  // least alignment for a gentle nudge; one that improves is on track from here
	OffCourse float64 `json:"offCourse"` // least alignment for a direct nudge; below it one that does not improve is stalled
	Nudges    int     `json:"nudges"`    // nudges that are ignored in a row until the attempt ends; 0: it ends instead of the first nudge
}

// DefaultCourses is the gate of the guardian of teams that are given none.
var DefaultCourses = Courses{Aligned: 70, OffTopic: 50, OffCourse: 25, Nudges: 2}

// Decide returns the course by the first verdict that fits of: stalled, in circles, on track,
// drifting, recovering. A nudge was heeded if the worker improves, or is aligned and does not
// repeat itself. An attempt ends that is inactive, or has ignored too many nudges and does not
// improve.
func (b Courses) Decide(k Conduct) (to Course) {
	a, better := grading.Round6(k.Alignment), k.Trajectory == improving
	heeds := better || a >= b.Aligned && !k.Repeating
	if k.Inactive || !heeds {
		to.Ignored = k.Ignored
	}
	if k.Nudged && !k.Inactive && !heeds {
		to.Ignored++
	}
	to.Ends = k.Inactive || !heeds && to.Ignored >= b.Nudges
	switch {
	case to.Ends, a < b.OffCourse && !better:
		to.Verdict = stalled
	case k.Repeating:
		to.Verdict = inCircles
	case a >= b.Aligned, a >= b.OffTopic && better:
		to.Verdict = onTrack
	case !better:
		to.Verdict = drifting
	default:
		to.Verdict = recovering
	}
	switch {
	case to.Verdict == onTrack || to.Verdict == recovering:
	case a >= b.OffTopic:
		to.Tone = gentle
	case a >= b.OffCourse:
		to.Tone = direct
	default:
		to.Tone = firm
	}
	return to
}

// Validate returns what is wrong with b, or nil.
func (b Courses) Validate() error {
	if !(0 <= b.OffCourse && b.OffCourse <= b.OffTopic && b.OffTopic <= b.Aligned && b.Aligned <= 100) { // NaN is refused, too
		return fmt.Errorf("want 100 >= Aligned >= OffTopic >= OffCourse >= 0, got %v, %v and %v", b.Aligned, b.OffTopic, b.OffCourse)
	}
	if b.Nudges < 0 {
		return fmt.Errorf("want Nudges of 0 or more, got %d", b.Nudges)
	}
	return nil
}

// fault returns what is wrong with a course as the answer of a host's gate; nil: nothing.
func (to Course) fault() error {
	switch {
	case !slices.Contains([]string{onTrack, recovering, drifting, inCircles, stalled}, to.Verdict):
		return fmt.Errorf("its Verdict is %q, want one of those that Course names", to.Verdict)
	case !slices.Contains([]string{"", gentle, direct, firm}, to.Tone):
		return fmt.Errorf("its Tone is %q, want gentle, direct, firm or none", to.Tone)
	case to.Ignored < 0:
		return fmt.Errorf("its Ignored is %d, want 0 or more", to.Ignored)
	}
	return nil
}

// fault returns what is wrong with the answer of a host's Grader; nil: nothing.
func (v Assessment) fault() error {
	if v.Alignment >= 0 && v.Alignment <= 100 { // false for NaN
		return nil
	}
	return fmt.Errorf("its Alignment is %v, want 0 to 100", v.Alignment)
}

// trajectoryOf compares the last two alignments, from 0 to 100; fewer are stable.
func trajectoryOf(alignments []float64) string {
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

// checkDue reports whether a check falls due, after so many tool calls and so long since the
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
	if !(r >= 0 && r <= 1) { // NaN is refused, too
		return 0, fmt.Errorf("director: risk is %v, want 0 to 1", r)
	}
	return max(1, int(math.Floor(grading.Round6(float64(base)*(1.5-r))+0.5))), nil
}
