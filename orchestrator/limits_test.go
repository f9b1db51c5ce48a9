package orchestrator_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// looper is a model that asks for the tool "look" in each of its turns, which use 40
// tokens each.
var looper = providers.ModelFunc(func(context.Context, providers.Request) (providers.Response, error) {
	return providers.Response{
		ToolCalls: []providers.ToolCall{{ID: "1", Name: "look", Input: []byte("{}")}},
		Usage:     providers.Usage{Calls: 1, Input: 30, Output: 10},
	}, nil
})

// clerk is an agent made of looper.
func clerk(t *testing.T) agent.Agent {
	t.Helper()
	look, err := agent.NewTool("look", "looks", func(context.Context, struct{}) (string, error) { return "nothing", nil })
	require.NoError(t, err)
	return agent.LLM{Model: looper, Tools: []agent.Tool{look}}
}

// spentUnder runs a flow of n calls of an agent, side by side, and returns the errors and
// what the run has used.
func spentUnder(t *testing.T, b orchestrator.Budget, a agent.Agent, n int, l agent.Limits) (errs []error, used providers.Usage) {
	t.Helper()
	f := flow("spend", func(c *orchestrator.Context) (none, error) {
		for _, r := range orchestrator.Map(c, make([]none, n), 0, func(c *orchestrator.Context, _ none) (none, error) {
			_, err := c.Call("a", agent.Request{Prompt: "go", Limits: l})
			return none{}, err
		}) {
			errs = append(errs, r.Err)
		}
		return none{}, nil
	})
	e := local(t, orchestrator.Config{Agents: agent.Roster{"a": a}})
	r, err := f.Start(t.Context(), e, none{}, orchestrator.StartOptions{Budget: b})
	require.NoError(t, err)
	require.NoError(t, r.Wait(t.Context()))
	info, err := r.Info(t.Context())
	require.NoError(t, err)
	return errs, info.Spent
}

func TestLimitsBoundAToolLoop(t *testing.T) {
	for name, tt := range map[string]struct {
		budget orchestrator.Budget
		turns  int64
	}{
		"N10 one call":                      {orchestrator.Budget{Calls: 1}, 1},
		"N10 seven calls":                   {orchestrator.Budget{Calls: 7}, 7},
		"N10 100 tokens, 40 a turn":         {orchestrator.Budget{Tokens: 100}, 2},
		"N10 fewer tokens than a turn uses": {orchestrator.Budget{Tokens: 10}, 1},
		"N10 the least counts":              {orchestrator.Budget{Tokens: 1000, Calls: 3}, 3},
		"N10 no limit but that on turns":    {orchestrator.Budget{}, 20},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				errs, used := spentUnder(t, tt.budget, clerk(t), 1, agent.Limits{})
				assert.Equal(t, tt.turns, used.Calls)
				require.Len(t, errs, 1)
				if tt.budget != (orchestrator.Budget{}) {
					require.ErrorIs(t, errs[0], orchestrator.ErrBudget)
				}
				assert.False(t, orchestrator.IsOver(errs[0]), "it is the agent's own error")
			})
		})
	}
	t.Run("N10 side by side, with limits that the flow sets", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			errs, used := spentUnder(t, orchestrator.Budget{Calls: 10}, clerk(t), 3, agent.Limits{Calls: 4})
			assert.Equal(t, int64(8), used.Calls, "4 and 4; a third 4 does not fit")
			assert.True(t, orchestrator.IsOver(errs[2]))
		})
	})
}

// Attempts of a call that fails fit into the limits together.
func TestLimitsBoundAttempts(t *testing.T) {
	busy := agent.Transient(errors.New("busy"), 0)
	for name, tt := range map[string]struct {
		budget   orchestrator.Budget
		used     providers.Usage // of each attempt
		attempts int
	}{
		"N10 5 calls of 6, 100 tokens of 120": {orchestrator.Budget{Calls: 6, Tokens: 120}, providers.Usage{Calls: 5, Input: 100}, 1},
		"N10 5 calls of 10":                   {orchestrator.Budget{Calls: 10}, providers.Usage{Calls: 5}, 2},
		"N10 5 calls of 9":                    {orchestrator.Budget{Calls: 9}, providers.Usage{Calls: 5}, 1},
		"N10 100 tokens of 399":               {orchestrator.Budget{Tokens: 399}, providers.Usage{Input: 60, Output: 40}, 3},
		"N10 nothing used":                    {orchestrator.Budget{Calls: 1, Tokens: 1, Cost: 1}, providers.Usage{}, 4},
		"N10 no limit":                        {orchestrator.Budget{}, providers.Usage{Calls: 5, Input: 100, Cost: 100}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &flaky{fails: 9, err: busy, usage: tt.used}
				_, used := spentUnder(t, tt.budget, a, 1, agent.Limits{})
				assert.Len(t, a.at, tt.attempts)
				assert.Equal(t, max(tt.used.Calls*int64(tt.attempts), 1), used.Calls)
			})
		})
	}
	t.Run("N10 each attempt is told what is left of the call", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var told []agent.Limits
			a := agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
				told = append(told, req.Limits)
				return agent.Response{Usage: providers.Usage{Calls: 2, Input: 30, Cost: 100}}, busy
			})
			spentUnder(t, orchestrator.Budget{Calls: 6, Tokens: 100, Cost: 1000}, a, 1, agent.Limits{})
			assert.Equal(t, []agent.Limits{{Calls: 6, Tokens: 100, Cost: 1000}, {Calls: 4, Tokens: 70, Cost: 900}, {Calls: 2, Tokens: 40, Cost: 800}}, told)
		})
	})
}

