package answer

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Shape is a compiled schema. It is immutable and safe for concurrent use.
type Shape struct {
	raw      json.RawMessage
	schema   *jsonschema.Schema
	resolved *jsonschema.Resolved // nil: of a Go type, which has no keyword that fit does not know
	patterns map[*jsonschema.Schema]*regexp.Regexp
	open     bool // objects may have extra fields: Loose drops these, too
}

// shapes caches *Shape by reflect.Type.
var shapes sync.Map

// For returns the shape of a Go type as encoding/json reads it. What fits the shape
// decodes into the type, but for what no schema says: see [Decode].
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
// For returns an error for a type that contains itself and for one that JSON
// cannot carry.
func For[T any]() (*Shape, error) {
	t := reflect.TypeFor[T]()
	if s, ok := shapes.Load(t); ok {
		return s.(*Shape), nil //nolint:errcheck // only shapes are stored
	}
	schema, err := infer(t, nil)
	var raw json.RawMessage
	if err == nil {
		raw, err = json.Marshal(schema)
	}
	if err != nil {
		return nil, fmt.Errorf("schema of %v: %w", t, err)
	}
	kept, _ := shapes.LoadOrStore(t, &Shape{raw: raw, schema: schema})
	return kept.(*Shape), nil //nolint:errcheck // only shapes are stored
}

// FromSchema returns the shape of a JSON Schema: draft 2020-12 or draft 7, with
// references inside the document only. A string of format date-time must be one.
//
// Each text is compiled once, as long as a program has few schemas.
func FromSchema(schema json.RawMessage) (*Shape, error) {
	compiled.Lock()
	s := compiled.shapes[string(schema)]
	compiled.Unlock()
	if s != nil {
		return s, nil
	}
	s, err := compile(schema)
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	if len(schema) <= maxKept {
		compiled.Lock()
		defer compiled.Unlock()
		if len(compiled.shapes) >= maxShapes {
			clear(compiled.shapes)
		}
		compiled.shapes[string(schema)] = s
	}
	return s, nil
}

// compiled caches shapes by the texts of their schemas.
var compiled = struct {
	sync.Mutex
	shapes map[string]*Shape
}{shapes: map[string]*Shape{}}

// The limits of what compiled keeps.
const (
	maxShapes = 256     // number of schemas; one more, and it begins anew
	maxKept   = 1 << 16 // bytes of one schema
)

// compile makes the shape of a JSON Schema.
func compile(schema json.RawMessage) (*Shape, error) {
	s := &Shape{raw: slices.Clone(schema), schema: new(jsonschema.Schema), patterns: map[*jsonschema.Schema]*regexp.Regexp{}}
	err := json.Unmarshal(schema, &s.schema)
	if err == nil && s.schema == nil {
		err = errors.New("it is null")
	}
	if err == nil {
		s.resolved, err = s.schema.Resolve(nil)
	}
	if err == nil {
		err = s.follow()
	}
	return s, err
}

// MustFromSchema is [FromSchema] for schemas that are part of the program: it panics at
// one that is refused. [Shape.Loose] drops all fields that such a schema does not name.
func MustFromSchema(schema string) *Shape {
	s, err := FromSchema(json.RawMessage(schema))
	if err != nil {
		panic(err)
	}
	own := *s
	own.open = true
	return &own
}

// follow prepares the patterns of a schema, and refuses one that refers to itself for the
// same value: a validator would never come to an end. Lists, trees and the like, which
// refer to themselves for a value inside, are fine.
func (s *Shape) follow() (err error) {
	open := map[*jsonschema.Schema]bool{} // false: followed to its ends
	todo := []*jsonschema.Schema{s.schema}
	var follow func(*jsonschema.Schema)
	follow = func(sub *jsonschema.Schema) {
		loop, seen := open[sub]
		ref, target := sub.Ref+sub.DynamicRef, s.named(sub.Ref)
		switch {
		case err != nil:
			return
		case loop:
			err = fmt.Errorf("reference %q leads back to itself", ref)
		case ref != "" && target == nil:
			err = fmt.Errorf("reference %q: want one to #, #/$defs/NAME or #/definitions/NAME", ref)
		case sub.ID != "" && sub != s.schema:
			err = fmt.Errorf("$id %q: references in it would lead elsewhere", sub.ID)
		}
		if seen || err != nil {
			return
		}
		open[sub] = true
		if sub.Pattern != "" {
			s.patterns[sub] = regexp.MustCompile(sub.Pattern) // Resolve compiled it before: it does not panic
		}
		same, inside := parts(sub)
		for _, part := range same {
			follow(part)
		}
		if target != nil {
			follow(target)
		}
		open[sub] = false
		todo = append(todo, inside...)
	}
	for i := 0; i < len(todo); i++ {
		follow(todo[i])
	}
	return err
}

// parts lists the schemas in s: those of the same value, and those of values inside it.
func parts(s *jsonschema.Schema) (same, inside []*jsonschema.Schema) {
	for field, value := range reflect.ValueOf(s).Elem().Fields() {
		list := &inside
		switch field.Name {
		case "AllOf", "AnyOf", "OneOf", "Not", "If", "Then", "Else", "DependentSchemas", "DependencySchemas":
			list = &same
		}
		switch x := value.Interface().(type) {
		case *jsonschema.Schema:
			if x != nil {
				*list = append(*list, x)
			}
		case []*jsonschema.Schema:
			*list = append(*list, x...)
		case map[string]*jsonschema.Schema:
			*list = slices.AppendSeq(*list, maps.Values(x))
		}
	}
	return same, inside
}

// deref follows the references of sub, and takes X of {"anyOf": [X, {"type": "null"}]}
// if v is not null.
func (s *Shape) deref(sub *jsonschema.Schema, v any) *jsonschema.Schema {
	for {
		next, either := s.named(sub.Ref), slices.Concat(sub.AnyOf, sub.OneOf)
		null := slices.IndexFunc(either, func(x *jsonschema.Schema) bool { return x.Type == "null" })
		if next == nil && v != nil && null >= 0 && len(either) == 2 {
			next = either[1-null]
		}
		if next == nil {
			return sub
		}
		sub = next
	}
}

// named returns the schema that ref refers to, nil if there is none.
func (s *Shape) named(ref string) *jsonschema.Schema {
	if ref == "#" {
		return s.schema
	}
	if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
		return s.schema.Defs[name]
	}
	if name, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
		return s.schema.Definitions[name]
	}
	return nil
}

// JSON returns the JSON Schema, the same bytes each time. The caller owns it.
func (s *Shape) JSON() json.RawMessage { return slices.Clone(s.raw) }
