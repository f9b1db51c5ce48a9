package schema

import (
	"encoding/json"
	"slices"
	"strings"
)

// IsObject says whether a schema is one of objects.
func IsObject(schema json.RawMessage) bool {
	o, ok := objectOf(schema)
	types := slices.DeleteFunc(wordsOf(o.get("type")), func(t string) bool { return t == "null" })
	return ok && slices.Equal(types, []string{"object"})
}

// mayBeNull says whether a schema allows null.
func mayBeNull(schema ordered) bool {
	if slices.Contains(wordsOf(schema.get("type")), "null") {
		return true
	}
	return slices.ContainsFunc(choices(schema), func(raw json.RawMessage) bool {
		o, ok := objectOf(raw)
		return ok && mayBeNull(o)
	})
}

// withNull returns a schema that also allows null.
func withNull(schema ordered) ordered {
	types := wordsOf(schema.get("type"))
	if len(types) > 0 && schema.get("enum") == nil && schema.get("const") == nil {
		return schema.with("type", append(types, "null"))
	}
	null := ordered{}.with("type", "null")
	if list := listOf(schema.get("anyOf")); list != nil {
		all := []any{}
		for _, raw := range list {
			all = append(all, raw)
		}
		return schema.with("anyOf", append(all, null))
	}
	return ordered{}.with("anyOf", []ordered{schema, null})
}

// choices returns the schemas of which a value has to fit one.
func choices(schema ordered) []json.RawMessage {
	return append(listOf(schema.get("anyOf")), listOf(schema.get("oneOf"))...)
}

func oneOrAll(words []string) any {
	if len(words) == 1 {
		return words[0]
	}
	return words
}

// references limits how many of them are followed: they may be circular.
const references = 20

// shape returns the schema behind references, and X of "X or null".
func (c *Nulls) shape(schema json.RawMessage) ordered {
	for range references {
		o := c.target(schema)
		list := slices.DeleteFunc(choices(o), func(raw json.RawMessage) bool {
			x, _ := objectOf(raw)
			return slices.Equal(wordsOf(x.get("type")), []string{"null"})
		})
		if len(list) != 1 {
			return o
		}
		schema = list[0]
	}
	return nil
}

// nullable says whether a schema allows null, as a schema without a type does.
func (c *Nulls) nullable(schema json.RawMessage, depth int) bool {
	o := c.target(schema)
	list := choices(o)
	if mayBeNull(o) || len(list) == 0 && o.get("type") == nil && o.get("enum") == nil && o.get("const") == nil {
		return true
	}
	return depth > 0 && slices.ContainsFunc(list, func(raw json.RawMessage) bool { return c.nullable(raw, depth-1) })
}

// target returns the schema that schema refers to, or itself.
func (c *Nulls) target(schema json.RawMessage) ordered {
	for range references {
		o, _ := objectOf(schema)
		ref := textIn(o.get("$ref"))
		if ref == "" {
			return o
		}
		schema = definition(c.root, ref)
	}
	return nil
}

// definition returns the schema at a reference such as #/$defs/name, nil if there
// is none.
func definition(root json.RawMessage, ref string) json.RawMessage {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	for _, name := range strings.Split(path, "/")[1:] {
		o, _ := objectOf(root)
		root = o.get(strings.NewReplacer("~1", "/", "~0", "~").Replace(name))
	}
	return root
}

// endless says whether a schema contains itself.
func endless(schema json.RawMessage) bool {
	finite := map[string]bool{} // references of which it is known
	var within func(data json.RawMessage, open []string) bool
	within = func(data json.RawMessage, open []string) bool {
		if list := listOf(data); list != nil {
			return slices.ContainsFunc(list, func(x json.RawMessage) bool { return within(x, open) })
		}
		o, _ := objectOf(data)
		ref := textIn(o.get("$ref"))
		switch {
		case ref == "":
			return slices.ContainsFunc(o, func(m member) bool {
				return m.name != "$defs" && m.name != "definitions" && within(m.value, open)
			})
		case ref == "#" || slices.Contains(open, ref):
			return true
		case !finite[ref]:
			finite[ref] = !within(definition(schema, ref), append(slices.Clip(open), ref))
		}
		return !finite[ref]
	}
	return within(schema, nil)
}

func written(value any) json.RawMessage {
	data, err := json.Marshal(value)
	if err != nil {
		panic("schema: what was read as JSON is none") // impossible
	}
	return data
}
