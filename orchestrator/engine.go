package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	local "github.com/convene-go/convene/orchestrator/internal/engine"
)

// Config is what an engine in this process needs.
//
// Under Parallel, runs take turns, children with their parent, and calls of one run come
// first in, first out. A call gives its place to others while it waits between two
// attempts, and lends it to a run of the same engine while its agent waits for that run.
//
// Retry holds where the agents are, and takes only numbers of an Attempts. In it, 0 is the
// default: Max 4, Wait 1 s, Factor 2, Longest 60 s. Waits have some jitter, and are at least
// as long as the error asks for. Fresh and Final mean nothing here, and are faults.
type Config struct {
	Agents   agent.Roster // agents that flows call, by name; copied
	Flows    []AnyFlow    // flows whose runs Resume finds; flows that are only started need not be here
	Store    runlog.Store // store of the logs; nil: in memory, nothing survives
	Log      *slog.Logger // log of the engine; nil: silent
	Retry    Attempts     // retries of calls that failed transiently; zero: 4 attempts, see below
	Parallel int          // number of calls inside agents at once, over all runs; 0: no limit
	Fleet    Fleet        // place among the engines on the same Store; zero: the defaults, all runs
	Requests Requests     // recorded texts of requests; zero: only their hashes
}

// Fleet says how an engine works beside other engines on the same store. Lease matters
// where the store cannot tell that a process has died, and for processes that are
// stopped. During an Outage records are kept in memory and tried again.
type Fleet struct {
	Lease  time.Duration // silence of an engine after which others resume its runs; 0: 30 s
	Poll   time.Duration // interval of looking for runs of dead engines and for letters of other processes; 0: 500 ms
	Outage time.Duration // time that the store may fail before runs are suspended; 0: 1 minute

	// Serves pins runs to engines, such as those of one machine, by labels: the engine
	// starts and resumes only runs that have these values in these labels, or lack the
	// labels. Empty: all runs.
	Serves map[string]string

	// Observe makes an engine that reads, answers and cancels only, such as a web page
	// beside the workers. It never starts or resumes a run.
	Observe bool
}

// Requests says what the log has of requests to agents, and what a replay makes of
// requests that have changed.
type Requests struct {
	// Record keeps what was asked, as blobs by the hash of each message, so that the
	// audit trail and a divergence can show it. It needs a Store that is a
	// runlog.Blobs. Off: the log has only hashes of requests.
	Record bool

	// AcceptChanged lets a resumed run continue when the text of a recorded request has
	// changed (prompts were edited): the recorded answer is used and a record says so.
	// Off: ErrDiverged.
	AcceptChanged bool
}

// Engine carries out runs: here (NewLocal) or on another driver (NewEngine). Safe
// for concurrent use.
type Engine struct {
	driver engine.Driver
	fault  error // reason why Local made an engine that starts no runs; nil: it starts them
}

// NewLocal returns an engine in this process. All faults of c, agents that its
// flows miss included, are in the one error. It starts nothing.
//
// Without a Store it remembers runs that ended until somebody has fetched their result
// (Result, Wait or Info after the end), up to 10,000 and 64 MB of records, and of others
// the last 256: those that were fetched, children, and those above the limits. The
// ErrNoRun of one that it forgot names these limits. A Store that is no runlog.Owners, see
// [runlog.As], is a warning in the log.
func NewLocal(c Config) (*Engine, error) {
	lc := local.Config{
		Agents: c.Agents, Store: c.Store, Log: cmp.Or(c.Log, slog.New(slog.DiscardHandler)), Retry: c.Retry.ofCalls(), Parallel: c.Parallel,
		Requests: c.Requests,
		Fleet: local.Fleet{
			Lease: cmp.Or(c.Fleet.Lease, 30*time.Second), Poll: cmp.Or(c.Fleet.Poll, 500*time.Millisecond), Outage: cmp.Or(c.Fleet.Outage, time.Minute),
			Serves: maps.Clone(c.Fleet.Serves), Observe: c.Fleet.Observe,
		},
	}
	for _, f := range c.Flows {
		if f != nil {
			lc.Programs = append(lc.Programs, f.Program())
		}
	}
	if err := c.validate(lc.Programs); err != nil {
		return nil, err
	}
	if _, ok := runlog.As[runlog.Owners](c.Store); !ok && c.Store != nil && !c.Fleet.Observe {
		lc.Log.Warn("the store is no runlog.Owners: only one process at a time may execute runs; a store that wraps another one needs Unwrap", "store", fmt.Sprintf("%T", c.Store))
	}
	return &Engine{driver: local.New(lc)}, nil
}

