package research

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// Input is the request for an article. Only Topic is required; a zero field is the default.
type Input struct {
	RequestID        string            `json:"request_id,omitempty"`        // the host's; it comes back in the Outcome
	Topic            string            `json:"topic"`                       // 1 to 500 characters
	ContentType      string            `json:"content_type,omitempty"`      // one of ContentTypes; "article"
	Length           int               `json:"length,omitempty"`            // words, 500 to 10,000; 2,000
	Tone             string            `json:"tone,omitempty"`              // one of Tones; "professional"
	Depth            string            `json:"depth,omitempty"`             // one of Depths; "standard"
	MinSources       int               `json:"min_sources,omitempty"`       // 1 to 50; 10, or 5 if Depth is "light"
	PreferredSources []string          `json:"preferred_sources,omitempty"` // such as "academic"
	MinQuality       *float64          `json:"min_quality,omitempty"`       // 0 to 1; 0.80
	MaxBudget        providers.NanoUSD `json:"max_budget,omitempty"`        // 0.50 to 50 USD; 5 USD
	MaxTime          time.Duration     `json:"max_time,omitempty"`          // 1 minute to 2 hours, in nanoseconds; no limit
	AllowUnpriced    bool              `json:"allow_unpriced,omitempty"`    // models without a known price may be called: then MaxBudget limits only known costs
}

// The allowed values of some fields of an Input. The first of each but Depths is the default.
var (
	ContentTypes = []string{"article", "blog_post", "research_report", "tutorial", "documentation", "summary"}
	Tones        = []string{"professional", "casual", "academic", "technical", "conversational"}
	Depths       = []string{"light", "standard", "deep"}
)

// ErrRejected says that an input was not admitted: no iteration was started.
const ErrRejected = agent.Code("research/rejected")

// withDefaults sets the zero fields of in to their defaults.
func (in Input) withDefaults() Input {
	in.ContentType, in.Tone, in.Depth = cmp.Or(in.ContentType, ContentTypes[0]), cmp.Or(in.Tone, Tones[0]), cmp.Or(in.Depth, "standard")
	in.Length = cmp.Or(in.Length, 2000)
	in.MaxBudget = cmp.Or(in.MaxBudget, 5*providers.USD)
	in.MinSources = cmp.Or(in.MinSources, map[string]int{"light": 5}[in.Depth], 10)
	in.MinQuality = new(*cmp.Or(in.MinQuality, new(0.80)))
	in.PreferredSources = slices.Clone(in.PreferredSources)
	return in
}

// shown is the part of in that agents read: money and time are in other texts.
func (in Input) shown() Input {
	in.RequestID, in.MaxBudget, in.MaxTime, in.AllowUnpriced = "", 0, 0, false
	return in
}

// Validate returns every fault of in joined into one error, or nil: what is missing,
// out of range, or contradictory. Each names its field. A zero field stands for its
// default.
func (in Input) Validate() error {
	var f team.Faults
	n, missing := utf8.RuneCountInString(in.Topic), strings.TrimSpace(in.Topic) == ""
	f.If(missing, "topic is missing")
	f.If(!missing && (n > 500 || !utf8.ValidString(in.Topic)), "topic has %d characters, want a text of 1 to 500", n)
	in = in.withDefaults()
	f.If(!slices.Contains(ContentTypes, in.ContentType), "content_type is %q, want one of %q", in.ContentType, ContentTypes)
	f.If(!slices.Contains(Tones, in.Tone), "tone is %q, want one of %q", in.Tone, Tones)
	f.If(!slices.Contains(Depths, in.Depth), "depth is %q, want one of %q", in.Depth, Depths)
	f.If(in.Length < 500 || in.Length > 10_000, "length is %d words, want 500 to 10,000", in.Length)
	f.If(in.MinSources < 1 || in.MinSources > 50, "min_sources is %d, want 1 to 50", in.MinSources)
	f.If(in.Depth == "light" && in.MinSources > 12, "min_sources is %d, which contradicts depth \"light\": want at most 12, or more depth", in.MinSources)
	f.Within("min_quality", *in.MinQuality, 0, 1)
	f.If(in.MaxBudget < providers.USD/2 || in.MaxBudget > 50*providers.USD, "max_budget is %s USD, want 0.50 to 50", amount(in.MaxBudget))
	f.If(in.MaxTime != 0 && (in.MaxTime < time.Minute || in.MaxTime > 2*time.Hour), "max_time is %v, want 1m to 2h", in.MaxTime)
	return f.Err()
}

