package answer

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// deref follows the references of s, and takes "X or null" for X if v is not null.
func deref(root, s *jsonschema.Schema, v any) *jsonschema.Schema {
	for {
		next := named(root, s.Ref)
		if next == nil && v != nil {
			next = orNull(s)
		}
		if next == nil {
			return s
		}
		s = next
	}
}

// orNull returns X of {"anyOf": [X, {"type": "null"}]}, and nil for other schemas.
func orNull(s *jsonschema.Schema) *jsonschema.Schema {
	either := s.AnyOf
	if either == nil {
		either = s.OneOf
	}
	if len(either) != 2 || s.Type != "" || s.Types != nil || s.Properties != nil || s.Items != nil {
		return nil
	}
	for i, x := range either {
		if x.Type == "null" {
			return either[1-i]
		}
	}
	return nil
}

func named(root *jsonschema.Schema, ref string) *jsonschema.Schema {
	if ref == "#" {
		return root
	}
	if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
		return root.Defs[name]
	}
	if name, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
		return root.Definitions[name]
	}
	return nil
}

// checkLoops refuses a schema that refers to itself for the same value: a
// validator would never come to an end. Lists, trees and the like, which refer to
// themselves for a value inside, are fine.
func checkLoops(root *jsonschema.Schema) error {
	ends := map[*jsonschema.Schema]bool{} // false: being followed
	var follow func(*jsonschema.Schema) error
	follow = func(s *jsonschema.Schema) error {
		if end, known := ends[s]; known {
			if !end {
				return fmt.Errorf("reference %q leads back to itself", s.Ref)
			}
			return nil
		}
		ends[s] = false
		next := inPlace(s)
		if s.Ref != "" {
			target := named(root, s.Ref)
			if target == nil {
				return fmt.Errorf("reference %q: want one to #, #/$defs/NAME or #/definitions/NAME", s.Ref)
			}
			next = append(next, target)
		}
		if s.DynamicRef != "" {
			return fmt.Errorf("dynamic reference %q is not supported", s.DynamicRef)
		}
		for _, sub := range next {
			if err := follow(sub); err != nil {
				return err
			}
		}
		ends[s] = true
		return nil
	}
	for _, s := range all(root) {
		if err := follow(s); err != nil {
			return err
		}
	}
	return nil
}

// inPlace lists the schemas that apply to the same value as s.
func inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	return slices.DeleteFunc(slices.Concat(s.AllOf, s.AnyOf, s.OneOf, []*jsonschema.Schema{s.Not, s.If, s.Then, s.Else},
		slices.Collect(maps.Values(s.DependentSchemas)), slices.Collect(maps.Values(s.DependencySchemas)),
	), func(sub *jsonschema.Schema) bool { return sub == nil })
}

// all lists s and every schema inside of it.
func all(s *jsonschema.Schema) []*jsonschema.Schema {
	if s == nil {
		return nil
	}
	list := []*jsonschema.Schema{s}
	for _, field := range reflect.ValueOf(s).Elem().Fields() {
		switch x := field.Interface().(type) {
		case *jsonschema.Schema:
			list = append(list, all(x)...)
		case []*jsonschema.Schema:
			for _, sub := range x {
				list = append(list, all(sub)...)
			}
		case map[string]*jsonschema.Schema:
			for _, sub := range x {
				list = append(list, all(sub)...)
			}
		}
	}
	return list
}
