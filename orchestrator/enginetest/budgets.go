package enginetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

var budgetChecks = []check{
	{name: "calls", run: budgetCalls},
	{name: "cost", run: budgetCost},
	{name: "a negative limit allows nothing", run: budgetNothing},
	{name: "a call without a known price under a limit on cost", run: budgetUnpriced},
	{name: "an estimate is reserved", run: budgetEstimate},
	{name: "what is left is told to the agent", run: budgetTold},
	{name: "time gives up calls under way", run: budgetWall},
	{name: "an inner budget counts in the outer one", run: budgetNested},
	{name: "a share of a little is nothing", run: budgetSplit},
	{name: "Spent and Left", run: budgetLeft},
	{name: "failed calls cost", run: budgetFailed},
	{name: "an empty budget is the status out-of-budget", run: budgetStatus},
	{name: "cleaning up is allowed without a budget", run: budgetShielded},
}

// untilRefused calls an agent until a budget refuses. It returns the number of calls before.
func untilRefused(c *orchestrator.Context, l agent.Limits) (int, error) {
	for n := 0; ; n++ {
		if _, err := c.Call("a", agent.Request{Limits: l}); err != nil || n == 100 {
			return n, err
		}
	}
}

// refused runs untilRefused under b, requires ErrBudget, and returns the number of calls.
func refused(h *host, b orchestrator.Budget, u providers.Usage, l agent.Limits) int {
	h.t.Helper()
	n, err := within(h, b, agent.Roster{"a": uses(u)}, func(c *orchestrator.Context) (int, error) { return untilRefused(c, l) })
	require.ErrorIs(h.t, err, orchestrator.ErrBudget)
	return n
}

func budgetCalls(t *testing.T, h *host) {
	assert.Equal(t, 3, refused(h, orchestrator.Budget{Calls: 3}, providers.Usage{}, agent.Limits{}), "an agent that reports none counts as one")
	assert.Equal(t, 2, refused(h, orchestrator.Budget{Calls: 6}, providers.Usage{Calls: 3}, agent.Limits{}), "calls of models: 0+3, 3+3")
	assert.Equal(t, 1, refused(h, orchestrator.Budget{Calls: 5}, providers.Usage{Calls: 3}, agent.Limits{}), "3+3 > 5")
}

func budgetCost(t *testing.T, h *host) {
	assert.Equal(t, 2, refused(h, orchestrator.Budget{Cost: 10}, providers.Usage{Cost: 5}, agent.Limits{}))
}

func budgetNothing(t *testing.T, h *host) {
	for _, b := range []orchestrator.Budget{{Calls: -1}, {Tokens: -1}, {Cost: -1}, {Wall: -1}} {
		assert.Zero(t, refused(h, b, providers.Usage{}, agent.Limits{}), "%+v", b)
	}
}

func budgetUnpriced(t *testing.T, h *host) {
	assert.Equal(t, 1, refused(h, orchestrator.Budget{Cost: 10}, providers.Usage{Unpriced: 1}, agent.Limits{}), "the price shows only afterwards")
}

// sideBySide is an agent whose calls take a while. It counts those that are under way.
type sideBySide struct {
	mu        sync.Mutex
	now, most int
}

// Call implements agent.Agent.
func (a *sideBySide) Call(ctx context.Context, _ agent.Request) (agent.Response, error) {
	a.count(1)
	defer a.count(-1)
	select {
	case <-time.After(10 * time.Millisecond):
	case <-ctx.Done():
	}
	return agent.Response{}, ctx.Err()
}

func (a *sideBySide) count(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now += n
	a.most = max(a.most, a.now)
}

func budgetEstimate(t *testing.T, h *host) {
	a := &sideBySide{}
	_, err := within(h, orchestrator.Budget{Cost: 10}, agent.Roster{"a": a}, func(c *orchestrator.Context) (none, error) {
		orchestrator.Map(c, make([]int, 2), 0, func(c *orchestrator.Context, _ int) (none, error) {
			_, err := c.Call("a", agent.Request{Limits: agent.Limits{Estimate: 6}})
			return none{}, err
		})
		_, err := c.Call("a", agent.Request{Limits: agent.Limits{Estimate: 11}})
		return none{}, err
	})
	require.ErrorIs(t, err, orchestrator.ErrBudget, "11 do not fit into 10")
	assert.Equal(t, 1, a.most, "6 and 6 do not fit into 10")
}

func budgetTold(t *testing.T, h *host) {
	a := &tells{texts: []string{"", ""}}
	_, err := within(h, orchestrator.Budget{Cost: 10}, agent.Roster{"a": a}, func(c *orchestrator.Context) (none, error) {
		_, _ = c.Call("a", agent.Request{})
		_, err := c.WithBudget(orchestrator.Budget{Cost: 4}).Call("a", agent.Request{})
		return none{}, err
	})
	require.NoError(t, err)
	assert.Equal(t, []providers.NanoUSD{10, 4}, []providers.NanoUSD{a.asked[0].Limits.Cost, a.asked[1].Limits.Cost})
}

