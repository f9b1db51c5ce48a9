package wire

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/convene-go/convene/providers"
)

// causeError is why a call failed. errors.Is and errors.As work as for that error, but its
// text, which may contain a key, cannot be reached.
type causeError struct {
	text string // text without keys
	err  error
}

func (c causeError) Error() string    { return c.text }
func (c causeError) GoString() string { return strconv.Quote(c.text) }
func (c causeError) Format(f fmt.State, verb rune) {
	if f.Flag('#') {
		_, _ = fmt.Fprint(f, c.GoString())
		return
	}
	_, _ = fmt.Fprint(f, c.text)
}
func (c causeError) Is(target error) bool { return errors.Is(c.err, target) }
func (c causeError) As(target any) bool   { return errors.As(c.err, target) }

// withoutPrompt removes req's texts from an error that quotes them. Short ones stay: they
// are in every sentence.
func withoutPrompt(text string, req providers.Request) string {
	const short = 16
	for _, m := range req.Messages {
		if len(m.Text) >= short {
			text = strings.ReplaceAll(text, m.Text, "[prompt]")
		}
	}
	return text
}

// beginning returns the part of a text that is searched, because vendors may write
// megabytes.
func beginning[T ~string | ~[]byte](text T) T { return text[:min(len(text), maxErrorBody)] }

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
