package local

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// flight is what the engine knows of an effect under way.
type flight struct {
	ctx    *callContext // of a call
	timer  *time.Timer  // of a sleep, a limit, or a question's time
	begun  atomic.Bool  // of a child: it can be told something
	wanted atomic.Bool  // of a child: it is to be canceled
}

// Start implements engine.Port.
func (r *run) Start(op *engine.Op) {
	f, ok := op.Private.(*flight)
	if !ok {
		f = &flight{}
		op.Private = f
	}
	*f = flight{}
	if r.past != nil {
		r.past.wait(op)
		if op.Kind != engine.Await {
			return
		}
	}
	if op.Kind == engine.Await {
		r.ask(op)
		return
	}
	r.launch(op)
}

// launch begins an effect in the world.
func (r *run) launch(op *engine.Op) {
	f, _ := op.Private.(*flight)
	switch op.Kind {
	case engine.Call:
		r.busy.Add(1)
		f.ctx = &callContext{Context: r.ctx}
		r.makeLater(call{r, op, f.ctx})
	case engine.Sleep:
		r.busy.Add(1)
		f.timer = r.at(op.Until, op, blackboard.Slept)
	case engine.Limit:
		f.timer = r.at(r.last.Add(op.Worked-r.worked), op, blackboard.Slept)
	case engine.Await:
		if !op.Until.IsZero() {
			f.timer = r.at(op.Until, op, blackboard.Expired)
		}
	case engine.Child:
		r.busy.Add(1)
		r.e.pool.do(func() { r.child(op, f) })
	}
}

// at writes a record for op when it is time.
func (r *run) at(t time.Time, op *engine.Op, kind string) *time.Timer {
	return time.AfterFunc(time.Until(t), func() {
		r.e.pool.do(func() {
			r.write(&entry{r: r, kind: kind, op: op, branch: op.Branch, n: op.N, name: op.Name, at: now()}).carryOn()
		})
	})
}

// makeLater leaves c to whoever drives, who can make one call himself; the one that
// was left to him before goes to somebody else.
func (r *run) makeLater(c call) {
	if r.e.cfg.Parallel > 0 {
		r.e.pool.call(c.work)
		return
	}
	if r.later.op != nil {
		r.e.pool.do(r.later.work)
	}
	r.later = c
}

// answerTo makes a call and puts the answer on record. It returns the run that the
// caller has to drive, or nil.
func (r *run) answerTo(c call) *run {
	defer c.ctx.end(nil)
	op := c.op
	en := &entry{r: r, kind: blackboard.Called, op: op, branch: op.Branch, n: op.N, name: op.Name}
	if r.e.commits != nil {
		en.hash = requestHash(op.Name, op.Request)
		r.e.commits.calls.Add(1)
		defer r.e.commits.calls.Add(-1)
	}
	if r.e.cfg.RecordRequests {
		var err error
		if en.given, err = keepRequest(c.ctx, r.e.blobs, r.id, op.Request); err != nil {
			r.stop(fmt.Errorf("request of run %q, effect %s: %w", r.id, op.Key(), err))
			return nil
		}
	}
	info := agent.Info{Run: r.id, Flow: r.prog.Name, Agent: op.Name, Branch: op.Branch, Key: callKey(r.id, op), Log: r.e.cfg.Log, Watcher: r}
	en.resp, en.err = engine.Execute(c.ctx, r.e.cfg.Agents, info, op.Request, r.e.cfg.Retry)
	if r.ctx.Err() != nil {
		return nil // the run is stopped: what comes of that is no result
	}
	en.at = now()
	return r.write(en)
}

// callKey is run/key of the effect, made at once: it is on the path of every call.
func callKey(run string, op *engine.Op) string {
	var scratch [96]byte
	b := append(append(scratch[:0], run...), '/')
	if op.Branch != "" {
		b = append(append(b, op.Branch...), ':')
	}
	return string(strconv.AppendInt(b, op.N, 10))
}

// ask puts a question, unless it is answered already.
func (r *run) ask(op *engine.Op) {
	if answer, ok := r.mail[op.Name]; ok {
		r.local = append(r.local, engine.Completion{Op: op, Response: agent.Response{Data: answer}})
		if r.past != nil {
			r.past.answered(op)
		}
		return
	}
	if r.asked == nil {
		r.asked = map[string][]*engine.Op{}
	}
	r.asked[op.Name] = append(r.asked[op.Name], op)
	r.waiting.Add(1)
	r.own(blackboard.Record{Kind: blackboard.Asked, Branch: op.Branch, N: op.N, Name: op.Name, Data: op.Ask})
	if r.past == nil {
		r.launch(op)
	}
}

