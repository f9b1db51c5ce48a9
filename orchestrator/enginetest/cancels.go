package enginetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

var cancelChecks = []check{
	{name: "a cancel gives up what is under way", run: cancelGivesUp},
	{name: "a cancel is on record with its reason", run: cancelRecorded},
	{name: "after a cancel no effect is made", run: cancelAfter},
	{name: "WithoutCancel makes effects in spite of it", run: cancelShield},
	{name: "a branch that cleans up is not canceled", run: cancelShieldedBranch},
	{name: "canceling an ended run is no error", run: cancelEnded},
	{name: "canceling twice is no error", run: cancelTwice},
	{name: "Run cancels when its context is done", run: cancelByContext},
	{name: "a question that is given up is withdrawn", run: cancelWithdraws},
}

func cancelGivesUp(t *testing.T, h *host) {
	g := newGate(t, "x")
	f := flow(h, func(c *orchestrator.Context, _ none) (string, error) {
		_, err := ask(c, "gate", "x")
		return "so far", err
	})
	r := start(h, h.engine(agent.Roster{"gate": g}), f, none{}, "")
	g.wait(h.ctx, "x")
	require.NoError(t, r.Cancel(h.ctx, "enough"))
	got, err := f.Result(h.ctx, r)
	require.ErrorIs(t, err, orchestrator.ErrCanceled)
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, "so far", got)
	assert.Equal(t, orchestrator.Canceled, info(h, r).Status)
}

func cancelRecorded(t *testing.T, h *host) {
	g := newGate(t, "x")
	f := flow(h, func(c *orchestrator.Context, _ none) (string, error) { return ask(c, "gate", "x") })
	r := start(h, h.engine(agent.Roster{"gate": g}), f, none{}, "")
	g.wait(h.ctx, "x")
	require.NoError(t, r.Cancel(h.ctx, "enough"))
	require.NoError(t, r.Wait(h.ctx))
	recs := records(h, r, runlog.Canceled)
	require.Len(t, recs, 1)
	assert.JSONEq(t, `"enough"`, string(recs[0].Data))
	assert.Contains(t, info(h, r).Err, "enough")
}

// canceledIn runs a flow that calls do after a cancel has ended its sleep.
func canceledIn(h *host, agents agent.Roster, do func(c *orchestrator.Context) ([]string, error)) ([]string, error) {
	h.t.Helper()
	f := flow(h, func(c *orchestrator.Context, _ none) ([]string, error) {
		c.Emit("ready", nil)
		if err := c.Sleep(time.Hour); err == nil {
			return nil, errPoor
		}
		return do(c)
	})
	r := start(h, h.engine(agents), f, none{}, "")
	await(h, r, "ready")
	require.NoError(h.t, r.Cancel(h.ctx, ""))
	return f.Result(h.ctx, r)
}

func cancelAfter(t *testing.T, h *host) {
	a, calls := counted(echo)
	_, err := canceledIn(h, agent.Roster{"a": a}, func(c *orchestrator.Context) ([]string, error) {
		if err := c.Sleep(0); err == nil {
			return nil, errPoor
		}
		return orchestrator.Values(orchestrator.Map(c, []int{1}, 0, func(c *orchestrator.Context, _ int) (string, error) { return ask(c, "a", "") }))
	})
	require.ErrorIs(t, err, orchestrator.ErrCanceled)
	assert.Zero(t, calls.Load())
}

func cancelShield(t *testing.T, h *host) {
	got, err := canceledIn(h, agent.Roster{"echo": echo}, func(c *orchestrator.Context) ([]string, error) {
		c = c.WithoutCancel()
		if err := c.Sleep(1); err != nil {
			return nil, err
		}
		return orchestrator.Values(orchestrator.Map(c, []string{"a", "b"}, 0, func(c *orchestrator.Context, s string) (string, error) { return ask(c, "echo", s) }))
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b"}, got)
}

func cancelShieldedBranch(t *testing.T, h *host) {
	g := newGate(t, "x")
	f := flow(h, func(c *orchestrator.Context, _ none) (string, error) {
		q := orchestrator.NewQueue[string](c.WithoutCancel())
		q.Go("x", func(c *orchestrator.Context) (string, error) { return ask(c, "gate", "x") })
		err := c.Sleep(time.Hour)
		if _, err := ask(c.WithoutCancel(), "open", "x"); err != nil {
			return "", err
		}
		r, _ := q.Next()
		if r.Err != nil {
			return "", r.Err
		}
		return r.Value, err
	})
	r := start(h, h.engine(agent.Roster{"gate": g, "open": g.opener()}), f, none{}, "")
	g.wait(h.ctx, "x")
	require.NoError(t, r.Cancel(h.ctx, ""))
	got, err := f.Result(h.ctx, r)
	require.ErrorIs(t, err, orchestrator.ErrCanceled)
	assert.Equal(t, "x", got)
}

func cancelEnded(t *testing.T, h *host) {
	f := flow(h, func(*orchestrator.Context, none) (string, error) { return "done", nil })
	r := start(h, h.engine(nil), f, none{}, "")
	require.NoError(t, r.Wait(h.ctx))
	require.NoError(t, r.Cancel(h.ctx, "too late"))
	assert.Equal(t, orchestrator.Completed, info(h, r).Status)
}

func cancelTwice(t *testing.T, h *host) {
	g := newGate(t, "x")
	f := flow(h, func(c *orchestrator.Context, _ none) (string, error) {
		return ask(c.WithoutCancel(), "gate", "x")
	})
	r := start(h, h.engine(agent.Roster{"gate": g}), f, none{}, "")
	g.wait(h.ctx, "x")
	require.NoError(t, r.Cancel(h.ctx, "one"))
	require.NoError(t, r.Cancel(h.ctx, "two"))
	g.pass("x")
	require.NoError(t, r.Wait(h.ctx))
	assert.Len(t, records(h, r, runlog.Canceled), 1)
}

func cancelByContext(t *testing.T, h *host) {
	f := flow(h, func(c *orchestrator.Context, _ none) (string, error) {
		_, err := ask(c, "a", "x")
		return "so far", err
	})
	ctx, cancel := context.WithCancel(h.ctx)
	defer cancel()
	a := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
		cancel()
		return hang(ctx, req)
	})
	got, err := f.Run(ctx, h.engine(agent.Roster{"a": a}), none{})
	require.ErrorIs(t, err, orchestrator.ErrCanceled)
	assert.Equal(t, "so far", got)
}

func cancelWithdraws(t *testing.T, h *host) {
	r := start(h, h.engine(nil), approvalOf(h), none{}, "")
	await(h, r, runlog.Asked)
	require.NoError(t, r.Cancel(h.ctx, ""))
	require.NoError(t, r.Wait(h.ctx))
	assert.Len(t, records(h, r, runlog.Withdrawn), 1)
}
