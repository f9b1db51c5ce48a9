package director_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/board"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/providers"
)

// paid is an answer at a price.
func paid(dollars float64, answer any) agent.Response {
	return agent.Response{Data: agent.JSON(answer), Usage: providers.Usage{Calls: 1, Cost: providers.Dollars(dollars)}}
}

func TestShares(t *testing.T) {
	// three are tasks that need nothing of each other.
	three := []board.Definition{}
	for _, id := range []string{"a", "b", "c"} {
		three = append(three, board.Definition{ID: id, Component: id, Phase: "plan", Profile: "planner_worker", Criteria: []string{"it is there"}})
	}
	cfg := director.Software()
	cfg.Agents = director.Agents{Director: "director", Strategist: "strategist"}
	cfg.Policy.NoTestPlaceholders = true
	cfg.Limits = director.Limits{Parallel: 2, Cost: 10 * providers.USD, Reserve: 10, Estimate: providers.Dollars(0.5)}
	for i := range cfg.Profiles {
		cfg.Profiles[i].Estimate = providers.USD
	}
	play := func(t *testing.T, worker float64) (played, []providers.NanoUSD) {
		t.Helper()
		p := script{
			cfg: cfg, in: director.Input{Objective: "three things", Tasks: three},
			roles: map[string]func(a asked) any{
				"work": func(a asked) any { return slow{time.Minute, paid(worker, done(a.task, a.attempt))} },
				"qa":   func(a asked) any { return paid(0.5, pass(a.req)) },
			},
		}.play(t)
		var limits []providers.NanoUSD
		for _, a := range p.of("work") {
			limits = append(limits, a.req.Limits.Cost)
		}
		return p, limits
	}
	t.Run("BC65 what is left without the reserve is divided by the free places", func(t *testing.T) {
		p, limits := play(t, 1)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		// (10 - 1) / 2 each; then a has cost 1, and b 1 of its 4.5: what is left is for c alone.
		assert.Equal(t, []providers.NanoUSD{providers.Dollars(4.5), providers.Dollars(4.5)}, limits[:2])
		assert.Len(t, limits, 3)
		assert.Equal(t, providers.Dollars(4.5), p.out.Spent.Cost)
	})
	t.Run("BX27 without money for another attempt, what is done is reviewed from the reserve", func(t *testing.T) {
		p, limits := play(t, 4.5)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		assert.Equal(t, director.BudgetExhausted, p.out.End)
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.Len(t, limits, 2)
		assert.Len(t, p.of("qa"), 2)
		assert.Equal(t, 2, p.out.Summary[board.Complete])
		assert.Equal(t, []string{"c"}, p.out.Pending)
	})
}
