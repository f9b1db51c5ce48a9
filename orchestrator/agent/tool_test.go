package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
)

type query struct {
	Words string `json:"words" jsonschema:"what to look for"`
	Order string `json:"order,omitempty" enum:"newest,best"`
	Most  int    `json:"most,omitempty" min:"1" max:"50"`
}

// tool makes a tool of a function, or fails the test.
func tool[In any](t testing.TB, name string, call func(context.Context, In) (string, error)) agent.Tool {
	t.Helper()
	made, err := agent.NewTool(name, "does "+name, call)
	require.NoError(t, err)
	return made
}

// found is a search that says what it was asked.
func found(_ context.Context, q query) (string, error) { return fmt.Sprintf("%+v", q), nil }

func TestNewTool(t *testing.T) {
	search := tool(t, "search", found)
	assert.Equal(t, "search", search.Name)
	assert.Equal(t, "does search", search.Description)
	assert.JSONEq(t, `{
		"type": "object",
		"properties": {
			"words": {"type": "string", "description": "what to look for"},
			"order": {"type": "string", "enum": ["newest", "best"]},
			"most": {"type": "integer", "minimum": 1, "maximum": 50}
		},
		"required": ["words"],
		"additionalProperties": false
	}`, string(search.Input))

	got, err := search.Call(t.Context(), json.RawMessage(`{"words":"go","most":3}`))
	require.NoError(t, err)
	assert.Equal(t, "{Words:go Order: Most:3}", got)

	ask := func(input string) fake.Answer {
		return fake.Answer{ToolCalls: []providers.ToolCall{{Name: "search", Input: json.RawMessage(input)}}}
	}
	m := fake.New(t, ask(`{"words":"go","most":"3","order":"Best"}`), ask(`{"words":"go","most":51}`), fake.Text("done"))
	resp, err := agent.LLM{Model: m, Tools: []agent.Tool{search}}.Call(t.Context(), agent.Request{Prompt: "go"})
	require.NoError(t, err)
	assert.Equal(t, "{Words:go Order:best Most:3}", resp.Messages[1].Text, "what loses nothing is converted")
	assert.Contains(t, resp.Messages[3].Text, `want {"type":"integer","minimum":1,"maximum":50}, got 51`)
}

func TestNewToolRefuses(t *testing.T) {
	type loop struct{ Inner []loop }
	nothing := func(context.Context, query) (string, error) { return "", nil }
	made := func(_ agent.Tool, err error) error { return err }
	tests := []struct {
		name string
		err  error
		says string
	}{
		{"no name", made(agent.NewTool("", "", nothing)), "its name is not 1 to 64 letters"},
		{"a name with a dot", made(agent.NewTool("web.search", "", nothing)), `tool "web.search": its name is not`},
		{"a long name", made(agent.NewTool(strings.Repeat("x", 65), "", nothing)), "its name is not"},
		{"no function", made(agent.NewTool[query]("search", "", nil)), "Call is nil"},
		{"a list", made(agent.NewTool("search", "", func(context.Context, []string) (string, error) { return "", nil })), "its input is []string, want a struct"},
		{"a pointer", made(agent.NewTool("search", "", func(context.Context, *query) (string, error) { return "", nil })), "its input is *agent_test.query, want a struct"},
		{"anything", made(agent.NewTool("search", "", func(context.Context, any) (string, error) { return "", nil })), "its input is interface {}, want a struct"},
		{"a type without end", made(agent.NewTool("search", "", func(context.Context, loop) (string, error) { return "", nil })), "contains itself"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.ErrorContains(t, tt.err, tt.says) })
	}
	t.Run("every fault is named", func(t *testing.T) {
		_, err := agent.NewTool[query]("a b", "", nil)
		require.ErrorContains(t, err, "its name is not")
		assert.ErrorContains(t, err, "Call is nil")
	})
}

func TestLLMRefusesTools(t *testing.T) {
	call := func(context.Context, json.RawMessage) (string, error) { return "", nil }
	named := func(name, schema string) agent.Tool {
		return agent.Tool{Tool: providers.Tool{Name: name, Input: json.RawMessage(schema)}, Call: call}
	}
	tests := []struct {
		name string
		llm  agent.LLM
		says string
	}{
		{"without a function", agent.LLM{Tools: []agent.Tool{{Tool: providers.Tool{Name: "a"}}}}, `Tools[0] "a": Call is nil`},
		{"with a name that vendors refuse", agent.LLM{Tools: []agent.Tool{named("ä", "{}")}}, `Tools[0] "ä": its name`},
		{"with a schema that is none", agent.LLM{Tools: []agent.Tool{named("a", "{}"), named("b", `["x"]`)}}, `Tools[1] "b": the schema Input is not a JSON object`},
		{"with a schema that is cut off", agent.LLM{Tools: []agent.Tool{named("a", `{"type":`)}}, `Tools[0] "a": the schema Input is not a JSON object`},
		{"of one name", agent.LLM{Tools: []agent.Tool{named("a", "{}"), named("a", "{}")}}, `Tools[1] "a": the name is there twice`},
		{"for fewer than no turns", agent.LLM{MaxTurns: -1}, "MaxTurns is -1, want 0 or more"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.llm.Model = fake.New(t) // must not be asked
			_, err := tt.llm.Call(t.Context(), agent.Request{Prompt: "x"})
			assert.ErrorContains(t, err, tt.says)
		})
	}
}

