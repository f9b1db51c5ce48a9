package agent_test

import (
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
	short, ok := agent.LLM{Model: m}.Estimate(req)
	require.True(t, ok)
	assert.GreaterOrEqual(t, short, providers.NanoUSD(500*2+100*10))
	long, ok := agent.LLM{Model: m, Instructions: strings.Repeat("y", 1000)}.Estimate(req)
	require.True(t, ok)
	assert.Equal(t, short+500*2, long)
	_, ok = agent.LLM{Model: fake.New(nil)}.Estimate(req)
	assert.False(t, ok)
}
