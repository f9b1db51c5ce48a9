package research

import (
	"encoding/json"
	"time"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/providers"
)

// State is what a run exposes while it goes on, and at its end (R5).
type State struct {
	ExecutionID   string            `json:"execution_id"` // exec_YYYYMMDD_HHMMSS_xxxx (RC4)
	Phase         Phase             `json:"phase"`
	Brief         Brief             `json:"brief"` // with its defaults
	Iteration     int               `json:"iteration"`
	MaxIterations int               `json:"max_iterations"`
	Plan          *Plan             `json:"plan"`       // nil: there is none now
	History       []IterationRecord `json:"history"`    // of plans that were evaluated (RC14)
	StepIndex     int               `json:"step_index"` // finished steps of the plan (R64)
	Tasks         []Task            `json:"tasks"`      // of all iterations

	// What workers made, in the order of the plans (R63, R66). Research is of all
	// iterations, the others are of the last (RC28).
	Research []WorkerOutput `json:"research"`
	Analysis []WorkerOutput `json:"analysis"`
	Writing  []WorkerOutput `json:"writing"`
	Quality  []WorkerOutput `json:"quality"`

	QualityScore   float64         `json:"quality_score"` // of the last evaluation
	Completeness   float64         `json:"completeness_score"`
	ShouldContinue bool            `json:"should_continue"`
	Feedback       *string         `json:"feedback"` // nil: none
	Usage          providers.Usage `json:"usage"`
	Phases         []PhaseChange   `json:"phases"`
	Actions        []Action        `json:"actions"` // every decision (R106)
	Warnings       []Warning       `json:"warnings"`
	StartedAt      time.Time       `json:"started_at"`
	CompletedAt    *time.Time      `json:"completed_at"`
}

// IterationRecord is a plan and the score it reached (R86).
type IterationRecord struct {
	Plan    Plan    `json:"plan"`
	Quality float64 `json:"quality"`
}

// PhaseChange is one move of the phase machine (R23).
type PhaseChange struct {
	From Phase     `json:"from"`
	To   Phase     `json:"to"`
	At   time.Time `json:"timestamp"`
}

// Action is something that an agent of the team did (R106, R109).
type Action struct {
	Agent   string         `json:"agent"`
	Action  string         `json:"action"`
	Details map[string]any `json:"details,omitempty"`
	At      time.Time      `json:"timestamp"`
}

// Warning is something that went wrong without ending the run.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// TaskStatus is where a task is.
type TaskStatus string

// The statuses of tasks.
const (
	TaskPending   TaskStatus = "PENDING"
	TaskRunning   TaskStatus = "RUNNING"
	TaskCompleted TaskStatus = "COMPLETED"
	TaskFailed    TaskStatus = "FAILED"
	TaskSkipped   TaskStatus = "SKIPPED"
	TaskCanceled  TaskStatus = "CANCELED"
)

// Task is a worker's part in a step (R59).
type Task struct {
	ID         string          `json:"id"` // task-1, task-2, …
	Worker     string          `json:"worker"`
	Step       string          `json:"step"`
	Plan       string          `json:"plan"`
	Iteration  int             `json:"iteration"`
	Attempts   int             `json:"attempts"` // that were begun
	Priority   Priority        `json:"priority"`
	Status     TaskStatus      `json:"status"`
	Usage      providers.Usage `json:"usage"` // of all attempts
	Error      string          `json:"error,omitempty"`
	FallbackOf string          `json:"fallback_of,omitempty"` // the worker that failed
}

// WorkerInput is what a worker gets, as the JSON of Request.Input (R111).
type WorkerInput struct {
	TaskID    string                     `json:"task_id"`
	WorkerID  string                     `json:"worker_id"`
	Brief     Brief                      `json:"brief"`
	Inputs    map[string]json.RawMessage `json:"inputs"` // what it needs of others, by their IDs
	Feedback  string                     `json:"feedback,omitempty"`
	Iteration int                        `json:"iteration"`
}

