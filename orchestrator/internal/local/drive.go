package local

import (
	"cmp"
	"encoding/json"
	"errors"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/engine"
)

// push puts rec in line, if it was committed and the flow has to learn of it, and tells
// those who wait. With err the run stops; without a rec it looks at its engine's state.
// A push that finds no driver makes its caller the driver: the goroutine of a call
// continues with the flow, and none has to be woken.
func (r *run) push(rec *record, err error) (next job) {
	r.mu.Lock()
	r.failure = cmp.Or(r.failure, err)
	matters := rec == nil || err != nil
	if !matters && (rec.op != nil || rec.Kind == runlog.Answered || rec.Kind == runlog.Canceled) {
		r.line = append(r.line, rec)
		matters = true
	}
	if matters && !r.driving {
		r.driving, next = true, r
	}
	r.mu.Unlock()
	if rec != nil {
		if rec.err = err; rec.done != nil {
			close(rec.done)
		}
	}
	return next
}

// take returns the next record, or why the run stops; neither: there is none, and the
// caller drives no more.
func (r *run) take() (rec *record, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.failure != nil:
	case r.head == len(r.line):
		r.line, r.head, r.driving = r.line[:0], 0, false
	default:
		rec, r.line[r.head] = r.line[r.head], nil
		r.head++
	}
	return rec, r.failure
}

// whyStop is why the run stops, or nil.
func (r *run) whyStop() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure
}

// work implements job: it drives the run. It applies what has come since to the flow,
// until that waits for more or is over, and goes on with the call that is left to it.
func (r *run) work() job {
	r.flow.Lock()
	defer r.flow.Unlock()
	if r.exec == nil && !r.isOver {
		port := engine.Port(r)
		if r.replay != nil {
			port = r.replay
		}
		var err error
		if r.exec, err = r.prog.Begin(port, r.in); err != nil {
			r.fail(err)
		}
	}
	for !r.isOver {
		done, err := r.exec.Advance()
		if len(r.canceled) > 0 {
			r.cancel(r.canceled)
			r.canceled = nil
		}
		switch answer, ok := r.questions.Next(); {
		case err != nil:
			r.fail(err)
		case done:
			r.finish()
		case ok:
			r.exec.Complete(answer)
		case r.replay != nil:
			r.repeat()
		default:
			rec, err := r.take()
			switch {
			case err != nil:
				r.stopFor(err)
			case rec != nil:
				r.deliver(rec)
			case !r.e.draining.Load() || len(r.flying(engine.Call, engine.Child)) > 0 || r.push(nil, closedError()) == nil:
				next := r.later
				r.later = nil
				return next
			}
		}
	}
	if r.parent == nil {
		return nil
	}
	return r.parent.childEnded(r.end, r.err)
}

// deliver applies a record to the flow.
func (r *run) deliver(rec *record) {
	r.clock.Tick(rec.At)
	op := rec.op
	rec.op = nil // the log in memory keeps rec
	if op != nil {
		r.unlink(op)
	}
	switch d := rec.data.(type) {
	case *engine.CalledData:
		r.exec.Complete(engine.Completion{Op: op, Response: d.Response, Err: d.Err})
	case engine.UsedData:
		r.exec.Charge(op, d.Usage)
	case json.RawMessage: // from outside
		if rec.Kind == runlog.Canceled {
			r.exec.Complete(engine.CanceledBy(d))
			return
		}
		for _, op := range r.questions.Answer(rec.Name, d) {
			r.unlink(op)
		}
	default: // a time is over
		if op.Kind != engine.Await {
			r.exec.Complete(engine.Completion{Op: op})
		} else if r.questions.Drop(op) {
			r.exec.Complete(engine.Expired(op))
		}
	}
}

// finish puts the end of the run on record.
func (r *run) finish() {
	end := r.exec.End()
	_, end.Elapsed = r.clock.Now()
	err := r.whyStop()
	if err == nil && r.replay != nil {
		if err = r.replay.Leftover(); err == nil {
			r.replay.GoLive()
		}
	}
	if err != nil {
		r.stopFor(err)
		return
	}
	r.leave(end, nil)
}

// leave ends the driving of the run for good: with its end, or, with an error, where
// it is.
func (r *run) leave(end engine.End, err error) {
	r.isOver = true
	if r.exec != nil {
		r.exec.Leave()
	}
	if err == nil {
		err = r.writeSync(r.e.life, &record{Record: runlog.Record{Kind: runlog.Ended, Name: r.prog.Name}, data: engine.EndedData{End: end}})
		r.fenced = r.replay != nil && !r.resumed && errors.Is(err, runlog.ErrConflict) // all is from its log
	}
	if err != nil {
		end = engine.End{}
		r.e.cfg.Log.Warn("run stopped without an end", "run", r.id, "flow", r.prog.Name, "err", err)
	}
	r.end, r.err = end, err
	r.replay = nil
	r.records.stopped.Store(true)
	r.cutCalls()
	r.e.pool.do(r.later) // canceled before it began
	r.later = nil
	for _, f := range r.flying(engine.Sleep, engine.Limit, engine.Await, engine.Child) {
		r.unlink(f.op)
		if f.kind == engine.Child && err != nil {
			if child := r.e.run(f.op.Input.Run); child != nil {
				child.stop(closedError())
			}
		}
	}
	r.push(nil, errOver)
	if r.fenced {
		err = nil
	}
	r.e.leave(r, err)
	r.close()
}

// abandon takes out a run that has not begun here.
func (r *run) abandon() {
	r.fenced = true
	r.records.stopped.Store(true)
	r.e.leave(r, nil)
	r.close()
}

// close tells those who wait that the run is over.
func (r *run) close() {
	wasLive := isClosed(r.live)
	close(r.done)
	if !wasLive { // last: who waits for it finds whether the run is over
		close(r.live)
	}
	_ = r.records.changed()
}

var errOver = errors.New("the run is over")

// stop makes the run stop where it is, and its agents too.
func (r *run) stop(why error) {
	next := r.push(nil, why)
	r.cutCalls()
	r.e.pool.do(next)
}

// cutCalls ends all calls of a run that stops. Those that fail by it have used what
// they say, and are made again when the run is resumed.
func (r *run) cutCalls() {
	r.cut.Store(true)
	r.cancel(r.flying(engine.Call))
}
