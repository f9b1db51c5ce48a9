package wire_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/wire"
)

var responder = everyone[len(everyone)-1]

// named is the vendor of that name.
func vendorNamed(name string) vendor {
	for _, v := range vendors {
		if v.name == name {
			return v
		}
	}
	v := vendors[0]
	v.name, v.model = name, "m"
	return v
}

// strict refuses requests as today's models do, and answers the others.
func strict(v vendor, refuses func(body map[string]any, raw string) (param, message string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		var body map[string]any
		_ = json.Unmarshal(data, &body)
		v := v
		v.responses = strings.HasSuffix(r.URL.Path, "/responses")
		if param, message := refuses(body, string(data)); message != "" {
			kind := "invalid_request_error"
			reply(400, fmt.Sprintf(`{"type":"error","error":{"message":%s,"type":%q,"param":%s,"code":"unsupported_parameter"}}`, written(message), kind, written(param)))(w, r)
			return
		}
		events(v.pieces([]string{"hel", "lo"}, providers.StopEnd)...)(w, r)
	}
}

func TestStrictModels(t *testing.T) {
	full := hi
	full.Tools = []providers.Tool{weather}
	full.Temperature, full.TopP, full.Seed, full.Stop = new(0.7), new(0.9), new(int64(7)), []string{"END"}
	full.Effort, full.MaxTokens = providers.EffortMinimal, 32000
	has := func(body map[string]any, name string) bool { return body[name] != nil }
	tests := []struct {
		name    string
		vendor  vendor
		model   string
		refuses func(body map[string]any, raw string) (param, message string)
		hits    int // of the first call; the second one needs no other try
		path    string
		effort  string
	}{
		{
			name: "a model that wants Responses for tools", vendor: vendorNamed("openai"), model: "gpt-6-sol", hits: 2, path: "/v1/responses", effort: "minimal",
			refuses: func(body map[string]any, _ string) (string, string) {
				if has(body, "messages") && has(body, "tools") {
					return "reasoning_effort", "Function tools with reasoning_effort are not supported for gpt-6-sol in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'."
				}
				if has(body, "temperature") || has(body, "top_p") {
					return "temperature", "Unsupported parameter: 'temperature' is not supported with this model."
				}
				return "", ""
			},
		},
		{
			name: "a model with other steps of effort", vendor: vendorNamed("openai"), model: "o3", hits: 2, path: "/v1/chat/completions", effort: "low",
			refuses: func(body map[string]any, _ string) (string, string) {
				for _, p := range []string{"temperature", "top_p", "stop", "max_tokens"} {
					if has(body, p) {
						return p, "Unsupported parameter: '" + p + "' is not supported with this model."
					}
				}
				if body["reasoning_effort"] == "minimal" {
					return "reasoning_effort", "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. Supported values are: 'low', 'medium', and 'high'."
				}
				return "", ""
			},
		},
		{
			name: "a server that knows few parameters", vendor: vendorNamed("corp"), model: "m", hits: 7, path: "/v1/chat/completions",
			refuses: func(body map[string]any, _ string) (string, string) {
				for _, p := range []string{"temperature", "top_p", "seed", "stop", "reasoning_effort", "stream_options"} {
					if has(body, p) {
						return p, "unknown parameter " + p
					}
				}
				return "", ""
			},
		},
		{
			name: "a server that wants the newer word", vendor: vendorNamed("corp"), model: "m", hits: 2, path: "/v1/chat/completions", effort: "minimal",
			refuses: func(body map[string]any, _ string) (string, string) {
				if has(body, "max_tokens") {
					return "max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
				}
				return "", ""
			},
		},
		{
			name: "a Claude that thinks always", vendor: claudes, model: "claude-opus-5-5", hits: 1, path: "/v1/messages",
			refuses: func(body map[string]any, _ string) (string, string) {
				for _, p := range []string{"temperature", "top_p", "thinking"} {
					if has(body, p) {
						return "", p + ": is not supported with this model"
					}
				}
				if body["stream"] != true && body["max_tokens"].(float64) > 21333 {
					return "", "streaming is required for this many tokens"
				}
				return "", ""
			},
		},
		{
			name: "a Claude that is not known", vendor: claudes, model: "claude-sonnet-4-5", hits: 2, path: "/v1/messages",
			refuses: func(body map[string]any, _ string) (string, string) {
				if has(body, "thinking") {
					return "", "thinking: Extra inputs are not permitted"
				}
				return "", ""
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := tt.vendor
			v.model = tt.model
			s, spec := v.serve(t, strict(v, tt.refuses))
			m := open(t, spec)
			for round := range 2 {
				got, err := m.Generate(t.Context(), full)
				require.NoError(t, err)
				assert.Equal(t, "hello", got.Text)
				assert.Equal(t, tt.hits+round, s.hits(), "what was refused is remembered")
			}
			assert.Equal(t, tt.path, s.urls[s.hits()-1])
			last := s.requests()[s.hits()-1]
			if tt.effort != "" {
				assert.Contains(t, last, `"`+tt.effort+`"`)
			}
			assert.Contains(t, last, "32000")
		})
	}
}

