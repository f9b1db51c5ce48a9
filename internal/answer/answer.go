// Package answer makes typed JSON of what models write.
//
// A [Shape] is a schema, of a Go type or given as JSON. [Shape.Extract] finds the
// value in a model's text, mends what has only one reading, converts what loses
// nothing, and validates. It never guesses: a text that is cut off is not closed,
// a number on the wrong scale is not clamped, NaN is not null.
package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// The limits of an answer.
const (
	MaxText  = 4 << 20 // bytes of one answer
	MaxDepth = 200     // objects and lists inside each other
)

// The answers that hold no value to validate. Every other error of
// [Shape.Extract] and [Shape.Check] says what is wrong with the value in words
// fit for the model: short, with the value's JSON path and little of its text.
var (
	ErrNone = errors.New("no JSON value in the answer")
	ErrCut  = errors.New("the JSON in the answer is cut off")
)

// Found is a value that fits its shape.
type Found struct {
	// JSON is compact, with sorted keys and without HTML escapes.
	JSON json.RawMessage

	// Fixes says what was mended or converted, nil if nothing was.
	Fixes []string
}

// Find returns the value in an answer: data where there is some, see [Shape.Check],
// else what [Shape.Extract] finds in text.
func (s *Shape) Find(data json.RawMessage, text string) (Found, error) {
	if len(data) > 0 {
		return s.Check(data)
	}
	return s.Extract(text)
}

// Extract returns the first value in a model's text that fits the shape.
//
// Objects and lists are found anywhere in the text. A string, number, boolean or
// null must be the whole text or a whole fenced block, as JSON. The value may
// have comments, trailing commas, single or smart quotes, unquoted keys, raw
// control characters in strings and Python's literals, and all that [Shape.Check]
// converts.
//
// Extract returns [ErrNone] if there is no JSON in the text and [ErrCut] if the
// text ends inside it. If several values do not fit, the error is about the one
// that shares most fields with the shape, the last of equals.
func (s *Shape) Extract(text string) (Found, error) {
	if len(text) > MaxText {
		return Found{}, tooLong(len(text))
	}
	text, fixes := tidy(text)
	search := search{shape: s, text: text, fixes: fixes}
	if search.wholes() || s.holds() && search.regions() {
		return search.found, nil
	}
	return Found{}, search.fault()
}

// Check validates an answer that is JSON already.
//
// It converts what loses nothing: numbers and booleans in quotes, 12.0 for the
// integer 12, an enum's other case, one value for a list of one, 90s for a
// duration, and a field's name in other case or with other dashes.
func (s *Shape) Check(data json.RawMessage) (Found, error) {
	if len(data) > MaxText {
		return Found{}, tooLong(len(data))
	}
	text, fixes := tidy(string(data))
	p := parser{text: text}
	v, flaw := p.whole()
	switch {
	case flaw != nil && flaw.cut && strings.TrimSpace(text) == "":
		return Found{}, ErrNone
	case flaw != nil && flaw.cut:
		return Found{}, ErrCut
	case flaw != nil:
		return Found{}, flaw.in(text)
	case len(p.fixes.list) > 0:
		return Found{}, fmt.Errorf("not JSON: it needs mending: %s", strings.Join(p.fixes.list, ", "))
	}
	return s.settle(v, fixes)
}

// Decode returns the value as a T. Numbers of unknown type are a [json.Number].
func Decode[T any](found Found) (T, error) {
	var v T
	if err := decodeInto(found.JSON, &v); err != nil {
		return v, fmt.Errorf("decode answer: %w", err)
	}
	return v, nil
}

func tooLong(n int) error {
	return fmt.Errorf("the answer has %d bytes, want at most %d", n, MaxText)
}

// tidy makes text valid UTF-8 without a byte order mark.
func tidy(text string) (string, fixes) {
	var made fixes
	if rest, ok := strings.CutPrefix(text, "\ufeff"); ok {
		text = rest
		made.add("byte order mark")
	}
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\ufffd")
		made.add("invalid UTF-8")
	}
	return text, made
}

// settle converts and validates v, which it changes.
func (s *Shape) settle(v any, made fixes) (Found, error) {
	made = made.clone()
	c := coercer{root: s.schema, fixes: &made}
	v = c.coerce(v, s.schema, nil)
	if f := (checker{root: s.schema, patterns: s.patterns}).check(v, s.schema, nil); f != nil {
		return Found{}, f
	}
	if s.resolved.Validate(plain(v)) != nil { // its text is long, and not the same each time
		return Found{}, &fault{want: "a value that fits the whole schema", got: describe(v)}
	}
	data, err := encode(v)
	if err != nil {
		return Found{}, err
	}
	if s.goType != nil {
		if err := decodeInto(data, reflect.New(s.goType).Interface()); err != nil {
			return Found{}, decodeFault(err)
		}
	}
	return Found{JSON: data, Fixes: made.list}, nil
}

func encode(v any) (json.RawMessage, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode the value: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

func decodeInto(data json.RawMessage, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return dec.Decode(v)
}
