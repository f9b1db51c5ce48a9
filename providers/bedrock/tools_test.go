package bedrock_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
)

const newest = "us.anthropic.claude-opus-5-5"

var (
	add    = providers.Tool{Name: "add", Description: "adds", Input: json.RawMessage(`{"type":"object","properties":{"z":{},"a":{}}}`)}
	list   = providers.Tool{Name: "list"}
	schema = json.RawMessage(`{"type":"object","properties":{"z":{"minimum":1},"a":{}}}`)
)

func TestTools(t *testing.T) {
	wants := map[string]struct{ field, tools string }{
		"claude": {"tools", `[
			{"name":"add","description":"adds","input_schema":{"type":"object","properties":{"z":{},"a":{}}}},
			{"name":"list","input_schema":{"type":"object","properties":{}}}]`},
		"converse": {"toolConfig", `{"tools":[
			{"toolSpec":{"name":"add","description":"adds","inputSchema":{"json":{"type":"object","properties":{"z":{},"a":{}}}}}},
			{"toolSpec":{"name":"list","inputSchema":{"json":{"type":"object","properties":{}}}}}]}`},
	}
	for name, want := range wants {
		t.Run(name, func(t *testing.T) {
			f := families[name]
			s := serve(t, reply(200, f.hello()))
			req := hi
			req.Tools = []providers.Tool{add, list}
			_, err := f.open(t, s).Generate(t.Context(), req)
			require.NoError(t, err)
			assert.JSONEq(t, want.tools, s.field(t, want.field))
			assert.Contains(t, s.bodies[0], `{"z":{},"a":{}}`, "the order of a schema")
			assert.NotContains(t, s.sent(t), "tool_choice")
		})
	}
}

