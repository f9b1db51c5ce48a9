package enginetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

var runChecks = []check{
	{name: "starting a run again is that run", run: startTwice},
	{name: "starting an ended run again is that run", run: startEnded},
	{name: "another input under the same ID is ErrExists", run: otherInput},
	{name: "another flow under the same ID is ErrExists", run: otherFlow},
	{name: "the context of a start does not bound the run", run: startContext},
	{name: "an unknown run is ErrNoRun", run: openUnknown},
	{name: "the result of another flow is ErrDiverged", run: otherResult},
	{name: "waiting ends with its context, and the run does not", run: waitContext},
	{name: "runs are listed, open ones apart, the newest first", run: runsListed},
	{name: "Info tells what a run has used and by whom", run: runInfo},
	{name: "a closed engine starts nothing", run: startClosed},
}

func startTwice(t *testing.T, h *host) {
	g := newGate(t, "x")
	a, calls := counted(g)
	f := flow(h, func(c *orchestrator.Context, in string) (string, error) { return ask(c, "a", in) })
	e := h.engine(agent.Roster{"a": a})
	first := start(h, e, f, "x", h.id("one"))
	g.wait(h.ctx, "x")
	second := start(h, e, f, "x", h.id("one"))
	assert.Equal(t, first.ID(), second.ID())
	g.pass("x")
	for _, r := range []*orchestrator.Run{first, second} {
		got, err := f.Result(h.ctx, r)
		require.NoError(t, err)
		assert.Equal(t, "x", got)
	}
	assert.Equal(t, int64(1), calls.Load())
}

func startEnded(t *testing.T, h *host) {
	a, calls := counted(echo)
	f := flow(h, func(c *orchestrator.Context, in string) (string, error) { return ask(c, "a", in) })
	e := h.engine(agent.Roster{"a": a})
	for range 2 {
		got, err := f.Result(h.ctx, start(h, e, f, "x", h.id("one")))
		require.NoError(t, err)
		assert.Equal(t, "x", got)
	}
	assert.Equal(t, int64(1), calls.Load())
}

func otherInput(t *testing.T, h *host) {
	f := flow(h, func(_ *orchestrator.Context, in string) (string, error) { return in, nil })
	e := h.engine(nil)
	require.NoError(t, start(h, e, f, "x", h.id("one")).Wait(h.ctx))
	_, err := f.Start(h.ctx, e, "y", orchestrator.StartOptions{ID: h.id("one")})
	require.ErrorIs(t, err, orchestrator.ErrExists)
}

func otherFlow(t *testing.T, h *host) {
	f := flow(h, func(_ *orchestrator.Context, in string) (string, error) { return in, nil })
	e := h.engine(nil)
	require.NoError(t, start(h, e, f, "x", h.id("one")).Wait(h.ctx))
	f.Name = h.id("other")
	_, err := f.Start(h.ctx, e, "x", orchestrator.StartOptions{ID: h.id("one")})
	require.ErrorIs(t, err, orchestrator.ErrExists)
}

func startContext(t *testing.T, h *host) {
	g := newGate(t, "x")
	f := flow(h, func(c *orchestrator.Context, _ none) (string, error) { return ask(c, "gate", "x") })
	ctx, cancel := context.WithCancel(h.ctx)
	r, err := f.Start(ctx, h.engine(agent.Roster{"gate": g}), none{}, orchestrator.StartOptions{})
	require.NoError(t, err)
	g.wait(h.ctx, "x")
	cancel()
	g.pass("x")
	got, err := f.Result(h.ctx, r)
	require.NoError(t, err)
	assert.Equal(t, "x", got)
}

func openUnknown(t *testing.T, h *host) {
	_, err := h.engine(nil).Open(h.ctx, h.id("unknown"))
	require.ErrorIs(t, err, orchestrator.ErrNoRun)
}

func otherResult(t *testing.T, h *host) {
	f := flow(h, func(_ *orchestrator.Context, in string) (string, error) { return in, nil })
	r := start(h, h.engine(nil), f, "x", "")
	f.Name = h.id("other")
	_, err := f.Result(h.ctx, r)
	require.ErrorIs(t, err, orchestrator.ErrDiverged)
}

