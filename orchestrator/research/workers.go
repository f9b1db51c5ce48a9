package research

import (
	"cmp"
	"slices"
	"time"

	"github.com/convene-go/convene/orchestrator/internal/team"
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

var categories = []Category{Researching, Analysing, Writing, Checking}

// Priority is how much a worker matters.
type Priority string

// The priorities.
const (
	High   Priority = "HIGH"
	Medium Priority = "MEDIUM"
	Low    Priority = "LOW"
)

// Worker is an agent whom plans can name.
type Worker struct {
	ID       string   `json:"id"`             // in plans
	Agent    string   `json:"agent,omitzero"` // in the roster; "": the ID
	Category Category `json:"category"`
	Critical bool     `json:"critical,omitzero"` // the run fails without it; others are optional
	Priority Priority `json:"priority,omitzero"` // "": High if Critical, else Medium
	Fallback string   `json:"fallback,omitzero"` // the worker that does its part when it has failed; "": none
	Cheaper  string   `json:"cheaper,omitzero"`  // the worker that can do its part for less money; "": none
	Needs    []string `json:"needs,omitempty"`   // products of earlier workers
	Produces []string `json:"produces,omitempty"`
	For      For      `json:"for,omitzero"`     // inputs that call for it
	Revises  bool     `json:"revises,omitzero"` // of a checker: the text that it returns takes the place of the article

	EstCost providers.NanoUSD `json:"estCost,omitzero"` // of a call, reserved before it; 0: not known
	EstTime time.Duration     `json:"estTime,omitzero"`
	Timeout time.Duration     `json:"timeout,omitzero"` // of a call; 0: twice EstTime and at least 30 s, or 300 s without EstTime
	Note    string            `json:"note,omitzero"`    // what its absence means: "SEO optimization unavailable"
}

// For says which inputs call for a worker: a plan that leaves it out gets it.
type For struct {
	Sources []string `json:"sources,omitempty"` // a preferred source has one of these words in it, in any case
	Tones   []string `json:"tones,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (w Worker) MarshalJSON() ([]byte, error) { return team.Encode(w) }

// UnmarshalJSON implements json.Unmarshaler.
func (w *Worker) UnmarshalJSON(data []byte) error { return team.Decode(data, w) }

// find returns the worker of that ID.
func find(workers []Worker, id string) (Worker, bool) {
	i := slices.IndexFunc(workers, func(w Worker) bool { return w.ID == id })
	if i < 0 {
		return Worker{}, false
	}
	return workers[i], true
}

// writes tells whether w is a writer without whom there is no article.
func (w Worker) writes() bool { return w.Critical && w.Category == Writing }

// feeds tells whether w makes something that another worker needs.
func (w Worker) feeds(other Worker) bool {
	return slices.ContainsFunc(other.Needs, func(n string) bool { return slices.Contains(w.Produces, n) })
}

// absence is what it means that w is missing.
func (w Worker) absence(cause string) string { return cmp.Or(w.Note, w.ID+" unavailable: "+cause) }

// Catalogue returns eleven workers to start from, of which the writer alone is
// critical. The host's roster has an agent of each name.
func Catalogue() []Worker {
	work := func(id string, category Category, cents providers.NanoUSD, minutes time.Duration, note string) Worker {
		return Worker{ID: id, Category: category, EstCost: cents * providers.USD / 100, EstTime: minutes * time.Minute, Note: note}
	}
	research := func(id string, cents providers.NanoUSD, minutes time.Duration, note string) Worker {
		w := work(id, Researching, cents, minutes, note)
		w.Produces = []string{"sources"}
		return w
	}
	check := func(id, makes string, cents providers.NanoUSD, minutes time.Duration, note string) Worker {
		w := work(id, Checking, cents, minutes, note)
		w.Needs, w.Produces = []string{"article"}, []string{makes}
		return w
	}
	papers := research("academic_search", 15, 4, "Academic search unavailable")
	papers.For.Sources = []string{"academic"}
	scraper := research("web_scraper", 20, 4, "Web pages were not read in full")
	scraper.Fallback, scraper.Needs = "web_search", []string{"sources"} // it reads what others found
	social := research("social_media", 140, 4, "Social media unavailable")
	social.Priority = Low
	synthesizer := work("content_synthesizer", Analysing, 30, 2, "Sources were not analysed")
	synthesizer.Needs, synthesizer.Produces = []string{"sources"}, []string{"analysis"}
	writer := work("article_writer", Writing, 90, 6, "")
	writer.Critical, writer.Needs, writer.Produces = true, []string{"sources", "analysis"}, []string{"article"}
	editor := check("editor", "edits", 20, 4, "The text was not edited")
	editor.Revises = true
	citations := check("citation_formatter", "citations", 20, 3, "Citations were not formatted")
	citations.Revises, citations.For.Tones = true, []string{"academic"}
	seo := check("seo_optimizer", "keywords", 10, 2, "SEO optimization unavailable")
	seo.Priority = Low
	return []Worker{
		research("web_search", 20, 5, "Web search unavailable"), papers, research("news_search", 15, 3, "News search unavailable"), scraper, social,
		synthesizer, writer, check("fact_checker", "facts", 30, 4, "Facts were not checked"), editor, citations, seo,
	}
}

// withDefaults returns a copy that shares nothing with workers.
func withDefaults(workers []Worker) []Worker {
	workers = slices.Clone(workers)
	for i := range workers {
		w := &workers[i]
		w.Agent = cmp.Or(w.Agent, w.ID)
		if w.Critical {
			w.Priority = cmp.Or(w.Priority, High)
		}
		w.Priority = cmp.Or(w.Priority, Medium)
		switch {
		case w.Timeout > 0:
		case w.EstTime > 0:
			w.Timeout = max(30*time.Second, 2*w.EstTime)
		default:
			w.Timeout = 300 * time.Second
		}
		w.Needs, w.Produces = slices.Clone(w.Needs), slices.Clone(w.Produces)
		w.For = For{slices.Clone(w.For.Sources), slices.Clone(w.For.Tones)}
	}
	return workers
}

// validateWorkers adds what is wrong with workers to f.
func validateWorkers(f *team.Faults, workers []Worker) {
	seen := map[string]bool{}
	for i, w := range workers {
		bad := func(format string, args ...any) {
			f.Add("Workers[%d] (%q): "+format, append([]any{i, w.ID}, args...)...)
		}
		if w.ID == "" || seen[w.ID] {
			bad("ID is empty or that of an earlier worker")
		}
		seen[w.ID] = true
		if !slices.Contains(categories, w.Category) {
			bad("Category is %q, want one of %q", w.Category, categories)
		}
		if !slices.Contains([]Priority{"", High, Medium, Low}, w.Priority) {
			bad("Priority is %q, want HIGH, MEDIUM or LOW", w.Priority)
		}
		if w.EstCost < 0 || w.EstTime < 0 || w.Timeout < 0 {
			bad("EstCost, EstTime or Timeout is negative")
		}
		if _, ok := find(workers, w.Fallback); w.Fallback != "" && (!ok || w.Fallback == w.ID) {
			bad("Fallback is %q, want another worker", w.Fallback)
		}
		if c, ok := find(workers, w.Cheaper); w.Cheaper != "" && (!ok || w.Cheaper == w.ID || c.Category != w.Category || c.Critical != w.Critical) {
			bad("Cheaper is %q, want another worker of the same category that is as critical", w.Cheaper)
		}
		if w.Revises && w.Category != Checking {
			bad("Revises is for workers of category %q", Checking)
		}
		for _, tone := range w.For.Tones {
			if !slices.Contains(Tones, tone) {
				bad("For.Tones has %q, want one of %q", tone, Tones)
			}
		}
	}
	if !slices.ContainsFunc(workers, Worker.writes) {
		f.Add("Workers: none is critical and of category %q", Writing)
	}
}
