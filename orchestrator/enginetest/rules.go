package enginetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

var ruleChecks = []check{
	{name: "a panic of the flow is ErrFlow with its stack", run: flowPanics},
	{name: "a panic in a branch is ErrFlow", run: branchPanics},
	{name: "another branch's Context is ErrFlow", run: wrongBranch},
	{name: "another branch's Queue is ErrFlow", run: wrongQueue},
	{name: "a goroutine's use of a Context is ErrFlow", run: foreignGoroutine},
	{name: "a Context that outlives its run is an error", run: outlived},
	{name: "data without a JSON form is ErrFlow", run: noJSON},
	{name: "flows without a name or code are refused", run: noName},
	{name: "IDs that would be misread are refused", run: badID},
}

func flowPanics(t *testing.T, h *host) {
	_, err := run(h, nil, func(*orchestrator.Context) (string, error) { panic("ouch") })
	require.ErrorIs(t, err, orchestrator.ErrFlow)
	require.ErrorContains(t, err, "ouch")
	var crossed *agent.Error
	require.ErrorAs(t, err, &crossed)
	assert.Contains(t, crossed.Stack, "flowPanics", "where it panicked")
}

func branchPanics(t *testing.T, h *host) {
	_, err := run(h, agent.Roster{"echo": echo}, func(c *orchestrator.Context) ([]string, error) {
		return orchestrator.Values(orchestrator.Map(c, []int{0, 1}, 0, func(c *orchestrator.Context, n int) (string, error) {
			text, err := ask(c, "echo", "")
			if n == 1 {
				panic("ouch")
			}
			return text, err
		}))
	})
	require.ErrorIs(t, err, orchestrator.ErrFlow)
}

func wrongBranch(t *testing.T, h *host) {
	a, calls := counted(echo)
	_, err := run(h, agent.Roster{"a": a}, func(outer *orchestrator.Context) ([]string, error) {
		return orchestrator.Values(orchestrator.Map(outer, []int{0}, 0, func(*orchestrator.Context, int) (string, error) {
			return ask(outer, "a", "")
		}))
	})
	require.ErrorIs(t, err, orchestrator.ErrFlow)
	require.ErrorContains(t, err, "branch")
	assert.Zero(t, calls.Load())
}

func wrongQueue(t *testing.T, h *host) {
	_, err := run(h, nil, func(c *orchestrator.Context) (none, error) {
		q := orchestrator.NewQueue[none](c)
		q.Go("x", func(*orchestrator.Context) (none, error) {
			q.Next()
			return none{}, nil
		})
		q.Next()
		return none{}, nil
	})
	require.ErrorIs(t, err, orchestrator.ErrFlow)
}

// An agent gets hold of the Context that its call came from, and so does every other
// goroutine: the branch waits for the call at that time.
func foreignGoroutine(t *testing.T, h *host) {
	var kept *orchestrator.Context
	var used error // result of the agent's use of kept
	a := agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
		_, used = ask(kept, "echo", "")
		return agent.Response{Text: req.Prompt}, used
	})
	_, err := run(h, agent.Roster{"a": a, "echo": echo}, func(c *orchestrator.Context) (string, error) {
		kept = c
		return ask(c, "a", "x")
	})
	require.ErrorIs(t, err, orchestrator.ErrFlow)
	require.ErrorIs(t, used, orchestrator.ErrFlow, "the use itself fails")
	if !h.evicts {
		assert.ErrorContains(t, err, "goroutine")
	}
}

func outlived(t *testing.T, h *host) {
	var kept *orchestrator.Context
	_, err := run(h, agent.Roster{"echo": echo}, func(c *orchestrator.Context) (none, error) {
		kept = c
		return none{}, nil
	})
	require.NoError(t, err)
	_, err = ask(kept, "echo", "")
	require.ErrorIs(t, err, orchestrator.ErrFlow)
}

func noJSON(t *testing.T, h *host) {
	_, err := run(h, nil, func(*orchestrator.Context) (any, error) { return func() {}, nil })
	require.ErrorIs(t, err, orchestrator.ErrFlow, "an output")
	_, err = run(h, nil, func(c *orchestrator.Context) (none, error) {
		c.Emit("step", make(chan int))
		return none{}, nil
	})
	require.ErrorIs(t, err, orchestrator.ErrFlow, "an emission")
}

func noName(t *testing.T, h *host) {
	e := h.engine(nil)
	do := func(*orchestrator.Context, none) (none, error) { return none{}, nil }
	_, err := orchestrator.Flow[none, none]{Do: do}.Run(h.ctx, e, none{})
	require.Error(t, err)
	_, err = orchestrator.Flow[none, none]{Name: h.id("x")}.Run(h.ctx, e, none{})
	require.Error(t, err)
}

func badID(t *testing.T, h *host) {
	f := flow(h, func(*orchestrator.Context, none) (none, error) { return none{}, nil })
	e := h.engine(nil)
	for _, id := range []string{"a/b", "a b", "é", "../x", string(make([]byte, 129))} {
		_, err := f.Start(h.ctx, e, none{}, orchestrator.StartOptions{ID: id})
		require.Error(t, err, "ID %q", id)
	}
}
