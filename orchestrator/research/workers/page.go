package workers

import (
	"bytes"
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

// pageOf reads an answer. A page of an unsupported type, or without text, is an error.
func pageOf(a *answer, most int) (Page, error) {
	if len(a.body) == 0 {
		return Page{}, final{errNoText}
	}
	header := a.header.Get("Content-Type")
	if header == "" {
		header = http.DetectContentType(a.body)
	}
	kind, _, err := mime.ParseMediaType(header)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return Page{}, final{fmt.Errorf("its content type is %.40q", header)}
	}
	body, err := charset.NewReader(bytes.NewReader(a.body), header)
	if err != nil {
		return Page{}, final{fmt.Errorf("its text cannot be read: %w", err)}
	}
	p := Page{URL: a.url.String()}
	var text string
	switch kind {
	case "text/html", "application/xhtml+xml":
		p.Title, text, err = article(body, a)
	case "text/plain", "text/markdown":
		var data []byte
		data, err = io.ReadAll(body)
		text = string(data)
	default:
		err = fmt.Errorf("its content type is %.40q, want HTML or plain text", kind)
	}
	p.Text = cut(paragraphs(text), most)
	if err == nil && p.Text == "" {
		err = errNoText
	}
	if err != nil {
		return Page{}, final{err}
	}
	return p, nil
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
