package delivery

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
	"github.com/convene-go/convene/routing"
)

// Rules are what a team computes. A nil rule is that of [DefaultRules]; Graders, Permit and
// Fallback have no default there.
//
// A rule that panics, or answers out of its range, fails the part of the run that needed it
// with [ErrRule]: a step, a plan or the goal. It is a Warning, and no iteration follows. A
// Scheduler that holds all steps back is out of range. In JSON a rule is the fields of its
// default: {"retrier": {"step": {"max": 2}}}.
type Rules struct {
	Scheduler routing.Scheduler               `json:"scheduler"` // order of steps whose needs are completed, with Node.Phase as the complexity; one works at a time
	Allocator Allocator                       `json:"allocator"` // division of the time; without a limit of time it is not asked
	Graders   Graders                         `json:"-"`         // grades of work
	Gates     Gates                           `json:"gates"`     // decisions about graded work
	Ladder    grading.Gate[Escalating, Level] `json:"ladder"`    // strength of the supervisor's intervention after a verdict
	Retrier   orchestrator.Retrier            `json:"retrier"`   // further tries; Working.Role is "step", "fix", "call", "plan" or "iteration"
	Permit    orchestrator.Permit             `json:"-"`         // permission of moves; nil: all are allowed

	// Fallback answers for a role whose calls have failed, with the JSON that the role would
	// have answered. A nil answer is none, and one that the role could not give is [ErrRule].
	// Answers are unverified, and the goal is never judged by one. Nil answers nothing.
	Fallback func(Failure) ([]byte, error) `json:"-"`
}

// Graders grade work in the place of the supervisor, by gate. Each gets what the supervisor
// would get. Of the [Verdict], Approved, Score (0 to 100), Findings, Evidence and what is said
// count. A step without Evidence is rejected, whatever its Score. A Grader that fails twice
// leaves the work ungraded. Nil asks the supervisor.
type Graders struct {
	Plan orchestrator.Grader[VerifyInput, Verdict] // grader of plans, before they are executed
	Code orchestrator.Grader[VerifyInput, Verdict] // grader of code, before it is tested
	Test orchestrator.Grader[VerifyInput, Verdict] // grader of reports of tests
	Step orchestrator.Grader[VerifyInput, Verdict] // grader of steps whose tests pass
	Goal orchestrator.Grader[VerifyInput, Verdict] // grader of the whole
}

func (g Graders) of(kind string) orchestrator.Grader[VerifyInput, Verdict] {
	return byGate(kind, g.Plan, g.Code, g.Test, g.Step, g.Goal)
}

// Gates decide about graded work that is approved, by gate. Before them come conditions that
// no score overrules: code without a critical security issue, a step with evidence. Accept
// passes the work; Revise and Discard reject it. Standing.Of is the plan or step, and its plan.
// The default of each is [Passing].
type Gates struct {
	Plan grading.Gate[grading.Standing, grading.Decision] `json:"plan"` // gate of plans
	Code grading.Gate[grading.Standing, grading.Decision] `json:"code"` // gate of code
	Test grading.Gate[grading.Standing, grading.Decision] `json:"test"` // gate of reports of tests
	Step grading.Gate[grading.Standing, grading.Decision] `json:"step"` // gate of steps
	Goal grading.Gate[grading.Standing, grading.Decision] `json:"goal"` // gate of the whole
}

func (g Gates) of(kind string) grading.Gate[grading.Standing, grading.Decision] {
	return byGate(kind, g.Plan, g.Code, g.Test, g.Step, g.Goal)
}

// Passing is the Gate that accepts what reaches Standing.Threshold, which is that of
// Policy.Thresholds.
type Passing struct{}

// Decide returns Accept or Discard.
func (Passing) Decide(s grading.Standing) grading.Decision {
	if grading.Passes(s.Score, s.Threshold) {
		return grading.Accept
	}
	return grading.Discard
}

// Retries is the Retrier by role. Each Max is of all tries, the first included. A field that
// is zero is that of [DefaultRules].
type Retries struct {
	Step      orchestrator.Attempts `json:"step"`      // attempts at a step, before it gets a sub-plan; 3
	Fix       orchestrator.Attempts `json:"fix"`       // versions of an attempt's code: as written, then fixes until the tests pass; 4
	Call      orchestrator.Attempts `json:"call"`      // tries of a call that failed; 4, after 1 s, 2 s and 4 s
	Plan      orchestrator.Attempts `json:"plan"`      // plans until one is approved; 3
	Iteration orchestrator.Attempts `json:"iteration"` // root plans that are executed; 10
}

