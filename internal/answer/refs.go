package answer

import (
	"fmt"
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
	l := loops{root: root, state: map[*jsonschema.Schema]int{}}
	return l.everywhere(root)
}

type loops struct {
	root  *jsonschema.Schema
	state map[*jsonschema.Schema]int // 1: being followed, 2: has an end
}

func (l loops) everywhere(s *jsonschema.Schema) error {
	if err := l.follow(s); err != nil {
		return err
	}
	for _, sub := range inside(s) {
		if err := l.everywhere(sub); err != nil {
			return err
		}
	}
	return nil
}

func (l loops) follow(s *jsonschema.Schema) error {
	switch l.state[s] {
	case 1:
		return fmt.Errorf("reference %q leads back to itself", s.Ref)
	case 2:
		return nil
	}
	l.state[s] = 1
	next := inPlace(s)
	if s.Ref != "" {
		target := named(l.root, s.Ref)
		if target == nil {
			return fmt.Errorf("reference %q: want one to #, #/$defs/NAME or #/definitions/NAME", s.Ref)
		}
		next = append(next, target)
	}
	if s.DynamicRef != "" {
		return fmt.Errorf("dynamic reference %q is not supported", s.DynamicRef)
	}
	for _, sub := range next {
		if err := l.follow(sub); err != nil {
			return err
		}
	}
	l.state[s] = 2
	return nil
}

// inPlace lists the schemas that apply to the same value as s.
func inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	var list []*jsonschema.Schema
	list = append(list, s.AllOf...)
	list = append(list, s.AnyOf...)
	list = append(list, s.OneOf...)
	for _, sub := range []*jsonschema.Schema{s.Not, s.If, s.Then, s.Else} {
		if sub != nil {
			list = append(list, sub)
		}
	}
	for _, sub := range s.DependentSchemas {
		list = append(list, sub)
	}
	for _, sub := range s.DependencySchemas {
		list = append(list, sub)
	}
	return list
}

// inside lists all direct subschemas of s.
func inside(s *jsonschema.Schema) []*jsonschema.Schema {
	list := inPlace(s)
	list = append(list, s.PrefixItems...)
	list = append(list, s.ItemsArray...)
	for _, sub := range []*jsonschema.Schema{
		s.Items, s.AdditionalItems, s.Contains, s.UnevaluatedItems,
		s.AdditionalProperties, s.PropertyNames, s.UnevaluatedProperties,
	} {
		if sub != nil {
			list = append(list, sub)
		}
	}
	for _, m := range []map[string]*jsonschema.Schema{s.Defs, s.Definitions, s.Properties, s.PatternProperties} {
		for _, sub := range m {
			list = append(list, sub)
		}
	}
	return list
}
