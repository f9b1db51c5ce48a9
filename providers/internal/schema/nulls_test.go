package schema

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// stripped is text without the nulls, in pieces of n bytes.
func stripped(schema, text string, n int) string {
	c := NewNulls(json.RawMessage(schema))
	var out strings.Builder
	for len(text) > 0 {
		piece := text[:min(n, len(text))]
		out.WriteString(c.Write(piece))
		text = text[len(piece):]
	}
	out.WriteString(c.Rest())
	return out.String()
}

func TestWithoutNulls(t *testing.T) {
	const schema = `{"type":"object","properties":{
		"need":{"type":["string","null"]},"may":{"type":"string"},"null":{"type":["integer","null"]},"any":{},
		"list":{"type":"array","items":{"$ref":"#/$defs/D"}},"or":{"anyOf":[{"$ref":"#/$defs/D"},{"type":"null"}]},
		"two":{"anyOf":[{"type":"object","properties":{"x":{"type":"string"}}},{"type":"object","properties":{"x":{"type":"null"}}}]}
	},"required":["need"],"$defs":{"D":{"type":"object","properties":{"b":{"type":"boolean"},"next":{"$ref":"#/$defs/D"}}}}}`
	tests := []struct{ name, text, want string }{
		{"optional", `{"need":"a","may":null}`, `{"need":"a"}`},
		{"required", `{"need":null}`, `{"need":null}`},
		{"allowed", `{"null":null,"any":null,"or":null}`, `{"null":null,"any":null,"or":null}`},
		{"unknown", `{"other":null}`, `{"other":null}`},
		{"inside", `{"list":[{"b":null},{"b":true,"next":{"next":null}}],"or":{"b":null}}`, `{"list":[{},{"b":true,"next":{}}],"or":{}}`},
		{"a choice", `{"two":{"x":null}}`, `{"two":{"x":null}}`},
		{"nothing to do", "{ \"need\" : 1.50 }\n", "{ \"need\" : 1.50 }\n"},
		{"numbers stay", `{"may":null,"need":12345678901234567890}`, `{"need":12345678901234567890}`},
		{"another value", `[null]`, `[null]`},
		{"no JSON", `may be null, {"may":null}`, `may be null, {"may":null}`},
		{"spaces", "{ \"may\" : null ,\n \"need\" : [ 1 , 2 ] }", "{ \n \"need\" : [ 1 , 2 ] }"},
		{"nothing is left", `{"may":null}`, `{}`},
		{"escapes", `{"may":null,"need":"a\"},{\\","m\u0061y":null}`, `{"need":"a\"},{\\"}`},
		{"cut", `{"need":"a","may":nu`, `{"need":"a"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for n := 1; n <= len(tt.text); n++ {
				assert.Equal(t, tt.want, stripped(schema, tt.text, n), "in pieces of %d", n)
			}
		})
	}
	assert.Equal(t, `{"a":null}`, stripped(`{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}`, `{"a":null}`, 1), "references that go round")
}
