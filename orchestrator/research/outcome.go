package research

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// Input is the request for an article. Only Topic is required. A zero field is its default.
type Input struct {
	RequestID        string      `json:"requestId,omitzero"`                                                                                              // the host's ID, which comes back in the Outcome; "": none
	Topic            string      `json:"topic" required:"true"`                                                                                           // subject of the article, 1 to 500 characters
	ContentType      string      `json:"contentType,omitzero" default:"article" oneof:"article blog_post research_report tutorial documentation summary"` // "": article
	Length           int         `json:"length,omitzero" default:"2000" min:"500" max:"10000"`                                                            // words; 0: 2,000
	Tone             string      `json:"tone,omitzero" default:"professional" oneof:"professional casual academic technical conversational"`              // "": professional
	Depth            string      `json:"depth,omitzero" default:"standard" oneof:"light standard deep"`                                                   // "": standard
	MinSources       int         `json:"minSources,omitzero" default:"10" min:"1" max:"50"`                                                               // number of sources; 0: 10, or 5 if Depth is light
	PreferredSources []string    `json:"preferredSources,omitempty"`                                                                                      // kinds such as "academic"; nil: none
	MinQuality       *float64    `json:"minQuality,omitempty" default:"0.8" min:"0" max:"1"`                                                              // threshold of the score; nil: 0.80
	Limits           team.Limits `json:"limits,omitzero"`                                                                                                 // fields that are set replace those of Config.Limits
}

// withDefaults returns a copy of in with defaults, and with the limits that it leaves out.
func (in Input) withDefaults(limits team.Limits) Input {
	in = team.Clone(in)
	in.Limits = in.Limits.Or(limits)
	in.MinSources = cmp.Or(in.MinSources, map[string]int{"light": 5}[in.Depth])
	team.Defaults(&in)
	return in
}

// Validate returns every fault of in joined into one error, or nil: what is missing,
// out of range, or contradictory. Each fault names its field. A zero field stands for its
// default.
func (in Input) Validate() error {
	var f team.Faults
	f.Check(in)
	n := utf8.RuneCountInString(in.Topic)
	f.Text("Topic", in.Topic)
	f.If(n > 500, "Topic has %d characters, want a text of 1 to 500", n)
	f.If(in.Depth == "light" && in.MinSources > 12, "MinSources is %d, which contradicts depth \"light\": want at most 12, or more depth", in.MinSources)
	checkLimits(&f, in.Limits)
	return f.Err()
}

// Outcome is the result of a run, also beside an error. Its Status is Completed if the
// article reached MinQuality, and Partial if it did not, or was not graded. With
// OutOfBudget, Canceled and Failed there is no finished article. Score is 0 to 1.
type Outcome struct {
	orchestrator.Outcome

	RequestID   string             `json:"requestId,omitempty"`   // Input.RequestID
	ExecutionID string             `json:"executionId,omitempty"` // ID of the run in its State; "": the input was not admitted
	Article     *Article           `json:"article,omitempty"`     // nil: nothing was written
	Drafts      *Article           `json:"drafts,omitempty"`      // drafts that the merger made the Article of, one after another; nil: there is no such text
	Threshold   float64            `json:"threshold,omitempty"`   // MinQuality, 0 to 1
	Quality     map[string]float64 `json:"quality,omitempty"`     // "overall" and the marks, 0 to 1; nil: not graded
	Sources     []Source           `json:"sources"`               // the most relevant first, those that were not read last
	Metrics     Metrics            `json:"metrics"`               // figures of the run
	SystemNotes []string           `json:"systemNotes,omitempty"` // sentences about the result; nil: none
	Failure     *Failure           `json:"failure,omitempty"`     // why the run failed; nil: it did not
	Course      Course             `json:"course,omitzero"`       // how the result came about
}

// Result returns the article's text. "": there is none.
func (o Outcome) Result() string { return cmp.Or(o.Article, new(Article)).Content }

// Article is the merged text. Unless the status is Completed, the first line of its
// Content says so.
type Article struct {
	Title       string `json:"title,omitempty"` // "": no draft has one
	Content     string `json:"content"`         // text in Markdown
	Words       int    `json:"words"`           // number of words without that first line
	ReadMinutes int    `json:"readMinutes"`     // minutes, at least 1
}

// Metrics are the figures of a run.
type Metrics struct {
	Duration    time.Duration `json:"duration"`              // time from State.StartedAt to State.CompletedAt
	Tasks       int           `json:"tasks"`                 // number of tasks
	Succeeded   int           `json:"succeeded"`             // number of tasks
	Failed      int           `json:"failed"`                // number of tasks
	Skipped     int           `json:"skipped"`               // number of tasks
	Retries     int           `json:"retries"`               // number of attempts beyond the first
	Iterations  int           `json:"iterations"`            // number of iterations that began
	Improvement string        `json:"improvement,omitempty"` // "+23% quality (0.65 → 0.88)": percentage points from the first iteration to the one that is returned
}

