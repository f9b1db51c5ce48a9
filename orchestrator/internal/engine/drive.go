package engine

import (
	"cmp"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/final"
	"github.com/convene-go/convene/orchestrator/internal/journal"
)

// Committed implements journal.Sink: e is put in line, if the flow has to learn of it. If
// nobody drives, the calling goroutine does next: that of a call continues with the flow,
// and none has to be woken. With err the run stops. Without e the driver looks at its
// engine's state.
func (r *run) Committed(e *journal.Entry, err error) (drive job) {
	matters := e != nil && (e.Op != nil || e.Kind == runlog.Answered || e.Kind == runlog.Canceled)
	if e != nil && err == nil && !matters {
		return nil
	}
	if err != nil && e != nil && final.IsNever(err) {
		err = final.Stuck(e.Kind, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failure = cmp.Or(r.failure, err)
	if matters && err == nil {
		r.line = append(r.line, e)
	}
	if r.driving {
		return nil
	}
	r.driving = true
	return r
}

// take returns the next record or the stop error. nil, nil: the line is empty, and the
// caller is no longer the driver.
func (r *run) take() (e *journal.Entry, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.failure != nil:
	case r.head == len(r.line):
		r.line, r.head, r.driving = r.line[:0], 0, false
	default:
		e, r.line[r.head] = r.line[r.head], nil
		r.head++
	}
	return e, r.failure
}

// whyStop is why the run stops, or nil.
func (r *run) whyStop() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure
}

// Work implements job: it drives the run until the flow waits or is over, and
// returns the call that is left for this goroutine to make.
func (r *run) Work() job {
	r.flow.Lock()
	defer r.flow.Unlock()
	if r.exec == nil && !r.isOver {
		r.beginFlow()
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
			e, err := r.take()
			switch {
			case err != nil:
				r.stopFor(err)
			case e != nil:
				r.deliver(e)
			case !r.draining.Load() || len(r.underway(engine.Call, engine.Child)) > 0 || r.Committed(nil, closed()) == nil:
				next := r.later
				r.later = nil
				return next
			}
		}
	}
	if r.parent == nil {
		return nil
	}
	return r.parent.ended(r.end, r.err)
}

// beginFlow makes the execution of the flow: over the log, where there is one to repeat.
func (r *run) beginFlow() {
	port := engine.Port(r)
	if r.replay != nil {
		port = r.replay
	}
	var err error
	r.values, r.labels = r.in.Carried()
	if r.exec, err = r.prog.Begin(port, r.in); err != nil {
		r.fail(err)
	}
}

