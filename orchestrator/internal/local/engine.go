// Package local is the engine in this process: it keeps runs in memory, or on
// record in a store, and goes on with them after a restart.
package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// Config is what an Engine needs. It is taken as valid.
type Config struct {
	Agents         agent.Roster
	Programs       []engine.Program
	Store          blackboard.Store // nil: in memory
	Log            *slog.Logger     // never nil
	Retry          engine.Retry
	Parallel       int // calls at once; 0: no limit
	RecordRequests bool
	AcceptChanged  bool
}

// remembered is how many ended runs an engine without a store can still show.
const remembered = 256

// Engine is an engine.Driver, Runner and Viewer.
type Engine struct {
	cfg     Config
	id      string           // its name as the owner of runs
	blobs   blackboard.Blobs // nil: the store has none
	pool    *pool
	commits *committer     // nil: without a store
	under   sync.WaitGroup // runs
	keeper  keeper

	mu       sync.Mutex
	programs map[programID]engine.Program
	runs     map[string]*run  // that this engine works on; without a store also those that ended
	past     []string         // without a store: the runs that ended or stopped, the oldest first
	stopped  map[string]error // why runs stopped here without an end
	closed   bool
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
		programs: map[programID]engine.Program{}, runs: map[string]*run{}, stopped: map[string]error{},
	}
	for _, p := range c.Programs {
		e.programs[programID{p.Name, p.Version}] = p
	}
	if c.Store != nil {
		e.commits = &committer{store: c.Store}
		e.blobs, _ = c.Store.(blackboard.Blobs)
	}
	return e
}

// Start implements engine.Driver.
func (e *Engine) Start(ctx context.Context, p engine.Program, in engine.Input) error {
	r, err := e.start(ctx, p, in)
	if err != nil || r == nil {
		return err
	}
	e.pool.do(func() { r.begin().work() })
	return nil
}

// Run implements engine.Runner.
func (e *Engine) Run(ctx context.Context, p engine.Program, in engine.Input) (engine.End, error) {
	r, err := e.start(ctx, p, in)
	if err != nil {
		return engine.End{}, err
	}
	if r == nil {
		return e.Wait(ctx, in.Run)
	}
	stop := context.AfterFunc(ctx, func() { r.cancelFor(context.Cause(ctx)) })
	defer stop()
	if c := r.begin(); c.op != nil {
		e.pool.do(c.work) // an agent that does not heed its context shall not hold the caller
	}
	<-r.done
	return r.end, r.err
}

// start puts the start of a run on record and returns the run for somebody to
// drive, or nil if it is under way or over already.
func (e *Engine) start(ctx context.Context, p engine.Program, in engine.Input) (*run, error) {
	if err := e.missing(p); err != nil {
		return nil, err
	}
	if err := e.keep(ctx); err != nil {
		return nil, err
	}
	r := newRun(e, in.Run, p, in)
	other, err := e.register(r)
	if err != nil {
		return nil, err
	}
	if other != nil {
		return nil, other.same(ctx, p, in)
	}
	r.begun, err = e.record(ctx, r)
	if err != nil || r.begun == nil {
		e.forget(r, err)
		close(r.started)
		return nil, err
	}
	close(r.started)
	return r, nil
}

// record puts a new run's start into the log, or takes the run up whose log is
// there. It returns nil if the run has ended or somebody else works on it.
func (e *Engine) record(ctx context.Context, r *run) (*run, error) {
	if e.commits != nil {
		log, err := e.load(ctx, r.id)
		if err != nil {
			return nil, err
		}
		if log != nil {
			return e.known(ctx, r, log)
		}
	}
	r.now = now()
	start := &entry{
		r: r, kind: blackboard.Started, name: r.prog.Name, at: r.now,
		data: engine.StartedData{Version: r.prog.Version, Owner: e.id, Input: r.in},
	}
	err := r.writeSync(ctx, start)
	if errors.Is(err, blackboard.ErrConflict) { // another process started it just now
		log, lerr := e.load(ctx, r.id)
		if lerr != nil {
			return nil, lerr
		}
		if log != nil {
			return nil, log.same(r.prog, r.in)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("start of run %q: %w", r.id, err)
	}
	r.last = r.now
	return r, nil
}

// known goes on with the run of log for somebody who started it again.
func (e *Engine) known(ctx context.Context, r *run, log *history) (*run, error) {
	if err := log.same(r.prog, r.in); err != nil {
		return nil, err
	}
	if log.ended() {
		return nil, nil
	}
	free, err := e.free(ctx, log.owner)
	if err != nil || !free {
		return nil, err
	}
	if err := e.takeUp(ctx, r, log); err != nil {
		return nil, err
	}
	return r, nil
}

// register makes r the run of its ID, unless there is one: then it returns that.
func (e *Engine) register(r *run) (*run, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, agent.ErrorOf(fmt.Errorf("%w: the engine is closed", engine.ErrStopped))
	}
	if other := e.runs[r.id]; other != nil {
		return other, nil
	}
	delete(e.stopped, r.id)
	if r.in.Parent != "" {
		r.above = e.runs[r.in.Parent]
	}
	e.runs[r.id] = r
	e.under.Add(1)
	return nil, nil
}

// forget takes r out of the runs that this engine works on. Without a store, runs
// stay for a while.
func (e *Engine) forget(r *run, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer e.under.Done()
	if e.commits == nil && r.begun != nil {
		e.past = append(e.past, r.id)
		if len(e.past) > remembered {
			delete(e.runs, e.past[0])
			e.past = e.past[1:]
		}
		return
	}
	delete(e.runs, r.id)
	if err != nil && r.begun != nil {
		e.stopped[r.id] = err
	}
}

// missing names the agents that p declares and the roster has not.
func (e *Engine) missing(p engine.Program) error {
	var errs []error
	for _, name := range p.Agents {
		if e.cfg.Agents[name] == nil {
			errs = append(errs, fmt.Errorf("flow %q: %w: %q", p.Name, engine.ErrNoAgent, name))
		}
	}
	if errs == nil {
		return nil
	}
	return agent.ErrorOf(errors.Join(errs...))
}

// run returns the run of that ID if this engine works on it or remembers it.
func (e *Engine) run(id string) *run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.runs[id]
}

// Close implements engine.Driver.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	for _, r := range e.runs {
		r.stop(stoppedByClose())
	}
	e.mu.Unlock()
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		e.under.Wait()
		e.pool.close()
		e.keeper.close()
		close(done)
	})
	select {
	case <-done:
		return e.giveBack(ctx)
	case <-ctx.Done():
		return fmt.Errorf("close: agents do not heed their context: %w", context.Cause(ctx))
	}
}

func stoppedByClose() error {
	return agent.ErrorOf(fmt.Errorf("%w: the engine is closed; the run can be resumed", engine.ErrStopped))
}
