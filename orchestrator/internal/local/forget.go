package local

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// family is a run with all runs inside of it, the outermost first.
func (e *Engine) family(ctx context.Context, id string) ([]string, error) {
	ids := []string{id}
	for i := 0; i < len(ids); i++ {
		for l, err := range e.store.List(ctx, runlog.Query{Parent: ids[i]}) {
			if err != nil {
				return nil, err
			}
			ids = append(ids, l.Run)
		}
	}
	return ids, nil
}

// Delete implements engine.Driver.
func (e *Engine) Delete(ctx context.Context, id string) error {
	ids, err := e.family(ctx, id)
	if err != nil {
		return err
	}
	for _, id := range ids {
		l, err := e.store.listing(ctx, id)
		owner, held := "this one", e.run(id) != nil
		if err == nil && !held && !l.Ended {
			owner = l.Owner
			held, err = e.held(ctx, &l, nil)
		}
		switch {
		case held:
			return agent.ErrorOf(fmt.Errorf("%w: engine %q works on run %q: cancel it first", engine.ErrRunning, owner, id))
		case err != nil && !errors.Is(err, engine.ErrNoRun):
			return err
		}
	}
	return e.forget(ctx, ids...)
}

// forget deletes runs that are not worked on.
func (e *Engine) forget(ctx context.Context, ids ...string) error {
	if err := e.store.Delete(ctx, ids...); err != nil {
		return err
	}
	for _, id := range ids {
		e.unstop(id)
	}
	return nil
}

// unstop forgets why a run stopped here, and returns its flow.
func (e *Engine) unstop(id string) *engine.Program {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.stopped[id].prog
	delete(e.stopped, id)
	return p
}

// pruneBatch is how many runs, with their children, are deleted at once, so that
// others need not wait for long.
const pruneBatch = 50

// Prune implements engine.Driver.
func (e *Engine) Prune(ctx context.Context, q runlog.Query) (pruned int, err error) {
	var families [][]string
	limit := q.Limit
	q.Limit, q.Open = 0, false
	for l, err := range e.store.List(ctx, q) {
		if err != nil {
			return 0, err
		}
		if !l.Ended || l.Parent != "" {
			continue // a child goes with its parent
		}
		ids, err := e.family(ctx, l.Run)
		if err != nil {
			return 0, err
		}
		if families = append(families, ids); limit > 0 && len(families) >= limit {
			break
		}
	}
	for batch := range slices.Chunk(families, pruneBatch) {
		ids := slices.Concat(batch...)
		if err := e.forget(ctx, ids...); err != nil {
			return pruned, err
		}
		pruned += len(ids)
	}
	return pruned, nil
}
