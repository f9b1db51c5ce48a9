package answer

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
)

// parser reads one JSON value at text[at:]. Valid JSON it reads as any parser
// does; of the rest it reads what has only one reading, and notes that it was mended.
// It stops at the first flaw.
type parser struct {
	text   string
	at     int
	depth  int
	mended string // the last thing that JSON does not have, such as "a comment"

	// certain says that what was read can only be meant as JSON, not as prose in
	// brackets: a key in quotes, a field, a comma in a list, an inner object or list.
	certain bool
	root    map[string]any // the fields of the outermost object so far
}

// flaw is where and why a text is not JSON.
type flaw struct {
	at   int
	want string
	cut  bool // the text ends here
}

func (p *parser) flaw(want string) *flaw {
	return &flaw{at: p.at, want: want, cut: p.at >= len(p.text)}
}

func (p *parser) is(c byte) bool { return p.at < len(p.text) && p.text[p.at] == c }

// whole reads a value with nothing around it.
func (p *parser) whole() (any, *flaw) {
	v, f := p.value()
	if f == nil {
		f = p.space()
	}
	if f == nil && p.at < len(p.text) {
		f = p.flaw("nothing after the value")
	}
	return v, f
}

func (p *parser) value() (any, *flaw) {
	if f := p.space(); f != nil {
		return nil, f
	}
	if p.at >= len(p.text) {
		return nil, p.flaw("a value")
	}
	switch c := p.text[p.at]; {
	case bracket(c):
		return p.container()
	case c == '-' || isDigit(c):
		return p.number()
	case isLetter(c):
		return p.literal()
	}
	if closing := p.quote(); closing != "" {
		return p.str(closing)
	}
	return nil, p.flaw("a value")
}

// container reads an object or a list. After a flaw depth says how many are open.
func (p *parser) container() (any, *flaw) {
	if p.depth >= MaxDepth {
		p.certain = true
		return nil, p.flaw(fmt.Sprintf("at most %d objects and lists inside each other", MaxDepth))
	}
	p.depth++
	var v any
	var f *flaw
	if p.is('{') {
		object := map[string]any{}
		if p.depth == 1 {
			p.root = object
		}
		f = p.items('}', func() *flaw { return p.member(object) })
		v = object
	} else {
		list := []any{}
		f = p.items(']', func() *flaw {
			item, f := p.value()
			list = append(list, item)
			return f
		})
		v = list
	}
	if f != nil {
		return nil, f
	}
	p.depth--
	p.certain = true
	return v, nil
}

// items reads up to the closing bracket, and each item with read.
func (p *parser) items(closing byte, read func() *flaw) *flaw {
	for n := 0; ; n++ {
		p.at++ // the opening bracket or a comma
		p.certain = p.certain || n > 0
		if f := p.space(); f != nil {
			return f
		}
		if p.is(closing) {
			if n > 0 {
				p.mended = "a trailing comma"
			}
			p.at++
			return nil
		}
		if f := read(); f != nil {
			return f
		}
		if f := p.space(); f != nil {
			return f
		}
		switch {
		case p.is(closing):
			p.at++
			return nil
		case !p.is(','):
			return p.flaw("a comma or " + string(closing))
		}
	}
}

func (p *parser) member(object map[string]any) *flaw {
	start := p.at
	key, f := p.key()
	if f != nil {
		return f
	}
	v, f := p.value()
	if f != nil {
		return f
	}
	if old, ok := object[key]; ok && !reflect.DeepEqual(old, v) {
		return &flaw{at: start, want: "each key once, or with the same value"}
	}
	object[key] = v
	p.certain = true
	return nil
}

// key reads a key and its colon.
func (p *parser) key() (key string, f *flaw) {
	closing := p.quote()
	if closing != "" {
		if key, f = p.str(closing); f != nil {
			return "", f
		}
	} else if key = p.word(); key == "" {
		return "", p.flaw("a key in quotes or }")
	}
	if f := p.space(); f != nil {
		return "", f
	}
	if !p.is(':') {
		return "", p.flaw("a colon after the key")
	}
	p.at++
	if closing == "" {
		p.mended = "an unquoted key"
	} else {
		p.certain = true
	}
	return key, nil
}

// space skips white space and comments.
func (p *parser) space() *flaw {
	for {
		rest := strings.TrimLeft(p.text[p.at:], " \t\r\n")
		p.at = len(p.text) - len(rest)
		end := ""
		switch {
		case strings.HasPrefix(rest, "//"):
			end = "\n"
		case strings.HasPrefix(rest, "/*"):
			end = "*/"
		default:
			return nil
		}
		p.mended = "a comment"
		_, after, closed := strings.Cut(rest[2:], end)
		p.at = len(p.text) - len(after)
		if !closed && end == "*/" {
			return p.flaw("the end of the comment")
		}
	}
}

// word reads a name, "" if there is none.
func (p *parser) word() string {
	start := p.at
	for p.at < len(p.text) && (isLetter(p.text[p.at]) || p.at > start && isDigit(p.text[p.at])) {
		p.at++
	}
	return p.text[start:p.at]
}

var literals = map[string]any{"true": true, "false": false, "null": nil, "True": true, "False": false, "None": nil}

func (p *parser) literal() (any, *flaw) {
	start := p.at
	word := p.word()
	if v, ok := literals[word]; ok {
		if word[0] < 'a' {
			p.mended = "a literal of Python"
		}
		return v, nil
	}
	f := &flaw{at: start, want: "a JSON value"}
	for literal := range literals {
		f.cut = f.cut || p.at >= len(p.text) && strings.HasPrefix(literal, word)
	}
	return nil, f
}

var numbers = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?`)

func (p *parser) number() (any, *flaw) {
	n := numbers.FindString(p.text[p.at:])
	p.at += len(n)
	rest := p.text[p.at:]
	if n == "" || 0 < len(rest) && len(rest) < 3 && json.Valid([]byte(n+rest+"0")) { // the text ends behind a sign, point or exponent
		p.at += min(1, len(rest))
		f := p.flaw("a digit")
		f.cut = f.cut || n != ""
		return nil, f
	}
	return json.Number(n), nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '$'
}
