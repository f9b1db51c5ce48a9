package answer

import (
	"encoding/json"
	"maps"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// validate returns v, which it changes, converted.
func (s *Shape) validate(v any) (any, error) {
	v, wrong := s.fit(v, s.schema)
	if wrong != nil {
		return nil, wrong
	}
	if s.resolved == nil {
		return v, nil
	}
	plain, ok := remake(v, float)
	if !ok || s.resolved.Validate(plain) != nil {
		return nil, &fault{schema: s.schema, got: v} // the validator's text is long, and not the same each time
	}
	return v, nil
}

// float is a number as a float64: a json.Number may stand for one that takes a validator
// minutes to compute. It is false for a number that is too large.
func float(n json.Number) (any, bool) {
	f, err := n.Float64()
	return f, err == nil
}

// verbatim is a number as it is.
func verbatim(n json.Number) (any, bool) { return n, true }

// remake is a copy of v with what number makes of its numbers. It is false if number is.
func remake(v any, number func(json.Number) (any, bool)) (made any, ok bool) {
	ok = true
	switch x := v.(type) {
	case json.Number:
		return number(x)
	case []any:
		list := make([]any, len(x))
		for i := range x {
			if list[i], ok = remake(x[i], number); !ok {
				return nil, false
			}
		}
		return list, true
	case map[string]any:
		object := make(map[string]any, len(x))
		for name := range x {
			if object[name], ok = remake(x[name], number); !ok {
				return nil, false
			}
		}
		return object, true
	}
	return v, ok
}

// fit makes v fit a schema: it converts what loses nothing, and finds the first fault in
// the order of the schema. It knows the keywords that schemas for models are made of; the
// validator knows the rest. Objects and lists are changed in place; what does not fit stays.
func (s *Shape) fit(v any, schema *jsonschema.Schema) (any, *fault) {
	schema = s.deref(schema, v)
	made, ok := s.convert(v, schema)
	if !ok {
		return nil, &fault{schema: schema, got: v}
	}
	switch x := made.(type) {
	case map[string]any:
		return x, s.object(x, schema)
	case []any:
		for i := range x {
			if schema.Items == nil || schema.PrefixItems != nil {
				break
			}
			item, wrong := s.fit(x[i], schema.Items)
			if wrong != nil {
				return nil, wrong.in(strconv.Itoa(i))
			}
			x[i] = item
		}
	case json.Number:
		if whole, ok := integer(x); ok && allows(schema, "integer") {
			return whole, nil
		}
	}
	return made, nil
}

func (s *Shape) object(object map[string]any, schema *jsonschema.Schema) *fault {
	rename(object, schema)
	var missing []string
	for _, name := range schema.Required {
		if _, ok := object[name]; !ok {
			missing = append(missing, name)
		}
	}
	if missing != nil {
		return &fault{schema: &jsonschema.Schema{Required: missing}, got: object}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		field, known := schema.Properties[name]
		if !known && schema.PatternProperties == nil {
			field = schema.AdditionalProperties
		}
		if field == nil {
			continue
		}
		made, wrong := s.fit(object[name], field)
		if wrong == nil {
			object[name] = made
			continue
		}
		if !known && wrong.path == "" && field.Not != nil { // none of them may be there
			name = strings.Join(unknown(object, schema), ", ")
		}
		return wrong.in(name)
	}
	return nil
}

// unknown are the fields that the schema does not have, sorted.
func unknown(object map[string]any, schema *jsonschema.Schema) []string {
	var names []string
	for name := range object {
		if schema.Properties[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// rename gives fields the names that the schema has for them, where only one name is
// meant by only one field.
func rename(object map[string]any, s *jsonschema.Schema) {
	strange := unknown(object, s)
	if len(strange) == 0 {
		return
	}
	others, wanted := map[string][]string{}, map[string][]string{} // names by their folded form
	for _, name := range strange {
		others[fold(name)] = append(others[fold(name)], name)
	}
	for name := range s.Properties {
		wanted[fold(name)] = append(wanted[fold(name)], name)
	}
	for key, names := range wanted {
		from, to := others[key], names[0]
		if _, taken := object[to]; !taken && len(from) == 1 && len(names) == 1 {
			object[to] = object[from[0]]
			delete(object, from[0])
		}
	}
}

var dashes = strings.NewReplacer("-", "", "_", "", " ", "")

// fold makes names equal that differ in case, spaces, dashes and underscores only.
func fold(name string) string { return strings.ToLower(dashes.Replace(name)) }

// convert returns v, or what v can only mean by the schema. It is false if neither fits.
// It does not look into objects and lists.
func (s *Shape) convert(v any, schema *jsonschema.Schema) (any, bool) {
	if s.holds(v, schema) {
		return v, true
	}
	quoted, ok := v.(string)
	if ok {
		for _, meant := range unquote(strings.TrimSpace(quoted), schema) {
			if s.holds(meant, schema) {
				return meant, true
			}
		}
	}
	if _, object := v.(map[string]any); object || v == nil || v == "" || schema.Items == nil || !allows(schema, "array") {
		return v, false
	}
	item := s.deref(schema.Items, v)
	_, ok = s.convert(v, item)
	return []any{v}, ok && !allows(item, "array")
}

// unquote lists what a string may mean by the schema.
func unquote(quoted string, s *jsonschema.Schema) []any {
	var list []any
	if isNumber(quoted) {
		list = append(list, json.Number(quoted))
	}
	if yes, ok := literals[strings.ToLower(quoted)].(bool); ok {
		list = append(list, yes)
	}
	if d, err := time.ParseDuration(quoted); err == nil && s.Title == durationTitle {
		list = append(list, json.Number(strconv.FormatInt(int64(d), 10)))
	}
	var same []any // the strings of the enum that differ in case and dashes
	for _, e := range s.Enum {
		if name, ok := e.(string); ok && fold(name) == fold(quoted) {
			same = append(same, name)
		}
	}
	if len(same) == 1 {
		return append(list, same[0])
	}
	return list
}

// holds reports whether v is what the schema says of the value itself.
func (s *Shape) holds(v any, schema *jsonschema.Schema) bool {
	if !fits(v, schema) || schema.Not != nil && reflect.ValueOf(*schema.Not).IsZero() { // the schema false
		return false
	}
	switch x := v.(type) {
	case map[string]any:
		return true
	case []any:
		return within(len(x), schema.MinItems, schema.MaxItems)
	case json.Number:
		f, _ := x.Float64() // out of range is infinity; rounding moves nothing over a bound
		if !within(f, schema.Minimum, schema.Maximum) ||
			schema.ExclusiveMinimum != nil && f <= *schema.ExclusiveMinimum ||
			schema.ExclusiveMaximum != nil && f >= *schema.ExclusiveMaximum {
			return false
		}
		v = f
	case string:
		if pattern := s.patterns[schema]; pattern != nil && !pattern.MatchString(x) ||
			schema.Format == "date-time" && new(time.Time).UnmarshalText([]byte(x)) != nil ||
			!within(utf8.RuneCountInString(x), schema.MinLength, schema.MaxLength) {
			return false
		}
	}
	return (schema.Enum == nil || slices.Contains(schema.Enum, v)) && (schema.Const == nil || *schema.Const == v)
}

func within[N int | float64](n N, least, most *N) bool {
	return (least == nil || n >= *least) && (most == nil || n <= *most)
}

// kinds are the types in JSON Schema of what a parser makes.
var kinds = map[reflect.Kind]string{
	reflect.Invalid: "null", reflect.Bool: "boolean", reflect.String: "string", reflect.Slice: "array", reflect.Map: "object",
}

// fits reports whether v has a type that s allows.
func fits(v any, s *jsonschema.Schema) bool {
	kind := kinds[reflect.ValueOf(v).Kind()]
	if n, ok := v.(json.Number); ok {
		kind = "number"
		if _, whole := integer(n); whole && allows(s, "integer") {
			return true
		}
	}
	return s.Type == "" && s.Types == nil || allows(s, kind)
}

// allows reports whether s names kind as a type.
func allows(s *jsonschema.Schema, kind string) bool {
	return s.Type == kind || slices.Contains(s.Types, kind)
}

// bomb matches numbers that may be long when they are written as an integer.
var bomb = regexp.MustCompile(`[eE][+-]?[0-9]{3}|.{41}`)

// integer returns a number without fraction and exponent, if that changes nothing.
func integer(n json.Number) (json.Number, bool) {
	if !strings.ContainsAny(string(n), ".eE") {
		return n, true
	}
	if bomb.MatchString(string(n)) {
		return "", false
	}
	r, ok := new(big.Rat).SetString(string(n))
	if !ok || !r.IsInt() {
		return "", false
	}
	return json.Number(r.Num().String()), true
}