// Calls that are refused the same at the same time are all made again.
func TestConcededAtTheSameTime(t *testing.T) {
	const calls = 8
	req := hi
	req.Temperature, req.Effort = new(0.7), providers.EffortMinimal
	for _, v := range everyone {
		t.Run(v.name+v.request, func(t *testing.T) {
			v.model = map[bool]string{true: "claude-sonnet-4-6", false: v.model}[v.claude] // which takes both
			var first sync.WaitGroup
			first.Add(calls)
			answer := strict(v, func(body map[string]any, raw string) (string, string) {
				switch {
				case body["temperature"] != nil:
					first.Done()
					first.Wait()
					return "temperature", "Unsupported parameter: 'temperature' is not supported with this model."
				case strings.Contains(raw, `"minimal"`):
					return map[bool]string{true: "reasoning.effort", false: "reasoning_effort"}[v.responses], "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. Supported values are: 'low', and 'high'."
				}
				return "", ""
			})
			s, spec := v.serve(t, answer)
			m := open(t, spec)
			var all errgroup.Group
			for range calls {
				all.Go(func() error {
					_, err := m.Generate(t.Context(), req)
					return err
				})
			}
			require.NoError(t, all.Wait())
			before := s.hits()
			_, err := m.Generate(t.Context(), req)
			require.NoError(t, err)
			assert.Equal(t, before+1, s.hits(), "it is remembered")
			if !v.claude {
				assert.Contains(t, s.requests()[before], `"low"`, "the nearest step, from whichever call")
			}
		})
	}
}

// What is asked for in Extra is always sent, and a vendor's refusal is an error.
func TestExtraIsNotConceded(t *testing.T) {
	v := vendorNamed("corp")
	s, spec := v.serve(t, reply(400, v.failure(400, odd, "unknown parameter top_k")))
	spec.Extra = json.RawMessage(`{"top_k":5,"stream_options":null}`)
	req := hi
	req.Extra = json.RawMessage(`{"chat_template_kwargs":{"enable_thinking":false}}`)
	_, err := open(t, spec).Generate(t.Context(), req)
	assert.Equal(t, providers.Invalid, fault(t, err).Kind)
	assert.JSONEq(t, `{"model":"m","messages":[{"role":"system","content":"be brief"},{"role":"user","content":"hi"}],"stream":true,
		"top_k":5,"chat_template_kwargs":{"enable_thinking":false}}`, s.requests()[0])
}

func TestParams(t *testing.T) {
	req := hi
	req.TopP, req.Seed, req.Stop = new(0.9), new(int64(7)), []string{"END"}
	req.Effort = providers.EffortHigh
	for _, v := range everyone {
		t.Run(v.name, func(t *testing.T) {
			s, spec := v.serve(t, reply(200, v.body(hello)))
			_, err := open(t, spec).Generate(t.Context(), req)
			require.NoError(t, err)
			body := s.sent(t)
			if v.claude { // a budget of tokens to think leaves no sampling
				assert.JSONEq(t, `{"type":"enabled","budget_tokens":16000}`, field(t, body, "thinking"))
				assert.JSONEq(t, `["END"]`, field(t, body, "stop_sequences"))
				assert.NotContains(t, body, "top_p")
				return
			}
			assert.InDelta(t, 0.9, body["top_p"], 0)
			if v.responses {
				assert.JSONEq(t, `{"effort":"high"}`, field(t, body, "reasoning"))
				assert.JSONEq(t, `["reasoning.encrypted_content"]`, field(t, body, "include"))
				return
			}
			assert.Equal(t, "high", body["reasoning_effort"])
			assert.InDelta(t, 7, body["seed"], 0)
			assert.JSONEq(t, `["END"]`, field(t, body, "stop"))
		})
	}
}

