package delivery

import (
	"errors"
	"fmt"
	"time"

	"github.com/convene-go/convene/orchestrator"
)

const callCap = 300 * time.Second // longest call of a member

// Allocator is a rule of a team: it divides the time of a run.
//
// It gets what is to be divided and returns the shares, none of which is negative or longer
// than what it is a share of. Planning and Verification together fit in Timing.Total. It is a
// pure function: it is asked when an iteration begins and when a step begins, and again when
// a run is resumed.
type Allocator interface{ Allocate(t Timing) Allocation }

// AllocatorFunc is a function as an [Allocator].
type AllocatorFunc func(t Timing) Allocation

// Allocate returns f(t).
func (f AllocatorFunc) Allocate(t Timing) Allocation { return f(t) }

// Timing is what an [Allocator] divides.
type Timing struct {
	Total     time.Duration // time that was left of the run when the iteration began
	Execution time.Duration // time that is left for Steps; 0: execution has not begun
	Steps     int           // number of steps that share Execution, the next one included; 0: there is no plan yet
}

// Allocation is how the time of a run, or its rest at a further iteration, is divided.
type Allocation struct {
	Planning     time.Duration // time after which no plan is asked for
	Execution    time.Duration // time after which no call of a step begins
	Verification time.Duration // time kept for the end: no other phase may use it
	Step         time.Duration // time of the next step
	Fix          time.Duration // time of all fixes of one attempt at it
}

// Reserve returns what is left of total after planning, execution and verification.
func (a Allocation) Reserve(total time.Duration) time.Duration {
	return total - a.Planning - a.Execution - a.Verification
}

// fault returns what is wrong with shares of t; "": nothing.
func (a Allocation) fault(t Timing) string {
	for _, share := range []struct {
		name      string
		time, all time.Duration
	}{
		{"Planning", a.Planning, t.Total},
		{"Execution", a.Execution, t.Total},
		{"Verification", a.Verification, t.Total - a.Planning},
		{"Step", a.Step, max(t.Execution, a.Execution)},
		{"Fix", a.Fix, a.Step},
	} {
		if share.time < 0 || share.time > share.all {
			return fmt.Sprintf("%s is %v, want 0s to %v", share.name, share.time, share.all)
		}
	}
	return ""
}

// Shares is the Allocator by percent. Steps share what is left of Execution alike.
type Shares struct {
	Planning         int           `json:"planning"`         // percent of the total
	Execution        int           `json:"execution"`        // percent of the total
	Verification     int           `json:"verification"`     // percent of the total
	Fix              int           `json:"fix"`              // percent of a step's time
	MostPlanning     time.Duration `json:"mostPlanning"`     // longest Planning; 0: no limit
	MostVerification time.Duration `json:"mostVerification"` // longest Verification; 0: no limit
}

// Allocate returns the shares of t.
func (s Shares) Allocate(t Timing) Allocation {
	a := Allocation{
		Planning: percent(t.Total, s.Planning, s.MostPlanning), Execution: percent(t.Total, s.Execution, 0),
		Verification: percent(t.Total, s.Verification, s.MostVerification),
	}
	left := t.Execution
	if left == 0 {
		left = a.Execution
	}
	if t.Steps > 0 {
		a.Step = left / time.Duration(t.Steps)
	}
	a.Fix = percent(a.Step, s.Fix, 0)
	return a
}

// percent is a share of total, up to most; 0: any.
func percent(total time.Duration, share int, most time.Duration) time.Duration {
	part := total / 100 * time.Duration(share)
	if most > 0 {
		part = min(part, most)
	}
	return part
}

// Validate returns what is wrong with s, or nil.
func (s Shares) Validate() error {
	var faults []error
	if min(s.Planning, s.Execution, s.Verification) < 0 || s.Planning+s.Execution+s.Verification > 100 {
		faults = append(faults, fmt.Errorf("Planning, Execution and Verification are %d, %d and %d, want 0 or more and at most 100 together", s.Planning, s.Execution, s.Verification))
	}
	if s.Fix < 0 || s.Fix > 100 {
		faults = append(faults, fmt.Errorf("Fix is %d, want 0 to 100", s.Fix))
	}
	if min(s.MostPlanning, s.MostVerification) < 0 {
		faults = append(faults, fmt.Errorf("MostPlanning and MostVerification are %v and %v, want 0 or more", s.MostPlanning, s.MostVerification))
	}
	return errors.Join(faults...)
}

// allocate asks the Allocator. Without a limit of time, all shares are endless.
func (r *run) allocate(c *orchestrator.Context, who string, t Timing) (Allocation, error) {
	if r.limit == endless {
		return Allocation{endless, endless, 0, endless, endless}, nil
	}
	return ruled(r, c, "Allocator", who, func() Allocation { return r.Rules.Allocator.Allocate(t) }, func(a Allocation) string { return a.fault(t) })
}

// after is when a time ends that begins now.
func after(now, share time.Duration) time.Duration {
	if share > endless-now {
		return endless
	}
	return now + share
}

// executionEnd returns when execution ends in an iteration that began at a time, and whose
// plan is approved now: it never uses the time of verification.
func (r *run) executionEnd(a Allocation, begun, now time.Duration) time.Duration {
	if r.limit == endless {
		return endless
	}
	return now + executionTime(a, r.limit-begun, now-begun)
}

func executionTime(a Allocation, total, elapsed time.Duration) time.Duration {
	return max(0, min(a.Execution, total-elapsed-a.Verification))
}

// graceTime is how long a running call may take after total: limit, at most a twentieth.
func graceTime(total, limit time.Duration) time.Duration { return min(limit, total/20) }

// callTime is the time limit of a call that begins after elapsed of total; 0: it must not
// begin.
func callTime(total, elapsed, grace time.Duration) time.Duration {
	if elapsed >= total {
		return 0
	}
	return min(callCap, total-elapsed+grace)
}
