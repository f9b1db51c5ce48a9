package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// wait is an effect under way that is no call.
type wait struct {
	timer  *time.Timer // of a sleep, a limit, or a question's time
	begun  atomic.Bool // of a child: it can be told something
	cancel atomic.Bool // of a child: it is to be canceled
}

// Start implements engine.Port.
func (r *run) Start(op *engine.Op) {
	if op.Kind == engine.Call {
		r.call(op)
		return
	}
	w := &wait{}
	switch op.Kind {
	case engine.Call: // above
	case engine.Sleep:
		r.busy.Add(1)
		w.timer = r.at(op.Until, op, blackboard.Slept)
	case engine.Limit:
		w.timer = r.at(r.clock.When(op.Worked), op, blackboard.Slept)
	case engine.Await:
		if !r.ask(op) {
			return
		}
		if !op.Until.IsZero() {
			w.timer = r.at(op.Until, op, blackboard.Expired)
		}
	case engine.Child:
		r.busy.Add(1)
		w.cancel.Store(op.Canceled)
		r.e.pool.do(jobFunc(func() { r.startChild(op, w) }))
	}
	op.Private = w
	if w.timer != nil {
		if r.timers == nil {
			r.timers = map[*wait]bool{}
		}
		r.timers[w] = true
	}
}

// untime stops and forgets the timer of op.
func (r *run) untime(op *engine.Op) (stopped bool) {
	w, ok := op.Private.(*wait)
	if !ok || w.timer == nil {
		return false
	}
	delete(r.timers, w)
	return w.timer.Stop()
}

// at writes a record for op when it is time.
func (r *run) at(t time.Time, op *engine.Op, kind string) *time.Timer {
	rec := &record{r: r, kind: kind, op: op, branch: op.Branch, n: op.N, name: op.Name}
	return time.AfterFunc(time.Until(t), func() {
		r.e.pool.do(jobFunc(func() {
			if kind == blackboard.Expired && !r.expire(op) {
				return
			}
			rec.at = now()
			r.driveHere(r.write(rec))
		}))
	})
}

// driveHere drives other on this goroutine; nil: there is nothing to drive.
func (r *run) driveHere(other *run) {
	if other != nil {
		other.work()
	}
}

// Cancel implements engine.Port.
func (r *run) Cancel(op *engine.Op) {
	if f, ok := op.Private.(*flight); ok && op.Kind == engine.Call {
		f.cancel(engine.ErrCanceled)
		if r.later == f { // it has not begun
			r.later = nil
			r.e.pool.do(f)
		}
		return
	}
	w, ok := op.Private.(*wait)
	if !ok {
		return
	}
	switch op.Kind { //nolint:exhaustive // the others have timers
	case engine.Await:
		if r.questions.Drop(op) {
			r.quiet(op)
			r.own(&record{kind: blackboard.Withdrawn, branch: op.Branch, n: op.N, name: op.Name})
			r.answers.close(op.Name, "was withdrawn")
		}
	case engine.Child:
		w.cancel.Store(true)
		if w.begun.Load() {
			r.cancelChild(op.Input.Run)
		}
	default:
		if r.untime(op) && op.Kind == engine.Sleep {
			r.busy.Add(-1)
		}
	}
}

// ask puts a question, unless it is answered already. It tells whether it is open.
func (r *run) ask(op *engine.Op) bool {
	if !op.Asked {
		if answer, ok := r.questions.Ask(op); ok {
			r.ready = append(r.ready, engine.Answer(op, answer))
			return false
		}
	}
	r.waiting.Add(1)
	r.answers.open(op)
	if !op.Asked {
		r.own(&record{kind: blackboard.Asked, branch: op.Branch, n: op.N, name: op.Name, raw: op.Ask})
	}
	return true
}

// answered hands an answer to the effects that wait for it. The first one counts.
func (r *run) answered(key string, data json.RawMessage) {
	waiting, _ := r.questions.Answer(key, data)
	for _, op := range waiting {
		r.quiet(op)
		r.ready = append(r.ready, engine.Answer(op, data))
	}
}

// quiet ends the waiting of a question.
func (r *run) quiet(op *engine.Op) {
	r.waiting.Add(-1)
	r.untime(op)
}

// expire closes a question whose time is over, unless an answer came first.
func (r *run) expire(op *engine.Op) bool {
	if r.e.inbox == nil {
		return r.answers.close(op.Name, "has expired")
	}
	ctx, cancel := r.e.shortly()
	defer cancel()
	err := r.e.inbox.Put(ctx, blackboard.Letter{Run: r.id, Key: op.Name, Expired: true})
	if errors.Is(err, blackboard.ErrConflict) {
		var expired bool
		if expired, err = r.e.expired(ctx, r.id, op.Name); err == nil && !expired {
			r.e.takeLetters(ctx, r.id) // an answer came first
			return false
		}
	}
	switch {
	case err == nil:
		return true
	case !r.over() && r.e.life.Err() == nil:
		r.e.cfg.Log.Warn("the end of a question's time cannot be recorded; trying again", "run", r.id, "question", op.Name, "err", err)
		time.AfterFunc(r.e.cfg.Poll, func() {
			r.e.pool.do(jobFunc(func() {
				if !r.over() && r.expire(op) {
					r.driveHere(r.write(&record{r: r, kind: blackboard.Expired, op: op, branch: op.Branch, n: op.N, name: op.Name, at: now()}))
				}
			}))
		})
	}
	return false
}

