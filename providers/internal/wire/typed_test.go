package wire_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
)

const (
	// person has an optional field, a bound, and fields in an order of their own.
	person = `{"type":"object","properties":{"name":{"type":"string","minLength":1},"age":{"type":"integer","minimum":0},"note":{"type":"string"}},"required":["name","age"],"additionalProperties":false}`

	personStrict = `{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":0},"note":{"type":["string","null"]}},"required":["name","age","note"],"additionalProperties":false}`
	personGemini = `{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":0},"note":{"type":"string"}},"required":["name","age"]}`
	personClaude = `{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"},"note":{"type":"string"}},"required":["name","age"],"additionalProperties":false}`

	table = `{"type":"object","additionalProperties":{"type":"integer"}}` // which most vendors have no words for
	words = `{"type":"array","items":{"type":"string"}}`
)

// format is how a schema is to arrive: in the vendor's parameter, in the prompt, or
// in both.
type format struct {
	schema string // in the parameter; "": none
	strict bool
	object bool // any JSON object will do
	prompt bool
}

func TestSchemas(t *testing.T) {
	plain := func(schema string) format { return format{schema: schema} }
	prompt, anyObject := format{prompt: true}, format{prompt: true, object: true}
	tests := []struct {
		name, schema string
		tools        bool
		want         map[string]format // by vendor
	}{
		{name: "object", schema: person, want: map[string]format{
			"openai": {schema: personStrict, strict: true}, "azure": {schema: personStrict, strict: true},
			"google": plain(personGemini), "glm": anyObject, "deepseek": anyObject, "ollama": plain(person), "corp": plain(person), "openrouter": plain(person), "anthropic": plain(personClaude),
		}},
		{name: "with tools", schema: person, tools: true, want: map[string]format{
			"openai": {schema: personStrict, strict: true}, "azure": {schema: personStrict, strict: true},
			"google": prompt, "glm": prompt, "deepseek": prompt, "ollama": prompt, "corp": plain(person), "openrouter": plain(person), "anthropic": plain(personClaude),
		}},
		{name: "map", schema: table, want: map[string]format{
			"openai": plain(table), "azure": plain(table),
			"google": anyObject, "glm": anyObject, "deepseek": anyObject, "ollama": plain(table), "corp": plain(table), "openrouter": plain(table), "anthropic": prompt,
		}},
		{name: "list", schema: words, want: map[string]format{
			"openai": prompt, "azure": prompt,
			"google": plain(words), "glm": prompt, "deepseek": prompt, "ollama": plain(words), "corp": plain(words), "openrouter": plain(words), "anthropic": prompt,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, v := range vendors {
				t.Run(v.name, func(t *testing.T) {
					s, spec := v.serve(t, reply(200, v.body(hello)))
					req := hi
					req.Output = json.RawMessage(tt.schema)
					if tt.tools {
						req.Tools = []providers.Tool{clock}
					}
					_, err := open(t, spec).Generate(t.Context(), req)
					require.NoError(t, err)
					want := tt.want[v.name]
					assert.Equal(t, v.format(want), v.formatSent(t, s.sent(t)))
					if want.schema != "" {
						assert.Contains(t, s.bodies[0], want.schema, "the order of fields is kept")
					}
					assert.Equal(t, want.prompt, strings.Contains(v.system(s.sent(t)), tt.schema), "schema in the prompt: %s", v.system(s.sent(t)))
					assert.Contains(t, v.system(s.sent(t)), "be brief")
				})
			}
		})
	}
}

// format returns a format in v's words, "null" for none.
func (v vendor) format(f format) string {
	var schema any
	switch {
	case f.object:
		return `{"type":"json_object"}`
	case f.schema == "":
		return "null"
	}
	_ = json.Unmarshal([]byte(f.schema), &schema)
	if v.claude {
		return written(map[string]any{"format": map[string]any{"type": "json_schema", "schema": schema}})
	}
	answer := map[string]any{"name": "answer", "schema": schema}
	if f.strict {
		answer["strict"] = true
	}
	return written(map[string]any{"type": "json_schema", "json_schema": answer})
}

func (v vendor) formatSent(t *testing.T, body map[string]any) string {
	t.Helper()
	if v.claude {
		return field(t, body, "output_config")
	}
	return field(t, body, "response_format")
}

