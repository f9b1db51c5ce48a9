package engine

import (
	"context"
	"errors"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/engine"
)

// Start implements engine.Driver.
func (e *Engine) Start(ctx context.Context, p *engine.Program, in engine.Input) (func(context.Context) (engine.End, error), error) {
	r, err := e.begin(ctx, p, in, nil)
	id := in.Run // the rest of in is not kept
	return func(ctx context.Context) (engine.End, error) { return e.wait(ctx, r, id, p) }, err
}

// Changed implements engine.Driver.
func (e *Engine) Changed(ctx context.Context, id string, from int64) error {
	return e.until(ctx, id, func() (bool, error) {
		l, err := e.listing(ctx, id)
		return l.Ended || l.Next > from, err
	})
}

// Wait implements engine.Driver.
func (e *Engine) Wait(ctx context.Context, id string, p *engine.Program) (engine.End, error) {
	return e.wait(ctx, e.find(id), id, p)
}

// wait is Wait. r is the run, if this engine works on it, or did.
func (e *Engine) wait(ctx context.Context, r *run, id string, p *engine.Program) (end engine.End, err error) {
	var since time.Time // no engine works on the run, and this one cannot
	err = e.until(ctx, id, func() (done bool, err error) {
		if r == nil {
			past := e.past(id)
			switch {
			case past.end != nil:
				end = *past.end
				return true, nil
			case past.err != nil && !isStuck(past.err):
				return true, past.err
			}
			l, err := e.listing(ctx, id)
			if err != nil {
				return true, err
			}
			if end, done, err = e.outcome(ctx, &l, past.err); done {
				return true, err
			}
			if r, err = e.adopt(ctx, &l, p); err == nil {
				since = time.Time{}
			} else if since.IsZero() {
				since = time.Now()
			}
			// Another engine may come that can, but not for ever, nor for a damaged log.
			if errors.Is(err, runlog.ErrDamaged) || err != nil && time.Since(since) > e.cfg.Lease {
				return true, err
			}
		}
		if r != nil {
			select {
			case <-r.done:
				if !r.fenced {
					end, err = r.end, r.err
					return true, err
				}
			case <-ctx.Done():
				return true, context.Cause(ctx)
			}
		}
		r = e.find(id)
		return false, nil
	})
	return end, err
}

// outcome is what became of a run that this engine does not work on. stuck is why its
// flow failed here, if it did. known is false if the run may be resumed.
func (e *Engine) outcome(ctx context.Context, l *runlog.Listing, stuck error) (end engine.End, known bool, err error) {
	switch {
	case l.Ended:
		var d engine.EndedData
		err = e.read(ctx, l.Run, l.Next-1, &d)
		return d.End, true, err
	case l.Status == runlog.Stuck && stuck != nil:
		return end, true, stuck
	case l.Status == runlog.Stuck && e.cfg.Observe:
		return end, true, e.whyStuck(ctx, l.Run)
	}
	return end, false, nil
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
		return noRun(id) // it was deleted meanwhile
	}
	return d.Err
}

// childEnd waits for the end of a child that is not one of f: another run here is the
// parent of child, or, with a nil child, an engine works on it that has resumed the parent,
// too. mine: it has become a child of f.
func (e *Engine) childEnd(f *effect, in engine.Input, child *run) (end engine.End, mine bool, err error) {
	if child == nil {
		err = e.until(e.life, in.Run, func() (bool, error) {
			l, err := e.listing(e.life, in.Run)
			switch {
			case f.r.over(), err == nil && l.Ended:
				return true, nil
			case err != nil:
				return false, nil //nolint:nilerr // it is asked again
			}
			child, err = e.begin(e.life, f.op.Child, in, f)
			return child != nil || l.Status == runlog.Stuck, err
		})
	}
	if err != nil || child != nil && child.parent == f {
		return end, err == nil, err
	}
	end, err = e.Wait(e.life, in.Run, f.op.Child)
	return end, false, err
}

// stuckChild tries the stuck children of a run that was stuck, before it is on record
// that the run is resumed: if one fails again, there is nothing to record.
func (e *Engine) stuckChild(r *run) error {
	if r.replay.Stuck == "" {
		return nil
	}
	for _, op := range r.replay.Children() {
		l, err := e.listing(e.life, op.Input.Run)
		if err != nil || l.Status != runlog.Stuck {
			continue // its start says what is wrong
		}
		in := *op.Input
		in.Parent = r.id
		e.forget(in.Run) // it is tried with its parent
		child, err := e.begin(e.life, op.Child, in, nil)
		if err != nil || child == nil {
			continue
		}
		if e.await(e.life, child.live) == nil && child.over() && isStuck(child.err) {
			return childStuck(op, child.err)
		}
	}
	return nil
}
