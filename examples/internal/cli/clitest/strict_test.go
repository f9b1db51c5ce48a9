package clitest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/examples/internal/cli/clitest"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// A tool loop with all that today's models refuse passes: with a temperature, a step of
// effort, a schema and 32,000 tokens.
func TestStrictModelsTakeAToolLoop(t *testing.T) {
	for _, model := range clitest.StrictModels {
		t.Run(model, func(t *testing.T) {
			s := clitest.NewStrict(t, model, func(string) string { return `{"text":"hello"}` })
			settings := cli.Settings{Program: "p", DB: "p.db"}
			_, err := cli.Parse(settings.Flags(), s.Flags())
			require.NoError(t, err)
			require.NoError(t, settings.Check())
			m, err := settings.Open(func(k string) string { return s.Env()[k] }, func(why error) { t.Error(why) })
			require.NoError(t, err)
			clock, err := agent.NewTool("clock", "Tells the time.", func(context.Context, struct{}) (string, error) { return "noon", nil })
			require.NoError(t, err)
			llm := agent.LLM{Model: m, Instructions: "Be brief.", Tools: []agent.Tool{clock}}
			req := agent.Request{
				Prompt: "What time is it?", Temperature: new(0.7), Params: providers.Params{Effort: providers.EffortMinimal},
				Output: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}`),
				Limits: agent.Limits{MaxTokens: 32_000},
			}
			for range 2 {
				resp, err := llm.Call(t.Context(), req)
				require.NoError(t, err)
				assert.JSONEq(t, `{"text":"hello"}`, resp.Text)
				require.Len(t, resp.Messages, 2, "a call and its result")
			}
			assert.Equal(t, int64(4), s.Calls.Load())
			refused := s.Refused.Load()
			_, err = llm.Call(t.Context(), req)
			require.NoError(t, err)
			assert.Equal(t, refused, s.Refused.Load(), "what was refused is remembered")
		})
	}
}

// The server refuses what it says it does.
func TestStrictModelsAreStrict(t *testing.T) {
	const tools, long = `"tools":[{"type":"function","name":"f","function":{"name":"f"}}]`, `"max_tokens":32000`
	tests := []struct{ model, path, body, want string }{
		{"openai:gpt-6-sol", "/v1/chat/completions", `"stream":true,"temperature":0`, "'temperature' is not supported"},
		{"openai:gpt-6-sol", "/v1/chat/completions", `"stream":true,"reasoning_effort":"low",` + tools, "use /v1/responses"},
		{"openai:gpt-6-sol", "/v1/responses", `"stream":true,"input":[{"type":"function_call"}]`, "required 'reasoning' item"},
		{"openai:o4-mini", "/v1/chat/completions", `"stream":true,` + long, "'max_tokens' is not supported"},
		{"openai:o4-mini", "/v1/chat/completions", `"stream":true,"reasoning_effort":"minimal"`, "does not support 'minimal'"},
		{"deepseek:deepseek-reasoner", "/chat/completions", `"stream":true,"messages":[{"role":"assistant","tool_calls":[{}]}]`, "must be passed back"},
		{"anthropic:claude-opus-5-5", "/v1/messages", `"stream":true,"top_p":1`, "'top_p' is not supported"},
		{"anthropic:claude-opus-5-5", "/v1/messages", long, "Streaming is required"},
		{"anthropic:claude-opus-5-5", "/v1/messages", `"stream":true,"messages":[{"role":"assistant","content":[{"type":"tool_use"}]}]`, "but found `tool_use`"},
		{"anthropic:claude-opus-5-5", "/v1/messages", `"stream":true,"tool_choice":{"type":"any"}`, "forces tool use"},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			s := clitest.NewStrict(t, tt.model, func(string) string { return "hello" })
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+tt.path, strings.NewReader("{"+tt.body+"}"))
			require.NoError(t, err)
			r.Header.Set("Authorization", "Bearer sk-test")
			resp, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			defer func() { assert.NoError(t, resp.Body.Close()) }()
			require.Equal(t, http.StatusBadRequest, resp.StatusCode)
			var said struct{ Error struct{ Message string } }
			require.NoError(t, json.NewDecoder(resp.Body).Decode(&said))
			assert.Contains(t, said.Error.Message, tt.want)
			assert.Zero(t, s.Calls.Load())
		})
	}
}
