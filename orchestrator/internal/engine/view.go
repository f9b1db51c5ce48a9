package engine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/crew"
	"github.com/convene-go/convene/orchestrator/internal/fleet"
)

const (
	hold   = 2 * time.Second       // how long a reply to another engine waits for what agents report
	gather = 20 * time.Millisecond // how long it waits at least, so that it has all that comes side by side
)

// Look implements engine.Driver.
func (e *Engine) Look(ctx context.Context, id string) (engine.View, error) {
	r := e.find(id) // first, as it may end meanwhile
	l, err := e.listing(ctx, id)
	if err != nil {
		return engine.View{}, err
	}
	v, err := e.view(ctx, r, &l, nil)
	if end := e.past(id).end; v.Ended && end != nil { // there is no store
		v.SetEnd(end)
		e.fetched(ctx, id)
	} else if err == nil {
		err = e.figures(ctx, r, &v)
	}
	if err != nil || v.Ended {
		return v, err
	}
	known, err := e.questionsOf(ctx, r, id, "")
	if err == nil {
		v.Questions, err = known.Open()
	}
	return v, err
}

// questionsOf are the questions of a run: those that this engine knows, where it works on
// the run, else those of its log. key "" stands for all.
func (e *Engine) questionsOf(ctx context.Context, r *run, id, key string) (*engine.Questions, error) {
	if r != nil && !r.over() {
		return &r.questions, nil
	}
	return e.logged(ctx, id, key)
}

// Question implements engine.Asker.
func (e *Engine) Question(ctx context.Context, id, key string) (q engine.Ask, open bool, err error) {
	r := e.find(id) // first, as it may end meanwhile
	l, err := e.listing(ctx, id)
	if err != nil {
		return q, false, err
	}
	known, err := e.questionsOf(ctx, r, id, key)
	if err != nil {
		return q, false, err
	}
	s := known.State(key)
	if s.Ask == nil {
		return q, false, nil
	}
	err = json.Unmarshal(s.Ask, &q)
	q.Hash = s.Hash
	return q, s.Kind == runlog.Asked && !l.Ended && err == nil, err
}

