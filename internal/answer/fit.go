package answer

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/convene-go/convene/internal/text"
)

// fitter makes a value fit a schema: it converts what loses nothing, and finds the
// first fault in the order of the schema. It knows the keywords that schemas for
// models are made of, and says in words what is wrong; the validator knows the rest.
type fitter struct {
	root     *jsonschema.Schema
	patterns map[*jsonschema.Schema]*regexp.Regexp
}

// fit returns v converted; objects and lists are changed in place.
func (f fitter) fit(v any, s *jsonschema.Schema) (any, *fault) {
	s = deref(f.root, s, v)
	if !fits(s, v) {
		v = f.convert(v, s)
	}
	if !fits(s, v) {
		return nil, &fault{want: typesOf(s), got: describe(v)}
	}
	switch x := v.(type) {
	case json.Number:
		if whole, ok := integer(x); ok && allows(s, "integer") {
			v = whole
		}
	case string:
		v = meant(x, s)
	}
	if wrong := listed(v, s); wrong != nil {
		return nil, wrong
	}
	switch x := v.(type) {
	case map[string]any:
		return v, f.object(x, s)
	case []any:
		return v, f.list(x, s)
	case json.Number:
		return v, number(x, s)
	case string:
		return v, f.text(x, s)
	}
	return v, nil
}

// convert returns v as a value of a type that s allows, if that loses nothing.
func (f fitter) convert(v any, s *jsonschema.Schema) any {
	if made, ok := unquote(v, s); ok {
		return made
	}
	if s.Items == nil || !allows(s, "array") || v == nil || v == "" || kindOf(v) == "object" {
		return v
	}
	item := deref(f.root, s.Items, v)
	if _, ok := unquote(v, item); ok || fits(item, v) {
		return []any{v}
	}
	return v
}

// unquote reads a number, boolean or duration that s wants and that was put in
// quotes.
func unquote(v any, s *jsonschema.Schema) (made any, ok bool) {
	quoted, ok := v.(string)
	if !ok {
		return nil, false
	}
	quoted = strings.TrimSpace(quoted)
	p := parser{text: quoted}
	if n, f := p.number(); f == nil && p.at == len(quoted) && (allows(s, "number") || allows(s, "integer")) && fits(s, n) {
		return n, true
	}
	if d, err := time.ParseDuration(quoted); err == nil && s.Title == durationTitle && allows(s, "integer") {
		return json.Number(strconv.FormatInt(int64(d), 10)), true
	}
	yes := strings.EqualFold(quoted, "true")
	return yes, (yes || strings.EqualFold(quoted, "false")) && allows(s, "boolean")
}

// meant returns the allowed string that v means, if case, spaces, dashes and
// underscores are all that differs.
func meant(v string, s *jsonschema.Schema) string {
	found, n := v, 0
	for _, e := range s.Enum {
		name, ok := e.(string)
		if ok && name == v {
			return v
		}
		if ok && fold(name) == fold(v) {
			found = name
			n++
		}
	}
	if n > 1 {
		return v
	}
	return found
}

var dashes = strings.NewReplacer("-", "", "_", "")

// fold makes names equal that differ in case, spaces, dashes and underscores only.
func fold(name string) string {
	return strings.ToLower(dashes.Replace(strings.Join(strings.Fields(name), "")))
}

// listed checks enum and const.
func listed(v any, s *jsonschema.Schema) *fault {
	allowed := s.Enum
	if s.Const != nil {
		allowed = []any{*s.Const}
	}
	if allowed == nil {
		return nil
	}
	data, err := text.JSON(v)
	got, ok := plain(data)
	if err == nil && ok && slices.ContainsFunc(allowed, func(e any) bool { return jsonschema.Equal(e, got) }) {
		return nil
	}
	names := make([]string, len(allowed))
	for i, e := range allowed {
		data, err := text.JSON(e)
		if err == nil { // as always: it came from JSON
			names[i] = string(data)
		}
	}
	return &fault{want: "one of " + text.Shorten(strings.Join(names, ", "), 2*maxPath), got: describe(v)}
}