// WorkerOutput is what a worker made: for research [Findings], for writing a [Draft],
// else any JSON.
type WorkerOutput struct {
	Worker    string          `json:"worker"`
	Iteration int             `json:"iteration"`
	Payload   json.RawMessage `json:"payload"`
}

// Findings is what research workers answer with.
type Findings struct {
	Sources []Source `json:"sources"`
	Summary string   `json:"summary,omitempty"`
}

// Source is where something is from.
type Source struct {
	Title     string  `json:"title"`
	URL       string  `json:"url,omitempty"` // http or https; another one is dropped (RX24)
	Kind      string  `json:"kind,omitempty"`
	Relevance float64 `json:"relevance,omitempty"` // 0 to 1; 0: not said (RX16)
	Excerpt   string  `json:"excerpt,omitempty"`
}

// Draft is what writing workers answer with; text that is no JSON is its Content.
type Draft struct {
	Title   string `json:"title,omitempty"`
	Content string `json:"content"`
}

// Marks is what a supervisor answers with (R75). The score and what follows from it are
// computed.
type Marks struct {
	grading.Facets
	Completeness *float64 `json:"completeness,omitempty"` // nil: as Article (RC31)
	Feedback     string   `json:"feedback,omitempty"`
	Issues       []string `json:"issues,omitempty"`
}

// Output is what came of a run (R91). It is there beside an error, too.
type Output struct {
	orchestrator.Outcome // Status: completed, partial, or how it failed; Score: overall, 0 to 1

	RequestID   string             `json:"request_id,omitempty"`
	ExecutionID string             `json:"execution_id,omitempty"` // "": it was not admitted
	Article     *Article           `json:"article,omitempty"`
	Quality     map[string]float64 `json:"quality,omitempty"` // overall and the facets
	Sources     []Source           `json:"sources"`
	Metrics     Metrics            `json:"metrics"`
	SystemNotes []string           `json:"system_notes,omitempty"`
	Explanation string             `json:"explanation,omitempty"` // why the result is partial
	Warnings    []Warning          `json:"warnings"`
	Failure     *Failure           `json:"error,omitempty"`
	Partial     *PartialResults    `json:"partial_results,omitempty"` // of a run that failed
}

// Article is the merged text.
type Article struct {
	Title       string `json:"title,omitempty"`
	Content     string `json:"content"`
	Words       int    `json:"word_count"` // counted, whatever the writer said (RX17)
	ReadMinutes int    `json:"reading_time"`
}

// Metrics are the figures of a run (R90).
type Metrics struct {
	Duration    time.Duration   `json:"duration"` // from StartedAt to CompletedAt, nanoseconds (R98)
	Usage       providers.Usage `json:"usage"`
	Tasks       int             `json:"tasks"`
	Succeeded   int             `json:"succeeded"`
	Failed      int             `json:"failed"`
	Skipped     int             `json:"skipped"`
	Retries     int             `json:"retries"` // attempts beyond the first
	Iterations  int             `json:"iterations"`
	Improvement string          `json:"improvement,omitempty"` // "+23% quality (0.65 → 0.88)": points (RC16)
}

// Failure says how a run failed (R100, R101).
type Failure struct {
	Type        string `json:"type"` // such as "WorkerExecutionError"
	Message     string `json:"message"`
	Phase       string `json:"phase"` // in upper case: where it failed
	ExecutionID string `json:"execution_id"`
	Stack       string `json:"stack,omitempty"` // of a panic
}

// PartialResults are what a failed run has (R100).
type PartialResults struct {
	Research []WorkerOutput    `json:"research"`
	Analysis []WorkerOutput    `json:"analysis"`
	Writing  []WorkerOutput    `json:"writing"`
	Quality  []WorkerOutput    `json:"quality"`
	Cost     providers.NanoUSD `json:"cost_incurred"`
}