// List implements engine.Driver.
func (e *Engine) List(ctx context.Context, q runlog.Query) iter.Seq2[engine.View, error] {
	return func(yield func(engine.View, error) bool) {
		alive := fleet.Census{}
		for l, err := range e.list(ctx, q) {
			var v engine.View
			if err == nil {
				v, err = e.view(ctx, e.find(l.Run), &l, alive)
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// OpenAsks implements engine.Surveyor.
func (e *Engine) OpenAsks(ctx context.Context, q runlog.AskQuery) iter.Seq2[runlog.OpenAsk, error] {
	return e.journal.OpenAsks(ctx, q)
}

// view adds to a listing what this engine knows of the run.
func (e *Engine) view(ctx context.Context, r *run, l *runlog.Listing, alive fleet.Census) (engine.View, error) {
	v := engine.View{Listing: *l, Status: engine.Status(l.Status)}
	if l.Ended || l.Status == runlog.Stuck {
		return v, nil
	}
	if r != nil {
		v.Status = r.status()
		return v, nil
	}
	v.Status = engine.Suspended
	c, err := e.fleet.Claim(ctx, l, fleet.Wish{Alive: alive})
	if c.Holder != "" {
		v.Status = engine.Running
	} else if c.Unfit != nil && !e.cfg.Observe {
		v.Err = c.Unfit.Error()
	}
	return v, err
}

// status is where the run is.
func (r *run) status() engine.Status {
	switch {
	case r.over() && r.err == nil:
		return r.end.Status
	case r.over() && isStuck(r.err):
		return engine.Stuck
	case r.over():
		return engine.Suspended
	case len(r.underway(engine.Call, engine.Child, engine.Sleep)) == 0 && len(r.underway(engine.Await)) > 0:
		return engine.Waiting
	}
	return engine.Running
}

// Log implements engine.Driver.
func (e *Engine) Log(ctx context.Context, id string, from int64) iter.Seq2[runlog.Record, error] {
	return e.records(ctx, id, max(from, 0))
}

// State implements engine.Driver.
func (e *Engine) State(ctx context.Context, id string) (json.RawMessage, error) {
	a, err := e.fleet.Ask(ctx, fleet.Request{Run: id})
	if err == nil && a.State == nil {
		err = agent.ErrorOf(fmt.Errorf("%w: run %q", engine.ErrNoState, id))
	}
	return a.State, err
}

// exposed asks the flow for its state, between two of its steps, once it has repeated its
// log.
func (r *run) exposed(ctx context.Context) (json.RawMessage, error) {
	if err := r.await(ctx, r.live); err != nil {
		return nil, err
	}
	var state json.RawMessage
	var err error
	asked := make(chan struct{})
	r.async(func() { // the flow may take long over a step
		defer close(asked)
		r.flow.Lock()
		defer r.flow.Unlock()
		if r.state != nil {
			state, err = r.state()
		}
	})
	if err := r.await(ctx, asked); err != nil {
		return nil, err
	}
	return state, err
}

// Owns implements fleet.Host.
func (e *Engine) Owns(id string) (changed <-chan struct{}, owns bool) {
	r := e.find(id)
	if r == nil {
		return nil, false
	}
	return r.changed(), true
}

// Reply implements fleet.Host. Gone: this engine works on the run no more, and all is
// read. The limit is that of a reader in another process; 0: it is in this one.
func (e *Engine) Reply(ctx context.Context, q fleet.Request, limit time.Duration) (a fleet.Reply, err error) {
	r := e.find(q.Run)
	if q.Reader == "" {
		if r != nil {
			a.State, err = r.exposed(ctx)
		}
		// What was read before the run ended holds; one that stopped may be another engine's.
		a.Gone = r == nil || r.over() && (a.State == nil || r.err != nil)
		return a, err
	}
	var feed *crew.Feed
	var over chan struct{}
	if r != nil {
		feed, over = &r.feed, r.done
	}
	w := e.readers.Open(q.Reader, feed, over, limit)
	if w == nil {
		return fleet.Reply{Gone: true}, nil
	}
	if limit > 0 {
		limited, cancel := context.WithTimeout(ctx, hold)
		defer cancel()
		ctx = limited
		select {
		case <-ctx.Done():
		case <-time.After(gather):
		}
	}
	a.Progress = w.Read(ctx)
	if a.Gone = len(a.Progress) == 0 && w.Over(); a.Gone {
		e.readers.Close(q.Reader)
	}
	return a, nil
}

// Watch implements engine.Driver.
func (e *Engine) Watch(ctx context.Context, id string) iter.Seq2[agent.Progress, error] {
	return func(yield func(agent.Progress, error) bool) {
		q := fleet.Request{Run: id, Reader: rand.Text()}
		defer e.readers.Close(q.Reader)
		var silent time.Time // time since which no engine replies; zero: one does
		err := e.until(ctx, id, func() (done bool, err error) {
			for err == nil {
				var a fleet.Reply
				if a, err = e.fleet.Ask(ctx, q); err == nil {
					q.Began, silent = true, time.Time{}
				}
				for _, p := range a.Progress {
					if !yield(p, nil) {
						return true, nil
					}
				}
				if a.Over || ctx.Err() != nil {
					return true, nil //nolint:nilerr // nothing more comes, or it is not read
				}
			}
			if silent.IsZero() {
				silent = time.Now()
			}
			switch {
			case q.Began && errors.Is(err, engine.ErrNoRun): // it was deleted
				return true, nil
			case q.Began && errors.Is(err, engine.ErrStopped) && time.Since(silent) < e.cfg.Lease: // another engine may resume it
				return false, nil
			}
			return true, err
		})
		if err != nil && ctx.Err() == nil && e.open.Err() == nil {
			yield(agent.Progress{}, err)
		}
	}
}

// Delete implements engine.Driver.
func (e *Engine) Delete(ctx context.Context, id string) error {
	ids, err := e.fleet.Delete(ctx, id, func(id string) bool { return e.find(id) != nil })
	if err == nil {
		e.forgetAll(ids)
	}
	return err
}

// Prune implements engine.Driver.
func (e *Engine) Prune(ctx context.Context, q runlog.Query) (pruned int, err error) {
	err = e.fleet.Prune(ctx, q, func(ids []string) {
		e.forgetAll(ids)
		pruned += len(ids)
	})
	return pruned, err
}

func (e *Engine) forgetAll(ids []string) {
	for _, id := range ids {
		e.forget(id)
	}
}
