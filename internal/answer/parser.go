package answer

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"unicode"
)

// parser reads one JSON value at text[at:]: nil, bool, json.Number, string, []any or
// map[string]any. Valid JSON it reads as any parser does; of the rest it reads what has
// only one reading.
type parser struct {
	text  string
	at    int
	wrong *fault // the first; then nothing is read any more
	depth int    // number of open objects and lists

	// certain says that what was read can only be meant as JSON, not as prose in
	// brackets: a key in quotes, a comma, an inner object or list.
	certain bool
}

// fail says what was wanted in place of text[at:], unless it has failed before.
func (p *parser) fail(at int, want string) any {
	if p.wrong == nil {
		p.wrong = &fault{text: p.text, at: at, want: want, cut: p.at >= len(p.text)}
	}
	return nil
}

// next reports whether c is next.
func (p *parser) next(c byte) bool { return p.wrong == nil && p.at < len(p.text) && p.text[p.at] == c }

// whole reads a value with nothing around it.
func (p *parser) whole() (any, *fault) {
	v := p.value()
	if p.space(); p.at < len(p.text) {
		p.fail(p.at, "nothing after the value")
	}
	return v, p.wrong
}

var literals = map[string]any{"true": true, "false": false, "null": nil, "True": true, "False": false, "None": nil}

func (p *parser) value() any {
	p.space()
	if p.next('{') || p.next('[') {
		return p.container()
	}
	if s, ok := p.str(); ok {
		return s
	}
	start := p.at
	word := p.word()
	if v, ok := literals[word]; ok {
		return v
	}
	if isNumber(word) {
		return json.Number(word)
	}
	if p.depth == 0 {
		p.at = start // such a word does not end too early
	}
	return p.fail(start, "a JSON value")
}

func isNumber(s string) bool {
	return s != "" && (s[0] == '-' || '0' <= s[0] && s[0] <= '9') && json.Valid([]byte(s))
}

// container reads an object or a list.
func (p *parser) container() any {
	if p.depth >= MaxDepth {
		p.certain = true
		return p.fail(p.at, fmt.Sprintf("at most %d objects and lists inside each other", MaxDepth))
	}
	p.depth++
	list, object, closing := []any{}, map[string]any(nil), "]"
	if p.next('{') {
		object, closing = map[string]any{}, "}"
	}
	for comma := true; comma; comma = p.next(',') {
		p.certain = p.certain || p.next(',')
		p.at++
		if p.space(); p.next(closing[0]) {
			break
		}
		if object != nil {
			p.member(object)
		} else {
			list = append(list, p.value())
		}
		p.space()
	}
	if !p.next(closing[0]) {
		return p.fail(p.at, "a comma or "+closing)
	}
	p.at++
	p.depth--
	p.certain = true
	if object != nil {
		return object
	}
	return list
}

// member reads a key, a colon and a value.
func (p *parser) member(object map[string]any) {
	start := p.at
	key, quoted := p.str()
	if !quoted {
		key = p.word()
	}
	if p.at == start {
		p.fail(p.at, "a key in quotes or }")
	}
	if p.space(); !p.next(':') {
		p.fail(p.at, "a colon after the key")
		return
	}
	p.at++
	p.certain = p.certain || quoted
	v := p.value()
	if old, ok := object[key]; ok && !reflect.DeepEqual(old, v) {
		p.fail(start, "each key once, or with the same value")
	}
	object[key] = v
}

// space skips white space and comments, of which one that does not end goes to the end
// of the text.
func (p *parser) space() {
	for p.wrong == nil {
		rest := strings.TrimLeft(p.text[p.at:], " \t\r\n")
		p.at = len(p.text) - len(rest)
		end := "\n"
		switch {
		case strings.HasPrefix(rest, "/*"):
			end = "*/"
		case !strings.HasPrefix(rest, "//"):
			return
		}
		_, rest, _ = strings.Cut(rest[2:], end)
		p.at = len(p.text) - len(rest)
	}
}

// word reads a number, a literal or a key without quotes; "" if there is none.
func (p *parser) word() string {
	rest := p.text[p.at:]
	after := strings.TrimLeftFunc(rest, func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_$.+-", r)
	})
	p.at = len(p.text) - len(after)
	return rest[:len(rest)-len(after)]
}

// awkward is what a string in JSON shows with a backslash.
var awkward = regexp.MustCompile(`(?s)\\.|["\x00-\x1f]`)

// str reads a string, if one begins here.
func (p *parser) str() (s string, ok bool) {
	start, closing := p.at, ""
	for _, quotes := range [][2]string{{`"`, `"`}, {"'", "'"}, {"“", "”"}, {"‘", "’"}} {
		if strings.HasPrefix(p.text[p.at:], quotes[0]) {
			closing = quotes[1]
		}
	}
	if closing == "" {
		return "", false
	}
	for p.at += len(closing); ; p.at++ { // the opening quote is as long
		if p.at >= len(p.text) {
			p.at = len(p.text)
			p.fail(p.at, "the end of the string")
			return "", true
		}
		if strings.HasPrefix(p.text[p.at:], closing) {
			break
		}
		if p.text[p.at] == '\\' {
			p.at++ // an escaped character ends nothing
		}
	}
	s = p.text[start+len(closing) : p.at]
	p.at += len(closing)
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }) {
		return s, true
	}
	return p.unescape(start, closing, s), true
}

// unescape reads the escapes of a string between quotes, which begins at start and has
// raw as its inside.
func (p *parser) unescape(start int, closing, raw string) (s string) {
	s = raw
	if closing == `"` && json.Unmarshal([]byte(p.text[start:p.at]), &s) == nil {
		return s
	}
	mended := awkward.ReplaceAllStringFunc(raw, func(found string) string {
		switch {
		case found == `\'`:
			return "'"
		case found[0] == '\\':
			return found
		default:
			return fmt.Sprintf(`\u%04x`, found[0])
		}
	})
	err := json.Unmarshal([]byte(`"`+mended+`"`), &s)
	if bad, ok := errors.AsType[*json.SyntaxError](err); ok {
		p.fail(min(start+int(bad.Offset)-2, p.at-1), `a valid escape sequence, or "\\" for a backslash`)
	}
	return s
}

// skip leaves a broken value, at the end of its open objects and lists.
func (p *parser) skip() {
	quoted := false
	for ; p.at < len(p.text) && p.depth > 0; p.at++ {
		switch c := p.text[p.at]; {
		case c == '\\' && quoted:
			p.at++
		case c == '"':
			quoted = !quoted
		case c == '\n':
			quoted = false // such a quote was not the beginning of a string
		case quoted:
		case c == '{' || c == '[':
			p.depth++
		case c == '}' || c == ']':
			p.depth--
		}
	}
	p.at = min(p.at, len(p.text))
}
