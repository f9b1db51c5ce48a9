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

// field returns one field of a request, as JSON.
func field(t *testing.T, body map[string]any, name string) string {
	t.Helper()
	data, err := json.Marshal(body[name])
	require.NoError(t, err)
	return string(data)
}

func TestRequest(t *testing.T) {
	for _, v := range vendors {
		t.Run(v.name, func(t *testing.T) {
			s, spec := v.serve(t, reply(200, v.body(hello)))
			_, err := open(t, spec).Generate(t.Context(), hi)
			require.NoError(t, err)
			want := `{"model":"` + v.model + `","messages":[{"role":"system","content":"be brief"},{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true}}`
			if v.claude {
				want = `{"model":"` + v.model + `","system":"be brief","messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"max_tokens":32000,"stream":true}`
			}
			assert.JSONEq(t, want, s.bodies[0], "only the fields of the request are sent")
		})
	}
}

func TestRequestIsSentAsSaid(t *testing.T) {
	for _, v := range vendors {
		t.Run(v.name, func(t *testing.T) {
			s, spec := v.serve(t, reply(200, v.body(hello)))
			req := hi
			req.Temperature, req.MaxTokens = new(0.0), 5
			_, err := open(t, spec).Generate(t.Context(), req)
			require.NoError(t, err)
			body := s.sent(t)
			assert.Equal(t, 0.0, body["temperature"])
			tokens, other := "max_tokens", "max_completion_tokens"
			if v.name == "openai" || v.name == "azure" {
				tokens, other = other, tokens
			}
			assert.Equal(t, 5.0, body[tokens])
			assert.NotContains(t, body, other)
		})
	}
}

func TestSpecDefaultsAreSent(t *testing.T) {
	s := serve(t, reply(200, vendors[0].body(hello)))
	m := open(t, providers.Spec{Provider: "openai", Model: "gpt-4o:m", BaseURL: s.URL, Temperature: new(0.5), MaxTokens: 9})
	_, err := m.Generate(t.Context(), hi)
	require.NoError(t, err)
	assert.Equal(t, 0.5, s.sent(t)["temperature"])
	assert.Equal(t, 9.0, s.sent(t)["max_completion_tokens"])
}

func TestSystemMessagesOfReasoningModels(t *testing.T) {
	s := serve(t, reply(200, vendors[0].body(hello)))
	_, err := open(t, providers.Spec{Provider: "openai", Model: "o3", BaseURL: s.URL}).Generate(t.Context(), hi)
	require.NoError(t, err)
	assert.JSONEq(t, `[{"role":"system","content":"be brief"},{"role":"user","content":"hi"}]`, field(t, s.sent(t), "messages"))
}

var (
	weather = providers.Tool{Name: "weather", Description: "tells it", Input: json.RawMessage(`{"type":"object","properties":{"z":{},"a":{}}}`)}
	clock   = providers.Tool{Name: "clock"}
)

func TestTools(t *testing.T) {
	for _, v := range vendors {
		t.Run(v.name, func(t *testing.T) {
			s, spec := v.serve(t, reply(200, v.body(hello)))
			req := hi
			req.Tools = []providers.Tool{weather, clock}
			_, err := open(t, spec).Generate(t.Context(), req)
			require.NoError(t, err)
			want := `[{"type":"function","function":{"name":"weather","description":"tells it","parameters":{"type":"object","properties":{"z":{},"a":{}}}}},
			{"type":"function","function":{"name":"clock","parameters":{"type":"object","properties":{}}}}]`
			if v.claude {
				want = `[{"name":"weather","description":"tells it","input_schema":{"type":"object","properties":{"z":{},"a":{}}}},
				{"name":"clock","input_schema":{"type":"object","properties":{}}}]`
			}
			assert.JSONEq(t, want, field(t, s.sent(t), "tools"))
			assert.Contains(t, s.bodies[0], `{"z":{},"a":{}}`, "the order of fields is kept")
			assert.NotContains(t, s.sent(t), "tool_choice")
		})
	}
}

func TestToolChoice(t *testing.T) {
	tests := []struct{ choice, chat, claude string }{
		{"none", `"none"`, `{"type":"none"}`},
		{"required", `"required"`, `{"type":"any"}`},
		{"clock", `{"type":"function","function":{"name":"clock"}}`, `{"type":"tool","name":"clock"}`},
	}
	for _, tt := range tests {
		t.Run(tt.choice, func(t *testing.T) {
			for _, v := range vendors {
				t.Run(v.name, func(t *testing.T) {
					s, spec := v.serve(t, reply(200, v.body(hello)))
					req := hi
					req.Tools, req.ToolChoice = []providers.Tool{clock}, tt.choice
					_, err := open(t, spec).Generate(t.Context(), req)
					require.NoError(t, err)
					want := tt.chat
					if v.claude {
						want = tt.claude
					}
					assert.JSONEq(t, want, field(t, s.sent(t), "tool_choice"))
				})
			}
		})
	}
}