func TestRefineTriesAgainAfterErrorsOfAgents(t *testing.T) {
	for _, own := range []agent.Code{orchestrator.ErrFlow, orchestrator.ErrBudget, orchestrator.ErrCanceled, orchestrator.ErrDiverged, "over", "broken-rule"} {
		t.Run("N16 "+string(own), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				a := agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
					calls++
					return agent.Response{}, own
				})
				f := flow("refine", func(c *orchestrator.Context) (none, error) {
					_, err := orchestrator.Refine(c, orchestrator.Refinement[string]{
						Attempts: 3,
						Try:      func(c *orchestrator.Context, _ orchestrator.Refined[string]) (string, error) { return ask(c, "a", "") },
						Grade:    func(*orchestrator.Context, string) (orchestrator.Verdict, error) { return orchestrator.Verdict{}, nil },
					})
					assert.False(t, orchestrator.IsOver(err))
					assert.False(t, orchestrator.IsBroken(err))
					return none{}, err
				})
				r, err := f.Start(t.Context(), local(t, orchestrator.Config{Agents: agent.Roster{"a": a}}), none{}, orchestrator.StartOptions{})
				require.NoError(t, err)
				require.NoError(t, r.Wait(t.Context()))
				info, err := r.Info(t.Context())
				require.NoError(t, err)
				assert.Equal(t, orchestrator.Failed, info.Status)
				assert.Equal(t, 3, calls)
			})
		})
	}
	t.Run("N16 an agent whose own flow is stuck", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			bug := flow("bug", func(*orchestrator.Context) (string, error) { panic("a bug") })
			inner := local(t, orchestrator.Config{})
			a := agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
				tries++
				_, err := bug.Run(ctx, inner, none{})
				return agent.Response{}, err
			})
			f := flow("outer", func(c *orchestrator.Context) (none, error) {
				_, err := orchestrator.Refine(c, orchestrator.Refinement[string]{
					Attempts: 3,
					Try:      func(c *orchestrator.Context, _ orchestrator.Refined[string]) (string, error) { return ask(c, "a", "") },
					Grade:    func(*orchestrator.Context, string) (orchestrator.Verdict, error) { return orchestrator.Verdict{}, nil },
				})
				return none{}, err
			})
			_, err := f.Run(t.Context(), local(t, orchestrator.Config{Agents: agent.Roster{"a": a}}), none{})
			require.ErrorIs(t, err, orchestrator.ErrFlow)
			assert.Equal(t, 3, tries)
		})
	})
	t.Run("N16 the flow's own broken rule ends it, a child's does not", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			scale := func(c *orchestrator.Context) (string, error) {
				tries++
				_, _, err := orchestrator.AskVerdict(c, "a", agent.Request{}, orchestrator.Scale{Min: 2, Max: 1})
				return "", err
			}
			kid := flow("kid", scale)
			refine := func(c *orchestrator.Context, try func(c *orchestrator.Context) (string, error)) error {
				tries = 0
				_, err := orchestrator.Refine(c, orchestrator.Refinement[string]{
					Attempts: 3,
					Try:      func(c *orchestrator.Context, _ orchestrator.Refined[string]) (string, error) { return try(c) },
				})
				return err
			}
			f := flow("f", func(c *orchestrator.Context) ([]int, error) {
				err := refine(c, scale)
				assert.True(t, orchestrator.IsBroken(err))
				own := tries
				err = refine(c, func(c *orchestrator.Context) (string, error) { return kid.Child(c, none{}) })
				assert.False(t, orchestrator.IsBroken(err))
				return []int{own, tries}, nil
			})
			got, err := f.Run(t.Context(), local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}}), none{})
			require.NoError(t, err)
			assert.Equal(t, []int{1, 3}, got)
		})
	})
}
