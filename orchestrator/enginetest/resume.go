package enginetest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

var resumeChecks = []check{
	{name: "Close suspends", run: closeSuspends},
	{name: "a second process goes on", run: secondProcess, resumes: true},
	{name: "starting again goes on", run: startResumes, resumes: true},
	{name: "a call under way is made again with the same key", run: sameKey, resumes: true},
	{name: "the recorded order is repeated", run: sameOrder, resumes: true},
	{name: "budgets do not start from zero", run: sameBudget, resumes: true},
	{name: "a cancel survives", run: sameCancel, resumes: true},
	{name: "an open question survives", run: sameQuestion, resumes: true},
	{name: "a child goes on with its parent", run: sameChild, resumes: true},
	{name: "a flow that panicked goes on when it is mended", run: mended, resumes: true},
	{name: "results of ended runs survive", run: sameResult, resumes: true},
	{name: "Events go on from where their reader was", run: sameEvents, resumes: true},
	{name: "a flow that is unknown here is left alone", run: unknownFlow, resumes: true},
}

func closeSuspends(t *testing.T, h *host) {
	g := newGate(t, "a")
	e := h.engine(agent.Roster{"gate": g})
	r := start(h, e, exposing, []string{"a"}, "")
	g.wait(h.ctx, "a")
	h.close(e)
	require.ErrorIs(t, r.Wait(h.ctx), orchestrator.ErrStopped)
}

// steps calls for each name in turn and says which came back.
var steps = orchestrator.Flow[[]string, []string]{Name: "steps", Do: func(c *orchestrator.Context, names []string) ([]string, error) {
	var got []string
	for _, name := range names {
		text, err := ask(c, "gate", name)
		if err != nil {
			return got, err
		}
		got = append(got, text)
		c.Emit("step", text)
	}
	return got, nil
}}

// interrupted starts steps with a and b and closes the process while b is under
// way.
func interrupted(h *host) (*gate, agent.Roster) {
	h.t.Helper()
	g := newGate(h.t, "a", "b")
	e := h.engine(agent.Roster{"gate": g}, steps)
	start(h, e, steps, []string{"a", "b"}, "x")
	g.wait(h.ctx, "a")
	g.pass("a")
	g.wait(h.ctx, "b")
	h.close(e)
	return g, agent.Roster{"gate": g}
}

// resumed are the runs that a process takes up.
func resumed(h *host, e *orchestrator.Engine) []string {
	h.t.Helper()
	runs, err := e.Resume(h.ctx)
	require.NoError(h.t, err)
	var ids []string
	for _, r := range runs {
		ids = append(ids, r.ID())
	}
	return ids
}

func open(h *host, e *orchestrator.Engine, id string) *orchestrator.Run {
	h.t.Helper()
	r, err := e.Open(h.ctx, id)
	require.NoError(h.t, err)
	return r
}

func secondProcess(t *testing.T, h *host) {
	g, agents := interrupted(h)
	e := h.engine(agents, steps)
	assert.Equal(t, orchestrator.Suspended, info(h, open(h, e, "x")).Status)
	assert.Equal(t, []string{"x"}, resumed(h, e))
	assert.Empty(t, resumed(h, e), "it is worked on")
	g.wait(h.ctx, "b")
	g.pass("b")
	r := open(h, e, "x")
	got, err := steps.Result(h.ctx, r)
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b"}, got)
	assert.Len(t, records(h, r, "step"), 2, "each emission once")
	assert.Len(t, records(h, r, blackboard.Called), 2, "each call once")
	select {
	case <-g.arrived["a"]:
		require.Fail(t, "a recorded call was made again")
	default:
	}
}

func startResumes(t *testing.T, h *host) {
	g, agents := interrupted(h)
	r := start(h, h.engine(agents), steps, []string{"a", "b"}, "x")
	g.wait(h.ctx, "b")
	g.pass("b")
	got, err := steps.Result(h.ctx, r)
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b"}, got)
}

