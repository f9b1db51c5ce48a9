package answer

import (
	"encoding/json"
	"math/big"
	"slices"
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
	if ok && allows(s, "integer") {
		_, ok = integer(n)
		return ok
	}
	return false
}

// typesOf names the types that s allows: "array or null".
func typesOf(s *jsonschema.Schema) string {
	if s.Type != "" {
		return s.Type
	}
	return strings.Join(s.Types, " or ")
}

// longestInteger is how many characters a number with a fraction or an exponent may
// have, written so or as an integer: enough for every Go type, and no bomb.
const longestInteger = 40

// integer returns a number without fraction and exponent, if that changes nothing.
func integer(n json.Number) (json.Number, bool) {
	if !strings.ContainsAny(string(n), ".eE") {
		return n, true
	}
	if len(n) > longestInteger {
		return "", false
	}
	const exact = 512 // bits: more than 40 digits before the point and 40 behind it have
	f, _, err := big.ParseFloat(string(n), 10, exact, big.ToNearestEven)
	if err != nil || !f.IsInt() || f.MantExp(nil) > longestInteger*10/3 {
		return "", false
	}
	if f.Sign() == 0 { // also of 1e-999999999
		digits, _, _ := strings.Cut(strings.ToLower(string(n)), "e")
		return "0", strings.Trim(digits, "-.0") == ""
	}
	return json.Number(f.Text('f', 0)), true
}
