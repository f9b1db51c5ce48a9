package workers

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	readability "codeberg.org/readeck/go-readability/v2"
	"codeberg.org/readeck/go-readability/v2/render"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
)

// The limits of the search for an article, which takes time by the product of the two. A
// larger page gives all its text, menus included.
const (
	maxElements = 20_000
	maxDepth    = 100
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

// kindOf returns the media type of a Content-Type; "": it has none.
func kindOf(header string) string {
	kind, _, err := mime.ParseMediaType(header)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return ""
	}
	return kind
}

// pageOf reads an answer. A page of an unsupported type, or without text, is an error.
func pageOf(ctx context.Context, a *answer, most int) (Page, error) {
	if len(a.body) == 0 {
		return Page{}, final{errNoText}
	}
	p := Page{URL: a.url.String()}
	title, text, err := read(ctx, a, most)
	p.Title, p.Text = title, cut(paragraphs(text), most)
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
	kind := kindOf(header)
	if kind == pdfKind || content == pdfKind {
		text, err = pdfText(ctx, a.body, most)
		return "", text, err
	}
	switch kind {
	case "text/html", "application/xhtml+xml", "text/plain", "text/markdown":
	default:
		return "", "", fmt.Errorf("its content type is %.40q, want HTML, plain text or PDF", cmp.Or(kind, header))
	}
	if isBinary(a.body, header) {
		return "", "", fmt.Errorf("its content is no text but %q, although its content type is %.40q", content, kind)
	}
	body, err := charset.NewReader(bytes.NewReader(a.body), header)
	if err != nil {
		return "", "", fmt.Errorf("its text cannot be read: %w", err)
	}
	if strings.HasSuffix(kind, "html") || strings.HasSuffix(kind, "html+xml") {
		return article(body, a)
	}
	data, err := io.ReadAll(body)
	return "", string(data), err
}

// isBinary reports whether a body begins as no text does: with a sign of another kind of
// file, and control characters. UTF-16 has zero bytes, too.
func isBinary(body []byte, header string) bool {
	begin := body[:min(len(body), 512)]
	if strings.HasPrefix(http.DetectContentType(begin), "text/") {
		return false
	}
	_, name, _ := charset.DetermineEncoding(begin, header)
	return !strings.HasPrefix(name, "utf-16") && bytes.ContainsFunc(begin, func(r rune) bool {
		return r < ' ' && !strings.ContainsRune("\t\n\f\r\x1b", r)
	})
}

// article is the title and the text of an HTML page, without menus and the like if they
// can be recognized.
func article(body io.Reader, a *answer) (title, text string, err error) {
	defer func() {
		if v := recover(); v != nil { // a parser met what its authors did not
			err = fmt.Errorf("its HTML cannot be read: %v", v)
		}
	}()
	plain, err := simplify(body)
	if err != nil {
		return "", "", fmt.Errorf("its HTML cannot be read: %w", err)
	}
	doc, err := html.Parse(bytes.NewReader(plain))
	if err != nil {
		return "", "", fmt.Errorf("its HTML cannot be read: %w", err)
	}
	title = titleOf(doc)
	if elements, depth := size(doc); elements > maxElements || depth > maxDepth {
		return title, render.InnerText(doc), nil
	}
	parser := readability.NewParser()
	parser.DisableJSONLD = true
	found, err := parser.ParseAndMutate(doc, a.url)
	if err != nil {
		return "", "", fmt.Errorf("its HTML cannot be read: %w", err)
	}
	if t := strings.TrimSpace(found.Title()); t != "" {
		title = t
	}
	if found.Node != nil {
		text = render.InnerText(found.Node)
	}
	return oneLine(title, maxTitle), text, nil
}
