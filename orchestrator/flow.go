// Package orchestrator runs teams of agents: flows in direct style, on an engine
// that records what they do.
//
// A [Flow] is an ordinary function under a name. It reaches the world only
// through its [Context]: it calls agents, sleeps, asks people, and starts branches with
// [Map] and [Queue]. An [Engine] executes flows. With a store it keeps a log of every
// answer. When a process has died, an engine that was told to [Engine.Resume]
// continues its runs: it executes the flow again over the recorded answers, and makes
// no recorded call twice.
//
// So flow code is deterministic: no goroutines, channels, locks, clock, dice,
// environment, or I/O, and nothing that depends on the order of a map. Time is
// [Context.Now], waiting is [Context.Sleep]; what touches the world is an agent.
// Do must not change variables that it captures: many runs share them.
//
// One branch of a run executes at a time and gives way only inside an effect, so
// branches may share variables without locks; agents run truly in parallel.
//
// A [Budget] limits a run or a part of it. [IsOver] tells an error by which the engine
// ends the flow from the failure of one call. A flow that breaks a rule leaves its run
// [Stuck]: nothing is lost, and [Run.Retry] tries it again.
package orchestrator

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// Flow is how agents work together: an ordinary function under a name. A Flow
// is a value, safe for any number of runs at once. In and Out must have a JSON
// form that decodes to the same value; they pass through it once in memory too, so
// that a fresh and a resumed result are equal.
type Flow[In, Out any] struct {
	Name    string // required; it finds the flow again at a resume and on other machines
	Version int    // recorded with every run: only the version that a run started with resumes it

	// Agents are the names that Do may call, its children's included. They are looked
	// for when a run starts, before anything is recorded, and a call of another one is
	// ErrNoAgent. nil declares nothing: a missing agent is found at the call.
	Agents []string

	// Roles says what Do wants agents for, by their names, such as "Agents.Critic": the
	// error of one that is missing says it. nil says nothing. Teams set it by team.Roles.
	Roles map[string]string

	// Do is the flow, which is deterministic: see the package. What it returns beside
	// an error is kept and handed to the host: the best so far.
	Do func(c *Context, in In) (Out, error)
}

// Run starts a run, waits, and returns what the flow returned: the result and
// the error, each as it is. At most one o says how it starts, as for Start. When ctx
// is done the run is canceled for good (the flow may still return what it has); for
// a run that shall outlive its caller there is Start.
//
// The result is zero only if there is none: the run was not started (ErrNoAgent,
// a bad flow), was stopped by Close (ErrStopped), or the flow failed (ErrFlow,
// ErrDiverged). A flow that does not return from its own code within a second of the
// end of ctx is left to itself, and the error is that of ctx. On an engine that is no
// engine.Watcher, this second is also the limit of what the flow cleans up.
func (f Flow[In, Out]) Run(ctx context.Context, e *Engine, in In, o ...StartOptions) (Out, error) {
	var zero Out
	if len(o) > 1 {
		return zero, fmt.Errorf("orchestrator: Run of flow %q got %d StartOptions, want at most one", f.Name, len(o))
	}
	var how StartOptions
	if len(o) == 1 {
		how = o[0]
	}
	id, wait, err := f.start(ctx, e, in, how)
	if err != nil {
		return zero, err
	}
	end, err := wait(ctx)
	if err == nil || ctx.Err() == nil {
		return f.result(end, err)
	}
	uncanceled, cause := context.WithoutCancel(ctx), context.Cause(ctx)
	if err := (&Run{e, id}).Cancel(uncanceled, cause.Error()); err != nil && !errors.Is(err, ErrNoRun) { // it has ended and is forgotten
		return zero, err
	}
	for {
		soon, stop := context.WithTimeout(uncanceled, time.Second)
		w, ok := e.driver.(engine.Watcher)
		if ok {
			_, _ = w.State(soon, id) // it is read between two steps of the flow
		}
		stubborn := !ok || soon.Err() != nil
		end, err := wait(soon)
		late := soon.Err() != nil
		stop()
		switch {
		case err == nil || !late:
			return f.result(end, err)
		case stubborn:
			return zero, cause
		}
	}
}

