package research

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/convene-go/convene/providers"
)

// Category is what kind of work a worker does (R48).
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

// Worker is somebody whom plans can name. It is any agent.
type Worker struct {
	ID       string // in plans
	Agent    string // in the roster; "": the ID
	Category Category
	Critical bool     // the run fails without it (R70); others are optional
	Priority Priority // "": High if Critical, else Medium (R59)
	Fallback string   // the worker that takes its place when it has failed; "": none (R71)
	Cheaper  string   // the worker that can take its place for less money; "": none (R50)
	Needs    []string // what it needs of earlier workers
	Produces []string // what it makes
	EstCost  providers.NanoUSD
	EstTime  time.Duration
	Timeout  time.Duration // of a call; 0: twice EstTime and at least 30 s, or 300 s without EstTime (RX14)
	Note     string        // what its absence means, such as "SEO optimization unavailable" (R72)

	// Retryable tells whether an error is worth another attempt. It is a pure function.
	// nil: all but a refusal, a mistake of the request and what will not get better
	// (RX12).
	Retryable func(err error) bool
}

// Registry are the workers that plans can name, in the order in which planners are told
// of them. Its order never changes a plan.
type Registry []Worker

// Worker returns the worker of that ID.
func (r Registry) Worker(id string) (Worker, bool) {
	i := slices.IndexFunc(r, func(w Worker) bool { return w.ID == id })
	if i < 0 {
		return Worker{}, false
	}
	return r[i], true
}

// Catalogue returns the eleven workers of R48 with their figures, of which the writer
// alone is critical (RC12). The host's roster has an agent of each name.
func Catalogue() Registry {
	cents := func(n providers.NanoUSD) providers.NanoUSD { return n * providers.USD / 100 }
	research := func(id string, cost providers.NanoUSD, minutes time.Duration, note string) Worker {
		return Worker{ID: id, Category: Researching, Produces: []string{"sources"}, EstCost: cents(cost), EstTime: minutes * time.Minute, Note: note}
	}
	check := func(id, makes string, cost providers.NanoUSD, minutes time.Duration, note string) Worker {
		return Worker{ID: id, Category: Checking, Needs: []string{"article"}, Produces: []string{makes}, EstCost: cents(cost), EstTime: minutes * time.Minute, Note: note}
	}
	scraper := research("web_scraper", 20, 4, "Web pages were not read in full")
	scraper.Fallback, scraper.Needs = "web_search", []string{"sources"} // it reads what others found
	social := research("social_media", 140, 4, "Social media unavailable")
	social.Priority = Low
	seo := check("seo_optimizer", "keywords", 10, 2, "SEO optimization unavailable")
	seo.Priority = Low
	return Registry{
		research("web_search", 20, 5, "Web search unavailable"),
		research("academic_search", 15, 4, "Academic search unavailable"),
		research("news_search", 15, 3, "News search unavailable"),
		scraper,
		social,
		{
			ID: "content_synthesizer", Category: Analysing, Needs: []string{"sources"}, Produces: []string{"analysis"},
			EstCost: cents(30), EstTime: 2 * time.Minute, Note: "Sources were not analysed",
		},
		{
			ID: "article_writer", Category: Writing, Critical: true, Needs: []string{"sources", "analysis"}, Produces: []string{"article"},
			EstCost: cents(90), EstTime: 6 * time.Minute,
		},
		check("fact_checker", "facts", 30, 4, "Facts were not checked"),
		check("editor", "edits", 20, 4, "The text was not edited"),
		check("citation_formatter", "citations", 20, 3, "Citations were not formatted"),
		seo,
	}
}

// withDefaults returns a copy that shares nothing with r but functions.
func (r Registry) withDefaults() Registry {
	r = slices.Clone(r)
	for i := range r {
		w := &r[i]
		w.Agent = or(w.Agent, w.ID)
		if w.Priority == "" {
			w.Priority = Medium
			if w.Critical {
				w.Priority = High
			}
		}
		switch {
		case w.Timeout > 0:
		case w.EstTime > 0:
			w.Timeout = max(30*time.Second, 2*w.EstTime)
		default:
			w.Timeout = 300 * time.Second
		}
		w.Needs, w.Produces = slices.Clone(w.Needs), slices.Clone(w.Produces)
	}
	return r
}

func (r Registry) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	seen := map[string]bool{}
	writer := false
	for i, w := range r {
		at := fmt.Sprintf("Workers[%d] (%q)", i, w.ID)
		switch {
		case w.ID == "":
			bad("Workers[%d].ID is empty", i)
		case seen[w.ID]:
			bad("%s is there twice", at)
		}
		seen[w.ID] = true
		writer = writer || w.Category == Writing && w.Critical
		if !slices.Contains(categories, w.Category) {
			bad("%s: Category is %q, want one of %q", at, w.Category, categories)
		}
		if !slices.Contains([]Priority{"", High, Medium, Low}, w.Priority) {
			bad("%s: Priority is %q, want HIGH, MEDIUM or LOW", at, w.Priority)
		}
		if w.EstCost < 0 || w.EstTime < 0 || w.Timeout < 0 {
			bad("%s: EstCost, EstTime and Timeout must not be negative", at)
		}
		for name, other := range map[string]string{"Fallback": w.Fallback, "Cheaper": w.Cheaper} {
			if _, ok := r.Worker(other); other != "" && (!ok || other == w.ID) {
				bad("%s: %s is %q, want another worker", at, name, other)
			}
		}
		if c, ok := r.Worker(w.Cheaper); ok && (c.Category != w.Category || c.Critical != w.Critical) {
			bad("%s: Cheaper is %q, want a worker of the same category that is as critical", at, w.Cheaper)
		}
	}
	if !writer {
		bad("no worker is critical and of category %q", Writing)
	}
	return errors.Join(errs...)
}
