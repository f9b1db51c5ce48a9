package enginetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// deafChecks are about agents that ignore their context.
var deafChecks = []check{
	{name: "an agent deaf to its timeout is left behind", run: deafToTimeout},
	{name: "an agent deaf to a cancel is left behind", run: deafToCancel},
	{name: "an agent that is left behind holds no place of Parallel", run: deafHoldsNoPlace},
}

// deaf is an agent that answers when release is closed. It ignores its context.
type deaf struct {
	arrived chan struct{}
	release chan struct{}
}

func newDeaf() *deaf {
	return &deaf{arrived: make(chan struct{}, 8), release: make(chan struct{})}
}

// Call implements agent.Agent.
func (d *deaf) Call(context.Context, agent.Request) (agent.Response, error) {
	d.arrived <- struct{}{}
	<-d.release
	return agent.Response{Text: "too late"}, nil
}

const grace = 20 * time.Millisecond

func deafToTimeout(t *testing.T, h *host) {
	d := newDeaf()
	defer close(d.release)
	f := flow(h, func(c *orchestrator.Context, _ none) (string, error) {
		resp, err := c.Call("deaf", agent.Request{Limits: agent.Limits{Timeout: grace, Grace: grace, Attempts: 1}})
		return resp.Text, err
	})
	r := start(h, h.engine(agent.Roster{"deaf": d}, f), f, none{}, "")
	got, err := f.Result(h.ctx, r)
	require.ErrorIs(t, err, orchestrator.ErrTimeout)
	assert.Empty(t, got)
	assert.Len(t, records(h, r, "called"), 1)
}

func deafToCancel(t *testing.T, h *host) {
	d := newDeaf()
	defer close(d.release)
	f := flow(h, func(c *orchestrator.Context, _ none) (string, error) {
		_, err := c.Call("deaf", agent.Request{Limits: agent.Limits{Grace: grace}})
		return "so far", err
	})
	r := start(h, h.engine(agent.Roster{"deaf": d}, f), f, none{}, "")
	select {
	case <-d.arrived:
	case <-h.ctx.Done():
	}
	require.NoError(t, r.Cancel(h.ctx, "enough"))
	got, err := f.Result(h.ctx, r)
	require.ErrorIs(t, err, orchestrator.ErrCanceled)
	assert.Equal(t, "so far", got)
}

// deafHoldsNoPlace makes more calls at once than an engine with a limit has places for.
func deafHoldsNoPlace(t *testing.T, h *host) {
	d := newDeaf()
	defer close(d.release)
	f := flow(h, func(c *orchestrator.Context, _ none) ([]string, error) {
		orchestrator.Map(c, make([]int, 8), 0, func(c *orchestrator.Context, _ int) (none, error) {
			_, err := c.Call("deaf", agent.Request{Limits: agent.Limits{Timeout: grace, Grace: grace, Attempts: 1}})
			return none{}, err
		})
		return orchestrator.Values(orchestrator.Map(c, make([]int, 8), 0, func(c *orchestrator.Context, _ int) (string, error) {
			return ask(c, "echo", "x")
		}))
	})
	got, err := f.Result(h.ctx, start(h, h.engine(agent.Roster{"deaf": d, "echo": echo}, f), f, none{}, ""))
	require.NoError(t, err)
	assert.Len(t, got, 8)
}