var defaultRetries = Retries{
	Step: orchestrator.Attempts{Max: 3}, Fix: orchestrator.Attempts{Max: 4},
	Plan: orchestrator.Attempts{Max: 3}, Iteration: orchestrator.Attempts{Max: 10},
	Call: orchestrator.Attempts{Max: 4, Wait: time.Second, Factor: 2, Final: true},
}

func (r Retries) of(role string) orchestrator.Attempts {
	d := defaultRetries
	return map[string]orchestrator.Attempts{
		roleStep: cmp.Or(r.Step, d.Step), roleFix: cmp.Or(r.Fix, d.Fix), roleCall: cmp.Or(r.Call, d.Call),
		rolePlan: cmp.Or(r.Plan, d.Plan), roleIteration: cmp.Or(r.Iteration, d.Iteration),
	}[role]
}

// Next returns what the Attempts of the role return.
func (r Retries) Next(of orchestrator.Working, tries []orchestrator.Try) orchestrator.Again {
	return r.of(of.Role).Next(of, tries)
}

// Validate returns what is wrong with r, or nil.
func (r Retries) Validate() error {
	var faults []error
	for _, role := range []string{roleStep, roleFix, roleCall, rolePlan, roleIteration} {
		a := r.of(role)
		if err := a.Validate(); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", role, err))
		} else if a.Max < 1 {
			faults = append(faults, fmt.Errorf("%s: Max is 0, want 1 or more", role))
		}
	}
	return errors.Join(faults...)
}

// The values of Working.Role.
const (
	roleStep      = "step"
	roleFix       = "fix"
	roleCall      = "call"
	rolePlan      = "plan"
	roleIteration = "iteration"
)

// DefaultRules returns the rules of a team that is given none.
func DefaultRules() Rules {
	return Rules{
		Scheduler: routing.Preference{},
		Allocator: Shares{Planning: 10, Execution: 80, Verification: 10, Fix: 30, MostPlanning: 15 * time.Minute, MostVerification: 10 * time.Minute},
		Gates:     Gates{Plan: Passing{}, Code: Passing{}, Test: Passing{}, Step: Passing{}, Goal: Passing{}},
		Ladder:    Ladder{Remind: 70, Correct: 50, Refocus: 30, CorrectAt: 2, RefocusAt: 3, CriticalAt: 4, AbortAt: 5},
		Retrier:   defaultRetries,
	}
}

// UnmarshalJSON reads the JSON of Rules, each over the values of its default.
func (r *Rules) UnmarshalJSON(data []byte) error { return team.DecodeRules(data, r, DefaultRules()) }

// MarshalJSON returns the JSON of Rules. A rule of the program's own is an error.
func (r Rules) MarshalJSON() ([]byte, error) { return team.EncodeRules(r, DefaultRules()) }

// Failure is a request that a role could not answer.
type Failure struct {
	Role   Role   // role that was asked
	Op     string // operation that was wanted, such as OpCode
	Target string // ID of the plan or step; "goal": the whole
	Err    error  // error of the last call
}

// The errors of rules of the host, beside those of runs.
const (
	ErrRule         = agent.Code("delivery/rule")          // a rule panicked or answered out of its range
	ErrNotPermitted = agent.Code("delivery/not-permitted") // a Permit refused a move
)

// part returns the error of a rule or a Permit as one that fails a part of the run. It keeps
// the error for the end of the run.
func (r *run) part(err error) error {
	if err == nil || team.Ends(err) {
		return err
	}
	if code := agent.ErrorOf(err).Codes[0]; r.hostErr == nil || !errors.Is(r.hostErr, code) {
		r.hostErr = errors.Join(r.hostErr, err)
	}
	return setback{then: lost, why: prompt.OneLine(err.Error()), err: err}
}

// allow asks the Permit about a move of the run, before the work that it stands for. path
// says which part it is about.
func (r *run) allow(c *orchestrator.Context, path string, on move) error {
	return r.part(team.MachineAt(r.kernel, path, phases, &r.state.Status).Allow(c, on))
}