func TestToolCalls(t *testing.T) {
	for _, v := range vendors {
		t.Run(v.name, func(t *testing.T) {
			body := v.body(said{text: "let me see", stop: providers.StopTools, calls: []providers.ToolCall{
				{ID: "c1", Name: "weather", Input: json.RawMessage(`{"days":12345678901234567890,"b":1.50}`)},
				{Name: "clock", Input: json.RawMessage(`{}`)},
			}})
			_, spec := v.serve(t, reply(200, body))
			req := hi
			req.Tools = []providers.Tool{weather, clock}
			got, err := open(t, spec).Generate(t.Context(), req)
			require.NoError(t, err)
			assert.Equal(t, "let me see", got.Text)
			assert.Equal(t, providers.StopTools, got.Stop)
			assert.Equal(t, []providers.ToolCall{
				{ID: "c1", Name: "weather", Input: json.RawMessage(`{"days":12345678901234567890,"b":1.50}`)},
				{ID: "call_2_1", Name: "clock", Input: json.RawMessage(`{}`)},
			}, got.ToolCalls)
		})
	}
}

func TestInputsThatAreNoObjects(t *testing.T) {
	tests := []struct{ chat, claude, want string }{
		{`""`, `null`, `{}`},
		{`"{\"a\":"`, `"{\"a\":"`, `"{\"a\":"`}, // cut, but storable
		{`"[1]"`, `[1]`, `[1]`},
	}
	for _, tt := range tests {
		t.Run(tt.chat, func(t *testing.T) {
			for _, v := range vendors {
				t.Run(v.name, func(t *testing.T) {
					body := `{"choices":[{"message":{"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":` + tt.chat + `}}]},"finish_reason":"tool_calls"}]}`
					if v.claude {
						body = `{"content":[{"type":"tool_use","id":"c","name":"f","input":` + tt.claude + `}],"stop_reason":"tool_use"}`
					}
					_, spec := v.serve(t, reply(200, body))
					got, err := open(t, spec).Generate(t.Context(), hi)
					require.NoError(t, err)
					require.Len(t, got.ToolCalls, 1)
					assert.Equal(t, tt.want, string(got.ToolCalls[0].Input))
				})
			}
		})
	}
}

