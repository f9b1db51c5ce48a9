package wire_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/modeltest"
)

// claudes is the last one of the vendors.
var claudes = vendors[len(vendors)-1]

func TestBlocksAreOneAnswer(t *testing.T) {
	tests := []struct {
		name, content, text string
		calls               int
		stop                providers.Stop
	}{
		{
			name:    "thoughts, texts and tools",
			content: `{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"let "},{"type":"text","text":"me"},{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"f","input":{}}`,
			text:    "let me", calls: 2, stop: providers.StopTools,
		},
		{name: "redacted thoughts", content: `{"type":"redacted_thinking","data":"x"},{"type":"text","text":"yes"}`, text: "yes", stop: providers.StopEnd},
		{name: "unknown blocks", content: `{"type":"weather_report","x":[1]},{"type":"text","text":"yes"},{"type":null}`, text: "yes", stop: providers.StopEnd},
		{name: "a tool alone", content: `{"type":"tool_use","id":"a","name":"f","input":{"x":1}}`, calls: 1, stop: providers.StopTools},
		{name: "text in angle brackets", content: `{"type":"text","text":"<thinking>a</thinking>b"}`, text: "<thinking>a</thinking>b", stop: providers.StopEnd},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, spec := claudes.serve(t, reply(200, `{"content":[`+tt.content+`],"stop_reason":"end_turn","usage":`+claudes.usage()+`}`))
			got, err := open(t, spec).Generate(t.Context(), hi)
			require.NoError(t, err)
			assert.Equal(t, tt.text, got.Text)
			assert.Len(t, got.ToolCalls, tt.calls)
			assert.Equal(t, tt.stop, got.Stop)
			assert.Equal(t, claudes.charged(), got.Usage)
		})
	}
}

const thoughtful = `{"type":"thinking","thinking":"","signature":"S1"},{"type":"redacted_thinking","data":"D"},{"type":"text","text":"let me see"},` +
	`{"type":"tool_use","id":"a","name":"weather","input":{"p":1}},{"type":"thinking","thinking":"more","signature":"S2"},{"type":"tool_use","id":"b","name":"clock","input":{}}`

// again asks with what the model said before, as it came or changed.
func again(t *testing.T, change func(m *providers.Message), handle http.HandlerFunc) (*stub, error) {
	t.Helper()
	_, spec := claudes.serve(t, reply(200, `{"content":[`+thoughtful+`],"stop_reason":"tool_use","usage":`+claudes.usage()+`}`))
	req := hi
	req.Tools = []providers.Tool{weather, clock}
	first, err := open(t, spec).Generate(t.Context(), req)
	require.NoError(t, err)
	said := providers.Message{Role: providers.Assistant, Text: first.Text, ToolCalls: first.ToolCalls}
	stored, err := json.Marshal(said) // a conversation goes through the log
	require.NoError(t, err)
	said = providers.Message{}
	require.NoError(t, json.Unmarshal(stored, &said))
	change(&said)
	req.Messages = append(req.Messages[:2:2], said)
	for _, c := range said.ToolCalls {
		req.Messages = append(req.Messages, providers.Message{Role: providers.ToolRole, ToolID: c.ID, Text: "ok"})
	}
	s, spec := claudes.serve(t, handle)
	_, err = open(t, spec).Generate(t.Context(), req)
	return s, err
}

func assistantSent(t *testing.T, body string) string {
	t.Helper()
	var sent struct {
		Messages []struct{ Content json.RawMessage }
	}
	require.NoError(t, json.Unmarshal([]byte(body), &sent))
	return string(sent.Messages[1].Content)
}

