package enginetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// reserveChecks are about money that is reserved before an answer is there.
var reserveChecks = []check{
	{name: "tokens are reserved as calls have used them", run: budgetTokens},
	{name: "what does not fit beside a reservation waits", run: budgetWaits},
	{name: "a refusal says what is left, what was wanted, and names Estimate", run: budgetSays},
	{name: "budgets do not start from zero", run: sameBudget, resumes: true},
	{name: "a cost limit holds for calls side by side", run: reserveCalls},
	{name: "a cost limit holds for agents side by side", run: reserveAgents},
	{name: "a cost limit holds for children side by side", run: reserveChildren},
	{name: "a child that finds nothing left is refused, and told of Split", run: childrenRefused},
	{name: "children inside of children", run: childrenNested},
}

func budgetTokens(t *testing.T, h *host) {
	// 7 tokens a call: 0, 7, and 14 + 7 > 20.
	assert.Equal(t, 2, refused(h, orchestrator.Budget{Tokens: 20}, providers.Usage{Input: 4, Output: 3}, agent.Limits{}))
}

func budgetWaits(t *testing.T, h *host) {
	a := &sideBySide{}
	got, err := within(h, orchestrator.Budget{Cost: 10}, agent.Roster{"a": a}, func(c *orchestrator.Context) ([]none, error) {
		return orchestrator.Values(orchestrator.Map(c, make([]int, 3), 0, func(c *orchestrator.Context, _ int) (none, error) {
			_, err := c.Call("a", agent.Request{Limits: agent.Limits{Estimate: 6}})
			return none{}, err
		}))
	})
	require.NoError(t, err, "the calls cost nothing in the end")
	assert.Len(t, got, 3)
	assert.Equal(t, 1, a.most)
}

func budgetSays(t *testing.T, h *host) {
	_, err := within(h, orchestrator.Budget{Cost: 10}, agent.Roster{"a": uses(providers.Usage{Cost: 6})}, func(c *orchestrator.Context) (int, error) {
		return untilRefused(c, agent.Limits{})
	})
	require.ErrorIs(t, err, orchestrator.ErrBudget)
	assert.ErrorContains(t, err, "Estimate")
}

// cents returns n hundredths of a dollar.
func cents(n int64) providers.NanoUSD { return providers.NanoUSD(n) * providers.USD / 100 }

var dollar = orchestrator.Budget{Cost: providers.USD}

// priced is an agent whose nth call costs cost(n). If that is negative, the call fails and
// costs nothing. It counts its calls.
type priced struct {
	cost func(n int) int64 // cents; n is from 0

	mu    sync.Mutex
	calls int
}

func flat(cost int64) *priced { return &priced{cost: func(int) int64 { return cost }} }

// Call implements agent.Agent.
func (p *priced) Call(context.Context, agent.Request) (agent.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	cost := p.cost(p.calls)
	p.calls++
	if cost < 0 {
		return agent.Response{}, errPoor
	}
	return agent.Response{Usage: providers.Usage{Calls: 1, Cost: cents(cost)}}, nil
}

// callAll calls the agent a once in each of n branches.
func callAll(c *orchestrator.Context, n int, l agent.Limits) (providers.NanoUSD, error) {
	orchestrator.Map(c, make([]int, n), 0, func(c *orchestrator.Context, _ int) (none, error) {
		_, err := c.Call("a", agent.Request{Limits: l})
		return none{}, err
	})
	return c.Spent().Cost, nil
}

