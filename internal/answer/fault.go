package answer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/convene-go/convene/internal/text"
)

// The longest pieces of an answer in messages, in bytes.
const (
	maxExcerpt = 60
	maxPath    = 120
)

// fault is why a value does not fit: where, what was wanted, what is there.
type fault struct {
	steps     []string // to the value, the last one first
	want, got string
}

// in returns the fault as that of the field or item around it.
func (f *fault) in(step string) *fault {
	f.steps = append(f.steps, step)
	return f
}

func (f *fault) Error() string { return fmt.Sprintf("%s: want %s, got %s", f.path(), f.want, f.got) }

// escapes are those of JSON pointers.
var escapes = strings.NewReplacer("~", "~0", "/", "~1")

// path returns a JSON pointer, shortened in the middle of long ones.
func (f *fault) path() string {
	if len(f.steps) == 0 {
		return "the answer"
	}
	var out strings.Builder
	for i, step := range slices.Backward(f.steps) {
		step = "/" + escapes.Replace(text.Shorten(step, maxExcerpt))
		if i > 0 && out.Len()+len(step) > maxPath {
			return out.String() + "/…/" + escapes.Replace(text.Shorten(f.steps[0], maxExcerpt))
		}
		out.WriteString(step)
	}
	return out.String()
}

// in returns the flaw as an error about the answer, of which it shows little.
func (f *flaw) in(answer string) error {
	line := 1 + strings.Count(answer[:f.at], "\n")
	rest := answer[f.at:]
	if i := strings.IndexByte(rest, '\n'); i > 0 {
		rest = rest[:i]
	}
	if rest == "" {
		return fmt.Errorf("malformed JSON at its end: want %s", f.want)
	}
	return fmt.Errorf("malformed JSON in line %d: want %s, got %q", line, f.want, text.Shorten(rest, maxExcerpt))
}

// describe says what a value is, in few words.
func describe(v any) string {
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return "number " + text.Shorten(string(v), maxExcerpt)
	case string:
		return "string " + strconv.Quote(text.Shorten(v, maxExcerpt))
	default:
		return kindOf(v)
	}
}

// decodeFault tells the model why its value does not decode into the Go type.
func decodeFault(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return fmt.Errorf("the answer: %s", text.Shorten(err.Error(), 2*maxPath))
	}
	f := &fault{want: "a value that " + wrong.Type.String() + " can hold", got: text.Shorten(wrong.Value, maxExcerpt)}
	if wrong.Field != "" {
		f.steps = strings.Split(wrong.Field, ".")
		slices.Reverse(f.steps)
	}
	return f
}