// deliver applies a record to the flow.
func (r *run) deliver(e *journal.Entry) {
	r.clock.Tick(e.At)
	op := e.Op
	e.Op = nil // a log in memory keeps e
	if op != nil {
		r.unlink(op)
	}
	switch d := e.Value.(type) {
	case *engine.CalledData:
		r.exec.Complete(engine.Completion{Op: op, Response: d.Response, Err: d.Err})
	case engine.UsedData:
		r.exec.Charge(op, d.Usage)
	case json.RawMessage: // from outside
		if e.Kind == runlog.Canceled {
			r.exec.Complete(engine.CanceledBy(d))
			return
		}
		for _, op := range r.questions.Answer(e.Name, e.Hash, d) {
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
	end.ContinuedFrom = r.in.ContinuedFrom
	err := r.whyStop()
	if err == nil && r.replay != nil {
		if err = r.replay.Leftover(); err == nil {
			r.replay.GoLive()
		}
	}
	if err == nil {
		r.leave(end, nil)
	} else {
		r.stopFor(err)
	}
}

// stopFor leaves the run where it is, because of err.
func (r *run) stopFor(err error) {
	if isStuck(err) {
		err = r.putFailure(err)
	}
	r.leave(engine.End{}, err)
}

// fail leaves a run whose flow failed.
func (r *run) fail(err error) { r.leave(engine.End{}, r.putFailure(err)) }

// putFailure records once why the flow failed. It returns err, and what is wrong with that.
func (r *run) putFailure(err error) error {
	failure := agent.ErrorOf(err)
	if r.replay != nil && !r.resumed && final.Same(r.replay.Stuck, failure) {
		return err
	}
	rec := runlog.Record{Kind: runlog.Stuck, Name: r.prog.Name}
	if writeErr := r.recordSync(r.life, rec, engine.StuckData{Err: failure, Tally: r.records.Carry()}); writeErr != nil {
		err = errors.Join(writeErr, err)
	}
	return err
}

// leave ends the driving of the run for good, with its end or, with err, where it is.
func (r *run) leave(end engine.End, err error) {
	r.isOver = true
	if r.exec != nil {
		r.exec.Leave()
	}
	if err == nil {
		err = r.recordSync(r.life, runlog.Record{Kind: runlog.Ended, Name: r.prog.Name}, engine.EndedData{End: end})
		r.fenced = r.replay != nil && !r.resumed && errors.Is(err, runlog.ErrConflict) // all is from its log
		if err != nil && final.IsNever(err) {
			err = r.putFailure(final.Stuck(runlog.Ended, err))
		}
	}
	if err != nil {
		end, err = engine.End{}, r.host.whyStopped(r, err)
		level := slog.LevelWarn
		if r.fenced || errors.Is(err, engine.ErrStopped) && !errors.Is(err, errOutage) && !errors.Is(err, runlog.ErrConflict) && !isStuck(err) {
			level = slog.LevelDebug // others have the run, or this engine was closed
		}
		r.tell(level, "run stopped without an end", slog.Any("err", err))
	} else {
		r.tell(slog.LevelInfo, "run ended", slog.String("status", string(end.Status)))
	}
	r.end, r.err = end, err
	r.replay = nil
	r.stopLog()
	r.cutCalls()
	r.do(r.later) // canceled before it began
	r.later = nil
	for _, f := range r.underway(engine.Sleep, engine.Limit, engine.Await, engine.Child) {
		r.unlink(f.op)
		if f.op.Kind == engine.Child && err != nil {
			if child := r.host.find(f.op.Input.Run); child != nil {
				child.stop(closed())
			}
		}
	}
	r.Committed(nil, errOver)
	r.close()
}

// abandon takes out a run that has not begun here.
func (r *run) abandon() {
	r.fenced = true
	r.stopLog()
	r.close()
}

// close tells the engine, and those who wait, that the run is over.
func (r *run) close() {
	r.host.left(r)
	wasLive := isClosed(r.live)
	close(r.done)
	if !wasLive { // last: who waits for it finds whether the run is over
		close(r.live)
	}
	r.records.Wake()
}

// stop makes the run stop where it is, and its agents too.
func (r *run) stop(why error) {
	drive := r.Committed(nil, why)
	r.cutCalls()
	r.do(drive)
}

// repeat applies the next record of the log to the flow, and behind the last one puts on
// record that the run is resumed: that fences off every other process.
func (r *run) repeat() {
	if err := r.whyStop(); err != nil {
		r.stopFor(err)
		return
	}
	more, err := r.replay.Step(r.exec)
	switch {
	case err != nil:
		r.fail(err)
		return
	case more:
		return
	case r.resumed:
		close(r.live)
		ctx, cancel := r.shortly()
		r.host.Letters(ctx, r.id) // a cancel comes before what the run does next
		cancel()
		replay := r.replay
		r.replay = nil
		replay.GoLive()
		return
	}
	if err := cmp.Or(r.replay.Leftover(), r.host.stuckChild(r)); err != nil {
		r.fail(err)
		return
	}
	at := r.now()
	rec := runlog.Record{Kind: runlog.Resumed, Name: r.prog.Name, At: at}
	if err := r.recordSync(r.life, rec, engine.ResumedData{Owner: r.name, Tally: r.records.Carry()}); err != nil {
		r.fenced = errors.Is(err, runlog.ErrConflict)
		r.leave(engine.End{}, err)
		return
	}
	r.resumed = true
	r.replay.Resumed(at)
	msg := "run taken over"
	if r.before == r.name {
		msg = "run resumed"
	}
	r.tell(slog.LevelInfo, msg, slog.String("from", r.before))
}
