package fake_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
)

func TestFrom(t *testing.T) {
	m := fake.New(t)
	m.When(fake.Rule{Times: 2, Answer: fake.Answer{Text: "not this", From: func(r providers.Request) (fake.Answer, error) {
		return fake.Answer{Text: strings.ToUpper(r.Messages[0].Text), Stop: providers.StopLength}, nil
	}}})
	for _, text := range []string{"a", "b"} {
		got, err := m.Generate(t.Context(), user(text))
		require.NoError(t, err)
		assert.Equal(t, strings.ToUpper(text), got.Text)
		assert.Equal(t, providers.StopLength, got.Stop)
	}
}

func TestFromFails(t *testing.T) {
	r := &recorder{}
	m := fake.New(r, fake.Answer{From: func(providers.Request) (fake.Answer, error) { return fake.Answer{}, errors.New("what is this?") }})
	_, err := m.Generate(t.Context(), user("a"))
	var e *providers.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, providers.Invalid, e.Kind)
	r.end()
	assert.Equal(t, []string{"fake model: unexpected call 1: last message is user: \"a\"\n\tno answer can be made: what is this?"}, r.failures)
}

// made returns what FromSchema answers to a schema.
func made(t *testing.T, schema string) string {
	t.Helper()
	req := user("a")
	req.Output = json.RawMessage(schema)
	got, err := fake.New(t, fake.FromSchema()).Generate(t.Context(), req)
	require.NoError(t, err)
	return got.Text
}

