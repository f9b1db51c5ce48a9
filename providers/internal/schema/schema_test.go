package schema

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFit(t *testing.T) {
	const no = "cannot be said"
	tests := []struct{ name, schema, strict, gemini, claude string }{
		{
			name:   "bounds and annotations",
			schema: `{"$schema":"x","type":"object","title":"T","properties":{"z":{"type":"string","minLength":1,"maxLength":9,"pattern":"^a","format":"uri","default":"a"},"a":{"type":"array","items":{"type":"number","minimum":0,"exclusiveMaximum":1},"minItems":1,"uniqueItems":true}},"required":["z","a"]}`,
			strict: `{"type":"object","title":"T","properties":{"z":{"type":"string","pattern":"^a"},"a":{"type":"array","items":{"type":"number","minimum":0,"exclusiveMaximum":1},"minItems":1}},"required":["z","a"],"additionalProperties":false}`,
			gemini: `{"type":"object","title":"T","properties":{"z":{"type":"string"},"a":{"type":"array","items":{"type":"number","minimum":0},"minItems":1}},"required":["z","a"]}`,
			claude: `{"type":"object","title":"T","properties":{"z":{"type":"string","format":"uri","default":"a"},"a":{"type":"array","items":{"type":"number"}}},"required":["z","a"],"additionalProperties":false}`,
		},
		{
			name:   "optional fields",
			schema: `{"type":"object","properties":{"e":{"type":"string","enum":["x"]},"n":{"type":["string","null"]},"r":{"$ref":"#/$defs/D","description":"d"},"o":{"oneOf":[{"type":"string"},{"type":"integer"}]}},"$defs":{"D":{"type":"object","properties":{"b":{"type":"boolean"}}}}}`,
			strict: `{"type":"object","properties":{"e":{"anyOf":[{"type":"string","enum":["x"]},{"type":"null"}]},"n":{"type":["string","null"]},"r":{"anyOf":[{"$ref":"#/$defs/D"},{"type":"null"}]},"o":{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"null"}]}},"$defs":{"D":{"type":"object","properties":{"b":{"type":["boolean","null"]}},"required":["b"],"additionalProperties":false}},"required":["e","n","r","o"],"additionalProperties":false}`,
			gemini: `{"type":"object","properties":{"e":{"type":"string","enum":["x"]},"n":{"type":["string","null"]},"r":{"$ref":"#/$defs/D"},"o":{"anyOf":[{"type":"string"},{"type":"integer"}]}},"$defs":{"D":{"type":"object","properties":{"b":{"type":"boolean"}}}}}`,
			claude: `{"type":"object","properties":{"e":{"type":"string","enum":["x"]},"n":{"type":["string","null"]},"r":{"$ref":"#/$defs/D"},"o":{"anyOf":[{"type":"string"},{"type":"integer"}]}},"$defs":{"D":{"type":"object","properties":{"b":{"type":"boolean"}},"additionalProperties":false}},"additionalProperties":false}`,
		},
		{
			name:   "const, and null that is not the answer",
			schema: `{"type":["object","null"],"properties":{"k":{"const":"x"}},"required":["k"],"additionalProperties":{"not":{}}}`,
			strict: `{"type":"object","properties":{"k":{"const":"x"}},"required":["k"],"additionalProperties":false}`,
			gemini: `{"type":"object","properties":{"k":{"enum":["x"]}},"required":["k"]}`,
			claude: `{"type":"object","properties":{"k":{"const":"x"}},"required":["k"],"additionalProperties":false}`,
		},
		{
			name:   "a schema in itself",
			schema: `{"type":"object","properties":{"next":{"$ref":"#/$defs/N"}},"required":["next"],"$defs":{"N":{"type":"object","properties":{"next":{"$ref":"#/$defs/N"}},"required":["next"]}}}`,
			strict: `{"type":"object","properties":{"next":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":"object","properties":{"next":{"$ref":"#/$defs/N"}},"required":["next"],"additionalProperties":false}},"required":["next"],"additionalProperties":false}`,
			gemini: `{"type":"object","properties":{"next":{"$ref":"#/$defs/N"}},"required":["next"],"$defs":{"N":{"type":"object","properties":{"next":{"$ref":"#/$defs/N"}},"required":["next"]}}}`,
			claude: no,
		},
		{name: "a map", schema: `{"type":"object","additionalProperties":{"type":"integer"}}`, strict: no, gemini: no, claude: no},
		{name: "a map inside", schema: `{"type":"object","properties":{"m":{"type":"object","additionalProperties":true}}}`, strict: no, gemini: no, claude: no},
		{name: "any value", schema: `{"type":"object","properties":{"v":{"description":"any"}}}`, strict: no, gemini: no, claude: no},
		{name: "true", schema: `{"type":"object","properties":{"v":true}}`, strict: no, gemini: no, claude: no},
		{name: "any object", schema: `{"type":"object"}`, strict: no, gemini: no, claude: no},
		{name: "a list of anything", schema: `{"type":"object","properties":{"l":{"type":"array"}}}`, strict: no, gemini: no, claude: no},
		{name: "a tuple", schema: `{"type":"object","properties":{"l":{"type":"array","prefixItems":[{"type":"string"}]}}}`, strict: no, gemini: no, claude: no},
		{name: "all of", schema: `{"type":"object","allOf":[{"type":"object"}],"properties":{"a":{"type":"string"}}}`, strict: no, gemini: no, claude: no},
		{name: "no schema", schema: `[]`, strict: no, gemini: no, claude: no},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for name, want := range map[string]string{"strict": tt.strict, "gemini": tt.gemini, "claude": tt.claude} {
				d := map[string]Dialect{"strict": Strict, "gemini": Gemini, "claude": Claude}[name]
				got, widened, ok := d.Fit(json.RawMessage(tt.schema))
				if !ok {
					got = []byte(no)
				}
				assert.Equal(t, want, string(got), name)
				assert.Equal(t, name == "strict" && tt.name == "optional fields", widened, name)
			}
		})
	}
}

