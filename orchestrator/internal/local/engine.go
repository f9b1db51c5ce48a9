// Package local is the engine in this process. It keeps runs in memory, or in a
// store, from which they are resumed after a restart.
//
// Three things happen to a run, each in files of its own: it is driven (drive.go,
// port.go, perform.go), it is replayed from its log (resume.go, with
// engine.Replay), and what it does is committed (record.go, commit.go).
package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// Config is what an Engine needs. It is taken as valid, with defaults filled in.
type Config struct {
	Agents         agent.Roster
	Programs       []*engine.Program
	Store          runlog.Store // nil: in memory
	Log            *slog.Logger // never nil
	Retry          engine.Retry
	Parallel       int // calls at once; 0: no limit
	RecordRequests bool
	AcceptChanged  bool
	Observe        bool              // look, answer and cancel alone
	Serves         map[string]string // labels that runs must not contradict
	Lease          time.Duration     // an engine that has been silent for so long is dead
	Poll           time.Duration     // how often the store is asked for letters and free runs
	Outage         time.Duration     // how long the store may fail before runs are suspended
}

// Engine is an engine.Driver.
type Engine struct {
	cfg    Config
	id     string // its name as the owner of runs
	store  storage
	memory *memory    // nil: with a store
	commit *committer // nil: without a store
	large  int        // bytes from which Data is kept as a blob
	pool   *pool
	runs   sync.WaitGroup
	keeper keeper

	life context.Context //nolint:containedctx // ends when Close has waited long enough
	kill context.CancelFunc
	open context.Context    //nolint:containedctx // ends when Close begins
	shut context.CancelFunc // called under mu

	mu       sync.Mutex
	known    map[string]*run          // that this engine works on
	stopped  map[string]outcome       // runs that stopped here without an end; without a store also those that ended
	watchers map[string]*watcher      // by name
	foreign  map[string]chan struct{} // closed when a run that others work on changes
	draining atomic.Bool
}

// outcome is what became of a run here.
type outcome struct {
	err  error           // why it stopped without an end; nil: it ended
	prog *engine.Program // of one that stopped: its flow
	end  *engine.End     // of one that ended
}

// New returns an engine. It starts nothing.
func New(c Config) *Engine {
	c.Agents = maps.Clone(c.Agents)
	e := &Engine{
		cfg: c, id: rand.Text(), pool: newPool(c.Parallel), large: math.MaxInt,
		known: map[string]*run{}, stopped: map[string]outcome{}, watchers: map[string]*watcher{}, foreign: map[string]chan struct{}{},
	}
	e.life, e.kill = context.WithCancel(context.Background())
	e.open, e.shut = context.WithCancel(e.life)
	e.keeper.life, e.keeper.stop = context.WithCancel(e.life)
	e.use(c.Store)
	return e
}

// Start implements engine.Driver.
func (e *Engine) Start(ctx context.Context, p *engine.Program, in engine.Input) (func(context.Context) (engine.End, error), error) {
	r, err := e.start(ctx, p, in, nil)
	id := in.Run // the rest of in is not kept
	return func(ctx context.Context) (engine.End, error) { return e.wait(ctx, r, id, p) }, err
}

// start begins a run, or resumes the one of that ID if it is the same and free. It
// returns the run if this engine works on it, or did.
func (e *Engine) start(ctx context.Context, p *engine.Program, in engine.Input, parent *flight) (*run, error) {
	if err := e.serves(in.Run, in.Labels); err != nil {
		return nil, err
	}
	r, mine, err := e.enter(ctx, in.Run, p, parent)
	if err != nil {
		return nil, err
	}
	if !mine {
		switch err := e.await(ctx, r.live); {
		case err != nil:
			return nil, err
		case r.over() && r.fenced:
			return e.start(ctx, p, in, parent)
		}
		return r, same(r.id, r.prog.Name, &r.in, p.Name, &in)
	}
	r.in = in
	r.clock.Skip(now())
	at, _ := r.clock.Now()
	err = r.writeSync(ctx, &record{Record: runlog.Record{Kind: runlog.Started, Name: p.Name, At: at}, data: engine.StartedData{Version: p.Version, Owner: e.id, Input: in}})
	if err == nil {
		close(r.live)
		e.unstop(r.id)
		e.pool.do(r)
		return r, nil
	}
	r.abandon()
	if !errors.Is(err, runlog.ErrConflict) {
		return nil, fmt.Errorf("start of run %q: %w", r.id, err)
	}
	l, err := e.sameLog(ctx, p, &in)
	if err != nil {
		return nil, err
	}
	return e.resume(ctx, &l, p, parent)
}

