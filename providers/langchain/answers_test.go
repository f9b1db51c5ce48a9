package langchain_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
)

func TestAnswer(t *testing.T) {
	for _, vendor := range vendors {
		t.Run(vendor, func(t *testing.T) {
			s, spec := serveAs(t, vendor, reply(200, hello))
			spec.Price = &providers.Price{Input: 2_000_000, Output: 3_000_000, CacheRead: 1_000_000} // nano-USD 2, 3 and 1 a token
			got, err := open(t, spec).Generate(t.Context(), hi)
			require.NoError(t, err)
			assert.Equal(t, providers.Response{
				Text: "hello", Stop: providers.StopEnd, Model: spec.Provider + ":m",
				Usage: providers.Usage{Calls: 1, Input: 11, Output: 7, CacheRead: 4, Cost: 7*2 + 4*1 + 7*3},
			}, got)
			assert.Equal(t, []string{"/v1/chat/completions"}, s.paths)
			want := "Bearer " + secret
			if spec.Provider == "ollama" {
				want = "" // no key, none sent
			}
			assert.Equal(t, want, s.headers[0].Get("Authorization"))
			assert.JSONEq(t, `{"model":"m","messages":[{"role":"system","content":"be brief"},{"role":"user","content":"hi"}]}`, s.bodies[0])
		})
	}
}

func TestRequestIsSentAsSaid(t *testing.T) {
	for _, vendor := range vendors {
		t.Run(vendor, func(t *testing.T) {
			s, spec := serveAs(t, vendor, reply(200, hello))
			req := hi
			req.Temperature, req.MaxTokens = new(0.0), 5
			req.Output = json.RawMessage(`{"type":"object","properties":{"n":{"minimum":1}}}`)
			_, err := open(t, spec).Generate(t.Context(), req)
			require.NoError(t, err)
			body := s.sent(t)
			assert.Equal(t, 0.0, body["temperature"])
			tokens, other := "max_tokens", "max_completion_tokens"
			if spec.Provider == "openai" {
				tokens, other = other, tokens
			}
			assert.Equal(t, 5.0, body[tokens])
			assert.NotContains(t, body, other)
			format, err := json.Marshal(body["response_format"])
			require.NoError(t, err)
			assert.JSONEq(t, `{"type":"json_schema","json_schema":{"name":"answer","schema":`+string(req.Output)+`}}`, string(format))
		})
	}
}

func TestSpecDefaultsAreSent(t *testing.T) {
	s := serve(t, reply(200, hello))
	// langchaingo withholds the temperature of such models: what the user set is sent
	m := open(t, providers.Spec{Provider: "openai", Model: "gpt-5:m", BaseURL: s.URL, Temperature: new(0.5), MaxTokens: 9})
	_, err := m.Generate(t.Context(), hi)
	require.NoError(t, err)
	assert.Equal(t, 0.5, s.sent(t)["temperature"])
	assert.Equal(t, 9.0, s.sent(t)["max_completion_tokens"])
}

const twoCalls = `{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[
	{"id":"c1","type":"function","function":{"name":"add","arguments":"{\"a\":1}"},"extra_content":{"sig":"S=="}},
	{"type":"function","function":{"name":"list","arguments":""}},
	{"id":"c3","type":"function","function":{"name":"add","arguments":"{\"a\":"}}]},"finish_reason":"tool_calls"}],` + usage + `}`

func TestToolCallsAndResults(t *testing.T) {
	tools := []providers.Tool{
		{Name: "add", Description: "adds", Input: json.RawMessage(`{"type":"object","properties":{"z":{},"a":{}}}`)},
		{Name: "list"},
	}
	for _, vendor := range vendors {
		t.Run(vendor, func(t *testing.T) {
			s, spec := serveAs(t, vendor, reply(200, twoCalls))
			req := hi
			req.Tools = tools
			first, err := open(t, spec).Generate(t.Context(), req)
			require.NoError(t, err)
			assert.Equal(t, providers.StopTools, first.Stop)
			assert.Equal(t, []providers.ToolCall{
				{ID: "c1", Name: "add", Input: json.RawMessage(`{"a":1}`), Extra: json.RawMessage(`{"sig":"S=="}`)},
				{ID: "call_2_1", Name: "list", Input: json.RawMessage(`{}`)},
				{ID: "c3", Name: "add", Input: json.RawMessage(`"{\"a\":"`)}, // cut arguments, storable
			}, first.ToolCalls)
			sent, err := json.Marshal(s.sent(t)["tools"])
			require.NoError(t, err)
			assert.JSONEq(t, `[
			{"type":"function","function":{"name":"add","description":"adds","parameters":{"type":"object","properties":{"z":{},"a":{}}}}},
			{"type":"function","function":{"name":"list","parameters":{"type":"object","properties":{}}}}]`, string(sent))
			assert.NotContains(t, s.sent(t), "tool_choice")

			s2 := serve(t, reply(200, hello))
			spec.BaseURL = s2.URL
			req.Messages = append(req.Messages[:2:2],
				providers.Message{Role: providers.Assistant, Text: "let me see", ToolCalls: first.ToolCalls[:1]},
				providers.Message{Role: providers.ToolRole, ToolID: "c1", Text: "3"},
			)
			_, err = open(t, spec).Generate(t.Context(), req)
			require.NoError(t, err)
			back, err := json.Marshal(s2.sent(t)["messages"].([]any)[2:])
			require.NoError(t, err)
			assert.JSONEq(t, `[
			{"role":"assistant","content":"let me see","tool_calls":[
				{"id":"c1","type":"function","function":{"name":"add","arguments":"{\"a\":1}"},"extra_content":{"sig":"S=="}}]},
			{"role":"tool","content":"3","tool_call_id":"c1"}]`, string(back))
		})
	}
}

