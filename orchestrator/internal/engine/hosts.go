package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// Start implements engine.Driver.
func (e *Engine) Start(ctx context.Context, p *engine.Program, in engine.Input) (func(context.Context) (engine.End, error), error) {
	r, err := e.begin(ctx, p, in, nil)
	id := in.Run // the rest of in is not kept
	return func(ctx context.Context) (engine.End, error) {
		defer e.fetched(ctx, id)
		return e.wait(ctx, r, id, p)
	}, err
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
	defer e.fetched(ctx, id)
	return e.wait(ctx, e.find(id), id, p)
}

// wait is Wait. r is the run, if this engine works on it, or did.
func (e *Engine) wait(ctx context.Context, r *run, id string, p *engine.Program) (end engine.End, err error) {
	var since time.Time // no engine works on the run, and this one cannot
	err = e.until(ctx, id, func() (done bool, err error) {
		if r == nil {
			switch past := e.past(id); {
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
			if end, done, err = e.outcome(ctx, &l, e.past(id).err); done {
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
			defer r.lendTo(ctx)()
			select {
			case <-r.done:
				if !r.fenced {
					end = r.end
					return true, r.err
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

// Tell implements engine.Driver.
func (e *Engine) Tell(ctx context.Context, id string, c engine.Command) error {
	switch c.Kind {
	case engine.RetryIt:
		return e.retry(ctx, id)
	case engine.AnswerIt:
		return e.answer(ctx, id, &c)
	case engine.CancelIt:
	}
	if done, err := e.cancelIdle(ctx, id, c.Data); done || err != nil {
		return err
	}
	switch err := e.inbox().Put(ctx, runlog.Letter{Run: id, Data: c.Data}); {
	case errors.Is(err, runlog.ErrNoRun):
		return e.noRun(id)
	case errors.Is(err, runlog.ErrConflict):
		return nil // it is canceled, or has ended
	case err != nil:
		return err
	}
	e.Letters(ctx, id)
	return nil
}

// answer puts an answer at the present address of its question. Where another letter
// has that already, it looks again what is so. Early answers come one after the other, so
// that their limit holds.
func (e *Engine) answer(ctx context.Context, id string, c *engine.Command) error {
	if engine.AnswerOf(c.Data).Early {
		select {
		case e.early <- struct{}{}:
			defer func() { <-e.early }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	var pending []runlog.Letter // read once it is known that a letter has the address
	for tried := -1; ; {
		s, ended, err := e.question(ctx, id, c.Key, pending)
		if err != nil {
			return err
		}
		if ended && (s.Kind == "" || s.Kind == runlog.Asked) {
			return hasEnded(id)
		}
		if open, err := s.Verdict(c); !open {
			return err
		}
		if s.Kind == "" {
			if err := e.earlyLimit(ctx, id, c.Key); err != nil {
				return err
			}
		}
		if s.Round == tried { // the letter that took the address cannot be seen
			return agent.ErrorOf(fmt.Errorf("%w: the question %q", engine.ErrAnswered, c.Key))
		}
		tried = s.Round
		if kept, err := e.put(ctx, runlog.Letter{Run: id, Key: c.Key, Round: s.Round, Data: c.Data}); kept || err != nil {
			return err
		}
		if pending, err = e.pending(ctx, id, c.Key); err != nil {
			return err
		}
	}
}

// cancelIdle ends a run that is stuck, or whose flow nobody executes and this engine does
// not have, with the runs inside of it, without executing their flows. It tells whether
// it was such a run.
func (e *Engine) cancelIdle(ctx context.Context, id string, reason json.RawMessage) (idle bool, err error) {
	err = e.until(ctx, id, func() (bool, error) { // it may stop just now, or be retried
		l, err := e.listing(ctx, id)
		if err != nil {
			return true, err
		}
		if idle = l.Status == runlog.Stuck; idle {
			return e.find(id) == nil, nil
		}
		idle, err = e.lacks(ctx, &l)
		return true, err
	})
	if err != nil || !idle {
		return false, err
	}
	if _, err = e.endIdle(ctx, id, reason); errors.Is(err, runlog.ErrConflict) {
		return false, nil // an engine has just resumed it
	}
	return true, err
}

// endIdle ends a run that is idle, or whose parent is. Of one that ended before it returns no end.
func (e *Engine) endIdle(ctx context.Context, id string, reason json.RawMessage) (end engine.End, err error) {
	var t engine.Tally // figures of the run and its open children
	for l, err := range e.list(ctx, runlog.Query{Parent: id, Open: true}) {
		if err != nil {
			return end, err
		}
		if child := e.find(l.Run); child != nil {
			<-child.done // it was stopped with its parent
		}
		of, err := e.endIdle(ctx, l.Run, reason)
		if err != nil {
			return end, err
		}
		t.Add(l.Flow, of.Spent)
		t.Lose(of.Lost)
	}
	l, err := e.listing(ctx, id)
	if err != nil || l.Ended {
		return end, err
	}
	v := engine.View{Listing: l}
	if err := e.figures(ctx, nil, &v); err != nil {
		return end, err
	}
	for name, used := range v.ByAgent {
		t.Add(name, used)
	}
	t.Lose(v.Lost)
	first, canceled, err := e.canceled(ctx, id)
	if err != nil {
		return end, err
	}
	if canceled {
		reason = first
	}
	end = engine.End{Status: engine.Canceled, Err: engine.CanceledBy(reason).Err}
	end.Spent, end.Lost, end.ByAgent, end.ContinuedFrom = t.Spent(), t.Lost, t.ByAgent, v.ContinuedFrom
	return end, e.endWithout(ctx, &l, end, reason, canceled)
}

// endWithout puts on record that a run is canceled, unless it is there, and the end.
func (e *Engine) endWithout(ctx context.Context, l *runlog.Listing, end engine.End, reason json.RawMessage, canceled bool) (err error) { //nolint:revive // what is on record
	r := newRun(ctx, &e.shared, l.Run, &engine.Program{Name: l.Flow, Version: l.Version}, nil)
	r.clock.Skip(l.Changed)
	r.continueAt(engine.Tally{Records: l.Next})
	if !canceled {
		err = r.recordSync(ctx, runlog.Record{Kind: runlog.Canceled, Data: reason}, reason)
	}
	if err == nil {
		err = r.recordSync(ctx, runlog.Record{Kind: runlog.Ended, Name: l.Flow}, engine.EndedData{End: end})
	}
	if err == nil && l.Parent == "" {
		e.log.LogAttrs(ctx, slog.LevelInfo, "run ended", slog.String("run", l.Run), slog.String("flow", l.Flow), slog.String("status", string(end.Status)))
	}
	r.stopLog()
	e.forget(l.Run)
	return err
}
