package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// until calls look until it says that it is done, or fails: now, and again whenever the
// run changes.
func (e *Engine) until(ctx context.Context, id string, look func() (done bool, err error)) error {
	var signal <-chan struct{} // taken before look
	var poll time.Duration
	for {
		if done, err := look(); done || err != nil {
			return err
		}
		if e.open.Err() != nil {
			return closedError()
		}
		if signal != nil {
			select {
			case <-signal:
			case <-time.After(poll):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if signal, poll = e.signal(id); poll < math.MaxInt64 { // another engine works on it
			e.hear()
		}
	}
}

// signal is closed when the run changes here, or when the store says so. After poll it
// is time to look again: a run of another engine may change, or its engine die,
// without a word.
func (e *Engine) signal(id string) (signal <-chan struct{}, poll time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := e.known[id]; r != nil {
		return r.records.watch(), math.MaxInt64
	}
	if e.foreign[id] == nil {
		e.foreign[id] = make(chan struct{})
	}
	return e.foreign[id], e.cfg.Poll
}

// notify wakes those who watch a run that another engine works on.
func (e *Engine) notify(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.foreign[id]; c != nil {
		close(c)
		delete(e.foreign, id)
	}
}

// Changed implements engine.Driver.
func (e *Engine) Changed(ctx context.Context, id string, from int64) error {
	return e.until(ctx, id, func() (bool, error) {
		l, err := e.store.listing(ctx, id)
		return l.Ended || l.Next > from, err
	})
}

// Wait implements engine.Driver.
func (e *Engine) Wait(ctx context.Context, id string, p *engine.Program) (engine.End, error) {
	return e.wait(ctx, e.run(id), id, p)
}

// wait is Wait. r is the run, if this engine works on it, or did.
func (e *Engine) wait(ctx context.Context, r *run, id string, p *engine.Program) (end engine.End, err error) {
	var since time.Time // no engine works on the run, and this one cannot
	err = e.until(ctx, id, func() (done bool, err error) {
		if r == nil {
			past := e.past(id)
			if past.end != nil {
				end = *past.end
				return true, nil
			}
			if past.err != nil && !isStuck(past.err) {
				return true, past.err
			}
			l, err := e.store.listing(ctx, id)
			switch {
			case err != nil:
				return true, err
			case l.Ended:
				end, err = e.end(ctx, &l)
				return true, err
			case l.Status == runlog.Stuck && past.err != nil:
				return true, past.err
			case l.Status == runlog.Stuck && e.cfg.Observe:
				return true, e.whyStuck(ctx, id)
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
			if end, done, err = r.wait(ctx); done {
				return true, err
			}
		}
		r = e.run(id)
		return false, nil
	})
	return end, err
}

// end is how a run ended, by the last record of its log.
func (e *Engine) end(ctx context.Context, l *runlog.Listing) (engine.End, error) {
	var d engine.EndedData
	err := e.store.read(ctx, l.Run, l.Next-1, &d)
	return d.End, err
}

// whyStuck is why the flow of a run failed, by its log.
func (e *Engine) whyStuck(ctx context.Context, id string) error {
	var d engine.StuckData
	for rec, err := range e.store.Records(ctx, id, 0) {
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

// Look implements engine.Driver.
func (e *Engine) Look(ctx context.Context, id string) (engine.View, error) {
	r := e.run(id) // first, as it may end meanwhile
	l, err := e.store.listing(ctx, id)
	if err != nil {
		return engine.View{}, err
	}
	v, err := e.view(ctx, r, &l, nil)
	if err != nil || v.Ended {
		return v, err
	}
	var known *asks
	if r != nil && !r.over() {
		known = &r.asks
	} else if known, err = e.logged(ctx, id, ""); err != nil {
		return v, err
	}
	v.Questions, err = known.open()
	return v, err
}

// List implements engine.Driver.
func (e *Engine) List(ctx context.Context, q runlog.Query) iter.Seq2[engine.View, error] {
	return func(yield func(engine.View, error) bool) {
		alive := map[string]bool{}
		for l, err := range e.store.List(ctx, q) {
			var v engine.View
			if err == nil {
				v, err = e.view(ctx, e.run(l.Run), &l, alive)
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// view adds to a listing what this engine knows of the run. alive is as in held.
func (e *Engine) view(ctx context.Context, r *run, l *runlog.Listing, alive map[string]bool) (engine.View, error) {
	v := engine.View{Listing: *l, Status: engine.Status(l.Status)}
	if l.Ended || l.Status == runlog.Stuck {
		return v, nil
	}
	if r != nil {
		v.Status = r.status()
		return v, nil
	}
	v.Status = engine.Suspended
	held, err := e.held(ctx, l, alive)
	if held {
		v.Status = engine.Running
	} else if why := e.misfit(l); why != nil && !e.cfg.Observe {
		v.Err = why.Error()
	}
	return v, err
}

// Log implements engine.Driver.
func (e *Engine) Log(ctx context.Context, id string, from int64) iter.Seq2[runlog.Record, error] {
	return e.store.Records(ctx, id, max(from, 0))
}

// State implements engine.Driver.
func (e *Engine) State(ctx context.Context, id string) (json.RawMessage, error) {
	a, err := e.ask(ctx, request{Run: id})
	if err == nil && a.State == nil {
		err = agent.ErrorOf(fmt.Errorf("%w: run %q", engine.ErrNoState, id))
	}
	return a.State, err
}

// exposed asks the flow for its state, between two of its steps, once it is behind its
// log.
func (r *run) exposed(ctx context.Context) (json.RawMessage, error) {
	if err := r.e.await(ctx, r.live); err != nil {
		return nil, err
	}
	var state json.RawMessage
	var err error
	asked := make(chan struct{})
	r.e.pool.do(jobFunc(func() { // the flow may take long over a step
		defer close(asked)
		r.flow.Lock()
		defer r.flow.Unlock()
		if r.state != nil {
			state, err = r.state()
		}
	}))
	if err := r.e.await(ctx, asked); err != nil {
		return nil, err
	}
	return state, err
}