func sameKey(t *testing.T, h *host) {
	var keys []string
	note := func(name string, a agent.Agent) agent.Agent { return keyed{name, a, &keys} }
	g := newGate(t, "a")
	e := h.engine(agent.Roster{"gate": note("first", g)}, steps)
	start(h, e, steps, []string{"a"}, "x")
	g.wait(h.ctx, "a")
	h.close(e)
	r := start(h, h.engine(agent.Roster{"gate": note("second", echo)}), steps, []string{"a"}, "x")
	require.NoError(t, r.Wait(h.ctx))
	assert.Equal(t, []string{"first x/0 1", "second x/0 1"}, keys)
}

// twoBranches finishes in the order that it is let; it says in which it did.
var twoBranches = orchestrator.Flow[none, []string]{Name: "two", Do: func(c *orchestrator.Context, _ none) ([]string, error) {
	got, err := inTurn(c, []string{"a", "b"}, []string{"b", "a"})
	if err != nil {
		return got, err
	}
	last, err := ask(c, "gate", "last")
	return append(got, last), err
}}

func sameOrder(t *testing.T, h *host) {
	g := newGate(t, "a", "b", "last")
	agents := agent.Roster{"gate": g, "open": g.opener()}
	e := h.engine(agents, twoBranches)
	start(h, e, twoBranches, none{}, "x")
	g.wait(h.ctx, "last")
	h.close(e)
	r := start(h, h.engine(agents), twoBranches, none{}, "x")
	g.wait(h.ctx, "last")
	g.pass("last")
	got, err := twoBranches.Result(h.ctx, r)
	require.NoError(t, err)
	assert.Equal(t, []string{"bb", "aa", "last"}, got)
}

func sameBudget(t *testing.T, h *host) {
	f := orchestrator.Flow[none, int]{Name: "budget", Do: func(c *orchestrator.Context, _ none) (int, error) {
		n, _ := c.Call("a", agent.Request{})
		if _, err := ask(c.WithoutCancel(), "gate", "x"); err != nil {
			return 0, err
		}
		more, err := untilRefused(c, agent.Limits{})
		return int(n.Usage.Cost) + more, err
	}}
	g := newGate(t, "x")
	agents := agent.Roster{"gate": g, "a": uses(providers.Usage{Cost: 4})}
	e := h.engine(agents, f)
	o := orchestrator.StartOptions{ID: "x", Budget: orchestrator.Budget{Cost: 10}}
	_, err := f.Start(h.ctx, e, none{}, o)
	require.NoError(t, err)
	g.wait(h.ctx, "x")
	h.close(e)
	e = h.engine(agents, f)
	assert.Equal(t, []string{"x"}, resumed(h, e))
	g.wait(h.ctx, "x")
	g.pass("x")
	got, err := f.Result(h.ctx, open(h, e, "x"))
	require.ErrorIs(t, err, orchestrator.ErrBudget)
	assert.Equal(t, 4+2, got, "the first call cost 4, and with 4 and 8 spent of 10 there are two more")
}

func sameCancel(t *testing.T, h *host) {
	f := orchestrator.Flow[none, string]{Name: "tidy", Do: func(c *orchestrator.Context, _ none) (string, error) {
		_, err := ask(c, "gate", "work")
		if _, err := ask(c.WithoutCancel(), "gate", "tidy"); err != nil {
			return "", err
		}
		return "tidied", err
	}}
	g := newGate(t, "work", "tidy")
	e := h.engine(agent.Roster{"gate": g}, f)
	r := start(h, e, f, none{}, "x")
	g.wait(h.ctx, "work")
	require.NoError(t, r.Cancel(h.ctx, "enough"))
	g.wait(h.ctx, "tidy")
	h.close(e)
	a, calls := counted(g)
	e = h.engine(agent.Roster{"gate": a}, f)
	assert.Equal(t, []string{"x"}, resumed(h, e))
	g.wait(h.ctx, "tidy")
	g.pass("tidy")
	got, err := f.Result(h.ctx, open(h, e, "x"))
	require.ErrorIs(t, err, orchestrator.ErrCanceled)
	assert.Equal(t, "tidied", got)
	assert.Equal(t, int64(1), calls.Load(), "canceled work is not begun again")
}