// Whatever a tool does, the model sees it and continues.
func TestToolResults(t *testing.T) {
	long := strings.Repeat("ä", agent.MaxToolResult) // of 2 bytes each
	strict := agent.Tool{
		Tool: providers.Tool{Name: "strict", Input: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)},
		Call: func(_ context.Context, input json.RawMessage) (string, error) { return string(input), nil },
	}
	lookahead := strict
	lookahead.Name, lookahead.Input = "lookahead", json.RawMessage(`{"type":"object","properties":{"n":{"pattern":"(?=x)"}}}`)
	bare := agent.Tool{Tool: providers.Tool{Name: "bare"}, Call: strict.Call}
	text := func(text string) agent.Tool {
		return tool(t, "tool", func(context.Context, struct{}) (string, error) { return text, nil })
	}
	tests := []struct {
		name  string
		tool  agent.Tool
		call  providers.ToolCall
		wants string
	}{
		{"a text", text("fine"), providers.ToolCall{Name: "tool"}, "fine"},
		{"nothing", text(""), providers.ToolCall{Name: "tool"}, "(the tool returned nothing)"},
		{"bytes that are no text", text("a\xffb"), providers.ToolCall{Name: "tool"}, "a?b"},
		{"a text that is too long", text(long), providers.ToolCall{Name: "tool"}, long[:agent.MaxToolResult] + "\n[cut: the first 65536 of 131072 bytes]"},
		{"a text that is cut inside of a character", text("x" + long), providers.ToolCall{Name: "tool"}, "x" + long[:agent.MaxToolResult-2] + "\n[cut: the first 65535 of 131073 bytes]"},
		{
			"an error",
			tool(t, "tool", func(context.Context, struct{}) (string, error) { return "half", errors.New("the disk is full") }),
			providers.ToolCall{Name: "tool"},
			"error: the disk is full",
		},
		{
			"an error of its own clock",
			tool(t, "tool", func(context.Context, struct{}) (string, error) { return "", context.DeadlineExceeded }),
			providers.ToolCall{Name: "tool"},
			"error: context deadline exceeded",
		},
		{
			"a panic",
			tool(t, "tool", func(context.Context, struct{}) (string, error) { panic("oops") }),
			providers.ToolCall{Name: "tool"},
			"error: the tool panicked: oops",
		},
		{
			"a goroutine that ends",
			tool(t, "tool", func(context.Context, struct{}) (string, error) { runtime.Goexit(); return "", nil }),
			providers.ToolCall{Name: "tool"},
			"error: the tool ended its goroutine",
		},
		{"an unknown tool", strict, providers.ToolCall{Name: "loose"}, `error: there is no tool "loose"; there are: strict`},
		{"input that fits", strict, providers.ToolCall{Name: "strict", Input: json.RawMessage(`{"n": 1}`)}, `{"n":1}`},
		{"input that is converted", strict, providers.ToolCall{Name: "strict", Input: json.RawMessage(`{"n":"1"}`)}, `{"n":1}`},
		{"input that does not fit", strict, providers.ToolCall{Name: "strict", Input: json.RawMessage(`{"n":"one"}`)}, "error: the input does not fit: "},
		{"input that lacks a field", strict, providers.ToolCall{Name: "strict"}, `error: the input does not fit: `},
		{"input that is no object", strict, providers.ToolCall{Name: "strict", Input: json.RawMessage(`[1]`)}, "error: the input does not fit: it is not a JSON object"},
		{"input that is no JSON", strict, providers.ToolCall{Name: "strict", Input: json.RawMessage(`{"n":`)}, "error: the input does not fit: it is not a JSON object"},
		{"input for a tool that takes none", bare, providers.ToolCall{Name: "bare", Input: json.RawMessage(`null`)}, "{}"},
		{"a schema that Go cannot check", lookahead, providers.ToolCall{Name: "lookahead", Input: json.RawMessage(`{"n":"y"}`)}, `{"n":"y"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.call.ID = "c1"
			m := fake.New(t, fake.Answer{ToolCalls: []providers.ToolCall{tt.call}}, fake.Text("done"))
			resp, err := agent.LLM{Model: m, Tools: []agent.Tool{tt.tool}}.Call(t.Context(), agent.Request{Prompt: "go"})
			require.NoError(t, err)
			assert.Equal(t, "done", resp.Text)
			shown := m.Requests()[1].Messages
			got := shown[len(shown)-1]
			assert.Equal(t, providers.ToolRole, got.Role)
			assert.Equal(t, "c1", got.ToolID)
			if strings.HasSuffix(tt.wants, ": ") {
				assert.True(t, strings.HasPrefix(got.Text, tt.wants), got.Text)
			} else {
				assert.Equal(t, tt.wants, got.Text)
			}
			assert.Equal(t, int64(1), resp.Usage.ToolCalls)
			_, err = json.Marshal(resp)
			assert.NoError(t, err, "it can be kept, whatever the model wrote")
		})
	}
}

func TestTooManyToolCalls(t *testing.T) {
	made := make(chan int, 200)
	count := tool(t, "count", func(_ context.Context, in struct{ N int }) (string, error) {
		made <- in.N
		return "counted", nil
	})
	var calls []providers.ToolCall
	for i := range 130 {
		calls = append(calls, providers.ToolCall{ID: fmt.Sprint("c", i), Name: "count", Input: agent.JSON(map[string]int{"N": i})})
	}
	m := fake.New(t, fake.Answer{ToolCalls: calls}, fake.Text("done"))
	resp, err := agent.LLM{Model: m, Tools: []agent.Tool{count}}.Call(t.Context(), agent.Request{Prompt: "go"})
	require.NoError(t, err)
	assert.Len(t, made, 128)
	require.Len(t, resp.Messages, 1+130)
	assert.Equal(t, "counted", resp.Messages[1+127].Text)
	assert.Equal(t, providers.Message{
		Role: providers.ToolRole, ToolID: "c128",
		Text: "error: not called: one turn asks for 130 calls, and at most 128 are made",
	}, resp.Messages[1+128])
}