// A conversation that began with other vendors has their IDs, inputs and extras.
func TestConversationOfOtherVendors(t *testing.T) {
	long := "function-call-" + strings.Repeat("9", 40)
	req := providers.Request{Tools: []providers.Tool{weather, clock}, Messages: []providers.Message{
		{Role: providers.System, Text: "be brief"},
		{Role: providers.User, Text: "hi"},
		{Role: providers.Assistant, Text: "let me see", ToolCalls: []providers.ToolCall{
			{ID: long, Name: "weather", Input: json.RawMessage(`{"n":12345678901234567890}`), Extra: json.RawMessage(`{"provider":"another","content":{"google":{"thought_signature":"S=="}}}`)},
			{ID: "functions.clock:0", Name: "clock", Extra: json.RawMessage(`"odd"`)},
		}},
		{Role: providers.ToolRole, ToolID: long, Text: "rain"},
		{Role: providers.ToolRole, ToolID: "functions.clock:0", Text: ""},
		{Role: providers.User, Text: "and?"},
		{Role: providers.Assistant, Text: ""},
		{Role: providers.Assistant, ToolCalls: []providers.ToolCall{{ID: "c3", Name: "clock", Input: json.RawMessage(`"{\"a\":"`)}}},
		{Role: providers.ToolRole, ToolID: "c3", Text: "no"},
		{Role: providers.System, Text: "be kind"},
	}}
	for _, v := range vendors {
		t.Run(v.name, func(t *testing.T) {
			s, spec := v.serve(t, reply(200, v.body(hello)))
			_, err := open(t, spec).Generate(t.Context(), req)
			require.NoError(t, err)
			got := field(t, s.sent(t), "messages")
			a, b := idsOf(t, got)
			for _, id := range []string{a, b} {
				assert.Regexp(t, `^[a-zA-Z0-9_-]{1,40}$`, id)
			}
			assert.NotEqual(t, a, b)
			assert.NotContains(t, s.bodies[0], "S==", "another vendor's")
			want := `[
			{"role":"system","content":"be brief"},
			{"role":"user","content":"hi"},
			{"role":"assistant","content":"let me see","tool_calls":[
				{"id":"` + a + `","type":"function","function":{"name":"weather","arguments":"{\"n\":12345678901234567890}"}},
				{"id":"` + b + `","type":"function","function":{"name":"clock","arguments":"{}"}}]},
			{"role":"tool","content":"rain","tool_call_id":"` + a + `"},
			{"role":"tool","content":"","tool_call_id":"` + b + `"},
			{"role":"user","content":"and?"},
			{"role":"assistant","content":"","tool_calls":[{"id":"c3","type":"function","function":{"name":"clock","arguments":"{\"a\":"}}]},
			{"role":"tool","content":"no","tool_call_id":"c3"},
			{"role":"system","content":"be kind"}]`
			const reminded = `"<system-reminder>\nbe kind\n</system-reminder>"`
			if v.name != "openai" && v.name != "azure" {
				want = strings.Replace(want, `"system","content":"be kind"`, `"user","content":`+reminded, 1)
			}
			if v.claude {
				assert.Equal(t, "be brief", s.sent(t)["system"])
				assert.Contains(t, s.bodies[0], "12345678901234567890", "no digit is lost")
				want = `[
				{"role":"user","content":[{"type":"text","text":"hi"}]},
				{"role":"assistant","content":[{"type":"text","text":"let me see"},
					{"type":"tool_use","id":"` + a + `","name":"weather","input":{"n":12345678901234567890}},
					{"type":"tool_use","id":"` + b + `","name":"clock","input":{}}]},
				{"role":"user","content":[
					{"type":"tool_result","tool_use_id":"` + a + `","content":"rain"},
					{"type":"tool_result","tool_use_id":"` + b + `","content":""},
					{"type":"text","text":"and?"}]},
				{"role":"assistant","content":[{"type":"tool_use","id":"c3","name":"clock","input":{"input":"{\"a\":"}}]},
				{"role":"user","content":[{"type":"tool_result","tool_use_id":"c3","content":"no"},{"type":"text","text":` + reminded + `}]}]`
			}
			assert.JSONEq(t, want, got)
		})
	}
}

// idsOf returns the IDs of the first assistant's two calls.
func idsOf(t *testing.T, messages string) (a, b string) {
	t.Helper()
	var list []struct {
		ToolCalls []struct{ ID string } `json:"tool_calls"`
		Content   json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(messages), &list))
	for _, m := range list {
		if len(m.ToolCalls) == 2 {
			return m.ToolCalls[0].ID, m.ToolCalls[1].ID
		}
		var blocks []struct{ ID string }
		if json.Unmarshal(m.Content, &blocks) == nil && len(blocks) == 3 && blocks[1].ID != "" {
			return blocks[1].ID, blocks[2].ID
		}
	}
	t.Fatalf("no two calls in %s", messages)
	return "", ""
}

// What a vendor wants to see again it sees again, and no other vendor does.
func TestExtras(t *testing.T) {
	signed := said{text: "let me see", stop: providers.StopTools, calls: []providers.ToolCall{
		{ID: "c1", Name: "weather", Input: json.RawMessage(`{}`), Extra: json.RawMessage(`{"google":{"thought_signature":"S=="}}`)},
		{ID: "c2", Name: "clock", Input: json.RawMessage(`{}`)},
	}}
	for _, v := range vendors {
		t.Run(v.name, func(t *testing.T) {
			s, spec := v.serve(t, reply(200, v.body(signed)))
			req := hi
			req.Tools = []providers.Tool{weather, clock}
			first, err := open(t, spec).Generate(t.Context(), req)
			require.NoError(t, err)
			req.Messages = append(req.Messages[:2:2],
				providers.Message{Role: providers.Assistant, Text: first.Text, ToolCalls: first.ToolCalls},
				providers.Message{Role: providers.ToolRole, ToolID: "c1", Text: "rain"},
				providers.Message{Role: providers.ToolRole, ToolID: "c2", Text: "noon"})
			_, err = open(t, spec).Generate(t.Context(), req)
			require.NoError(t, err)
			second := s.requests()[1]
			switch v.name {
			case "google", "corp", "openrouter":
				assert.Contains(t, second, `"extra_content":{"google":{"thought_signature":"S=="}}`)
				assert.Equal(t, 1, strings.Count(second, "extra_content"))
			case "anthropic":
				assert.Contains(t, second, `"content":[{"text":"let me see","type":"text"},{"signature":"{\"google\":{\"thought_signature\":\"S==\"}}","thinking":"","type":"thinking"},{"type":"tool_use"`)
			default:
				assert.Nil(t, first.ToolCalls[0].Extra)
				assert.NotContains(t, second, "extra_content")
			}
			for _, other := range vendors {
				if other.name == v.name {
					continue
				}
				s, spec := other.serve(t, reply(200, other.body(hello)))
				_, err = open(t, spec).Generate(t.Context(), req)
				require.NoError(t, err)
				assert.NotContains(t, s.requests()[0], "S==", other.name)
			}
		})
	}
}

