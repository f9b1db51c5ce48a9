package bedrock_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
)

func TestAnswer(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			s := serve(t, reply(200, f.hello()))
			// nano-USD 2, 1, 5 and 3 a token
			price := &providers.Price{Input: 2_000_000, CacheRead: 1_000_000, CacheWrite: 5_000_000, Output: 3_000_000}
			got, err := open(t, providers.Spec{Provider: "bedrock", Model: f.model, BaseURL: s.URL, Price: price}).Generate(t.Context(), hi)
			require.NoError(t, err)
			want := usage
			want.Calls, want.Cost = 1, 7*2+4*1+2*5+5*3
			assert.Equal(t, providers.Response{Text: "hello", Stop: providers.StopEnd, Model: "bedrock:" + f.model, Usage: want}, got)
			assert.Equal(t, []string{"/model/" + f.escaped + f.stream}, s.paths)
		})
	}
}

func TestWhatIsSent(t *testing.T) {
	wants := map[string]string{
		"claude": `{"anthropic_version":"bedrock-2023-05-31","max_tokens":16384,"system":"be brief",
			"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}`,
		"converse": `{"system":[{"text":"be brief"}],"inferenceConfig":{},
			"messages":[{"role":"user","content":[{"text":"hi"}]}]}`,
	}
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			s := serve(t, reply(200, f.hello()))
			_, err := f.open(t, s).Generate(t.Context(), hi)
			require.NoError(t, err)
			assert.JSONEq(t, wants[name], s.bodies[0]) // an unset temperature is not there
			assert.Equal(t, "application/json", s.headers[0].Get("Content-Type"))
			assert.Equal(t, "application/json", s.headers[0].Get("X-Amzn-Bedrock-Accept"))
		})
	}
}

func TestBaseURLWithPath(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			s := serve(t, reply(200, f.hello()))
			_, err := open(t, providers.Spec{Provider: "bedrock", Model: f.model, BaseURL: s.URL + "/gate/way/"}).Generate(t.Context(), hi)
			require.NoError(t, err)
			assert.Equal(t, []string{"/gate/way/model/" + f.escaped + f.stream}, s.paths)
		})
	}
}

func TestLimitAndTemperature(t *testing.T) {
	tests := map[string]struct {
		model string
		want  map[string]string // fields as JSON
	}{
		"claude":             {families["claude"].model, map[string]string{"max_tokens": "9", "temperature": "0"}},
		"claude without one": {"global.anthropic.claude-sonnet-5", map[string]string{"max_tokens": "9", "temperature": "null"}},
		"converse":           {families["converse"].model, map[string]string{"inferenceConfig": `{"maxTokens":9,"temperature":0}`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := serve(t, reply(200, families["claude"].hello()))
			spec := providers.Spec{Provider: "bedrock", Model: tt.model, BaseURL: s.URL, MaxTokens: 9, Temperature: new(0.0)}
			_, _ = open(t, spec).Generate(t.Context(), hi)
			for field, want := range tt.want {
				assert.JSONEq(t, want, s.field(t, field), field)
			}
		})
	}
}

// A conversation with two system messages, two turns of the user in a row, blank
// texts, a tool call with thoughts, one of another vendor, and a broken one.
var long = []providers.Message{
	{Role: providers.System, Text: "be brief"},
	{Role: providers.User, Text: "hi"},
	{Role: providers.User, Text: " \n"},
	{Role: providers.System, Text: "be kind"},
	{Role: providers.User, Text: "what is it?"},
	{Role: providers.Assistant, Text: "let me see", ToolCalls: []providers.ToolCall{
		{ID: "c1", Name: "add", Input: json.RawMessage(`{"z":1,"a":2}`)},
		{ID: "functions.add:0", Name: "add", Extra: json.RawMessage(`{"google":{"thought_signature":"T=="}}`)},
		{ID: "c3", Name: "add", Input: json.RawMessage(`"{\"a\":"`), Extra: json.RawMessage(`"x"`)},
	}},
	{Role: providers.ToolRole, ToolID: "c1", Text: "3"},
	{Role: providers.ToolRole, ToolID: "functions.add:0"},
	{Role: providers.ToolRole, ToolID: "c3", Text: "no such thing"},
	{Role: providers.User, Text: "and?"},
}

