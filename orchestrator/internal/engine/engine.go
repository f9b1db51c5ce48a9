package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
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
	"github.com/convene-go/convene/orchestrator/internal/journal"
)

// Config is what an Engine needs: orchestrator.Config, valid, with defaults filled in.
type Config struct {
	Agents   agent.Roster      // agents that flows call, by name; copied
	Programs []*engine.Program // flows whose runs are resumed
	Store    runlog.Store      // store of the logs; nil: in memory
	Log      *slog.Logger      // log of the engine, never nil
	Retry    engine.Retry      // retries of transient errors
	Parallel int               // number of calls at once; 0: no limit
	// Requests is what orchestrator.Requests says.
	Requests struct {
		Record, AcceptChanged bool // switches of orchestrator.Requests
	}
	Fleet
}

// Fleet is what orchestrator.Fleet says.
type Fleet struct {
	Lease, Poll, Outage time.Duration     // times of orchestrator.Fleet, none is 0
	Serves              map[string]string // labels that runs must not contradict
	Observe             bool              // the engine reads and answers only: it never starts or resumes a run
}

// Engine is an engine.Driver.
type Engine struct {
	shared
	cfg     Config
	fleet   *fleet.Fleet
	kill    context.CancelFunc      // ends life
	open    context.Context         //nolint:containedctx // ends when Close begins
	shut    context.CancelCauseFunc // ends open, with closed(); called under mu
	mu      sync.Mutex
	known   map[string]*run    // runs that this engine works on
	stopped map[string]outcome // runs that stopped here without an end; without a store also those that ended
	active  sync.WaitGroup     // known runs
	early   chan struct{}      // has one value while an early answer is given
}

// outcome is what became of a run here.
type outcome struct {
	err  error           // why it stopped without an end; nil: it ended
	at   time.Time       // time at which it stopped so
	prog *engine.Program // flow of a run that stopped
	end  *engine.End     // end of a run that ended
}

// New returns an engine. It starts nothing.
func New(c Config) *Engine {
	c.Agents = maps.Clone(c.Agents)
	e := &Engine{cfg: c, known: map[string]*run{}, stopped: map[string]outcome{}, early: make(chan struct{}, 1)}
	e.name, e.log, e.poll, e.requests, e.host = rand.Text(), c.Log, c.Poll, c.Requests.Record, e
	e.life, e.kill = context.WithCancel(context.Background())
	e.open, e.shut = context.WithCancelCause(e.life)
	e.journal = journal.New(journal.Config{Store: c.Store, Outage: c.Outage, Log: c.Log, Do: e.do, Life: e.life, Open: e.open})
	e.crew = crew.New(crew.Config{Agents: c.Agents, Retry: c.Retry, Parallel: c.Parallel, Pool: &e.pool})
	e.fleet = fleet.New(fleet.Config{
		ID: e.name, Programs: c.Programs, Serves: c.Serves, Lease: c.Lease, Poll: c.Poll,
		Store: &e.journal.Storage, Log: c.Log, Lifetime: fleet.Lifetime{Do: e.async, Life: e.life, Open: e.open},
	}, e)
	return e
}

// Close implements engine.Driver.
func (e *Engine) Close(ctx context.Context, drain bool) error { //nolint:revive // as engine.Driver wants it
	if drain {
		e.drain(ctx)
	}
	e.mu.Lock()
	e.shut(closed()) // nothing waits for a store any more
	e.mu.Unlock()
	for _, r := range e.all() {
		r.stop(closed())
	}
	stopped := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		e.active.Wait()
		e.waitForAll()
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
		e.do(r.Committed(nil, nil)) // one without a call under way stops now
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
		return agent.ErrorOf(fmt.Errorf("%w: the engine was made with Config.Fleet.Observe and works on no run", engine.ErrStopped))
	case e.open.Err() != nil, e.draining.Load():
		return closed()
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
			errs = append(errs, fmt.Errorf("flow %q: %w", p.Name, p.NoAgent(name, e.cfg.Agents)))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, false, agent.ErrorOf(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open.Err() != nil || e.draining.Load() {
		return nil, false, closed()
	}
	if r := e.known[id]; r != nil {
		return r, false, nil
	}
	r = newRun(ctx, &e.shared, id, p, parent)
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
		e.stopped[r.id] = outcome{err: r.err, at: time.Now(), prog: r.prog}
	case !e.journal.Stored:
		e.stopped[r.id] = outcome{end: new(r.end)} // the rest of r is not kept
	}
	for _, id := range e.journal.Retire(r.id, r.fenced || r.in.Parent != "") {
		delete(e.stopped, id)
	}
	e.active.Done()
}

// fetched notes that somebody has the result of a run, unless ctx was over before.
func (e *Engine) fetched(ctx context.Context, id string) {
	if ctx.Err() != nil {
		return
	}
	for _, past := range e.journal.Fetched(id) {
		e.forget(past)
	}
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

// logged are the questions of a run by its log; key "": all.
func (e *Engine) logged(ctx context.Context, id, key string) (*engine.Questions, error) {
	q := &engine.Questions{}
	for rec, err := range e.asks(ctx, id, key) {
		if err != nil {
			return q, err
		}
		q.Note(rec)
	}
	return q, nil
}

// listing is what a list shows of a run, or ErrNoRun.
func (e *Engine) listing(ctx context.Context, id string) (runlog.Listing, error) {
	return e.journal.Listing(ctx, id)
}

// figures sets in v what the run has used; r is the run, if this engine works on it.
func (e *Engine) figures(ctx context.Context, r *run, v *engine.View) error {
	var base engine.Tally
	if r != nil {
		base = r.tally()
	}
	return e.journal.Figures(ctx, base, v)
}

// records yields the records of a run from Seq from on.
func (e *Engine) records(ctx context.Context, id string, from int64) iter.Seq2[runlog.Record, error] {
	return e.journal.Records(ctx, id, from)
}

// read decodes the Data of record number seq of a run into data.
func (e *Engine) read(ctx context.Context, id string, seq int64, data any) error {
	return e.journal.Read(ctx, id, seq, data)
}

// list yields what a list shows of the runs that q selects.
func (e *Engine) list(ctx context.Context, q runlog.Query) iter.Seq2[runlog.Listing, error] {
	return e.journal.List(ctx, q)
}

// until calls look until it is done, whenever the run changes.
func (e *Engine) until(ctx context.Context, id string, look func() (done bool, err error)) error {
	if r := e.find(id); r != nil {
		defer r.lendTo(ctx)()
	}
	return e.fleet.Until(ctx, id, look)
}

// asks yields the records that tell the states of a run's questions; see runlog.Asks.
func (e *Engine) asks(ctx context.Context, id, key string) iter.Seq2[runlog.Record, error] {
	return e.journal.Asks(ctx, id, key)
}

func (e *Engine) storeInbox() runlog.Inbox      { return e.journal.Inbox }           // the inbox of the store; nil: it has none
func (e *Engine) noRun(id string) error         { return e.journal.NoRun(id) }       // the error of a run that is not in the store
func decode(rec *runlog.Record, data any) error { return journal.Decode(rec, data) } // decodes the Data of a record into data