func budgetWall(t *testing.T, h *host) {
	_, err := within(h, orchestrator.Budget{Wall: 20 * time.Millisecond}, agent.Roster{"hang": hang}, func(c *orchestrator.Context) (string, error) {
		return ask(c, "hang", "")
	})
	require.ErrorIs(t, err, orchestrator.ErrBudget)

	_, err = run(h, agent.Roster{"hang": hang}, func(c *orchestrator.Context) (none, error) {
		sub := c.WithBudget(orchestrator.Budget{Wall: 20 * time.Millisecond})
		return none{}, sub.Sleep(time.Hour)
	})
	require.ErrorIs(t, err, orchestrator.ErrBudget, "a part of a run")
}

func budgetNested(t *testing.T, h *host) {
	got, err := within(h, orchestrator.Budget{Calls: 3}, agent.Roster{"a": uses(providers.Usage{})}, func(c *orchestrator.Context) ([]int, error) {
		n, _ := untilRefused(c.WithBudget(orchestrator.Budget{Calls: 2}), agent.Limits{})
		m, err := untilRefused(c.WithBudget(orchestrator.Budget{Calls: 2}), agent.Limits{})
		return []int{n, m}, err
	})
	require.ErrorIs(t, err, orchestrator.ErrBudget)
	assert.Equal(t, []int{2, 1}, got)
}

func budgetSplit(t *testing.T, h *host) {
	got, err := within(h, orchestrator.Budget{Calls: 2}, agent.Roster{"a": uses(providers.Usage{})}, func(c *orchestrator.Context) (int, error) {
		return untilRefused(c.WithBudget(c.Left().Split(3)), agent.Limits{})
	})
	require.ErrorIs(t, err, orchestrator.ErrBudget)
	assert.Zero(t, got)
}

func budgetLeft(t *testing.T, h *host) {
	type books struct {
		Spent, Inner providers.Usage
		Left         orchestrator.Budget
	}
	used := providers.Usage{Calls: 1, Input: 2, Output: 3, Cost: 4}
	got, err := within(h, orchestrator.Budget{Calls: 5, Cost: 10}, agent.Roster{"a": uses(used)}, func(c *orchestrator.Context) (books, error) {
		_, _ = c.Call("a", agent.Request{})
		sub := c.WithBudget(orchestrator.Budget{Calls: 2, Tokens: 5})
		_, err := sub.Call("a", agent.Request{})
		return books{Spent: c.Spent(), Inner: sub.Spent(), Left: sub.Left()}, err
	})
	require.NoError(t, err)
	assert.Equal(t, books{
		Spent: used.Add(used), Inner: used,
		Left: orchestrator.Budget{Calls: 1, Tokens: -1, Cost: 2},
	}, got)
}

func budgetFailed(t *testing.T, h *host) {
	failed := &agent.Error{Message: "no", Usage: providers.Usage{Calls: 1, Cost: 7}}
	got, err := run(h, agent.Roster{"a": fails(failed)}, func(c *orchestrator.Context) (providers.NanoUSD, error) {
		_, _ = c.Call("a", agent.Request{})
		return c.Spent().Cost, nil
	})
	require.NoError(t, err)
	assert.Equal(t, providers.NanoUSD(7), got)
}

func budgetStatus(t *testing.T, h *host) {
	f := flow(h, func(c *orchestrator.Context, _ none) (int, error) { return untilRefused(c, agent.Limits{}) })
	r, err := f.Start(h.ctx, h.engine(agent.Roster{"a": uses(providers.Usage{Calls: 1})}), none{}, orchestrator.StartOptions{Budget: orchestrator.Budget{Calls: 1}})
	require.NoError(t, err)
	require.NoError(t, r.Wait(h.ctx))
	i := info(h, r)
	assert.Equal(t, orchestrator.OutOfBudget, i.Status)
	assert.Equal(t, int64(1), i.Spent.Calls)
}

func budgetShielded(t *testing.T, h *host) {
	got, err := within(h, orchestrator.Budget{Calls: 1, Wall: time.Hour}, agent.Roster{"echo": echo}, func(c *orchestrator.Context) (string, error) {
		_, _ = ask(c, "echo", "")
		if _, err := ask(c, "echo", ""); err == nil {
			return "", errPoor
		}
		return ask(c.WithoutCancel(), "echo", "tidy")
	})
	require.NoError(t, err)
	assert.Equal(t, "tidy", got)
}
