package fake

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/convene-go/convene/internal/answer"
)

const (
	deepOptional = 6      // how deep optional properties are filled in
	deepRequired = 64     // and required ones
	mostValues   = 10_000 // values that the data is made of, at most
)

// dataFor returns data that fits a JSON Schema.
func dataFor(schema json.RawMessage) (json.RawMessage, error) {
	shape, err := answer.FromSchema(schema)
	if err != nil {
		return nil, err
	}
	root := new(jsonschema.Schema)
	if err := json.Unmarshal(schema, root); err != nil {
		return nil, err
	}
	v, err := (&maker{root: root}).value(root, 0, 0)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	found, err := shape.Find(data, "")
	if err != nil {
		return nil, fmt.Errorf("%s does not fit: %w", short(string(data)), err)
	}
	return found, nil
}

// maker makes data for the parts of a schema.
type maker struct {
	root *jsonschema.Schema
	made int // values
}

// value returns a value for s. The n-th item of a list differs from the others
// where it can.
func (m *maker) value(s *jsonschema.Schema, n, depth int) (any, error) {
	m.made++
	switch {
	case depth > deepRequired:
		return nil, errors.New("the schema has no end")
	case m.made > mostValues:
		return nil, fmt.Errorf("the schema wants more than %d values", mostValues)
	}
	switch {
	case s.Const != nil:
		return *s.Const, nil
	case len(s.Enum) > 0:
		return s.Enum[n%len(s.Enum)], nil
	}
	own, err := m.own(s, n, depth)
	if err != nil {
		return nil, err
	}
	for _, part := range m.parts(s) {
		v, err := m.value(part, n, depth+1)
		if err != nil {
			return nil, err
		}
		own = merge(own, v)
	}
	if own == nil && kindOf(s) == "" && len(m.parts(s)) == 0 {
		return text(s, n) // anything will do
	}
	return own, nil
}

// parts are the other schemas that the value must fit.
func (m *maker) parts(s *jsonschema.Schema) []*jsonschema.Schema {
	parts := slices.Clone(s.AllOf)
	for _, either := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		if len(either) > 0 {
			parts = append(parts, either[max(0, slices.IndexFunc(either, func(x *jsonschema.Schema) bool { return x.Type != "null" }))])
		}
	}
	for _, to := range []struct {
		prefix string
		defs   map[string]*jsonschema.Schema
	}{{"#/$defs/", m.root.Defs}, {"#/definitions/", m.root.Definitions}} {
		if name, ok := strings.CutPrefix(s.Ref, to.prefix); ok && to.defs[name] != nil {
			parts = append(parts, to.defs[name])
		}
	}
	if s.Ref == "#" {
		parts = append(parts, m.root)
	}
	return parts
}

// merge returns a value that fits two schemas: objects have the properties of both, and
// other values are that of the second, unless it is nil.
func merge(a, b any) any {
	x, ok := a.(map[string]any)
	y, both := b.(map[string]any)
	switch {
	case ok && both:
		x = maps.Clone(x)
		maps.Copy(x, y)
		return x
	case b == nil:
		return a
	}
	return b
}

// kindOf returns the JSON type of the values of s, "" if s does not say.
func kindOf(s *jsonschema.Schema) string {
	if s.Type != "" {
		return s.Type
	}
	for _, t := range s.Types {
		if t != "null" {
			return t
		}
	}
	switch {
	case s.Properties != nil || len(s.Required) > 0:
		return "object"
	case s.Items != nil || len(s.PrefixItems) > 0 || s.MinItems != nil:
		return "array"
	case s.MinLength != nil || s.MaxLength != nil || s.Pattern != "" || s.Format != "":
		return "string"
	case s.Minimum != nil || s.Maximum != nil || s.ExclusiveMinimum != nil || s.ExclusiveMaximum != nil || s.MultipleOf != nil:
		return "number"
	}
	return ""
}

// own returns a value for the keywords of s itself, nil if there are none.
func (m *maker) own(s *jsonschema.Schema, n, depth int) (any, error) {
	switch kindOf(s) {
	case "object":
		return m.object(s, depth)
	case "array":
		return m.list(s, depth)
	case "string":
		return text(s, n)
	case "integer":
		return number(s, n, true), nil
	case "number":
		return number(s, n, false), nil
	case "boolean":
		return true, nil
	}
	return nil, nil //nolint:nilnil // null is a value
}

func (m *maker) object(s *jsonschema.Schema, depth int) (any, error) {
	object := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if depth > deepOptional && !slices.Contains(s.Required, name) {
			continue
		}
		v, err := m.value(s.Properties[name], 0, depth+1)
		if err != nil {
			return nil, err
		}
		object[name] = v
	}
	for i := 1; s.MinProperties != nil && len(object) < *s.MinProperties; i++ {
		v, err := m.value(orAny(s.AdditionalProperties), i-1, depth+1)
		if err != nil {
			return nil, err
		}
		object[fmt.Sprintf("key-%d", i)] = v
	}
	for _, name := range s.Required {
		if _, ok := object[name]; ok {
			continue
		}
		v, err := m.value(orAny(s.AdditionalProperties), 0, depth+1)
		if err != nil {
			return nil, err
		}
		object[name] = v
	}
	return object, nil
}

func (m *maker) list(s *jsonschema.Schema, depth int) (any, error) {
	size := max(1, len(s.PrefixItems))
	if depth > deepOptional {
		size = 0
	}
	if s.MinItems != nil {
		size = max(size, *s.MinItems)
	}
	if s.MaxItems != nil {
		size = min(size, *s.MaxItems)
	}
	list := []any{}
	for i := range size {
		item := orAny(s.Items)
		if i < len(s.PrefixItems) {
			item = s.PrefixItems[i]
		}
		v, err := m.value(item, i, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

func orAny(s *jsonschema.Schema) *jsonschema.Schema {
	if s == nil {
		return &jsonschema.Schema{}
	}
	return s
}