// Outcome is the result of a run, also beside an error. Its Status is Completed if the
// article reached MinQuality; Partial if it did not, or was not graded; else there is no
// finished article: OutOfBudget, Canceled or Failed. Score is 0 to 1.
type Outcome struct {
	orchestrator.Outcome

	RequestID   string             `json:"request_id,omitempty"`
	ExecutionID string             `json:"execution_id,omitempty"` // "": it was not admitted
	Article     *Article           `json:"article,omitempty"`
	Quality     map[string]float64 `json:"quality,omitempty"` // overall and the marks, 0 to 1
	Sources     []Source           `json:"sources"`
	Metrics     Metrics            `json:"metrics"`
	SystemNotes []string           `json:"system_notes,omitempty"`
	Failure     *Failure           `json:"error,omitempty"`
	Partial     *PartialResults    `json:"partial_results,omitempty"` // of a run that failed
}

// Article is the merged text. Unless the status is Completed, the first line of its
// Content says so.
type Article struct {
	Title       string `json:"title,omitempty"`
	Content     string `json:"content"`
	Words       int    `json:"word_count"` // counted, without that first line
	ReadMinutes int    `json:"reading_time"`
}

// Metrics are the figures of a run.
type Metrics struct {
	Duration    time.Duration `json:"duration"` // from StartedAt to CompletedAt
	Tasks       int           `json:"tasks"`
	Succeeded   int           `json:"succeeded"`
	Failed      int           `json:"failed"`
	Skipped     int           `json:"skipped"`
	Retries     int           `json:"retries"` // attempts beyond the first
	Iterations  int           `json:"iterations"`
	Improvement string        `json:"improvement,omitempty"` // "+23% quality (0.65 → 0.88)": percentage points from the first iteration to the one that is returned
}

// Failure says why a run failed.
type Failure struct {
	Type        string `json:"type"` // such as "WorkerExecutionError"
	Message     string `json:"message"`
	Phase       string `json:"phase"` // in upper case: where it failed
	ExecutionID string `json:"execution_id"`
	Stack       string `json:"stack,omitempty"` // of a panic
}

// Results are the results of workers, in the order of the plans. Research is of all
// iterations, the others are of the last.
type Results struct {
	Research []WorkerOutput `json:"research"`
	Analysis []WorkerOutput `json:"analysis"`
	Writing  []WorkerOutput `json:"writing"`
	Quality  []WorkerOutput `json:"quality"`
}

// PartialResults are the results of a failed run.
type PartialResults struct {
	Results

	Cost providers.NanoUSD `json:"cost_incurred"`
}

// State is what a run exposes while it runs, and at its end.
type State struct {
	ExecutionID   string            `json:"execution_id"` // exec_YYYYMMDD_HHMMSS_xxxx
	Phase         Phase             `json:"phase"`
	Input         Input             `json:"brief"` // with its defaults
	Iteration     int               `json:"iteration"`
	MaxIterations int               `json:"max_iterations"`
	Plan          *Plan             `json:"plan"`       // nil: there is no current plan
	History       []IterationRecord `json:"history"`    // of plans that were evaluated
	StepIndex     int               `json:"step_index"` // finished steps of the plan
	Tasks         []Task            `json:"tasks"`      // of all iterations
	Results

	QualityScore   float64                `json:"quality_score"` // of the last evaluation; at the end that of the article
	Completeness   float64                `json:"completeness_score"`
	ShouldContinue bool                   `json:"should_continue"`
	Feedback       *string                `json:"feedback"` // nil: none
	Usage          providers.Usage        `json:"usage"`    // of all calls so far
	Phases         []PhaseChange          `json:"phases"`
	Actions        []Action               `json:"actions"` // every decision
	Warnings       []orchestrator.Warning `json:"warnings"`
	StartedAt      time.Time              `json:"started_at"`
	CompletedAt    *time.Time             `json:"completed_at"`
}