func (f fitter) object(object map[string]any, s *jsonschema.Schema) *fault {
	rename(object, s)
	var missing []string
	for _, name := range s.Required {
		if _, ok := object[name]; !ok {
			missing = append(missing, strconv.Quote(name))
		}
	}
	if len(missing) > 0 {
		return &fault{want: "the fields " + text.Shorten(strings.Join(missing, ", "), maxPath), got: "an object without them"}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		sub, known := s.Properties[name]
		if !known && len(s.PatternProperties) == 0 {
			sub = s.AdditionalProperties
		}
		switch {
		case sub == nil:
			continue
		case !known && forbids(sub):
			return &fault{want: "only the fields " + text.Shorten(strings.Join(names(s), ", "), maxPath), got: strconv.Quote(text.Shorten(name, maxExcerpt))}
		}
		v, wrong := f.fit(object[name], sub)
		if wrong != nil {
			return wrong.in(name)
		}
		object[name] = v
	}
	return nil
}

// rename gives fields the names that the schema has for them, if only the case,
// spaces or dashes differ and only one name is meant by only one field.
func rename(object map[string]any, s *jsonschema.Schema) {
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
	for key, from := range meant {
		to := wanted[key]
		if len(from) != 1 || len(to) != 1 {
			continue
		}
		if _, taken := object[to[0]]; !taken {
			object[to[0]] = object[from[0]]
			delete(object, from[0])
		}
	}
}

// forbids reports whether s is the schema "false".
func forbids(s *jsonschema.Schema) bool {
	return s.Not != nil && reflect.ValueOf(*s.Not).IsZero()
}

func names(s *jsonschema.Schema) []string {
	if len(s.PropertyOrder) > 0 {
		return s.PropertyOrder
	}
	return slices.Sorted(maps.Keys(s.Properties))
}

func (f fitter) list(list []any, s *jsonschema.Schema) *fault {
	want := ""
	switch {
	case s.MinItems != nil && len(list) < *s.MinItems:
		want = fmt.Sprintf("at least %d items", *s.MinItems)
	case s.MaxItems != nil && len(list) > *s.MaxItems:
		want = fmt.Sprintf("at most %d items", *s.MaxItems)
	}
	if want != "" {
		return &fault{want: want, got: fmt.Sprintf("%d items", len(list))}
	}
	if s.Items == nil || len(s.PrefixItems) > 0 {
		return nil
	}
	for i := range list {
		v, wrong := f.fit(list[i], s.Items)
		if wrong != nil {
			return wrong.in(strconv.Itoa(i))
		}
		list[i] = v
	}
	return nil
}

// number checks bounds. Rounding to a float64 moves no number over a bound,
// which is one itself.
func number(n json.Number, s *jsonschema.Schema) *fault {
	f, err := n.Float64()
	want := ""
	switch {
	case err != nil:
		want = "a number of at most 1.8e308"
	case s.Minimum != nil && f < *s.Minimum:
		want = fmt.Sprintf("at least %v", *s.Minimum)
	case s.Maximum != nil && f > *s.Maximum:
		want = fmt.Sprintf("at most %v", *s.Maximum)
	case s.ExclusiveMinimum != nil && f <= *s.ExclusiveMinimum:
		want = fmt.Sprintf("more than %v", *s.ExclusiveMinimum)
	case s.ExclusiveMaximum != nil && f >= *s.ExclusiveMaximum:
		want = fmt.Sprintf("less than %v", *s.ExclusiveMaximum)
	default:
		return nil
	}
	return &fault{want: want, got: describe(n)}
}

func (f fitter) text(v string, s *jsonschema.Schema) *fault {
	length := utf8.RuneCountInString(v)
	want := ""
	switch {
	case s.MinLength != nil && length < *s.MinLength:
		want = fmt.Sprintf("at least %d characters", *s.MinLength)
	case s.MaxLength != nil && length > *s.MaxLength:
		want = fmt.Sprintf("at most %d characters", *s.MaxLength)
	case f.patterns[s] != nil && !f.patterns[s].MatchString(v):
		want = "a match of " + text.Shorten(s.Pattern, maxPath)
	case s.Format == "date-time" && !isTime(v):
		want = "a time like 2006-01-02T15:04:05Z"
	default:
		return nil
	}
	return &fault{want: want, got: describe(v)}
}

func isTime(v string) bool {
	_, err := time.Parse(time.RFC3339, v)
	return err == nil
}
