package answer

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// durationTitle marks integers that are durations, in the schema itself, so that
// a stored schema means the same as the type it came from.
const durationTitle = "duration in nanoseconds"

// inference makes the schema of a type. The library's own reads some types other
// than encoding/json does: named embedded structs, []byte, those with methods.
type inference struct {
	open []reflect.Type // the types around the one being looked at
}

func (in *inference) infer(t reflect.Type) (*jsonschema.Schema, error) {
	if s := special(t); s != nil {
		return s, nil
	}
	if slices.Contains(in.open, t) {
		return nil, fmt.Errorf("%v contains itself: its schema would have no end", t)
	}
	in.open = append(in.open, t)
	defer func() { in.open = in.open[:len(in.open)-1] }()
	switch t.Kind() { //nolint:exhaustive // all others are scalars
	case reflect.Pointer:
		s, err := in.infer(t.Elem())
		return nullable(s), err
	case reflect.Slice, reflect.Array:
		return in.list(t)
	case reflect.Map:
		return in.dictionary(t)
	case reflect.Struct:
		return in.object(t)
	default:
		return scalar(t)
	}
}

// special returns the schemas of types that JSON does not show as their kind, or nil.
func special(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[json.RawMessage](), reflect.TypeFor[any]():
		return anything()
	case reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case reflect.TypeFor[time.Duration]():
		return &jsonschema.Schema{Type: "integer", Title: durationTitle}
	case reflect.TypeFor[json.Number]():
		return &jsonschema.Schema{Type: "number"}
	}
	switch {
	case t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface:
		return nil
	case has[json.Marshaler](t) || has[json.Unmarshaler](t):
		return anything() // only the type itself knows
	case has[encoding.TextMarshaler](t) || has[encoding.TextUnmarshaler](t):
		return &jsonschema.Schema{Type: "string"}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && special(t.Elem()) == nil:
		return &jsonschema.Schema{Types: []string{"string", "null"}, ContentEncoding: "base64"}
	}
	return nil
}

func has[I any](t reflect.Type) bool {
	want := reflect.TypeFor[I]()
	return t.Implements(want) || reflect.PointerTo(t).Implements(want)
}

// anything has a description because some models' APIs refuse the schema "true".
func anything() *jsonschema.Schema { return &jsonschema.Schema{Description: "any JSON value"} }

// nullable adds null to the types that s names, if it names any.
func nullable(s *jsonschema.Schema) *jsonschema.Schema {
	if s != nil && s.Type != "" {
		s.Types, s.Type = []string{s.Type, "null"}, ""
	}
	return s
}

func (in *inference) list(t reflect.Type) (*jsonschema.Schema, error) {
	items, err := in.infer(t.Elem())
	if err != nil {
		return nil, err
	}
	if t.Kind() == reflect.Array {
		return &jsonschema.Schema{Type: "array", Items: items, MinItems: new(t.Len()), MaxItems: new(t.Len())}, nil
	}
	return &jsonschema.Schema{Types: []string{"array", "null"}, Items: items}, nil
}

func (in *inference) dictionary(t reflect.Type) (*jsonschema.Schema, error) {
	key, err := scalar(t.Key())
	if (err != nil || key.Type != "string" && key.Type != "integer") && !has[encoding.TextUnmarshaler](t.Key()) {
		return nil, fmt.Errorf("%v cannot be a key in JSON", t.Key())
	}
	values, err := in.infer(t.Elem())
	if err != nil {
		return nil, err
	}
	return &jsonschema.Schema{Types: []string{"object", "null"}, AdditionalProperties: values}, nil
}

func (in *inference) object(t reflect.Type) (*jsonschema.Schema, error) {
	s := &jsonschema.Schema{
		Type:                 "object",
		Properties:           map[string]*jsonschema.Schema{},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	for _, f := range fieldsOf(t) {
		fs, err := in.field(f)
		if err != nil {
			return nil, err
		}
		s.Properties[f.name] = fs
		s.PropertyOrder = append(s.PropertyOrder, f.name)
		if !f.optional {
			s.Required = append(s.Required, f.name)
		}
	}
	return s, nil
}

func (in *inference) field(f field) (*jsonschema.Schema, error) {
	s, err := in.infer(f.typ)
	if err != nil {
		return nil, fmt.Errorf("field %s: %w", f.name, err)
	}
	if f.quoted { // the option string of encoding/json
		null := allows(s, "null")
		if s = (&jsonschema.Schema{Type: "string"}); null {
			nullable(s)
		}
	}
	if err := tagged(s, f.tag); err != nil {
		return nil, fmt.Errorf("field %s: %w", f.name, err)
	}
	return s, nil
}

// scalar returns the schema of a boolean, number or string.
func scalar(t reflect.Type) (*jsonschema.Schema, error) {
	if t.Kind() < reflect.Bool || t.Kind() > reflect.Float64 && t.Kind() != reflect.String {
		return nil, fmt.Errorf("%v cannot be read from JSON", t)
	}
	return jsonschema.ForType(t, nil)
}