// validate names every fault of c.
func (c Config) validate(programs []*engine.Program) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("orchestrator: "+format, args...)) }
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		if name == "" || c.Agents[name] == nil {
			bad("Config.Agents: the agent %q has no name or is nil", name)
		}
		if v, ok := c.Agents[name].(interface{ Validate() error }); ok {
			if err := v.Validate(); err != nil {
				bad("Config.Agents: %q: %w", name, err)
			}
		}
	}
	if len(programs) < len(c.Flows) {
		bad("Config.Flows has a nil entry")
	}
	for i, p := range programs {
		if slices.ContainsFunc(programs[:i], func(q *engine.Program) bool { return q.Name == p.Name && q.Version == p.Version }) {
			bad("Config.Flows: duplicate flow %q version %d", p.Name, p.Version)
		}
		if p.Fault != nil {
			errs = append(errs, p.Fault)
		}
		for _, name := range p.Agents {
			if c.Agents[name] == nil {
				bad("flow %q: %w", p.Name, p.NoAgent(name, c.Agents))
			}
		}
	}
	if err := c.Retry.faultOfCalls(); err != nil {
		bad("Config.Retry: %w", err)
	}
	if c.Parallel < 0 || min(c.Fleet.Lease, c.Fleet.Poll, c.Fleet.Outage) < 0 {
		bad("Config.Parallel is %d, Fleet is %+v: want no negative figure", c.Parallel, c.Fleet)
	}
	if _, ok := runlog.As[runlog.Blobs](c.Store); c.Requests.Record && !ok {
		bad("Config.Requests.Record needs a Store that is a runlog.Blobs")
	}
	return errors.Join(errs...)
}

// NewEngine is for authors of engines.
func NewEngine(d engine.Driver) *Engine { return &Engine{driver: d} }

// optional returns the driver of e as a T, an optional interface of package engine. A
// driver that is no T is an error, which says what e cannot do.
func optional[T any](e *Engine, ability string) (T, error) {
	d, ok := e.driver.(T)
	if !ok {
		return d, fmt.Errorf("orchestrator: this engine cannot %s: its driver is no %s: %w", ability, reflect.TypeFor[T](), errors.ErrUnsupported)
	}
	return d, nil
}

// Resumed is what came of [Engine.Resume].
type Resumed struct {
	Runs []*Run // runs that this engine works on now
	Held []Held // runs that other engines work on
}

// Held is a run that another engine works on.
//
// Its fields:
//   - ID: ID of the run
//   - Owner: engine that works on it
//   - Since: time of the run's last record
type Held = engine.Held

// Resume resumes every run of this engine's flows that no engine works on. What
// cannot be resumed is in the error, by run.
//
// With a store that knows which engines are alive (runlog.Owners) the engine
// keeps doing so until Close: runs whose engine has died are resumed within a
// second where the store can tell, else when its lease is over (Config.Fleet). So
// a host calls it once. Without such a store, only one process at a time may
// execute runs.
func (e *Engine) Resume(ctx context.Context) (Resumed, error) {
	r, err := e.driver.Resume(ctx)
	out := Resumed{Held: r.Held}
	for _, id := range r.Runs {
		out.Runs = append(out.Runs, &Run{e, id})
	}
	return out, err
}

// Open returns the run of that ID, or ErrNoRun.
func (e *Engine) Open(ctx context.Context, id string) (*Run, error) {
	if _, err := e.find(ctx, id); err != nil {
		return nil, err
	}
	return &Run{e, id}, nil
}

