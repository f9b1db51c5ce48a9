package agent_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// origins is a model that notes where its requests come from.
type origins []providers.Origin

func (m *origins) Generate(ctx context.Context, _ providers.Request) (providers.Response, error) {
	*m = append(*m, providers.OriginFrom(ctx))
	return providers.Response{Text: "done"}, nil
}

func TestModelLearnsWhereARequestComesFrom(t *testing.T) {
	var m origins
	ctx := agent.WithInfo(t.Context(), agent.Info{Key: "run/3", Agent: "worker", Op: "work", Task: "t-1", Attempt: 2})
	_, err := agent.LLM{Model: &m}.Call(ctx, agent.Request{Prompt: "do"})
	require.NoError(t, err)
	assert.Equal(t, origins{{Key: "run/3/2.1", Agent: "worker", Op: "work", Task: "t-1", Attempt: 2}}, m)
}