func reserveCalls(t *testing.T, h *host) {
	then := func(first, rest int64) func(int) int64 {
		return func(n int) int64 {
			if n == 0 {
				return first
			}
			return rest
		}
	}
	tests := []struct {
		name     string
		items    int
		estimate int64
		cost     func(int) int64
		calls    int
		spent    int64
	}{
		{"1,000 at 0.01", 1000, 0, flat(1).cost, 100, 100},
		{"1,000 at 0.03", 1000, 0, flat(3).cost, 33, 99},
		{"first 0.01, then 0.10", 1000, 0, then(1, 10), 10, 91},
		{"first fails unpaid, then 0.10", 1000, 0, then(-1, 10), 11, 100},
		{"0.60, then 0.01", 1000, 0, then(60, 1), 1, 60},
		{"Estimate 0.30, 10 items", 10, 30, flat(30).cost, 3, 90},
		{"100 free calls", 100, 0, flat(0).cost, 100, 0},
	}
	for _, tt := range tests {
		a := &priced{cost: tt.cost}
		spent, err := within(h, dollar, agent.Roster{"a": a}, func(c *orchestrator.Context) (providers.NanoUSD, error) {
			return callAll(c, tt.items, agent.Limits{Estimate: cents(tt.estimate)})
		})
		require.NoError(t, err, tt.name)
		assert.Equal(t, tt.calls, a.calls, "%s: calls", tt.name)
		assert.Equal(t, cents(tt.spent), spent, "%s: spent", tt.name)
	}
}

func reserveAgents(t *testing.T, h *host) {
	for _, tt := range []struct {
		name         string
		each         int // calls of an agent
		cost         int64
		calls, spent int64
	}{
		{"10 agents, one call of 0.50 each", 1, 50, 2, 100},
		{"10 agents, 10 calls of 0.05 each", 10, 5, 20, 100},
	} {
		agents := agent.Roster{}
		for i := range 10 {
			agents[fmt.Sprint("a", i)] = flat(tt.cost)
		}
		spent, err := within(h, dollar, agents, func(c *orchestrator.Context) (providers.Usage, error) {
			var names []string
			for i := range 10 * tt.each {
				names = append(names, fmt.Sprint("a", i%10))
			}
			orchestrator.Map(c, names, 0, func(c *orchestrator.Context, name string) (none, error) {
				_, err := c.Call(name, agent.Request{})
				return none{}, err
			})
			return c.Spent(), nil
		})
		require.NoError(t, err, tt.name)
		assert.Equal(t, tt.calls, spent.Calls, "%s: calls", tt.name)
		assert.Equal(t, cents(tt.spent), spent.Cost, "%s: spent", tt.name)
	}
}

// spender returns a flow that calls the agent a until its budget refuses.
func spender(h *host, l agent.Limits) orchestrator.Flow[none, int] {
	return child(h, func(c *orchestrator.Context) (int, error) {
		n, err := untilRefused(c, l)
		if errors.Is(err, orchestrator.ErrBudget) {
			err = nil
		}
		return n, err
	})
}

func reserveChildren(t *testing.T, h *host) {
	tenth := func(c *orchestrator.Context) *orchestrator.Context { return c.WithBudget(dollar.Split(10)) }
	part := func(cost int64) func(*orchestrator.Context) *orchestrator.Context {
		return func(c *orchestrator.Context) *orchestrator.Context {
			return c.WithBudget(orchestrator.Budget{Cost: cents(cost)})
		}
	}
	for _, tt := range []struct {
		name           string
		children       int
		share          func(*orchestrator.Context) *orchestrator.Context
		cost, estimate int64
		calls          int
		spent          int64
	}{
		{"10 children, Split(10), calls of 0.03", 10, tenth, 3, 0, 30, 90},
		{"10 children, Split(10), calls of 0.03 with Estimate", 10, tenth, 3, 3, 30, 90},
		{"4 children of 0.30, Estimate 0.10", 4, part(30), 10, 10, 10, 100},
		{"10 children of 0.10, first call unknown, 0.30", 10, part(10), 30, 0, 10, 300},
	} {
		kid, a := spender(h, agent.Limits{Estimate: cents(tt.estimate)}), flat(tt.cost)
		spent, err := within(h, dollar, agent.Roster{"a": a}, func(c *orchestrator.Context) (providers.NanoUSD, error) {
			orchestrator.Map(c, make([]int, tt.children), 0, func(c *orchestrator.Context, _ int) (int, error) { return kid.Child(tt.share(c), none{}) })
			return c.Spent().Cost, nil
		})
		require.NoError(t, err, tt.name)
		assert.Equal(t, tt.calls, a.calls, "%s: calls", tt.name)
		assert.Equal(t, cents(tt.spent), spent, "%s: spent", tt.name)
	}
}