func FuzzFit(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"string"},"b":{"$ref":"#"}}}`, `{"a":null}`)
	f.Add(`{"anyOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"$ref":"#/$defs/a"}}}`, `{}`)
	f.Fuzz(func(t *testing.T, schema, text string) {
		if !json.Valid([]byte(schema)) {
			return
		}
		for _, d := range []Dialect{Strict, Gemini, Claude} {
			got, _, ok := d.Fit(json.RawMessage(schema))
			if ok && !json.Valid(got) {
				t.Fatalf("fit(%s) = %q", schema, got)
			}
		}
		if out := stripped(schema, text, 3); json.Valid([]byte(text)) && !json.Valid([]byte(out)) {
			t.Fatalf("stripped(%s, %s) = %q", schema, text, out)
		}
	})
}

func TestMerge(t *testing.T) {
	tests := []struct{ body, patch, want string }{
		{`{"b":1,"a":2}`, `{"c":3}`, `{"b":1,"a":2,"c":3}`},
		{`{"b":1,"a":2}`, `{"b":null,"x":null}`, `{"a":2}`},
		{`{"o":{"x":1,"y":2}}`, `{"o":{"y":{"z":3},"x":null}}`, `{"o":{"y":{"z":3}}}`},
		{`{"l":[1]}`, `{"l":[2,3]}`, `{"l":[2,3]}`},
		{`{"o":1}`, `{"o":{"a":1}}`, `{"o":{"a":1}}`},
	}
	for _, tt := range tests {
		got, err := Merge(json.RawMessage(tt.body), json.RawMessage(tt.patch))
		assert.NoError(t, err)
		assert.Equal(t, tt.want, string(got))
	}
	_, err := Merge(json.RawMessage(`{}`), json.RawMessage(`[]`))
	assert.Error(t, err)
}
