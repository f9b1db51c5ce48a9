package local

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// Wait implements engine.Driver.
func (e *Engine) Wait(ctx context.Context, id string, p *engine.Program) (engine.End, error) {
	var since time.Time // no engine works on the run, and this one cannot
	for {
		if r := e.run(id); r != nil {
			select {
			case <-r.done:
				if r.fenced {
					continue // another engine works on it
				}
				return r.end, r.err
			case <-ctx.Done():
				return engine.End{}, context.Cause(ctx)
			}
		}
		if err := e.whyStopped(id); err != nil {
			return engine.End{}, err
		}
		l, err := e.listing(ctx, id)
		if err != nil {
			return engine.End{}, err
		}
		switch {
		case l.Ended:
			return e.end(ctx, id)
		case e.hasTried(&l), l.Status == blackboard.Stuck && e.cfg.Observe:
			return engine.End{}, e.whyStuck(ctx, id)
		}
		if e.isClosed() {
			return engine.End{}, closedError()
		}
		signal, poll := e.signal(id)
		err = e.revive(ctx, id, p)
		switch {
		case e.run(id) != nil, e.whyStopped(id) != nil:
			continue
		case err == nil:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		}
		// Another engine may come that can, but not for ever, nor for a damaged log.
		if err != nil && (errors.Is(err, blackboard.ErrDamaged) || time.Since(since) > e.cfg.Lease) {
			return engine.End{}, err
		}
		if err := pause(ctx, signal, poll); err != nil { // its engine may die without a word
			return engine.End{}, err
		}
	}
}

// whyStopped is why a run stopped in this engine, or nil.
func (e *Engine) whyStopped(id string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stopped[id]
}

// last is the last record of a run that is of that kind, or ErrNoRun.
func (e *Engine) last(ctx context.Context, id, kind string) (last blackboard.Record, err error) {
	if e.commit != nil {
		if last, err = e.cfg.Store.Last(ctx, id); err == nil && last.Kind == kind {
			return last, e.expand(ctx, &last)
		}
	}
	for rec, err := range e.Log(ctx, id, 0) {
		if err != nil {
			return rec, err
		}
		if rec.Kind == kind {
			last = rec
		}
	}
	if last.Kind != kind {
		return last, noRun(id)
	}
	return last, nil
}

// end is how a run ended, by its log.
func (e *Engine) end(ctx context.Context, id string) (engine.End, error) {
	rec, err := e.last(ctx, id, blackboard.Ended)
	if err != nil {
		return engine.End{}, err
	}
	var d engine.EndedData
	if err := json.Unmarshal(rec.Data, &d); err != nil {
		return d.End, fmt.Errorf("log of run %q: record %d: %w: %w", id, rec.Seq, blackboard.ErrDamaged, err)
	}
	return d.End, nil
}

// whyStuck is why the flow of a run failed.
func (e *Engine) whyStuck(ctx context.Context, id string) error {
	rec, err := e.last(ctx, id, blackboard.Stuck)
	if err != nil {
		return err
	}
	var d engine.StuckData
	if err := json.Unmarshal(rec.Data, &d); err != nil || d.Err == nil {
		return errors.Join(stuckError("run %q is stuck", id), err)
	}
	return d.Err
}

func noRun(id string) error { return agent.ErrorOf(fmt.Errorf("%w: %q", engine.ErrNoRun, id)) }

// listing is what a list shows of a run, or ErrNoRun.
func (e *Engine) listing(ctx context.Context, id string) (blackboard.Listing, error) {
	if e.commit == nil {
		r := e.run(id)
		if r == nil {
			return blackboard.Listing{}, noRun(id)
		}
		return r.listing(ctx)
	}
	for l, err := range e.cfg.Store.List(ctx, blackboard.Query{Run: id}) {
		return l, err
	}
	return blackboard.Listing{}, noRun(id)
}

// listing is that of a run in memory.
func (r *run) listing(ctx context.Context) (l blackboard.Listing, err error) {
	for rec, err := range r.e.Log(ctx, r.id, 0) {
		if err == nil {
			err = l.Add(rec)
		}
		if err != nil {
			return l, err
		}
	}
	if l.Run == "" {
		return l, noRun(r.id)
	}
	return l, nil
}

