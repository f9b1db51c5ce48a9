package page

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/convene-go/convene/orchestrator/research/workers/internal/prose"
)

// The limits of a page's HTML before it is parsed.
const (
	maxTags      = 50_000
	maxAttribute = 1_000 // bytes of a value
	// MaxTitle is how long a title may be, in characters.
	MaxTitle = 300
)

// kept are the elements from which the text of a page is found. None of them is one that
// a parser opens again in every paragraph until it is closed, such as b or font: that way
// some kilobytes of page can become a tree of gigabytes. The exception is a, of which
// never more than one is open.
var kept = atoms(
	atom.Html, atom.Head, atom.Title, atom.Meta, atom.Body, atom.Article, atom.Section, atom.Main, atom.Header, atom.Footer,
	atom.Nav, atom.Aside, atom.Div, atom.P, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Ul, atom.Ol, atom.Li,
	atom.Dl, atom.Dt, atom.Dd, atom.Table, atom.Caption, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Td, atom.Th,
	atom.Blockquote, atom.Pre, atom.Br, atom.Hr, atom.A, atom.Span, atom.Figure, atom.Figcaption, atom.Address, atom.Details,
	atom.Summary, atom.Form,
)

// inline are elements that do not separate words.
var inline = atoms(
	atom.Abbr, atom.B, atom.Bdi, atom.Bdo, atom.Big, atom.Cite, atom.Code, atom.Del, atom.Dfn, atom.Em, atom.Font, atom.I,
	atom.Ins, atom.Kbd, atom.Mark, atom.Nobr, atom.Q, atom.S, atom.Samp, atom.Small, atom.Strike, atom.Strong, atom.Sub,
	atom.Sup, atom.Time, atom.Tt, atom.U, atom.Var, atom.Wbr,
)

// dropped are the elements whose text is not for readers.
var dropped = atoms(
	atom.Script, atom.Style, atom.Noscript, atom.Iframe, atom.Noembed, atom.Noframes, atom.Textarea, atom.Xmp, atom.Plaintext,
	atom.Svg, atom.Math, atom.Template, atom.Select, atom.Object, atom.Video, atom.Audio, atom.Canvas, atom.Button,
)

// attributes are those that tell content from decoration.
var attributes = []string{"class", "id", "href", "hidden", "style", "role", "aria-hidden", "itemprop", "rel", "name", "property", "content", "lang", "dir"}

func atoms(list ...atom.Atom) map[atom.Atom]bool {
	set := map[atom.Atom]bool{}
	for _, a := range list {
		set[a] = true
	}
	return set
}

// filter copies what is kept of a page. It leaves out everything after the first maxTags
// tags.
type filter struct {
	tokens *html.Tokenizer
	out    bytes.Buffer
	tags   int
	title  bool // there was one
}

// simplify returns a page with the kept elements only.
func simplify(page io.Reader) ([]byte, error) {
	f := &filter{tokens: html.NewTokenizer(page)}
	for f.tags < maxTags {
		kind := f.tokens.Next()
		if kind == html.ErrorToken {
			break
		}
		t := f.tokens.Token()
		switch kind {
		case html.TextToken:
			f.out.WriteString(t.String())
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			f.tag(t)
		case html.ErrorToken, html.CommentToken, html.DoctypeToken:
		}
	}
	if err := f.tokens.Err(); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return f.out.Bytes(), nil
}

func (f *filter) tag(t html.Token) {
	switch {
	case dropped[t.DataAtom]:
		if t.Type == html.StartTagToken {
			f.skip(t.DataAtom)
		}
	case t.DataAtom == atom.Title:
		if t.Type == html.StartTagToken {
			f.heading()
		}
	case kept[t.DataAtom]:
		f.tags++
		t.Attr = slices.DeleteFunc(t.Attr, func(a html.Attribute) bool {
			return len(a.Val) > maxAttribute || !slices.Contains(attributes, a.Key)
		})
		f.out.WriteString(t.String())
	case !inline[t.DataAtom]:
		f.out.WriteByte(' ')
	}
}

// heading keeps the first title.
func (f *filter) heading() {
	if f.tokens.Next() != html.TextToken || f.title {
		return
	}
	f.title = true
	f.out.WriteString("<title>" + html.EscapeString(prose.OneLine(f.tokens.Token().Data, MaxTitle)) + "</title>")
}

// skip leaves out an element that was opened, with nested ones of the same name.
func (f *filter) skip(name atom.Atom) {
	for depth := 1; depth > 0; {
		switch f.tokens.Next() {
		case html.ErrorToken:
			return
		case html.StartTagToken:
			if tag, _ := f.tokens.TagName(); atom.Lookup(tag) == name {
				depth++
			}
		case html.EndTagToken:
			if tag, _ := f.tokens.TagName(); atom.Lookup(tag) == name {
				depth--
			}
		case html.TextToken, html.SelfClosingTagToken, html.CommentToken, html.DoctypeToken:
		}
	}
}

// size is how many elements a tree has, and how deep they are nested.
func size(n *html.Node) (elements, depth int) {
	for c := range n.ChildNodes() {
		e, d := size(c)
		elements, depth = elements+e, max(depth, d)
	}
	if n.Type == html.ElementNode {
		return elements + 1, depth + 1
	}
	return elements, depth
}

// titleOf is the text of the title of a document.
func titleOf(doc *html.Node) string {
	for n := range doc.Descendants() {
		if n.DataAtom == atom.Title && n.FirstChild != nil {
			return strings.TrimSpace(n.FirstChild.Data)
		}
	}
	return ""
}
