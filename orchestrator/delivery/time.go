package delivery

import (
	"fmt"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
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

// fault returns what is wrong with shares of t, or nil.
func (a Allocation) fault(t Timing) error {
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
			return fmt.Errorf("%s is %v, want 0s to %v", share.name, share.time, share.all)
		}
	}
	return nil
}

// Shares is the Allocator by percent. Steps share what is left of Execution alike.
type Shares struct {
	Planning         int           `json:"planning" min:"0" max:"100"`     // percent of the total
	Execution        int           `json:"execution" min:"0" max:"100"`    // percent of the total
	Verification     int           `json:"verification" min:"0" max:"100"` // percent of the total
	Fix              int           `json:"fix" min:"0" max:"100"`          // percent of a step's time
	MostPlanning     time.Duration `json:"mostPlanning" min:"0"`           // longest Planning; 0: no limit
	MostVerification time.Duration `json:"mostVerification" min:"0"`       // longest Verification; 0: no limit
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
	var f team.Faults
	f.Check(s)
	f.If(s.Planning+s.Execution+s.Verification > 100,
		"Planning, Execution and Verification are %d, %d and %d, want at most 100 together", s.Planning, s.Execution, s.Verification)
	return f.Err()
}

// allocate asks the Allocator. Without a limit of time, all shares are endless.
func (r *run) allocate(c *orchestrator.Context, who string, t Timing) (Allocation, error) {
	if r.limit == endless {
		return Allocation{endless, endless, 0, endless, endless}, nil
	}
	a, err := team.Rule(r.kernel, c, who, "Rules.Allocator", func() (Allocation, error) {
		a := r.Rules.Allocator.Allocate(t)
		return a, a.fault(t)
	})
	return a, r.part(err)
}

// after is when a time ends that begins now.
func after(now, share time.Duration) time.Duration {
	if share > endless-now {
		return endless
	}
	return now + share
}

// executionTime is how long execution may take in an iteration whose plan is approved after
// elapsed of total: it never uses the time of verification.
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
	return min(callCap, min(callCap, total-elapsed)+grace)
}
