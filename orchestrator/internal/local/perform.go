package local

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// flight is a call of an agent under way, with the record that it will be.
type flight struct {
	record
	task   engine.Task
	state  atomic.Int32
	placed bool          // it holds one of Config.Parallel places; under pool.mu
	wait   time.Duration // for its agent to return, once it is canceled or overdue
	unmade bool          // its agent was not called, because the engine drains

	// Under run.mu:
	prev, next *flight     // in the run's list
	grace      *time.Timer // until the agent is left behind; nil: nothing asks for one yet
	canceled   time.Time   // zero: it is not
}

// The states of a flight.
const (
	underway int32 = iota
	settled        // its agent has returned
	left           // its agent was left behind
)

// call begins a call: the driver makes the newest one itself, others the pool.
func (r *run) call(op *engine.Op) {
	f := &flight{}
	f.record = record{r: r, kind: blackboard.Called, op: op, branch: op.Branch, n: op.N, name: op.Name, resp: &f.task.Response}
	if op.Reserved != (engine.Amount{}) {
		reserved := op.Reserved
		f.reserved = &reserved
	}
	f.task.Info = agent.Info{Run: r.id, Flow: r.prog.Name, Agent: op.Name, Branch: op.Branch, N: op.N, Log: r.e.cfg.Log, Watcher: r}
	f.task.Request, f.task.Reserved = op.Request, op.Reserved
	f.wait = f.task.Grace()
	op.Private = f
	r.busy.Add(1)
	r.mu.Lock()
	r.link(f)
	if l := op.Request.Limits; l.Timeout > 0 || l.Total > 0 {
		first := min(l.Timeout, l.Total)
		if first <= 0 { // there is only one
			first = max(l.Timeout, l.Total)
		}
		f.arm(first + f.wait)
	}
	r.mu.Unlock()
	switch {
	case r.e.cfg.Parallel > 0:
		r.e.pool.call(f)
	default:
		if r.later != nil {
			r.e.pool.do(r.later)
		}
		r.later = f
	}
}

// work performs the call, and what follows from it. It is a job of the pool.
func (f *flight) work() {
	if r := f.perform(); r != nil {
		r.work()
	}
}

// perform makes the call and puts the answer on record. It returns the run that the
// caller has to drive, or nil.
func (f *flight) perform() *run {
	e := f.r.e
	if e.draining.Load() {
		f.unmade, f.task.Ended = true, time.Now()
		return f.returned()
	}
	if e.commit != nil {
		f.hash = engine.RequestHash(f.name, f.task.Request)
		e.commit.calls.Add(1)
		defer e.commit.calls.Add(-1)
	}
	if e.cfg.RecordRequests {
		if err := f.keepRequest(); err != nil {
			f.r.stop(fmt.Errorf("request of run %q, effect %s: %w", f.r.id, engine.Key(f.branch, f.n), err))
			return f.returned()
		}
	}
	returned := false
	defer func() {
		if !returned { // the agent ends this goroutine: another one continues
			e.driveOn(f.returned())
		}
	}()
	f.task.Execute(context.Background(), e.cfg.Agents, e.cfg.Retry)
	returned = true
	return f.returned()
}

// returned puts on record what the call came to. It returns the run that the caller
// has to drive, or nil.
func (f *flight) returned() *run {
	r := f.r
	mine := f.state.CompareAndSwap(underway, settled)
	f.at, f.err = f.task.Ended.Round(0).UTC(), f.task.Err
	r.mu.Lock()
	f.task.Request = nil // here, because cancel asks for its grace
	r.unlink(f)
	if f.grace != nil {
		f.grace.Stop()
	}
	cut := r.cut
	r.mu.Unlock()
	if mine {
		r.e.pool.free(f)
	} else {
		r.e.pool.welcome(f)
	}
	if !mine || f.unmade || cut && f.err != nil {
		used := f.task.Reported()
		if !mine {
			used.Calls = max(used.Calls, 1)
		}
		return r.write(&record{r: r, kind: blackboard.Used, op: f.op, branch: f.branch, n: f.n, name: f.name, at: f.at, used: &used, data: engine.UsedData{Usage: used}})
	}
	return r.write(&f.record)
}