func waitContext(t *testing.T, h *host) {
	g := newGate(t, "x")
	f := flow(h, func(c *orchestrator.Context, _ none) (string, error) { return ask(c, "gate", "x") })
	r := start(h, h.engine(agent.Roster{"gate": g}), f, none{}, "")
	ctx, cancel := context.WithCancel(h.ctx)
	cancel()
	require.ErrorIs(t, r.Wait(ctx), context.Canceled)
	g.wait(h.ctx, "x")
	g.pass("x")
	require.NoError(t, r.Wait(h.ctx))
}

func runsListed(t *testing.T, h *host) {
	g := newGate(t, "x", "y")
	f := flow(h, func(c *orchestrator.Context, in string) (string, error) {
		_ = c.Sleep(1)
		return ask(c, "gate", in)
	})
	e := h.engine(agent.Roster{"gate": g})
	first := start(h, e, f, "x", h.id("first"))
	g.wait(h.ctx, "x")
	start(h, e, f, "y", h.id("second"))
	g.pass("x")
	require.NoError(t, first.Wait(h.ctx))
	list := func(open bool) []string {
		var ids []string
		for i, err := range e.Runs(h.ctx, orchestrator.RunQuery{Open: open}) {
			require.NoError(t, err)
			if h.owns(i.ID) {
				ids = append(ids, i.ID+" "+string(i.Status))
			}
		}
		return ids
	}
	g.wait(h.ctx, "y")
	assert.Equal(t, []string{h.id("second") + " running", h.id("first") + " completed"}, list(false))
	assert.Equal(t, []string{h.id("second") + " running"}, list(true))
	g.pass("y")
}

func runInfo(t *testing.T, h *host) {
	used := providers.Usage{Calls: 1, Input: 2, Cost: 3}
	f := flow(h, func(c *orchestrator.Context, _ none) (none, error) {
		_, _ = c.Call("a", agent.Request{})
		_, _ = c.Call("a", agent.Request{})
		_, _ = c.Call("b", agent.Request{})
		return none{}, errPoor
	})
	f.Version = 7
	r, err := f.Start(h.ctx, h.engine(agent.Roster{"a": uses(used), "b": uses(used)}), none{}, orchestrator.StartOptions{
		ID: h.id("x"), Labels: map[string]string{"for": "ann"}, ContinuedFrom: h.id("w"),
	})
	require.NoError(t, err)
	require.NoError(t, r.Wait(h.ctx))
	i := info(h, r)
	assert.False(t, i.Started.IsZero())
	assert.False(t, i.Changed.Before(i.Started))
	assert.NotEmpty(t, i.Owner)
	i.Owner = ""
	i.Started, i.Changed = i.Changed.Truncate(0), i.Changed.Truncate(0)
	assert.Equal(t, orchestrator.Info{
		ID: h.id("x"), Flow: f.Name, Version: 7, Status: orchestrator.Failed, Err: errPoor.Error(),
		Labels: map[string]string{"for": "ann"}, ContinuedFrom: h.id("w"),
		Spent:   used.Add(used).Add(used),
		ByAgent: map[string]providers.Usage{"a": used.Add(used), "b": used},
		Started: i.Started, Changed: i.Changed,
	}, i)
}

func startClosed(t *testing.T, h *host) {
	e := h.engine(nil)
	h.close(e)
	_, err := flow(h, func(*orchestrator.Context, none) (none, error) { return none{}, nil }).Run(h.ctx, e, none{})
	require.ErrorIs(t, err, orchestrator.ErrStopped)
}

var viewChecks = []check{
	{name: "State is what the flow exposes now", run: stateNow},
	{name: "State is kept at the end", run: stateEnd},
	{name: "State of a flow that exposes nothing is ErrNoState", run: stateNone},
	{name: "Events come from any number and end with the run", run: eventsFrom},
	{name: "Events of a running run come as they are written", run: eventsLive},
	{name: "Events end when their reader's context is done", run: eventsContext},
}

