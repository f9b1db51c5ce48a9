package answer

import (
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
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

// infer makes the schema of a type inside of those around. The library's own reads some
// types other than encoding/json does: those with methods, embedded structs, []byte.
func infer(t reflect.Type, around []reflect.Type) (*jsonschema.Schema, error) {
	if s := special(t); s != nil {
		return s, nil
	}
	if slices.Contains(around, t) {
		return nil, fmt.Errorf("%v contains itself: its schema would have no end", t)
	}
	around = append(slices.Clip(around), t)
	k := t.Kind()
	switch k { //nolint:exhaustive // all others are scalars, or refused
	case reflect.Pointer, reflect.Slice, reflect.Array:
	case reflect.Map:
		if !isKey(t.Key()) {
			return nil, fmt.Errorf("%v cannot be a key in JSON", t.Key())
		}
	case reflect.Struct:
		return object(t, around)
	default:
		if !scalar(k) {
			return nil, fmt.Errorf("%v cannot be read from JSON", t)
		}
		return jsonschema.ForType(t, nil)
	}
	elem, err := infer(t.Elem(), around)
	switch {
	case err != nil:
		return nil, err
	case k == reflect.Map:
		elem = &jsonschema.Schema{Type: "object", AdditionalProperties: elem}
	case k == reflect.Slice:
		elem = &jsonschema.Schema{Type: "array", Items: elem}
	case k == reflect.Array:
		return &jsonschema.Schema{Type: "array", Items: elem, MinItems: new(t.Len()), MaxItems: new(t.Len())}, nil
	}
	return nullable(elem), nil
}

// scalar is for booleans, numbers and strings.
func scalar(k reflect.Kind) bool {
	return reflect.Bool <= k && k <= reflect.Float64 || k == reflect.String
}

func isKey(t reflect.Type) bool {
	k := t.Kind()
	return reflect.Int <= k && k <= reflect.Uintptr || k == reflect.String ||
		reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// special returns the schemas of types that JSON does not show as their kind, or nil.
func special(t reflect.Type) *jsonschema.Schema {
	switch reflect.New(t).Interface().(type) { // a pointer has the methods of its value, too
	case *time.Time:
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case *time.Duration:
		return &jsonschema.Schema{Type: "integer", Title: durationTitle}
	case *json.Number:
		return &jsonschema.Schema{Type: "number"}
	case *any, json.Marshaler, json.Unmarshaler: // only the type itself knows
		return &jsonschema.Schema{Description: "any JSON value"} // some models' APIs refuse the schema "true"
	case encoding.TextMarshaler, encoding.TextUnmarshaler:
		return &jsonschema.Schema{Type: "string"}
	}
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && special(t.Elem()) == nil {
		return nullable(&jsonschema.Schema{Type: "string", ContentEncoding: "base64"})
	}
	return nil
}

// nullable adds null to the types that s names, if it names any.
func nullable(s *jsonschema.Schema) *jsonschema.Schema {
	if s.Type != "" {
		s.Types, s.Type = []string{s.Type, "null"}, ""
	}
	return s
}

func object(t reflect.Type, around []reflect.Type) (*jsonschema.Schema, error) {
	s := &jsonschema.Schema{
		Type:                 "object",
		Properties:           map[string]*jsonschema.Schema{},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	fields := fieldsOf(t, nil)
	for _, f := range fields {
		if slices.ContainsFunc(fields, f.hiddenBy) {
			continue
		}
		field, err := infer(f.Type, around)
		if err == nil {
			err = f.tagged(field)
		}
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.name, err)
		}
		s.Properties[f.name] = field
		s.PropertyOrder = append(s.PropertyOrder, f.name)
		if !f.has("omitempty") && !f.has("omitzero") {
			s.Required = append(s.Required, f.name)
		}
	}
	return s, nil
}

// field is a struct field as encoding/json sees it.
type field struct {
	reflect.StructField

	name    string
	options []string
	rank    int // less for less deeply embedded ones, then for those named by a tag
}

func (f *field) has(option string) bool { return slices.Contains(f.options, option) }

// hiddenBy reports whether f does not count beside other. Of two with one name and rank
// none counts.
func (f *field) hiddenBy(other *field) bool {
	return f != other && f.name == other.name && f.rank >= other.rank
}

// fieldsOf lists the fields of a struct in order, with those of embedded structs.
func fieldsOf(t reflect.Type, around []reflect.Type) []*field {
	if slices.Contains(around, t) {
		return nil // its fields are hidden by those of the struct around it
	}
	around = append(slices.Clip(around), t)
	var list []*field
	for sf := range t.Fields() {
		tag := sf.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		inner := sf.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case tag == "-":
		case sf.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			list = append(list, fieldsOf(inner, around)...)
		case sf.IsExported():
			f := &field{sf, name, strings.Split(options, ","), 2 * len(around)}
			if name == "" {
				f.name, f.rank = sf.Name, f.rank+1
			}
			if f.has("string") && scalar(inner.Kind()) { // in quotes, or null
				f.Type = reflect.TypeFor[string]()
				if inner != sf.Type {
					f.Type = reflect.TypeFor[*string]()
				}
			}
			list = append(list, f)
		}
	}
	return list
}

// tagged adds what the field's tags say to the schema of its type.
func (f *field) tagged(s *jsonschema.Schema) error {
	s.Description = cmp.Or(f.Tag.Get("jsonschema"), s.Description)
	for key, bound := range map[string]**float64{"min": &s.Minimum, "max": &s.Maximum} {
		value, ok := f.Tag.Lookup(key)
		if ok && (!allows(s, "number") && !allows(s, "integer") || json.Unmarshal([]byte(value), bound) != nil) {
			return fmt.Errorf("tag %s:%q: want a number, for a number", key, value)
		}
	}
	list, ok := f.Tag.Lookup("enum")
	if !ok {
		return nil
	}
	texts := cmp.Or(s.Items, s)
	if !allows(texts, "string") {
		return errors.New("tag enum is for strings")
	}
	for value := range strings.SplitSeq(list, ",") {
		texts.Enum = append(texts.Enum, strings.TrimSpace(value))
	}
	if allows(texts, "null") {
		texts.Enum = append(texts.Enum, nil)
	}
	return nil
}
