package enginetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// flow returns a flow with a unique name that declares no agents.
func flow[In, Out any](h *host, do func(c *orchestrator.Context, in In) (Out, error)) orchestrator.Flow[In, Out] {
	h.flows++
	return orchestrator.Flow[In, Out]{Name: h.id(fmt.Sprint("flow", h.flows)), Do: do}
}

// none is the type of an input or output that a flow does not need.
type none struct{}

// run runs a flow without input, in a new process, and returns its result.
func run[Out any](h *host, agents agent.Roster, do func(c *orchestrator.Context) (Out, error)) (Out, error) {
	h.t.Helper()
	f := flow(h, func(c *orchestrator.Context, _ none) (Out, error) { return do(c) })
	e := h.engine(agents)
	defer h.close(e)
	return f.Run(h.ctx, e, none{})
}

// within runs a flow without input under the budget b, in a new process.
func within[Out any](h *host, b orchestrator.Budget, agents agent.Roster, do func(c *orchestrator.Context) (Out, error)) (Out, error) {
	h.t.Helper()
	f := flow(h, func(c *orchestrator.Context, _ none) (Out, error) { return do(c) })
	e := h.engine(agents)
	defer h.close(e)
	r, err := f.Start(h.ctx, e, none{}, orchestrator.StartOptions{Budget: b})
	require.NoError(h.t, err)
	return f.Result(h.ctx, r)
}

// start starts a run of f.
func start[In, Out any](h *host, e *orchestrator.Engine, f orchestrator.Flow[In, Out], in In, id string) *orchestrator.Run {
	h.t.Helper()
	r, err := f.Start(h.ctx, e, in, orchestrator.StartOptions{ID: id})
	require.NoError(h.t, err)
	return r
}

// follow yields the records of a run as they come, until it has ended. It asks an
// engine that is no engine.Watcher again and again.
func follow(h *host, r *orchestrator.Run) iter.Seq[runlog.Record] {
	return func(yield func(runlog.Record) bool) {
		next, again := int64(0), true
		for again && h.ctx.Err() == nil {
			again = false
			for rec, err := range r.Events(h.ctx, next) {
				if again = errors.Is(err, errors.ErrUnsupported); again {
					<-time.After(time.Millisecond)
					break
				}
				require.NoError(h.t, err)
				if !yield(rec) {
					return
				}
				next = rec.Seq + 1
			}
		}
	}
}

// optional skips the rest of a check if err says that the engine cannot do it.
func optional(h *host, err error) {
	h.t.Helper()
	if errors.Is(err, errors.ErrUnsupported) {
		h.t.Skip("engines need not do this: ", err)
	}
}

// records returns the records of a kind. It waits for the end of the run.
func records(h *host, r *orchestrator.Run, kind string) []runlog.Record {
	h.t.Helper()
	var found []runlog.Record
	for rec := range follow(h, r) {
		if rec.Kind == kind {
			found = append(found, rec)
		}
	}
	return found
}

// await waits for the first record of a kind and returns it.
func await(h *host, r *orchestrator.Run, kind string) runlog.Record {
	h.t.Helper()
	for rec := range follow(h, r) {
		if rec.Kind == kind {
			return rec
		}
	}
	require.FailNow(h.t, "the run has no such record", "kind %q", kind)
	return runlog.Record{}
}

// info returns what a process knows of a run.
func info(h *host, r *orchestrator.Run) orchestrator.Info {
	h.t.Helper()
	i, err := r.Info(h.ctx)
	require.NoError(h.t, err)
	return i
}

// ask calls an agent with a prompt and returns its text.
func ask(c *orchestrator.Context, name, prompt string) (string, error) {
	resp, err := c.Call(name, agent.Request{Prompt: prompt})
	return resp.Text, err
}

// echo is an agent that answers with the prompt.
var echo = agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
	return agent.Response{Text: req.Prompt}, nil
})

// hang is an agent that returns when its context is done.
var hang = agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
	<-ctx.Done()
	return agent.Response{}, ctx.Err()
})

// uses returns an agent whose answers are empty, with the usage u.
func uses(u providers.Usage) agent.Func {
	return func(context.Context, agent.Request) (agent.Response, error) { return agent.Response{Usage: u}, nil }
}

// fails returns an agent that returns err.
func fails(err error) agent.Func {
	return func(context.Context, agent.Request) (agent.Response, error) { return agent.Response{}, err }
}

// counted returns an agent like a, and the number of attempts that have reached it.
func counted(a agent.Agent) (agent.Agent, *atomic.Int64) {
	n := new(atomic.Int64)
	return agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
		n.Add(1)
		return a.Call(ctx, req)
	}), n
}

// gate is an agent whose calls wait until pass lets them through, by prompt.
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
	default: // nobody has waited for the call before
	}
	select {
	case <-g.open[req.Prompt]:
		return agent.Response{Text: req.Prompt}, nil
	case <-ctx.Done():
		return agent.Response{}, ctx.Err()
	}
}

// wait waits until a call with that prompt has arrived.
func (g *gate) wait(ctx context.Context, prompt string) {
	g.t.Helper()
	select {
	case <-g.arrived[prompt]:
	case <-ctx.Done():
		require.FailNow(g.t, "the call did not come", "prompt %q", prompt)
	}
}

// pass lets one call with that prompt through.
func (g *gate) pass(prompt string) { g.open[prompt] <- struct{}{} }

// opener returns an agent that lets the call with its own prompt through.
func (g *gate) opener() agent.Agent {
	return agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
		g.pass(req.Prompt)
		return agent.Response{}, nil
	})
}

// keyed is an agent that notes the keys and attempts of its calls.
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