func TestThoughtsAreSentBack(t *testing.T) {
	const (
		think1 = `{"type":"thinking","thinking":"","signature":"S1"},{"type":"redacted_thinking","data":"D"}`
		think2 = `{"type":"thinking","thinking":"more","signature":"S2"}`
		call1  = `{"type":"tool_use","id":"a","name":"weather","input":{"p":1}}`
		call2  = `{"type":"tool_use","id":"b","name":"clock","input":{}}`
	)
	tests := []struct {
		name   string
		change func(m *providers.Message)
		want   string
	}{
		{"as they came", func(*providers.Message) {}, `[` + thoughtful + `]`},
		{"another text", func(m *providers.Message) { m.Text = "let me think" }, `[` + think1 + `,{"type":"text","text":"let me think"},` + call1 + `,` + think2 + `,` + call2 + `]`},
		{"no text", func(m *providers.Message) { m.Text = "" }, `[` + think1 + `,` + call1 + `,` + think2 + `,` + call2 + `]`},
		{"one call", func(m *providers.Message) { m.ToolCalls = m.ToolCalls[:1] }, `[` + think1 + `,{"type":"text","text":"let me see"},` + call1 + `]`},
		{"no extras", func(m *providers.Message) { m.ToolCalls[0].Extra, m.ToolCalls[1].Extra = nil, nil }, `[{"type":"text","text":"let me see"},` + call1 + `,` + call2 + `]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := again(t, tt.change, reply(200, claudes.body(hello)))
			require.NoError(t, err)
			assert.JSONEq(t, tt.want, assistantSent(t, s.bodies[0]))
		})
	}
}

// Thoughts belong to the messages before them. If these have changed, the thoughts are
// left out.
func TestThoughtsOfAnotherConversation(t *testing.T) {
	const message = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation."
	refuse := reply(400, claudes.failure(400, odd, message))
	answer := reply(200, claudes.body(hello))
	n := 0
	s, err := again(t, func(*providers.Message) {}, func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 1 {
			refuse(w, r)
			return
		}
		answer(w, r)
	})
	require.NoError(t, err)
	require.Equal(t, 2, s.hits())
	assert.Contains(t, s.bodies[0], "S1")
	assert.NotContains(t, s.bodies[1], "S1")

	s, err = again(t, func(*providers.Message) {}, refuse)
	assert.Equal(t, providers.Invalid, fault(t, err).Kind)
	assert.Equal(t, 2, s.hits(), "once more, not for ever")
}

func TestModelsOfClaude(t *testing.T) {
	tests := []struct {
		model     string
		sampling  bool
		format    bool
		force     bool
		maxTokens float64
	}{
		{"claude-sonnet-5-5", false, true, false, 32000},
		{"claude-opus-5-5", false, true, false, 32000},
		{"claude-haiku-5-5", false, true, true, 32000},
		{"claude-opus-5", false, true, true, 32000},
		{"claude-opus-4-7", false, true, true, 32000},
		{"claude-opus-4-6", true, true, true, 32000},
		{"claude-haiku-4-5-20251001", true, true, true, 32000},
		{"anthropic/claude-sonnet-4.5", true, true, true, 32000},
		{"claude-opus-4-1-20250805", true, false, true, 32000},
		{"claude-sonnet-4-20250514", true, false, true, 32000},
		{"claude-3-7-sonnet-latest", true, false, true, 32000},
		{"claude-3-5-haiku-20241022", true, false, true, 8192},
		{"claude-3-haiku-20240307", true, false, true, 4096},
		{"claude-opus-7", false, true, false, 32000}, // not known: as the newest
	}
	for _, tt := range tests {
		t.Run(tt.model, func(t *testing.T) {
			v := claudes
			v.model = tt.model
			s, spec := v.serve(t, reply(200, v.body(hello)))
			spec.Temperature = new(0.5)
			req := hi
			req.Output = json.RawMessage(person)
			_, err := open(t, spec).Generate(t.Context(), req)
			require.NoError(t, err)
			body := s.sent(t)
			assert.Equal(t, tt.sampling, body["temperature"] != nil, "temperature")
			assert.Equal(t, tt.format, body["output_config"] != nil, "output_config")
			assert.Equal(t, !tt.format, body["tools"] != nil, "answer as a tool")
			assert.Equal(t, tt.maxTokens, body["max_tokens"])

			req.Output, req.Tools, req.ToolChoice = nil, []providers.Tool{clock}, "required"
			_, err = open(t, spec).Generate(t.Context(), req)
			require.NoError(t, err)
			last := s.requests()[1]
			assert.Equal(t, tt.force, strings.Contains(last, `"tool_choice":{"type":"any"}`))
			assert.Equal(t, !tt.force, strings.Contains(last, "Answer by calling at least one of the tools."), "it is told")
		})
	}
}

func TestAnswerAsATool(t *testing.T) {
	v := claudes
	v.model = "claude-opus-4-1"
	answer := providers.ToolCall{ID: "a", Name: "answer", Input: json.RawMessage(`{"name": "Ann","age":1.50}`)}
	weatherCall := providers.ToolCall{ID: "w", Name: "weather", Input: json.RawMessage(`{}`)}
	tests := []struct {
		name   string
		tools  []providers.Tool
		choice string
		said   said
		sent   string // the choice
		tool   string // the answer's
		want   providers.Response
	}{
		{
			name: "alone", said: said{text: "here:", calls: []providers.ToolCall{answer}, stop: providers.StopTools},
			sent: `{"type":"tool","name":"answer"}`, tool: "answer",
			want: providers.Response{Text: `{"name":"Ann","age":1.50}`, Stop: providers.StopEnd},
		},
		{
			name: "beside a tool", tools: []providers.Tool{weather}, said: said{calls: []providers.ToolCall{answer}, stop: providers.StopTools},
			sent: `{"type":"any"}`, tool: "answer",
			want: providers.Response{Text: `{"name":"Ann","age":1.50}`, Stop: providers.StopEnd},
		},
		{
			name: "another tool is called", tools: []providers.Tool{weather}, said: said{text: "hm", calls: []providers.ToolCall{answer, weatherCall}, stop: providers.StopTools},
			sent: `{"type":"any"}`, tool: "answer",
			want: providers.Response{Text: "hm", ToolCalls: []providers.ToolCall{weatherCall}, Stop: providers.StopTools},
		},
		{
			name: "no tools now", tools: []providers.Tool{weather}, choice: "none", said: said{calls: []providers.ToolCall{answer}, stop: providers.StopTools},
			sent: `{"type":"tool","name":"answer"}`, tool: "answer",
			want: providers.Response{Text: `{"name":"Ann","age":1.50}`, Stop: providers.StopEnd},
		},
		{
			name: "a tool of that name", tools: []providers.Tool{{Name: "answer"}}, said: said{calls: []providers.ToolCall{answer}, stop: providers.StopTools},
			sent: `{"type":"any"}`, tool: "final_answer",
			want: providers.Response{ToolCalls: []providers.ToolCall{{ID: "a", Name: "answer", Input: json.RawMessage(`{"name":"Ann","age":1.50}`)}}, Stop: providers.StopTools},
		},
		{
			name: "another tool is wanted", tools: []providers.Tool{weather}, choice: "weather", said: said{calls: []providers.ToolCall{weatherCall}, stop: providers.StopTools},
			sent: `{"type":"tool","name":"weather"}`,
			want: providers.Response{ToolCalls: []providers.ToolCall{weatherCall}, Stop: providers.StopTools},
		},
		{
			name: "cut", said: said{calls: []providers.ToolCall{answer}, stop: providers.StopLength},
			sent: `{"type":"tool","name":"answer"}`, tool: "answer",
			want: providers.Response{Text: `{"name":"Ann","age":1.50}`, Stop: providers.StopLength},
		},
	}
	for _, tt := range tests {
		for _, streamed := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.name, " ", streamed), func(t *testing.T) {
				handle := reply(200, v.body(tt.said))
				if streamed {
					handle = events(v.piecesOf(modeltest.Chunks(tt.said.text), tt.said)...)
				}
				s, spec := v.serve(t, handle)
				var told strings.Builder
				req := hi
				req.Output, req.Tools, req.ToolChoice = json.RawMessage(person), tt.tools, tt.choice
				req.OnText = func(chunk string) error { told.WriteString(chunk); return nil }
				got, err := open(t, spec).Generate(t.Context(), req)
				require.NoError(t, err)
				tt.want.Model, tt.want.Usage = spec.String(), v.charged()
				if streamed { // as the model wrote it
					tt.want.Text = strings.Replace(tt.want.Text, `"name":"Ann"`, `"name": "Ann"`, 1)
					for i := range tt.want.ToolCalls {
						tt.want.ToolCalls[i].Input = got.ToolCalls[i].Input
					}
				}
				assert.Equal(t, tt.want, got)
				assert.Equal(t, got.Text, told.String())
				assert.JSONEq(t, tt.sent, field(t, s.sent(t), "tool_choice"))
				if tt.tool == "" {
					assert.Len(t, s.sent(t)["tools"], len(tt.tools))
					return
				}
				tools := s.sent(t)["tools"].([]any)
				require.Len(t, tools, len(tt.tools)+1)
				last := tools[len(tt.tools)].(map[string]any)
				assert.Equal(t, tt.tool, last["name"])
				assert.JSONEq(t, person, written(last["input_schema"]))
			})
		}
	}
}
