// Package local is the engine in this process. It keeps runs in memory, or in a
// store, from which they are resumed after a restart.
//
// Three things happen to a run, each in files of its own: it is driven (drive.go,
// port.go, perform.go), it is replayed from its log (resume.go, with
// engine.Replay), and what it does is committed (record.go, commit.go).
package local

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// Config is what an Engine needs. It is taken as valid, with defaults filled in.
type Config struct {
	Agents         agent.Roster
	Programs       []*engine.Program
	Store          blackboard.Store // nil: in memory
	Log            *slog.Logger     // never nil
	Retry          engine.Retry
	Parallel       int // calls at once; 0: no limit
	RecordRequests bool
	AcceptChanged  bool
	Observe        bool          // look, answer and cancel alone
	Lease          time.Duration // an engine that has been silent for so long is dead
	Poll           time.Duration // how often the store is asked for letters and free runs
	Outage         time.Duration // how long the store may fail before runs are suspended
}

// remembered is how many ended runs an engine without a store can still show.
const remembered = 256

// Engine is an engine.Driver, Stater, Watcher and Deleter.
type Engine struct {
	cfg    Config
	id     string            // its name as the owner of runs
	blobs  blackboard.Blobs  // nil: the store has none
	inbox  blackboard.Inbox  // nil: the same
	owners blackboard.Owners // nil: the same
	pool   *pool
	commit *committer // nil: without a store
	runs   sync.WaitGroup
	keeper keeper
	beaten time.Time // when the last beat was kept; of the keeper

	life context.Context //nolint:containedctx // ends when Close has waited long enough
	kill context.CancelFunc

	mu       sync.Mutex
	programs map[programID]*engine.Program
	known    map[string]*run            // that this engine works on; without a store also those that ended
	past     []string                   // without a store: the runs that ended or stopped, the oldest first
	stopped  map[string]error           // why runs stopped here without an end
	foreign  map[string]chan struct{}   // closed when a run that others work on changes
	tried    map[string]*engine.Program // stuck runs that this process has tried, and their flows
	closed   bool
	draining atomic.Bool
}

type programID struct {
	name    string
	version int
}

// New returns an engine. It starts nothing.
func New(c Config) *Engine {
	c.Agents = maps.Clone(c.Agents)
	e := &Engine{
		cfg: c, id: rand.Text(), pool: newPool(c.Parallel),
		programs: map[programID]*engine.Program{}, known: map[string]*run{}, stopped: map[string]error{}, tried: map[string]*engine.Program{},
		foreign: map[string]chan struct{}{},
	}
	e.life, e.kill = context.WithCancel(context.Background())
	for _, p := range c.Programs {
		e.programs[programID{p.Name, p.Version}] = p
	}
	if c.Store != nil {
		e.commit = newCommitter(e, c.Store)
		e.blobs, _ = c.Store.(blackboard.Blobs)
		e.inbox, _ = c.Store.(blackboard.Inbox)
		e.owners, _ = c.Store.(blackboard.Owners)
	}
	return e
}

// Start implements engine.Driver.
func (e *Engine) Start(ctx context.Context, p *engine.Program, in engine.Input) (func(context.Context) (engine.End, error), error) {
	r, err := e.start(ctx, p, in, nil)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (engine.End, error) {
		if r == nil {
			return e.Wait(ctx, in.Run, p)
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			return engine.End{}, context.Cause(ctx)
		}
		if r.fenced {
			return e.Wait(ctx, in.Run, p)
		}
		return r.end, r.err
	}, nil
}

// start begins a run, or resumes the one of that ID if it is the same and free. It
// returns the run if this engine works on it, or did.
func (e *Engine) start(ctx context.Context, p *engine.Program, in engine.Input, parent *flight) (*run, error) {
	if err := e.startable(ctx, p); err != nil {
		return nil, err
	}
	r := newRun(e, in.Run, p)
	r.in, r.parent = in, parent
	other, err := e.register(r, e.untried(r.id))
	if err != nil {
		return nil, err
	}
	if other != nil {
		if begun, err := other.begun(ctx); !begun {
			if err != nil {
				return nil, err
			}
			return e.start(ctx, p, in, parent)
		}
		return other, same(r.id, other.prog.Name, &other.in, p.Name, &in)
	}
	if len(r.records.recs) > 0 { // in memory, and stuck
		return e.startKnown(ctx, r)
	}
	r.clock.Skip(now())
	at, _ := r.clock.Now()
	err = r.writeSync(ctx, &record{Record: blackboard.Record{Kind: blackboard.Started, Name: p.Name, At: at}, data: engine.StartedData{Version: p.Version, Owner: e.id, Input: in}})
	switch {
	case err == nil:
		e.begin(r)
		return r, nil
	case !errors.Is(err, blackboard.ErrConflict):
		e.unregister(r, err)
		return nil, fmt.Errorf("start of run %q: %w", r.id, err)
	}
	return e.startKnown(ctx, r)
}

