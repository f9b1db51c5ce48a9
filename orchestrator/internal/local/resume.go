package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// takeUp resumes the run of r's ID, for which r is registered, unless it has ended
// or another engine works on it. It tells whether r is being worked on now.
func (e *Engine) takeUp(ctx context.Context, r *run) (bool, error) {
	l, err := e.listing(ctx, r.id)
	if err != nil || l.Ended || e.hasTried(&l) {
		return false, err
	}
	if free, err := e.free(ctx, worker(&l)); !free {
		return false, err
	}
	if l.Version != r.prog.Version {
		return false, unregistered(l.Flow, l.Version)
	}
	h, err := engine.ReadHistory(r.id, e.Log(ctx, r.id, 0))
	if err != nil || h == nil || h.Ended() {
		return false, err
	}
	replay, err := engine.NewReplay(h)
	if err != nil {
		return false, err
	}
	r.in = h.Start.Input
	h.Each(func(rec blackboard.Record) { r.answers.note(rec) })
	r.clock = engine.Clock{}
	r.clock.Skip(h.Begun)
	r.records.seq = h.Next()
	replay.Clock, replay.Questions, replay.Live = &r.clock, &r.questions, r
	replay.Accept, replay.Request = e.cfg.AcceptChanged, r.requestOf
	r.replay, r.wasStuck = replay, h.Stuck
	r.lived = make(chan struct{})
	e.begin(r)
	return true, nil
}

// worker is the engine that works on a run, unless it is dead; "": none, as the run
// is stuck.
func worker(l *blackboard.Listing) string {
	if l.Status == blackboard.Stuck {
		return ""
	}
	return l.Owner
}

// free tells whether no engine works on the runs of owner.
func (e *Engine) free(ctx context.Context, owner string) (bool, error) {
	if e.owners == nil || owner == e.id || owner == "" {
		return true, nil
	}
	alive, err := e.owners.Alive(ctx, owner)
	return !alive && err == nil, err
}

// resume resumes a run that no engine works on. p is its flow; nil: the engine
// looks it up. It tells whether this engine works on it now.
func (e *Engine) resume(ctx context.Context, l blackboard.Listing, p *engine.Program) (bool, error) {
	if e.cfg.Observe || l.Ended {
		return false, nil
	}
	if p == nil || p.Name != l.Flow || p.Version != l.Version {
		if p = e.program(l.Flow, l.Version); p == nil {
			return false, unregistered(l.Flow, l.Version)
		}
	}
	if err := e.startable(ctx, p); err != nil {
		return false, err
	}
	r := newRun(e, l.Run, p)
	other, err := e.register(r, true)
	if err != nil || other != nil {
		return other != nil, err
	}
	taken, err := e.takeUp(ctx, r)
	if !taken {
		e.unregister(r, nil)
	}
	return taken, err
}

// program is a registered flow, or nil.
func (e *Engine) program(flow string, version int) *engine.Program {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.programs[programID{flow, version}]
}

// unregistered says why a run is left alone.
func unregistered(flow string, version int) error {
	return agent.ErrorOf(fmt.Errorf("%w: %w: version %d of flow %q is not registered", engine.ErrDiverged, engine.ErrNoFlow, version, flow))
}

// repeat applies the next record of the log to the flow, and behind the last one
// puts on record that the run is resumed: that fences off every other process.
func (r *run) repeat() {
	if err := r.queue.failure(); err != nil {
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
		close(r.lived)
		ctx, cancel := r.e.shortly()
		r.e.takeLetters(ctx, r.id) // a cancel comes before what the run does next
		cancel()
		replay := r.replay
		r.replay = nil
		replay.GoLive()
		return
	}
	if err := cmp.Or(r.replay.Leftover(), r.stuckChild()); err != nil {
		r.fail(err)
		return
	}
	at := now()
	rec := &record{Record: blackboard.Record{Kind: blackboard.Resumed, Name: r.prog.Name, At: at}, data: engine.ResumedData{Owner: r.e.id}}
	if err := r.writeSync(r.e.life, rec); err != nil {
		r.fenced = errors.Is(err, blackboard.ErrConflict)
		r.leave(engine.End{}, err)
		return
	}
	r.resumed = true
	r.replay.Resumed(at)
}

// stuckChild tries the stuck children of a run that was stuck, before it is on record
// that the run is resumed: if one fails again, there is nothing to record.
func (r *run) stuckChild() error {
	if r.wasStuck == "" {
		return nil
	}
	for _, op := range r.replay.Children() {
		l, err := r.e.listing(r.e.life, op.Input.Run)
		if err != nil || l.Status != blackboard.Stuck {
			continue // its start says what is wrong
		}
		in := *op.Input
		in.Parent = r.id
		child, err := r.e.start(r.e.life, op.Child, in, nil)
		switch {
		case err != nil:
			continue
		case child == nil:
			err = r.e.whyStuck(r.e.life, in.Run)
		case !r.e.holds(r.e.life, in.Run) || child.over():
			err = child.err
		}
		if isStuck(err) {
			return childStuck(op, err)
		}
	}
	return nil
}

// stopFor leaves the run where it is, because of err.
func (r *run) stopFor(err error) {
	if isStuck(err) {
		r.fail(err)
		return
	}
	r.leave(engine.End{}, err)
}

// fail leaves a run whose flow failed. It is put on record, once.
func (r *run) fail(err error) {
	failure := agent.ErrorOf(err)
	if r.replay == nil || r.resumed || r.wasStuck != failure.Message {
		rec := &record{Record: blackboard.Record{Kind: blackboard.Stuck, Name: r.prog.Name}, data: engine.StuckData{Err: failure}}
		if writeErr := r.writeSync(r.e.life, rec); writeErr != nil {
			err = errors.Join(writeErr, err)
		}
	}
	r.e.mu.Lock()
	r.e.tried[r.id] = r.prog
	r.e.mu.Unlock()
	r.leave(engine.End{}, err)
}

// isStuck tells whether err is of the flow's code, and not of the world.
func isStuck(err error) bool {
	return errors.Is(err, engine.ErrFlow) || errors.Is(err, engine.ErrDiverged) && !errors.Is(err, engine.ErrNoFlow)
}

func stuckError(format string, args ...any) error {
	return &agent.Error{Message: fmt.Sprintf(format, args...), Codes: []agent.Code{engine.ErrFlow}}
}

// requestOf is the text of a recorded request, without its history; "": it was not
// recorded.
func (r *run) requestOf(d *engine.CalledData) string {
	if len(d.Request) == 0 {
		return ""
	}
	data, err := r.e.blob(r.e.life, r.id, d.Request[0])
	if err != nil {
		return ""
	}
	return string(data)
}