// Look implements engine.Driver.
func (e *Engine) Look(ctx context.Context, id string) (engine.View, error) {
	l, err := e.listing(ctx, id)
	if err != nil {
		return engine.View{}, err
	}
	v, err := e.view(ctx, l, map[string]bool{})
	if err != nil || v.Ended {
		return v, err
	}
	if r := e.run(id); r != nil && !r.over() {
		v.Questions = r.answers.waiting()
		return v, nil
	}
	states := map[string]string{}
	for rec, err := range e.asks(ctx, id, "") {
		if err != nil {
			return v, err
		}
		states[rec.Name] = blackboard.AskState(states[rec.Name], rec)
		v.Questions = slices.DeleteFunc(v.Questions, func(a engine.Ask) bool { return a.Key == rec.Name })
		if states[rec.Name] != blackboard.Asked {
			continue
		}
		var a engine.Ask
		if err := json.Unmarshal(rec.Data, &a); err != nil {
			return v, fmt.Errorf("log of run %q: record %d: %w: %w", id, rec.Seq, blackboard.ErrDamaged, err)
		}
		v.Questions = append(v.Questions, a)
	}
	return v, nil
}

// view adds to a listing what this engine knows of the run. alive has which engines
// are; it is filled in.
func (e *Engine) view(ctx context.Context, l blackboard.Listing, alive map[string]bool) (v engine.View, err error) {
	v = engine.View{Listing: l, Status: engine.Status(l.Status)}
	r := e.run(l.Run)
	switch {
	case l.Ended, l.Status == blackboard.Stuck:
	case r != nil && !r.over():
		v.Status = r.status()
	default:
		working, known := alive[l.Owner]
		if !known && e.owners != nil && l.Owner != e.id {
			if working, err = e.owners.Alive(ctx, l.Owner); err != nil {
				return v, err
			}
			alive[l.Owner] = working
		}
		v.Status = engine.Suspended
		if working {
			v.Status = engine.Running
		} else if e.program(l.Flow, l.Version) == nil && !e.cfg.Observe {
			v.Err = unregistered(l.Flow, l.Version).Error()
		}
	}
	return v, nil
}

