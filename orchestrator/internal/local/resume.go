package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// Resume implements engine.Driver.
func (e *Engine) Resume(ctx context.Context) (res engine.Resumed, err error) {
	if err := e.ready(ctx); err != nil {
		return res, err
	}
	e.keeper.watching.Store(true)
	var taken []*run
	var errs []error
	alive := map[string]bool{}
	for l, err := range e.store.List(ctx, runlog.Query{Open: true}) {
		if err != nil {
			errs = append(errs, err)
			break
		}
		if l.Parent != "" || e.run(l.Run) != nil {
			continue
		}
		held, err := e.held(ctx, &l, alive)
		var r *run
		switch {
		case held:
			res.Held = append(res.Held, engine.Held{Run: l.Run, Owner: l.Owner, Since: l.Changed})
		case err == nil && e.serves(l.Run, l.Labels) == nil && slices.ContainsFunc(e.cfg.Programs, func(p *engine.Program) bool { return p.Name == l.Flow }):
			r, err = e.adopt(ctx, &l, nil)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("run %q: %w", l.Run, err))
		}
		if r != nil {
			taken = append(taken, r)
		}
	}
	for _, r := range taken {
		if e.await(ctx, r.live) != nil || !r.over() || !r.fenced {
			res.Runs = append(res.Runs, r.id)
		}
	}
	return res, errors.Join(errs...)
}

// resumeFree resumes the runs of engines that have died, and those that an outage
// of the store suspended here.
func (e *Engine) resumeFree(ctx context.Context) {
	if !e.keeper.watching.Load() {
		return
	}
	for l, err := range e.store.Orphans(ctx) {
		if err != nil {
			if ctx.Err() == nil {
				e.cfg.Log.Warn("runs without an engine cannot be listed", "err", err)
			}
			return
		}
		if e.misfit(&l) == nil {
			e.adoptFor(ctx, &l)
		}
	}
	e.mu.Lock()
	stopped := maps.Clone(e.stopped)
	e.mu.Unlock()
	for id, why := range stopped {
		if !errors.Is(why.err, errOutage) {
			continue
		}
		if l, err := e.store.listing(ctx, id); err == nil {
			e.adoptFor(ctx, &l)
		}
	}
}

// adoptFor is adopt where nothing waits for the run.
func (e *Engine) adoptFor(ctx context.Context, l *runlog.Listing) {
	if _, err := e.adopt(ctx, l, nil); err != nil && !errors.Is(err, engine.ErrNoFlow) && !errors.Is(err, engine.ErrNotServed) && ctx.Err() == nil {
		e.cfg.Log.Warn("run cannot be resumed", "run", l.Run, "flow", l.Flow, "err", err)
	}
}

// program is the registered flow of a run, or nil.
func (e *Engine) program(l *runlog.Listing) *engine.Program {
	for _, p := range e.cfg.Programs {
		if p.Name == l.Flow && p.Version == l.Version {
			return p
		}
	}
	return nil
}

// resume resumes a run that no engine works on, and returns it; nil: it has ended or is
// stuck, or another engine works on it. p is its flow; nil: the engine looks it up.
func (e *Engine) resume(ctx context.Context, l *runlog.Listing, p *engine.Program, parent *flight) (*run, error) {
	if l.Ended || l.Status == runlog.Stuck && isStuck(e.past(l.Run).err) { // it has been tried
		return nil, nil
	}
	held, err := e.held(ctx, l, nil)
	if held && parent != nil { // who works on a child without its parent has lost both
		held, err = e.lost(ctx, parent.r)
	}
	if held || err != nil {
		return nil, err
	}
	if p == nil || p.Name != l.Flow || p.Version != l.Version {
		p = e.program(l)
	}
	if p == nil || e.serves(l.Run, l.Labels) != nil {
		return nil, e.misfit(l)
	}
	r, mine, err := e.enter(ctx, l.Run, p, parent)
	if err != nil || !mine {
		return r, err
	}
	if loaded, err := r.load(ctx, l.Owner); !loaded {
		r.abandon()
		return nil, err
	}
	e.unstop(r.id)
	e.pool.do(r)
	return r, nil
}

// adopt resumes a run that no engine works on, unless it is the child of one or this
// engine only observes. That another engine was first, or this one closes, is no error.
func (e *Engine) adopt(ctx context.Context, l *runlog.Listing, p *engine.Program) (*run, error) {
	if l.Parent != "" || e.cfg.Observe {
		return nil, nil
	}
	r, err := e.resume(ctx, l, p, nil)
	if errors.Is(err, runlog.ErrConflict) || errors.Is(err, engine.ErrStopped) {
		err = nil
	}
	return r, err
}

// lost tells whether another engine has resumed a run that this one works on.
func (e *Engine) lost(ctx context.Context, r *run) (bool, error) {
	l, err := e.store.listing(ctx, r.id)
	return l.Owner != e.id, err
}

