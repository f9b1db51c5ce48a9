package local

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// Wait implements engine.Driver.
func (e *Engine) Wait(ctx context.Context, id string) (engine.End, error) {
	for {
		if r := e.run(id); r != nil {
			select {
			case <-r.done:
				return r.end, r.err
			case <-ctx.Done():
				return engine.End{}, context.Cause(ctx)
			}
		}
		if err := e.whyStopped(id); err != nil {
			return engine.End{}, err
		}
		last, err := e.lastRecord(ctx, id)
		if err != nil {
			return engine.End{}, err
		}
		if last.Kind == blackboard.Ended {
			var end engine.End
			if err := json.Unmarshal(last.Data, &end); err != nil {
				return end, fmt.Errorf("log of run %q: last record: %w", id, err)
			}
			return end, nil
		}
		if err := e.Changed(ctx, id, last.Seq+1); err != nil {
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

// lastRecord reads the log of a run to its end.
func (e *Engine) lastRecord(ctx context.Context, id string) (last blackboard.Record, err error) {
	for rec, err := range e.Log(ctx, id, 0) {
		if err != nil {
			return last, err
		}
		last = rec
	}
	if last.Kind == "" {
		return last, agent.ErrorOf(fmt.Errorf("%w: %q", engine.ErrNoRun, id))
	}
	return last, nil
}

// Status implements engine.Viewer.
func (e *Engine) Status(ctx context.Context, id string) (engine.Status, error) {
	if r := e.run(id); r != nil {
		return r.status(), nil
	}
	last, err := e.lastRecord(ctx, id)
	if err != nil {
		return "", err
	}
	if last.Kind != blackboard.Ended {
		return engine.Suspended, nil
	}
	var end engine.End
	err = json.Unmarshal(last.Data, &end)
	return end.Status, err
}

func (r *run) status() engine.Status {
	switch {
	case r.over() && r.err == nil:
		return r.end.Status
	case r.over():
		return engine.Suspended
	case r.busy.Load() == 0 && r.waiting.Load() > 0:
		return engine.Waiting
	}
	return engine.Running
}

// State implements engine.Viewer.
func (e *Engine) State(ctx context.Context, id string) (json.RawMessage, error) {
	r := e.run(id)
	if r != nil && !r.over() {
		return r.exposed()
	}
	var end engine.End
	if r != nil && r.err == nil {
		end = r.end
	} else {
		last, err := e.lastRecord(ctx, id)
		if err != nil {
			return nil, err
		}
		if last.Kind != blackboard.Ended {
			return nil, agent.ErrorOf(fmt.Errorf("%w: run %q is not worked on here", engine.ErrNoState, id))
		}
		if err := json.Unmarshal(last.Data, &end); err != nil {
			return nil, err
		}
	}
	if end.State == nil {
		return nil, noState(id)
	}
	return end.State, nil
}

// exposed asks the flow for its state, between two of its steps.
func (r *run) exposed() (json.RawMessage, error) {
	r.flow.Lock()
	defer r.flow.Unlock()
	if r.state == nil {
		return nil, noState(r.id)
	}
	return r.state()
}

func noState(id string) error {
	return agent.ErrorOf(fmt.Errorf("%w: run %q", engine.ErrNoState, id))
}

// Log implements engine.Viewer.
func (e *Engine) Log(ctx context.Context, id string, from int64) iter.Seq2[blackboard.Record, error] {
	from = max(from, 0)
	return func(yield func(blackboard.Record, error) bool) {
		if e.commits == nil {
			if r := e.run(id); r != nil {
				r.records.from(from, yield)
			}
			return
		}
		for rec, err := range e.cfg.Store.Records(ctx, id, from) {
			if err == nil && rec.Blob != "" {
				rec, err = e.expand(ctx, rec)
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// expand fetches the Data of rec that is kept beside the log.
func (e *Engine) expand(ctx context.Context, rec blackboard.Record) (blackboard.Record, error) {
	if e.blobs == nil {
		return rec, fmt.Errorf("log of run %q: record %d: its data is a blob, and the store keeps none", rec.Run, rec.Seq)
	}
	data, err := e.blobs.Blob(ctx, rec.Run, rec.Blob)
	if err != nil {
		return rec, fmt.Errorf("log of run %q: record %d: %w", rec.Run, rec.Seq, err)
	}
	rec.Data, rec.Blob = data, ""
	return rec, nil
}

// Changed implements engine.Viewer.
func (e *Engine) Changed(ctx context.Context, id string, from int64) error {
	for {
		var signal <-chan struct{}
		if r := e.run(id); r != nil {
			signal = r.records.watch()
		}
		for _, err := range e.Log(ctx, id, from) {
			return err
		}
		if e.isClosed() {
			return stoppedByClose()
		}
		wait := time.NewTimer(look)
		if signal != nil {
			wait.Stop()
		}
		select {
		case <-signal:
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return context.Cause(ctx)
		}
	}
}

func (e *Engine) isClosed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

// Runs implements engine.Viewer.
func (e *Engine) Runs(ctx context.Context, open bool) iter.Seq2[[2]blackboard.Record, error] {
	if e.commits != nil {
		return e.cfg.Store.Runs(ctx, open)
	}
	return func(yield func([2]blackboard.Record, error) bool) {
		for _, r := range e.newestFirst() {
			var ends [2]blackboard.Record
			for rec, err := range e.Log(ctx, r.id, 0) {
				if err != nil {
					yield(ends, err)
					return
				}
				if ends[0].Kind == "" {
					ends[0] = rec
				}
				ends[1] = rec
			}
			if ends[0].Kind == "" || open && ends[1].Kind == blackboard.Ended {
				continue
			}
			if !yield(ends, nil) {
				return
			}
		}
	}
}

// newestFirst are the runs in memory.
func (e *Engine) newestFirst() []*run {
	e.mu.Lock()
	defer e.mu.Unlock()
	runs := slices.Collect(maps.Values(e.runs))
	slices.SortFunc(runs, func(a, b *run) int { return cmp.Or(b.begunAt.Compare(a.begunAt), cmp.Compare(a.id, b.id)) })
	return runs
}
