package delivery

import (
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/page"
	"github.com/convene-go/convene/providers"
)

// Input is what is wanted. Unknown fields of its JSON are faults.
type Input struct {
	Goal    string            `json:"goal,omitempty"`    // goal of the run, at most 256 KiB; required, but with From it may be left out
	Context map[string]string `json:"context,omitempty"` // texts by name that the team should know, such as conventions of the project; nil: none

	// From continues a run that ended before its goal: it is the State of its Outcome.
	// Completed steps are kept, and an unfinished step keeps its count of attempts. Time and
	// escalation start at zero. Nil begins with a plan.
	From *State `json:"from,omitempty"`

	// Limits are those of this run. A field that is set replaces that of the Config.
	Limits team.Limits `json:"limits,omitzero"`
}

// UnmarshalJSON reads the JSON of an Input. The error has all faults with their paths.
func (in *Input) UnmarshalJSON(data []byte) error { return team.Decode(data, in) }

func (in Input) MarshalJSON() ([]byte, error) { return team.Encode(in) }

// maxGoal is how many bytes a goal has at most.
const maxGoal = 256 << 10

// The errors of runs, beside orchestrator.ErrBudget and orchestrator.ErrCanceled.
const (
	ErrEmptyGoal      = agent.Code("delivery/empty-goal")
	ErrGoal           = agent.Code("delivery/goal") // the goal is no text: it has a control character, or nothing that can be seen
	ErrGoalTooLarge   = agent.Code("delivery/goal-too-large")
	ErrLimits         = agent.Code("delivery/invalid-limits")   // Input.Limits cannot be used
	ErrState          = agent.Code("delivery/invalid-state")    // Input.From cannot be continued
	ErrPlanning       = agent.Code("delivery/planning")         // there is no approved plan
	ErrGoalNotReached = agent.Code("delivery/goal-not-reached") // the iterations are used up, or the goal was not graded
	ErrAborted        = agent.Code("delivery/aborted")          // the supervisor reached its last level
	ErrTimeExpired    = agent.Code("delivery/time-expired")     // the time is up; with OutOfBudget it is orchestrator.ErrBudget, too
)

// validate returns why a run cannot start, or nil.
func (in Input) validate() error {
	goal := in.goal()
	switch {
	case strings.TrimSpace(goal) == "":
		return team.Fail(ErrEmptyGoal, "goal is empty")
	case len(goal) > maxGoal:
		return team.Fail(ErrGoalTooLarge, "goal has %d bytes, want at most %d", len(goal), maxGoal)
	}
	var f team.Faults
	f.Text("goal", goal)
	if err := f.Err(); err != nil {
		return team.Fail(ErrGoal, "%w", err)
	}
	f.CheckAt("limits", in.Limits)
	if err := f.Err(); err != nil {
		return team.Fail(ErrLimits, "%w", err)
	}
	if in.From == nil {
		return nil
	}
	if err := in.From.validate(); err != nil {
		return team.Fail(ErrState, "from: %w", err)
	}
	if in.From.PrimaryGoal != goal {
		return team.Fail(ErrState, "from: primaryGoal is another one than goal")
	}
	return nil
}

// goal is the goal of this run, or of the one that it continues.
func (in Input) goal() string {
	if in.Goal == "" && in.From != nil {
		return in.From.PrimaryGoal
	}
	return in.Goal
}

// Outcome is the result of a run, also beside an error. Its Status is Completed if all gates
// passed and no step failed. It is Partial if a step is missing, something was not verified, or
// the run ended before its goal with a step completed. Else it is OutOfBudget, Canceled or
// Failed. Score is that of the goal, 0 to 100.
type Outcome struct {
	orchestrator.Outcome

	State   State       `json:"state"`             // state at the end, from which a further run can continue
	Report  Report      `json:"report"`            // summary for people
	Changes []page.Step `json:"changes,omitempty"` // differences that accepted steps made in the project; nil: none
	Course  []page.Step `json:"course,omitempty"`  // acts of members and of the project, in words: the last 1,000 turns or more
}