func TestEffortOfClaude(t *testing.T) {
	tests := []struct {
		model    string
		effort   providers.Effort
		thinking string
		config   string
	}{
		{"claude-opus-5-5", providers.EffortMax, `null`, `{"effort":"max"}`},
		{"claude-opus-5-5", providers.EffortNone, `null`, `{"effort":"low"}`},
		{"claude-opus-5", providers.EffortNone, `{"type":"disabled"}`, `null`},
		{"claude-opus-5", providers.EffortMinimal, `null`, `{"effort":"low"}`},
		{"claude-opus-4-8", providers.EffortHigh, `{"type":"adaptive"}`, `{"effort":"high"}`},
		{"claude-opus-4-8", providers.EffortNone, `null`, `null`},
		{"claude-opus-4-5", providers.EffortMax, `null`, `{"effort":"high"}`},
		{"claude-haiku-4-5", providers.EffortLow, `{"type":"enabled","budget_tokens":4096}`, `null`},
		{"claude-3-haiku", providers.EffortHigh, `null`, `null`},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.model, " ", tt.effort), func(t *testing.T) {
			v := claudes
			v.model = tt.model
			s, spec := v.serve(t, reply(200, v.body(hello)))
			req := hi
			req.Effort = tt.effort
			_, err := open(t, spec).Generate(t.Context(), req)
			require.NoError(t, err)
			assert.JSONEq(t, tt.thinking, field(t, s.sent(t), "thinking"))
			assert.JSONEq(t, tt.config, field(t, s.sent(t), "output_config"))
		})
	}
}

func TestThinkingSwitches(t *testing.T) {
	for effort, want := range map[providers.Effort][2]string{
		providers.EffortNone: {`{"type":"disabled"}`, `null`}, providers.EffortMax: {`{"type":"enabled"}`, `"max"`}, "": {`null`, `null`},
	} {
		v := vendorNamed("deepseek")
		s, spec := v.serve(t, reply(200, v.body(hello)))
		req := hi
		req.Effort = effort
		m, err := opener{Keys: providers.Keys{"deepseek": secret}}.Open(spec)
		require.NoError(t, err)
		_, err = m.Generate(t.Context(), req)
		require.NoError(t, err)
		assert.JSONEq(t, want[0], field(t, s.sent(t), "thinking"))
		assert.JSONEq(t, want[1], field(t, s.sent(t), "reasoning_effort"))
	}
}

var picture = []providers.Part{
	{Kind: providers.ImagePart, Media: "image/png", Data: []byte("png")},
	{Kind: providers.ImagePart, URL: "https://example.com/a.jpg"},
	{Kind: providers.TextPart, Text: "and this:"},
	{Kind: providers.DocumentPart, Media: "application/pdf", Data: []byte("pdf"), Name: "a.pdf"},
	{Kind: providers.DocumentPart, Media: "text/plain", Data: []byte("plain"), Name: "b.txt"},
}

