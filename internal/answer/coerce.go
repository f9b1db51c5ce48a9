package answer

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// coercer converts values to what a schema wants where that loses nothing. What
// it cannot convert it leaves to the checker.
type coercer struct {
	root  *jsonschema.Schema
	fixes *fixes
}

// coerce returns v converted; objects and lists are changed in place.
func (c coercer) coerce(v any, s *jsonschema.Schema, at *path) any {
	s = deref(c.root, s, v)
	if !fits(s, v) {
		return c.convert(v, s, at)
	}
	switch v := v.(type) {
	case map[string]any:
		c.object(v, s, at)
	case []any:
		if s.Items != nil {
			for i := range v {
				v[i] = c.coerce(v[i], s.Items, at.index(i))
			}
		}
	case string:
		return c.enum(v, s, at)
	case json.Number:
		return c.number(v, s, at)
	}
	return v
}

func (c coercer) object(object map[string]any, s *jsonschema.Schema, at *path) {
	if len(s.Properties) > 0 {
		c.rename(object, s, at)
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		sub := s.Properties[name]
		if sub == nil && len(s.PatternProperties) == 0 {
			sub = s.AdditionalProperties
		}
		if sub != nil {
			object[name] = c.coerce(object[name], sub, at.field(name))
		}
	}
}

// rename gives fields the names that the schema has for them, if only the case
// or the dashes differ and only one name is meant by only one field.
func (c coercer) rename(object map[string]any, s *jsonschema.Schema, at *path) {
	meant := map[string][]string{} // by folded name: the fields without a property
	for name := range object {
		if _, ok := s.Properties[name]; !ok {
			meant[fold(name)] = append(meant[fold(name)], name)
		}
	}
	if len(meant) == 0 {
		return
	}
	wanted := map[string][]string{} // by folded name: the properties
	for name := range s.Properties {
		wanted[fold(name)] = append(wanted[fold(name)], name)
	}
	for _, key := range slices.Sorted(maps.Keys(meant)) {
		from, to := meant[key], wanted[key]
		if len(from) != 1 || len(to) != 1 {
			continue
		}
		if _, taken := object[to[0]]; taken {
			continue
		}
		object[to[0]] = object[from[0]]
		delete(object, from[0])
		c.note("name", at.field(to[0]))
	}
}

// number writes an integer as one.
func (c coercer) number(n json.Number, s *jsonschema.Schema, at *path) any {
	if !allows(s, "integer") {
		return n
	}
	whole, ok := integer(n)
	if !ok || whole == n {
		return n
	}
	c.note("integer", at)
	return whole
}

// enum returns the allowed value that v means, if case, spaces, dashes and
// underscores are all that differs.
func (c coercer) enum(v string, s *jsonschema.Schema, at *path) any {
	meant, n := "", 0
	for _, e := range s.Enum {
		name, ok := e.(string)
		if name == v && ok {
			return v
		}
		if ok && fold(strings.ReplaceAll(name, " ", "")) == fold(strings.Join(strings.Fields(v), "")) {
			meant = name
			n++
		}
	}
	if n != 1 {
		return v
	}
	c.note("enum value", at)
	return meant
}

// convert changes the type of a value.
func (c coercer) convert(v any, s *jsonschema.Schema, at *path) any {
	if text, ok := v.(string); ok {
		if made, what := unquote(strings.TrimSpace(text), s); what != "" {
			c.note(what, at)
			return c.coerce(made, s, at)
		}
	}
	switch v.(type) {
	case bool, json.Number, string:
		return c.wrap(v, s, at)
	}
	return v
}

// unquote reads a value that was put in quotes and says what it is, "" if it is
// not what s wants.
func unquote(text string, s *jsonschema.Schema) (made any, what string) {
	if allows(s, "number") || allows(s, "integer") {
		p := parser{text: text}
		n, f := p.number()
		if f == nil && p.at == len(text) && fits(s, n) {
			return n, "number as string"
		}
	}
	if s.Title == durationTitle && allows(s, "integer") {
		if d, err := time.ParseDuration(text); err == nil {
			return json.Number(strconv.FormatInt(int64(d), 10)), "duration as string"
		}
	}
	if allows(s, "boolean") {
		switch {
		case strings.EqualFold(text, "true"):
			return true, "boolean as string"
		case strings.EqualFold(text, "false"):
			return false, "boolean as string"
		}
	}
	return nil, ""
}

// wrap makes a list of one value.
func (c coercer) wrap(v any, s *jsonschema.Schema, at *path) any {
	if s.Items == nil || !allows(s, "array") || v == "" {
		return v
	}
	item := deref(c.root, s.Items, v)
	made := c.coerce(v, item, at.index(0))
	if !fits(item, made) {
		return v
	}
	if _, nested := made.([]any); nested {
		return v
	}
	c.note("one value as list", at)
	return []any{made}
}

func (c coercer) note(what string, at *path) {
	if at == nil {
		c.fixes.add(what)
		return
	}
	c.fixes.add(what + " at " + at.String())
}

var dashes = strings.NewReplacer("-", "", "_", "")

// fold makes names equal that differ in case and dashes only.
func fold(name string) string { return strings.ToLower(dashes.Replace(name)) }
