package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// begin begins an effect that is no call.
func (r *run) begin(op *engine.Op) {
	f := &flight{r: r, op: op, kind: op.Kind}
	r.link(f, 0) // the run waits when its question can be seen
	until := op.Until
	switch op.Kind { //nolint:exhaustive // the others just wait
	case engine.Await:
		if !op.Asked && !r.questions.Ask(r, op) {
			r.unlink(op)
			return
		}
	case engine.Limit:
		until = r.clock.When(op.Worked)
	case engine.Child:
		f.unwanted.Store(op.Canceled)
		r.e.pool.do(f)
	}
	if !until.IsZero() {
		r.mu.Lock()
		defer r.mu.Unlock()
		f.arm(max(time.Until(until), 1))
	}
}

// Cancel implements engine.Port.
func (r *run) Cancel(op *engine.Op) {
	f, ok := op.Private.(*flight)
	if !ok {
		return
	}
	switch f.kind {
	case engine.Call:
		r.canceled = append(r.canceled, f)
	case engine.Child:
		f.unwanted.Store(true)
		f.cancelChild()
	case engine.Await:
		if r.questions.Drop(op) {
			r.unlink(op)
			r.Emit(runlog.Record{Kind: runlog.Withdrawn, Branch: op.Branch, N: op.N, Name: op.Name})
		}
	case engine.Sleep, engine.Limit:
		r.unlink(op)
	}
}

// Now implements engine.Port.
func (r *run) Now() (time.Time, time.Duration) { return r.clock.Now() }

// Recorded implements engine.Port: the log of a live run is behind it.
func (r *run) Recorded(string, int64) engine.Recorded { return engine.Recorded{} }

// Expose implements engine.Port.
func (r *run) Expose(state func() (json.RawMessage, error)) { r.state = state }

// Emit implements engine.Port: rec is committed together with what comes next, at the
// latest when the flow waits.
func (r *run) Emit(rec runlog.Record) {
	rec.At, _ = r.clock.Now()
	r.asks.note(rec)
	r.e.pool.do(r.write(&record{Record: rec}))
}

// ring puts on record that the time of f is over.
func (f *flight) ring() job {
	r := f.r
	if f.kind != engine.Await {
		return r.write(newRecord(f.op, runlog.Slept, nil))
	}
	expired, err := r.expire(f.op.Name)
	if expired {
		return r.write(newRecord(f.op, runlog.Expired, nil))
	}
	if err != nil && !r.over() && r.e.life.Err() == nil {
		r.e.cfg.Log.Warn("the end of a question's time cannot be recorded; trying again", "run", r.id, "question", f.op.Name, "err", err)
		r.mu.Lock()
		defer r.mu.Unlock()
		if f.index >= 0 {
			f.arm(r.e.cfg.Poll)
		}
	}
	return nil
}

// expire closes a question whose time is over, unless an answer came first.
func (r *run) expire(key string) (bool, error) {
	ctx, cancel := r.e.shortly()
	defer cancel()
	l := runlog.Letter{Run: r.id, Key: key, Expired: true}
	err := r.e.store.Put(ctx, l)
	if errors.Is(err, runlog.ErrConflict) {
		// It may be closed for another branch, or since before the process died.
		var last runlog.Record
		if last, err = r.e.question(ctx, r.id, key); err == nil && last.Kind == runlog.Answered {
			r.e.takeLetters(ctx, r.id) // an answer came first
			return false, nil
		}
	}
	return err == nil && r.asks.take(l), err
}

// startChild begins a run inside of this one, or resumes it where its log is there.
func (f *flight) startChild() job {
	e, in := f.r.e, *f.op.Input
	in.Parent = f.r.id
	child, err := e.start(e.life, f.op.Child, in, f)
	if err != nil {
		return f.childEnded(engine.End{}, err)
	}
	if f.unwanted.Load() { // before it was there to be told
		f.cancelChild()
	}
	if child == nil {
		child, err = f.awaitChild(in)
	}
	if err != nil {
		return f.childEnded(engine.End{}, err)
	}
	if child != nil && child.parent == f {
		return nil // it tells when it is over
	}
	return f.childEnded(e.Wait(e.life, in.Run, f.op.Child))
}

// awaitChild waits for a child that an engine works on which has resumed this run, too,
// or until the store can be read again. It returns nil when the child has ended or is
// stuck, or this run is over.
func (f *flight) awaitChild(in engine.Input) (child *run, err error) {
	e := f.r.e
	err = e.until(e.life, in.Run, func() (bool, error) {
		l, err := e.store.listing(e.life, in.Run)
		switch {
		case f.r.over(), err == nil && l.Ended:
			return true, nil
		case err != nil:
			return false, nil //nolint:nilerr // it is asked again
		}
		child, err = e.start(e.life, f.op.Child, in, f)
		return child != nil || l.Status == runlog.Stuck, err
	})
	return child, err
}

// childEnded puts the end of a child into its parent's log: the child's own log has
// the rest of it. A child that stopped stops its parent, but what is wrong with the
// child's start is a result.
func (f *flight) childEnded(end engine.End, err error) job {
	r := f.r
	var data json.RawMessage
	if err == nil {
		data, err = engine.Encode(engine.End{Status: end.Status, Output: end.Output, Err: end.Err, Lost: end.Lost, Figures: end.Figures})
	}
	switch {
	case err == nil:
		return r.write(newRecord(f.op, runlog.Called, &engine.CalledData{Response: &agent.Response{Data: data, Usage: end.Spent}}))
	case f.op.Child.Fault != nil, errors.Is(err, engine.ErrNoAgent):
		return r.write(newRecord(f.op, runlog.Called, &engine.CalledData{Err: agent.ErrorOf(err)}))
	case isStuck(err):
		err = childStuck(f.op, err)
	case errors.Is(err, runlog.ErrConflict) && !r.over():
		// An engine that has lost this run was faster with a record of the child.
		if lost, failed := r.e.lost(r.e.life, r); failed != nil || !lost {
			return f // which starts it again
		}
	case isForeign(err):
		err = agent.ErrorOf(fmt.Errorf("%w: %w: child run %q cannot be read, and its parent is suspended: %w", engine.ErrStopped, errOutage, f.op.Input.Run, err))
	}
	r.stop(err)
	return nil
}

// isForeign tells whether err is that of a store which fails for a while, and none that
// this library makes.
func isForeign(err error) bool {
	for _, own := range []error{runlog.ErrConflict, runlog.ErrDamaged, runlog.ErrNoRun, runlog.ErrEnded} {
		if errors.Is(err, own) {
			return false
		}
	}
	return len(agent.ErrorOf(err).Codes) == 0
}

// childStuck makes a run stuck with its child.
func childStuck(op *engine.Op, err error) error {
	failure := agent.ErrorOf(fmt.Errorf("child run %q is stuck: %w", op.Input.Run, err))
	if !errors.Is(failure, engine.ErrFlow) {
		failure.Codes = append(failure.Codes, engine.ErrFlow)
	}
	return failure
}

// cancelChild tells a child to end.
func (f *flight) cancelChild() {
	e, id := f.r.e, f.op.Input.Run
	e.pool.do(jobFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), appendLimit) // also while the engine is closed
		defer cancel()
		err := e.Tell(ctx, id, engine.Command{Kind: engine.CancelIt, Data: json.RawMessage(`"its parent was canceled or has ended"`)})
		if err != nil && !errors.Is(err, engine.ErrNoRun) {
			e.cfg.Log.Warn("child run cannot be canceled", "run", id, "err", err)
		}
	}))
}