// thoughts are what the first call of long brings back.
var thoughts = map[string]string{
	"claude":   `{"provider":"bedrock/claude","content":[{"type":"thinking","signature":"S=="}]}`,
	"converse": `{"provider":"bedrock/converse","content":[{"reasoningContent":{"x":1}}]}`,
}

func TestConversation(t *testing.T) {
	other := "call_" + hexSum([]byte("functions.add:0"))[:32] // no ID of Bedrock's has dots
	tests := map[string]struct{ system, messages string }{
		"claude": {`"be brief"`, `[
			{"role":"user","content":[{"type":"text","text":"hi"},{"type":"text","text":"<system-reminder>\nbe kind\n</system-reminder>"},{"type":"text","text":"what is it?"}]},
			{"role":"assistant","content":[
				{"type":"thinking","signature":"S=="},
				{"type":"text","text":"let me see"},
				{"type":"tool_use","id":"c1","name":"add","input":{"z":1,"a":2}},
				{"type":"tool_use","id":"` + other + `","name":"add","input":{}},
				{"type":"tool_use","id":"c3","name":"add","input":{"input":"{\"a\":"}}]},
			{"role":"user","content":[
				{"type":"tool_result","tool_use_id":"c1","content":"3"},
				{"type":"tool_result","tool_use_id":"` + other + `","content":""},
				{"type":"tool_result","tool_use_id":"c3","content":"no such thing"},
				{"type":"text","text":"and?"}]}]`},
		"converse": {`[{"text":"be brief"}]`, `[
			{"role":"user","content":[{"text":"hi"},{"text":"<system-reminder>\nbe kind\n</system-reminder>"},{"text":"what is it?"}]},
			{"role":"assistant","content":[
				{"reasoningContent":{"x":1}},
				{"text":"let me see"},
				{"toolUse":{"toolUseId":"c1","name":"add","input":{"z":1,"a":2}}},
				{"toolUse":{"toolUseId":"` + other + `","name":"add","input":{}}},
				{"toolUse":{"toolUseId":"c3","name":"add","input":{"input":"{\"a\":"}}}]},
			{"role":"user","content":[
				{"toolResult":{"toolUseId":"c1","content":[{"text":"3"}]}},
				{"toolResult":{"toolUseId":"` + other + `","content":[{"text":"(no text)"}]}},
				{"toolResult":{"toolUseId":"c3","content":[{"text":"no such thing"}]}},
				{"text":"and?"}]}]`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := families[name]
			s := serve(t, reply(200, f.hello()))
			talk := slices.Clone(long)
			talk[5].ToolCalls = slices.Clone(talk[5].ToolCalls)
			talk[5].ToolCalls[0].Extra = json.RawMessage(thoughts[name])
			_, err := f.open(t, s).Generate(t.Context(), providers.Request{Messages: talk, Tools: []providers.Tool{{Name: "add"}}})
			require.NoError(t, err)
			assert.JSONEq(t, tt.system, s.field(t, "system"))
			assert.JSONEq(t, tt.messages, s.field(t, "messages"))
			assert.Contains(t, s.bodies[0], `{"z":1,"a":2}`, "the order of an input")
		})
	}
}

func TestBlankTextsAreNoTurns(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			s := serve(t, reply(200, f.hello()))
			_, err := f.open(t, s).Generate(t.Context(), providers.Request{Messages: []providers.Message{
				{Role: providers.User, Text: "hi"},
				{Role: providers.Assistant, Text: "a"},
				{Role: providers.User, Text: " "},
				{Role: providers.Assistant, Text: "b"},
				{Role: providers.User, Text: "go on"},
			}})
			require.NoError(t, err)
			assert.JSONEq(t, `[
				{"role":"user","content":[`+f.text("hi")+`]},
				{"role":"assistant","content":[`+f.text("a")+`,`+f.text("b")+`]},
				{"role":"user","content":[`+f.text("go on")+`]}]`, s.field(t, "messages"))
		})
	}
}

