package local

import (
	"errors"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/engine"
)

// work begins the run, or drives it, with the calls that are left to the driver. It
// is a job of the pool.
func (r *run) work() {
	f := r.drive()
	for f != nil {
		next := f.perform()
		if next == nil {
			return
		}
		f = next.drive()
	}
}

// driveOn drives r on a goroutine of the pool; nil: there is nothing to drive.
func (e *Engine) driveOn(r *run) {
	if r != nil {
		e.pool.do(r)
	}
}

// drive applies what has come since to the flow, until it waits for more or is over.
// It returns the call that is left to the caller.
func (r *run) drive() *flight {
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
		switch {
		case err != nil:
			r.fail(err)
		case done:
			r.finish()
		case !r.apply():
			f := r.later
			r.later = nil
			return f
		}
	}
	return nil
}

// apply applies the next thing that happened to the flow. It tells whether the flow
// can advance, or is over.
func (r *run) apply() bool {
	for {
		if len(r.ready) > 0 {
			c := r.ready[0]
			r.ready = r.ready[1:]
			r.exec.Complete(c)
			return true
		}
		if r.replay != nil {
			if r.repeat() {
				return true
			}
			continue
		}
		rec, err := r.queue.take()
		if err != nil {
			r.stopFor(err)
			return true
		}
		if rec == nil {
			if r.e.draining.Load() && r.isIdle() && r.queue.fail(closedError()) {
				continue
			}
			return false
		}
		r.clock.Tick(rec.at)
		if r.deliver(rec) {
			return true
		}
	}
}

// deliver applies a record to the flow. It tells whether that can make a difference.
func (r *run) deliver(rec *record) bool {
	op := rec.op
	rec.op = nil
	switch rec.kind {
	case blackboard.Answered:
		r.answered(rec.name, rec.told)
		return false
	case blackboard.Canceled:
		r.exec.Complete(engine.CanceledBy(rec.told))
	case blackboard.Expired:
		if !r.questions.Drop(op) {
			return false
		}
		r.quiet(op)
		r.exec.Complete(engine.Expired(op))
	case blackboard.Slept:
		r.untime(op)
		if op.Kind == engine.Sleep {
			r.busy.Add(-1)
		}
		r.exec.Complete(engine.Completion{Op: op})
	case blackboard.Used:
		r.exec.Charge(op, *rec.used)
	default:
		r.busy.Add(-1)
		c := engine.Completion{Op: op, Err: rec.err}
		if rec.err == nil {
			c.Response = rec.resp
		}
		r.exec.Complete(c)
	}
	return true
}

// finish puts the end of the run on record.
func (r *run) finish() {
	end := r.exec.End()
	_, end.Elapsed = r.clock.Now()
	err := r.queue.failure()
	if err == nil && r.replay != nil {
		if err = r.replay.Leftover(); err == nil {
			r.replay.GoLive()
		}
	}
	switch {
	case err == nil:
		r.leave(end, nil)
	case isStuck(err):
		r.fail(err)
	default:
		r.leave(engine.End{}, err)
	}
}

// leave ends the driving of the run for good: with its end, or, with an error, where
// it is.
func (r *run) leave(end engine.End, err error) {
	r.isOver = true
	if r.exec != nil {
		r.exec.Leave()
	}
	if err == nil {
		err = r.writeSync(r.e.life, &record{r: r, kind: blackboard.Ended, name: r.prog.Name, at: now(), data: engine.EndedData{End: end}})
	}
	if err != nil {
		end = engine.End{}
		r.e.cfg.Log.Warn("run stopped without an end", "run", r.id, "flow", r.prog.Name, "err", err)
	}
	r.end, r.err = end, err
	later := r.later
	r.later, r.replay = nil, nil
	for w := range r.timers {
		w.timer.Stop()
	}
	r.timers = nil
	r.records.stopped.Store(true)
	r.cutCalls(errOver)
	if later != nil { // canceled before it began
		r.e.pool.do(later)
	}
	if err != nil {
		r.stopChildren()
	}
	r.queue.fail(errOver)
	if r.fenced {
		r.e.unregister(r, nil)
	} else {
		r.e.unregister(r, err)
	}
	close(r.done)
	r.records.changed()
	r.tellParent()
}

var errOver = errors.New("the run is over")

// stop makes the run stop where it is, and its agents too.
func (r *run) stop(why error) {
	drive := r.queue.fail(why)
	r.cutCalls(why)
	if drive {
		r.e.driveOn(r)
	}
}

// wake has the run look at the engine's state.
func (r *run) wake() {
	if r.queue.push(nil) {
		r.e.driveOn(r)
	}
}
