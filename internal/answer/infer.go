package answer

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
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
		return nil, fmt.Errorf("%s contains itself: its schema would have no end", in.chain(t))
	}
	in.open = append(in.open, t)
	defer func() { in.open = in.open[:len(in.open)-1] }()
	parts := map[reflect.Kind]func(reflect.Type) (*jsonschema.Schema, error){
		reflect.Pointer: in.pointer,
		reflect.Slice:   in.list,
		reflect.Array:   in.list,
		reflect.Map:     in.dictionary,
		reflect.Struct:  in.object,
	}
	if infer, ok := parts[t.Kind()]; ok {
		return infer(t)
	}
	return scalar(t)
}

func (in *inference) chain(t reflect.Type) string {
	var names []string
	for _, open := range append(in.open, t) {
		names = append(names, open.String())
	}
	return strings.Join(names, " > ")
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

func nullable(s *jsonschema.Schema) *jsonschema.Schema {
	switch {
	case s.Type != "":
		s.Types, s.Type = []string{s.Type, "null"}, ""
	case len(s.Types) > 0 && !slices.Contains(s.Types, "null"):
		s.Types = append(s.Types, "null")
	}
	return s
}

func (in *inference) pointer(t reflect.Type) (*jsonschema.Schema, error) {
	s, err := in.infer(t.Elem())
	if err != nil {
		return nil, err
	}
	return nullable(s), nil
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
	if f.quoted {
		quote(s)
	}
	if err := tagged(s, f.tag); err != nil {
		return nil, fmt.Errorf("field %s: %w", f.name, err)
	}
	return s, nil
}

// quote makes of a scalar's schema that of the string which the option "string"
// of encoding/json asks for.
func quote(s *jsonschema.Schema) {
	if slices.Contains(s.Types, "null") {
		*s = jsonschema.Schema{Types: []string{"string", "null"}}
		return
	}
	*s = jsonschema.Schema{Type: "string"}
}

// scalars are the schemas of the kinds without parts.
var scalars = map[reflect.Kind]jsonschema.Schema{
	reflect.Bool:    {Type: "boolean"},
	reflect.String:  {Type: "string"},
	reflect.Float32: {Type: "number"},
	reflect.Float64: {Type: "number"},
	reflect.Int:     {Type: "integer"},
	reflect.Int8:    {Type: "integer", Minimum: new(-128.0), Maximum: new(127.0)},
	reflect.Int16:   {Type: "integer", Minimum: new(-32768.0), Maximum: new(32767.0)},
	reflect.Int32:   {Type: "integer", Minimum: new(-2147483648.0), Maximum: new(2147483647.0)},
	reflect.Int64:   {Type: "integer"},
	reflect.Uint:    {Type: "integer", Minimum: new(0.0)},
	reflect.Uint8:   {Type: "integer", Minimum: new(0.0), Maximum: new(255.0)},
	reflect.Uint16:  {Type: "integer", Minimum: new(0.0), Maximum: new(65535.0)},
	reflect.Uint32:  {Type: "integer", Minimum: new(0.0), Maximum: new(4294967295.0)},
	reflect.Uint64:  {Type: "integer", Minimum: new(0.0)},
	reflect.Uintptr: {Type: "integer", Minimum: new(0.0)},
}

func scalar(t reflect.Type) (*jsonschema.Schema, error) {
	s, ok := scalars[t.Kind()]
	if !ok {
		return nil, fmt.Errorf("%v cannot be read from JSON", t)
	}
	return &s, nil
}