func (o Outcome) MarshalJSON() ([]byte, error)     { return team.Encode(o) }
func (o *Outcome) UnmarshalJSON(data []byte) error { return team.DecodeLenient(data, o) }

// Report is the summary of a run for people.
type Report struct {
	Steps       []StepSummary `json:"steps"`       // steps of all approved plans
	Verdicts    []Verdict     `json:"verdicts"`    // verdicts in order
	FailReasons []string      `json:"failReasons"` // why steps failed or were skipped
	Unfinished  []string      `json:"unfinished"`  // IDs of steps of the last root plan that were not completed
}

// StepSummary is a step without its code and tests.
type StepSummary struct {
	ID          string     `json:"id"`                   // plan and number: p1.s1
	Description string     `json:"description"`          // task in words
	Status      StepStatus `json:"status"`               // state in which it is
	Attempts    int        `json:"attempts"`             // number of attempts
	FailReason  string     `json:"failReason,omitempty"` // why it failed or was skipped
}

// State is what a run exposes while it runs, and at its end. It holds all that a further
// run needs to continue: see Input.From.
type State struct {
	ID          string               `json:"id"`                    // ID of the run
	PrimaryGoal string               `json:"primaryGoal"`           // goal of the run
	Status      Phase                `json:"status"`                // phase of the run
	Plans       []Plan               `json:"plans"`                 // all plans that were made, in order
	CurrentPlan string               `json:"currentPlan"`           // ID of the plan that is worked on; "": none
	PlanStack   []string             `json:"planStack"`             // IDs of the plans that are executed, the root first
	CurrentRole Role                 `json:"currentRole,omitempty"` // role that was asked last; "": the run has ended
	Iteration   int                  `json:"iteration"`             // number of the root plan that is worked on, from 1
	StartTime   time.Time            `json:"startTime"`             // time at which the run began
	EndTime     *time.Time           `json:"endTime"`               // time at which it ended; nil: it has not
	TimeLimit   time.Duration        `json:"timeLimit"`             // time for the run; orchestrator.None: not limited
	Agents      map[Role]*AgentState `json:"agents"`                // work of the roles
	Metrics     Metrics              `json:"metrics"`               // figures so far
	Escalation  Escalation           `json:"escalation"`            // rejections in a row
	EventLog    []Header             `json:"eventLog"`              // the last 1,000 messages
	Dropped     int                  `json:"dropped,omitempty"`     // number of messages before them
	Snapshot    string               `json:"snapshot,omitempty"`    // ID of the workspace's state with the last step that was accepted
	Unrestored  bool                 `json:"unrestored,omitempty"`  // true: the next run restores the workspace to Snapshot first
	Unverified  []string             `json:"unverified,omitempty"`  // IDs of plans and steps that were accepted without a grade; "goal"
}

func (s State) MarshalJSON() ([]byte, error)     { return team.Encode(s) }
func (s *State) UnmarshalJSON(data []byte) error { return team.DecodeLenient(data, s) }

// AgentState is the work of a role.
type AgentState struct {
	Status     string          `json:"status"`               // "idle", "working" or "failed"
	LastOutput string          `json:"lastOutput,omitempty"` // last answer, at most 4 KiB
	Requests   int             `json:"requests"`             // number of requests, failed ones included
	Failures   int             `json:"failures"`             // number of requests without a usable answer
	Usage      providers.Usage `json:"usage"`                // usage of all calls
}

// Metrics are the figures of a run.
type Metrics struct {
	TotalSteps          int `json:"totalSteps"`          // number of steps of all approved plans
	CompletedSteps      int `json:"completedSteps"`      // number of those that were completed
	FailedSteps         int `json:"failedSteps"`         // number of those that failed
	BlockedSteps        int `json:"blockedSteps"`        // number of those skipped because a step before them failed
	ReplanCount         int `json:"replanCount"`         // number of plans asked for after the first
	FixCycles           int `json:"fixCycles"`           // number of fixes
	VerificationsPassed int `json:"verificationsPassed"` // number of verdicts that passed
	VerificationsFailed int `json:"verificationsFailed"` // number of verdicts that rejected, those without a model included
}