// find is what a list shows of the run of that ID, or ErrNoRun.
func (e *Engine) find(ctx context.Context, id string) (engine.View, error) {
	if id == "" { // it would select all
		return engine.View{}, agent.ErrorOf(fmt.Errorf("%w: %q", ErrNoRun, id))
	}
	for v, err := range e.driver.List(ctx, runlog.Query{Run: id}) {
		return v, err
	}
	return e.driver.Look(ctx, id) // its error says why there is none
}

// RunQuery selects runs. A zero field selects all. It is not a runlog.Query: a Status
// such as Waiting is known to engines only, and in no store's list.
type RunQuery struct {
	Open   bool      // true: only runs that have not ended
	Flow   string    // name of the flow
	Status Status    // status that the run has now
	Owner  string    // engine that works on the run, or did
	Parent string    // ID of the run that started it
	Label  string    // name of a label that the run has; "name=value": the label has that value
	Text   string    // text in the ID, the flow's name, a label's value or the error; ASCII case is ignored
	Before time.Time // runs that have not changed since this time
	Limit  int       // number of runs at most; 0: all
	After  string    // ID of the run before the first one: the cursor of the next page
}

// Runs yields what a list shows of runs, newest first: an Info without Outcome,
// Questions, Spent, Lost and ByAgent. It reads no logs, so its cost does not depend
// on their length. The state of runs may change while it yields. Only the engine that
// works on a run knows that it is Waiting; for other engines it is Running. Questions
// finds what waits for an answer, in any engine.
func (e *Engine) Runs(ctx context.Context, q RunQuery) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		query := runlog.Query{
			Open: q.Open, Flow: q.Flow, Status: string(q.Status), Owner: q.Owner, Parent: q.Parent,
			Label: q.Label, Text: q.Text, Before: q.Before, Limit: q.Limit, After: q.After,
		}
		live := q.Status == Running || q.Status == Waiting || q.Status == Suspended
		if live { // the list of a store does not say which engine works on a run
			query.Open, query.Status, query.Limit = true, "", 0
		}
		n := 0
		for v, err := range e.driver.List(ctx, query) {
			if err == nil && live && v.Status != q.Status {
				continue
			}
			n++
			if !yield(infoOf(&v), err) || err != nil || n == q.Limit {
				return
			}
		}
	}
}

// Delete forgets a run and its children: logs, letters, blobs. One that is worked
// on is ErrRunning: cancel it first. An unknown run is no error. It needs a store
// that is a runlog.Deleter, and an engine that is an engine.Deleter: else the error
// wraps errors.ErrUnsupported.
func (e *Engine) Delete(ctx context.Context, id string) error {
	d, err := optional[engine.Deleter](e, "delete runs")
	if err != nil {
		return err
	}
	return d.Delete(ctx, id)
}

// PruneOptions say which ended runs Prune forgets. A zero field selects all.
type PruneOptions struct {
	EndedBefore time.Time // runs that ended before this time
	Flow        string    // name of the flow
	Max         int       // number of runs at most, their children not counted
}

// Prune forgets runs that have ended, with their children, and returns how many
// logs it deleted. Open runs, and their children, stay, as does an ended run with a
// child that has not ended and is not stuck. Other runs are not held up.
// It needs what Delete needs.
func (e *Engine) Prune(ctx context.Context, o PruneOptions) (int, error) {
	d, err := optional[engine.Deleter](e, "delete runs")
	if err != nil {
		return 0, err
	}
	return d.Prune(ctx, runlog.Query{Before: o.EndedBefore, Flow: o.Flow, Limit: o.Max})
}

// Close stops all runs where they are, so that Resume can continue them, waits
// for their agents as long as their grace is (Limits.Grace), at most until ctx is
// done, and leaves no goroutine but those of agents that ignore their ctx: its error
// names these. No runs can be started after it.
func (e *Engine) Close(ctx context.Context) error { return e.driver.Close(ctx, false) }

// Drain is Close for a rolling restart: calls under way finish first, and no others
// begin. When ctx is done it continues as Close.
func (e *Engine) Drain(ctx context.Context) error { return e.driver.Close(ctx, true) }