func TestSeveralBlocks(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			blocks := []string{
				f.text("let "), f.thought("S=="), f.text("me see"), f.call("c1", "add", `{"z":1,"a":2}`),
				f.thought("T=="), f.call("", "list", `null`),
			}
			s := serve(t, reply(200, f.says(`"tool_use"`, blocks...)))
			req := hi
			req.Tools = []providers.Tool{{Name: "add"}, {Name: "list"}}
			got, err := f.open(t, s).Generate(t.Context(), req)
			require.NoError(t, err)
			assert.Equal(t, "let me see", got.Text)
			assert.Equal(t, providers.StopTools, got.Stop)
			assert.Equal(t, []providers.ToolCall{
				{
					ID: "c1", Name: "add", Input: json.RawMessage(`{"z":1,"a":2}`),
					Extra: json.RawMessage(`{"provider":"bedrock/` + name + `","content":[` + strings.Join(blocks[:3], ",") + `]}`),
				},
				{ID: "call_2_1", Name: "list", Input: json.RawMessage(`{}`), Extra: json.RawMessage(`{"provider":"bedrock/` + name + `","content":[` + blocks[4] + `]}`)},
			}, got.ToolCalls)

			// it sees again what it wrote, or what the text has become
			blocks[5] = f.call("call_2_1", "list", `{}`)
			thoughts := []string{blocks[1], f.text("another"), blocks[3], blocks[4], blocks[5]}
			for text, want := range map[string][]string{got.Text: blocks, "another": thoughts, "": slices.Delete(slices.Clone(thoughts), 1, 2)} {
				s := serve(t, reply(200, f.hello()))
				req.Messages = append(req.Messages[:2:2], providers.Message{Role: providers.Assistant, Text: text, ToolCalls: got.ToolCalls},
					providers.Message{Role: providers.ToolRole, ToolID: "c1", Text: "3"})
				_, err = f.open(t, s).Generate(t.Context(), req)
				require.NoError(t, err)
				again, err := json.Marshal(s.sent(t)["messages"].([]any)[1].(map[string]any)["content"])
				require.NoError(t, err)
				assert.JSONEq(t, "["+strings.Join(want, ",")+"]", string(again))
			}
		})
	}
}

func TestCallWithoutInput(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			s := serve(t, reply(200, f.says(`"tool_use"`, f.text("no thought"), strings.Replace(f.call("c1", "list", "{}"), `,"input":{}`, "", 1))))
			req := hi
			req.Tools = []providers.Tool{{Name: "list"}}
			got, err := f.open(t, s).Generate(t.Context(), req)
			require.NoError(t, err)
			assert.Equal(t, []providers.ToolCall{{ID: "c1", Name: "list", Input: json.RawMessage(`{}`)}}, got.ToolCalls)
		})
	}
}

func TestStop(t *testing.T) {
	tests := []struct {
		reason, text string
		want         providers.Stop
	}{
		{`"end_turn"`, "a", providers.StopEnd},
		{`"stop_sequence"`, "a", providers.StopEnd},
		{`"max_tokens"`, "a", providers.StopLength},
		{`"max_tokens"`, "", providers.StopLength},
		{`"model_context_window_exceeded"`, "a", providers.StopLength},
		{`"refusal"`, "I will not", providers.StopFilter},
		{`"refusal"`, "", providers.StopFilter},
		{`"guardrail_intervened"`, "no", providers.StopFilter},
		{`"content_filtered"`, "", providers.StopFilter},
		{`"tired"`, "a", providers.StopUnknown},
		{`null`, "a", providers.StopUnknown},
	}
	for _, tt := range tests {
		t.Run(tt.reason+" "+tt.text, func(t *testing.T) {
			for name, f := range families {
				t.Run(name, func(t *testing.T) {
					var blocks []string
					if tt.text != "" {
						blocks = []string{f.text(tt.text)}
					}
					got, err := f.open(t, serve(t, reply(200, f.says(tt.reason, blocks...)))).Generate(t.Context(), hi)
					require.NoError(t, err)
					assert.Equal(t, tt.want, got.Stop)
					assert.Equal(t, tt.text, got.Text)
					assert.Equal(t, int64(13), got.Usage.Input)
				})
			}
		})
	}
}

