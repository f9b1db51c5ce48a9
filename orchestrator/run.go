package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// Run is one run, by its ID, whatever its types: for handlers and tools. It
// holds nothing; any number may exist for one run.
type Run struct {
	engine *Engine
	id     string
}

// ID is the run's ID.
func (r *Run) ID() string { return r.id }

// Wait waits until the run has ended, stops here (ErrStopped, or why it stopped),
// or ctx is done. It returns nil if the run ended, however it did.
func (r *Run) Wait(ctx context.Context) error {
	_, err := r.engine.driver.Wait(ctx, r.id)
	return err
}

// Info tells where the run is and what it has used.
func (r *Run) Info(ctx context.Context) (Info, error) {
	v, err := r.engine.viewer()
	if err != nil {
		return Info{}, err
	}
	s := newSummary()
	for rec, err := range v.Log(ctx, r.id, 0) {
		if err == nil {
			err = s.add(rec)
		}
		if err != nil {
			return Info{}, err
		}
	}
	info := s.info()
	if info.Status != "" {
		return info, nil
	}
	info.Status, err = v.Status(ctx, r.id)
	return info, err
}

// start is what the first record tells, or ErrNoRun.
func (r *Run) start(ctx context.Context) (Info, error) {
	v, err := r.engine.viewer()
	if err != nil {
		return Info{}, err
	}
	s := newSummary()
	for rec, err := range v.Log(ctx, r.id, 0) {
		if err != nil {
			return Info{}, err
		}
		err := s.add(rec)
		return s.info(), err
	}
	return Info{}, agent.ErrorOf(fmt.Errorf("%w: %q", ErrNoRun, shorten(r.id)))
}

// State decodes into v what the flow exposes now, or at its end; ErrNoState if it
// exposes nothing, or if the run goes on in another process or in none.
func (r *Run) State(ctx context.Context, v any) error {
	view, err := r.engine.viewer()
	if err != nil {
		return err
	}
	data, err := view.State(ctx, r.id)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// Events yields the run's records from Seq from on and then each new one, until
// the run has ended or ctx is done (not an error). A reader may be as slow as it
// likes; leaving the loop frees everything. Records hold the answers of models:
// filter them before they go to a browser.
func (r *Run) Events(ctx context.Context, from int64) iter.Seq2[blackboard.Record, error] {
	return func(yield func(blackboard.Record, error) bool) {
		v, err := r.engine.viewer()
		for next := max(from, 0); err == nil; {
			for rec, err := range v.Log(ctx, r.id, next) {
				if err != nil {
					if ctx.Err() == nil {
						yield(rec, err)
					}
					return
				}
				next = rec.Seq + 1
				if !yield(rec, nil) || rec.Kind == blackboard.Ended {
					return
				}
			}
			err = v.Changed(ctx, r.id, next)
		}
		if ctx.Err() == nil {
			yield(blackboard.Record{}, err)
		}
	}
}

// Progress yields what the agents of the run and of its children tell of their work
// from now on: texts as they are written, turns, uses of tools. It is off the
// record, and so for the eye alone: what is worth keeping is in Events. It ends
// when the run has ended or stopped, or ctx is done (not an error). A slow reader
// holds nothing up and misses some. A run that this process does not work on is
// ErrStopped.
func (r *Run) Progress(ctx context.Context) iter.Seq2[agent.Progress, error] {
	if w, ok := r.engine.driver.(engine.Watcher); ok {
		return w.Watch(ctx, r.id)
	}
	return func(yield func(agent.Progress, error) bool) {
		yield(agent.Progress{}, errors.New("orchestrator: this engine does not show progress"))
	}
}

// Answer answers a question of the run, wherever it runs. The first answer
// counts: a later one is ErrAnswered. One that is not of the wanted type is
// ErrMalformed, and the question stays open.
func (r *Run) Answer(ctx context.Context, key string, value any) error {
	if key == "" {
		return agent.ErrorOf(fmt.Errorf("%w: the key of the question is empty", ErrMalformed))
	}
	data, err := engine.Encode(value)
	if err != nil {
		return agent.ErrorOf(fmt.Errorf("%w: answer to the question %q: %w", ErrMalformed, key, err))
	}
	if _, err := r.start(ctx); err != nil {
		return err
	}
	schema, err := r.wanted(ctx, key)
	if err != nil {
		return err
	}
	if schema != nil {
		shape, err := answer.FromSchema(schema)
		if err != nil {
			return err
		}
		if _, err := shape.Check(data); err != nil {
			return agent.ErrorOf(fmt.Errorf("%w: answer to the question %q: %w", ErrMalformed, key, err))
		}
	}
	return r.engine.driver.Tell(ctx, r.id, engine.Command{Key: key, Data: data})
}

// wanted is the schema of the answer to an open question; nil: it is not asked.
func (r *Run) wanted(ctx context.Context, key string) (json.RawMessage, error) {
	v, err := r.engine.viewer()
	if err != nil {
		return nil, err
	}
	s := newSummary()
	for rec, err := range v.Log(ctx, r.id, 0) {
		if err == nil {
			err = s.add(rec)
		}
		if err != nil {
			return nil, err
		}
	}
	i := slices.IndexFunc(s.open, func(a engine.Ask) bool { return a.Key == key })
	if i < 0 {
		return nil, nil
	}
	return s.open[i].Schema, nil
}

// Cancel ends the run for good: every effect returns ErrCanceled, the flow
// returns what it has. It does not wait. Canceling a run that has ended is no
// error.
func (r *Run) Cancel(ctx context.Context, why string) error {
	err := r.engine.driver.Tell(ctx, r.id, engine.Command{Data: agent.JSON(why)})
	if errors.Is(err, ErrAnswered) {
		return nil
	}
	return err
}