func sameQuestion(t *testing.T, h *host) {
	e := h.engine(nil, approval)
	await(h, start(h, e, approval, none{}, "x"), blackboard.Asked)
	h.close(e)
	e = h.engine(nil, approval)
	assert.Equal(t, []string{"x"}, resumed(h, e))
	r := open(h, e, "x")
	assert.Len(t, info(h, r).Questions, 1)
	require.NoError(t, r.Answer(h.ctx, "ok", true))
	got, err := approval.Result(h.ctx, r)
	require.NoError(t, err)
	assert.True(t, got)
	assert.Len(t, records(h, r, blackboard.Asked), 1)
}

func sameChild(t *testing.T, h *host) {
	parent := orchestrator.Flow[none, []string]{Name: "parent", Do: func(c *orchestrator.Context, _ none) ([]string, error) {
		return steps.Child(c, []string{"a", "b"})
	}}
	g := newGate(t, "a", "b")
	e := h.engine(agent.Roster{"gate": g}, parent, steps)
	start(h, e, parent, none{}, "x")
	g.wait(h.ctx, "a")
	g.pass("a")
	g.wait(h.ctx, "b")
	h.close(e)
	e = h.engine(agent.Roster{"gate": g}, parent, steps)
	assert.Equal(t, []string{"x"}, resumed(h, e), "children are taken up by their parents")
	g.wait(h.ctx, "b")
	g.pass("b")
	got, err := parent.Result(h.ctx, open(h, e, "x"))
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b"}, got)
	assert.Len(t, records(h, open(h, e, "x/0"), blackboard.Called), 2)
}

func mended(t *testing.T, h *host) {
	a, calls := counted(echo)
	f := orchestrator.Flow[none, string]{Name: "buggy"}
	f.Do = func(c *orchestrator.Context, _ none) (string, error) {
		_, _ = ask(c, "a", "first")
		panic("ouch")
	}
	e := h.engine(agent.Roster{"a": a}, f)
	require.ErrorIs(t, start(h, e, f, none{}, "x").Wait(h.ctx), orchestrator.ErrFlow)
	h.close(e)
	f.Do = func(c *orchestrator.Context, _ none) (string, error) { return ask(c, "a", "first") }
	e = h.engine(agent.Roster{"a": a}, f)
	assert.Equal(t, []string{"x"}, resumed(h, e))
	got, err := f.Result(h.ctx, open(h, e, "x"))
	require.NoError(t, err)
	assert.Equal(t, "first", got)
	assert.Equal(t, int64(1), calls.Load())
}

func sameResult(t *testing.T, h *host) {
	f := orchestrator.Flow[none, string]{Name: "ended", Do: func(c *orchestrator.Context, _ none) (string, error) {
		c.Expose(func() any { return number{3} })
		return "best", errPoor
	}}
	e := h.engine(nil, f)
	require.NoError(t, start(h, e, f, none{}, "x").Wait(h.ctx))
	h.close(e)
	e = h.engine(nil, f)
	assert.Empty(t, resumed(h, e))
	r := open(h, e, "x")
	got, err := f.Result(h.ctx, r)
	require.ErrorIs(t, err, errPoor)
	assert.Equal(t, "best", got)
	assert.Equal(t, number{3}, state(h, r))
	assert.Equal(t, orchestrator.Failed, info(h, r).Status)
}

func sameEvents(t *testing.T, h *host) {
	g, agents := interrupted(h)
	e := h.engine(agents, steps)
	assert.Equal(t, []string{"x"}, resumed(h, e))
	g.wait(h.ctx, "b")
	g.pass("b")
	assert.Equal(t, []string{blackboard.Resumed, blackboard.Called, "step", blackboard.Ended}, seen(h, open(h, e, "x"), 3))
}

func unknownFlow(t *testing.T, h *host) {
	_, agents := interrupted(h)
	assert.Empty(t, resumed(h, h.engine(agents, approval)))
}
