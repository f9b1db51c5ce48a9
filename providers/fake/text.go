package fake

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// formats are texts of the formats of JSON Schema.
var formats = map[string]string{
	"date-time": "2026-01-02T03:04:05Z",
	"date":      "2026-01-02",
	"time":      "03:04:05Z",
	"duration":  "PT1M",
	"email":     "ann@example.com",
	"hostname":  "example.com",
	"ipv4":      "192.0.2.1",
	"ipv6":      "2001:db8::1",
	"uri":       "https://example.com/",
	"uuid":      "00000000-0000-4000-8000-000000000000",
}

// text returns a text for the keywords of s. The n-th of a list differs from the others.
func text(s *jsonschema.Schema, n int) (string, error) {
	if s.Pattern != "" {
		return matching(s.Pattern)
	}
	if known, ok := formats[s.Format]; ok {
		return known, nil
	}
	made := "text"
	if n > 0 {
		made = fmt.Sprintf("text-%d", n+1)
	}
	if s.MinLength != nil {
		if lack := *s.MinLength - utf8.RuneCountInString(made); lack > 0 {
			made += strings.Repeat(".", min(lack, 1<<20))
		}
	}
	if s.MaxLength != nil && len(made) > *s.MaxLength {
		made = made[len(made)-max(*s.MaxLength, 0):] // the end differs from item to item
	}
	return made, nil
}

// matching returns the shortest text that a regular expression matches, if it can be found
// without a search.
func matching(pattern string) (string, error) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", fmt.Errorf("pattern: %w", err)
	}
	var b strings.Builder
	if err := write(&b, re.Simplify()); err != nil {
		return "", fmt.Errorf("pattern %q: %w", pattern, err)
	}
	return b.String(), nil
}

var errNoMatch = errors.New("nothing matches it")

func write(b *strings.Builder, re *syntax.Regexp) error {
	switch re.Op {
	case syntax.OpNoMatch:
		return errNoMatch
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		if len(re.Rune) == 0 {
			return errNoMatch
		}
		b.WriteRune(pick(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('a')
	case syntax.OpCapture, syntax.OpPlus, syntax.OpAlternate:
		return write(b, re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if err := write(b, sub); err != nil {
				return err
			}
		}
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary, syntax.OpStar, syntax.OpQuest, syntax.OpRepeat: // they may match nothing
	}
	return nil
}

// pick returns a rune of a class, which is pairs of a first and a last one.
func pick(class []rune) rune {
	for _, r := range "a1A " {
		for i := 0; i+1 < len(class); i += 2 {
			if class[i] <= r && r <= class[i+1] {
				return r
			}
		}
	}
	return class[0]
}
