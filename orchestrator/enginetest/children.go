package enginetest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

var childChecks = []check{
	{name: "result and error are as the child returned them", run: childResult},
	{name: "a child has a log of its own", run: childLog},
	{name: "a child is under its parent's budget", run: childBudget},
	{name: "what a child spent is its parent's", run: childSpent},
	{name: "a child is canceled with its parent and hands out what it has", run: childCancel},
	{name: "a child canceled as soon as it is begun ends", run: childCanceledAtOnce},
}

// child returns a flow without input, to run as a child of another one.
func child[Out any](h *host, do func(c *orchestrator.Context) (Out, error)) orchestrator.Flow[none, Out] {
	return flow(h, func(c *orchestrator.Context, _ none) (Out, error) { return do(c) })
}

func childResult(t *testing.T, h *host) {
	kid := child(h, func(*orchestrator.Context) (string, error) { return "part", errPoor })
	var failed error
	got, err := run(h, nil, func(c *orchestrator.Context) (string, error) {
		var out string
		out, failed = kid.Child(c, none{})
		return out, nil
	})
	require.NoError(t, err)
	require.ErrorIs(t, failed, errPoor)
	assert.Equal(t, "part", got)
}

func childLog(t *testing.T, h *host) {
	kid := child(h, func(c *orchestrator.Context) (string, error) { return ask(c, "echo", c.RunID()) })
	parent := flow(h, func(c *orchestrator.Context, _ none) (string, error) {
		if _, err := ask(c, "echo", "first"); err != nil {
			return "", err
		}
		return kid.Child(c, none{})
	})
	e := h.engine(agent.Roster{"echo": echo})
	r := start(h, e, parent, none{}, h.id("top"))
	got, err := parent.Result(h.ctx, r)
	require.NoError(t, err)
	assert.Equal(t, h.id("top")+"/1", got, "the ID is the parent's with the effect")
	own, err := e.Open(h.ctx, h.id("top")+"/1")
	require.NoError(t, err)
	i := info(h, own)
	assert.Equal(t, kid.Name, i.Flow)
	assert.Equal(t, h.id("top"), i.Parent)
	assert.Len(t, records(h, own, runlog.Called), 1)
	assert.Len(t, records(h, r, runlog.Called), 2, "the parent only has the end of the child")
}

func childBudget(t *testing.T, h *host) {
	kid := child(h, func(c *orchestrator.Context) (int, error) {
		n := 0
		for {
			if _, err := ask(c, "echo", "x"); err != nil {
				return n, err
			}
			n++
		}
	})
	got, err := within(h, orchestrator.Budget{Calls: 5}, agent.Roster{"echo": echo}, func(c *orchestrator.Context) (int, error) {
		_, _ = ask(c, "echo", "x")
		return kid.Child(c.WithBudget(orchestrator.Budget{Calls: 3}), none{})
	})
	require.ErrorIs(t, err, orchestrator.ErrBudget)
	assert.Equal(t, 3, got)
}

func childSpent(t *testing.T, h *host) {
	kid := child(h, func(c *orchestrator.Context) (none, error) {
		_, err := c.Call("a", agent.Request{})
		return none{}, err
	})
	used := providers.Usage{Calls: 1, Input: 3, Output: 4, Cost: 5}
	got, err := run(h, agent.Roster{"a": uses(used)}, func(c *orchestrator.Context) (providers.Usage, error) {
		_, _ = c.Call("a", agent.Request{})
		_, err := kid.Child(c, none{})
		return c.Spent(), err
	})
	require.NoError(t, err)
	assert.Equal(t, used.Add(used), got)
}

func childCancel(t *testing.T, h *host) {
	g := newGate(t, "child")
	kid := child(h, func(c *orchestrator.Context) (string, error) {
		_, err := ask(c, "gate", "child")
		return "best of the child", err
	})
	parent := flow(h, func(c *orchestrator.Context, _ none) (string, error) { return kid.Child(c, none{}) })
	r := start(h, h.engine(agent.Roster{"gate": g}), parent, none{}, "")
	g.wait(h.ctx, "child")
	require.NoError(t, r.Cancel(h.ctx, "enough"))
	got, err := parent.Result(h.ctx, r)
	require.ErrorIs(t, err, orchestrator.ErrCanceled)
	assert.Equal(t, "best of the child", got)
	assert.Equal(t, orchestrator.Canceled, info(h, r).Status)
}

func childCanceledAtOnce(t *testing.T, h *host) {
	kid := child(h, func(c *orchestrator.Context) (none, error) {
		_, err := ask(c, "hang", "")
		return none{}, err
	})
	for range 20 {
		_, err := run(h, agent.Roster{"hang": hang}, func(c *orchestrator.Context) (none, error) {
			q := orchestrator.NewQueue[none](c)
			q.Go("child", func(c *orchestrator.Context) (none, error) { return kid.Child(c, none{}) })
			q.Go("other", func(*orchestrator.Context) (none, error) { return none{}, nil })
			if r, _ := q.Next(); r.Key != "other" {
				return none{}, errPoor
			}
			q.CancelAll()
			r, _ := q.Next()
			return none{}, r.Err
		})
		require.ErrorIs(t, err, orchestrator.ErrCanceled)
	}
}
