package orchestrator_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// Whether calls without a known price pass under a limit on cost is the host's word.
func TestAllowUnpriced(t *testing.T) {
	twice := flow("twice", func(c *orchestrator.Context) (orchestrator.Budget, error) {
		for range 2 {
			if _, err := ask(c, "a", ""); err != nil {
				return c.Left(), err
			}
		}
		return c.Left(), nil
	})
	var told []bool
	unpriced := agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
		told = append(told, req.Limits.AllowUnpriced)
		return agent.Response{Usage: providers.Usage{Calls: 1, Unpriced: 1}}, nil
	})
	e := local(t, orchestrator.Config{Agents: agent.Roster{"a": unpriced}})
	for _, tt := range []struct {
		name          string
		outer, inner  orchestrator.Budget
		calls         int
		allowed, fail bool
	}{
		{"refused", orchestrator.Budget{Cost: 10}, orchestrator.Budget{}, 1, false, true},
		{"allowed", orchestrator.Budget{Cost: 10, AllowUnpriced: true}, orchestrator.Budget{}, 2, true, false},
		{"refused by one of two", orchestrator.Budget{Cost: 10, AllowUnpriced: true}, orchestrator.Budget{Cost: 5}, 1, false, true},
		{"allowed by both", orchestrator.Budget{Cost: 10, AllowUnpriced: true}, orchestrator.Budget{Cost: 5, AllowUnpriced: true}, 2, true, false},
		{"no limit on cost", orchestrator.Budget{AllowUnpriced: true}, orchestrator.Budget{}, 2, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			told = nil
			f := flow("outer", func(c *orchestrator.Context) (orchestrator.Budget, error) {
				return twice.Do(c.WithBudget(tt.inner), none{})
			})
			r, err := f.Start(t.Context(), e, none{}, orchestrator.StartOptions{Budget: tt.outer})
			require.NoError(t, err)
			left, err := f.Result(t.Context(), r)
			if tt.fail {
				require.ErrorIs(t, err, orchestrator.ErrBudget)
			} else {
				require.NoError(t, err)
			}
			assert.Len(t, told, tt.calls)
			assert.Equal(t, tt.allowed, told[0])
			assert.Equal(t, tt.allowed || tt.outer.Cost == 0, left.AllowUnpriced, "also without a Cost beside it")
		})
	}
}

// An agent that answers in slices is called until it is done.
func TestAskGoesOn(t *testing.T) {
	turn := 0
	sliced := agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
		turn++
		said := []providers.Message{{Role: providers.Assistant, Text: "step"}}
		switch turn {
		case 1:
			assert.Empty(t, req.History)
			return agent.Response{More: true, Messages: said, Usage: providers.Usage{Calls: 1}}, nil
		case 2:
			assert.Len(t, req.History, 2)
			assert.Empty(t, req.Prompt, "it is said already")
			assert.Nil(t, req.Input)
			return agent.Response{Text: "no number", Usage: providers.Usage{Calls: 1}}, nil
		default:
			assert.Len(t, req.History, 3)
			assert.Equal(t, "how many?\n\n<input>\n\"x\"\n</input>", req.History[0].Text)
			assert.Contains(t, req.Prompt, "cannot be used")
			assert.JSONEq(t, `"x"`, string(req.Input), "an agent that reads it needs it again")
			return agent.Response{Text: "7", Usage: providers.Usage{Calls: 1}}, nil
		}
	})
	f := flow("ask", func(c *orchestrator.Context) (int, error) {
		n, resp, err := orchestrator.Ask[int](c, "a", agent.Request{Prompt: "how many?", Input: agent.JSON("x")})
		assert.Equal(t, int64(3), resp.Usage.Calls)
		return n, err
	})
	got, err := f.Run(t.Context(), local(t, orchestrator.Config{Agents: agent.Roster{"a": sliced}}), none{})
	require.NoError(t, err)
	assert.Equal(t, 7, got)
}
