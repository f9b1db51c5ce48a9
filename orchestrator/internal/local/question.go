package local

import (
	"context"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/engine"
)

// Question implements engine.Asker.
func (e *Engine) Question(ctx context.Context, id, key string) (q engine.Ask, open bool, err error) {
	r := e.run(id) // first, as it may end meanwhile
	l, err := e.store.listing(ctx, id)
	if err != nil || l.Ended {
		return q, false, err
	}
	var known *asks
	if r != nil && !r.over() {
		known = &r.asks
	} else if known, err = e.logged(ctx, id, key); err != nil {
		return q, false, err
	}
	rec := known.of(key)
	if rec.Kind != runlog.Asked {
		return q, false, nil
	}
	err = decode(&rec, &q)
	return q, err == nil, err
}
