package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/journal"
)

// Config is what a Fleet needs. Leases are as orchestrator.Leases has them.
type Config struct {
	ID       string // name of this engine as the owner of runs
	Programs []*engine.Program
	Serves   map[string]string // labels that runs must not contradict
	Lease    time.Duration     // time after which a silent engine is dead
	Poll     time.Duration     // how often the store is asked for letters and free runs

	Store *journal.Storage
	Log   *slog.Logger
	Do    func(func()) // starts a goroutine of the engine

	Life context.Context //nolint:containedctx // ends when the engine is closed and has waited long enough
	Open context.Context //nolint:containedctx // ends when the engine's Close begins
}

// Closed is the error of what a closed engine does not do.
func (Config) Closed() error { return journal.Closed() }

// Wish is what an engine wants a run for.
type Wish struct {
	Program *engine.Program // flow to resume the run with; nil: the engine's own
	Inside  string          // run of this engine that the run is a child of; "": it is resumed by itself
	Tried   bool            // the run got stuck here, and nobody asks for another try
	Alive   Census          // what is known of engines, filled in; nil: nothing
}

// Census says which engines are alive, by name.
type Census map[string]bool

// Claim is the answer to the question whether this engine may work on a run. It may, if
// Over is false, Holder is empty and Unfit is nil.
type Claim struct {
	Program *engine.Program // flow to resume the run with; nil with Unfit
	Over    bool            // the run has ended, or is stuck and was tried
	Holder  string          // engine that is alive and works on the run; "": none
	Unfit   error           // why this engine leaves the run to others; nil: it does not
	Foreign bool            // Unfit, and no version of the flow or other labels would help
}

// Claim decides whether this engine may work on the run that l lists. Nothing else does.
func (f *Fleet) Claim(ctx context.Context, l *runlog.Listing, w Wish) (c Claim, err error) {
	c.Over = l.Ended || l.Status == runlog.Stuck && w.Tried
	c.Program, c.Unfit = f.fits(l, w.Program)
	c.Foreign = f.Serve(l.Run, l.Labels) != nil || !slices.ContainsFunc(f.Programs, func(p *engine.Program) bool { return p.Name == l.Flow })
	if c.Over || l.Status == runlog.Stuck || l.Owner == "" || l.Owner == f.ID {
		return c, nil
	}
	held, known := w.Alive[l.Owner]
	if !known {
		if held, err = f.Store.Alive(ctx, l.Owner); err == nil && w.Alive != nil {
			w.Alive[l.Owner] = held
		}
	}
	if held && w.Inside != "" {
		held, err = f.Lost(ctx, w.Inside)
	}
	if held {
		c.Holder = l.Owner
	}
	return c, err
}

// fits returns the flow with which this engine can resume a run: p if that is it. unfit
// says why it cannot.
func (f *Fleet) fits(l *runlog.Listing, p *engine.Program) (fit *engine.Program, unfit error) {
	if err := f.Serve(l.Run, l.Labels); err != nil {
		return nil, err
	}
	for _, q := range append([]*engine.Program{p}, f.Programs...) {
		if q != nil && q.Name == l.Flow && q.Version == l.Version {
			return q, nil
		}
	}
	return nil, agent.ErrorOf(fmt.Errorf("%w: %w: version %d of flow %q is not registered", engine.ErrDiverged, engine.ErrNoFlow, l.Version, l.Flow))
}

// Serve returns ErrNotServed, naming the label of a run that this engine does not serve,
// or nil.
func (c *Config) Serve(id string, labels map[string]string) error {
	for name, want := range c.Serves {
		if have, ok := labels[name]; ok && have != want {
			return agent.ErrorOf(fmt.Errorf("%w: run %q has the label %q: %q, and Config.Serves has %q", engine.ErrNotServed, id, name, have, want))
		}
	}
	return nil
}

// Lost reports whether another engine has resumed a run that this one works on.
func (f *Fleet) Lost(ctx context.Context, id string) (bool, error) {
	l, err := f.Store.Listing(ctx, id)
	return l.Owner != f.ID, err
}

// family is a run with all runs inside of it, the outermost first.
func (f *Fleet) family(ctx context.Context, id string) ([]string, error) {
	ids := []string{id}
	for i := 0; i < len(ids); i++ {
		for l, err := range f.Store.List(ctx, runlog.Query{Parent: ids[i]}) {
			if err != nil {
				return nil, err
			}
			ids = append(ids, l.Run)
		}
	}
	return ids, nil
}

// Delete deletes a run with all runs inside of it, and returns their IDs. A run that an
// engine works on is ErrRunning. owns reports whether this engine works on a run.
func (f *Fleet) Delete(ctx context.Context, id string, owns func(string) bool) ([]string, error) {
	ids, err := f.family(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		l, err := f.Store.Listing(ctx, id)
		holder := ""
		if owns(id) {
			holder = "this one"
		} else if err == nil {
			var c Claim
			c, err = f.Claim(ctx, &l, Wish{})
			holder = c.Holder
		}
		switch {
		case holder != "":
			return nil, agent.ErrorOf(fmt.Errorf("%w: engine %q works on run %q: cancel it first", engine.ErrRunning, holder, id))
		case err != nil && !errors.Is(err, engine.ErrNoRun):
			return nil, err
		}
	}
	return ids, f.Store.Delete(ctx, ids...)
}

// pruneBatch is how many runs, with their children, are deleted at once, so that others
// need not wait for long.
const pruneBatch = 50

// Prune deletes the ended runs that q selects, with all runs inside of them, and yields
// their IDs to gone.
func (f *Fleet) Prune(ctx context.Context, q runlog.Query, gone func(ids []string)) error {
	var families [][]string
	limit := q.Limit
	q.Limit, q.Open = 0, false
	for l, err := range f.Store.List(ctx, q) {
		if err != nil {
			return err
		}
		if !l.Ended || l.Parent != "" {
			continue // a child goes with its parent
		}
		ids, err := f.family(ctx, l.Run)
		if err != nil {
			return err
		}
		if families = append(families, ids); limit > 0 && len(families) >= limit {
			break
		}
	}
	for batch := range slices.Chunk(families, pruneBatch) {
		ids := slices.Concat(batch...)
		if err := f.Store.Delete(ctx, ids...); err != nil {
			return err
		}
		gone(ids)
	}
	return nil
}