// Images and documents of the user, and of a tool's result.
func TestParts(t *testing.T) {
	req := providers.Request{Tools: []providers.Tool{clock}, Messages: []providers.Message{
		{Role: providers.User, Text: "look", Parts: picture},
		{Role: providers.Assistant, ToolCalls: []providers.ToolCall{{ID: "a", Name: "clock"}, {ID: "b", Name: "clock"}}},
		{Role: providers.ToolRole, ToolID: "a", Text: "shot", Parts: picture[:1]},
		{Role: providers.ToolRole, ToolID: "b", Text: "noon"},
	}}
	const (
		chatParts = `{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}},
			{"type":"image_url","image_url":{"url":"https://example.com/a.jpg"}},{"type":"text","text":"and this:"},
			{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,cGRm"}},{"type":"text","text":"b.txt:\nplain"}`
		claudeImage = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}}`
		wantChat    = `[{"role":"user","content":[{"type":"text","text":"look"},` + chatParts + `]},
			{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"clock","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"clock","arguments":"{}"}}]},
			{"role":"tool","content":"shot","tool_call_id":"a"},{"role":"tool","content":"noon","tool_call_id":"b"},
			{"role":"user","content":[{"type":"text","text":"Shown by the result of a:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}}]}]`
		wantClaude = `[{"role":"user","content":[{"type":"text","text":"look"},` + claudeImage + `,{"type":"image","source":{"type":"url","url":"https://example.com/a.jpg"}},
			{"type":"text","text":"and this:"},{"type":"document","title":"a.pdf","source":{"type":"base64","media_type":"application/pdf","data":"cGRm"}},
			{"type":"document","title":"b.txt","source":{"type":"text","media_type":"text/plain","data":"plain"}}]},
			{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"clock","input":{}},{"type":"tool_use","id":"b","name":"clock","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"shot"},` + claudeImage + `]},
			{"type":"tool_result","tool_use_id":"b","content":"noon"}]}]`
		wantResponses = `[{"role":"user","content":[{"type":"input_text","text":"look"},{"type":"input_image","image_url":"data:image/png;base64,cG5n"},
			{"type":"input_image","image_url":"https://example.com/a.jpg"},{"type":"input_text","text":"and this:"},
			{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,cGRm"},{"type":"input_text","text":"b.txt:\nplain"}]},
			{"type":"function_call","call_id":"a","name":"clock","arguments":"{}"},{"type":"function_call","call_id":"b","name":"clock","arguments":"{}"},
			{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"shot"},{"type":"input_image","image_url":"data:image/png;base64,cG5n"}]},
			{"type":"function_call_output","call_id":"b","output":"noon"}]`
	)
	for _, v := range everyone {
		t.Run(v.name, func(t *testing.T) {
			s, spec := v.serve(t, reply(200, v.body(hello)))
			_, err := open(t, spec).Generate(t.Context(), req)
			require.NoError(t, err)
			switch {
			case v.claude:
				assert.JSONEq(t, wantClaude, field(t, s.sent(t), "messages"))
			case v.responses:
				assert.JSONEq(t, wantResponses, field(t, s.sent(t), "input"))
			default:
				assert.JSONEq(t, wantChat, field(t, s.sent(t), "messages"))
			}
		})
	}
}

func TestPartsThatAreNotSent(t *testing.T) {
	tests := map[string][]providers.Part{
		"unknown kind":        {{Kind: "film"}},
		"Data or URL":         {{Kind: providers.ImagePart}},
		"media type":          {{Kind: providers.ImagePart, Media: "image/tiff", Data: []byte("x")}},
		"absolute http":       {{Kind: providers.ImagePart, URL: "file:///etc/passwd"}},
		"text is empty":       {{Kind: providers.TextPart}},
		"at most 100":         make([]providers.Part, 101),
		"bytes, want at most": {{Kind: providers.ImagePart, Media: "image/png", Data: make([]byte, 33<<20)}},
	}
	for want, parts := range tests {
		t.Run(want, func(t *testing.T) {
			s, spec := vendors[0].serve(t, reply(200, "{}"))
			_, err := open(t, spec).Generate(t.Context(), providers.Request{Messages: []providers.Message{{Role: providers.User, Parts: parts}}})
			e := fault(t, err)
			assert.Equal(t, providers.Invalid, e.Kind)
			assert.ErrorContains(t, wire.Check(providers.Request{Messages: []providers.Message{{Role: providers.User, Parts: parts}}}), want)
			assert.Zero(t, s.hits())
		})
	}
}

// What a model thought before it called tools comes back with their results, under
// the name that the server has for it.
func TestReasoningGoesBack(t *testing.T) {
	call := `"tool_calls":[{"index":0,"id":"c","function":{"name":"clock","arguments":"{}"}}]`
	tests := []struct {
		name, vendor string
		pieces       []string
		want         string
	}{
		{"deepseek", "deepseek", []string{`{"reasoning_content":"let "}`, `{"reasoning_content":"me see"}`, `{` + call + `}`}, `"reasoning_content":"let me see"`},
		{"deepseek without a thought", "deepseek", []string{`{"reasoning_content":"",` + call + `}`}, `"reasoning_content":""`},
		{"ollama", "ollama", []string{`{"reasoning":"hm"}`, `{` + call + `}`}, `"reasoning":"hm"`},
		{
			"openrouter", "openrouter",
			[]string{
				`{"reasoning":"a","reasoning_details":[{"type":"reasoning.text","index":0,"text":"a"}]}`,
				`{"reasoning":"b","reasoning_details":[{"type":"reasoning.text","index":0,"text":"b","signature":"S"}]}`,
				`{"reasoning_details":[{"type":"reasoning.encrypted","index":1,"data":"D"}],` + call + `}`,
			},
			`"reasoning_details":[{"index":0,"signature":"S","text":"ab","type":"reasoning.text"},{"type":"reasoning.encrypted","index":1,"data":"D"}]`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := vendorNamed(tt.vendor)
			var data []string
			for _, p := range tt.pieces {
				data = append(data, `{"choices":[{"index":0,"delta":`+p+`}]}`)
			}
			s, spec := v.serve(t, events(append(data, v.finish(providers.StopTools), "[DONE]")...))
			m, err := opener{Keys: providers.Keys{tt.vendor: secret}}.Open(spec)
			require.NoError(t, err)
			req := hi
			req.Tools = []providers.Tool{clock}
			first, err := m.Generate(t.Context(), req)
			require.NoError(t, err)
			req.Messages = append(req.Messages[:2:2],
				providers.Message{Role: providers.Assistant, ToolCalls: first.ToolCalls}, providers.Message{Role: providers.ToolRole, ToolID: "c", Text: "noon"})
			_, err = m.Generate(t.Context(), req)
			require.NoError(t, err)
			assert.Contains(t, s.requests()[1], tt.want)
		})
	}
}

// A call that another vendor made has no reasoning. Where one has to be there, an
// empty one is.
func TestCallsWithoutReasoning(t *testing.T) {
	v := vendorNamed("deepseek")
	n := 0
	s, spec := v.serve(t, func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 1 {
			reply(400, v.failure(400, odd, "The reasoning_content in the thinking mode must be passed back to the API."))(w, r)
			return
		}
		reply(200, v.body(hello))(w, r)
	})
	m, err := opener{Keys: providers.Keys{"deepseek": secret}}.Open(spec)
	require.NoError(t, err)
	_, err = m.Generate(t.Context(), providers.Request{Tools: []providers.Tool{clock}, Messages: []providers.Message{
		{Role: providers.User, Text: "hi"}, {Role: providers.Assistant, ToolCalls: []providers.ToolCall{{ID: "a", Name: "clock"}}}, {Role: providers.ToolRole, ToolID: "a", Text: "noon"},
	}})
	require.NoError(t, err)
	assert.Contains(t, s.requests()[1], `"reasoning_content":""`)
}

func TestResponsesRequest(t *testing.T) {
	v := responder
	s, spec := v.serve(t, reply(200, v.body(hello)))
	req := hi
	req.Tools, req.ToolChoice, req.MaxTokens = []providers.Tool{weather, clock}, "clock", 9
	req.Output = json.RawMessage(person)
	req.Messages = append(req.Messages[:2:2],
		providers.Message{Role: providers.Assistant, Text: "let me see", ToolCalls: []providers.ToolCall{
			{ID: "a", Name: "clock", Extra: json.RawMessage(`{"provider":"openai","content":[{"type":"reasoning","id":"rs_1","encrypted_content":"E"},{"type":"message","content":[{"type":"output_text","text":"let me see"}]}]}`)},
		}},
		providers.Message{Role: providers.ToolRole, ToolID: "a"})
	_, err := open(t, spec).Generate(t.Context(), req)
	require.NoError(t, err)
	body := s.sent(t)
	assert.JSONEq(t, `[{"role":"system","content":"be brief"},{"role":"user","content":"hi"},
		{"type":"reasoning","id":"rs_1","encrypted_content":"E"},{"type":"message","content":[{"type":"output_text","text":"let me see"}]},
		{"type":"function_call","call_id":"a","name":"clock","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":""}]`, field(t, body, "input"))
	assert.JSONEq(t, `[{"type":"function","name":"weather","description":"tells it","parameters":{"type":"object","properties":{"z":{},"a":{}}},"strict":false},
		{"type":"function","name":"clock","parameters":{"type":"object","properties":{}},"strict":false}]`, field(t, body, "tools"))
	assert.JSONEq(t, `{"type":"function","name":"clock"}`, field(t, body, "tool_choice"))
	assert.Equal(t, false, body["store"])
	assert.InDelta(t, 9, body["max_output_tokens"], 0)
	assert.Contains(t, field(t, body, "text"), `"type":"json_schema"`)
}

// Reasoning that the vendor cannot read any more is left out.
func TestReasoningOfAnotherAccount(t *testing.T) {
	v := responder
	n := 0
	s, spec := v.serve(t, func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 1 {
			reply(400, v.failure(400, odd, "The encrypted content for item rs_1 could not be verified."))(w, r)
			return
		}
		reply(200, v.body(hello))(w, r)
	})
	_, err := open(t, spec).Generate(t.Context(), providers.Request{Messages: []providers.Message{
		{Role: providers.User, Text: "hi"},
		{Role: providers.Assistant, ToolCalls: []providers.ToolCall{{ID: "a", Name: "clock", Extra: json.RawMessage(`{"provider":"openai","content":[{"type":"reasoning","encrypted_content":"E"}]}`)}}},
		{Role: providers.ToolRole, ToolID: "a", Text: "noon"},
	}})
	require.NoError(t, err)
	assert.Contains(t, s.requests()[0], `"E"`)
	assert.NotContains(t, s.requests()[1], `"E"`)
}

