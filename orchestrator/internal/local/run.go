package local

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// run is one run that this engine works on: the engine.Port of its flow.
type run struct {
	e       *Engine
	id      string
	prog    engine.Program
	in      engine.Input
	started chan struct{} // closed when its start is on record, or failed
	begun   *run          // itself, once its start is on record
	begunAt time.Time
	done    chan struct{} // closed when it has ended or stopped
	end     engine.End    // once done
	err     error         // once done: why it did not end

	ctx    context.Context //nolint:containedctx // of the calls: it ends with the run
	cancel context.CancelCauseFunc

	// Only the goroutine that drives the run touches these.
	now    time.Time
	last   time.Time // since when worked counts
	worked time.Duration
	past   *history // what a resumed run has not yet repeated; nil: live
	mail   map[string]json.RawMessage
	asked  map[string][]*engine.Op // that wait for an answer, by key
	local  []engine.Completion     // that need no record of their own

	flow  sync.Mutex // held by whoever drives
	exec  engine.Execution
	later call // the last call that was asked for, for the driver to make
	state func() (json.RawMessage, error)

	busy    atomic.Int64 // effects under way but for questions
	waiting atomic.Int64 // questions

	inbox   queue
	answers answers

	records log

	above    *run // of a child: the run that started it, if this engine works on it
	watchers watchers
}

func newRun(e *Engine, id string, p engine.Program, in engine.Input) *run {
	r := &run{e: e, id: id, prog: p, in: in, begunAt: now(), started: make(chan struct{}), done: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	r.inbox.driving = true // whoever begins it
	return r
}

func now() time.Time { return time.Now().Round(0).UTC() }

// over tells whether the run has ended or stopped.
func (r *run) over() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// same is for somebody who starts a run under the ID of r: nil if it is that run.
func (r *run) same(ctx context.Context, p engine.Program, in engine.Input) error {
	select {
	case <-r.started:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return same(r.id, r.prog.Name, r.in.Data, p, in)
}

func same(id, flow string, input json.RawMessage, p engine.Program, in engine.Input) error {
	switch {
	case flow != p.Name:
		return agent.ErrorOf(fmt.Errorf("%w: run %q is of flow %q, not %q", engine.ErrExists, id, flow, p.Name))
	case !bytes.Equal(input, in.Data):
		return agent.ErrorOf(fmt.Errorf("%w: run %q of flow %q has another input", engine.ErrExists, id, flow))
	}
	return nil
}

// tick moves the run's clock to the next thing that happened.
func (r *run) tick(at time.Time) {
	last := r.last
	r.skip(at)
	r.worked += r.last.Sub(last)
}

// skip moves the run's clock over a time in which nobody worked on it.
func (r *run) skip(at time.Time) {
	if at.Before(r.now) {
		at = r.now // clocks may be set back
	}
	r.now, r.last = at, at
}

// Now implements engine.Port.
func (r *run) Now() (time.Time, time.Duration) { return r.now, r.worked }

// Expose implements engine.Exposer.
func (r *run) Expose(state func() (json.RawMessage, error)) { r.state = state }
