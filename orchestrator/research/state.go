package research

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// State is what a run exposes while it runs, and at its end.
type State struct {
	ExecutionID   string `json:"executionId"` // exec_YYYYMMDD_HHMMSS_xxxx
	Phase         Phase  `json:"phase"`
	Input         Input  `json:"input"`         // the request, with defaults and all limits
	Iteration     int    `json:"iteration"`     // current iteration, from 1
	MaxIterations int    `json:"maxIterations"` // Policy.Iterations
	Plan          *Plan  `json:"plan"`          // nil: there is no current plan
	StepIndex     int    `json:"stepIndex"`     // number of finished steps of the plan
	Course

	QualityScore   float64                `json:"qualityScore"`   // score of the last evaluation, at the end that of the article; 0 to 1
	Completeness   float64                `json:"completeness"`   // mark of the last evaluation, 0 to 1
	ShouldContinue bool                   `json:"shouldContinue"` // another iteration follows
	Feedback       *string                `json:"feedback"`       // what the last iteration lacked; nil: nothing
	Usage          providers.Usage        `json:"usage"`          // usage of all calls so far
	Phases         []PhaseChange          `json:"phases"`
	Actions        []Action               `json:"actions"` // every decision
	Warnings       []orchestrator.Warning `json:"warnings"`
	StartedAt      time.Time              `json:"startedAt"`
	CompletedAt    *time.Time             `json:"completedAt"` // nil: the run has not ended
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *State) UnmarshalJSON(data []byte) error { return team.DecodeLenient(data, s) }

// MarshalJSON implements json.Marshaler.
func (s State) MarshalJSON() ([]byte, error) { return team.Encode(s) }

// Course is how the result of a run came about.
type Course struct {
	History []Iteration `json:"history"` // iterations that were evaluated
	Tasks   []Task      `json:"tasks"`   // tasks of all iterations
	Results
}

// Results has what workers made, in the order of the plans. Research is that of all
// iterations, the rest that of the last one.
type Results struct {
	Research []WorkerOutput `json:"research"`
	Analysis []WorkerOutput `json:"analysis"`
	Writing  []WorkerOutput `json:"writing"`
	Quality  []WorkerOutput `json:"quality"`
}

// of returns the results of workers of a category.
func (r *Results) of(category Category) *[]WorkerOutput {
	return map[Category]*[]WorkerOutput{Researching: &r.Research, Analysing: &r.Analysis, Writing: &r.Writing, Checking: &r.Quality}[category]
}

// all returns the results of all categories.
func (r *Results) all() []WorkerOutput {
	return slices.Concat(r.Research, r.Analysis, r.Writing, r.Quality)
}

// WorkerOutput is what a worker made: [Findings] for research, a [Draft] for writing, else
// any JSON.
type WorkerOutput struct {
	Worker    string          `json:"worker"`
	Iteration int             `json:"iteration"` // from 1
	Payload   json.RawMessage `json:"payload"`
	RevisedBy string          `json:"revisedBy,omitempty"` // the checker whose text a draft has now; "": none
}

// Iteration is an execution of a plan that was evaluated.
type Iteration struct {
	Plan     Plan    `json:"plan"`
	Quality  float64 `json:"quality"`            // score, 0 to 1
	Ungraded bool    `json:"ungraded,omitempty"` // no grade came: Quality is 0, or Policy.AssumeScore
}

// PhaseChange is one transition of the phase machine.
type PhaseChange struct {
	From Phase     `json:"from"`
	To   Phase     `json:"to"`
	At   time.Time `json:"at"`
}

// Action is an action of a member of the team.
type Action struct {
	Agent   string         `json:"agent"`
	Action  string         `json:"action"`
	Details map[string]any `json:"details,omitempty"`
	At      time.Time      `json:"at"`
}

// TaskStatus is the state of a task: PENDING, RUNNING, COMPLETED, FAILED, SKIPPED or
// CANCELED.
type TaskStatus string

const (
	taskPending   TaskStatus = "PENDING"
	taskRunning   TaskStatus = "RUNNING"
	taskCompleted TaskStatus = "COMPLETED"
	taskFailed    TaskStatus = "FAILED"
	taskSkipped   TaskStatus = "SKIPPED"
	taskCanceled  TaskStatus = "CANCELED"
)

// Task is a worker's part in a step.
type Task struct {
	ID         string          `json:"id"` // task-1, task-2, …
	Worker     string          `json:"worker"`
	Step       string          `json:"step"` // ID of the step
	Plan       string          `json:"plan"` // ID of the plan
	Iteration  int             `json:"iteration"`
	Attempts   int             `json:"attempts"` // tries that were started
	Priority   Priority        `json:"priority"`
	Status     TaskStatus      `json:"status"`
	Usage      providers.Usage `json:"usage"`                // usage of all attempts
	Error      string          `json:"error,omitempty"`      // failure of the last attempt that failed; "": none did
	FallbackOf string          `json:"fallbackOf,omitempty"` // the worker that failed; "": the plan names this one
}
