// Package feed reads arXiv's answers, which are Atom feeds.
package feed

import (
	"bytes"
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mmcdole/gofeed/atom"

	"github.com/convene-go/convene/orchestrator/research"
	"github.com/convene-go/convene/orchestrator/research/workers/internal/address"
	"github.com/convene-go/convene/orchestrator/research/workers/internal/page"
	"github.com/convene-go/convene/orchestrator/research/workers/internal/prose"
)

const (
	maxAbstract = 2000 // characters, with authors and date
	maxAuthors  = 5
	maxName     = 100 // characters
)

// Feed is an answer of arXiv.
type Feed struct {
	Total   int // papers that fit the query
	Entries []Entry
}

// Entry is a paper, or the report of an error.
type Entry struct{ *atom.Entry }

// Parse reads an Atom feed, at most so many entries of it. It does not expand entities that a
// document declares, and refuses what would take its parser long.
func Parse(data []byte, most int) (f Feed, err error) {
	defer func() {
		if v := recover(); v != nil {
			f, err = Feed{}, fmt.Errorf("it is no Atom feed: panic: %v", v)
		}
	}()
	if _, err := measure(data); err != nil {
		return Feed{}, fmt.Errorf("it is no Atom feed: %w", err)
	}
	doc, err := new(atom.Parser).Parse(bytes.NewReader(data))
	if err != nil {
		return Feed{}, fmt.Errorf("it is no Atom feed: %w", err)
	}
	for _, e := range doc.Entries[:min(len(doc.Entries), most)] {
		f.Entries = append(f.Entries, Entry{e})
	}
	for _, names := range doc.Extensions { // the prefix of OpenSearch is the feed's choice
		for _, e := range names["totalResults"] {
			if n, err := strconv.Atoi(e.Value); err == nil {
				f.Total = max(n, 0)
			}
		}
	}
	return f, nil
}

// Fault is the error that arXiv reports for a query; "": none.
func (f *Feed) Fault() string {
	if len(f.Entries) != 1 || !strings.Contains(f.Entries[0].ID, "/api/errors") {
		return ""
	}
	return cmp.Or(prose.OneLine(f.Entries[0].Summary, page.MaxTitle), "it reports an error")
}

// Source is a paper as a source: authors, date and abstract. false: it has no title.
func (e Entry) Source() (research.Source, bool) {
	s := research.Source{Title: prose.OneLine(e.Title, page.MaxTitle), Kind: "academic", URL: e.address()}
	s.Excerpt = prose.OneLine(strings.TrimSpace(e.byline()+" "+e.Summary), maxAbstract)
	return s, s.Title != ""
}

// address is the page of the abstract; "": there is none.
func (e Entry) address() string {
	candidates := []string{e.ID}
	for _, l := range e.Links {
		if l.Rel == "" || l.Rel == "alternate" {
			candidates = append([]string{l.Href}, candidates...)
		}
	}
	for _, c := range candidates {
		c = strings.TrimSpace(c)
		u, err := url.Parse(c)
		if err == nil && len(c) <= address.MaxURL && u.User == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") {
			return c
		}
	}
	return ""
}

// byline is such as "Ada Example, Ben Sample (2024-03-01).", as far as known.
func (e Entry) byline() string {
	var names []string
	for _, a := range e.Authors {
		name := prose.OneLine(a.Name, maxName)
		if name == "" {
			continue
		}
		if len(names) == maxAuthors {
			names = append(names, "et al.")
			break
		}
		names = append(names, name)
	}
	text := strings.Join(names, ", ")
	if at := e.PublishedParsed; at != nil {
		text = strings.TrimSpace(text + " (" + at.UTC().Format(time.DateOnly) + ")")
	}
	if text == "" {
		return ""
	}
	return strings.TrimSuffix(text, ".") + "."
}