// start begins a run, if it may start. wait is that of engine.Driver.
func (f Flow[In, Out]) start(ctx context.Context, e *Engine, in In, o StartOptions) (id string, wait func(context.Context) (engine.End, error), err error) {
	if e.fault != nil {
		return "", nil, e.fault
	}
	if o.ID == "" {
		o.ID = strings.ToLower(rand.Text())
	} else if err := runlog.CheckID(o.ID); err != nil {
		return "", nil, agent.ErrorOf(fmt.Errorf("%w: StartOptions.ID is %w", ErrMalformed, err))
	}
	data, err := engine.Encode(&in)
	if err != nil {
		return "", nil, fmt.Errorf("orchestrator: the input of flow %q has no JSON form: %w", f.Name, err)
	}
	input, err := o.input()
	if err != nil {
		return "", nil, err
	}
	input.Data, input.Edition = data, engine.Edition
	wait, err = e.driver.Start(ctx, f.Program(), input)
	return o.ID, wait, err
}

// Start begins a run and returns when its start is on record. ctx bounds the
// start, not the run. Without a Store the result is kept until it is fetched, within the
// limits that NewLocal names.
//
// If o.ID is known already with the same flow, input, budget, labels, values and
// ContinuedFrom, Start returns that run, and resumes it if no engine works on it;
// else it is ErrExists and names what differs.
func (f Flow[In, Out]) Start(ctx context.Context, e *Engine, in In, o StartOptions) (*Run, error) {
	id, _, err := f.start(ctx, e, in, o)
	if err != nil {
		return nil, err
	}
	return &Run{e, id}, nil
}

// Result waits for r and returns what the flow returned, as Run does. When ctx
// is done it stops waiting, and the run is not canceled. A run of another flow is ErrDiverged.
func (f Flow[In, Out]) Result(ctx context.Context, r *Run) (Out, error) {
	v, err := r.engine.find(ctx, r.id)
	if err == nil && v.Flow != f.Name {
		err = agent.ErrorOf(fmt.Errorf("%w: run %q is of flow %q, not %q", ErrDiverged, r.id, v.Flow, f.Name))
	}
	var end engine.End
	if err == nil {
		end, err = r.engine.driver.Wait(ctx, r.id, f.Program())
	}
	return f.result(end, err)
}

// Child runs f inside another run: under its budget, canceled with it, with a
// log of its own and the ID parent/effect. It has the labels and values of the run.
// Result and error are as f returned them.
//
// What is left of c's budget when the child starts is set aside for it: branches
// beside it cannot spend it, and what the child did not use comes back when it
// ends. So give children that run side by side a share each (WithBudget, Split):
// one that finds nothing left is refused with ErrBudget. Children deeper than 64
// are ErrFlow.
func (f Flow[In, Out]) Child(c *Context, in In) (Out, error) {
	var zero Out
	data, err := engine.Encode(&in)
	if err != nil {
		return zero, agent.ErrorOf(fmt.Errorf("%w: input of flow %q: %w", ErrMalformed, f.Name, err))
	}
	op := c.branch.Op(engine.Child, f.Name)
	op.Child, op.Input = f.Program(), &engine.Input{Run: c.RunID(), Data: data}
	op.Input.Carry(c.run.in)
	done := c.branch.Do(c.use, op)
	if done.End == nil {
		return zero, done.Err
	}
	return f.result(*done.End, nil)
}

// result is what the flow returned, if it ended without err.
func (f Flow[In, Out]) result(end engine.End, err error) (out Out, _ error) {
	if err != nil {
		return out, err
	}
	if end.Output != nil {
		if err := text.ReadJSON(end.Output, &out); err != nil {
			return out, fmt.Errorf("orchestrator: the output of flow %q does not decode to a %T: %w", f.Name, out, err)
		}
	}
	if end.Err != nil {
		return out, end.Err
	}
	return out, nil
}
