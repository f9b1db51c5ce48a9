package workers

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
)

// feed is an answer of arXiv.
type feed struct {
	total   int // papers that fit the query
	entries []entry
}

// entry is a paper, or the report of an error.
type entry struct{ *atom.Entry }

// parseFeed reads an Atom feed, at most so many entries of it. It does not expand entities
// that a document declares.
func parseFeed(data []byte, most int) (f feed, err error) {
	defer func() {
		if v := recover(); v != nil {
			f, err = feed{}, fmt.Errorf("it is no Atom feed: panic: %v", v)
		}
	}()
	doc, err := new(atom.Parser).Parse(bytes.NewReader(data))
	if err != nil {
		return feed{}, fmt.Errorf("it is no Atom feed: %w", err)
	}
	for _, e := range doc.Entries[:min(len(doc.Entries), most)] {
		f.entries = append(f.entries, entry{e})
	}
	for _, names := range doc.Extensions { // by the feed's own prefix of OpenSearch
		for _, e := range names["totalResults"] {
			if n, err := strconv.Atoi(e.Value); err == nil {
				f.total = max(n, 0)
			}
		}
	}
	return f, nil
}

// fault is the error that arXiv reports for a query; "": none.
func (f *feed) fault() string {
	if len(f.entries) != 1 || !strings.Contains(f.entries[0].ID, "/api/errors") {
		return ""
	}
	return cmp.Or(oneLine(f.entries[0].Summary, maxTitle), "it reports an error")
}

// source is a paper as a source: authors, date and abstract. false: it has no title.
func (e entry) source() (research.Source, bool) {
	s := research.Source{Title: oneLine(e.Title, maxTitle), Kind: "academic", URL: e.address()}
	s.Excerpt = oneLine(strings.TrimSpace(e.byline()+" "+e.Summary), maxAbstract)
	return s, s.Title != ""
}

// address is the page of the abstract; "": there is none.
func (e entry) address() string {
	candidates := []string{e.ID}
	for _, l := range e.Links {
		if l.Rel == "" || l.Rel == "alternate" {
			candidates = append([]string{l.Href}, candidates...)
		}
	}
	for _, c := range candidates {
		c = strings.TrimSpace(c)
		u, err := url.Parse(c)
		if err == nil && len(c) <= maxURL && u.User == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") {
			return c
		}
	}
	return ""
}

// byline is such as "Ada Example, Ben Sample (2024-03-01).", as far as known.
func (e entry) byline() string {
	var names []string
	for _, a := range e.Authors {
		name := oneLine(a.Name, maxName)
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