// A stream that breaks off was paid for: where the vendor has not said how much, the
// lengths tell.
func TestCutStreamIsCharged(t *testing.T) {
	for _, v := range everyone {
		t.Run(v.name, func(t *testing.T) {
			long := strings.Repeat("word ", 200)
			_, spec := v.serve(t, events(v.delta(long)))
			spec.Price = &providers.Price{Input: providers.USD, Output: providers.USD}
			_, err := open(t, spec).Generate(t.Context(), hi)
			e := fault(t, err)
			assert.Equal(t, providers.Transient, e.Kind)
			assert.Equal(t, providers.Unavailable, e.Reason)
			assert.Contains(t, e.Message, "(after 1000 bytes of the answer)")
			assert.InDelta(t, 250, e.Usage.Output, 5)
			assert.Positive(t, e.Usage.Cost)
			assert.Zero(t, e.Usage.Unpriced)
		})
	}
}

func TestCacheOfClaude(t *testing.T) {
	long := strings.Repeat("You are thorough. ", 300)
	loop := providers.Request{Tools: []providers.Tool{clock}, Messages: []providers.Message{
		{Role: providers.System, Text: long},
		{Role: providers.User, Text: "hi"},
		{Role: providers.Assistant, ToolCalls: []providers.ToolCall{{ID: "a", Name: "clock"}}},
		{Role: providers.ToolRole, ToolID: "a", Text: "noon"},
	}}
	const mark = `"cache_control":{"type":"ephemeral"}`
	v := claudes
	v.model = "claude-opus-5"
	s, spec := v.serve(t, reply(200, v.body(hello)))
	m := open(t, spec)
	for _, req := range []providers.Request{loop, {Messages: loop.Messages[:2]}, hi} {
		_, err := m.Generate(t.Context(), req)
		require.NoError(t, err)
	}
	sent := s.requests()
	assert.Equal(t, 2, strings.Count(sent[0], mark), "the instructions, and the end of the conversation")
	assert.Contains(t, sent[0], `"content":"noon",`+mark)
	assert.Equal(t, 1, strings.Count(sent[1], mark), "the instructions alone")
	assert.Zero(t, strings.Count(sent[2], mark), "too short")

	n := 0
	s, spec = v.serve(t, func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 1 {
			reply(400, v.failure(400, odd, "system.0.cache_control: Extra inputs are not permitted"))(w, r)
			return
		}
		reply(200, v.body(hello))(w, r)
	})
	m = open(t, spec)
	for range 2 {
		_, err := m.Generate(t.Context(), loop)
		require.NoError(t, err)
	}
	assert.Equal(t, 3, s.hits())
	assert.NotContains(t, s.requests()[2], "cache_control")
}

