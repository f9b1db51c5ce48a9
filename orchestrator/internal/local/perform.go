package local

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// flight is an effect under way. A goroutine of the pool makes its call, starts its
// child, or puts on record that its time is over.
type flight struct {
	r    *run
	op   *engine.Op
	kind engine.Kind
	task *engine.Task // of a call

	hash   string        // of the call's request, where that is recorded
	given  []string      // the blobs of the same
	unmade bool          // its agent is not called
	wait   time.Duration // for its agent to return, once it is canceled or overdue

	// Under pool.mu:
	placed    bool // it holds one of Config.Parallel places
	withdrawn bool // it is canceled, and waits for no place

	unwanted atomic.Bool // of a child: it is to be canceled

	// Under run.mu:
	index    int         // in run.flights; -1: it is not there any more
	timer    *time.Timer // until its time is over; of a call: until its agent is left behind; nil: none
	state    state       // of a call
	canceled time.Time   // zero: it is not
}

// state is where a call is.
type state uint8

const (
	underway state = iota
	settled        // its agent has returned
	left           // its agent was left behind
)

// Start implements engine.Port. Of calls that begin together the driver makes the
// newest one itself.
func (r *run) Start(op *engine.Op) {
	if op.Kind != engine.Call {
		r.begin(op)
		return
	}
	both := &struct {
		flight
		task engine.Task
	}{flight: flight{r: r, op: op, kind: op.Kind}}
	f, t := &both.flight, &both.task
	f.task = t
	t.Info = agent.Info{Run: r.id, Flow: r.prog.Name, Agent: op.Name, Branch: op.Branch, N: op.N, Log: r.e.cfg.Log, Watcher: r}
	t.Request, t.Reserved = op.Request, op.Reserved
	f.wait = t.Grace()
	first := op.Request.Limits.Timeout
	if total := op.Request.Limits.Total; total > 0 && (first <= 0 || total < first) {
		first = total
	}
	if first > 0 {
		first += f.wait
	}
	r.link(f, first)
	if r.e.pool.admit(f) {
		r.e.pool.do(r.later)
		r.later = f
	}
}

// work implements job. Of a call it has the agent called, and puts on record what
// that came to.
func (f *flight) work() job {
	e := f.r.e
	switch {
	case f.kind == engine.Child:
		return f.startChild()
	case f.kind != engine.Call:
		return f.ring()
	case e.draining.Load():
		f.unmade = true
		return f.returned()
	}
	if e.commit != nil {
		f.hash = engine.RequestHash(f.op.Name, f.task.Request)
		e.commit.calls.Add(1)
		defer e.commit.calls.Add(-1)
	}
	if err := f.keepRequest(); err != nil {
		f.unmade = true
		f.r.stop(fmt.Errorf("request of run %q, effect %s: %w", f.r.id, f.op.Key(), err))
		return f.returned()
	}
	ended := true
	defer func() {
		if ended { // by the agent: another goroutine continues
			e.pool.do(f.returned())
		}
	}()
	f.task.Execute(context.Background(), e.cfg.Agents, e.cfg.Retry)
	ended = false
	return f.returned()
}

// keepRequest keeps what is asked as blobs, each part once.
func (f *flight) keepRequest() error {
	if !f.r.e.cfg.RecordRequests {
		return nil
	}
	parts, err := engine.SplitRequest(f.task.Request)
	for _, part := range parts {
		hash, err := f.r.e.commit.putBlob(f.r.id, part)
		if err != nil {
			return err
		}
		f.given = append(f.given, hash)
	}
	return err
}

// returned puts on record what the call came to.
func (f *flight) returned() job {
	r := f.r
	r.mu.Lock()
	late := f.state == left
	if !late {
		f.state = settled
	}
	if f.timer != nil {
		f.timer.Stop()
	}
	r.mu.Unlock()
	if late {
		r.e.pool.welcome(f)
	} else {
		r.e.pool.free(f)
	}
	t := f.task
	var rec *record
	if late || f.unmade || r.cut.Load() && t.Err != nil {
		used := t.Reported()
		if late {
			used.Calls = max(used.Calls, 1)
		}
		rec = newRecord(f.op, runlog.Used, engine.UsedData{Usage: used})
	} else {
		rec = f.answer(t.Err)
	}
	rec.At = t.Ended.Round(0).UTC()
	return r.write(rec)
}

