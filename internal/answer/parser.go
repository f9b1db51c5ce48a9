package answer

import (
	"fmt"
	"reflect"
	"strings"
)

// parser reads one JSON value at text[at:]. Valid JSON it reads as any parser
// does; of the rest it reads what has only one reading, and notes that as a fix.
// It stops at the first flaw.
type parser struct {
	text  string
	at    int
	depth int
	fixes fixes

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

// whole reads a value with nothing around it.
func (p *parser) whole() (any, *flaw) {
	v, f := p.value()
	if f != nil {
		return nil, f
	}
	if f := p.space(); f != nil {
		return nil, f
	}
	if p.at < len(p.text) {
		return nil, p.flaw("nothing after the value")
	}
	return v, nil
}

func (p *parser) value() (any, *flaw) {
	if f := p.space(); f != nil {
		return nil, f
	}
	if p.at >= len(p.text) {
		return nil, p.flaw("a value")
	}
	c := p.text[p.at]
	switch {
	case c == '{' || c == '[':
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
	read := p.object
	if p.is('[') {
		read = p.list
	}
	v, f := read()
	if f == nil {
		p.depth--
		p.certain = true
	}
	return v, f
}

func (p *parser) object() (any, *flaw) {
	object := map[string]any{}
	if p.depth == 1 {
		p.root = object
	}
	for {
		p.at++ // the brace or the comma
		if f := p.space(); f != nil {
			return nil, f
		}
		if p.is('}') {
			p.end(len(object))
			return object, nil
		}
		if f := p.member(object); f != nil {
			return nil, f
		}
		if f := p.space(); f != nil {
			return nil, f
		}
		switch {
		case p.is('}'):
			p.at++
			return object, nil
		case !p.is(','):
			return nil, p.flaw("a comma or }")
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
func (p *parser) key() (string, *flaw) {
	var key string
	quoted := true
	if closing := p.quote(); closing != "" {
		var f *flaw
		if key, f = p.str(closing); f != nil {
			return "", f
		}
	} else {
		key, quoted = p.word(), false
		if key == "" {
			return "", p.flaw("a key in quotes or }")
		}
	}
	if f := p.space(); f != nil {
		return "", f
	}
	if !p.is(':') {
		return "", p.flaw("a colon after the key")
	}
	p.at++
	p.certain = p.certain || quoted
	if !quoted {
		p.fixes.add("unquoted key")
	}
	return key, nil
}

func (p *parser) list() (any, *flaw) {
	list := []any{}
	for {
		p.at++ // the bracket or the comma
		if f := p.space(); f != nil {
			return nil, f
		}
		if p.is(']') {
			p.end(len(list))
			return list, nil
		}
		v, f := p.value()
		if f != nil {
			return nil, f
		}
		list = append(list, v)
		if f := p.space(); f != nil {
			return nil, f
		}
		switch {
		case p.is(']'):
			p.at++
			return list, nil
		case !p.is(','):
			return nil, p.flaw("a comma or ]")
		}
		p.certain = true
	}
}

// end reads the closing bracket in the place of another value, after n of them.
func (p *parser) end(n int) {
	if n > 0 {
		p.fixes.add("trailing comma")
	}
	p.at++
}

// space skips white space and comments.
func (p *parser) space() *flaw {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\t', '\r', '\n':
			p.at++
			continue
		}
		end := ""
		switch rest := p.text[p.at:]; {
		case strings.HasPrefix(rest, "//"):
			end = "\n"
		case strings.HasPrefix(rest, "/*"):
			end = "*/"
		default:
			return nil
		}
		n := strings.Index(p.text[p.at+2:], end)
		switch {
		case n >= 0:
			p.at += 2 + n + len(end)
		case end == "\n":
			p.at = len(p.text)
		default:
			p.at = len(p.text)
			return p.flaw("the end of the comment")
		}
		p.fixes.add("comment")
	}
	return nil
}

func (p *parser) is(c byte) bool { return p.at < len(p.text) && p.text[p.at] == c }
