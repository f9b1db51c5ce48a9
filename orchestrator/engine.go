package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/local"
)

// Config is what an engine in this process needs.
type Config struct {
	Agents   agent.Roster     // copied
	Flows    []AnyFlow        // what Resume can find; those that are only started need not be here
	Store    blackboard.Store // nil: in memory, nothing survives
	Log      *slog.Logger     // nil: silent
	Retry    Retry            // of transient errors
	Parallel int              // calls at once over all runs; 0: no limit

	// RecordRequests keeps what was asked, as blobs by the hash of each message, so
	// that the audit trail and a divergence can show it. It needs a Store that is
	// a blackboard.Blobs. Off: the log has hashes of requests alone.
	RecordRequests bool

	// AcceptChangedRequests lets a resumed run go on when the text of a recorded
	// request has changed (prompts were edited): the recorded answer is used and a
	// record says so. Off: ErrDiverged.
	AcceptChangedRequests bool
}

// Retry is how transient errors of agents are retried. Zero fields are the
// defaults: 4 attempts, from 1 s, at most 60 s.
type Retry = engine.Retry

// Engine carries out runs: here (NewLocal) or on another driver (NewEngine). Safe
// for concurrent use.
type Engine struct{ driver engine.Driver }

// NewLocal returns an engine in this process. All faults of c, agents that its
// flows miss included, are in the one error. It starts nothing.
//
// Without a Store it remembers the last 256 runs that ended.
func NewLocal(c Config) (*Engine, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	lc := local.Config{
		Agents: c.Agents, Store: c.Store, Log: c.Log, Retry: c.Retry, Parallel: c.Parallel,
		RecordRequests: c.RecordRequests, AcceptChanged: c.AcceptChangedRequests,
	}
	if lc.Log == nil {
		lc.Log = slog.New(slog.DiscardHandler)
	}
	for _, f := range c.Flows {
		lc.Programs = append(lc.Programs, f.Program())
	}
	return &Engine{local.New(lc)}, nil
}

// validate names every fault of c.
func (c Config) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("orchestrator: "+format, args...)) }
	for name, a := range c.Agents {
		if name == "" || a == nil {
			bad("Config.Agents: the agent %q has no name or is nil", name)
		}
	}
	known := map[[2]any]bool{}
	for i, f := range c.Flows {
		if f == nil {
			bad("Config.Flows[%d] is nil", i)
			continue
		}
		p := f.Program()
		if p.Name == "" {
			bad("Config.Flows[%d] has no Name", i)
		}
		if id := [2]any{p.Name, p.Version}; known[id] {
			bad("Config.Flows[%d]: flow %q version %d is there twice", i, p.Name, p.Version)
		} else {
			known[id] = true
		}
		for _, name := range p.Agents {
			if c.Agents[name] == nil {
				errs = append(errs, fmt.Errorf("orchestrator: flow %q: %w: %q", p.Name, ErrNoAgent, name))
			}
		}
	}
	if c.Parallel < 0 {
		bad("Config.Parallel is %d, want 0 or more", c.Parallel)
	}
	if c.Retry.Attempts < 0 || c.Retry.Initial < 0 || c.Retry.Max < 0 {
		bad("Config.Retry is %+v, want no negative field", c.Retry)
	}
	if _, ok := c.Store.(blackboard.Blobs); c.RecordRequests && !ok {
		bad("Config.RecordRequests needs a Store that is a blackboard.Blobs")
	}
	return errors.Join(errs...)
}

// NewEngine is for authors of engines.
func NewEngine(d engine.Driver) *Engine { return &Engine{d} }

// Resume goes on with every run of this engine's flows that nobody works on,
// and returns them; what could not be taken up is in the error, by run. From
// several processes it needs a store with leases; then the runs of a process that was
// killed are free when its lease has run out, after half a minute at the latest: a host
// that stays calls Resume again now and then.
func (e *Engine) Resume(ctx context.Context) ([]*Run, error) {
	ids, err := e.driver.Resume(ctx)
	runs := make([]*Run, len(ids))
	for i, id := range ids {
		runs[i] = &Run{e, id}
	}
	return runs, err
}

// Open returns the run of that ID, or ErrNoRun.
func (e *Engine) Open(ctx context.Context, id string) (*Run, error) {
	r := &Run{e, id}
	if _, err := r.start(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// Runs yields what is known of runs, newest first; open: only those that have not
// ended.
func (e *Engine) Runs(ctx context.Context, open bool) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		v, err := e.viewer()
		if err != nil {
			yield(Info{}, err)
			return
		}
		for ends, err := range v.Runs(ctx, open) {
			var info Info
			if err == nil {
				info, err = e.listed(ctx, ends)
			}
			if !yield(info, err) || err != nil {
				return
			}
		}
	}
}

// listed is the Info of a run by its first and last record, where that is enough.
func (e *Engine) listed(ctx context.Context, ends [2]blackboard.Record) (Info, error) {
	if ends[1].Kind != blackboard.Ended || ends[1].Blob != "" || ends[0].Blob != "" {
		return (&Run{e, ends[0].Run}).Info(ctx)
	}
	s := newSummary()
	for _, rec := range ends {
		if err := s.add(rec); err != nil {
			return Info{}, err
		}
	}
	return s.info(), nil
}

// Close stops all runs where they are, so that Resume can go on with them,
// waits for their agents until ctx is done, and leaves no goroutine. Nobody may
// start runs after it.
func (e *Engine) Close(ctx context.Context) error { return e.driver.Close(ctx) }

func (e *Engine) viewer() (engine.Viewer, error) {
	if v, ok := e.driver.(engine.Viewer); ok {
		return v, nil
	}
	return nil, errors.New("orchestrator: this engine does not show runs")
}
