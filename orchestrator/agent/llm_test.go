package agent_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// model notes what it is asked and answers with what it is told.
type model struct {
	answer providers.Response
	err    error
	asked  providers.Request
	free   bool // its price is not known
}

func (m *model) Generate(_ context.Context, req providers.Request) (providers.Response, error) {
	m.asked = req
	return m.answer, m.err
}

// silent hides whether a model is priced.
type silent struct{ providers.Model }

func (m *model) Priced() bool { return !m.free }

func TestLLM(t *testing.T) {
	warm := 0.5
	req := agent.Request{
		Prompt: "Say hello.", Input: json.RawMessage(`{"to":"Ann"}`), Output: json.RawMessage(`{"type":"object"}`), Temperature: &warm,
		History: []providers.Message{{Role: providers.User, Text: "Hi"}, {Role: providers.Assistant, Text: "Yes?"}},
		Limits:  agent.Limits{MaxTokens: 7},
	}
	m := &model{answer: providers.Response{Text: " {\"a\":1}\n", Usage: providers.Usage{Input: 3, Output: 2}}}
	resp, err := agent.LLM{Model: m, Instructions: "You greet."}.Call(t.Context(), req)
	require.NoError(t, err)

	said := providers.Message{Role: providers.User, Text: "Say hello.\n\n<input>\n{\"to\":\"Ann\"}\n</input>"}
	assert.Equal(t, []providers.Message{
		{Role: providers.System, Text: "You greet."}, req.History[0], req.History[1], said,
	}, m.asked.Messages, "instructions, history, prompt with its input")
	assert.Equal(t, 7, m.asked.MaxTokens)
	assert.JSONEq(t, `{"type":"object"}`, string(m.asked.Output))
	assert.Same(t, &warm, m.asked.Temperature)
	assert.Equal(t, agent.Response{Text: " {\"a\":1}\n", Usage: providers.Usage{Calls: 1, Input: 3, Output: 2}}, resp, "nothing but what is new, and that once")
	next := agent.Continue(req, resp)
	assert.Equal(t, []providers.Message{
		req.History[0], req.History[1], said, {Role: providers.Assistant, Text: " {\"a\":1}\n"},
	}, next.History, "what the model was shown and said")
	assert.Empty(t, next.Prompt)
	assert.Empty(t, next.Input)
	assert.Len(t, req.History, 2, "the request is left as it was")
}

// Images and further settings reach the model, and images stay in the conversation.
func TestPartsAndParams(t *testing.T) {
	req := agent.Request{
		Parts:  []providers.Part{{Kind: providers.ImagePart, URL: "https://example.com/a.png"}},
		Params: providers.Params{Effort: providers.EffortLow, Extra: json.RawMessage(`{"a":1}`)},
	}
	m := &model{answer: providers.Response{Text: "a cat"}}
	resp, err := agent.LLM{Model: m}.Call(t.Context(), req)
	require.NoError(t, err)
	said := providers.Message{Role: providers.User, Parts: req.Parts}
	assert.Equal(t, []providers.Message{said}, m.asked.Messages)
	assert.Equal(t, req.Params, m.asked.Params)
	next := agent.Continue(req, resp)
	assert.Equal(t, []providers.Message{said, {Role: providers.Assistant, Text: "a cat"}}, next.History)
	assert.Empty(t, next.Parts)
	assert.Equal(t, req.Params, next.Params)
}

func TestLLMRefuses(t *testing.T) {
	ask := agent.Request{Prompt: "x"}
	dear := agent.Request{Prompt: "x", Limits: agent.Limits{Cost: providers.USD}}
	limited := &providers.Error{Kind: providers.RateLimited}
	for _, tt := range []struct {
		name string
		llm  agent.LLM
		req  agent.Request
		want error
	}{
		{"a refusal", agent.LLM{Model: &model{answer: providers.Response{Text: "no", Stop: providers.StopFilter}}}, ask, agent.ErrRefused},
		{"the model's error", agent.LLM{Model: &model{err: limited}}, ask, limited},
		{"no price under a limit on cost", agent.LLM{Model: &model{free: true}}, dear, agent.Code("budget")},
		{"a model that does not say under a limit on cost", agent.LLM{Model: silent{&model{}}}, dear, agent.Code("budget")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.llm.Call(t.Context(), tt.req)
			assert.ErrorIs(t, err, tt.want)
		})
	}
	t.Run("no model and no prompt", func(t *testing.T) {
		_, err := agent.LLM{}.Call(t.Context(), ask)
		assert.ErrorContains(t, err, "Model is nil")
		_, err = agent.LLM{Model: &model{}}.Call(t.Context(), agent.Request{})
		assert.ErrorContains(t, err, "neither Prompt nor Input")
		_, err = agent.LLM{Model: &model{}}.Call(t.Context(), agent.Request{History: []providers.Message{{Role: providers.User, Text: "x"}}})
		assert.ErrorContains(t, err, "neither Prompt nor Input", "said, and not asked")
	})
}

func TestUnpricedModelsMayBeAllowed(t *testing.T) {
	m := &model{free: true, answer: providers.Response{Text: "yes", Usage: providers.Usage{Calls: 1, Unpriced: 1}}}
	resp, err := agent.LLM{Model: m}.Call(t.Context(), agent.Request{Prompt: "x", Limits: agent.Limits{Cost: 1, AllowUnpriced: true}})
	require.NoError(t, err)
	assert.Equal(t, "yes", resp.Text)
}
