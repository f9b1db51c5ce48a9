package enginetest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// flow is a flow that declares no agents, under a name of its own.
func flow[In, Out any](h *host, do func(c *orchestrator.Context, in In) (Out, error)) orchestrator.Flow[In, Out] {
	h.flows++
	return orchestrator.Flow[In, Out]{Name: h.id(fmt.Sprint("flow", h.flows)), Do: do}
}

// none is the input or output of a flow that needs none.
type none struct{}

// run runs a flow without input in a process of its own.
func run[Out any](h *host, agents agent.Roster, do func(c *orchestrator.Context) (Out, error)) (Out, error) {
	h.t.Helper()
	f := flow(h, func(c *orchestrator.Context, _ none) (Out, error) { return do(c) })
	e := h.engine(agents)
	defer h.close(e)
	return f.Run(h.ctx, e, none{})
}

// within runs a flow without input under a budget.
func within[Out any](h *host, b orchestrator.Budget, agents agent.Roster, do func(c *orchestrator.Context) (Out, error)) (Out, error) {
	h.t.Helper()
	f := flow(h, func(c *orchestrator.Context, _ none) (Out, error) { return do(c) })
	e := h.engine(agents)
	defer h.close(e)
	r, err := f.Start(h.ctx, e, none{}, orchestrator.StartOptions{Budget: b})
	require.NoError(h.t, err)
	return f.Result(h.ctx, r)
}

// start begins a run of f.
func start[In, Out any](h *host, e *orchestrator.Engine, f orchestrator.Flow[In, Out], in In, id string) *orchestrator.Run {
	h.t.Helper()
	r, err := f.Start(h.ctx, e, in, orchestrator.StartOptions{ID: id})
	require.NoError(h.t, err)
	return r
}

// records are those of a run that has ended.
func records(h *host, r *orchestrator.Run, kind string) []runlog.Record {
	h.t.Helper()
	var found []runlog.Record
	for rec, err := range r.Events(h.ctx, 0) {
		require.NoError(h.t, err)
		if rec.Kind == kind {
			found = append(found, rec)
		}
	}
	return found
}

// await waits for the first record of a kind.
func await(h *host, r *orchestrator.Run, kind string) runlog.Record {
	h.t.Helper()
	for rec, err := range r.Events(h.ctx, 0) {
		require.NoError(h.t, err)
		if rec.Kind == kind {
			return rec
		}
	}
	require.FailNow(h.t, "the run has no such record", "kind %q", kind)
	return runlog.Record{}
}

func info(h *host, r *orchestrator.Run) orchestrator.Info {
	h.t.Helper()
	i, err := r.Info(h.ctx)
	require.NoError(h.t, err)
	return i
}

// ask calls an agent with a prompt.
func ask(c *orchestrator.Context, name, prompt string) (string, error) {
	resp, err := c.Call(name, agent.Request{Prompt: prompt})
	return resp.Text, err
}

// echo answers with the prompt.
var echo = agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
	return agent.Response{Text: req.Prompt}, nil
})

// hang answers when its context is done.
var hang = agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
	<-ctx.Done()
	return agent.Response{}, ctx.Err()
})

// uses answers with nothing but usage.
func uses(u providers.Usage) agent.Func {
	return func(context.Context, agent.Request) (agent.Response, error) { return agent.Response{Usage: u}, nil }
}

// fails answers with an error.
func fails(err error) agent.Func {
	return func(context.Context, agent.Request) (agent.Response, error) { return agent.Response{}, err }
}

// counted counts the attempts that reach a.
func counted(a agent.Agent) (agent.Agent, *atomic.Int64) {
	n := new(atomic.Int64)
	return agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
		n.Add(1)
		return a.Call(ctx, req)
	}), n
}

// gate is an agent whose calls wait until they are let through, by prompt.
type gate struct {
	t       *testing.T
	arrived map[string]chan struct{}
	open    map[string]chan struct{}
}

// newGate returns a gate for calls with these prompts.
func newGate(t *testing.T, prompts ...string) *gate {
	g := &gate{t: t, arrived: map[string]chan struct{}{}, open: map[string]chan struct{}{}}
	for _, p := range prompts {
		g.arrived[p], g.open[p] = make(chan struct{}, 1), make(chan struct{}, 1)
	}
	return g
}

// Call implements agent.Agent.
func (g *gate) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	select {
	case g.arrived[req.Prompt] <- struct{}{}:
	default: // the one before was not waited for
	}
	select {
	case <-g.open[req.Prompt]:
		return agent.Response{Text: req.Prompt}, nil
	case <-ctx.Done():
		return agent.Response{}, ctx.Err()
	}
}

// wait waits until a call is there.
func (g *gate) wait(ctx context.Context, prompt string) {
	g.t.Helper()
	select {
	case <-g.arrived[prompt]:
	case <-ctx.Done():
		require.FailNow(g.t, "the call did not come", "prompt %q", prompt)
	}
}

// pass lets a call through.
func (g *gate) pass(prompt string) { g.open[prompt] <- struct{}{} }

// opener is an agent that lets the call of its prompt through.
func (g *gate) opener() agent.Agent {
	return agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
		g.pass(req.Prompt)
		return agent.Response{}, nil
	})
}

// keyed notes the keys and attempts of calls.
type keyed struct {
	name string
	agent.Agent
	keys *[]string
}

// Call implements agent.Agent.
func (k keyed) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	i := agent.InfoFrom(ctx)
	*k.keys = append(*k.keys, fmt.Sprint(k.name, " ", i.Key, " ", i.Attempt))
	return k.Agent.Call(ctx, req)
}
