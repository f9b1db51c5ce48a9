package answer

import (
	"encoding/json"
	"strings"
)

// word reads a name, "" if there is none.
func (p *parser) word() string {
	start := p.at
	for p.at < len(p.text) && (isLetter(p.text[p.at]) || p.at > start && isDigit(p.text[p.at])) {
		p.at++
	}
	return p.text[start:p.at]
}

func (p *parser) literal() (any, *flaw) {
	start := p.at
	word := p.word()
	switch word {
	case "True", "False", "None":
		p.fixes.add("Python literal")
	}
	switch word {
	case "true", "True":
		return true, nil
	case "false", "False":
		return false, nil
	case "null", "None":
		return nil, nil
	}
	f := &flaw{at: start, want: "a JSON value"}
	for _, literal := range []string{"true", "false", "null", "True", "False", "None"} {
		f.cut = f.cut || p.at >= len(p.text) && strings.HasPrefix(literal, word)
	}
	return nil, f
}

func (p *parser) number() (any, *flaw) {
	start := p.at
	if p.is('-') {
		p.at++
	}
	whole := p.at
	if !p.digits() {
		return nil, p.flaw("a digit")
	}
	if p.text[whole] == '0' && p.at > whole+1 {
		return nil, &flaw{at: start, want: "a number without leading zeros"}
	}
	if p.is('.') {
		p.at++
		if !p.digits() {
			return nil, p.flaw("a digit")
		}
	}
	if p.is('e') || p.is('E') {
		p.at++
		if p.is('+') || p.is('-') {
			p.at++
		}
		if !p.digits() {
			return nil, p.flaw("a digit")
		}
	}
	return json.Number(p.text[start:p.at]), nil
}

func (p *parser) digits() bool {
	start := p.at
	for p.at < len(p.text) && isDigit(p.text[p.at]) {
		p.at++
	}
	return p.at > start
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '$'
}