// expired tells whether a question was closed already, because its time was over: for
// another branch, or before the process died.
func (e *Engine) expired(ctx context.Context, id, key string) (bool, error) {
	for l, err := range e.inbox.Letters(ctx, id) {
		if err != nil || l.Key == key {
			return l.Expired, err
		}
	}
	newest := ""
	for rec, err := range e.inbox.Asks(ctx, id, key) {
		if err != nil {
			return false, err
		}
		newest = rec.Kind
	}
	return newest == blackboard.Expired, nil
}

// Now implements engine.Port.
func (r *run) Now() (time.Time, time.Duration) { return r.clock.Now() }

// Recorded implements engine.Port: the log of a live run is behind it.
func (r *run) Recorded(string, int64) engine.Recorded { return engine.Recorded{} }

// Expose implements engine.Exposer.
func (r *run) Expose(state func() (json.RawMessage, error)) { r.state = state }

// Emit implements engine.Port.
func (r *run) Emit(rec blackboard.Record) {
	r.own(&record{kind: rec.Kind, branch: rec.Branch, n: rec.N, name: rec.Name, hash: rec.Hash, raw: rec.Data})
}

// own writes a record that the flow itself makes. It is committed together with what
// comes next, at the latest when the flow waits.
func (r *run) own(rec *record) {
	rec.r = r
	rec.at, _ = r.clock.Now()
	if err := r.prepare(rec); err != nil {
		rec.settle(err)
		return
	}
	if r.e.commit == nil {
		rec.settle(r.records.add(rec))
		return
	}
	if r.e.commit.put(rec) {
		r.e.pool.do(jobFunc(func() { r.driveHere(r.e.commit.flush()) }))
	}
}

// startChild begins a run inside of r, or resumes it where its log is there.
func (r *run) startChild(op *engine.Op, w *wait) {
	in := *op.Input
	in.Parent = r.id
	child, err := r.e.start(r.e.life, op.Child, in)
	if err != nil {
		r.childFailed(op, err)
		return
	}
	w.begun.Store(true)
	if w.cancel.Load() { // its parent gave it up before it was there to be told
		r.cancelChild(in.Run)
	}
	if child != nil {
		child.attach(r, op)
		return
	}
	end, err := r.e.Wait(r.e.life, in.Run, op.Child)
	if err != nil {
		r.childFailed(op, err)
		return
	}
	r.childEnded(op, end)
}

// attach makes r tell its parent when it is over.
func (r *run) attach(parent *run, op *engine.Op) {
	r.mu.Lock()
	r.parent, r.op = parent, op
	told := r.told
	r.mu.Unlock()
	parent.mu.Lock()
	if parent.children == nil {
		parent.children = map[*run]bool{}
	}
	parent.children[r] = true
	parent.mu.Unlock()
	if told {
		r.tellParent()
	}
}

// tellParent tells the run that started r how it ended.
func (r *run) tellParent() {
	r.mu.Lock()
	parent, op := r.parent, r.op
	r.told = true
	r.mu.Unlock()
	if parent == nil {
		return
	}
	parent.mu.Lock()
	delete(parent.children, r)
	parent.mu.Unlock()
	if r.err != nil {
		parent.childFailed(op, r.err)
		return
	}
	parent.childEnded(op, r.end)
}

// childEnded puts the end of a child into its parent's log. The child's own log has
// the rest of it.
func (r *run) childEnded(op *engine.Op, end engine.End) {
	told := engine.End{Status: end.Status, Output: end.Output, Err: end.Err, Lost: end.Lost, Figures: end.Figures}
	data, err := engine.Encode(told)
	if err != nil {
		r.stop(err)
		return
	}
	rec := &record{r: r, kind: blackboard.Called, op: op, branch: op.Branch, n: op.N, name: op.Name, at: now()}
	rec.resp = &agent.Response{Data: data, Usage: end.Spent}
	r.driveHere(r.write(rec))
}

// childFailed stops r with a child that stopped. What is wrong with the child's start
// is a result.
func (r *run) childFailed(op *engine.Op, err error) {
	switch {
	case op.Child.Fault != nil, errors.Is(err, engine.ErrNoAgent):
		r.driveHere(r.write(&record{r: r, kind: blackboard.Called, op: op, branch: op.Branch, n: op.N, name: op.Name, at: now(), err: agent.ErrorOf(err)}))
	case isStuck(err):
		r.stop(childStuck(op, err))
	default:
		r.stop(err)
	}
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
func (r *run) cancelChild(id string) {
	r.e.pool.do(jobFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), appendLimit) // also while the engine is closed
		defer cancel()
		err := r.e.Tell(ctx, id, engine.Command{Kind: engine.CancelIt, Data: json.RawMessage(`"its parent was canceled or has ended"`)})
		if err != nil && !errors.Is(err, engine.ErrNoRun) {
			r.e.cfg.Log.Warn("child run cannot be canceled", "run", id, "err", err)
		}
	}))
}

// stopChildren stops the children of a run that stopped.
func (r *run) stopChildren() {
	r.mu.Lock()
	children := slices.Collect(maps.Keys(r.children))
	r.mu.Unlock()
	for _, c := range children {
		c.stop(closedError())
	}
}
