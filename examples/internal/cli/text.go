package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/convene-go/convene/providers"
)

// Width is how many characters a line of output has.
const Width = 79

// Clip returns the beginning of a long text, of so many characters, in one line.
func Clip(text string, most int) string {
	text = oneLine(text)
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// Wrap breaks a text into indented lines.
func Wrap(text, indent string) string {
	var b strings.Builder
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		line, room := "", Width-utf8.RuneCountInString(indent)
		for w := range strings.FieldsSeq(paragraph) {
			if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(w) > room {
				b.WriteString(indent + line + "\n")
				line = ""
			}
			line = strings.TrimSpace(line + " " + w)
		}
		b.WriteString(strings.TrimRight(indent+line, " ") + "\n")
	}
	return b.String()
}

// USD is money in dollars.
func USD(n providers.NanoUSD) string {
	return fmt.Sprintf("%.4f USD", float64(n)/float64(providers.USD))
}

// Cost is what calls have cost, as text.
func (s *Settings) Cost(u providers.Usage) string {
	switch {
	case s.Model == nil && u.Cost == 0:
		return "no cost"
	case s.Model == nil:
		return USD(u.Cost) + " at the rehearsal's prices"
	case u.Unpriced > 0:
		return fmt.Sprintf("at least %s (%d calls without a known price), %d tokens", USD(u.Cost), u.Unpriced, u.Input+u.Output)
	default:
		return fmt.Sprintf("%s, %d tokens", USD(u.Cost), u.Input+u.Output)
	}
}
