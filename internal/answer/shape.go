package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Shape is a compiled schema. It is immutable and safe for concurrent use.
type Shape struct {
	raw      json.RawMessage
	schema   *jsonschema.Schema
	resolved *jsonschema.Resolved
	patterns map[*jsonschema.Schema]*regexp.Regexp
	goType   reflect.Type // nil: the schema was given as JSON
}

// shapes caches *Shape by reflect.Type.
var shapes sync.Map

// For returns the shape of T. See [Of].
func For[T any]() (*Shape, error) { return Of(reflect.TypeFor[T]()) }

// Of returns the shape of a Go type as encoding/json reads it. What fits the
// shape decodes into the type without an error.
//
// A field is required unless it has omitempty or omitzero; a struct has no other
// fields. Pointers, slices and maps may be null, which decodes as nil. A
// [json.RawMessage] and an any may be anything, a [time.Time] is an RFC 3339
// string, a [time.Duration] is an integer of nanoseconds, []byte is base64.
//
// A field's tags say more: jsonschema is its description; enum:"low,high" lists
// the values of a string, or of the strings in a list; min:"0" and max:"10" bound
// a number, both included.
//
// Of returns an error for a type that contains itself and for one that JSON
// cannot carry.
func Of(t reflect.Type) (*Shape, error) {
	if t == nil {
		return nil, errors.New("no type to make a schema of")
	}
	if s, ok := shapes.Load(t); ok {
		return s.(*Shape), nil //nolint:errcheck // only shapes are stored
	}
	var in inference
	schema, err := in.infer(t)
	if err != nil {
		return nil, fmt.Errorf("schema of %v: %w", t, err)
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("schema of %v: %w", t, err)
	}
	s, err := compile(raw, schema)
	if err != nil {
		return nil, fmt.Errorf("schema of %v: %w", t, err)
	}
	s.goType = t
	kept, _ := shapes.LoadOrStore(t, s)
	return kept.(*Shape), nil //nolint:errcheck // only shapes are stored
}

// FromSchema returns the shape of a JSON Schema: draft 2020-12 or draft 7, with
// references inside the document only. A string of format date-time must be one.
func FromSchema(schema json.RawMessage) (*Shape, error) {
	var raw bytes.Buffer
	if err := json.Compact(&raw, schema); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	if c := raw.Bytes()[0]; c != '{' && c != 't' && c != 'f' {
		return nil, errors.New("read schema: want an object or a boolean")
	}
	parsed := new(jsonschema.Schema)
	if err := json.Unmarshal(raw.Bytes(), parsed); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	s, err := compile(raw.Bytes(), parsed)
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	return s, nil
}

// MustFromSchema is [FromSchema] for schemas that are part of the program: it panics at
// one that is refused.
func MustFromSchema(schema string) *Shape {
	s, err := FromSchema(json.RawMessage(schema))
	if err != nil {
		panic(err)
	}
	return s
}

func compile(raw json.RawMessage, schema *jsonschema.Schema) (*Shape, error) {
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, err
	}
	if err := checkLoops(schema); err != nil {
		return nil, err
	}
	patterns := map[*jsonschema.Schema]*regexp.Regexp{}
	for _, sub := range all(schema) {
		if sub.Pattern != "" {
			if patterns[sub], err = regexp.Compile(sub.Pattern); err != nil {
				return nil, err
			}
		}
	}
	return &Shape{raw: raw, schema: schema, resolved: resolved, patterns: patterns}, nil
}

// JSON returns the JSON Schema, the same bytes each time. The caller owns it.
func (s *Shape) JSON() json.RawMessage { return slices.Clone(s.raw) }

// root returns the schema of a value that is not null.
func (s *Shape) root() *jsonschema.Schema { return deref(s.schema, s.schema, "") }

// holds reports whether the shape can be an object or a list.
func (s *Shape) holds() bool {
	return mayBe(s.root(), "object") || mayBe(s.root(), "array")
}

// known counts the fields of object that the shape has.
func (s *Shape) known(object map[string]any) int {
	n := 0
	for name := range s.root().Properties {
		if _, ok := object[name]; ok {
			n++
		}
	}
	return n
}
