// Package schema converts JSON Schemas to the dialects of vendors, and removes from an
// answer the nulls that only a dialect required. It keeps the order of fields, which is
// the order in which a model fills them in.
package schema

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// Dialect is the part of JSON Schema that a vendor takes. Other keywords that only narrow
// a value are left out, because the answer is checked afterwards.
type Dialect struct {
	keywords string // keywords that it takes, between spaces
	formats  string // formats of strings that it takes, between spaces
	closed   bool   // objects have no other fields than those named
	required bool   // all fields of objects are required; optional ones may be null
	finite   bool   // no schema contains itself
}

const (
	structure = " type description title enum properties required items anyOf $ref $defs definitions "
	bounds    = " minimum maximum minItems maxItems "
	times     = " date-time date time "
	formats   = times + " duration email hostname ipv4 ipv6 uuid "
)

// The dialects, by the vendors' documents of November 2026.
var (
	Strict = Dialect{
		keywords: structure + bounds + " const pattern format exclusiveMinimum exclusiveMaximum multipleOf additionalProperties ",
		formats:  formats, closed: true, required: true,
	}
	Gemini = Dialect{keywords: structure + bounds + " format ", formats: times}
	Claude = Dialect{
		keywords: structure + " const format default additionalProperties ",
		formats:  formats + " uri ", closed: true, finite: true,
	}
)

// errNoWords says that a schema cannot be expressed in a vendor's dialect.
var errNoWords = errors.New("the schema cannot be expressed")

// Fit returns schema in the dialect d, and whether fields may be null that schema does not
// allow to be. It fails for what d cannot express, such as maps and values of any type.
func (d Dialect) Fit(schema json.RawMessage) (out json.RawMessage, widened, ok bool) {
	f := fitting{Dialect: d}
	o, err := f.schema(schema)
	if err != nil || d.finite && endless(schema) {
		return nil, false, false
	}
	if types := wordsOf(o.get("type")); slices.Contains(types, "null") { // the answer itself has to come
		types = slices.DeleteFunc(types, func(t string) bool { return t == "null" })
		o = o.with("type", oneOrAll(types))
	}
	out, err = json.Marshal(o)
	return out, f.widened, err == nil
}

// fitting is the conversion of one schema.
type fitting struct {
	Dialect
	widened bool
}

func (f *fitting) schema(data json.RawMessage) (ordered, error) {
	in, ok := objectOf(data)
	if !ok {
		return nil, errNoWords // true, false, or none at all
	}
	if ref := in.get("$ref"); ref != nil && in.get("$defs") == nil {
		return ordered{{"$ref", ref}}, nil // no other keyword is allowed beside it
	}
	out := ordered{}
	for _, m := range in {
		m, ok, err := f.keyword(in, m)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, m)
		}
	}
	return f.object(in, out)
}

// keyword returns m in the dialect, and whether that has it.
func (f *fitting) keyword(in ordered, m member) (member, bool, error) {
	var err error
	switch m.name {
	case "oneOf":
		m.name = "anyOf"
		fallthrough
	case "anyOf":
		m.value, err = f.list(m.value)
	case "items":
		m.value, err = f.value(m.value)
	case "$defs", "definitions":
		m.value, err = f.each(m.value, func(string) bool { return false })
	case "properties":
		required := wordsOf(in.get("required"))
		m.value, err = f.each(m.value, func(name string) bool { return f.required && !slices.Contains(required, name) })
	case "const":
		if !f.takes("const") {
			m.name, m.value = "enum", slices.Concat([]byte("["), m.value, []byte("]"))
		}
	case "required", "additionalProperties", "patternProperties", "prefixItems", "allOf":
		return f.shape(m)
	}
	if m.name == "format" && !slices.Contains(strings.Fields(f.formats), textIn(m.value)) {
		return m, false, nil
	}
	return m, f.takes(m.name), err
}

// shape is keyword for those that list fields or items. object adds what it leaves out.
func (f *fitting) shape(m member) (member, bool, error) {
	switch m.name {
	case "required":
		return m, !f.required, nil
	case "additionalProperties":
		if kind := string(m.value); kind != "false" && kind != `{"not":{}}` {
			return m, false, errNoWords // a map
		}
		return m, false, nil
	}
	return m, false, errNoWords
}

func (f *fitting) takes(keyword string) bool {
	return slices.Contains(strings.Fields(f.keywords), keyword)
}

// object adds to out, made from in, the keywords of every schema and every object.
func (f *fitting) object(in, out ordered) (ordered, error) {
	types := wordsOf(in.get("type"))
	properties, _ := objectOf(out.get("properties"))
	switch {
	case len(types) == 0 && out.get("anyOf") == nil && out.get("enum") == nil && out.get("const") == nil:
		return nil, errNoWords // any value
	case slices.Contains(types, "array") && out.get("items") == nil:
		return nil, errNoWords
	case !slices.Contains(types, "object"):
		return out, nil
	case len(properties) == 0:
		return nil, errNoWords // any object
	}
	if f.required {
		names := []string{}
		for _, p := range properties {
			names = append(names, p.name)
		}
		out = out.with("required", names)
	}
	if f.closed {
		out = out.with("additionalProperties", false)
	}
	return out, nil
}

func (f *fitting) value(data json.RawMessage) (json.RawMessage, error) {
	o, err := f.schema(data)
	if err != nil {
		return nil, err
	}
	return json.Marshal(o)
}

func (f *fitting) list(data json.RawMessage) (json.RawMessage, error) {
	list := listOf(data)
	for i := range list {
		var err error
		if list[i], err = f.value(list[i]); err != nil {
			return nil, err
		}
	}
	return json.Marshal(list)
}

// each returns the schemas of an object's fields. Those for which orNull is true may be
// null afterwards.
func (f *fitting) each(data json.RawMessage, orNull func(name string) bool) (json.RawMessage, error) {
	in, ok := objectOf(data)
	if !ok {
		return nil, errNoWords
	}
	out := ordered{}
	for _, m := range in {
		o, err := f.schema(m.value)
		if err != nil {
			return nil, err
		}
		if orNull(m.name) && !mayBeNull(o) {
			o, f.widened = withNull(o), true
		}
		out = out.with(m.name, o)
	}
	return json.Marshal(out)
}

func textIn(data json.RawMessage) string {
	var text string
	if json.Unmarshal(data, &text) != nil {
		return ""
	}
	return text
}