// answer hands an answer to those who wait for it, and keeps it for those who ask
// later. The first one counts.
func (r *run) answer(key string, data json.RawMessage) {
	if _, ok := r.mail[key]; ok {
		return
	}
	if r.mail == nil {
		r.mail = map[string]json.RawMessage{}
	}
	r.mail[key] = data
	for _, op := range r.asked[key] {
		r.quiet(op)
		r.local = append(r.local, engine.Completion{Op: op, Response: agent.Response{Data: data}})
	}
	delete(r.asked, key)
}

// quiet ends the waiting of a question that was answered or given up.
func (r *run) quiet(op *engine.Op) {
	r.waiting.Add(-1)
	if f, ok := op.Private.(*flight); ok && f.timer != nil {
		f.timer.Stop()
	}
	if r.past != nil {
		r.past.answered(op)
	}
}

// unask takes op out of those that wait for an answer, and tells whether it was
// among them.
func (r *run) unask(op *engine.Op) bool {
	ops := r.asked[op.Name]
	for i, o := range ops {
		if o == op {
			r.asked[op.Name] = append(ops[:i:i], ops[i+1:]...)
			r.quiet(op)
			return true
		}
	}
	return false
}

// Cancel implements engine.Port.
func (r *run) Cancel(op *engine.Op) {
	f, _ := op.Private.(*flight)
	switch {
	case op.Kind == engine.Await:
		if r.unask(op) {
			r.own(blackboard.Record{Kind: blackboard.Withdrawn, Branch: op.Branch, N: op.N, Name: op.Name})
		}
	case op.Kind == engine.Child:
		f.wanted.Store(true)
		if f.begun.Load() {
			id := op.Input.Run
			r.e.pool.do(func() { r.cancelChild(id) })
		}
	case r.past != nil:
		r.past.drop(op)
	case f.ctx != nil:
		f.ctx.end(context.Canceled)
	case f.timer != nil:
		if f.timer.Stop() && op.Kind == engine.Sleep {
			r.busy.Add(-1)
		}
	}
}

// Emit implements engine.Port.
func (r *run) Emit(rec blackboard.Record) { r.own(rec) }

// own writes a record that the flow itself makes, unless a replay finds it on
// record. It is committed together with what comes next, at the latest when the
// flow waits.
func (r *run) own(rec blackboard.Record) {
	if r.past != nil && r.past.repeated(rec) {
		return
	}
	en := &entry{r: r, kind: rec.Kind, branch: rec.Branch, n: rec.N, name: rec.Name, hash: rec.Hash, at: r.now, raw: rec.Data}
	if r.e.commits == nil {
		en.stored(r.records.add(en))
		return
	}
	if err := r.prepare(en); err != nil {
		en.stored(err)
		return
	}
	if r.e.commits.put(en) {
		r.e.pool.do(func() { r.e.commits.lead().carryOn() })
	}
}

// deliver makes a completion of what is on record.
func (r *run) deliver(en *entry) (engine.Completion, bool) {
	switch en.kind {
	case blackboard.Answered:
		r.answer(en.name, en.raw)
		return engine.Completion{}, false
	case blackboard.Canceled:
		return engine.Completion{Err: canceledBy(en.raw)}, true
	case blackboard.Expired:
		if !r.unask(en.op) {
			return engine.Completion{}, false
		}
		return engine.Completion{Op: en.op, Err: expired(en.op)}, true
	case blackboard.Slept:
		if en.op.Kind == engine.Sleep {
			r.busy.Add(-1)
		}
		return engine.Completion{Op: en.op}, true
	}
	r.busy.Add(-1)
	return engine.Completion{Op: en.op, Response: en.resp, Err: en.err}, true
}

func expired(op *engine.Op) *agent.Error {
	return agent.ErrorOf(fmt.Errorf("%w: no answer to the question %q", engine.ErrTimeout, op.Name))
}

// canceledBy is the error of a run that somebody canceled.
func canceledBy(reason json.RawMessage) *agent.Error {
	var why string
	if err := json.Unmarshal(reason, &why); err != nil || why == "" {
		return &agent.Error{Message: "the run was canceled", Codes: []agent.Code{engine.ErrCanceled}}
	}
	return &agent.Error{Message: "the run was canceled: " + why, Codes: []agent.Code{engine.ErrCanceled}}
}