// enter makes a run of that ID one that this engine works on, before it is on record
// or read. If it is one already, that is returned, and mine is false.
func (e *Engine) enter(ctx context.Context, id string, p *engine.Program, parent *flight) (r *run, mine bool, err error) {
	if err := e.ready(ctx); err != nil {
		return nil, false, err
	}
	errs := []error{p.Fault}
	for _, name := range p.Agents {
		if e.cfg.Agents[name] == nil {
			errs = append(errs, fmt.Errorf("flow %q: %w: %q", p.Name, engine.ErrNoAgent, name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, false, agent.ErrorOf(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open.Err() != nil || e.draining.Load() {
		return nil, false, closedError()
	}
	if r := e.known[id]; r != nil {
		return r, false, nil
	}
	r = newRun(e, id, p)
	r.parent = parent
	e.known[id] = r
	e.runs.Add(1)
	return r, true, nil
}

// leave takes r out of the runs that this engine works on. err is why it stopped
// without an end, if others may ask.
func (e *Engine) leave(r *run, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.known, r.id)
	if err != nil {
		e.stopped[r.id] = outcome{err: err, prog: r.prog}
	}
	if e.memory != nil {
		if err == nil && !r.fenced {
			e.stopped[r.id] = outcome{end: &r.end}
		}
		delete(e.stopped, e.memory.retire(r.id))
	}
	e.runs.Done()
}

// past is what this engine knows of a run that it does not work on any more.
func (e *Engine) past(id string) outcome {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stopped[id]
}

// run returns the run of that ID if this engine works on it.
func (e *Engine) run(id string) *run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.known[id]
}

// all are the runs that this engine works on.
func (e *Engine) all() []*run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Values(e.known))
}

// Close implements engine.Driver.
func (e *Engine) Close(ctx context.Context, drain bool) error { //nolint:revive // as engine.Driver wants it
	if drain {
		e.drain(ctx)
	}
	e.mu.Lock()
	e.shut() // what cannot be stored now is given up
	e.mu.Unlock()
	for _, r := range e.all() {
		r.stop(closedError())
	}
	stopped := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		e.runs.Wait()
		e.pool.close()
		e.keeper.close()
		close(stopped)
	})
	defer e.kill()
	select {
	case <-stopped:
	case <-ctx.Done():
		e.kill()
		return errors.Join(e.stillRunning(ctx), fmt.Errorf("close: %w", context.Cause(ctx)))
	}
	still := e.stillRunning(ctx)
	if !e.keeper.kept.Load() { // one that only observes may have a store that it cannot change
		return still
	}
	if err := e.store.Leave(ctx, e.id); err != nil { // other engines resume its runs at once
		return errors.Join(fmt.Errorf("this engine cannot be known as stopped: %w", err), still)
	}
	return still
}

// stillRunning names the agents that have not returned, or is nil.
func (e *Engine) stillRunning(ctx context.Context) error {
	names := e.pool.linger(ctx)
	for _, r := range e.all() {
		for _, f := range r.flying(engine.Call) {
			names = append(names, f.task.Info.Agent)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return fmt.Errorf("close: agents still running: %s: they ignore ctx", strings.Join(slices.Compact(names), ", "))
}

// drain lets the calls under way finish, and no others begin.
func (e *Engine) drain(ctx context.Context) {
	e.draining.Store(true)
	for _, r := range e.all() {
		e.pool.do(r.push(nil, nil)) // one without a call under way stops now
	}
	for _, r := range e.all() {
		_, _, _ = r.wait(ctx)
	}
}

// ready tells others that this engine lives, before it works on a run. Its error is why
// it works on none.
func (e *Engine) ready(ctx context.Context) error {
	switch {
	case e.cfg.Observe:
		return agent.ErrorOf(fmt.Errorf("%w: the engine was made with Config.Observe and works on no run", engine.ErrStopped))
	case e.open.Err() != nil, e.draining.Load():
		return closedError()
	}
	return e.keep(ctx)
}

func closedError() error {
	return agent.ErrorOf(fmt.Errorf("%w: the engine is closed; the run can be resumed", engine.ErrStopped))
}
