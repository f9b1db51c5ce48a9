package enginetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

var peerChecks = []check{
	{name: "State of a run of another process is what the flow exposes now", run: stateElsewhere, peers: true},
	{name: "Progress of a run of another process comes in order and ends with the run", run: progressElsewhere, peers: true},
	{name: "Progress continues with the process that resumes the run", run: progressMoves, peers: true, resumes: true},
}

// opened returns the handle that a process has to a run.
func opened(h *host, e *orchestrator.Engine, id string) *orchestrator.Run {
	h.t.Helper()
	r, err := e.Open(h.ctx, id)
	require.NoError(h.t, err)
	return r
}

func stateElsewhere(t *testing.T, h *host) {
	g := newGate(t, "a", "b")
	r := start(h, h.engine(agent.Roster{"gate": g}), exposingOf(h), []string{"a", "b"}, "")
	there := opened(h, h.engine(nil), r.ID())
	for i, name := range []string{"a", "b"} {
		g.wait(h.ctx, name)
		assert.Equal(t, number{i + 1}, state(h, there))
		g.pass(name)
	}
	require.NoError(t, r.Wait(h.ctx))
	assert.Equal(t, number{100}, state(h, there))

	f := flow(h, func(c *orchestrator.Context, name string) (string, error) { return ask(c, "gate", name) })
	r = start(h, h.engine(agent.Roster{"gate": g}), f, "a", "")
	g.wait(h.ctx, "a")
	require.ErrorIs(t, opened(h, h.engine(nil), r.ID()).State(h.ctx, new(number)), orchestrator.ErrNoState)
	g.pass("a")
	require.NoError(t, r.Wait(h.ctx))
}

// watched waits until somebody watches the progress of the call of ctx.
func watched(ctx context.Context) error {
	for !agent.Watched(ctx) {
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func progressElsewhere(t *testing.T, h *host) {
	const n = 100
	counts := agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
		err := watched(ctx)
		for i := range n {
			agent.Report(ctx, agent.Progress{Kind: agent.ProgressText, Text: fmt.Sprint(i)})
		}
		return agent.Response{}, err
	})
	f := flow(h, func(c *orchestrator.Context, _ none) (string, error) { return ask(c, "counts", "") })
	r := start(h, h.engine(agent.Roster{"counts": counts}), f, none{}, "")
	i := 0
	for p, err := range opened(h, h.engine(nil), r.ID()).Progress(h.ctx) {
		require.NoError(t, err)
		assert.Equal(t, agent.Progress{Agent: "counts", Key: r.ID() + "/0", Attempt: 1, Kind: agent.ProgressText, Text: fmt.Sprint(i)}, p)
		i++
	}
	assert.Equal(t, n, i)
	require.NoError(t, r.Wait(h.ctx))
}

func progressMoves(t *testing.T, h *host) {
	f := flow(h, func(c *orchestrator.Context, _ none) (string, error) { return ask(c, "tells", "") })
	process := func(name string, answers bool) *orchestrator.Engine {
		return h.engine(agent.Roster{"tells": agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
			err := watched(ctx)
			agent.Report(ctx, agent.Progress{Kind: agent.ProgressText, Text: name})
			if !answers {
				<-ctx.Done()
				err = ctx.Err()
			}
			return agent.Response{}, err
		})}, f)
	}
	first := process("first", false)
	r := start(h, first, f, none{}, "")
	var texts []string
	for p, err := range opened(h, h.engine(nil), r.ID()).Progress(h.ctx) {
		require.NoError(t, err)
		if texts = append(texts, p.Text); len(texts) == 1 {
			h.close(first)
			_, err := process("second", true).Resume(h.ctx)
			require.NoError(t, err)
		}
	}
	assert.Equal(t, []string{"first", "second"}, texts)
}