// load reads the log of a run whose owner is dead. It tells whether there is something
// to resume: another engine may have been first, and this one must not take the run
// away from it.
func (r *run) load(ctx context.Context, owner string) (bool, error) {
	replay, err := engine.NewReplay(r.id, r.e.store.Records(ctx, r.id, 0))
	if err != nil || replay == nil {
		return false, err
	}
	next := int64(len(replay.Records))
	if replay.Records[next-1].Kind == runlog.Ended {
		return false, nil
	}
	r.in = replay.Started.Input
	var now runlog.Listing
	for _, rec := range replay.Records {
		r.asks.note(rec)
		if runlog.Listed(rec.Kind) {
			_ = now.Add(rec) // the store did
		}
	}
	if now.Owner != owner && r.parent == nil {
		if held, err := r.e.held(ctx, &now, nil); held || err != nil {
			return false, err
		}
	}
	r.clock.Skip(replay.Records[0].At)
	r.records.seq = next
	replay.Clock, replay.Questions, replay.Live = &r.clock, &r.questions, r
	replay.Accept, replay.Request = r.e.cfg.AcceptChanged, func(d *engine.CalledData) string {
		if len(d.Request) == 0 { // it was not recorded
			return ""
		}
		data, _ := r.e.store.Blob(r.e.life, r.id, d.Request[0]) // the history is in others
		return string(data)
	}
	r.replay = replay
	return true, nil
}

// held tells whether another engine, which is alive, works on the run. alive has which
// engines are, as far as is known, and is filled in; nil: nothing is known.
func (e *Engine) held(ctx context.Context, l *runlog.Listing, alive map[string]bool) (bool, error) {
	if l.Status == runlog.Stuck || l.Owner == "" || l.Owner == e.id {
		return false, nil
	}
	if held, known := alive[l.Owner]; known {
		return held, nil
	}
	held, err := e.store.Alive(ctx, l.Owner)
	if err == nil && alive != nil {
		alive[l.Owner] = held
	}
	return held, err
}

// misfit says why this engine leaves a run to others; nil: it can resume it.
func (e *Engine) misfit(l *runlog.Listing) error {
	if err := e.serves(l.Run, l.Labels); err != nil {
		return err
	}
	if e.program(l) == nil {
		return agent.ErrorOf(fmt.Errorf("%w: %w: version %d of flow %q is not registered", engine.ErrDiverged, engine.ErrNoFlow, l.Version, l.Flow))
	}
	return nil
}

// serves says which label of a run this engine does not serve; nil: it serves all.
func (e *Engine) serves(id string, labels map[string]string) error {
	for name, want := range e.cfg.Serves {
		if have, ok := labels[name]; ok && have != want {
			return agent.ErrorOf(fmt.Errorf("%w: run %q has the label %q: %q, and Config.Serves has %q", engine.ErrNotServed, id, name, have, want))
		}
	}
	return nil
}

// repeat applies the next record of the log to the flow, and behind the last one
// puts on record that the run is resumed: that fences off every other process.
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
	rec := &record{Record: runlog.Record{Kind: runlog.Resumed, Name: r.prog.Name, At: at}, data: engine.ResumedData{Owner: r.e.id}}
	if err := r.writeSync(r.e.life, rec); err != nil {
		r.fenced = errors.Is(err, runlog.ErrConflict)
		r.leave(engine.End{}, err)
		return
	}
	r.resumed = true
	r.replay.Resumed(at)
}

// stuckChild tries the stuck children of a run that was stuck, before it is on record
// that the run is resumed: if one fails again, there is nothing to record.
func (r *run) stuckChild() error {
	if r.replay.Stuck == "" {
		return nil
	}
	for _, op := range r.replay.Children() {
		l, err := r.e.store.listing(r.e.life, op.Input.Run)
		if err != nil || l.Status != runlog.Stuck {
			continue // its start says what is wrong
		}
		in := *op.Input
		in.Parent = r.id
		r.e.unstop(in.Run) // it is tried with its parent
		child, err := r.e.start(r.e.life, op.Child, in, nil)
		if err != nil || child == nil {
			continue
		}
		if r.e.await(r.e.life, child.live) == nil && child.over() && isStuck(child.err) {
			return childStuck(op, child.err)
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
	if r.replay == nil || r.resumed || r.replay.Stuck != failure.Message {
		rec := &record{Record: runlog.Record{Kind: runlog.Stuck, Name: r.prog.Name}, data: engine.StuckData{Err: failure}}
		if writeErr := r.writeSync(r.e.life, rec); writeErr != nil {
			err = errors.Join(writeErr, err)
		}
	}
	r.leave(engine.End{}, err)
}

// isStuck tells whether err is of the flow's code, and not of the world.
func isStuck(err error) bool {
	return errors.Is(err, engine.ErrFlow) || errors.Is(err, engine.ErrDiverged) && !errors.Is(err, engine.ErrNoFlow)
}
