package langchain

import (
	"cmp"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/convene-go/convene/providers"
)

// redactor takes keys out of texts: those that it knows, by provider, and what
// looks like one.
type redactor map[string]string

var keyLike = regexp.MustCompile(`(?i)sk-[a-z0-9_-]{6,}|AIza[0-9a-z_-]{20,}|AKIA[0-9A-Z]{16}|gh[pousr]_[0-9a-z]{20,}|` +
	`eyJ[a-z0-9_-]{8,}\.[a-z0-9_-]{8,}\.[a-z0-9_-]*|` +
	`(?:bearer\s+|key(?:=|["']\s*:\s*["']))[a-z0-9._~+/=-]{16,}`)

const redacted = "[redacted]"

func (r redactor) clean(text string) string {
	var known []string
	for _, key := range r {
		if key != "" {
			known = append(known, key, url.QueryEscape(key))
		}
	}
	// the longest first: one key may be the beginning of another
	slices.SortFunc(known, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, key := range known {
		text = strings.ReplaceAll(text, key, redacted)
	}
	return keyLike.ReplaceAllString(text, redacted)
}

// causeError is why a call failed. It compares as that error does, and there is no
// way to its text, which may hold a key.
type causeError struct {
	text string // without keys
	err  error
}

func (c causeError) Error() string        { return c.text }
func (c causeError) Is(target error) bool { return errors.Is(c.err, target) }
func (c causeError) As(target any) bool   { return errors.As(c.err, target) }

// withoutPrompt takes req's texts out of an error that quotes them. Short ones
// stay: they are in every sentence.
func withoutPrompt(text string, req providers.Request) string {
	const short = 16
	for _, m := range req.Messages {
		if len(m.Text) >= short {
			text = strings.ReplaceAll(text, m.Text, "[prompt]")
		}
	}
	return text
}

// short cuts text and puts it on one line of printable characters.
func short(text string) string {
	const limit = 300 // runes
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	runes := slices.DeleteFunc([]rune(text), func(r rune) bool { return !unicode.IsPrint(r) })
	if len(runes) > limit {
		return string(runes[:limit]) + "..."
	}
	return string(runes)
}
