package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
)

func TestEstimate(t *testing.T) {
	price := &providers.Price{Input: 2_000_000, Output: 10_000_000} // nano-USD 2 and 10 a token
	m := providers.Metered{Model: fake.New(nil), Spec: providers.Spec{Provider: "p", Model: "m", Price: price}}
	req := agent.Request{Prompt: strings.Repeat("x", 1000), Limits: agent.Limits{MaxTokens: 100}}
	short, ok := agent.LLM{Model: m, Instructions: "yy"}.Estimate(req)
	require.True(t, ok)
	assert.GreaterOrEqual(t, short, providers.NanoUSD(500*2+100*10))
	long, ok := agent.LLM{Model: m, Instructions: strings.Repeat("y", 1000)}.Estimate(req)
	require.True(t, ok)
	assert.Equal(t, short+499*2, long)
	_, ok = agent.LLM{Model: fake.New(nil)}.Estimate(req)
	assert.False(t, ok)
}

// A host gives a team what its agents' models and prompts tell.
func TestEstimatesOfARoster(t *testing.T) {
	price := &providers.Price{Input: 2_000_000, Output: 10_000_000} // nano-USD 2 and 10 a token
	priced := providers.Metered{Model: fake.New(nil), Spec: providers.Spec{Provider: "p", Model: "m", Price: price}}
	writer := agent.LLM{Model: priced, Instructions: strings.Repeat("y", 1000)}
	roster := agent.Roster{
		"writer": writer, "critic": agent.LLM{Model: priced, Instructions: "yy"}, "unknown": agent.LLM{Model: fake.New(nil)},
		"code": agent.Func(func(context.Context, agent.Request) (agent.Response, error) { return agent.Response{}, nil }),
	}
	like := agent.Request{Prompt: strings.Repeat("x", 1000), Limits: agent.Limits{MaxTokens: 100}}
	got := roster.Estimates(like)
	require.Len(t, got, 2, "of those that can tell")
	want, _ := writer.Estimate(like)
	assert.Equal(t, want, got["writer"])
	assert.Equal(t, want-499*2, got["critic"], "its instructions are shorter")
}