// cancel ends the call's context. An agent that does not return soon is left behind.
func (f *flight) cancel(cause error) {
	f.task.Cancel(cause)
	f.r.mu.Lock()
	if f.canceled.IsZero() && f.state.Load() == underway {
		f.canceled = time.Now()
		f.arm(f.wait)
	}
	f.r.mu.Unlock()
	f.r.e.pool.withdraw(f)
}

// arm has overdue called after d. f.r.mu is held.
func (f *flight) arm(d time.Duration) {
	if f.grace == nil {
		f.grace = time.AfterFunc(d, func() {
			if !f.r.e.pool.do(jobFunc(f.overdue)) {
				f.overdue() // Close waits for it
			}
		})
	} else {
		f.grace.Reset(d)
	}
}

// overdue leaves the agent behind if its time to return is over.
func (f *flight) overdue() {
	r := f.r
	r.mu.Lock()
	if f.state.Load() != underway {
		r.mu.Unlock()
		return
	}
	grace, why := f.wait, engine.ErrCanceled
	since := f.canceled
	if since.IsZero() {
		since, why = f.task.Due(), engine.ErrTimeout
	}
	wait := time.Until(since.Add(grace))
	if since.IsZero() { // between two attempts
		wait = grace
	}
	if wait > 0 || !f.state.CompareAndSwap(underway, left) {
		f.arm(wait)
		r.mu.Unlock()
		return
	}
	r.unlink(f)
	cut := r.cut
	r.mu.Unlock()
	r.e.pool.free(f)
	r.e.pool.abandon(f)
	r.e.cfg.Log.Warn("agent left behind: it ignores its ctx", "agent", f.name, "run", r.id, "call", engine.Key(f.branch, f.n), "grace", grace)
	if cut {
		return // what it uses stays unknown
	}
	err := agent.ErrorOf(fmt.Errorf("%w: agent %q did not return within %v and was left behind: it ignores its ctx", why, f.name, grace))
	err.Codes = append(err.Codes, engine.ErrLeft)
	r.e.driveOn(r.write(&record{
		r: r, kind: blackboard.Called, op: f.op, branch: f.branch, n: f.n, name: f.name, hash: f.hash, at: now(),
		err: err, reserved: f.reserved, given: f.given,
	}))
}

// cutCalls ends all calls of a run that stops. Those that fail by it have used what
// they say, and are made again when the run is resumed.
func (r *run) cutCalls(why error) {
	r.mu.Lock()
	r.cut = true
	var flights []*flight
	for f := r.first; f != nil; f = f.next {
		flights = append(flights, f)
	}
	r.mu.Unlock()
	for _, f := range flights {
		f.cancel(why)
	}
}

// underway are the names of the agents that work for the run.
func (r *run) underway() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for f := r.first; f != nil; f = f.next {
		names = append(names, f.name)
	}
	return names
}

// isIdle tells whether no call and no child is under way.
func (r *run) isIdle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.first == nil && len(r.children) == 0
}

// link and unlink keep the list of calls under way. r.mu is held.
func (r *run) link(f *flight) {
	f.next = r.first
	if f.next != nil {
		f.next.prev = f
	}
	r.first = f
}

func (r *run) unlink(f *flight) {
	switch {
	case f.prev != nil:
		f.prev.next = f.next
	case r.first == f:
		r.first = f.next
	default:
		return // it is not in the list
	}
	if f.next != nil {
		f.next.prev = f.prev
	}
	f.prev, f.next = nil, nil
}

// keepRequest keeps what is asked as blobs, each part once.
func (f *flight) keepRequest() error {
	parts, err := engine.SplitRequest(f.task.Request)
	if err != nil {
		return err
	}
	for _, part := range parts {
		hash, err := f.r.e.commit.putBlob(f.r.id, part)
		if err != nil {
			return err
		}
		f.given = append(f.given, hash)
	}
	return nil
}