// exposingOf returns a flow that exposes a number, and makes a call after each step.
func exposingOf(h *host) orchestrator.Flow[[]string, none] {
	return flow(h, func(c *orchestrator.Context, names []string) (none, error) {
		n := 0
		c.Expose(func() any { return number{n} })
		for _, name := range names {
			n++
			if _, err := ask(c, "gate", name); err != nil {
				return none{}, err
			}
		}
		n = 100
		return none{}, nil
	})
}

func state(h *host, r *orchestrator.Run) number {
	h.t.Helper()
	var n number
	err := r.State(h.ctx, &n)
	optional(h, err)
	require.NoError(h.t, err)
	return n
}

func stateNow(t *testing.T, h *host) {
	g := newGate(t, "a", "b")
	r := start(h, h.engine(agent.Roster{"gate": g}), exposingOf(h), []string{"a", "b"}, "")
	for i, name := range []string{"a", "b"} {
		g.wait(h.ctx, name)
		assert.Equal(t, number{i + 1}, state(h, r))
		g.pass(name)
	}
	require.NoError(t, r.Wait(h.ctx))
}

func stateEnd(t *testing.T, h *host) {
	r := start(h, h.engine(nil), exposingOf(h), nil, "")
	require.NoError(t, r.Wait(h.ctx))
	assert.Equal(t, number{100}, state(h, r))
}

func stateNone(t *testing.T, h *host) {
	f := flow(h, func(*orchestrator.Context, none) (none, error) { return none{}, nil })
	r := start(h, h.engine(nil), f, none{}, "")
	require.NoError(t, r.Wait(h.ctx))
	err := r.State(h.ctx, new(number))
	optional(h, err)
	require.ErrorIs(t, err, orchestrator.ErrNoState)
}

// seen returns the kinds of a run's records, from a number on to its end.
func seen(h *host, r *orchestrator.Run, from int64) []string {
	h.t.Helper()
	var kinds []string
	for rec, err := range r.Events(h.ctx, from) {
		optional(h, err)
		require.NoError(h.t, err)
		require.Equal(h.t, max(from, 0)+int64(len(kinds)), rec.Seq, "no record is missing or comes twice")
		kinds = append(kinds, rec.Kind)
	}
	return kinds
}

func eventsFrom(t *testing.T, h *host) {
	f := flow(h, func(c *orchestrator.Context, _ none) (string, error) {
		c.Emit("step", nil)
		return ask(c, "echo", "")
	})
	r := start(h, h.engine(agent.Roster{"echo": echo}), f, none{}, "")
	all := []string{runlog.Started, "step", runlog.Called, runlog.Ended}
	assert.Equal(t, all, seen(h, r, 0))
	assert.Equal(t, all, seen(h, r, -5))
	assert.Equal(t, all[2:], seen(h, r, 2))
}

func eventsLive(t *testing.T, h *host) {
	g := newGate(t, "a", "b")
	r := start(h, h.engine(agent.Roster{"gate": g}), exposingOf(h), []string{"a", "b"}, "")
	g.wait(h.ctx, "a")
	var kinds []string
	for rec, err := range r.Events(h.ctx, 0) {
		optional(h, err)
		require.NoError(t, err)
		kinds = append(kinds, rec.Kind)
		switch len(kinds) { // the run continues only when its reader has seen the last record
		case 1:
			g.pass("a")
		case 2:
			g.pass("b")
		}
	}
	assert.Equal(t, []string{runlog.Started, runlog.Called, runlog.Called, runlog.Ended}, kinds)
}

func eventsContext(t *testing.T, h *host) {
	g := newGate(t, "a")
	r := start(h, h.engine(agent.Roster{"gate": g}), exposingOf(h), []string{"a"}, "")
	ctx, cancel := context.WithCancel(h.ctx)
	defer cancel()
	n := 0
	for _, err := range r.Events(ctx, 0) {
		require.NoError(t, err, "that the reader leaves is no error")
		n++
		cancel()
	}
	assert.Equal(t, 1, n)
	g.wait(h.ctx, "a")
	g.pass("a")
	require.NoError(t, r.Wait(h.ctx))
}
