package agent_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
)

func TestShow(t *testing.T) {
	png := providers.Part{Kind: providers.ImagePart, Media: "image/png", Data: []byte("png")}
	camera := agent.Tool{Tool: providers.Tool{Name: "camera"}, Call: func(ctx context.Context, _ json.RawMessage) (string, error) {
		require.NoError(t, agent.Show(ctx, png))
		require.ErrorContains(t, agent.Show(ctx, providers.Part{Kind: "film"}), "unknown kind")
		require.ErrorContains(t, agent.Show(ctx, png, png, png, png, png, png, png, png), "at most 8")
		return "a cat", nil
	}}
	m := fake.New(t, fake.Answer{ToolCalls: []providers.ToolCall{{ID: "c", Name: "camera"}}}, fake.Answer{Text: "cute"})
	resp, err := agent.LLM{Model: m, Tools: []agent.Tool{camera}}.Call(t.Context(), agent.Request{Prompt: "look"})
	require.NoError(t, err)
	want := providers.Message{Role: providers.ToolRole, ToolID: "c", Text: "a cat", Parts: []providers.Part{png}}
	asked := m.Requests()[1].Messages
	assert.Equal(t, want, asked[len(asked)-1])
	assert.Equal(t, want, resp.Messages[len(resp.Messages)-1], "it is recorded")
	require.ErrorContains(t, agent.Show(t.Context(), png), "not that of a tool's call")
}

func TestShowOfAToolLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := providers.Part{Kind: providers.ImagePart, Media: "image/png", Data: []byte("page")}
		late := providers.Part{Kind: providers.ImagePart, Media: "image/png", Data: []byte("late")}
		browser := agent.Tool{Tool: providers.Tool{Name: "browser"}, Call: func(ctx context.Context, _ json.RawMessage) (string, error) {
			assert.NoError(t, agent.Show(ctx, page))
			<-time.After(time.Hour) // whatever ctx says
			assert.NoError(t, agent.Show(ctx, late))
			return "loaded", nil
		}}
		m := fake.New(t, fake.Answer{ToolCalls: []providers.ToolCall{{ID: "c", Name: "browser"}}})
		resp, err := agent.LLM{Model: m, Tools: []agent.Tool{browser}}.Call(t.Context(), agent.Request{Prompt: "look", Limits: agent.Limits{Slice: time.Minute}})
		require.NoError(t, err)
		<-time.After(2 * time.Hour)
		last := resp.Messages[len(resp.Messages)-1]
		assert.Contains(t, last.Text, "may still be running")
		assert.Equal(t, []providers.Part{page}, last.Parts)
	})
}
