package delivery_test

import (
	"time"
)

// endless is a time that never comes.
const endless = time.Duration(1 << 60)

// clock is the time of the dumb team.
type clock struct {
	now, looked time.Duration
	changed     bool      // something was said since the last verdict or look
	open        *dumbPlan // root plan that is executed
}

// limitTime is when the time is up.
func (d *dumb) limitTime() time.Duration {
	if d.limit == 0 {
		return endless
	}
	return d.limit
}

// left is the time that is left of all.
func (d *dumb) left() time.Duration { return d.limitTime() - d.now }

// after is the time after so long.
func (d *dumb) after(long time.Duration) time.Duration {
	if d.limit == 0 {
		return endless
	}
	return d.now + long
}

// part is the end of the next of so many steps.
func (d *dumb) part(until time.Duration, steps int) time.Duration {
	if d.limit == 0 {
		return endless
	}
	return d.now + (until-d.now)/time.Duration(steps)
}

// late ends the run if its time is up, and reports whether that of a part is.
func (d *dumb) late(until time.Duration) bool {
	if d.now >= d.limitTime() {
		d.stop("time_expired")
	}
	return d.now >= until
}

// ask has a member answer, which says two messages: the number of the call whose answer counts;
// late, or none after four tries and a repair.
func (d *dumb) ask(kind, request, reply, target string, until time.Duration) (n int, state string) {
	if d.late(until) {
		return 0, "late"
	}
	d.say(request, target)
	repaired := false
	for try := 0; ; try++ {
		good, malformed := d.call(kind)
		if !good && malformed && !repaired {
			repaired = true
			if d.late(until) {
				return 0, "late"
			}
			good, _ = d.call(kind)
		}
		if good {
			d.say(reply, target)
			return d.calls[kind] - 1, ""
		}
		d.late(endless) // what the end of all cuts is no failure
		if try == 3 {
			return 0, "none"
		}
		d.now += max(0, min([]time.Duration{1, 2, 4}[try]*time.Second, min(until, d.limitTime())-d.now))
		if d.late(until) {
			return 0, "late"
		}
	}
}

// call makes a call, which is cut after 300 seconds, and soon after the end of all.
func (d *dumb) call(kind string) (good, malformed bool) {
	takes, fault := d.pace(kind, d.calls[kind])
	d.calls[kind]++
	most := min(300*time.Second, d.left()+min(30*time.Second, d.limit/20))
	d.now += min(takes, most)
	return takes < most && fault == 0, takes < most && fault == 2
}

// look has the supervisor look between verdicts; true: the time of the part is up.
func (d *dumb) look(target string, until time.Duration) bool {
	if d.watch == 0 || d.now-d.looked < d.watch || !d.changed {
		return false
	}
	if d.late(until) {
		return true
	}
	n, state := d.ask("verify monitor", "VERIFY_REQUEST", "VERIFY_RESPONSE", target, until)
	d.looked = d.now
	if state == "" {
		issues, metrics := d.issues, d.metrics
		d.judge(target, "good", d.verdict("monitor", n).score)
		d.issues, d.metrics = issues, metrics
	}
	return state == "late"
}

// goOn continues the run after its time was up. Completed steps stay, and the step of the root
// plan that was begun is begun anew; sub-plans are over.
func (d *dumb) goOn() {
	for _, p := range d.all {
		for _, s := range p.steps {
			if s.status != "begun" {
				continue
			}
			if s.status = "failed"; p == d.open {
				s.status = "pending"
				s.tries--
			}
		}
	}
	d.metrics.TotalSteps, d.metrics.CompletedSteps, d.metrics.FailedSteps, d.metrics.BlockedSteps = 0, 0, 0, 0
	d.said, d.levels, d.named = nil, nil, map[string][]int{}
	d.issues, d.level, d.now, d.looked, d.changed = 0, 0, 0, 0, false
}
