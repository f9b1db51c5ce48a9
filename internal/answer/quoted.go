package answer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// quotes are what a string may begin with, and what then ends it.
var quotes = [][2]string{{`"`, `"`}, {"'", "'"}, {"“", "”"}, {"‘", "’"}}

// quote returns what ends the string that begins here, "" if none does.
func (p *parser) quote() string {
	for _, q := range quotes {
		if strings.HasPrefix(p.text[p.at:], q[0]) {
			return q[1]
		}
	}
	return ""
}

// str reads a string that ends with closing.
func (p *parser) str(closing string) (string, *flaw) {
	if closing != `"` {
		p.mended = "other quotes"
	}
	start := p.at
	p.at += len(closing) // the opening quote is as long
	body := p.at
	plain := true
	for ; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == closing[0] && strings.HasPrefix(p.text[p.at:], closing):
			s := p.text[body:p.at]
			p.at += len(closing)
			if plain {
				return s, nil
			}
			return p.unescape(s, start)
		case c == '\\':
			p.at++ // what follows is no closing quote
			plain = false
		case c == '"' || c < ' ':
			plain = false
		}
	}
	p.at = len(p.text)
	return "", p.flaw("the end of the string")
}

// unescape returns the string of which s is inside of the quotes at start.
func (p *parser) unescape(s string, start int) (string, *flaw) {
	var b strings.Builder // as JSON writes it
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && s[i+1] == '\'':
			p.mended = "an escaped apostrophe"
			b.WriteByte('\'')
			i++
		case c == '\\':
			b.WriteString(s[i : i+2])
			i++
		case c == '"': // inside of other quotes
			b.WriteString(`\"`)
		case c < ' ':
			p.mended = "a raw control character in a string"
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	var out string
	err := json.Unmarshal([]byte(`"`+b.String()+`"`), &out)
	if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
		at := min(start+int(wrong.Offset)-2, p.at-1)
		return "", &flaw{at: at, want: `a valid escape sequence, or "\\" for a backslash`}
	}
	return out, nil
}