// asks yields what the log says of questions.
func (e *Engine) asks(ctx context.Context, id, key string) iter.Seq2[blackboard.Record, error] {
	if e.inbox != nil {
		return func(yield func(blackboard.Record, error) bool) {
			for rec, err := range e.inbox.Asks(ctx, id, key) {
				if err == nil {
					err = e.expand(ctx, &rec)
				}
				if !yield(rec, err) || err != nil {
					return
				}
			}
		}
	}
	return func(yield func(blackboard.Record, error) bool) {
		for rec, err := range e.Log(ctx, id, 0) {
			switch rec.Kind {
			case blackboard.Asked, blackboard.Answered, blackboard.Expired, blackboard.Withdrawn:
				if key != "" && rec.Name != key {
					continue
				}
			default:
				if err == nil {
					continue
				}
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

// State implements engine.Stater.
func (e *Engine) State(ctx context.Context, id string) (json.RawMessage, error) {
	r := e.run(id)
	if r != nil && !r.over() {
		return r.exposed(ctx)
	}
	var end engine.End
	if r != nil && r.err == nil {
		end = r.end
	} else {
		l, err := e.listing(ctx, id)
		if err != nil {
			return nil, err
		}
		if !l.Ended {
			return nil, agent.ErrorOf(fmt.Errorf("%w: run %q is not running in this process", engine.ErrNoState, id))
		}
		if end, err = e.end(ctx, id); err != nil {
			return nil, err
		}
	}
	if end.State == nil {
		return nil, noState(id)
	}
	return end.State, nil
}

// exposed asks the flow for its state, between two of its steps.
func (r *run) exposed(ctx context.Context) (json.RawMessage, error) {
	type answer struct {
		data json.RawMessage
		err  error
	}
	got := make(chan answer, 1)
	ask := func() {
		r.flow.Lock()
		defer r.flow.Unlock()
		if r.state == nil {
			got <- answer{nil, noState(r.id)}
			return
		}
		data, err := r.state()
		got <- answer{data, err}
	}
	r.e.pool.do(jobFunc(ask)) // the flow may take long over a step
	select {
	case a := <-got:
		return a.data, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-r.e.life.Done():
		return nil, closedError()
	}
}

func noState(id string) error {
	return agent.ErrorOf(fmt.Errorf("%w: run %q", engine.ErrNoState, id))
}

// Log implements engine.Driver.
func (e *Engine) Log(ctx context.Context, id string, from int64) iter.Seq2[blackboard.Record, error] {
	from = max(from, 0)
	return func(yield func(blackboard.Record, error) bool) {
		if e.commit == nil {
			if r := e.run(id); r != nil {
				r.records.from(from, yield)
			}
			return
		}
		for rec, err := range e.cfg.Store.Records(ctx, id, from) {
			if err == nil {
				err = e.expand(ctx, &rec)
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// expand puts what is kept beside the log into rec.
func (e *Engine) expand(ctx context.Context, rec *blackboard.Record) (err error) {
	switch {
	case rec.Blob != "":
		rec.Data, err = e.blob(ctx, rec.Run, rec.Blob)
		rec.Blob = ""
	case (rec.Kind == blackboard.Started || rec.Kind == blackboard.Ended) && bytes.Contains(rec.Data, []byte(`"blob":`)):
		var d struct{ Blob string }
		if err = json.Unmarshal(rec.Data, &d); err == nil && d.Blob != "" {
			rec.Data, err = e.blob(ctx, rec.Run, d.Blob)
		}
	}
	return err
}

// blob is a value that is kept beside the log.
func (e *Engine) blob(ctx context.Context, id, hash string) ([]byte, error) {
	if e.blobs == nil {
		return nil, fmt.Errorf("log of run %q: %w: blob %s, and the store keeps none", id, blackboard.ErrDamaged, hash)
	}
	data, err := e.blobs.Blob(ctx, id, hash)
	if err != nil {
		return nil, fmt.Errorf("log of run %q: %w", id, err)
	}
	return data, nil
}

// Changed implements engine.Driver.
func (e *Engine) Changed(ctx context.Context, id string, from int64) error {
	return e.changed(ctx, id, from)
}

// changed blocks until the run has a record of Seq from or later, or has ended.
func (e *Engine) changed(ctx context.Context, id string, from int64) error {
	for {
		signal, poll := e.signal(id)
		l, err := e.listing(ctx, id)
		if err != nil || l.Ended || l.Next > from {
			return err
		}
		if e.isClosed() {
			return closedError()
		}
		if err := pause(ctx, signal, poll); err != nil {
			return err
		}
	}
}

// pause blocks until signal is closed, or for poll.
func pause(ctx context.Context, signal <-chan struct{}, poll time.Duration) error {
	again := time.NewTimer(poll)
	defer again.Stop()
	select {
	case <-signal:
	case <-again.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// signal is closed when the run changes here, or when the store says so. After poll it
// is time to look again: a run of another engine may change without a word.
func (e *Engine) signal(id string) (signal <-chan struct{}, poll time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := e.known[id]; r != nil && r.recorded {
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

// List implements engine.Driver.
func (e *Engine) List(ctx context.Context, q blackboard.Query) iter.Seq2[engine.View, error] {
	return func(yield func(engine.View, error) bool) {
		alive := map[string]bool{}
		for l, err := range e.listings(ctx, q) {
			var v engine.View
			if err == nil {
				v, err = e.view(ctx, l, alive)
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// listings yields what the store lists, or the runs in memory.
func (e *Engine) listings(ctx context.Context, q blackboard.Query) iter.Seq2[blackboard.Listing, error] {
	if e.commit != nil {
		return e.cfg.Store.List(ctx, q)
	}
	return func(yield func(blackboard.Listing, error) bool) {
		var all []blackboard.Listing
		for _, r := range e.all() {
			l, err := r.listing(ctx)
			if errors.Is(err, engine.ErrNoRun) {
				continue // it is just being started
			}
			if err != nil {
				yield(l, err)
				return
			}
			all = append(all, l)
		}
		slices.SortFunc(all, func(a, b blackboard.Listing) int {
			return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(a.Run, b.Run))
		})
		if q.After != "" {
			all = all[1+slices.IndexFunc(all, func(l blackboard.Listing) bool { return l.Run == q.After }):]
		}
		n := 0
		for _, l := range all {
			if !q.Selects(l) {
				continue
			}
			if n++; q.Limit > 0 && n > q.Limit || !yield(l, nil) {
				return
			}
		}
	}
}

// sortedNames are the names, each once, for messages.
func sortedNames(names []string) string {
	slices.SortFunc(names, cmp.Compare)
	return strings.Join(slices.Compact(names), ", ")
}
