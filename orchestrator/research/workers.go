package research

import (
	"cmp"
	"slices"
	"time"

	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// Category is what kind of work a worker does.
type Category string

// The categories, in the order of the work.
const (
	Researching Category = "research"
	Analysing   Category = "analysis"
	Writing     Category = "writing"
	Checking    Category = "quality"
)

var tones = []string{"professional", "casual", "academic", "technical", "conversational"}

var categories = []Category{Researching, Analysing, Writing, Checking}

// The priorities.
const high, medium, low = "HIGH", "MEDIUM", "LOW"

// Worker is an agent that plans can name.
type Worker struct {
	ID       string   `json:"id"`                                                                 // name in plans
	Agent    string   `json:"agent,omitzero"`                                                     // name in the roster; "": the ID
	Category Category `json:"category" required:"true" oneof:"research analysis writing quality"` // kind of work
	Critical bool     `json:"critical,omitzero"`                                                  // the run fails without it; others are optional
	Priority string   `json:"priority,omitzero" oneof:"HIGH MEDIUM LOW"`                          // how much it matters; "": high if Critical, else medium
	Fallback string   `json:"fallback,omitzero"`                                                  // the worker that replaces it after a failure; "": none
	Cheaper  string   `json:"cheaper,omitzero"`                                                   // the worker that can replace it for less money; "": none
	Needs    []string `json:"needs,omitempty"`                                                    // products of earlier workers
	Produces []string `json:"produces,omitempty"`                                                 // products
	For      For      `json:"for,omitzero"`                                                       // inputs that require it
	Revises  bool     `json:"revises,omitzero"`                                                   // true: the text that this checker returns replaces the article

	EstCost providers.NanoUSD `json:"estCost,omitzero" min:"0"`                // cost of a call, reserved before it; 0: not known
	EstTime time.Duration     `json:"estTime,omitzero" min:"0"`                // time of a call; 0: not known
	Timeout time.Duration     `json:"timeout,omitzero" default:"300s" min:"0"` // limit of a call; 0: twice EstTime and at least 30 s, or 300 s without EstTime
	Note    string            `json:"note,omitzero"`                           // text of a warning if it is missing: "SEO optimization unavailable"; "": made of ID and cause
}

// For says which inputs require a worker: a plan without it gets it.
type For struct {
	Sources []string `json:"sources,omitempty"` // words, of which a preferred source has one in it, in any case; nil: none
	Tones   []string `json:"tones,omitempty"`   // tones of the input; nil: none
}

// String is the ID.
func (w Worker) String() string { return w.ID }

// find returns the worker of that ID; the zero one if there is none.
func find(workers []Worker, id string) Worker {
	if i := slices.IndexFunc(workers, func(w Worker) bool { return w.ID == id }); i >= 0 {
		return workers[i]
	}
	return Worker{}
}

// writes tells whether w is a writer without which there is no article.
func (w Worker) writes() bool { return w.Critical && w.Category == Writing }

// feeds tells whether w makes something that another worker needs.
func (w Worker) feeds(other Worker) bool {
	return slices.ContainsFunc(other.Needs, func(n string) bool { return slices.Contains(w.Produces, n) })
}

// absence is the text of a warning that w is missing.
func (w Worker) absence(cause string) string { return cmp.Or(w.Note, w.ID+" unavailable: "+cause) }

// Catalogue returns eleven workers to start from, of which only the writer is critical.
// The host's roster has an agent of each name.
func Catalogue() []Worker {
	const cent = providers.USD / 100
	return []Worker{
		{ID: "web_search", Category: Researching, Produces: []string{"sources"}, EstCost: 20 * cent, EstTime: 5 * time.Minute, Note: "Web search unavailable"},
		{ID: "academic_search", Category: Researching, For: For{Sources: []string{"academic"}}, Produces: []string{"sources"}, EstCost: 15 * cent, EstTime: 4 * time.Minute, Note: "Academic search unavailable"},
		{ID: "news_search", Category: Researching, Produces: []string{"sources"}, EstCost: 15 * cent, EstTime: 3 * time.Minute, Note: "News search unavailable"},
		{ID: "web_scraper", Category: Researching, Fallback: "web_search", Needs: []string{"sources"}, Produces: []string{"sources"}, EstCost: 20 * cent, EstTime: 4 * time.Minute, Note: "Web pages were not read in full"}, // it reads what others found
		{ID: "social_media", Category: Researching, Priority: low, Produces: []string{"sources"}, EstCost: 140 * cent, EstTime: 4 * time.Minute, Note: "Social media unavailable"},
		{ID: "content_synthesizer", Category: Analysing, Needs: []string{"sources"}, Produces: []string{"analysis"}, EstCost: 30 * cent, EstTime: 2 * time.Minute, Note: "Sources were not analysed"},
		{ID: "article_writer", Category: Writing, Critical: true, Needs: []string{"sources", "analysis"}, Produces: []string{"article"}, EstCost: 90 * cent, EstTime: 6 * time.Minute},
		{ID: "fact_checker", Category: Checking, Needs: []string{"article"}, Produces: []string{"facts"}, EstCost: 30 * cent, EstTime: 4 * time.Minute, Note: "Facts were not checked"},
		{ID: "editor", Category: Checking, Revises: true, Needs: []string{"article"}, Produces: []string{"edits"}, EstCost: 20 * cent, EstTime: 4 * time.Minute, Note: "The text was not edited"},
		{ID: "citation_formatter", Category: Checking, Revises: true, For: For{Tones: []string{"academic"}}, Needs: []string{"article"}, Produces: []string{"citations"}, EstCost: 20 * cent, EstTime: 3 * time.Minute, Note: "Citations were not formatted"},
		{ID: "seo_optimizer", Category: Checking, Priority: low, Needs: []string{"article"}, Produces: []string{"keywords"}, EstCost: 10 * cent, EstTime: 2 * time.Minute, Note: "SEO optimization unavailable"},
	}
}

// withDefaults returns a copy that shares nothing with workers.
func withDefaults(workers []Worker) []Worker {
	workers = team.Clone(workers)
	for i := range workers {
		w := &workers[i]
		w.Agent = cmp.Or(w.Agent, w.ID)
		if w.Critical {
			w.Priority = cmp.Or(w.Priority, high)
		}
		w.Priority = cmp.Or(w.Priority, medium)
		if w.EstTime > 0 {
			w.Timeout = cmp.Or(w.Timeout, max(30*time.Second, 2*w.EstTime))
		}
	}
	return workers
}

// checkWorkers adds what the tags of workers do not say to f.
func checkWorkers(f *team.Faults, workers []Worker) {
	seen := map[string]bool{}
	for i, w := range workers {
		bad := func(wrong bool, format string, args ...any) {
			f.If(wrong, "Workers[%d] (%q): "+format, append([]any{i, w.ID}, args...)...)
		}
		bad(w.ID == "" || seen[w.ID], "ID is empty or that of an earlier worker")
		seen[w.ID] = true
		other, cheap := find(workers, w.Fallback), find(workers, w.Cheaper)
		bad(w.Fallback != "" && (other.ID == "" || other.ID == w.ID), "Fallback is %q, want another worker", w.Fallback)
		bad(w.Cheaper != "" && (cheap.ID == "" || cheap.ID == w.ID || cheap.Category != w.Category || cheap.Critical != w.Critical),
			"Cheaper is %q, want another worker of the same category that is as critical", w.Cheaper)
		bad(w.Revises && w.Category != Checking, "Revises is for workers of category %q", Checking)
		for _, tone := range w.For.Tones {
			bad(!slices.Contains(tones, tone), "For.Tones has %q, want one of %q", tone, tones)
		}
	}
	f.If(!slices.ContainsFunc(workers, Worker.writes), "Workers: none is critical and of category %q", Writing)
}