// The reasons behind kinds.
func TestReasons(t *testing.T) {
	tests := []struct {
		status int
		words  trouble
		text   string
		kind   providers.Kind
		reason providers.Reason
	}{
		{529, overload, "Overloaded", providers.Transient, providers.Overloaded},
		{503, overload, "busy", providers.Transient, providers.Overloaded},
		{500, broken, "boom", providers.Transient, providers.Unavailable},
		{402, spent, "pay", providers.Permanent, providers.Quota},
		{401, unknown, "who?", providers.Permanent, providers.Unauthorized},
		{404, odd, "The model `x` does not exist", providers.Permanent, providers.NotFound},
		{400, odd, "The model `x` does not exist or you do not have access to it.", providers.Permanent, providers.NotFound},
		{400, odd, "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.", providers.Invalid, providers.Refused},
		{429, limited, "slow", providers.RateLimited, ""},
	}
	for _, tt := range tests {
		for _, v := range everyone {
			t.Run(fmt.Sprint(v.name, " ", tt.status, " ", tt.reason), func(t *testing.T) {
				_, spec := v.serve(t, reply(tt.status, v.failure(tt.status, tt.words, tt.text)))
				_, err := open(t, spec).Generate(t.Context(), hi)
				e := fault(t, err)
				assert.Equal(t, tt.kind, e.Kind)
				assert.Equal(t, tt.reason, e.Reason)
				if tt.reason != "" {
					require.ErrorIs(t, err, tt.reason)
				}
			})
		}
	}
}

