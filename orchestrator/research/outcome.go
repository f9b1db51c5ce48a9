package research

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// Input is the request for an article. Only Topic is required. A zero field is its default.
type Input struct {
	RequestID        string            `json:"requestId,omitempty"`        // the host's ID, which comes back in the Outcome; "": none
	Topic            string            `json:"topic"`                      // subject of the article, 1 to 500 characters
	ContentType      string            `json:"contentType,omitempty"`      // article, blog_post, research_report, tutorial, documentation or summary; "": article
	Length           int               `json:"length,omitempty"`           // words, 500 to 10,000; 0: 2,000
	Tone             string            `json:"tone,omitempty"`             // professional, casual, academic, technical or conversational; "": professional
	Depth            string            `json:"depth,omitempty"`            // light, standard or deep; "": standard
	MinSources       int               `json:"minSources,omitempty"`       // number of sources, 1 to 50; 0: 10, or 5 if Depth is light
	PreferredSources []string          `json:"preferredSources,omitempty"` // kinds such as "academic"; nil: none
	MinQuality       *float64          `json:"minQuality,omitempty"`       // threshold of the score, 0 to 1; nil: 0.80
	MaxBudget        providers.NanoUSD `json:"max_budget,omitempty"`       // 0.50 to 50 USD; 5 USD
	MaxTime          time.Duration     `json:"max_time,omitempty"`         // 1 minute to 2 hours, in nanoseconds; no limit
	AllowUnpriced    bool              `json:"allow_unpriced,omitempty"`   // models without a known price may be called: then MaxBudget limits only known costs
}

var (
	contentTypes = []string{"article", "blog_post", "research_report", "tutorial", "documentation", "summary"}
	tones        = []string{"professional", "casual", "academic", "technical", "conversational"}
	depths       = []string{"light", "standard", "deep"}
)

// ErrRejected says that an input was not admitted: no iteration was started.
const ErrRejected = agent.Code("research/rejected")

// withDefaults sets the zero fields of in to their defaults.
func (in Input) withDefaults() Input {
	in.ContentType, in.Tone, in.Depth = cmp.Or(in.ContentType, contentTypes[0]), cmp.Or(in.Tone, tones[0]), cmp.Or(in.Depth, "standard")
	in.Length = cmp.Or(in.Length, 2000)
	in.MaxBudget = cmp.Or(in.MaxBudget, 5*providers.USD)
	in.MinSources = cmp.Or(in.MinSources, map[string]int{"light": 5}[in.Depth], 10)
	in.MinQuality = new(*cmp.Or(in.MinQuality, new(0.80)))
	in.PreferredSources = slices.Clone(in.PreferredSources)
	return in
}

// Validate returns every fault of in joined into one error, or nil: what is missing,
// out of range, or contradictory. Each fault names its field. A zero field stands for its
// default.
func (in Input) Validate() error {
	var f team.Faults
	n, missing := utf8.RuneCountInString(in.Topic), strings.TrimSpace(in.Topic) == ""
	f.If(missing, "topic is missing")
	f.If(!missing && (n > 500 || !utf8.ValidString(in.Topic)), "topic has %d characters, want a text of 1 to 500", n)
	in = in.withDefaults()
	f.If(!slices.Contains(contentTypes, in.ContentType), "contentType is %q, want one of %q", in.ContentType, contentTypes)
	f.If(!slices.Contains(tones, in.Tone), "tone is %q, want one of %q", in.Tone, tones)
	f.If(!slices.Contains(depths, in.Depth), "depth is %q, want one of %q", in.Depth, depths)
	f.If(in.Length < 500 || in.Length > 10_000, "length is %d words, want 500 to 10,000", in.Length)
	f.If(in.MinSources < 1 || in.MinSources > 50, "minSources is %d, want 1 to 50", in.MinSources)
	f.If(in.Depth == "light" && in.MinSources > 12, "minSources is %d, which contradicts depth \"light\": want at most 12, or more depth", in.MinSources)
	f.Within("minQuality", *in.MinQuality, 0, 1)
	f.If(in.MaxBudget < providers.USD/2 || in.MaxBudget > 50*providers.USD, "max_budget is %s USD, want 0.50 to 50", amount(in.MaxBudget))
	f.If(in.MaxTime != 0 && (in.MaxTime < time.Minute || in.MaxTime > 2*time.Hour), "max_time is %v, want 1m to 2h", in.MaxTime)
	return f.Err()
}

// Outcome is the result of a run, also beside an error. Its Status is Completed if the
// article reached MinQuality, and Partial if it did not, or was not graded. With
// OutOfBudget, Canceled and Failed there is no finished article. Score is 0 to 1.
type Outcome struct {
	orchestrator.Outcome

	RequestID   string             `json:"requestId,omitempty"`
	ExecutionID string             `json:"executionId,omitempty"` // ID of the run in its State; "": the input was not admitted
	Article     *Article           `json:"article,omitempty"`     // nil: nothing was written
	Threshold   float64            `json:"threshold,omitempty"`   // MinQuality, 0 to 1
	Quality     map[string]float64 `json:"quality,omitempty"`     // "overall" and the marks, 0 to 1; nil: not graded
	Sources     []Source           `json:"sources"`               // the most relevant first
	Metrics     Metrics            `json:"metrics"`
	SystemNotes []string           `json:"systemNotes,omitempty"`
	Failure     *Failure           `json:"failure,omitempty"` // why the run failed; nil: it did not
	Course      Course             `json:"course,omitzero"`
}

// Result returns the article's text. "": there is none.
func (o Outcome) Result() string { return cmp.Or(o.Article, new(Article)).Content }

// Article is the merged text. Unless the status is Completed, the first line of its
// Content says so.
type Article struct {
	Title       string `json:"title,omitempty"` // "": no draft has one
	Content     string `json:"content"`
	Words       int    `json:"words"` // number of words without that first line
	ReadMinutes int    `json:"readMinutes"`
}

// Metrics are the figures of a run.
type Metrics struct {
	Duration    time.Duration `json:"duration"` // time from State.StartedAt to State.CompletedAt
	Tasks       int           `json:"tasks"`
	Succeeded   int           `json:"succeeded"` // number of tasks
	Failed      int           `json:"failed"`    // number of tasks
	Skipped     int           `json:"skipped"`   // number of tasks
	Retries     int           `json:"retries"`   // number of attempts beyond the first
	Iterations  int           `json:"iterations"`
	Improvement string        `json:"improvement,omitempty"` // "+23% quality (0.65 → 0.88)": percentage points from the first iteration to the one that is returned
}

// Failure says why a run failed.
type Failure struct {
	Type        string `json:"type"` // such as "WorkerExecutionError"
	Message     string `json:"message"`
	Phase       string `json:"phase"` // where the run failed, in upper case
	ExecutionID string `json:"executionId"`
	Stack       string `json:"stack,omitempty"` // stack of a panic; "": there was none
}
