package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/journal"
)

// Host is the engine that a Fleet belongs to.
type Host interface { //nolint:interfacebloat // each is one question, and there is one host
	// Owns reports whether this engine works on the run, with a channel that is closed
	// when the run changes.
	Owns(run string) (changed <-chan struct{}, owns bool)

	// Letters has the letters to a run put on record; run "": those to all runs.
	Letters(ctx context.Context, run string)

	// Abandoned are the runs that this engine stopped because its store failed.
	Abandoned() []string

	// TakeUp resumes a run that no engine works on.
	TakeUp(ctx context.Context, l *runlog.Listing)

	// Fenced stops those runs here that this engine owns no more.
	Fenced(ctx context.Context)

	// Reply replies to a request for a run that this engine works on.
	Reply(ctx context.Context, q Request, limit time.Duration) (Reply, error)
}

// Request is what an engine asks the one that works on a run.
type Request struct {
	Run    string `json:"run"`              // ID of the run
	Reader string `json:"reader,omitempty"` // name of the reader that wants what agents report; "": the state is wanted
	Began  bool   `json:"-"`                // there was a reply for Reader
}

// Reply is what it gets.
type Reply struct {
	State    json.RawMessage  `json:"state,omitempty"`    // state that the flow exposes; nil: none
	Progress []agent.Progress `json:"progress,omitempty"` // reports that Reader has not read; nil: none
	Gone     bool             `json:"gone,omitempty"`     // the engine works on the run no more
	Over     bool             `json:"-"`                  // the run has ended or is stuck
	Err      *agent.Error     `json:"error,omitempty"`    // why there is no reply; nil: this is one
}

// Storage is where the runs of a fleet are kept.
type Storage = journal.Storage

// claims decides about runs.
type claims struct {
	id       string // name of this engine
	programs []*engine.Program
	serves   map[string]string
	store    *Storage
}

// face is the store itself, which may have optional faces.
func (k *claims) face() runlog.Store { return k.store.Store }

// listing is what a list shows of a run, or ErrNoRun.
func (k *claims) listing(ctx context.Context, id string) (runlog.Listing, error) {
	return k.store.Listing(ctx, id)
}

// end is how a run of that listing ended.
func (k *claims) end(ctx context.Context, l *runlog.Listing) (d engine.EndedData, err error) {
	err = k.store.Read(ctx, l.Run, l.Next-1, &d)
	return d, err
}

// Wish is what an engine wants a run for.
type Wish struct {
	Program *engine.Program // flow to resume the run with; nil: the engine's own
	Inside  string          // run of this engine that the run is a child of; "": it is resumed by itself
	Tried   bool            // the run got stuck here, and nobody asks for another try
	Alive   Census          // engines that are known to live or not, filled in; nil: none are
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
func (k *claims) Claim(ctx context.Context, l *runlog.Listing, w Wish) (c Claim, err error) {
	c.Over = l.Ended || l.Status == runlog.Stuck && w.Tried
	c.Program, c.Unfit = k.fits(l, w.Program)
	c.Foreign = c.Unfit != nil && (k.Serve(l.Run, l.Labels) != nil || !slices.ContainsFunc(k.programs, func(p *engine.Program) bool { return p.Name == l.Flow }))
	if c.Over || l.Status == runlog.Stuck || l.Owner == "" || l.Owner == k.id {
		return c, nil
	}
	held, known := w.Alive[l.Owner]
	if !known {
		if held, err = k.store.Alive(ctx, l.Owner); err == nil && w.Alive != nil {
			w.Alive[l.Owner] = held
		}
	}
	if held && w.Inside != "" {
		held, err = k.Lost(ctx, w.Inside)
	}
	if held {
		c.Holder = l.Owner
	}
	return c, err
}

// fits returns the flow with which this engine can resume a run: p if that is it. unfit
// says why it cannot.
func (k *claims) fits(l *runlog.Listing, p *engine.Program) (fit *engine.Program, unfit error) {
	if err := k.Serve(l.Run, l.Labels); err != nil {
		return nil, err
	}
	for _, q := range append([]*engine.Program{p}, k.programs...) {
		if q != nil && q.Name == l.Flow && q.Version == l.Version {
			return q, nil
		}
	}
	return nil, agent.ErrorOf(fmt.Errorf("%w: %w: version %d of flow %q is not registered", engine.ErrDiverged, engine.ErrNoFlow, l.Version, l.Flow))
}

// Serve returns ErrNotServed, naming the label of a run that this engine does not serve,
// or nil.
func (k *claims) Serve(id string, labels map[string]string) error {
	for name, want := range k.serves {
		if have, ok := labels[name]; ok && have != want {
			return agent.ErrorOf(fmt.Errorf("%w: run %q has the label %q: %q, and Config.Fleet.Serves has %q", engine.ErrNotServed, id, name, have, want))
		}
	}
	return nil
}

// Lost reports whether another engine has resumed a run that this one works on.
func (k *claims) Lost(ctx context.Context, id string) (bool, error) {
	l, err := k.listing(ctx, id)
	return l.Owner != k.id, err
}

// family is a run with all runs inside of it, the outermost first. open reports whether
// one inside may still be worked on.
func (k *claims) family(ctx context.Context, id string) (ids []string, open bool, err error) {
	ids = []string{id}
	for i := 0; i < len(ids); i++ {
		for l, err := range k.store.List(ctx, runlog.Query{Parent: ids[i]}) {
			if err != nil {
				return nil, false, err
			}
			ids = append(ids, l.Run)
			open = open || !l.Ended && l.Status != runlog.Stuck
		}
	}
	return ids, open, nil
}

// Delete deletes a run with all runs inside of it, and returns their IDs. A run that an
// engine works on is ErrRunning. owns reports whether this engine works on a run.
func (k *claims) Delete(ctx context.Context, id string, owns func(string) bool) ([]string, error) {
	ids, _, err := k.family(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		l, err := k.listing(ctx, id)
		holder := ""
		if owns(id) {
			holder = "this one"
		} else if err == nil {
			var c Claim
			c, err = k.Claim(ctx, &l, Wish{})
			holder = c.Holder
		}
		switch {
		case holder != "":
			return nil, agent.ErrorOf(fmt.Errorf("%w: engine %q works on run %q: cancel it first", engine.ErrRunning, holder, id))
		case err != nil && !errors.Is(err, engine.ErrNoRun):
			return nil, err
		}
	}
	return ids, k.store.Delete(ctx, ids...)
}

// pruneBatch is how many runs, with their children, are deleted at once, so that others
// need not wait for long.
const pruneBatch = 50

// Prune deletes the ended runs that q selects, with all runs inside of them, and yields
// their IDs to gone. One that has an open run inside of it stays.
func (k *claims) Prune(ctx context.Context, q runlog.Query, gone func(ids []string)) error {
	var families [][]string
	limit := q.Limit
	q.Limit, q.Open = 0, false
	for l, err := range k.store.List(ctx, q) {
		if err != nil {
			return err
		}
		if !l.Ended || l.Parent != "" {
			continue // a child goes with its parent
		}
		ids, open, err := k.family(ctx, l.Run)
		if err != nil {
			return err
		}
		if open {
			continue
		}
		if families = append(families, ids); limit > 0 && len(families) >= limit {
			break
		}
	}
	for batch := range slices.Chunk(families, pruneBatch) {
		ids := slices.Concat(batch...)
		if err := k.store.Delete(ctx, ids...); err != nil {
			return err
		}
		gone(ids)
	}
	return nil
}
