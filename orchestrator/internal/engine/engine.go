// Package engine is the engine in this process: it works on runs, in memory or with a
// store, from which they are resumed after a restart.
//
// The idea: a run is a line of records. Its flow executes until it waits; a record that
// is committed wakes it, and the goroutine that committed the record drives the flow on:
// one goroutine at a time, often that of the call whose answer it was. A run that is
// resumed does the same with the records of its log first, and puts on record that it is
// resumed before it reaches the world.
//
// Invariants:
//   - The flow learns of nothing that is not on record.
//   - One goroutine drives a run at a time. A run without one waits for a record.
//   - A run leaves once, with its end on record, or where it is, with the reason. Then no
//     goroutine is left of it but those in agents that ignore their context.
//   - A run that another engine has resumed stops here at its next record.
//   - Whoever waits for a run that is taken from this engine looks it up again.
//
// # Files
//
//   - engine.go: the Driver: starting, closing, deleting
//   - view.go: waiting for runs, looking at them
//   - tell.go: answers and cancels, and the letters that carry them
//   - resume.go: taking up runs that no engine works on
//   - drive.go: driving a run: its records one after the other, its end
//   - port.go: what a flow asks for: calls, times, questions, children
//   - run.go: the state of a run, and what runs share
package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/crew"
	"github.com/convene-go/convene/orchestrator/internal/fleet"
	"github.com/convene-go/convene/orchestrator/internal/jobs"
	"github.com/convene-go/convene/orchestrator/internal/journal"
)

// Config is what an Engine needs. It is taken as valid, with defaults filled in; its
// fields are those of orchestrator.Config.
type Config struct {
	Agents   agent.Roster
	Programs []*engine.Program
	Store    runlog.Store // nil: in memory
	Log      *slog.Logger // never nil
	Retry    engine.Retry
	Parallel int // calls at once; 0: no limit

	RecordRequests bool
	AcceptChanged  bool // requests that differ from the recorded ones
	Observe        bool // the engine reads and answers only: it never starts or resumes a run

	Serves map[string]string // labels that runs must not contradict
	Lease  time.Duration     // time after which a silent engine is dead
	Poll   time.Duration     // how often the store is asked for letters and free runs
	Outage time.Duration     // how long the store may fail before runs are suspended
}

// Engine is an engine.Driver.
type Engine struct {
	shared
	cfg     Config
	fleet   *fleet.Fleet
	readers crew.Readers
	kill    context.CancelFunc // ends life
	open    context.Context    //nolint:containedctx // ends when Close begins
	shut    context.CancelFunc // ends open; called under mu

	mu      sync.Mutex
	known   map[string]*run    // runs that this engine works on
	stopped map[string]outcome // runs that stopped here without an end; without a store also those that ended
	active  sync.WaitGroup     // known runs
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
	e := &Engine{cfg: c, known: map[string]*run{}, stopped: map[string]outcome{}}
	e.name, e.log, e.poll, e.requests, e.host = rand.Text(), c.Log, c.Poll, c.RecordRequests, e
	e.life, e.kill = context.WithCancel(context.Background())
	e.open, e.shut = context.WithCancel(e.life)
	e.journal = journal.New(journal.Config{Store: c.Store, Outage: c.Outage, Log: c.Log, Pool: &e.pool, Life: e.life, Open: e.open})
	e.crew = crew.New(crew.Config{Agents: c.Agents, Retry: c.Retry, Parallel: c.Parallel, Pool: &e.pool})
	e.fleet = fleet.New(fleet.Config{
		ID: e.name, Programs: c.Programs, Serves: c.Serves, Lease: c.Lease, Poll: c.Poll,
		Store: &e.journal.Storage, Log: c.Log, Do: func(f func()) { e.pool.Do(jobs.Func(f)) }, Life: e.life, Open: e.open,
	}, e)
	if e.journal.Inbox == nil {
		e.journal.Inbox = here{e}
	}
	return e
}

// Start implements engine.Driver.
func (e *Engine) Start(ctx context.Context, p *engine.Program, in engine.Input) (func(context.Context) (engine.End, error), error) {
	r, err := e.begin(ctx, p, in, nil)
	id := in.Run // the rest of in is not kept
	return func(ctx context.Context) (engine.End, error) { return e.wait(ctx, r, id, p) }, err
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
		r.stop(journal.Closed())
	}
	stopped := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		e.active.Wait()
		e.pool.Close()
		e.fleet.Close()
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
	return errors.Join(e.fleet.Leave(ctx), still) // other engines resume its runs at once
}

// stillRunning names the agents that have not returned, or is nil.
func (e *Engine) stillRunning(ctx context.Context) error {
	names := e.crew.Linger(ctx)
	for _, r := range e.all() {
		for _, f := range r.underway(engine.Call) {
			names = append(names, f.call.Info.Agent)
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
		e.pool.Do(r.Committed(nil, nil)) // one without a call under way stops now
	}
	for _, r := range e.all() {
		select {
		case <-r.done:
		case <-ctx.Done():
		}
	}
}

// ready tells others that this engine lives, before it works on a run. Its error is why
// it works on none.
func (e *Engine) ready(ctx context.Context) error {
	switch {
	case e.cfg.Observe:
		return agent.ErrorOf(fmt.Errorf("%w: the engine was made with Config.Observe and works on no run", engine.ErrStopped))
	case e.open.Err() != nil, e.draining.Load():
		return journal.Closed()
	}
	return e.fleet.Keep(ctx)
}

// enter makes a run of that ID one that this engine works on, before it is on record or
// read. If it is one already, that is returned, and mine is false.
func (e *Engine) enter(ctx context.Context, id string, p *engine.Program, parent *effect) (r *run, mine bool, err error) {
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
		return nil, false, journal.Closed()
	}
	if r := e.known[id]; r != nil {
		return r, false, nil
	}
	r = newRun(&e.shared, id, p, parent)
	e.known[id] = r
	e.active.Add(1)
	return r, true, nil
}

// left takes r out of the runs that this engine works on, and keeps what became of it, if
// others may ask.
func (e *Engine) left(r *run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.known, r.id)
	switch {
	case r.fenced:
	case r.err != nil:
		e.stopped[r.id] = outcome{err: r.err, prog: r.prog}
	case !e.journal.Stored:
		e.stopped[r.id] = outcome{end: &r.end}
	}
	delete(e.stopped, e.journal.Retire(r.id))
	e.active.Done()
}

// past is what this engine knows of a run that it does not work on any more.
func (e *Engine) past(id string) outcome {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stopped[id]
}

// forget forgets what became of a run here, and returns its flow.
func (e *Engine) forget(id string) *engine.Program {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.stopped[id].prog
	delete(e.stopped, id)
	return p
}

// find returns the run of that ID if this engine works on it.
func (e *Engine) find(id string) *run {
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

// Delete implements engine.Driver.
func (e *Engine) Delete(ctx context.Context, id string) error {
	ids, err := e.fleet.Delete(ctx, id, func(id string) bool { return e.find(id) != nil })
	if err == nil {
		e.forgetAll(ids)
	}
	return err
}

// Prune implements engine.Driver.
func (e *Engine) Prune(ctx context.Context, q runlog.Query) (pruned int, err error) {
	err = e.fleet.Prune(ctx, q, func(ids []string) {
		e.forgetAll(ids)
		pruned += len(ids)
	})
	return pruned, err
}

func (e *Engine) forgetAll(ids []string) {
	for _, id := range ids {
		e.forget(id)
	}
}