// startKnown resumes the run of r's ID, whose log is there already, if it is the same
// and free.
func (e *Engine) startKnown(ctx context.Context, r *run) (*run, error) {
	err := e.sameLog(ctx, r)
	if err == nil {
		if e.commit != nil {
			r.records = &runLog{}
		}
		r.queue.reset()
		if e.isClosed() { // what Close told r is reset
			e.unregister(r, closedError())
			return nil, closedError()
		}
		var free bool
		if free, err = e.takeUp(ctx, r); free && err == nil {
			return r, nil
		}
	}
	e.unregister(r, nil)
	return nil, err
}

// untried tells whether Retry was called for a run that is stuck here.
func (e *Engine) untried(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.known[id] != nil && e.tried[id] == nil
}

// begin lets a registered run that is on record be executed.
func (e *Engine) begin(r *run) {
	e.mu.Lock()
	r.recorded = true
	delete(e.stopped, r.id)
	e.mu.Unlock()
	close(r.started)
	e.pool.do(r)
}

// startable says why p cannot be started here, or nil. Then others know that this
// engine lives.
func (e *Engine) startable(ctx context.Context, p *engine.Program) error {
	if e.cfg.Observe {
		return agent.ErrorOf(fmt.Errorf("%w: the engine was made with Config.Observe and works on no run", engine.ErrStopped))
	}
	if err := errors.Join(p.Fault, e.missing(p)); err != nil {
		return agent.ErrorOf(err)
	}
	return e.keep(ctx)
}

// register makes r the run of its ID, unless there is one: then it returns that. retry
// replaces one that stopped.
func (e *Engine) register(r *run, retry bool) (*run, error) { //nolint:revive // retry is a fact, not a mode
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || e.draining.Load() {
		return nil, closedError()
	}
	if other := e.known[r.id]; other != nil {
		if !retry || !other.over() || other.err == nil {
			return other, nil
		}
		r.records = other.records // the log in memory continues
		r.records.stopped.Store(false)
	}
	e.known[r.id] = r
	e.runs.Add(1)
	return nil, nil
}

// unregister takes r out of the runs that this engine works on. err is why it
// stopped without an end, if others may ask. Without a store, runs stay for a while.
func (e *Engine) unregister(r *run, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer e.runs.Done()
	if !r.recorded { // it has not begun; who waits for it looks again
		r.fenced, r.err = true, cmp.Or(err, errLate)
		close(r.started)
		close(r.done)
	}
	if e.commit == nil && r.recorded {
		e.past = append(e.past, r.id)
		if len(e.past) > remembered {
			if old := e.known[e.past[0]]; old != nil && old.over() {
				delete(e.known, old.id)
			}
			e.past = e.past[1:]
		}
		return
	}
	delete(e.known, r.id)
	if err != nil && r.recorded && e.tried[r.id] == nil { // what is stuck says so in the store
		e.stopped[r.id] = err
	}
}

// missing names the agents that p declares and the roster does not have.
func (e *Engine) missing(p *engine.Program) error {
	var errs []error
	for _, name := range p.Agents {
		if e.cfg.Agents[name] == nil {
			errs = append(errs, fmt.Errorf("flow %q: %w: %q", p.Name, engine.ErrNoAgent, name))
		}
	}
	return errors.Join(errs...)
}

// run returns the run of that ID if this engine works on it, or remembers it.
func (e *Engine) run(id string) *run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.known[id]
}

// all are the runs that this engine works on or remembers.
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
	e.closed = true
	e.mu.Unlock()
	e.commit.close()
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
	err := e.stillRunning(ctx)
	return errors.Join(e.leave(ctx), err)
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
	return fmt.Errorf("close: agents still running: %s: they ignore ctx", sortedNames(names))
}

// drain lets the calls under way finish, and no others begin.
func (e *Engine) drain(ctx context.Context) {
	e.draining.Store(true)
	for _, r := range e.all() {
		e.pool.do(r.push(nil, nil)) // one without a call under way stops now
	}
	for _, r := range e.all() {
		select {
		case <-r.done:
		case <-ctx.Done():
			return
		}
	}
}

func (e *Engine) isClosed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

func closedError() error {
	return agent.ErrorOf(fmt.Errorf("%w: the engine is closed; the run can be resumed", engine.ErrStopped))
}
