package answer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// fault is why a value does not fit: where, what was wanted, what is there.
type fault struct {
	at   *path
	want string
	got  string
}

func (f *fault) Error() string {
	return fmt.Sprintf("%v: want %s, got %s", f.at, f.want, f.got)
}

// in returns the flaw as an error about text, of which it shows little.
func (f *flaw) in(text string) error {
	line := 1 + strings.Count(text[:f.at], "\n")
	rest := text[f.at:]
	if i := strings.IndexByte(rest, '\n'); i > 0 {
		rest = rest[:i]
	}
	if rest == "" {
		return fmt.Errorf("malformed JSON at its end: want %s", f.want)
	}
	return fmt.Errorf("malformed JSON in line %d: want %s, got %q", line, f.want, clip(rest, maxExcerpt))
}

// describe says what a value is, shortly.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return "number " + clip(string(v), maxExcerpt)
	case string:
		return "string " + strconv.Quote(clip(v, maxExcerpt))
	default:
		return kindOf(v)
	}
}

// decodeFault tells the model why its value does not decode into the Go type.
func decodeFault(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return fmt.Errorf("the answer: %s", clip(err.Error(), 2*maxPath))
	}
	f := &fault{want: "a value that " + wrong.Type.String() + " can hold", got: clip(wrong.Value, maxExcerpt)}
	if wrong.Field != "" {
		for name := range strings.SplitSeq(wrong.Field, ".") {
			f.at = f.at.field(name)
		}
	}
	return f
}