func childrenRefused(t *testing.T, h *host) {
	a := flat(90)
	kid := spender(h, agent.Limits{Estimate: cents(90)})
	errs, err := within(h, dollar, agent.Roster{"a": a}, func(c *orchestrator.Context) ([]string, error) {
		var errs []string
		for _, r := range orchestrator.Map(c, make([]int, 100), 0, func(c *orchestrator.Context, _ int) (int, error) { return kid.Child(c, none{}) }) {
			if errors.Is(r.Err, orchestrator.ErrBudget) {
				errs = append(errs, r.Err.Error())
			}
		}
		return errs, nil
	})
	require.NoError(t, err)
	assert.Equal(t, 1, a.calls)
	require.Len(t, errs, 99)
	assert.Contains(t, errs[0], "Split")
}

// childrenNested runs four levels of children. Each makes a call, runs a child, and makes
// another call, which does not fit into the budgets of the two innermost.
func childrenNested(t *testing.T, h *host) {
	var inner func(c *orchestrator.Context) (int, error) // how many calls were refused
	for _, share := range []int64{10, 20, 40, 80} {
		below := inner
		kid := child(h, func(c *orchestrator.Context) (int, error) {
			refused := 0
			call := func() {
				if _, err := c.Call("a", agent.Request{}); errors.Is(err, orchestrator.ErrBudget) {
					refused++
				}
			}
			call()
			if below != nil {
				n, err := below(c)
				if err != nil {
					return n, err
				}
				refused += n
			}
			call()
			return refused, nil
		})
		inner = func(c *orchestrator.Context) (int, error) {
			return kid.Child(c.WithBudget(orchestrator.Budget{Cost: cents(share)}), none{})
		}
	}
	a := flat(10)
	lost, err := within(h, dollar, agent.Roster{"a": a}, inner)
	require.NoError(t, err)
	assert.Equal(t, 6, a.calls)
	assert.Equal(t, 2, lost)
}

// spendsOf returns a flow that calls the agent a, waits, and calls it until its budget
// refuses. The flow returns the cost of the first call and the number of further ones.
func spendsOf(h *host) orchestrator.Flow[none, []int64] {
	return flow(h, func(c *orchestrator.Context, _ none) ([]int64, error) {
		first, _ := c.Call("a", agent.Request{})
		if _, err := ask(c.WithoutCancel(), "gate", "x"); err != nil {
			return nil, err
		}
		more, err := untilRefused(c, agent.Limits{})
		return []int64{int64(first.Usage.Cost), int64(more)}, err
	})
}

func sameBudget(t *testing.T, h *host) {
	g, f, id := newGate(t, "x"), spendsOf(h), h.id("x")
	agents := agent.Roster{"gate": g, "a": uses(providers.Usage{Cost: 4})}
	e := h.engine(agents, f)
	_, err := f.Start(h.ctx, e, none{}, orchestrator.StartOptions{ID: id, Budget: orchestrator.Budget{Cost: 10}})
	require.NoError(t, err)
	g.wait(h.ctx, "x")
	h.close(e)
	e = h.engine(agents, f)
	h.resume(e, id)
	g.wait(h.ctx, "x")
	g.pass("x")
	got, err := f.Result(h.ctx, open(h, e, id))
	require.ErrorIs(t, err, orchestrator.ErrBudget)
	assert.Equal(t, []int64{4, 1}, got, "4 and 4 are spent of 10, and a call has cost 4")
}
