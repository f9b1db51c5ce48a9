// Package page reads the text of web pages: of HTML, without menus and the like if they can
// be recognized, and of plain text.
package page

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	readability "codeberg.org/readeck/go-readability/v2"
	"codeberg.org/readeck/go-readability/v2/render"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"github.com/convene-go/convene/orchestrator/research/workers/internal/prose"
)

// The limits of the search for an article, which takes time by the product of the two. A
// larger page gives all its text, menus included.
const (
	maxElements = 20_000
	maxDepth    = 100
)

// Kind returns the media type of a Content-Type; "": it has none.
func Kind(header string) string {
	kind, _, err := mime.ParseMediaType(header)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return ""
	}
	return kind
}

// Read returns the title and the text of a body whose Content-Type is header and which came
// from base.
func Read(header string, body []byte, base *url.URL) (title, text string, err error) {
	kind := Kind(header)
	switch kind {
	case "text/html", "application/xhtml+xml", "text/plain", "text/markdown":
	default:
		return "", "", fmt.Errorf("its content type is %.40q, want HTML, plain text or PDF", cmp.Or(kind, header))
	}
	if isBinary(body, header) {
		return "", "", fmt.Errorf("its content is no text but %q, although its content type is %.40q", http.DetectContentType(body), kind)
	}
	decoded, err := charset.NewReader(bytes.NewReader(body), header)
	if err != nil {
		return "", "", fmt.Errorf("its text cannot be read: %w", err)
	}
	if strings.HasSuffix(kind, "html") || strings.HasSuffix(kind, "html+xml") {
		return article(decoded, base)
	}
	data, err := io.ReadAll(decoded)
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
func article(body io.Reader, base *url.URL) (title, text string, err error) {
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
	found, err := parser.ParseAndMutate(doc, base)
	if err != nil {
		return "", "", fmt.Errorf("its HTML cannot be read: %w", err)
	}
	if t := strings.TrimSpace(found.Title()); t != "" {
		title = t
	}
	if found.Node != nil {
		text = render.InnerText(found.Node)
	}
	return prose.OneLine(title, MaxTitle), text, nil
}