// system returns the system's message of a request.
func (v vendor) system(body map[string]any) string {
	if v.claude {
		text, _ := body["system"].(string)
		return text
	}
	first := body["messages"].([]any)[0].(map[string]any)
	if first["role"] != "system" {
		return ""
	}
	return first["content"].(string)
}

func TestSchemaInThePromptAlone(t *testing.T) {
	for _, v := range vendors {
		t.Run(v.name, func(t *testing.T) {
			s, spec := v.serve(t, reply(200, v.body(hello)))
			req := providers.Request{Messages: hi.Messages[1:], Output: json.RawMessage(`{"type":"string","description":"of any kind"}`)}
			_, err := open(t, spec).Generate(t.Context(), req)
			require.NoError(t, err)
			if v.formatSent(t, s.sent(t)) == "null" {
				assert.Contains(t, v.system(s.sent(t)), "JSON Schema")
			}
		})
	}
}

// A field that could not be left out comes as null, and is left out again.
func TestNullsOfOptionalFields(t *testing.T) {
	for _, v := range vendors {
		t.Run(v.name, func(t *testing.T) {
			_, spec := v.serve(t, reply(200, v.body(said{text: `{"name":"Ann","age":12345678901234567890,"note":null}`, stop: providers.StopEnd})))
			var told []string
			req := hi
			req.Output = json.RawMessage(person)
			req.OnText = func(chunk string) error { told = append(told, chunk); return nil }
			got, err := open(t, spec).Generate(t.Context(), req)
			require.NoError(t, err)
			want := `{"name":"Ann","age":12345678901234567890,"note":null}`
			if v.name == "openai" || v.name == "azure" {
				want = `{"name":"Ann","age":12345678901234567890}`
			}
			assert.Equal(t, want, got.Text)
			assert.Equal(t, []string{want}, told)
		})
	}
}

func TestUnsupportedSchemaGoesIntoThePrompt(t *testing.T) {
	tests := []struct {
		name    string
		status  int
		message string
		again   bool
	}{
		{"not supported", 400, "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.", true},
		{"extra inputs", 400, "output_config.format: Extra inputs are not permitted", true},
		{"mime type", 400, "Function calling with a response mime type: 'application/json' is unsupported", true},
		{"unknown field", 422, "unknown field response_format", true},
		{"bad schema", 400, "Invalid schema for response_format 'answer': 'foo' is not permitted.", false},
		{"another field", 400, "temperature is not supported", false},
		{"schema too deep", 400, "response_format: the schema is too deep", false},
		{"server", 500, "response_format is not supported", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, v := range vendors {
				t.Run(v.name, func(t *testing.T) {
					if v.name == "glm" {
						t.Skip("there the schema is in the prompt already")
					}
					refuse := reply(tt.status, v.failure(tt.status, odd, tt.message))
					answer := reply(200, v.body(hello))
					n := 0
					s, spec := v.serve(t, func(w http.ResponseWriter, r *http.Request) {
						if n++; n == 1 {
							refuse(w, r)
							return
						}
						answer(w, r)
					})
					req := hi
					req.Output = json.RawMessage(person)
					got, err := open(t, spec).Generate(t.Context(), req)
					if !tt.again {
						assert.Equal(t, tt.status, fault(t, err).Status)
						assert.Equal(t, 1, s.hits())
						return
					}
					require.NoError(t, err)
					assert.Equal(t, "hello", got.Text)
					require.Equal(t, 2, s.hits())
					assert.NotContains(t, s.bodies[1], "json_schema")
					assert.Contains(t, s.bodies[1], "JSON Schema")

					s, spec = v.serve(t, refuse)
					_, err = open(t, spec).Generate(t.Context(), req)
					assert.Equal(t, tt.status, fault(t, err).Status)
					assert.Equal(t, 2, s.hits(), "once more, not for ever")
				})
			}
		})
	}
}

// The error of the second request counts, and nothing of the first one is left.
func TestSecondRequestIsCanceled(t *testing.T) {
	v := vendors[0]
	refuse := reply(400, v.failure(400, odd, "response_format is not supported"))
	n := 0
	_, spec := v.serve(t, func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 1 {
			refuse(w, r)
			return
		}
		panic(http.ErrAbortHandler)
	})
	req := hi
	req.Output = json.RawMessage(person)
	_, err := open(t, spec).Generate(t.Context(), req)
	e := fault(t, err)
	assert.Equal(t, providers.Transient, e.Kind)
	assert.Zero(t, e.Status)
}