// answer is the record of the call's Response, or of err.
func (f *flight) answer(err *agent.Error) *record {
	a := &struct { // what the log in memory keeps, and nothing else of the call
		record
		data     engine.CalledData
		response agent.Response
		reserved engine.Amount
	}{reserved: f.op.Reserved}
	a.data.Err, a.data.Request = err, f.given
	if err == nil {
		a.response = f.task.Response
		a.data.Response = &a.response
	}
	if a.reserved != (engine.Amount{}) {
		a.data.Reserved = &a.reserved
	}
	a.record = *newRecord(f.op, runlog.Called, &a.data)
	a.Hash = f.hash
	return &a.record
}

// cancel ends the contexts of calls. Agents that do not return soon are left behind.
// Calls that wait for a place reach no agent: they leave the line first, as others may
// give their places back at once.
func (r *run) cancel(calls []*flight) {
	waiting := r.e.pool.withdraw(calls)
	for _, f := range calls {
		f.task.Cancel()
		r.mu.Lock()
		if f.canceled.IsZero() && f.state == underway {
			f.canceled = time.Now()
			f.arm(f.wait)
		}
		r.mu.Unlock()
	}
	for _, f := range waiting {
		r.e.pool.do(f)
	}
}

// arm sets the timer of f to d. r.mu is held.
func (f *flight) arm(d time.Duration) {
	if f.timer != nil {
		f.timer.Reset(d)
		return
	}
	due := job(f)
	if f.kind == engine.Call {
		due = jobFunc(f.overdue)
	}
	f.timer = time.AfterFunc(d, func() { f.r.e.pool.do(due) })
}

// overdue leaves the agent behind if its time to return is over.
func (f *flight) overdue() {
	r := f.r
	r.mu.Lock()
	why, since := engine.ErrCanceled, f.canceled
	if since.IsZero() {
		why, since = engine.ErrTimeout, f.task.Due()
	}
	wait := f.wait
	if !since.IsZero() { // else it is between two attempts
		wait -= time.Since(since)
	}
	if f.state != underway || wait > 0 {
		if f.state == underway {
			f.arm(wait)
		}
		r.mu.Unlock()
		return
	}
	f.state = left
	r.e.pool.abandon(f) // before it can be seen to come home
	r.mu.Unlock()
	r.e.cfg.Log.Warn("agent left behind: it ignores its ctx", "agent", f.op.Name, "run", r.id, "call", f.op.Key(), "grace", f.wait)
	if r.cut.Load() {
		return // what it uses stays unknown
	}
	err := agent.ErrorOf(fmt.Errorf("%w: agent %q did not return within %v and was left behind: it ignores its ctx", why, f.op.Name, f.wait))
	err.Codes = append(err.Codes, engine.ErrLeft)
	r.e.pool.do(r.write(f.answer(err)))
}

// flying are the effects of those kinds that are under way.
func (r *run) flying(kinds ...engine.Kind) []*flight {
	r.mu.Lock()
	defer r.mu.Unlock()
	var fs []*flight
	for _, f := range r.flights {
		if f.state == underway && slices.Contains(kinds, f.kind) {
			fs = append(fs, f)
		}
	}
	return fs
}

// link notes that f is under way, with a timer if d is not 0.
func (r *run) link(f *flight, d time.Duration) {
	f.op.Private = f
	r.mu.Lock()
	defer r.mu.Unlock()
	f.index = len(r.flights)
	r.flights = append(r.flights, f)
	if d != 0 {
		f.arm(d)
	}
}

// unlink notes that the flow does not wait for op any more.
func (r *run) unlink(op *engine.Op) {
	f, _ := op.Private.(*flight)
	r.mu.Lock()
	defer r.mu.Unlock()
	if f == nil || f.index < 0 {
		return
	}
	n := len(r.flights) - 1
	r.flights[f.index], r.flights[n].index = r.flights[n], f.index
	r.flights = slices.Delete(r.flights, n, n+1)
	f.index = -1
	if f.timer != nil {
		f.timer.Stop()
	}
}
