package enginetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

var resumeChecks = []check{
	{name: "Close suspends", run: closeSuspends},
	{name: "a second process resumes", run: secondProcess, resumes: true},
	{name: "starting again resumes", run: startResumes, resumes: true},
	{name: "a call under way is made again with the same key", run: sameKey, resumes: true},
	{name: "the recorded order is repeated", run: sameOrder, resumes: true},
	{name: "a cancel survives", run: sameCancel, resumes: true},
	{name: "an open question survives", run: sameQuestion, resumes: true},
	{name: "a child is resumed with its parent", run: sameChild, resumes: true},
	{name: "a flow that panicked is resumed when it is mended", run: mended, resumes: true},
	{name: "results of ended runs survive", run: sameResult, resumes: true},
	{name: "Events continue where their reader was", run: sameEvents, resumes: true},
	{name: "a flow that is unknown here is left alone", run: unknownFlow, resumes: true},
}

func closeSuspends(t *testing.T, h *host) {
	g := newGate(t, "a")
	e := h.engine(agent.Roster{"gate": g})
	r := start(h, e, exposingOf(h), []string{"a"}, "")
	g.wait(h.ctx, "a")
	h.close(e)
	require.ErrorIs(t, r.Wait(h.ctx), orchestrator.ErrStopped)
}

// stepsOf returns a flow that makes a call for each name in turn, and returns the answers.
func stepsOf(h *host) orchestrator.Flow[[]string, []string] {
	return flow(h, func(c *orchestrator.Context, names []string) ([]string, error) {
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
	})
}

// interruption is a run of stepsOf whose process was closed on the way.
type interruption struct {
	steps  orchestrator.Flow[[]string, []string]
	gate   *gate
	agents agent.Roster
	id     string
}

// interrupted starts the steps a and b, and closes the process while b is under way.
func interrupted(h *host) interruption {
	h.t.Helper()
	g := newGate(h.t, "a", "b")
	i := interruption{stepsOf(h), g, agent.Roster{"gate": g}, h.id("x")}
	e := h.engine(i.agents, i.steps)
	start(h, e, i.steps, []string{"a", "b"}, i.id)
	g.wait(h.ctx, "a")
	g.pass("a")
	g.wait(h.ctx, "b")
	h.close(e)
	return i
}

// resume calls Resume, and requires that it names the wanted runs and no other. An engine
// that resumes by itself may name fewer.
func (h *host) resume(e *orchestrator.Engine, want ...string) {
	h.t.Helper()
	runs, err := e.Resume(h.ctx)
	require.NoError(h.t, err)
	var got []string
	for _, r := range runs.Runs {
		if h.owns(r.ID()) {
			got = append(got, r.ID())
		}
	}
	if !h.resumes {
		assert.ElementsMatch(h.t, want, got, "resumed")
		return
	}
	for _, id := range got {
		assert.Contains(h.t, want, id, "resumed")
	}
}

func open(h *host, e *orchestrator.Engine, id string) *orchestrator.Run {
	h.t.Helper()
	r, err := e.Open(h.ctx, id)
	require.NoError(h.t, err)
	return r
}

func secondProcess(t *testing.T, h *host) {
	i := interrupted(h)
	e := h.engine(i.agents, i.steps)
	r := open(h, e, i.id)
	if !h.resumes {
		assert.Equal(t, orchestrator.Suspended, info(h, r).Status)
	}
	h.resume(e, i.id)
	h.resume(e, i.id) // it works on it
	i.gate.wait(h.ctx, "b")
	i.gate.pass("b")
	got, err := i.steps.Result(h.ctx, r)
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b"}, got)
	assert.Len(t, records(h, r, "step"), 2, "each emission once")
	assert.Len(t, records(h, r, runlog.Called), 2, "each call once")
	select {
	case <-i.gate.arrived["a"]:
		require.Fail(t, "a recorded call was made again")
	default:
	}
}

func startResumes(t *testing.T, h *host) {
	i := interrupted(h)
	r := start(h, h.engine(i.agents), i.steps, []string{"a", "b"}, i.id)
	i.gate.wait(h.ctx, "b")
	i.gate.pass("b")
	got, err := i.steps.Result(h.ctx, r)
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b"}, got)
}

func sameKey(t *testing.T, h *host) {
	var keys []string
	note := func(name string, a agent.Agent) agent.Agent { return keyed{name, a, &keys} }
	g, steps, id := newGate(t, "a"), stepsOf(h), h.id("x")
	e := h.engine(agent.Roster{"gate": note("first", g)}, steps)
	start(h, e, steps, []string{"a"}, id)
	g.wait(h.ctx, "a")
	h.close(e)
	r := start(h, h.engine(agent.Roster{"gate": note("second", echo)}), steps, []string{"a"}, id)
	require.NoError(t, r.Wait(h.ctx))
	assert.Equal(t, []string{"first " + id + "/0 1", "second " + id + "/0 1"}, keys)
}

func sameOrder(t *testing.T, h *host) {
	// It finishes in the order in which it is let, and says in which it did.
	two := flow(h, func(c *orchestrator.Context, _ none) ([]string, error) {
		got, err := inTurn(c, []string{"a", "b"}, []string{"b", "a"})
		if err != nil {
			return got, err
		}
		last, err := ask(c, "gate", "last")
		return append(got, last), err
	})
	g := newGate(t, "a", "b", "last")
	agents := agent.Roster{"gate": g, "open": g.opener()}
	e := h.engine(agents, two)
	start(h, e, two, none{}, h.id("x"))
	g.wait(h.ctx, "last")
	h.close(e)
	r := start(h, h.engine(agents), two, none{}, h.id("x"))
	g.wait(h.ctx, "last")
	g.pass("last")
	got, err := two.Result(h.ctx, r)
	require.NoError(t, err)
	assert.Equal(t, []string{"bb", "aa", "last"}, got)
}