func TestFromSchema(t *testing.T) {
	tests := []struct{ name, schema, want string }{
		{"text", `{"type":"string"}`, `"text"`},
		{"whole number", `{"type":"integer"}`, `1`},
		{"number", `{"type":"number"}`, `1`},
		{"truth", `{"type":"boolean"}`, `true`},
		{"null", `{"type":"null"}`, `null`},
		{"anything", `{}`, `"text"`},
		{"anything at all", `true`, `"text"`},
		{"list", `{"type":"array","items":{"type":"integer"}}`, `[1]`},
		{"object", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"number"}},"required":["b"]}`, `{"a":"text","b":1}`},
		{"one of a list", `{"enum":["low","high"]}`, `"low"`},
		{"one value", `{"const":{"a":1}}`, `{"a":1}`},
		{"or null", `{"type":["null","integer"]}`, `1`},
		{"null first", `{"anyOf":[{"type":"null"},{"type":"integer"}]}`, `1`},
		{"long text", `{"type":"string","minLength":6}`, `"text.."`},
		{"short text", `{"type":"string","maxLength":2}`, `"xt"`},
		{"date", `{"type":"string","format":"date-time"}`, `"2026-01-02T03:04:05Z"`},
		{"pattern", `{"type":"string","pattern":"^[A-Z]{2,3}-\\d+(x|y)?$"}`, `"AA-1"`},
		{"pattern of a choice", `{"type":"string","pattern":"^(?:ab+c|d)[^a]."}`, `"abc1a"`},
		{"at least", `{"type":"integer","minimum":7}`, `7`},
		{"at most", `{"type":"number","maximum":0.5}`, `0.5`},
		{"above", `{"type":"integer","exclusiveMinimum":7}`, `8`},
		{"below", `{"type":"integer","exclusiveMaximum":1}`, `0`},
		{"between", `{"type":"number","exclusiveMinimum":2,"exclusiveMaximum":3}`, `2.5`},
		{"multiple", `{"type":"integer","minimum":7,"multipleOf":5}`, `10`},
		{"multiple below", `{"type":"integer","maximum":-1,"multipleOf":5}`, `-5`},
		{"half", `{"type":"integer","minimum":1.5}`, `2`},
		{"several items", `{"type":"array","items":{"type":"string"},"minItems":3,"uniqueItems":true}`, `["text","text-2","text-3"]`},
		{"several numbers", `{"type":"array","items":{"type":"integer"},"minItems":2,"uniqueItems":true}`, `[1,2]`},
		{"several of a list", `{"type":"array","items":{"enum":["a","b"]},"minItems":2,"uniqueItems":true}`, `["a","b"]`},
		{"no items", `{"type":"array","maxItems":0}`, `[]`},
		{"pair", `{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"items":false,"maxItems":2}`, `["text",2]`},
		{"all of", `{"allOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"integer"}}}],"required":["a"]}`, `{"a":"text","b":1}`},
		{"reference", `{"type":"object","properties":{"p":{"$ref":"#/$defs/part"}},"$defs":{"part":{"type":"object","properties":{"n":{"type":"integer"}}}}}`, `{"p":{"n":1}}`},
		{"old reference", `{"properties":{"p":{"$ref":"#/definitions/n"}},"definitions":{"n":{"minimum":3}}}`, `{"p":3}`},
		{"required alone", `{"required":["a"]}`, `{"a":"text"}`},
		{"at most and a multiple", `{"type":"number","maximum":0.5,"multipleOf":0.25}`, `0.5`},
		{"below alone", `{"exclusiveMaximum":0}`, `-1`},
		{"above alone", `{"exclusiveMinimum":1}`, `2`},
		{"map", `{"type":"object","additionalProperties":{"type":"integer"},"minProperties":2}`, `{"key-1":1,"key-2":2}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, made(t, tt.schema)) })
	}
}

// A schema that contains itself is followed for a while.
func TestFromSchemaOfATree(t *testing.T) {
	got := made(t, `{"type":"object","properties":{"v":{"type":"integer"},"sub":{"type":"array","items":{"$ref":"#"}}},"required":["v"]}`)
	assert.Contains(t, got, `{"sub":[{"sub":[`)
	assert.Less(t, len(got), 200)
}

type plan struct {
	Goal  string            `json:"goal"`
	Steps []step            `json:"steps"`
	Notes map[string]string `json:"notes,omitempty"`
	Score *float64          `json:"score"`
}

type step struct {
	Do    string  `json:"do"`
	Risk  string  `json:"risk"`
	Share float64 `json:"share"`
}

func TestFromSchemaOfAType(t *testing.T) {
	schema, err := jsonschema.For[plan](nil)
	require.NoError(t, err)
	data, err := json.Marshal(schema)
	require.NoError(t, err)
	var p plan
	require.NoError(t, json.Unmarshal([]byte(made(t, string(data))), &p))
	assert.Equal(t, plan{Goal: "text", Steps: []step{{Do: "text", Risk: "text", Share: 1}}, Notes: map[string]string{}, Score: new(1.0)}, p)
}

func TestFromSchemaRefuses(t *testing.T) {
	tests := []struct{ name, schema, want string }{
		{"no schema", "", "the request has no Output"},
		{"no JSON", "{", "data for the request's Output: read schema"},
		{"nothing fits", `{"type":"string","minLength":9,"maxLength":3}`, "script the answer instead"},
		{"not", `{"not":{"type":"string"}}`, "does not fit"},
		{"never", `false`, "does not fit"},
		{"bad pattern", `{"type":"string","pattern":"[["}`, "pattern"},
		{"no match", `{"type":"string","pattern":"[^\\x00-\\x{10FFFF}]"}`, "nothing matches it"},
		{"too much", `{"minItems":1000,"items":{"minItems":1000,"items":{}}}`, "more than 10000 values"},
		{"far too much", `{"type":"object","minProperties":2000000000}`, "more than 10000 values"},
		{"no end", `{"$ref":"#/$defs/a","$defs":{"a":{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"required":["a"]}}}`, "the schema has no end"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := user("a")
			if tt.schema != "" {
				req.Output = json.RawMessage(tt.schema)
			}
			r := &recorder{}
			_, err := fake.New(r, fake.FromSchema()).Generate(t.Context(), req)
			require.Error(t, err)
			require.Len(t, r.failures, 1)
			assert.Contains(t, r.failures[0], tt.want)
		})
	}
}

func TestCallTools(t *testing.T) {
	req := user("a")
	req.Tools = []providers.Tool{{Name: "clock"}, {Name: "weather", Input: json.RawMessage(`{"type":"object","properties":{"place":{"type":"string"}}}`)}}
	m := fake.New(t, fake.CallTools(), fake.CallTools("weather"))
	got, err := m.Generate(t.Context(), req)
	require.NoError(t, err)
	assert.Equal(t, providers.StopTools, got.Stop)
	assert.Equal(t, []providers.ToolCall{
		{ID: "call-1", Name: "clock", Input: json.RawMessage(`{}`)},
		{ID: "call-2", Name: "weather", Input: json.RawMessage(`{"place":"text"}`)},
	}, got.ToolCalls)

	req.Messages = append(req.Messages, providers.Message{Role: providers.Assistant, ToolCalls: got.ToolCalls})
	got, err = m.Generate(t.Context(), req)
	require.NoError(t, err)
	assert.Equal(t, []providers.ToolCall{{ID: "call-3", Name: "weather", Input: json.RawMessage(`{"place":"text"}`)}}, got.ToolCalls)
}

func TestCallToolsRefuses(t *testing.T) {
	tools := []providers.Tool{{Name: "odd", Input: json.RawMessage(`false`)}}
	for _, tt := range []struct {
		answer fake.Answer
		tools  []providers.Tool
		want   string
	}{
		{fake.CallTools(), nil, "the request offers no tools to call"},
		{fake.CallTools("x"), tools, `the request does not offer the tool "x"`},
		{fake.CallTools(), tools, "arguments of tool odd: "},
	} {
		r := &recorder{}
		req := user("a")
		req.Tools = tt.tools
		_, err := fake.New(r, tt.answer).Generate(t.Context(), req)
		require.Error(t, err)
		require.Len(t, r.failures, 1)
		assert.Contains(t, r.failures[0], tt.want)
	}
}

func FuzzFromSchema(f *testing.F) {
	for _, seed := range []string{`{}`, `{"type":"string","pattern":"a+|b"}`, `{"$ref":"#"}`, `{"anyOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"minItems":2}}}`, `{"multipleOf":0}`, `{"minimum":1e300,"multipleOf":1e-300}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, schema string) {
		req := user("a")
		if req.Output = json.RawMessage(schema); schema == "" {
			return
		}
		got, err := fake.New(nil, fake.FromSchema()).Generate(t.Context(), req)
		if err == nil && !json.Valid([]byte(got.Text)) {
			t.Errorf("for the schema %s: %s is no JSON", schema, got.Text)
		}
	})
}
