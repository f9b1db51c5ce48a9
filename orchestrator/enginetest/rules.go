package enginetest

import (
	"sync"
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

func foreignGoroutine(t *testing.T, h *host) {
	g := newGate(t, "x")
	var foreign sync.WaitGroup
	_, err := run(h, agent.Roster{"gate": g}, func(c *orchestrator.Context) (string, error) {
		foreign.Go(func() {
			g.wait(h.ctx, "x") // its branch waits now
			_, _ = ask(c, "gate", "y")
			g.pass("x")
		})
		return ask(c, "gate", "x")
	})
	foreign.Wait()
	require.ErrorIs(t, err, orchestrator.ErrFlow)
	assert.ErrorContains(t, err, "goroutine")
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
	_, err = orchestrator.Flow[none, none]{Name: "x"}.Run(h.ctx, e, none{})
	require.Error(t, err)
}

func badID(t *testing.T, h *host) {
	f := flow(func(*orchestrator.Context, none) (none, error) { return none{}, nil })
	e := h.engine(nil)
	for _, id := range []string{"a/b", "a b", "é", "../x", string(make([]byte, 129))} {
		_, err := f.Start(h.ctx, e, none{}, orchestrator.StartOptions{ID: id})
		require.Error(t, err, "ID %q", id)
	}
}