func sameCancel(t *testing.T, h *host) {
	f := flow(h, func(c *orchestrator.Context, _ none) (string, error) {
		_, err := ask(c, "gate", "work")
		if _, err := ask(c.WithoutCancel(), "gate", "tidy"); err != nil {
			return "", err
		}
		return "tidied", err
	})
	g, id := newGate(t, "work", "tidy"), h.id("x")
	e := h.engine(agent.Roster{"gate": g}, f)
	r := start(h, e, f, none{}, id)
	g.wait(h.ctx, "work")
	require.NoError(t, r.Cancel(h.ctx, "enough"))
	g.wait(h.ctx, "tidy")
	h.close(e)
	a, calls := counted(g)
	e = h.engine(agent.Roster{"gate": a}, f)
	h.resume(e, id)
	g.wait(h.ctx, "tidy")
	g.pass("tidy")
	got, err := f.Result(h.ctx, open(h, e, id))
	require.ErrorIs(t, err, orchestrator.ErrCanceled)
	assert.Equal(t, "tidied", got)
	assert.Equal(t, int64(1), calls.Load(), "canceled work is not begun again")
}

func sameQuestion(t *testing.T, h *host) {
	approval, id := approvalOf(h), h.id("x")
	e := h.engine(nil, approval)
	await(h, start(h, e, approval, none{}, id), runlog.Asked)
	h.close(e)
	e = h.engine(nil, approval)
	h.resume(e, id)
	r := open(h, e, id)
	assert.Len(t, info(h, r).Questions, 1)
	require.NoError(t, r.Answer(h.ctx, "ok", true))
	got, err := approval.Result(h.ctx, r)
	require.NoError(t, err)
	assert.True(t, got)
	assert.Len(t, records(h, r, runlog.Asked), 1)
}

func sameChild(t *testing.T, h *host) {
	steps, id := stepsOf(h), h.id("x")
	parent := flow(h, func(c *orchestrator.Context, _ none) ([]string, error) {
		return steps.Child(c, []string{"a", "b"})
	})
	g := newGate(t, "a", "b")
	e := h.engine(agent.Roster{"gate": g}, parent, steps)
	start(h, e, parent, none{}, id)
	g.wait(h.ctx, "a")
	g.pass("a")
	g.wait(h.ctx, "b")
	h.close(e)
	e = h.engine(agent.Roster{"gate": g}, parent, steps)
	h.resume(e, id) // and not the child: its parent resumes it
	g.wait(h.ctx, "b")
	g.pass("b")
	got, err := parent.Result(h.ctx, open(h, e, id))
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b"}, got)
	assert.Len(t, records(h, open(h, e, id+"/0"), runlog.Called), 2)
}

func mended(t *testing.T, h *host) {
	a, calls := counted(echo)
	f := flow(h, func(c *orchestrator.Context, _ none) (string, error) {
		_, _ = ask(c, "a", "first")
		panic("ouch")
	})
	e := h.engine(agent.Roster{"a": a}, f)
	require.ErrorIs(t, start(h, e, f, none{}, h.id("x")).Wait(h.ctx), orchestrator.ErrFlow)
	h.close(e)
	f.Do = func(c *orchestrator.Context, _ none) (string, error) { return ask(c, "a", "first") }
	e = h.engine(agent.Roster{"a": a}, f)
	h.resume(e, h.id("x"))
	got, err := f.Result(h.ctx, open(h, e, h.id("x")))
	require.NoError(t, err)
	assert.Equal(t, "first", got)
	assert.Equal(t, int64(1), calls.Load())
}

func sameResult(t *testing.T, h *host) {
	f := flow(h, func(c *orchestrator.Context, _ none) (string, error) {
		c.Expose(func() any { return number{3} })
		return "best", errPoor
	})
	e := h.engine(nil, f)
	require.NoError(t, start(h, e, f, none{}, h.id("x")).Wait(h.ctx))
	h.close(e)
	e = h.engine(nil, f)
	h.resume(e)
	r := open(h, e, h.id("x"))
	got, err := f.Result(h.ctx, r)
	require.ErrorIs(t, err, errPoor)
	assert.Equal(t, "best", got)
	assert.Equal(t, number{3}, state(h, r))
	assert.Equal(t, orchestrator.Failed, info(h, r).Status)
}

func sameEvents(t *testing.T, h *host) {
	i := interrupted(h)
	e := h.engine(i.agents, i.steps)
	h.resume(e, i.id)
	i.gate.wait(h.ctx, "b")
	i.gate.pass("b")
	kinds := seen(h, open(h, e, i.id), 3)
	own := []string{runlog.Called, "step", runlog.Ended}
	kinds = slices.DeleteFunc(kinds, func(kind string) bool { return !slices.Contains(own, kind) })
	assert.Equal(t, own, kinds, "behind started, called and step: %s", strings.Join(kinds, " "))
}

func unknownFlow(t *testing.T, h *host) {
	i := interrupted(h)
	e := h.engine(i.agents, approvalOf(h))
	h.resume(e)
	if !h.resumes {
		assert.Equal(t, orchestrator.Suspended, info(h, open(h, e, i.id)).Status)
	}
}
