package workers

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/convene-go/convene/orchestrator/research"
)

const (
	atomSpace   = "http://www.w3.org/2005/Atom"
	searchSpace = "http://a9.com/-/spec/opensearch/1.1/"
)

// feed is an answer of arXiv.
type feed struct {
	total   int // papers that fit the query
	entries []entry
}

// entry is a paper, or the report of an error.
type entry struct {
	ID        string `xml:"http://www.w3.org/2005/Atom id"`
	Title     string `xml:"http://www.w3.org/2005/Atom title"`
	Summary   string `xml:"http://www.w3.org/2005/Atom summary"`
	Published string `xml:"http://www.w3.org/2005/Atom published"`
	Authors   []struct {
		Name string `xml:"http://www.w3.org/2005/Atom name"`
	} `xml:"http://www.w3.org/2005/Atom author"`
	Links []struct {
		Href string `xml:"href,attr"`
		Rel  string `xml:"rel,attr"`
	} `xml:"http://www.w3.org/2005/Atom link"`
}

// parseFeed reads an Atom feed, at most so many entries of it. It does not expand entities
// that a document declares.
func parseFeed(data []byte, most int) (feed, error) {
	d := xml.NewDecoder(bytes.NewReader(data))
	root, err := begin(d)
	if err != nil {
		return feed{}, fmt.Errorf("it is no Atom feed: %w", err)
	}
	if root.Name != (xml.Name{Space: atomSpace, Local: "feed"}) {
		return feed{}, fmt.Errorf("it is no Atom feed: it is <%.40s>", root.Name.Local)
	}
	var f feed
	for {
		e, err := begin(d)
		if errors.Is(err, io.EOF) {
			return f, nil
		}
		if err == nil {
			err = f.read(d, e, most)
		}
		if err != nil {
			return feed{}, fmt.Errorf("it is no Atom feed: %w", err)
		}
	}
}

// begin is the next start element.
func begin(d *xml.Decoder) (xml.StartElement, error) {
	for {
		t, err := d.Token()
		if err != nil {
			return xml.StartElement{}, err
		}
		if e, ok := t.(xml.StartElement); ok {
			return e, nil
		}
	}
}

// read reads an element of the feed.
func (f *feed) read(d *xml.Decoder, e xml.StartElement, most int) error {
	switch {
	case e.Name == xml.Name{Space: atomSpace, Local: "entry"} && len(f.entries) < most:
		var got entry
		if err := d.DecodeElement(&got, &e); err != nil {
			return err
		}
		f.entries = append(f.entries, got)
		return nil
	case e.Name == xml.Name{Space: searchSpace, Local: "totalResults"}:
		var text string
		if err := d.DecodeElement(&text, &e); err != nil {
			return err
		}
		if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
			f.total = max(n, 0)
		}
		return nil
	}
	return d.Skip()
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
	if at, err := time.Parse(time.RFC3339, strings.TrimSpace(e.Published)); err == nil {
		text = strings.TrimSpace(text + " (" + at.UTC().Format(time.DateOnly) + ")")
	}
	if text == "" {
		return ""
	}
	return strings.TrimSuffix(text, ".") + "."
}