// of returns the results of workers of a category.
func (r *Results) of(category Category) *[]WorkerOutput {
	return map[Category]*[]WorkerOutput{Researching: &r.Research, Analysing: &r.Analysis, Writing: &r.Writing, Checking: &r.Quality}[category]
}

// all returns the results of all categories.
func (r *Results) all() []WorkerOutput {
	return slices.Concat(r.Research, r.Analysis, r.Writing, r.Quality)
}

// IterationRecord is a plan and the score it reached.
type IterationRecord struct {
	Plan     Plan    `json:"plan"`
	Quality  float64 `json:"quality"`
	Ungraded bool    `json:"ungraded,omitempty"` // it could not be graded: Quality is 0, or Policy.AssumeScore

	score            *float64 // Quality; nil: there is none
	marks            Marks
	writing, quality []WorkerOutput
}

// PhaseChange is one transition of the phase machine.
type PhaseChange struct {
	From Phase     `json:"from"`
	To   Phase     `json:"to"`
	At   time.Time `json:"timestamp"`
}

// Action is an action of a member of the team.
type Action struct {
	Agent   string         `json:"agent"`
	Action  string         `json:"action"`
	Details map[string]any `json:"details,omitempty"`
	At      time.Time      `json:"timestamp"`
}

// TaskStatus is the state of a task.
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

// Task is a worker's part in a step.
type Task struct {
	ID         string          `json:"id"` // task-1, task-2, …
	Worker     string          `json:"worker"`
	Step       string          `json:"step"`
	Plan       string          `json:"plan"`
	Iteration  int             `json:"iteration"`
	Attempts   int             `json:"attempts"` // started
	Priority   Priority        `json:"priority"`
	Status     TaskStatus      `json:"status"`
	Usage      providers.Usage `json:"usage"` // of all attempts
	Error      string          `json:"error,omitempty"`
	FallbackOf string          `json:"fallback_of,omitempty"` // the worker that failed
}

// WorkerInput is the input of a worker, as the JSON of Request.Input.
type WorkerInput struct {
	TaskID    string                     `json:"task_id"`
	WorkerID  string                     `json:"worker_id"`
	Brief     Input                      `json:"brief"`  // without money and time
	Inputs    map[string]json.RawMessage `json:"inputs"` // the results that it needs, by the IDs of their workers
	Feedback  string                     `json:"feedback,omitempty"`
	Iteration int                        `json:"iteration"`

	// For a writer from the second iteration on: its last text, as revised by checkers,
	// and the checkers' results, by their IDs.
	LastDraft *Draft                     `json:"last_draft,omitempty"`
	Checks    map[string]json.RawMessage `json:"checks,omitempty"`
}

// WorkerOutput is the result of a worker: for research [Findings], for writing a [Draft],
// else any JSON.
type WorkerOutput struct {
	Worker    string          `json:"worker"`
	Iteration int             `json:"iteration"`
	Payload   json.RawMessage `json:"payload"`
	RevisedBy string          `json:"revised_by,omitempty"` // the checker whose text a draft now has
}

// Findings is the answer of research workers.
type Findings struct {
	Sources []Source `json:"sources"`
	Summary string   `json:"summary,omitempty"`
}

// Source is the origin of a finding.
type Source struct {
	Title     string  `json:"title"`
	URL       string  `json:"url,omitempty"` // http or https; another one is dropped
	Kind      string  `json:"kind,omitempty"`
	Relevance float64 `json:"relevance,omitempty"` // 0 to 1; 0: not given
	Excerpt   string  `json:"excerpt,omitempty"`
}

// Draft is the answer of writing workers; text that is not JSON is its Content.
type Draft struct {
	Title   string `json:"title,omitempty"`
	Content string `json:"content"`
}

// Marks is the answer of a supervisor, each 0 to 1. The score and its consequences are
// computed.
type Marks struct {
	grading.Facets
	Completeness *float64 `json:"completeness,omitempty"` // nil: as Article
	Feedback     string   `json:"feedback,omitempty"`
	Issues       []string `json:"issues,omitempty"`
}