// A stream says in words how long to wait.
func TestRetryAfterInAStream(t *testing.T) {
	for _, v := range everyone {
		t.Run(v.name, func(t *testing.T) {
			_, spec := v.serve(t, events(v.eventFailure(limited, "Rate limit reached. Please try again in 1.5s.")))
			_, err := open(t, spec).Generate(t.Context(), hi)
			e := fault(t, err)
			assert.Equal(t, providers.RateLimited, e.Kind)
			assert.Equal(t, 1500*time.Millisecond, e.RetryAfter)
		})
	}
}

// Servers count the pieces of tool calls in several ways.
func TestPiecesOfCalls(t *testing.T) {
	tests := map[string][]string{
		"in turn": {
			`{"index":0,"id":"a","function":{"name":"f","arguments":""}}`, `{"index":1,"id":"b","function":{"name":"g","arguments":""}}`,
			`{"index":0,"function":{"arguments":"{\"x\":"}}`, `{"index":1,"function":{"arguments":"{}"}}`, `{"index":0,"function":{"arguments":"1}"}}`,
		},
		"the ID each time": {
			`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`, `{"index":0,"id":"a","function":{"arguments":"1}"}}`, `{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}`,
		},
		"one index for all": {`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`, `{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}`},
		"no index":          {`{"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`, `{"id":"b","function":{"name":"g","arguments":"{}"}}`},
		"no index, in pieces": {
			`{"id":"a","function":{"name":"f","arguments":"{\"x\""}}`, `{"function":{"arguments":":1}"}}`, `{"id":"b","function":{"name":"g"}}`,
		},
		"inputs that are objects": {
			`{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}`, `{"index":1,"id":"b","function":{"name":"g","arguments":{}}}`,
		},
		"counted from 1": {`{"index":1,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`, `{"index":2,"id":"b","function":{"name":"g","arguments":""}}`},
	}
	for name, pieces := range tests {
		t.Run(name, func(t *testing.T) {
			v := vendors[0]
			var data []string
			for _, p := range pieces {
				data = append(data, `{"choices":[{"delta":{"tool_calls":[`+p+`]}}]}`)
			}
			_, spec := v.serve(t, events(append(data, v.finish(providers.StopTools), "[DONE]")...))
			req := hi
			req.Tools = []providers.Tool{{Name: "f"}, {Name: "g"}}
			got, err := open(t, spec).Generate(t.Context(), req)
			require.NoError(t, err)
			assert.Equal(t, []providers.ToolCall{
				{ID: "a", Name: "f", Input: json.RawMessage(`{"x":1}`)}, {ID: "b", Name: "g", Input: json.RawMessage(`{}`)},
			}, got.ToolCalls)
		})
	}
}

