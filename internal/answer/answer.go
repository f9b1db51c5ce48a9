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

	"github.com/convene-go/convene/internal/text"
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
	JSON json.RawMessage // compact, with sorted keys and without HTML escapes
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
	text, err := tidy(text)
	if err != nil {
		return Found{}, err
	}
	search := search{shape: s, text: text}
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
	text, err := tidy(string(data))
	if err != nil {
		return Found{}, err
	}
	p := parser{text: text}
	v, flaw := p.whole()
	switch {
	case flaw != nil && flaw.cut && strings.TrimSpace(text) == "":
		return Found{}, ErrNone
	case flaw != nil && flaw.cut:
		return Found{}, ErrCut
	case flaw != nil:
		return Found{}, flaw.in(text)
	case p.mended != "":
		return Found{}, fmt.Errorf("not JSON: it has %s", p.mended)
	}
	return s.fit(v)
}

// Decode returns the value as a T. Numbers of unknown type are a [json.Number].
func Decode[T any](found Found) (T, error) {
	var v T
	if err := decodeInto(found.JSON, &v); err != nil {
		return v, fmt.Errorf("decode answer: %w", err)
	}
	return v, nil
}

// tidy returns text as valid UTF-8 without a byte order mark.
func tidy(text string) (string, error) {
	if len(text) > MaxText {
		return "", fmt.Errorf("the answer has %d bytes, want at most %d", len(text), MaxText)
	}
	return strings.ToValidUTF8(strings.TrimPrefix(text, "\ufeff"), "\ufffd"), nil
}

// fit converts and validates v, which it changes.
func (s *Shape) fit(v any) (Found, error) {
	v, wrong := fitter{s.schema, s.patterns}.fit(v, s.schema)
	if wrong != nil {
		return Found{}, wrong
	}
	data, err := text.JSON(v)
	if err != nil {
		return Found{}, err
	}
	checked, ok := plain(data)
	if !ok {
		return Found{}, &fault{want: "numbers of at most 1.8e308", got: kindOf(v)}
	}
	if s.resolved.Validate(checked) != nil { // its text is long, and not the same each time
		return Found{}, &fault{want: "a value that fits the whole schema", got: describe(v)}
	}
	if s.goType != nil {
		if err := decodeInto(data, reflect.New(s.goType).Interface()); err != nil {
			return Found{}, decodeFault(err)
		}
	}
	return Found{JSON: data}, nil
}

// plain returns a value with its numbers as float64, for validation: a json.Number
// may stand for one that takes minutes to compute. It is false for one that no float64
// can hold.
func plain(data json.RawMessage) (v any, ok bool) { return v, json.Unmarshal(data, &v) == nil }

func decodeInto(data json.RawMessage, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return dec.Decode(v)
}
