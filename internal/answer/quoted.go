package answer

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
)

// quotes are what a string may begin with, and what then ends it.
var quotes = []struct{ open, closing string }{
	{`"`, `"`},
	{"'", "'"},
	{"“", "”"},
	{"‘", "’"},
}

// quote returns what ends the string that begins here, "" if none does.
func (p *parser) quote() string {
	for _, q := range quotes {
		if strings.HasPrefix(p.text[p.at:], q.open) {
			return q.closing
		}
	}
	return ""
}

// str reads a string that ends with closing. It reads to the string's end even if
// there is a flaw in it, so that what follows is not taken for a part of it.
func (p *parser) str(closing string) (string, *flaw) {
	if closing == `"` {
		p.at++
	} else {
		p.at += len(closing) // the opening quote is as long
		p.fixes.add("quotes")
	}
	var out strings.Builder
	var first *flaw
	start := p.at // of what is not yet in out
	for p.at < len(p.text) {
		c := p.text[p.at]
		switch {
		case c == closing[0] && strings.HasPrefix(p.text[p.at:], closing):
			tail := p.text[start:p.at]
			p.at += len(closing)
			if out.Len() == 0 {
				return tail, first
			}
			return out.String() + tail, first
		case c == '\\':
			out.WriteString(p.text[start:p.at])
			if f := p.escape(&out); f != nil && first == nil {
				first = f
			}
			start = p.at
			continue
		case c < ' ':
			p.fixes.add("raw control character in a string")
		}
		p.at++
	}
	return "", p.flaw("the end of the string")
}

// escape reads an escape sequence and writes what it stands for.
func (p *parser) escape(out *strings.Builder) *flaw {
	start := p.at
	p.at++
	if p.at >= len(p.text) {
		return p.flaw("an escape sequence")
	}
	c := p.text[p.at]
	p.at++
	switch c {
	case '"', '\\', '/':
		out.WriteByte(c)
	case '\'':
		p.fixes.add("escaped apostrophe")
		out.WriteByte(c)
	case 'b':
		out.WriteByte('\b')
	case 'f':
		out.WriteByte('\f')
	case 'n':
		out.WriteByte('\n')
	case 'r':
		out.WriteByte('\r')
	case 't':
		out.WriteByte('\t')
	case 'u':
		r, ok := p.hex()
		if !ok {
			return &flaw{at: start, want: `four hexadecimal digits after \u`}
		}
		out.WriteRune(p.paired(r))
	default:
		return &flaw{at: start, want: fmt.Sprintf("a valid escape sequence, or %q for a backslash", `\\`)}
	}
	return nil
}

// paired returns the rune of r and, if r is half of one, of the escape after it.
// A lone half is the replacement character, which WriteRune makes of it.
func (p *parser) paired(r rune) rune {
	if !utf16.IsSurrogate(r) || !strings.HasPrefix(p.text[p.at:], `\u`) {
		return r
	}
	before := p.at
	p.at += 2
	if low, ok := p.hex(); ok {
		if both := utf16.DecodeRune(r, low); both != '\ufffd' {
			return both
		}
	}
	p.at = before
	return r
}

func (p *parser) hex() (rune, bool) {
	if p.at+4 > len(p.text) {
		return 0, false
	}
	n, err := strconv.ParseUint(p.text[p.at:p.at+4], 16, 32)
	if err != nil {
		return 0, false
	}
	p.at += 4
	return rune(n), true
}
