package toolbox_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director/toolbox"
	"github.com/convene-go/convene/providers"
)

type place struct {
	City string `json:"city" jsonschema:"its English name"`
	Days int    `json:"days,omitempty" min:"1" max:"7"`
}

func newTool[In any](t *testing.T, name, description string, call func(context.Context, In) (string, error)) agent.Tool {
	t.Helper()
	tool, err := agent.NewTool(name, description, call)
	require.NoError(t, err)
	return tool
}

// weather are two domains, with what was called.
func weather(t *testing.T) (domains []toolbox.Domain, called *[]string) {
	t.Helper()
	called = new([]string)
	forecast := newTool(t, "forecast", "Says what the weather will be", func(ctx context.Context, in place) (string, error) {
		*called = append(*called, agent.InfoFrom(ctx).Key)
		return "rain in " + in.City, nil
	})
	ping := agent.Tool{Tool: providers.Tool{Name: "ping", Description: "Says pong"}, Call: func(context.Context, json.RawMessage) (string, error) { return "pong", nil }}
	return []toolbox.Domain{{Name: "research", Does: "about the world", Tools: []agent.Tool{forecast}}, {Name: "ops", Tools: []agent.Tool{ping}}}, called
}

func TestToolbox(t *testing.T) {
	domains, called := weather(t)
	tools, err := toolbox.New(domains...)
	require.NoError(t, err)
	use := func(name, input string) (string, error) {
		i := 0
		if name == "call_tool" {
			i = 1
		}
		return tools[i].Call(agent.WithInfo(t.Context(), agent.Info{Key: "k"}), json.RawMessage(input))
	}
	t.Run("BC64 B56 two tools, whose prompt has no schema of the libraries", func(t *testing.T) {
		require.Len(t, tools, 2)
		assert.Equal(t, []string{"find_tools", "call_tool"}, []string{tools[0].Name, tools[1].Name})
		for _, tool := range tools {
			assert.NotContains(t, string(tool.Input)+tool.Description, "forecast")
			assert.NotContains(t, string(tool.Input), "English")
		}
	})
	t.Run("BC64 one finds", func(t *testing.T) {
		for input, want := range map[string]string{
			`{}`:                          "# research about the world\n  research/forecast: Says what the weather will be\n# ops\n  ops/ping: Says pong\n",
			`{"domain":"ops"}`:            "# ops\n  ops/ping: Says pong\n",
			`{"words":"WORLD weather"}`:   "# research about the world\n  research/forecast: Says what the weather will be\n",
			`{"tools":["ops/ping"]}`:      "ops/ping: Says pong\n  input: {}\n",
			`{"words":"pong weather"}`:    "",
			`{"domain":"code"}`:           "",
			`{"tools":["forecast"]}`:      "",
			`{"tools":["ops/ping","x"]}`:  "",
			`{"domain":"ops","words":""}`: "# ops\n  ops/ping: Says pong\n",
		} {
			got, err := use("find_tools", input)
			if want == "" {
				require.Error(t, err, input)
				continue
			}
			require.NoError(t, err, input)
			assert.Equal(t, want, got, input)
		}
		schema, err := use("find_tools", `{"tools":["research/forecast"]}`)
		require.NoError(t, err)
		assert.Contains(t, schema, `its English name`)
		_, err = use("find_tools", `{"domain":"code"}`)
		require.EqualError(t, err, `no tool fits domain "code" and words ""; the domains are ["research" "ops"]`)
		_, err = use("find_tools", `{"tools":["forecast"]}`)
		require.EqualError(t, err, `there is no tool "forecast": find_tools lists those that there are, as domain/tool`)
	})
	t.Run("BC64 one calls", func(t *testing.T) {
		for _, input := range []string{
			`{"tool":"research/forecast","input":{"city":"Oslo"}}`, `{"tool":"research/forecast","input":"{\"city\":\"Oslo\",\"days\":\"2\"}"}`,
		} {
			got, err := use("call_tool", input)
			require.NoError(t, err, input)
			assert.Equal(t, "rain in Oslo", got)
		}
		assert.Equal(t, []string{"k", "k"}, *called)
		got, err := use("call_tool", `{"tool":"ops/ping"}`)
		require.NoError(t, err)
		assert.Equal(t, "pong", got)
	})
	t.Run("BC64 an input that does not fit calls nothing, and says what is wanted", func(t *testing.T) {
		before := len(*called)
		for _, input := range []string{`{}`, `{"city":"Oslo","days":9}`, `["Oslo"]`, `"Oslo"`, `7`} {
			_, err := use("call_tool", `{"tool":"research/forecast","input":`+input+`}`)
			require.ErrorContains(t, err, "the input of research/forecast does not fit", input)
			require.ErrorContains(t, err, "its English name", input)
		}
		_, err := use("call_tool", `{"tool":"rm"}`)
		require.EqualError(t, err, `there is no tool "rm": find_tools lists those that there are, as domain/tool`)
		assert.Len(t, *called, before)
	})
	t.Run("BC64 bad libraries, all faults at once", func(t *testing.T) {
		_, err := toolbox.New(toolbox.Domain{Name: "a/b"}, toolbox.Domain{Name: "ops", Tools: []agent.Tool{{}, domains[1].Tools[0], domains[1].Tools[0]}}, toolbox.Domain{Name: "ops"})
		require.EqualError(t, err, `toolbox: domains[0]: Name is "a/b", want one without a slash that no earlier domain has`+"\n"+
			`domains[1].Tools[0]: Name is "", want one that no earlier tool has, and a Call`+"\n"+
			`domains[1].Tools[2]: Name is "ping", want one that no earlier tool has, and a Call`+"\n"+
			`domains[2]: Name is "ops", want one without a slash that no earlier domain has`)
	})
}
