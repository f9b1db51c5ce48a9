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
)

// checker finds the first fault of a value, in the order of the schema. It knows
// the keywords that schemas for models are made of, and says what is wrong in
// words for them; the validator knows the rest.
type checker struct {
	root     *jsonschema.Schema
	patterns map[*jsonschema.Schema]*regexp.Regexp
}

// compilePatterns compiles the pattern of every string in s.
func compilePatterns(s *jsonschema.Schema, to map[*jsonschema.Schema]*regexp.Regexp) error {
	if s.Pattern != "" {
		re, err := regexp.Compile(s.Pattern)
		if err != nil {
			return err
		}
		to[s] = re
	}
	for _, sub := range inside(s) {
		if err := compilePatterns(sub, to); err != nil {
			return err
		}
	}
	return nil
}

func (c checker) check(v any, s *jsonschema.Schema, at *path) *fault {
	s = deref(c.root, s, v)
	if !fits(s, v) {
		return &fault{at, typesOf(s), describe(v)}
	}
	if f := listed(v, s, at); f != nil {
		return f
	}
	switch v := v.(type) {
	case map[string]any:
		return c.object(v, s, at)
	case []any:
		return c.list(v, s, at)
	case json.Number:
		return number(v, s, at)
	case string:
		return c.text(v, s, at)
	}
	return nil
}

// listed checks enum and const.
func listed(v any, s *jsonschema.Schema, at *path) *fault {
	allowed := s.Enum
	if s.Const != nil {
		allowed = []any{*s.Const}
	}
	if allowed == nil {
		return nil
	}
	got := plain(v)
	for _, e := range allowed {
		if jsonschema.Equal(e, got) {
			return nil
		}
	}
	names := make([]string, 0, len(allowed))
	for _, e := range allowed {
		data, err := json.Marshal(e)
		if err != nil {
			continue
		}
		names = append(names, string(data))
	}
	return &fault{at, "one of " + clip(strings.Join(names, ", "), 2*maxPath), describe(v)}
}

func (c checker) object(object map[string]any, s *jsonschema.Schema, at *path) *fault {
	var missing []string
	for _, name := range s.Required {
		if _, ok := object[name]; !ok {
			missing = append(missing, strconv.Quote(name))
		}
	}
	if len(missing) > 0 {
		return &fault{at, "the fields " + clip(strings.Join(missing, ", "), maxPath), "an object without them"}
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
			return &fault{at, "only the fields " + clip(strings.Join(names(s), ", "), maxPath), strconv.Quote(clip(name, maxExcerpt))}
		}
		if f := c.check(object[name], sub, at.field(name)); f != nil {
			return f
		}
	}
	return nil
}

// forbids reports whether s is the schema "false".
func forbids(s *jsonschema.Schema) bool {
	return s.Not != nil && reflect.ValueOf(*s.Not).IsZero()
}

func names(s *jsonschema.Schema) []string {
	order := s.PropertyOrder
	if len(order) == 0 {
		order = slices.Sorted(maps.Keys(s.Properties))
	}
	return order
}

func (c checker) list(list []any, s *jsonschema.Schema, at *path) *fault {
	got := fmt.Sprintf("%d items", len(list))
	if s.MinItems != nil && len(list) < *s.MinItems {
		return &fault{at, fmt.Sprintf("at least %d items", *s.MinItems), got}
	}
	if s.MaxItems != nil && len(list) > *s.MaxItems {
		return &fault{at, fmt.Sprintf("at most %d items", *s.MaxItems), got}
	}
	if s.Items == nil || len(s.PrefixItems) > 0 {
		return nil
	}
	for i := range list {
		if f := c.check(list[i], s.Items, at.index(i)); f != nil {
			return f
		}
	}
	return nil
}

func same(n json.Number, f float64) bool { return jsonschema.Equal(plain(n), f) }

// number checks bounds. Rounding to a float64 moves no number over a bound,
// which is one itself.
func number(n json.Number, s *jsonschema.Schema, at *path) *fault {
	f, err := n.Float64()
	want := ""
	switch {
	case err != nil:
		want = "a number of at most 1.8e308"
	case s.Minimum != nil && f < *s.Minimum:
		want = fmt.Sprintf("at least %v", *s.Minimum)
	case s.Maximum != nil && f > *s.Maximum:
		want = fmt.Sprintf("at most %v", *s.Maximum)
	case s.ExclusiveMinimum != nil && (f < *s.ExclusiveMinimum || same(n, *s.ExclusiveMinimum)):
		want = fmt.Sprintf("more than %v", *s.ExclusiveMinimum)
	case s.ExclusiveMaximum != nil && (f > *s.ExclusiveMaximum || same(n, *s.ExclusiveMaximum)):
		want = fmt.Sprintf("less than %v", *s.ExclusiveMaximum)
	default:
		return nil
	}
	return &fault{at, want, describe(n)}
}

func (c checker) text(v string, s *jsonschema.Schema, at *path) *fault {
	length := 0
	if s.MinLength != nil || s.MaxLength != nil {
		length = utf8.RuneCountInString(v)
	}
	want := ""
	switch {
	case s.MinLength != nil && length < *s.MinLength:
		want = fmt.Sprintf("at least %d characters", *s.MinLength)
	case s.MaxLength != nil && length > *s.MaxLength:
		want = fmt.Sprintf("at most %d characters", *s.MaxLength)
	case c.patterns[s] != nil && !c.patterns[s].MatchString(v):
		want = "a match of " + clip(s.Pattern, maxPath)
	case s.Format == "date-time" && !isTime(v):
		want = "a time like 2006-01-02T15:04:05Z"
	default:
		return nil
	}
	return &fault{at, want, describe(v)}
}

func isTime(v string) bool {
	_, err := time.Parse(time.RFC3339, v)
	return err == nil
}
