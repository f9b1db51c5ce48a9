package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/fleet"
)

// Resume implements engine.Driver.
func (e *Engine) Resume(ctx context.Context) (res engine.Resumed, err error) {
	if err := e.ready(ctx); err != nil {
		return res, err
	}
	e.fleet.Watch() // from now on it takes up runs that no engine works on
	var taken []*run
	var errs []error
	alive := fleet.Census{}
	for l, err := range e.list(ctx, runlog.Query{Open: true}) {
		if err != nil {
			errs = append(errs, err)
			break
		}
		if l.Parent != "" {
			continue
		}
		if r := e.find(l.Run); r != nil { // it was started here, or the fleet took it up meanwhile
			taken = append(taken, r)
			continue
		}
		c, err := e.fleet.Claim(ctx, &l, fleet.Wish{Alive: alive})
		var r *run
		switch {
		case c.Holder != "":
			res.Held = append(res.Held, engine.Held{ID: l.Run, Owner: l.Owner, Since: l.Changed})
		case err == nil && !c.Foreign:
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

// begin starts a run, or resumes the one of that ID if it is the same and free. It
// returns the run if this engine works on it, or did.
func (e *Engine) begin(ctx context.Context, p *engine.Program, in engine.Input, parent *effect) (*run, error) {
	if err := e.fleet.Serve(in.Run, in.Labels); err != nil {
		return nil, err
	}
	r, mine, err := e.enter(ctx, in.Run, p, parent)
	if err != nil {
		return nil, err
	}
	if !mine {
		switch err := e.await(ctx, r.live); {
		case err != nil:
			return nil, err
		case r.over() && r.fenced:
			return e.begin(ctx, p, in, parent)
		}
		return r, engine.Same(r.id, r.prog.Name, &r.in, p.Name, &in)
	}
	r.in = in
	at := r.now()
	r.clock.Skip(at)
	err = r.recordSync(ctx, runlog.Record{Kind: runlog.Started, Name: p.Name, At: at}, engine.StartedData{Version: p.Version, Owner: e.name, Input: in})
	if err == nil {
		r.tell(slog.LevelInfo, "run started", slog.Int("version", p.Version))
		close(r.live)
		e.forget(r.id)
		e.do(r)
		return r, nil
	}
	r.abandon()
	if !errors.Is(err, runlog.ErrConflict) {
		return nil, fmt.Errorf("start of run %q: %w", r.id, err)
	}
	var d engine.StartedData
	if err := e.read(ctx, in.Run, 0, &d); err != nil {
		return nil, err
	}
	l, err := e.listing(ctx, in.Run)
	if err == nil {
		err = engine.Same(in.Run, l.Flow, &d.Input, p.Name, &in)
	}
	if err != nil {
		return nil, err
	}
	return e.resume(ctx, &l, p, parent)
}

// resume resumes a run that no engine works on, and returns it; nil: it has ended or is
// stuck, or another engine works on it. p is its flow; nil: the engine looks it up.
func (e *Engine) resume(ctx context.Context, l *runlog.Listing, p *engine.Program, parent *effect) (*run, error) {
	w := fleet.Wish{Program: p, Tried: isStuck(e.past(l.Run).err)}
	if parent != nil {
		w.Inside = parent.r.id
	}
	c, err := e.fleet.Claim(ctx, l, w)
	if c.Over || c.Holder != "" || err != nil {
		return nil, err
	}
	if c.Unfit != nil {
		return nil, c.Unfit
	}
	r, mine, err := e.enter(ctx, l.Run, c.Program, parent)
	if err != nil || !mine {
		return r, err
	}
	if loaded, err := e.load(ctx, r, l.Owner); !loaded {
		r.abandon()
		return nil, err
	}
	e.forget(r.id)
	e.do(r)
	return r, nil
}

// retry executes the flow of a stuck run again.
func (e *Engine) retry(ctx context.Context, id string) error {
	l, err := e.listing(ctx, id)
	if err == nil && l.Status != runlog.Stuck {
		err = agent.ErrorOf(fmt.Errorf("%w: run %q is %s, not stuck", engine.ErrMalformed, id, cmp.Or(l.Status, "open")))
	}
	if err == nil {
		_, err = e.resume(ctx, &l, e.forget(id), nil)
	}
	return err
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

// whyStuck is why the flow of a run failed, by its log.
func (e *Engine) whyStuck(ctx context.Context, id string) error {
	var d engine.StuckData
	for rec, err := range e.records(ctx, id, 0) {
		if err == nil && rec.Kind == runlog.Stuck {
			err = decode(&rec, &d)
		}
		if err != nil {
			return err
		}
	}
	if d.Err == nil {
		return e.noRun(id) // it was deleted meanwhile
	}
	return d.Err
}

// lacks reports whether an open run is one that no engine works on and that this engine
// should, but cannot: it does not have that version of the flow. One that only observes
// leaves the run to others, and so does one that does not serve it.
func (e *Engine) lacks(ctx context.Context, l *runlog.Listing) (bool, error) {
	if l.Ended || l.Parent != "" || e.cfg.Observe || e.find(l.Run) != nil {
		return false, nil
	}
	c, err := e.fleet.Claim(ctx, l, fleet.Wish{Program: e.past(l.Run).prog})
	return err == nil && c.Holder == "" && errors.Is(c.Unfit, engine.ErrNoFlow), err
}

// TakeUp implements fleet.Host: adopt where nothing waits for the run.
func (e *Engine) TakeUp(ctx context.Context, l *runlog.Listing) {
	if past := e.past(l.Run); past.rests() {
		return
	}
	if _, err := e.adopt(ctx, l, nil); err != nil && !errors.Is(err, engine.ErrNoFlow) && !errors.Is(err, engine.ErrNotServed) && ctx.Err() == nil {
		e.log.Warn("run cannot be resumed", "run", l.Run, "flow", l.Flow, "err", err)
	}
}

// rest is how long after an outage of its store a run is resumed by itself: one whose
// record caused it meets it again.
const rest = 5 * time.Second

// rests reports whether it is too soon to resume a run that an outage stopped.
func (o *outcome) rests() bool { return errors.Is(o.err, errOutage) && time.Since(o.at) < rest }

// Abandoned implements fleet.Host.
func (e *Engine) Abandoned() (ids []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, o := range e.stopped {
		if errors.Is(o.err, errOutage) && !o.rests() {
			ids = append(ids, id)
		}
	}
	return ids
}

// Fenced implements fleet.Host: runs that other engines have resumed stop here.
func (e *Engine) Fenced(ctx context.Context) {
	for _, r := range e.all() {
		if !r.isLive() {
			continue
		}
		l, err := e.listing(ctx, r.id)
		if err == nil && (l.Owner != e.name || l.Ended) {
			r.stop(fmt.Errorf("%w: %w: engine %q has resumed run %q, because this one was silent for too long", engine.ErrStopped, runlog.ErrConflict, l.Owner, r.id))
		}
	}
}

// lost reports whether another engine has resumed a run that this one works on.
func (e *Engine) lost(r *run) (bool, error) { return e.fleet.Lost(e.life, r.id) }

// whyStopped returns why r stops without an end: err, or ErrNoRun if it is the conflict of a
// run that was deleted.
func (e *Engine) whyStopped(r *run, err error) error {
	if errors.Is(err, runlog.ErrConflict) {
		if _, gone := e.lost(r); errors.Is(gone, engine.ErrNoRun) {
			return gone
		}
	}
	return err
}

// load reads the log of a run whose owner is dead. It reports whether there is something
// to resume: another engine may have been first, and this one must not take the run away
// from it.
func (e *Engine) load(ctx context.Context, r *run, owner string) (bool, error) {
	replay, err := engine.NewReplay(r.id, e.records(ctx, r.id, 0))
	if err != nil || replay == nil {
		return false, err
	}
	if replay.Records[len(replay.Records)-1].Kind == runlog.Ended {
		return false, nil
	}
	r.in = replay.Started.Input
	var now runlog.Listing
	for _, rec := range replay.Records {
		r.questions.Note(rec)
		if runlog.Listed(rec.Kind) {
			_ = now.Add(rec) // the store did
		}
	}
	if now.Owner != owner && r.parent == nil {
		if c, err := e.fleet.Claim(ctx, &now, fleet.Wish{}); c.Holder != "" || err != nil {
			return false, err
		}
	}
	r.before = now.Owner
	r.clock.Skip(replay.Records[0].At)
	tally, err := replay.Tally()
	if err != nil {
		return false, err
	}
	r.continueAt(tally)
	replay.Clock, replay.Questions, replay.Live = &r.clock, &r.questions, r
	replay.Accept, replay.Request = e.cfg.Requests.AcceptChanged, func(d *engine.CalledData) string {
		if len(d.Request) == 0 { // it was not recorded
			return ""
		}
		data, _ := e.journal.Blob(e.life, r.id, d.Request[0]) // the history is in others
		return string(data)
	}
	r.replay = replay
	return true, nil
}