// validate returns why a run cannot be continued from s, or nil.
func (s State) validate() error {
	var f team.Faults
	ids := map[string]bool{}
	for i, p := range s.Plans {
		if p.ID == "" || ids[p.ID] {
			f.Add("plans[%d].id is %q, want one that no other plan has", i, p.ID)
		}
		ids[p.ID] = true
		if !p.Approved {
			continue
		}
		for _, fault := range p.faults(1, len(p.Steps), nil) {
			f.Add("plans[%d]: %s", i, fault)
		}
		for j, step := range p.Steps {
			if !slices.Contains(stepPhases.States(), step.Status) {
				f.Add("plans[%d].steps[%d].status is %q, want one of %q", i, j, step.Status, stepPhases.States())
			}
			if step.Attempts < 0 {
				f.Add("plans[%d].steps[%d].attempts is %d, want 0 or more", i, j, step.Attempts)
			}
		}
	}
	if s.Iteration < 0 {
		f.Add("iteration is %d, want 0 or more", s.Iteration)
	}
	return f.Err()
}

// plan is the plan of that ID, nil if there is none. It is valid until a plan is added.
func (s State) plan(id string) *Plan {
	for i := range s.Plans {
		if s.Plans[i].ID == id {
			return &s.Plans[i]
		}
	}
	return nil
}

// root is the last root plan that was approved, nil if there is none.
func (s State) root() *Plan {
	for i := len(s.Plans) - 1; i >= 0; i-- {
		if p := &s.Plans[i]; p.Approved && p.ParentPlanID == "" {
			return p
		}
	}
	return nil
}

// steps are the steps of all approved plans, in order.
func (s State) steps() iter.Seq[*Step] {
	return func(yield func(*Step) bool) {
		for i := range s.Plans {
			if s.Plans[i].Approved && !each(s.Plans[i].Steps, yield) {
				return
			}
		}
	}
}

// each yields steps until yield returns false.
func each(steps []Step, yield func(*Step) bool) bool {
	for i := range steps {
		if !yield(&steps[i]) {
			return false
		}
	}
	return true
}

// countSteps counts the steps of all approved plans anew.
func (r *run) countSteps() {
	m := &r.state.Metrics
	m.TotalSteps, m.CompletedSteps, m.FailedSteps, m.BlockedSteps = 0, 0, 0, 0
	for s := range r.state.steps() {
		m.TotalSteps++
		switch {
		case s.Status == StepCompleted:
			m.CompletedSteps++
		case s.Status == StepFailed:
			m.FailedSteps++
		case s.skipped():
			m.BlockedSteps++
		}
	}
}

// achieved reports whether a step of a root plan was completed, in any iteration.
func (s State) achieved() bool {
	for step := range s.steps() {
		if step.Depth == 0 && step.Status == StepCompleted {
			return true
		}
	}
	return false
}

// summaries are the steps of all approved plans, without their work.
func (s State) summaries() []StepSummary {
	list := []StepSummary{}
	for step := range s.steps() {
		list = append(list, step.summary())
	}
	return list
}

// ended is the status of a run that ended in phase because of err.
func ended(phase Phase, err error, achieved, whole bool) orchestrator.Status {
	switch {
	case errors.Is(err, orchestrator.ErrCanceled) && orchestrator.IsOver(err):
		return orchestrator.Canceled
	case phase == phaseCompleted && whole:
		return orchestrator.Completed
	case phase == phaseCompleted, achieved:
		return orchestrator.Partial
	case phase == phaseExpired, orchestrator.IsOver(err):
		return orchestrator.OutOfBudget
	}
	return orchestrator.Failed
}
