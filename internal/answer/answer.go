// Package answer makes typed JSON of what models write.
//
// A [Shape] is a schema, of a Go type or given as JSON. [Shape.Find] finds the value
// in a model's text, mends what has only one reading, converts what loses nothing,
// and validates. It never guesses: a text that is cut off is not closed,
// a number on the wrong scale is not clamped, NaN is not null.
package answer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/convene-go/convene/internal/text"
)

// The limits of an answer.
const (
	MaxText  = 4 << 20 // bytes of one answer
	MaxDepth = 200     // objects and lists inside each other
)

// The longest parts of a message, in bytes.
const (
	maxGot  = 60
	maxPath = 120
	maxWant = 240
)

// The errors of [Shape.Find] for an answer that holds no value to validate. All others,
// and those of [Decode], say what is wrong with the value in words fit for the model:
// short, with the value's path and little of its text.
var (
	ErrNone = errors.New("no JSON value in the answer")
	ErrCut  = errors.New("the JSON in the answer is cut off")
)

// Find returns the value in an answer as compact JSON with sorted keys: data where there
// is some, else the first value in text that fits the shape. It converts what loses
// nothing: numbers and booleans in quotes, 12.0 for the integer 12, an enum's other case,
// one value for a list of one, 90s for a duration, and a field's name in other case or
// with other dashes.
//
// Objects and lists are found anywhere in text. A string, number, boolean or null must be
// all of it or of a fenced block. The value may have comments, trailing commas, single or
// smart quotes, unquoted keys, raw control characters in strings and Python's literals.
//
// Find returns [ErrNone] if there is no JSON in text and [ErrCut] if text ends inside it.
// If several values do not fit, the error is about the one that shares most fields with
// the shape, the last of equals.
func (s *Shape) Find(data json.RawMessage, text string) (json.RawMessage, error) {
	v, err := (&reading{Shape: s}).find(data, text)
	if err != nil {
		return nil, err
	}
	return encode(v), nil
}

// Read returns the value that [Shape.Find] finds, as [Decode] reads it, with the errors
// of both. It parses the answer once.
func Read[T any](s *Shape, data json.RawMessage, text string) (v T, err error) {
	return readAs[T](&reading{Shape: s}, data, text)
}

func readAs[T any](r *reading, data json.RawMessage, text string) (v T, err error) {
	found, err := r.find(data, text)
	if err != nil || fill(reflect.ValueOf(&v).Elem(), found) {
		return v, err
	}
	return Decode[T](encode(found))
}

// Check returns the error that [Shape.Find] has for data.
func (s *Shape) Check(data json.RawMessage) error {
	_, err := (&reading{Shape: s}).find(data, "")
	return err
}

// find returns the value in an answer as the parser makes it.
func (r *reading) find(data json.RawMessage, text string) (any, error) {
	if max(len(data), len(text)) > MaxText {
		return nil, fmt.Errorf("the answer has more than %d bytes", MaxText)
	}
	if len(data) == 0 {
		return r.search(strings.ToValidUTF8(text, "\ufffd"))
	}
	if !json.Valid(data) {
		return nil, fmt.Errorf("not JSON: %w", json.Unmarshal(data, new(json.RawMessage)))
	}
	return r.only(string(data))
}

// Alone is [Shape.Find] for a text that is the value and nothing else.
func (s *Shape) Alone(text string) (json.RawMessage, error) {
	v, err := (&reading{Shape: s}).only(text)
	if err != nil {
		return nil, err
	}
	return encode(v), nil
}

// only returns the value that is the whole text.
func (r *reading) only(text string) (any, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("the answer has more than %d bytes", MaxText)
	}
	v, wrong := (&parser{text: strings.ToValidUTF8(text, "\ufffd")}).whole()
	if wrong != nil {
		return nil, wrong
	}
	v, _, err := r.accept(v)
	return v, err
}

// Decode returns the value as a T. Numbers of unknown type are a [json.Number]. Its error
// is about what no schema says, as an integer that the type cannot hold.
func Decode[T any](found json.RawMessage) (T, error) {
	var v T
	if err := decode(found, &v); err != nil {
		return v, fmt.Errorf("the answer: %s", text.Shorten(err.Error(), maxWant))
	}
	return v, nil
}

// decode reads JSON into what v points to, with numbers of unknown type as json.Number.
func decode(data json.RawMessage, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return dec.Decode(v)
}

// encode is a value that a parser made as compact JSON with sorted keys.
func encode(v any) json.RawMessage {
	data, _ := text.JSON(v) // no error: it came from JSON
	return data
}

// fault is why an answer has no value that fits. It makes its words only when it is
// told: of many faults one is.
type fault struct {
	path   string // place of the value, like a JSON pointer
	schema *jsonschema.Schema
	got    any

	// In place of these, with a nil schema: an answer that is no JSON.
	text string
	at   int // from here on
	want string
	cut  bool // because it ends
}

// in returns the fault as that of the field or item around it.
func (f *fault) in(step string) *fault {
	f.path = "/" + text.Shorten(step, maxGot) + f.path
	return f
}

func (f *fault) Error() string {
	if f.schema == nil {
		line := 1 + strings.Count(f.text[:f.at], "\n")
		rest, _, _ := strings.Cut(f.text[f.at:], "\n")
		return fmt.Sprintf("malformed JSON in line %d: want %s, got %q", line, f.want, text.Shorten(rest, maxGot))
	}
	where := cmp.Or(f.path, "the answer")
	if len(where) > maxPath {
		where = text.Shorten(where, maxPath) + where[strings.LastIndexByte(where, '/'):]
	}
	itself := *f.schema // its words about other values are left out
	itself.Description, itself.Defs, itself.Definitions = "", nil, nil
	itself.Properties, itself.AdditionalProperties, itself.Items = nil, nil, nil
	want := short(itself, maxWant)
	if want == "false" {
		want = "no such field"
	}
	return fmt.Sprintf("%s: want %s, got %s", where, want, short(f.got, maxGot))
}

// short is the beginning of a value as JSON.
func short(v any, limit int) string {
	data, _ := text.JSON(v) // no error: it is a schema, or came from JSON
	return text.Shorten(string(data), limit)
}