// Gemini wants a thought's signature on every first call of a turn, which other
// vendors' calls do not have.
func TestCallsOfOtherVendorsAreStamped(t *testing.T) {
	const missing = "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly."
	req := providers.Request{Tools: []providers.Tool{clock}, Messages: []providers.Message{
		{Role: providers.User, Text: "hi"},
		{Role: providers.Assistant, ToolCalls: []providers.ToolCall{
			{ID: "a", Name: "clock"}, {ID: "b", Name: "clock"},
		}},
		{Role: providers.ToolRole, ToolID: "a", Text: "noon"},
		{Role: providers.ToolRole, ToolID: "b", Text: "noon"},
	}}
	for _, v := range vendors {
		t.Run(v.name, func(t *testing.T) {
			n := 0
			s, spec := v.serve(t, func(w http.ResponseWriter, r *http.Request) {
				if n++; n == 1 {
					reply(400, v.failure(400, odd, missing))(w, r)
					return
				}
				reply(200, v.body(hello))(w, r)
			})
			_, err := open(t, spec).Generate(t.Context(), req)
			if v.name != "google" {
				assert.Equal(t, providers.Invalid, fault(t, err).Kind)
				assert.Equal(t, 1, s.hits())
				return
			}
			require.NoError(t, err)
			require.Equal(t, 2, s.hits())
			assert.NotContains(t, s.bodies[0], "extra_content")
			assert.Contains(t, s.bodies[1], `{"id":"a","type":"function","function":{"name":"clock","arguments":"{}"},"extra_content":{"google":{"thought_signature":"skip_thought_signature_validator"}}},{"id":"b"`)
			assert.Equal(t, 1, strings.Count(s.bodies[1], "extra_content"))

			s, spec = v.serve(t, reply(400, v.failure(400, odd, missing)))
			_, err = open(t, spec).Generate(t.Context(), req)
			assert.Equal(t, providers.Invalid, fault(t, err).Kind)
			assert.Equal(t, 2, s.hits(), "once more, not for ever")
		})
	}
}

func TestInvalidRequestsAreNotSent(t *testing.T) {
	tests := map[string]func(*providers.Request){
		"no messages":             func(r *providers.Request) { r.Messages = nil },
		"messages are the system": func(r *providers.Request) { r.Messages = r.Messages[:1] },
		"or blank": func(r *providers.Request) {
			r.Messages = []providers.Message{{Role: providers.Assistant}}
			r.Output = json.RawMessage(`{}`)
		},
		"unknown role":        func(r *providers.Request) { r.Messages = []providers.Message{{Role: "boss"}} },
		"no ToolID":           func(r *providers.Request) { r.Messages = []providers.Message{{Role: providers.ToolRole}} },
		"schema is not JSON":  func(r *providers.Request) { r.Output = json.RawMessage(`{`) },
		"tool 1 has no":       func(r *providers.Request) { r.Tools = []providers.Tool{{}} },
		"tool choice \"add\"": func(r *providers.Request) { r.ToolChoice = "add" },
		"tool choice \"required\"": func(r *providers.Request) {
			r.ToolChoice = "required"
		},
		"temperature": func(r *providers.Request) { r.Temperature = new(2.5) },
		"MaxTokens":   func(r *providers.Request) { r.MaxTokens = -1 },
	}
	for want, change := range tests {
		t.Run(want, func(t *testing.T) {
			for _, v := range vendors {
				t.Run(v.name, func(t *testing.T) {
					s, spec := v.serve(t, reply(200, v.body(hello)))
					req := hi
					change(&req)
					_, err := open(t, spec).Generate(t.Context(), req)
					e := fault(t, err)
					assert.Equal(t, providers.Invalid, e.Kind)
					assert.Contains(t, e.Message, want)
					assert.Zero(t, s.hits())
				})
			}
		})
	}
}