// Failure says why a run failed.
type Failure struct {
	Type        string `json:"type"`            // such as "WorkerExecutionError"
	Message     string `json:"message"`         // the error in one line
	Phase       string `json:"phase"`           // where the run failed, in upper case
	ExecutionID string `json:"executionId"`     // ID of the run in its State; "": the input was not admitted
	Stack       string `json:"stack,omitempty"` // stack of a panic; "": there was none
}

// State is what a run exposes while it runs, and at its end.
type State struct {
	ExecutionID   string `json:"executionId"`   // exec_YYYYMMDD_HHMMSS_xxxx
	Phase         Phase  `json:"phase"`         // where the run is
	Input         Input  `json:"input"`         // the request, with defaults and all limits
	Iteration     int    `json:"iteration"`     // current iteration, from 1
	MaxIterations int    `json:"maxIterations"` // Policy.Iterations
	Plan          *Plan  `json:"plan"`          // nil: there is no current plan
	StepIndex     int    `json:"stepIndex"`     // number of finished steps of the plan
	Course

	QualityScore   float64                `json:"qualityScore"`   // score of the last evaluation, at the end that of the article; 0 to 1
	Completeness   float64                `json:"completeness"`   // mark of the last evaluation, 0 to 1
	ShouldContinue bool                   `json:"shouldContinue"` // another iteration follows
	Feedback       *string                `json:"feedback"`       // shortfalls of the last iteration; nil: none
	Usage          providers.Usage        `json:"usage"`          // usage of all calls so far
	Phases         []phaseChange          `json:"phases"`         // all transitions, oldest first
	Actions        []Action               `json:"actions"`        // every decision
	Warnings       []orchestrator.Warning `json:"warnings"`       // those of the Outcome so far
	StartedAt      time.Time              `json:"startedAt"`      // beginning of the run
	CompletedAt    *time.Time             `json:"completedAt"`    // nil: the run has not ended
}

// Course is how the result of a run came about.
type Course struct {
	History []Iteration `json:"history"` // iterations that were evaluated
	Tasks   []Task      `json:"tasks"`   // tasks of all iterations
	Results
}

// Results has what workers made, in the order of the plans. Research is that of all
// iterations, the rest that of the last one.
type Results struct {
	Research []WorkerOutput `json:"research"` // findings
	Analysis []WorkerOutput `json:"analysis"` // results of analyses, in any form
	Writing  []WorkerOutput `json:"writing"`  // drafts
	Quality  []WorkerOutput `json:"quality"`  // results of checks, in any form
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
	Worker    string          `json:"worker"`              // ID of the worker
	Iteration int             `json:"iteration"`           // from 1
	Payload   json.RawMessage `json:"payload"`             // JSON of its answer
	RevisedBy string          `json:"revisedBy,omitempty"` // the checker whose text a draft has now; "": none
}

// Iteration is an execution of a plan that was evaluated.
type Iteration struct {
	Plan     Plan    `json:"plan"`               // plan that was executed
	Quality  float64 `json:"quality"`            // score, 0 to 1
	Ungraded bool    `json:"ungraded,omitempty"` // no grade came: Quality is 0, or Policy.AssumeScore
}

// phaseChange is one transition of the phase machine.
type phaseChange struct {
	From Phase     `json:"from"` // phase before
	To   Phase     `json:"to"`   // phase after
	At   time.Time `json:"at"`   // time of the change
}

// Action is an action of a member of the team.
type Action struct {
	Agent   string         `json:"agent"`             // member in words, such as "Planner"
	Action  string         `json:"action"`            // name, such as "create_plan"
	Details map[string]any `json:"details,omitempty"` // figures by name; nil: none
	At      time.Time      `json:"at"`                // time of the action
}

// What a task is.
const (
	taskPending   = "PENDING"
	taskRunning   = "RUNNING"
	taskCompleted = "COMPLETED"
	taskFailed    = "FAILED"
	taskSkipped   = "SKIPPED"
	taskCanceled  = "CANCELED"
)

// Task is a worker's part in a step.
type Task struct {
	ID         string          `json:"id"`                   // task-1, task-2, …
	Worker     string          `json:"worker"`               // ID of the worker
	Step       string          `json:"step"`                 // ID of the step
	Plan       string          `json:"plan"`                 // ID of the plan
	Iteration  int             `json:"iteration"`            // number of the iteration, from 1
	Attempts   int             `json:"attempts"`             // tries that were started
	Priority   string          `json:"priority"`             // the worker's priority
	Status     string          `json:"status"`               // PENDING, RUNNING, COMPLETED, FAILED, SKIPPED or CANCELED
	Usage      providers.Usage `json:"usage"`                // usage of all attempts
	Error      string          `json:"error,omitempty"`      // failure of the last attempt that failed; "": none did
	FallbackOf string          `json:"fallbackOf,omitempty"` // the worker that failed; "": the plan names this one
}
