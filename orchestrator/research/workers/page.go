package workers

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/convene-go/convene/orchestrator/research/workers/internal/page"
	"github.com/convene-go/convene/orchestrator/research/workers/internal/pdf"
	"github.com/convene-go/convene/orchestrator/research/workers/internal/prose"
)

// Page is what was read from an address. Its text is untrusted.
type Page struct {
	URL   string `json:"url"`             // after redirects
	Title string `json:"title,omitempty"` // one line, at most 300 characters; "": it has none
	Text  string `json:"text"`            // never empty; "…" is its end if it was longer
}

var errNoText = errors.New("it has no text")

// pdfKind is the media type of PDFs.
const pdfKind = "application/pdf"

// pageOf reads an answer. A page of an unsupported type, or without text, is an error.
func pageOf(ctx context.Context, a *answer, most int) (Page, error) {
	if len(a.body) == 0 {
		return Page{}, final{errNoText}
	}
	p := Page{URL: a.url.String()}
	title, text, err := read(ctx, a, most)
	p.Title, p.Text = title, prose.Cut(prose.Paragraphs(text), most)
	if err == nil && p.Text == "" {
		err = errNoText
	}
	if err != nil {
		return Page{}, final{err}
	}
	return p, nil
}

// read returns the title and the text of an answer. What it holds counts more than what its
// type says: servers call PDFs and pictures text.
func read(ctx context.Context, a *answer, most int) (title, text string, err error) {
	header, content := a.header.Get("Content-Type"), http.DetectContentType(a.body)
	header = cmp.Or(header, content)
	kind := page.Kind(header)
	if kind == pdfKind || content == pdfKind {
		text, err = pdf.Text(ctx, a.body, most)
		return "", text, err
	}
	return page.Read(header, a.body, a.url)
}
