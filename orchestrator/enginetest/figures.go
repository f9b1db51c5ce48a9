package enginetest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

var figureChecks = []check{
	{name: "Info of a long run counts what is on record", run: figuresNow},
	{name: "Info by another process says the same, wherever the run is", run: figuresElsewhere, resumes: true},
}

// pieces is how many children a longRun has.
const pieces = 50

// longRun returns a flow with a child that makes a call, 50 times, and then asks the gate
// twice.
func longRun(h *host) orchestrator.Flow[none, none] {
	piece := flow(h, func(c *orchestrator.Context, _ none) (none, error) {
		_, err := c.Call("a", agent.Request{})
		return none{}, err
	})
	return flow(h, func(c *orchestrator.Context, _ none) (none, error) {
		for range pieces {
			if _, err := piece.Child(c, none{}); err != nil {
				return none{}, err
			}
			if _, err := c.Call("b", agent.Request{}); err != nil {
				return none{}, err
			}
		}
		for _, prompt := range []string{"x", "y"} {
			if _, err := ask(c, "gate", prompt); err != nil {
				return none{}, err
			}
		}
		return none{}, nil
	})
}

// longHost is a host of one longRun.
type longHost struct {
	flow   orchestrator.Flow[none, none]
	gate   *gate
	agents agent.Roster
}

func newLongHost(t *testing.T, h *host) longHost {
	t.Helper()
	g := newGate(t, "x", "y")
	used := providers.Usage{Calls: 1, Input: 2, Cost: 3}
	return longHost{longRun(h), g, agent.Roster{"a": uses(used), "b": uses(used), "gate": g}}
}

// spentSoFar requires that Info counts all pieces, and so many answers of the gate.
func spentSoFar(h *host, r *orchestrator.Run, answers int64) {
	h.t.Helper()
	i := info(h, r)
	assert.Equal(h.t, providers.Usage{Calls: 2*pieces + answers, Input: 4 * pieces, Cost: 6 * pieces}, i.Spent)
	assert.Equal(h.t, orchestrator.Lost{}, i.Lost)
	var sum providers.Usage
	for _, used := range i.ByAgent {
		sum = sum.Add(used)
	}
	assert.Equal(h.t, i.Spent, sum, "the agents and children together")
	assert.Equal(h.t, int64(pieces), i.ByAgent["b"].Calls)
	assert.Equal(h.t, answers, i.ByAgent["gate"].Calls)
	assert.Equal(h.t, h.id("w"), i.ContinuedFrom)
}

func (s longHost) start(h *host, e *orchestrator.Engine) *orchestrator.Run {
	h.t.Helper()
	r, err := s.flow.Start(h.ctx, e, none{}, orchestrator.StartOptions{ID: h.id("x"), ContinuedFrom: h.id("w")})
	require.NoError(h.t, err)
	return r
}

func figuresNow(t *testing.T, h *host) {
	s := newLongHost(t, h)
	r := s.start(h, h.engine(s.agents))
	s.gate.wait(h.ctx, "x")
	spentSoFar(h, r, 0)
	s.gate.pass("x")
	s.gate.wait(h.ctx, "y")
	spentSoFar(h, r, 1)
	s.gate.pass("y")
	require.NoError(t, r.Wait(h.ctx))
	spentSoFar(h, r, 2)
}

func figuresElsewhere(t *testing.T, h *host) {
	s := newLongHost(t, h)
	first := h.engine(s.agents)
	s.start(h, first)
	s.gate.wait(h.ctx, "x")
	other, err := h.engine(nil).Open(h.ctx, h.id("x"))
	require.NoError(t, err)
	spentSoFar(h, other, 0)
	s.gate.pass("x")
	s.gate.wait(h.ctx, "y")
	spentSoFar(h, other, 1)
	h.close(first)
	r := s.start(h, h.engine(s.agents, s.flow))
	s.gate.pass("y")
	require.NoError(t, r.Wait(h.ctx))
	spentSoFar(h, other, 2)
	spentSoFar(h, r, 2)
}
