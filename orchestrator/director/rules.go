package director

import (
	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/routing"
)

// Rules are what the team computes and whom it asks about it. Nil is the default.
//
// In JSON, a rule is the fields of its default. Graders, Permit and Plan have no JSON.
type Rules struct {
	// Router chooses the profile of a task whose plan names none. A target is a profile, and
	// Barred if it does not take the task's phase. The request is the task in words. Only
	// Primary counts. Nil is orchestrator.ByKeywords(routing.DefaultKeywords); without keywords that is the
	// first profile that names the phase, else the first that takes any.
	Router orchestrator.Router `json:"router"`

	// Scheduler orders the tasks that are READY. A node's Estimate is its profile's, in
	// nano-USD. Nil is routing.Preference{}; one without Phases takes those of Policy.
	Scheduler routing.Scheduler `json:"scheduler"`

	// Retrier decides whether a task is tried again after a failed attempt (Role "task") or
	// a failed merge ("merge"), and whether the run goes on after failures of agents in a
	// row ("outage"). Memories are wiped in any case: Fresh changes nothing. Try.Agent is
	// the worker, and the tries of an earlier run are empty. Nil is orchestrator.Attempts{}.
	Retrier orchestrator.Retrier `json:"retrier"`

	Gates   Gates   `json:"gates,omitzero"` // decisions about what was judged
	Graders Graders `json:"-"`              // judges in the place of the strategist and the guardian

	// Permit is asked before these moves; nil allows all:
	//
	//	run          decomposed  the plan is on the board, and no task has begun
	//	run          replan      the director is about to change the tasks
	//	task/<id>    pass        the review has passed, and the merge is due
	//
	// A plan that is refused ends the run. A refused change of the tasks is left out. A task
	// whose merge is refused is FAILED_QA, ungraded, and a person is asked. Others go on
	// meanwhile, but for attempts while a change waits. With Policy.ReturnWhenWaiting it
	// cannot ask people: Await returns an error, and the move waits for the next run.
	Permit orchestrator.Permit `json:"-"`

	// Plan gets the tasks of the decomposition, placeholders among them, and returns those
	// that the run begins with. Nil takes them as they are.
	Plan func(tasks []blackboard.Definition) ([]blackboard.Definition, error) `json:"-"`
}

// Gates decide what follows from a judgement.
type Gates struct {
	Review     grading.Gate[Reviewed, ReviewOutcome] `json:"review"`     // outcome of a review; nil: Strict{}
	Guardian   grading.Gate[Conduct, Course]         `json:"guardian"`   // course of a worker; nil: DefaultCourses
	Stagnation grading.Gate[Setbacks, bool]          `json:"stagnation"` // true: the tasks are planned anew; nil: Patience{}
}

// Graders judge in the place of agents. Nil asks the agent. An error means that there is no grade.
type Graders struct {
	Work    orchestrator.Grader[ReviewInput, Review]     // reviews what was delivered; nil: Agents.Strategist
	Conduct orchestrator.Grader[AssessInput, Assessment] // checks a worker; nil: Agents.Guardian, if there is one
}

// Setbacks are the failed reviews since the tasks were planned last.
type Setbacks struct {
	Row     int // failures in a row, of any tasks
	Worst   int // failures of the task that failed most
	Limit   int // Policy.Retry.Stagnation; 0: none
	Replans int // times that the tasks were planned anew
}

// Patience is the gate of stagnation that plans anew when Row or Worst reaches Limit.
type Patience struct{}

// Decide reports whether the run stagnates.
func (Patience) Decide(s Setbacks) bool { return s.Limit > 0 && max(s.Row, s.Worst) >= s.Limit }

// The errors of rules. Each is a warning of the run, too.
const (
	ErrRule         = agent.Code("director/rule")          // a rule of the host failed, panicked or answered out of range
	ErrNotPermitted = agent.Code("director/not-permitted") // a Permit refused a move
)

// defaultRules are the rules of teams that are given none.
var defaultRules = Rules{
	Router:    orchestrator.ByKeywords(routing.DefaultKeywords),
	Scheduler: routing.Preference{},
	Retrier:   orchestrator.Attempts{},
	Gates:     Gates{Review: Strict{}, Guardian: DefaultCourses, Stagnation: Patience{}},
}

// rule asks a rule of the host, as [team.Rule] does. name is its field in Rules, and who the
// task that needs the answer, or the rule.
func rule[T any](r *run, c *orchestrator.Context, who, name string, ask func() (T, error)) (T, error) {
	v, err := team.Rule(r.Run, c, who, "Rules."+name, ask)
	return v, r.kept(err)
}

// kept returns err. An error of a rule or a Permit is kept for the run's own error.
func (r *run) kept(err error) error {
	if r.IsHostError(err) {
		r.refusals = append(r.refusals, err)
	}
	return err
}