func TestToolChoice(t *testing.T) {
	after := append(hi.Messages[:2:2], providers.Message{Role: providers.Assistant, ToolCalls: []providers.ToolCall{{ID: "c1", Name: "add"}}},
		providers.Message{Role: providers.ToolRole, ToolID: "c1", Text: "3"})
	claude, nova := families["claude"].model, families["converse"].model
	tests := []struct {
		name, model, choice string
		messages            []providers.Message
		field, want         string
		told                string
	}{
		{"claude none", claude, "none", hi.Messages, "tool_choice", `{"type":"none"}`, ""},
		{"claude required", claude, "required", hi.Messages, "tool_choice", `{"type":"any"}`, ""},
		{"claude one", claude, "add", hi.Messages, "tool_choice", `{"type":"tool","name":"add"}`, ""},
		{"newest none", newest, "none", hi.Messages, "tool_choice", `{"type":"none"}`, ""},
		{"newest required", newest, "required", hi.Messages, "tool_choice", `null`, "calling at least one of the tools"},
		{"newest one", newest, "add", hi.Messages, "tool_choice", `null`, `calling the tool \"add\"`},
		{"converse none", nova, "none", hi.Messages, "toolConfig", `null`, ""},
		{"converse none after calls", nova, "none", after, "toolConfig", `{"tools":[{"toolSpec":{"name":"add","inputSchema":{"json":{"type":"object","properties":{}}}}}]}`, "Call no tool now"},
		{"converse required", nova, "required", hi.Messages, "toolConfig", `{"tools":[{"toolSpec":{"name":"add","inputSchema":{"json":{"type":"object","properties":{}}}}}],"toolChoice":{"any":{}}}`, ""},
		{"converse one", nova, "add", hi.Messages, "toolConfig", `{"tools":[{"toolSpec":{"name":"add","inputSchema":{"json":{"type":"object","properties":{}}}}}],"toolChoice":{"tool":{"name":"add"}}}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, reply(200, "{}"))
			req := providers.Request{Messages: tt.messages, Tools: []providers.Tool{{Name: "add"}}, ToolChoice: tt.choice}
			_, err := open(t, providers.Spec{Provider: "bedrock", Model: tt.model, BaseURL: s.URL}).Generate(t.Context(), req)
			fault(t, err)
			assert.JSONEq(t, tt.want, s.field(t, tt.field))
			assert.Contains(t, s.field(t, "system"), tt.told)
			assert.Equal(t, tt.told != "", strings.Contains(s.field(t, "system"), "tool"), "told of tools")
		})
	}
}

func TestSchemaBecomesATool(t *testing.T) {
	f := families["claude"]
	answer := f.call("c9", "answer", `{"z":1, "a":2}`)
	tests := []struct {
		name    string
		choice  string
		tools   []providers.Tool
		says    string
		want    string // tool_choice
		text    string
		stop    providers.Stop
		calls   int
		oneMore int // tools sent beside those of the request
	}{
		{name: "alone", says: answer, want: `{"type":"tool","name":"answer"}`, text: `{"z":1, "a":2}`, stop: providers.StopEnd, oneMore: 1},
		{name: "with prose", says: f.text("here it is") + "," + answer, want: `{"type":"tool","name":"answer"}`, text: `{"z":1, "a":2}`, stop: providers.StopEnd, oneMore: 1},
		{name: "or a tool", tools: []providers.Tool{add}, says: answer, want: `{"type":"any"}`, text: `{"z":1, "a":2}`, stop: providers.StopEnd, oneMore: 1},
		{name: "a tool first", tools: []providers.Tool{add}, says: f.text("wait") + "," + f.call("c1", "add", `{}`) + "," + answer, want: `{"type":"any"}`, text: "wait", stop: providers.StopTools, calls: 1, oneMore: 1},
		{name: "no tool", tools: []providers.Tool{add}, choice: "none", says: answer, want: `{"type":"tool","name":"answer"}`, text: `{"z":1, "a":2}`, stop: providers.StopEnd, oneMore: 1},
		{name: "a tool is wanted", tools: []providers.Tool{add}, choice: "add", says: f.call("c1", "add", `{}`), want: `{"type":"tool","name":"add"}`, stop: providers.StopTools, calls: 1},
		{name: "any tool is wanted", tools: []providers.Tool{add}, choice: "required", says: f.call("c1", "add", `{}`), want: `{"type":"any"}`, stop: providers.StopTools, calls: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, reply(200, f.says(`"tool_use"`, tt.says)))
			req := hi
			req.Output, req.Tools, req.ToolChoice = schema, tt.tools, tt.choice
			var told []string
			req.OnText = func(text string) error { told = append(told, text); return nil }
			got, err := f.open(t, s).Generate(t.Context(), req)
			require.NoError(t, err)
			assert.JSONEq(t, tt.want, s.field(t, "tool_choice"))
			assert.Equal(t, tt.text, got.Text)
			assert.Equal(t, tt.stop, got.Stop)
			assert.Len(t, got.ToolCalls, tt.calls)
			sent := s.sent(t)["tools"].([]any)
			assert.Len(t, sent, len(tt.tools)+tt.oneMore)
			if tt.oneMore > 0 {
				assert.Contains(t, s.bodies[0], `"input_schema":`+string(schema))
			}
			if tt.text != "" {
				assert.Equal(t, []string{tt.text}, told)
			}
		})
	}
}

func TestSchemaBesideAToolOfThatName(t *testing.T) {
	f := families["claude"]
	s := serve(t, reply(200, f.says(`"tool_use"`, f.call("c1", "answer", `{}`))))
	req := hi
	req.Output, req.Tools = schema, []providers.Tool{{Name: "answer"}}
	got, err := f.open(t, s).Generate(t.Context(), req)
	require.NoError(t, err)
	require.Len(t, got.ToolCalls, 1)
	assert.Equal(t, "final_answer", s.sent(t)["tools"].([]any)[1].(map[string]any)["name"])
}

func TestCutAnswerOfASchema(t *testing.T) {
	f := families["claude"]
	s := serve(t, reply(200, f.says(`"max_tokens"`, f.call("c1", "answer", `{"z":1}`))))
	req := hi
	req.Output = schema
	got, err := f.open(t, s).Generate(t.Context(), req)
	require.NoError(t, err)
	assert.Equal(t, providers.StopLength, got.Stop)
	assert.Equal(t, `{"z":1}`, got.Text)
	assert.Empty(t, got.ToolCalls)
}

// Where a schema cannot become a tool, the model is told it.
func TestSchemaInWords(t *testing.T) {
	tests := []struct{ name, model, schema string }{
		{"newest", newest, string(schema)},
		{"converse", families["converse"].model, string(schema)},
		{"no object", families["claude"].model, `{"type":"array","items":{}}`},
		{"no type", families["claude"].model, `{"anyOf":[]}`},
		{"of everything", families["claude"].model, `true`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, reply(200, families["claude"].hello()))
			req := hi
			req.Output = json.RawMessage(tt.schema)
			_, _ = open(t, providers.Spec{Provider: "bedrock", Model: tt.model, BaseURL: s.URL}).Generate(t.Context(), req)
			told, err := json.Marshal("nothing else:\n" + tt.schema)
			require.NoError(t, err)
			assert.Contains(t, s.field(t, "system"), string(told[1:len(told)-1]))
			assert.Contains(t, s.field(t, "system"), "be brief")
			for _, field := range []string{"tools", "tool_choice", "toolConfig"} {
				assert.NotContains(t, s.sent(t), field)
			}
		})
	}
}

// Calls that were made before want their tools in the request, which must not be
// called any more.
func TestToolsThatWereCalledBefore(t *testing.T) {
	messages := append(hi.Messages[:2:2],
		providers.Message{Role: providers.Assistant, ToolCalls: []providers.ToolCall{{ID: "c1", Name: "add"}, {ID: "c2", Name: "list"}, {ID: "c3", Name: "add"}}},
		providers.Message{Role: providers.ToolRole, ToolID: "c1", Text: "3"})
	tests := []struct{ name, model, field, want, choice, told string }{
		{
			"claude", families["claude"].model, "tools", `[
				{"name":"add","input_schema":{"type":"object","properties":{}}},
				{"name":"list","input_schema":{"type":"object","properties":{}}}]`,
			`{"type":"none"}`, "be brief",
		},
		{
			"converse", families["converse"].model, "toolConfig", `{"tools":[
				{"toolSpec":{"name":"add","inputSchema":{"json":{"type":"object","properties":{}}}}},
				{"toolSpec":{"name":"list","inputSchema":{"json":{"type":"object","properties":{}}}}}]}`,
			`null`, "Call no tool now.",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, reply(200, "{}"))
			m := open(t, providers.Spec{Provider: "bedrock", Model: tt.model, BaseURL: s.URL})
			_, err := m.Generate(t.Context(), providers.Request{Messages: messages})
			fault(t, err)
			assert.JSONEq(t, tt.want, s.field(t, tt.field))
			assert.JSONEq(t, tt.choice, s.field(t, "tool_choice"))
			assert.Contains(t, s.field(t, "system"), tt.told)
		})
	}
}