func TestToolChoice(t *testing.T) {
	tests := []struct{ choice, want string }{
		{"none", `"none"`},
		{"required", `"required"`},
		{"add", `{"type":"function","function":{"name":"add"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.choice, func(t *testing.T) {
			s := serve(t, reply(200, hello))
			req := hi
			req.Tools, req.ToolChoice = []providers.Tool{{Name: "add"}}, tt.choice
			_, err := open(t, providers.Spec{Provider: "corp", Model: "m", BaseURL: s.URL}).Generate(t.Context(), req)
			require.NoError(t, err)
			got, err := json.Marshal(s.sent(t)["tool_choice"])
			require.NoError(t, err)
			assert.JSONEq(t, tt.want, string(got))
		})
	}
}

func TestStop(t *testing.T) {
	tests := []struct {
		name, message, finish string
		want                  providers.Stop
		text                  string
	}{
		{"end", `"content":"a"`, `"stop"`, providers.StopEnd, "a"},
		{"length", `"content":"a"`, `"length"`, providers.StopLength, "a"},
		{"length before any text", `"content":""`, `"length"`, providers.StopLength, ""},
		{"filter", `"content":null`, `"content_filter"`, providers.StopFilter, ""},
		{"refusal", `"content":null,"refusal":"I will not"`, `"stop"`, providers.StopFilter, "I will not"},
		{"another", `"content":"a"`, `"tired"`, providers.StopUnknown, "a"},
		{"not said", `"content":"a"`, `null`, providers.StopUnknown, "a"},
		{"cut tool call", `"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{"}}]`, `"length"`, providers.StopLength, ""},
		{"tools called stop", `"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]`, `"stop"`, providers.StopTools, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := `{"choices":[{"message":{"role":"assistant",` + tt.message + `},"finish_reason":` + tt.finish + `}],` + usage + `}`
			for _, vendor := range vendors {
				t.Run(vendor, func(t *testing.T) {
					_, spec := serveAs(t, vendor, reply(200, body))
					got, err := open(t, spec).Generate(t.Context(), hi)
					require.NoError(t, err)
					assert.Equal(t, tt.want, got.Stop)
					assert.Equal(t, tt.text, got.Text)
					assert.Equal(t, int64(11), got.Usage.Input)
				})
			}
		})
	}
}

func TestImpossibleUsageIsUnknown(t *testing.T) {
	for _, tokens := range []string{"-5", "9000000000000000000", "null"} {
		t.Run(tokens, func(t *testing.T) {
			s := serve(t, reply(200, strings.NewReplacer("11", tokens, ":7", ":"+tokens).Replace(hello)))
			spec := providers.Spec{Provider: "corp", Model: "m", BaseURL: s.URL, Price: &providers.Price{Input: providers.USD}}
			got, err := open(t, spec).Generate(t.Context(), hi)
			require.NoError(t, err)
			assert.Equal(t, providers.Usage{Calls: 1, CacheRead: 4, Unpriced: 1}, got.Usage)
		})
	}
}

func TestInvalidRequestsAreNotSent(t *testing.T) {
	tests := map[string]func(*providers.Request){
		"no messages":   func(r *providers.Request) { r.Messages = nil },
		"unknown role":  func(r *providers.Request) { r.Messages = []providers.Message{{Role: "boss"}} },
		"no ToolID":     func(r *providers.Request) { r.Messages = []providers.Message{{Role: providers.ToolRole}} },
		"not JSON":      func(r *providers.Request) { r.Output = json.RawMessage(`{`) },
		"tool 1 has no": func(r *providers.Request) { r.Tools = []providers.Tool{{}} },
		"tool choice":   func(r *providers.Request) { r.ToolChoice = "add" },
		"temperature":   func(r *providers.Request) { r.Temperature = new(2.5) },
		"MaxTokens":     func(r *providers.Request) { r.MaxTokens = -1 },
	}
	s := serve(t, reply(200, hello))
	for want, change := range tests {
		t.Run(want, func(t *testing.T) {
			req := hi
			change(&req)
			_, err := open(t, providers.Spec{Provider: "corp", Model: "m", BaseURL: s.URL}).Generate(t.Context(), req)
			e := fault(t, err)
			assert.Equal(t, providers.Invalid, e.Kind)
			assert.Contains(t, e.Message, want)
		})
	}
	assert.Zero(t, s.hits())
}

func TestConcurrentCalls(t *testing.T) {
	for _, vendor := range vendors {
		t.Run(vendor, func(t *testing.T) {
			s, spec := serveAs(t, vendor, reply(200, hello))
			m := open(t, spec)
			var wg sync.WaitGroup
			for range 16 {
				wg.Go(func() {
					_, err := m.Generate(t.Context(), hi)
					assert.NoError(t, err)
				})
			}
			wg.Wait()
			assert.Equal(t, 16, s.hits())
		})
	}
}
