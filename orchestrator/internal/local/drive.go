package local

import (
	"context"
	"errors"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/engine"
)

// call is a call of an agent that is to be made.
type call struct {
	r   *run
	op  *engine.Op // nil: there is none
	ctx *callContext
}

// work makes c, and then what comes of it: whoever brings an answer drives the run
// on, and makes the next call itself if nobody else is needed for it.
func (c call) work() {
	for c.op != nil {
		r := c.r.answerTo(c)
		if r == nil {
			return
		}
		c = r.drive()
	}
}

// goOn drives r on a goroutine of its own; nil: there is nothing to drive.
func (e *Engine) goOn(r *run) {
	if r != nil {
		e.pool.do(r.carryOn)
	}
}

// carryOn drives r, with the calls that are left to the driver; nil: there is
// nothing to drive.
func (r *run) carryOn() {
	if r != nil {
		r.drive().work()
	}
}

// begin executes the run until it waits for the first time. It returns the call
// that is left to the caller.
func (r *run) begin() call {
	r.flow.Lock()
	defer r.flow.Unlock()
	var err error
	if r.exec, err = r.prog.Begin(r, r.in); err != nil {
		r.leave(engine.End{}, err)
		return call{}
	}
	if r.advance() {
		return r.handOver()
	}
	return call{}
}

// drive hands the run what has come since, until it waits again. It returns the
// call that is left to the caller.
func (r *run) drive() call {
	r.flow.Lock()
	defer r.flow.Unlock()
	return r.handOver()
}

// advance lets the flow go on, and tells whether it waits now, and is not over.
func (r *run) advance() bool {
	done, err := r.exec.Advance()
	switch {
	case err != nil:
		r.leave(engine.End{}, err)
	case done:
		r.finish()
	}
	return !done && err == nil
}

// handOver hands the flow what comes, until there is nothing more or it is over.
func (r *run) handOver() call {
	for {
		c, ok, err := r.next()
		if err != nil {
			r.leave(engine.End{}, err)
			return call{}
		}
		if !ok {
			later := r.later
			r.later = call{}
			return later
		}
		r.exec.Complete(c)
		if !r.advance() {
			return call{}
		}
	}
}

// next is the next completion; false: there is none yet, and nobody drives the run.
func (r *run) next() (engine.Completion, bool, error) {
	for {
		if len(r.local) > 0 {
			c := r.local[0]
			r.local = r.local[1:]
			return c, true, nil
		}
		if r.past != nil {
			c, ok, err := r.replay()
			if ok || err != nil {
				return c, ok, err
			}
			continue
		}
		en, err := r.inbox.take()
		if err != nil || en == nil {
			return engine.Completion{}, false, err
		}
		r.tick(en.at)
		c, ok := r.deliver(en)
		en.op = nil
		if ok {
			return c, true, nil
		}
	}
}

// finish puts the end of the run on record.
func (r *run) finish() {
	end := r.exec.End()
	end.Elapsed = r.worked
	err := r.inbox.failure()
	if err == nil && r.past != nil {
		err = r.past.leftover()
	}
	r.leave(end, err)
}

// leave ends the driving of the run for good: with its end, or, with an error, where
// it is.
func (r *run) leave(end engine.End, err error) {
	if r.exec != nil {
		r.exec.Leave()
	}
	if err == nil {
		r.now = now()
		err = r.writeSync(context.WithoutCancel(r.ctx), &entry{r: r, kind: blackboard.Ended, name: r.prog.Name, at: r.now, data: end})
	}
	r.end, r.err = end, err
	if err != nil {
		r.e.cfg.Log.Warn("run stopped without an end", "run", r.id, "flow", r.prog.Name, "err", err)
	}
	r.later = call{}
	r.stop(errOver)
	r.e.forget(r, err)
	close(r.done)
	r.records.changed()
}

var errOver = errors.New("the run is over")

// stop makes the run stop where it is, and its agents too.
func (r *run) stop(why error) {
	mine := r.inbox.fail(why)
	r.cancel(why)
	if mine {
		r.e.goOn(r)
	}
}
