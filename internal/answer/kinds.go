package answer

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A parsed value is nil, bool, json.Number, string, []any or map[string]any.

// kindOf returns the JSON Schema type of a parsed value; integers are numbers.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	default:
		return "object"
	}
}

// allows reports whether s names kind as a type.
func allows(s *jsonschema.Schema, kind string) bool {
	return s.Type == kind || slices.Contains(s.Types, kind)
}

// mayBe reports whether the type that s names, if any, allows kind.
func mayBe(s *jsonschema.Schema, kind string) bool {
	return s.Type == "" && len(s.Types) == 0 || allows(s, kind)
}

// fits reports whether v has a type that s allows.
func fits(s *jsonschema.Schema, v any) bool {
	if mayBe(s, kindOf(v)) {
		return true
	}
	n, ok := v.(json.Number)
	return ok && allows(s, "integer") && isInteger(n)
}

// typesOf names the types that s allows: "array or null".
func typesOf(s *jsonschema.Schema) string {
	if s.Type != "" {
		return s.Type
	}
	return strings.Join(s.Types, " or ")
}

// longestInteger is how many digits a number with a fraction or an exponent may
// have to be written as an integer: enough for every Go type, and no bomb.
const longestInteger = 40

// integer writes a number without fraction and exponent, if that changes nothing.
func integer(n json.Number) (json.Number, bool) {
	text := string(n)
	if !strings.ContainsAny(text, ".eE") {
		return n, true
	}
	sign := ""
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		sign, text = "-", rest
	}
	exp := 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		var err error
		if exp, err = strconv.Atoi(text[i+1:]); err != nil {
			return "", false
		}
		text = text[:i]
	}
	whole, frac, _ := strings.Cut(text, ".")
	digits := strings.TrimLeft(whole+frac, "0")
	exp -= len(frac)
	trimmed := strings.TrimRight(digits, "0")
	exp += len(digits) - len(trimmed)
	switch {
	case trimmed == "":
		return "0", true
	case exp < 0 || exp > longestInteger || len(trimmed)+exp > longestInteger:
		return "", false
	}
	return json.Number(sign + trimmed + strings.Repeat("0", exp)), true
}

func isInteger(n json.Number) bool {
	_, ok := integer(n)
	return ok
}

// plain returns v as the validator wants it: numbers as Go numbers. The copy is
// for validation only, so a float64 may stand for a number it cannot hold.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return i
		}
		if u, err := strconv.ParseUint(string(v), 10, 64); err == nil {
			return u
		}
		f, _ := v.Float64() // the checker has refused numbers out of range
		return f
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = plain(v[i])
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for k := range v {
			object[k] = plain(v[k])
		}
		return object
	default:
		return v
	}
}
