package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/final"
	"github.com/convene-go/convene/orchestrator/internal/journal"
)

// Start implements engine.Port. Of calls that begin together the driver makes the newest
// one itself.
func (r *run) Start(op *engine.Op) {
	if op.Kind != engine.Call {
		r.begin(op)
		return
	}
	c := &call{effect: effect{r: r, op: op}}
	c.call = &c.Call
	c.Client, c.Party = c, r.party
	c.Info = agent.Info{
		Run: r.id, Flow: r.prog.Name, Agent: op.Name, Branch: op.Branch, N: op.N, Op: op.Request.Op, Task: op.Request.Task,
		Values: r.values, Labels: r.labels, Log: r.log, Watcher: &r.feed,
	}
	c.Request, c.Reserved = op.Request, op.Reserved
	r.link(&c.effect)
	if r.crew.Start(&c.Call) {
		if r.later != nil {
			r.do(r.later)
		}
		r.later = &c.Call
	}
}

// begin begins an effect that is no call.
func (r *run) begin(op *engine.Op) {
	f := &effect{r: r, op: op}
	r.link(f) // the run waits when its question can be seen
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
		f.ended = f.childEnded
		r.do(f)
	}
	if !until.IsZero() {
		r.arm(f, max(r.clock.Left(until), 1))
	}
}

// link notes that f is under way.
func (r *run) link(f *effect) {
	f.op.Private = f
	r.mu.Lock()
	defer r.mu.Unlock()
	f.index = len(r.effects)
	r.effects = append(r.effects, f)
}

// arm has f.Work called in d, unless the flow does not wait for f any more.
func (r *run) arm(f *effect, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case f.index < 0:
	case f.timer == nil:
		f.timer = time.AfterFunc(d, func() { r.pool.Do(f) })
	default:
		f.timer.Reset(d)
	}
}

// Cancel implements engine.Port.
func (r *run) Cancel(op *engine.Op) {
	f, ok := op.Private.(*effect)
	if !ok {
		return
	}
	switch op.Kind {
	case engine.Call:
		r.canceled = append(r.canceled, f.call)
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

// Recorded implements engine.Port: a live run has repeated its log.
func (r *run) Recorded(string, int64) engine.Recorded { return engine.Recorded{} }

// Expose implements engine.Port.
func (r *run) Expose(state func() (json.RawMessage, error)) { r.state = state }

// Emit implements engine.Port: rec is committed together with what comes next, at the
// latest when the flow waits.
func (r *run) Emit(rec runlog.Record) {
	rec.At, _ = r.clock.Now()
	r.record(rec, nil)
}

// Work implements job for an effect that is no call.
func (f *effect) Work() job {
	switch f.op.Kind { //nolint:exhaustive // crew makes calls
	case engine.Child:
		return f.startChild()
	case engine.Await:
		return f.expire()
	}
	if f.r.records.Due.Load() {
		return f.r.complete(f.op, runlog.Slept, engine.SleptData{Tally: f.r.records.Carry()})
	}
	return f.r.complete(f.op, runlog.Slept, nil)
}

// expire ends a question whose time is over.
func (f *effect) expire() job {
	r := f.r
	l, err := r.host.expire(r, f.op.Name)
	if l != nil {
		e := &journal.Entry{Record: runlog.Record{Kind: runlog.Expired, Branch: f.op.Branch, N: f.op.N, Name: f.op.Name}, Op: f.op}
		e.After = after(func() {
			ctx, cancel := r.shortly()
			defer cancel()
			r.host.taken(ctx, l)
		})
		next, ok := r.accept(l, e)
		if !ok { // it was asked again, or answered, just now
			return f
		}
		return next
	}
	switch {
	case err == nil, r.over(), r.life.Err() != nil:
	case final.IsNever(err):
		r.stop(final.Stuck(runlog.Expired, err))
	default:
		r.log.Warn("the end of a question's time cannot be recorded; trying again", "run", r.id, "question", f.op.Name, "err", err)
		r.arm(f, r.poll)
	}
	return nil
}

// startChild begins a run inside of this one, or resumes it where its log is there.
func (f *effect) startChild() job {
	r, in := f.r, *f.op.Input
	in.Parent = r.id
	child, err := r.host.begin(r.life, f.op.Child, in, f)
	if err != nil {
		return f.childEnded(engine.End{}, err)
	}
	if f.unwanted.Load() { // before it was there to be told
		f.cancelChild()
	}
	if child != nil && child.parent == f {
		return nil // it tells when it is over
	}
	end, mine, err := r.host.childEnd(f, in, child)
	if mine {
		return nil
	}
	return f.childEnded(end, err)
}

// childEnded puts the end of a child into its parent's log: the child's own log has
// the rest of it. A child that stopped stops its parent, but what is wrong with the
// child's start is a result.
func (f *effect) childEnded(end engine.End, err error) job {
	r := f.r
	var data json.RawMessage
	if err == nil {
		data, err = engine.Encode(engine.End{Status: end.Status, Output: end.Output, Err: end.Err, Lost: end.Lost, Figures: end.Figures})
		if failure := agent.ErrorOf(err); failure != nil { // it is too large
			failure.Usage, err = end.Spent, failure
		}
	}
	switch {
	case err == nil:
		d := &engine.CalledData{Response: &agent.Response{Data: data, Usage: end.Spent}}
		if r.records.Due.Load() {
			d.Tally = r.records.Carry()
		}
		return r.complete(f.op, runlog.Called, d)
	case f.op.Child.Fault != nil, errors.Is(err, engine.ErrNoAgent), final.IsNever(err) && !isStuck(err):
		return r.complete(f.op, runlog.Called, &engine.CalledData{Err: agent.ErrorOf(err)})
	case isStuck(err):
		err = childStuck(f.op, err)
	case (errors.Is(err, runlog.ErrConflict) || errors.Is(err, engine.ErrNoRun)) && !r.over():
		// An engine that has lost this run was faster with a record of the child, or it was deleted.
		if lost, failed := r.host.lost(r); !lost && !errors.Is(failed, engine.ErrNoRun) {
			return f // it starts the child again
		}
	case isOutage(err):
		err = agent.ErrorOf(fmt.Errorf("%w: %w: child run %q cannot be read, and its parent is suspended: %w", engine.ErrStopped, journal.ErrOutage, f.op.Input.Run, err))
	}
	r.stop(err)
	return nil
}

// cancelChild tells a child to end.
func (f *effect) cancelChild() {
	r, id := f.r, f.op.Input.Run
	r.async(func() {
		ctx, cancel := context.WithTimeout(context.Background(), journal.AppendLimit) // it works while the engine is closed, too
		defer cancel()
		err := r.host.Tell(ctx, id, engine.Command{Kind: engine.CancelIt, Data: json.RawMessage(`"its parent was canceled or has ended"`)})
		if err != nil && !errors.Is(err, engine.ErrNoRun) {
			r.log.Warn("child run cannot be canceled", "run", id, "err", err)
		}
	})
}

// isOutage reports whether err came from the store, not from this library: the store
// fails for a while.
func isOutage(err error) bool {
	return !final.Is(err) && !errors.Is(err, runlog.ErrNoRun) && len(agent.ErrorOf(err).Codes) == 0
}