func TestStopBesideCalls(t *testing.T) {
	tests := []struct {
		reason string
		want   providers.Stop
		calls  int
	}{
		{"end_turn", providers.StopTools, 1},
		{"max_tokens", providers.StopLength, 1},
		{"refusal", providers.StopFilter, 0},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			for name, f := range families {
				t.Run(name, func(t *testing.T) {
					req := hi
					req.Tools = []providers.Tool{{Name: "add"}}
					s := serve(t, reply(200, f.says(`"`+tt.reason+`"`, f.call("c1", "add", `{}`))))
					got, err := f.open(t, s).Generate(t.Context(), req)
					require.NoError(t, err)
					assert.Equal(t, tt.want, got.Stop)
					assert.Len(t, got.ToolCalls, tt.calls)
				})
			}
		})
	}
}

func TestImpossibleUsageIsUnknown(t *testing.T) {
	for _, tokens := range []string{"-5", "9000000000000000000"} {
		t.Run(tokens, func(t *testing.T) {
			body := `{"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{"input_tokens":` + tokens + `,"output_tokens":5}}`
			s := serve(t, reply(200, body))
			spec := providers.Spec{Provider: "bedrock", Model: families["claude"].model, BaseURL: s.URL, Price: &providers.Price{Input: providers.USD}}
			got, err := open(t, spec).Generate(t.Context(), hi)
			require.NoError(t, err)
			assert.Equal(t, providers.Usage{Calls: 1, Unpriced: 1}, got.Usage)
		})
	}
}

func TestInvalidRequestsAreNotSent(t *testing.T) {
	tests := map[string]func(*providers.Request){
		"no messages": func(r *providers.Request) { r.Messages = nil },
		"or blank":    func(r *providers.Request) { r.Messages = r.Messages[:1] },
		"all messages are": func(r *providers.Request) {
			r.Messages = []providers.Message{{Role: providers.System, Text: "be brief"}, {Role: providers.User, Text: " "}}
		},
		"unknown role": func(r *providers.Request) { r.Messages = []providers.Message{{Role: "boss", Text: "go"}} },
		"no ToolID":    func(r *providers.Request) { r.Messages = []providers.Message{{Role: providers.ToolRole}} },
		"input of tool call": func(r *providers.Request) {
			r.Messages = []providers.Message{{Role: providers.Assistant, ToolCalls: []providers.ToolCall{{Input: json.RawMessage(`{`)}}}}
		},
		"output schema is not JSON": func(r *providers.Request) { r.Output = json.RawMessage(`{`) },
		"tool 1 has no name":        func(r *providers.Request) { r.Tools = []providers.Tool{{}} },
		`tool "a" is not JSON`:      func(r *providers.Request) { r.Tools = []providers.Tool{{Name: "a", Input: json.RawMessage(`{`)}} },
		"tool choice":               func(r *providers.Request) { r.ToolChoice = "add" },
		"temperature":               func(r *providers.Request) { r.Temperature = new(2.5) },
		"MaxTokens":                 func(r *providers.Request) { r.MaxTokens = -1 },
	}
	s := serve(t, reply(200, families["claude"].hello()))
	for want, change := range tests {
		t.Run(want, func(t *testing.T) {
			for name, f := range families {
				t.Run(name, func(t *testing.T) {
					req := hi
					change(&req)
					_, err := f.open(t, s).Generate(t.Context(), req)
					e := fault(t, err)
					assert.Equal(t, providers.Invalid, e.Kind)
					assert.Contains(t, e.Message, want)
				})
			}
		})
	}
	assert.Zero(t, s.hits())
}

func TestConcurrentCalls(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			s := serve(t, reply(200, f.hello()))
			m := f.open(t, s)
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
