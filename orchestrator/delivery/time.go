package delivery

import "time"

// The shares of a run's time and of a call.
const (
	planningCap     = 15 * time.Minute
	verificationCap = 10 * time.Minute
	graceCap        = 30 * time.Second
	callCap         = 300 * time.Second
)

// Allocation is how the time of a run, or its rest at a further iteration, is divided.
type Allocation struct {
	Planning     time.Duration // after it no plan is asked for
	Execution    time.Duration // after it no call of a step begins
	Verification time.Duration // kept for the end: no other phase may use it
	Reserve      time.Duration // what is left after the limits above
	Step         time.Duration // of the first step
	Fix          time.Duration // of all fixes of one attempt
}

// Allocate divides total, which is limited and not negative, for a plan of steps, 0 if
// there is none yet.
func Allocate(total time.Duration, steps int) Allocation {
	a := Allocation{
		Planning: min(total/10, planningCap), Execution: total / 5 * 4, Verification: min(total/10, verificationCap),
	}
	a.Reserve = total - a.Planning - a.Execution - a.Verification
	a.Step = stepTime(a.Execution, steps)
	a.Fix = fixTime(a.Step)
	return a
}

// executionTime is the time for execution if the plan is approved after elapsed of total:
// it never uses the time of verification.
func executionTime(total, elapsed time.Duration) time.Duration {
	a := Allocate(total, 0)
	return max(0, min(a.Execution, total-elapsed-a.Verification))
}

// stepTime is the time for the next step if left is left of execution, for it and the
// steps after it.
func stepTime(left time.Duration, steps int) time.Duration {
	if steps < 1 {
		return 0
	}
	return max(0, left/time.Duration(steps))
}

// fixTime is the part of a step's time for all fixes of an attempt.
func fixTime(step time.Duration) time.Duration { return step / 10 * 3 }

// graceTime is how long a running call may take after total: limit, or the default for 0,
// at most a twentieth of total.
func graceTime(total, limit time.Duration) time.Duration {
	if limit == off {
		return 0
	}
	if limit == 0 {
		limit = graceCap
	}
	return min(limit, total/20)
}

// callTime is the time limit of a call that begins after elapsed of total; 0: it must not
// begin.
func callTime(total, elapsed, grace time.Duration) time.Duration {
	if elapsed >= total {
		return 0
	}
	return min(callCap, total-elapsed+grace)
}
