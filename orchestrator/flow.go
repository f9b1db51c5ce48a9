package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// Flow is how agents work together: an ordinary function under a name. A Flow
// is a value, safe for any number of runs at once. In and Out must have a JSON
// form that decodes to the same value; they pass through it once in memory too, so
// that a fresh and a resumed result are equal.
type Flow[In, Out any] struct {
	// Name finds the flow again at a resume and on other machines. Required.
	Name string

	// Version is recorded with every run; a run is resumed only by the version that
	// it started with.
	Version int

	// Agents are the names that Do may call, its children's included. They are
	// looked for when a run starts, before anything is recorded, and a call of
	// another one is ErrNoAgent. nil declares nothing: a missing agent is found at
	// the call.
	Agents []string

	// Do is the flow. It is deterministic: it reaches the world through its
	// Context alone, and starts no goroutine. What it returns beside an error is
	// kept and handed to the host: the best so far.
	Do func(c *Context, in In) (Out, error)
}

// Run starts a run, waits, and returns what the flow returned: the result and
// the error, each as it is. When ctx is done the run is canceled for good (the flow
// may still return what it has); a run that shall outlive its caller is Start's.
// The result is zero only if there is none: the run was not started (ErrNoAgent,
// a bad flow), was stopped by Close (ErrStopped), or the flow panicked or diverged.
func (f Flow[In, Out]) Run(ctx context.Context, e *Engine, in In) (Out, error) {
	var zero Out
	input, err := f.input(StartOptions{ID: newID()}, in)
	if err != nil {
		return zero, err
	}
	if r, ok := e.driver.(engine.Runner); ok {
		end, err := r.Run(ctx, f.Program(), input)
		if err != nil {
			return zero, err
		}
		return f.result(end)
	}
	if err := e.driver.Start(ctx, f.Program(), input); err != nil {
		return zero, err
	}
	run := &Run{e, input.Run}
	out, err := f.Result(ctx, run)
	if ctx.Err() == nil {
		return out, err
	}
	uncanceled := context.WithoutCancel(ctx)
	if err := run.Cancel(uncanceled, context.Cause(ctx).Error()); err != nil {
		return out, err
	}
	return f.Result(uncanceled, run)
}

// Start begins a run and returns when its start is on record. ctx bounds the
// start, not the run: it goes on when ctx is done.
//
// If o.ID is known already with the same flow and input, Start returns that run,
// and goes on with it if no process works on it; with others it is ErrExists.
func (f Flow[In, Out]) Start(ctx context.Context, e *Engine, in In, o StartOptions) (*Run, error) {
	input, err := f.input(o, in)
	if err != nil {
		return nil, err
	}
	if err := e.driver.Start(ctx, f.Program(), input); err != nil {
		return nil, err
	}
	return &Run{e, input.Run}, nil
}

// Result waits for r and returns what the flow returned, as Run does. When ctx
// is done it stops waiting; the run goes on. A run of another flow is ErrDiverged.
func (f Flow[In, Out]) Result(ctx context.Context, r *Run) (Out, error) {
	var zero Out
	info, err := r.start(ctx)
	if err != nil {
		return zero, err
	}
	if info.Flow != f.Name {
		return zero, agent.ErrorOf(fmt.Errorf("%w: run %q is of flow %q, not %q", ErrDiverged, r.id, info.Flow, f.Name))
	}
	end, err := r.engine.driver.Wait(ctx, r.id)
	if err != nil {
		return zero, err
	}
	return f.result(end)
}

// Child runs f inside another run: under its budget, canceled with it, with a
// log of its own and the ID parent/effect. Result and error are as f returned them.
//
// What is left of c's budget when the child starts is the child's budget, and what
// it has spent is counted when it ends: give children that run side by side a
// share each (WithBudget, Split).
func (f Flow[In, Out]) Child(c *Context, in In) (Out, error) {
	var zero Out
	data, err := engine.Encode(in)
	if err != nil {
		return zero, agent.ErrorOf(fmt.Errorf("%w: input of flow %q: %w", ErrMalformed, f.Name, err))
	}
	p := f.Program()
	done := c.branch.Do(c.use, engine.Op{
		Kind: engine.Child, Name: f.Name, Child: &p,
		Input: engine.Input{Run: c.run.id, Data: data, Budget: c.Left()},
	})
	if done.Err != nil {
		return zero, done.Err
	}
	var end engine.End
	if err := json.Unmarshal(done.Response.Data, &end); err != nil {
		return zero, err
	}
	return f.result(end)
}

// StartOptions say how a run starts. The zero value is a new ID and no limit.
type StartOptions struct {
	ID     string            // up to 128 letters, digits, ".", "-", "_"; "": a new one
	Budget Budget            // of the whole run
	Labels map[string]string // the host's; shown in Info

	// ContinuedFrom is the ended run that this one goes on from (a larger budget,
	// more time): the input carries what is to be kept, this links the logs.
	ContinuedFrom string
}

// input is what a run starts from, if it may start.
func (f Flow[In, Out]) input(o StartOptions, in In) (engine.Input, error) {
	if f.Name == "" || f.Do == nil {
		return engine.Input{}, errors.New("orchestrator: a Flow needs a Name and Do")
	}
	if o.ID == "" {
		o.ID = newID()
	}
	if err := checkID(o.ID); err != nil {
		return engine.Input{}, err
	}
	data, err := engine.Encode(in)
	if err != nil {
		return engine.Input{}, fmt.Errorf("orchestrator: the input of flow %q has no JSON form: %w", f.Name, err)
	}
	return engine.Input{Run: o.ID, Data: data, Budget: o.Budget, Labels: o.Labels, ContinuedFrom: o.ContinuedFrom}, nil
}

// result is what the flow returned.
func (f Flow[In, Out]) result(end engine.End) (Out, error) {
	var out Out
	if end.Output != nil {
		if err := json.Unmarshal(end.Output, &out); err != nil {
			return out, fmt.Errorf("orchestrator: the output of flow %q does not decode to a %T: %w", f.Name, out, err)
		}
	}
	if end.Err != nil {
		return out, end.Err
	}
	return out, nil
}
