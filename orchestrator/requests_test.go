package orchestrator_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// Whatever of a request has changed since it was recorded is a divergence; how it
// is asked, its Limits, is not (TestLimitsMayChange).
func TestEveryPartOfARequestCounts(t *testing.T) {
	cold, warm := 0.0, 0.5
	said := func(ms ...providers.Message) []providers.Message { return ms }
	user := providers.Message{Role: providers.User, Text: "hi"}
	tool := providers.Message{Role: providers.Assistant, ToolCalls: []providers.ToolCall{{ID: "1", Name: "look", Input: json.RawMessage(`{}`)}}}
	otherTool := providers.Message{Role: providers.Assistant, ToolCalls: []providers.ToolCall{{ID: "1", Name: "look", Input: json.RawMessage(`[]`)}}}
	tests := []struct {
		name     string
		old, now agent.Request
	}{
		{"operation", agent.Request{Op: "read"}, agent.Request{Op: "write"}},
		{"prompt", agent.Request{Prompt: "a"}, agent.Request{Prompt: "b"}},
		{"input", agent.Request{Input: json.RawMessage(`1`)}, agent.Request{Input: json.RawMessage(`2`)}},
		{"schema", agent.Request{Output: json.RawMessage(`{}`)}, agent.Request{Output: json.RawMessage(`{"type":"object"}`)}},
		{"temperature", agent.Request{Temperature: &cold}, agent.Request{Temperature: &warm}},
		{"a temperature where there was none", agent.Request{}, agent.Request{Temperature: &cold}},
		{"a message", agent.Request{History: said(user)}, agent.Request{History: said(providers.Message{Role: providers.User, Text: "ho"})}},
		{"one more message", agent.Request{History: said(user)}, agent.Request{History: said(user, user)}},
		{"the role of a message", agent.Request{History: said(user)}, agent.Request{History: said(providers.Message{Role: providers.Assistant, Text: "hi"})}},
		{"a tool's call", agent.Request{History: said(tool)}, agent.Request{History: said(otherTool)}},
		{"a tool's answer", agent.Request{History: said(providers.Message{Role: providers.ToolRole, ToolID: "1"})}, agent.Request{History: said(providers.Message{Role: providers.ToolRole, ToolID: "2"})}},
		{"text that moved from one part to another", agent.Request{Op: "ab", Prompt: "c"}, agent.Request{Op: "a", Prompt: "bc"}},
		{"a prompt that became an input", agent.Request{Prompt: "1"}, agent.Request{Input: json.RawMessage(`1`)}},
	}
	asks := func(req agent.Request) orchestrator.Flow[none, string] {
		return flow("asks", func(c *orchestrator.Context) (string, error) {
			resp, err := c.Call("a", req)
			return resp.Text, err
		})
	}
	c := orchestrator.Config{Agents: agent.Roster{"a": echo}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := whole(t, c, asks(tt.old))
				log = log[:len(log)-1]
				_, err := again(t, c, asks(tt.old), log)
				require.NoError(t, err, "unchanged")
				_, err = again(t, c, asks(tt.now), log)
				require.ErrorIs(t, err, orchestrator.ErrDiverged)
				assert.ErrorContains(t, err, `record 1 is "called" of effect 0 (a)`)
			})
		})
	}
}

// A run is its input's, too: it is recorded, and a resume takes the recorded one.
func TestInputIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := orchestrator.Flow[string, string]{Name: "in", Do: func(c *orchestrator.Context, in string) (string, error) {
			text, err := ask(c, "a", in)
			return text, err
		}}
		s := newPlain()
		c := orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: s, Flows: []orchestrator.AnyFlow{f}}
		e, err := orchestrator.NewLocal(c)
		require.NoError(t, err)
		_, err = f.Start(t.Context(), e, "tea", orchestrator.StartOptions{ID: "x", Labels: map[string]string{"for": "ann"}})
		require.NoError(t, err)
		synctest.Wait()
		require.NoError(t, e.Close(t.Context()))
		c.Agents = agent.Roster{"a": echo}
		runs, err := listed(local(t, c).Resume(t.Context()))
		require.NoError(t, err)
		require.Len(t, runs, 1)
		got, err := f.Result(t.Context(), runs[0])
		require.NoError(t, err)
		assert.Equal(t, "tea", got)
		i, err := runs[0].Info(t.Context())
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"for": "ann"}, i.Labels)
	})
}

// A recorded input that is not of the flow's type is a divergence, not a zero.
func TestInputOfAnotherType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: newPlain()}
		e, err := orchestrator.NewLocal(c)
		require.NoError(t, err)
		text := orchestrator.Flow[string, string]{Name: "in", Do: func(c *orchestrator.Context, in string) (string, error) { return ask(c, "a", in) }}
		_, err = text.Start(t.Context(), e, "tea", orchestrator.StartOptions{ID: "x"})
		require.NoError(t, err)
		synctest.Wait()
		require.NoError(t, e.Close(t.Context()))
		number := orchestrator.Flow[int, string]{Name: "in", Do: func(c *orchestrator.Context, _ int) (string, error) { return ask(c, "a", "") }}
		c.Flows = []orchestrator.AnyFlow{number}
		runs, err := listed(local(t, c).Resume(t.Context()))
		require.NoError(t, err)
		require.Len(t, runs, 1)
		err = runs[0].Wait(t.Context())
		require.ErrorIs(t, err, orchestrator.ErrDiverged)
		assert.ErrorContains(t, err, `the recorded input of flow "in" is no int`)
	})
}
