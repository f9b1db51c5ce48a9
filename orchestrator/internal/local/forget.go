package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// usageOf is what the call used that rec is of.
func usageOf(rec *blackboard.Record) providers.Usage {
	switch rec.Kind {
	case blackboard.Called:
		var d engine.CalledData
		if json.Unmarshal(rec.Data, &d) == nil {
			return d.Usage()
		}
	case blackboard.Used:
		var d engine.UsedData
		if json.Unmarshal(rec.Data, &d) == nil {
			return d.Usage
		}
	}
	return providers.Usage{}
}

// retry executes the flow of a stuck run again.
func (e *Engine) retry(ctx context.Context, id string) error {
	l, err := e.listing(ctx, id)
	if err != nil {
		return err
	}
	if l.Status != blackboard.Stuck {
		return agent.ErrorOf(fmt.Errorf("%w: run %q is %s, not stuck", engine.ErrMalformed, id, l.Status))
	}
	ids, err := e.family(ctx, id)
	if err != nil {
		return err
	}
	e.mu.Lock()
	p := e.tried[id]
	for _, id := range ids {
		delete(e.tried, id)
	}
	e.mu.Unlock()
	_, err = e.resume(ctx, l, p)
	return err
}

// cancelStuck ends a stuck run, and stuck runs inside of it, without executing their
// flows. It tells whether the run was stuck.
func (e *Engine) cancelStuck(ctx context.Context, id string, reason json.RawMessage) (bool, error) {
	l, err := e.listing(ctx, id)
	if err != nil || l.Status != blackboard.Stuck {
		return false, err
	}
	if r := e.run(id); r != nil { // it stops just now, or it is retried
		if err := r.waitLive(ctx); err != nil {
			return true, err
		}
		if l, err = e.listing(ctx, id); err != nil || l.Status != blackboard.Stuck {
			return false, err
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			return true, context.Cause(ctx)
		}
	}
	return true, e.endStuck(ctx, id, reason)
}

// endStuck ends a run that is stuck, or whose parent is.
func (e *Engine) endStuck(ctx context.Context, id string, reason json.RawMessage) error {
	for l, err := range e.listings(ctx, blackboard.Query{Parent: id, Open: true}) {
		if err != nil {
			return err
		}
		if child := e.run(l.Run); child != nil {
			<-child.done // it was stopped with its parent
		}
		if err := e.endStuck(ctx, l.Run, reason); err != nil {
			return err
		}
	}
	l, err := e.listing(ctx, id)
	if err != nil || l.Ended {
		return err
	}
	end := engine.End{Status: engine.Canceled, Err: engine.CanceledBy(reason).Err}
	for rec, err := range e.Log(ctx, id, 0) {
		if err != nil {
			return err
		}
		end.Spent = end.Spent.Add(usageOf(&rec))
	}
	r := newRun(e, id, &engine.Program{Name: l.Flow, Version: l.Version})
	if other := e.run(id); other != nil {
		r.records = other.records
		r.records.stopped.Store(false)
	} else {
		r.records.seq = l.Next
	}
	if err := r.writeSync(ctx, answerRecord("", reason)); err != nil {
		return err
	}
	err = r.writeSync(ctx, &record{Record: blackboard.Record{Kind: blackboard.Ended, Name: l.Flow}, data: engine.EndedData{End: end}})
	if other := e.run(id); other != nil && err == nil {
		e.replaceEnded(other, end)
	}
	e.mu.Lock()
	delete(e.stopped, id)
	e.mu.Unlock()
	return err
}

// replaceEnded makes a run in memory that was stuck one that has ended.
func (e *Engine) replaceEnded(old *run, end engine.End) {
	r := newRun(e, old.id, old.prog)
	r.in, r.records, r.end, r.recorded, r.isOver = old.in, old.records, end, true, true
	close(r.started)
	close(r.done)
	e.mu.Lock()
	e.known[r.id] = r
	e.mu.Unlock()
}

// family is a run with all runs inside of it, the outermost first.
func (e *Engine) family(ctx context.Context, id string) ([]string, error) {
	ids := []string{id}
	for i := 0; i < len(ids); i++ {
		for l, err := range e.listings(ctx, blackboard.Query{Parent: ids[i]}) {
			if err != nil {
				return nil, err
			}
			ids = append(ids, l.Run)
		}
	}
	return ids, nil
}

// Delete implements engine.Deleter.
func (e *Engine) Delete(ctx context.Context, id string) error {
	ids, err := e.family(ctx, id)
	if err != nil {
		return err
	}
	for _, id := range ids {
		l, err := e.listing(ctx, id)
		if errors.Is(err, engine.ErrNoRun) {
			continue
		}
		if err != nil {
			return err
		}
		if r := e.run(id); r != nil && !r.over() {
			return running(id, "this engine")
		}
		if l.Ended {
			continue
		}
		if free, err := e.free(ctx, worker(&l)); !free {
			return errors.Join(running(id, fmt.Sprintf("engine %q", l.Owner)), err)
		}
	}
	return e.forget(ctx, ids)
}

func running(id, where string) error {
	return agent.ErrorOf(fmt.Errorf("%w: %s works on run %q: cancel it first", engine.ErrRunning, where, id))
}

// forget deletes runs that are not worked on.
func (e *Engine) forget(ctx context.Context, ids []string) error {
	if e.commit != nil {
		d, ok := e.cfg.Store.(blackboard.Deleter)
		if !ok {
			return errors.New("the store cannot delete runs: it is no blackboard.Deleter")
		}
		if err := d.Delete(ctx, ids...); err != nil {
			return err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range ids {
		delete(e.known, id)
		delete(e.stopped, id)
		delete(e.tried, id)
	}
	return nil
}

// pruneBatch is how many runs are deleted at once, so that others need not wait for
// long.
const pruneBatch = 100

// Prune implements engine.Deleter.
func (e *Engine) Prune(ctx context.Context, q blackboard.Query) (int, error) {
	var batch []string
	pruned, roots := 0, 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := e.forget(ctx, batch)
		if err == nil {
			pruned += len(batch)
		}
		batch = nil
		return err
	}
	limit := q.Limit
	q.Limit, q.Open = 0, false
	for l, err := range e.listings(ctx, q) {
		if err != nil {
			return pruned, err
		}
		if !l.Ended || l.Parent != "" {
			continue // a child goes with its parent
		}
		ids, err := e.family(ctx, l.Run)
		if err != nil {
			return pruned, err
		}
		batch = append(batch, ids...)
		roots++
		if limit > 0 && roots >= limit {
			break
		}
		if len(batch) >= pruneBatch {
			if err := flush(); err != nil {
				return pruned, err
			}
		}
	}
	return pruned, flush()
}