// Some servers have a list where others have a text.
func TestContentInParts(t *testing.T) {
	v := vendorNamed("corp")
	content := `[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"hel"},{"type":"text","text":"lo"}]`
	for name, handle := range map[string]http.HandlerFunc{
		"whole":  reply(200, `{"choices":[{"message":{"content":`+content+`},"finish_reason":"stop"}]}`),
		"stream": events(`{"choices":[{"delta":{"content":`+content+`}}]}`, v.finish(providers.StopEnd), "[DONE]"),
	} {
		t.Run(name, func(t *testing.T) {
			_, spec := v.serve(t, handle)
			got, err := open(t, spec).Generate(t.Context(), hi)
			require.NoError(t, err)
			assert.Equal(t, "hello", got.Text)
		})
	}
}

// Nulls that a strict schema made are left out while the answer comes.
func TestStrictSchemaStreams(t *testing.T) {
	v := vendors[0]
	_, spec := v.serve(t, events(v.pieces([]string{`{"na`, `me":"Ann","ag`, `e":nu`, `ll,"note":`, `null}`}, providers.StopEnd)...))
	req := hi
	req.Output = json.RawMessage(person)
	got, told, err := streamed(t, spec, req)
	require.NoError(t, err)
	assert.Equal(t, got.Text, strings.Join(told, ""))
	assert.Greater(t, len(told), 2, "as it comes")
	assert.NotContains(t, got.Text, "note")
}

// FuzzAnswers reads anything as an answer, and as a stream of one: it ends, and what
// OnText got is the text.
func FuzzAnswers(f *testing.F) {
	for _, v := range everyone {
		f.Add(v.body(hello), true)
		f.Add("data: "+strings.Join(v.piecesOf([]string{"a"}, said{stop: providers.StopTools, calls: []providers.ToolCall{{ID: "c", Name: "f", Input: json.RawMessage(`{"a":1}`)}}}), "\n\ndata: ")+"\n\n", false)
	}
	f.Add("data: {\"error\":{\"message\":\"x\",\"code\":429}}\n", false)
	f.Add(": comment\ndata:\n", false)
	f.Add(`{"choices":[{"message":{"tool_calls":[{"function":{"arguments":"{"}}]}}],"usage":{"prompt_tokens":-1}}`, true)
	f.Add(`{"content":[{"type":"tool_use","input":"x"},{"type":"thinking"}],"stop_reason":null}`, true)
	f.Fuzz(func(t *testing.T, answer string, whole bool) {
		contentType := "text/event-stream"
		if whole {
			contentType = "application/json"
		}
		for _, v := range everyone {
			m, err := opener{Keys: keys, Transport: sameTransport{contentType, answer}}.Open(v.spec(&stub{Server: &httptest.Server{URL: "http://h"}}))
			require.NoError(t, err)
			told := ""
			req := hi
			req.OnText = func(s string) error { told += s; return nil }
			got, err := m.Generate(t.Context(), req)
			if err == nil && got.Text != told && got.Stop != providers.StopFilter {
				t.Fatalf("%s: %q: OnText got %q, want %q", v.name, answer, told, got.Text)
			}
			for _, c := range got.ToolCalls {
				if c.ID == "" || !json.Valid(c.Input) || c.Extra != nil && !json.Valid(c.Extra) {
					t.Fatalf("%s: %q has the call %+v", v.name, answer, c)
				}
			}
		}
	})
}
