package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/crew"
	"github.com/convene-go/convene/orchestrator/internal/final"
	"github.com/convene-go/convene/orchestrator/internal/jobs"
	"github.com/convene-go/convene/orchestrator/internal/journal"
)

// shared is what all runs of an engine use.
type shared struct {
	name     string // the engine as the owner of runs
	log      *slog.Logger
	poll     time.Duration // time until a failed look at the store is repeated
	requests bool          // Config.Requests.Record

	pool     jobs.Pool
	journal  *journal.Journal
	crew     *crew.Crew
	readers  crew.Readers
	life     context.Context //nolint:containedctx // ends when Close has waited long enough
	draining atomic.Bool     // no further calls begin
	host     host
}

// host is what runs ask of their engine.
type host interface { //nolint:interfacebloat // each is one question, and there is one host
	// begin starts a run, or resumes it. nil: another engine works on it, or it has ended.
	begin(ctx context.Context, p *engine.Program, in engine.Input, parent *effect) (*run, error)

	// childEnd waits for the end of a child that is not one of f. mine: now it is.
	childEnd(f *effect, in engine.Input, child *run) (end engine.End, mine bool, err error)

	// stuckChild tries the stuck children of a run again, and returns why one fails.
	stuckChild(r *run) error

	find(id string) *run                         // the run of that ID, if this engine works on it
	left(r *run)                                 // r is over
	lost(r *run) (bool, error)                   // another engine has resumed r
	whyStopped(r *run, err error) error          // why r stops without an end: err, or ErrNoRun if r was deleted
	Letters(ctx context.Context, id string)      // letters to a run are put on record
	taken(ctx context.Context, l *runlog.Letter) // a letter is marked as taken

	// expire closes a question of r by a letter, unless an answer came first: then nil.
	expire(r *run, key string) (*runlog.Letter, error)

	Tell(ctx context.Context, id string, c engine.Command) error
}

// run is one run that this engine works on: the engine.Port of its flow.
type run struct {
	*shared
	id     string
	prog   *engine.Program
	in     engine.Input
	live   chan struct{} // closed when the run is on record and has repeated its log, or is over
	done   chan struct{} // closed when the run has ended or stopped
	end    engine.End    // set once done
	err    error         // set once done: why the run did not end
	fenced bool          // set once done: another engine works on the run, or it never began here; callers look it up again

	flow sync.Mutex // held by the goroutine that drives the run
	// Under flow:
	exec            engine.Execution
	clock           engine.Clock
	replay          *engine.Replay // records that the flow has not repeated; nil: none
	later           jobs.Job       // the newest call, for the driver to make
	canceled        []*crew.Call   // calls that the flow has just given up
	values, labels  agent.Values   // values and labels of in, for agents
	state           func() (json.RawMessage, error)
	before          string // last owner of a run that is resumed
	resumed, isOver bool   // the Resumed record is committed; the run has ended or stopped

	questions engine.Questions
	asking    sync.Mutex // held while a record about a question is noted and put in line
	feed      crew.Feed
	records   *journal.Log // &own, or the log of the run that this one retries
	own       journal.Log
	party     *crew.Party // &alone, or that of the parent
	alone     crew.Party
	parent    *effect     // effect that started this child, if it is of this engine; else nil
	cut       atomic.Bool // calls that fail do so because the run stops

	mu      sync.Mutex
	line    []*journal.Entry // committed and not yet applied to the flow, in log order: from head on
	head    int
	failure error     // why the run stops
	driving bool      // a goroutine drives; for good, once the run is over
	effects []*effect // under way
}

// newRun returns a run. If ctx is of an agent's call, their calls take turns together.
func newRun(ctx context.Context, s *shared, id string, p *engine.Program, parent *effect) *run {
	r := &run{shared: s, id: id, prog: p, parent: parent, live: make(chan struct{}), done: make(chan struct{})}
	r.records = s.journal.Open(id, &r.own)
	r.driving, r.party = true, &r.alone // the first goroutine that drives is that of the start
	if parent == nil {
		r.party.Join(ctx)
	} else {
		r.party, r.feed.Around = parent.r.party, &parent.r.feed
	}
	return r
}

// tell logs what has become of the run. What is Info is for debugging where it is a child.
func (r *run) tell(level slog.Level, msg string, more slog.Attr) {
	if level == slog.LevelInfo && r.in.Parent != "" {
		level = slog.LevelDebug
	}
	r.log.LogAttrs(r.life, level, msg, slog.String("run", r.id), slog.String("flow", r.prog.Name), more)
}

// isLive reports whether the run has repeated its log and is not over.
func (r *run) isLive() bool { return isClosed(r.live) && !r.over() }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

type job = jobs.Job // work for a goroutine of the engine, which returns what follows

func (r *run) over() bool        { return isClosed(r.done) }       // it has ended or stopped
func (r *run) now() time.Time    { return r.clock.At(time.Now()) } // now is the time of a record
func after(f func()) job         { return jobs.Func(f) }           // a job that nothing follows
func closed() error              { return journal.Closed() }
func (s *shared) do(j job)       { s.pool.Do(j) }
func (s *shared) async(f func()) { s.pool.Do(jobs.Func(f)) }
func (s *shared) waitForAll()    { s.pool.Close() } // no goroutine of the engine is left then

var errLate, errOutage, errOver = journal.ErrLate, journal.ErrOutage, errors.New("the run is over")

// await waits until c is closed, and returns why it waits no more.
func (s *shared) await(ctx context.Context, c <-chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.life.Done():
		return journal.Closed()
	}
}

// shortly bounds what an engine asks a store for a run, because a store may hang.
func (s *shared) shortly() (context.Context, context.CancelFunc) {
	return context.WithTimeout(s.life, journal.AppendLimit)
}

// isStuck reports whether err is of the flow's code, and not of the world.
func isStuck(err error) bool {
	return errors.Is(err, engine.ErrFlow) || errors.Is(err, engine.ErrDiverged) && !errors.Is(err, engine.ErrNoFlow)
}

// childStuck is the error of a run that is stuck with its child.
func childStuck(op *engine.Op, err error) error {
	failure := agent.ErrorOf(fmt.Errorf("child run %q is stuck: %w", op.Input.Run, err))
	if !errors.Is(failure, engine.ErrFlow) {
		failure.Codes = append(failure.Codes, engine.ErrFlow)
	}
	return failure
}

// write commits a record of the run, and brings it to the driver where the flow has to
// learn of it.
func (r *run) write(e *journal.Entry) jobs.Job {
	if e.Sink, e.Run = r, r.id; e.At.IsZero() {
		e.At = r.now()
	}
	if engine.Noted(e.Kind) { // in the order of the log
		r.asking.Lock()
		defer r.asking.Unlock()
		r.questions.Note(e.Record)
	}
	return r.journal.Write(r.records, e)
}

// record is write for a record with that value, on a goroutine of its own.
func (r *run) record(rec runlog.Record, value any) {
	r.pool.Do(r.write(&journal.Entry{Record: rec, Value: value}))
}

// recordSync is record for a goroutine that waits until the record is committed.
func (r *run) recordSync(ctx context.Context, rec runlog.Record, value any) error {
	e := &journal.Entry{Record: rec, Value: value}
	r.journal.Expect(e)
	return final.Coded(r.journal.Await(ctx, e, r.write(e)))
}

// complete is write for what completes or charges the effect op.
func (r *run) complete(op *engine.Op, kind string, value any) jobs.Job {
	return r.write(&journal.Entry{Record: runlog.Record{Kind: kind, Branch: op.Branch, N: op.N, Name: op.Name}, Op: op, Value: value})
}

// accept is write for what a letter says. ok is false if its question does not take it.
func (r *run) accept(l *runlog.Letter, e *journal.Entry) (next jobs.Job, ok bool) {
	r.asking.Lock()
	defer r.asking.Unlock()
	if !r.questions.Accept(*l) {
		return nil, false
	}
	e.Sink, e.Run, e.At = r, r.id, r.now()
	e.Hash = r.questions.State(l.Key).Hash
	return r.journal.Write(r.records, e), true
}

// answerSync puts an answer or a cancel on record. It is ErrConflict if the question does
// not take it.
func (r *run) answerSync(ctx context.Context, l *runlog.Letter) error {
	e := &journal.Entry{Record: engine.LetterRecord(l), Value: l.Data}
	r.journal.Expect(e)
	next, ok := r.accept(l, e)
	if !ok {
		return runlog.ErrConflict
	}
	return r.journal.Await(ctx, e, next)
}

// effect is an effect under way. A goroutine of the engine starts its child, or puts on
// record that its time is over; crew makes its call.
type effect struct {
	r    *run
	op   *engine.Op
	call *crew.Call // the call; nil: it is none

	unwanted atomic.Bool                         // the child is to be canceled
	ended    func(end engine.End, err error) job // puts the end of the child on record; nil: it is no child

	// Under run.mu:
	index int         // place in run.effects; -1: it is not there any more
	timer *time.Timer // goes off when the time of the effect is over; nil: it has none
}

// unlink notes that the flow does not wait for op any more.
func (r *run) unlink(op *engine.Op) {
	f, _ := op.Private.(*effect)
	r.mu.Lock()
	defer r.mu.Unlock()
	if f == nil || f.index < 0 {
		return
	}
	n := len(r.effects) - 1
	r.effects[f.index], r.effects[n].index = r.effects[n], f.index
	r.effects = slices.Delete(r.effects, n, n+1)
	f.index = -1
	if f.timer != nil {
		f.timer.Stop()
	}
}

// underway are the effects of those kinds, without calls whose agents were left behind.
func (r *run) underway(kinds ...engine.Kind) (fs []*effect) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.effects {
		if slices.Contains(kinds, f.op.Kind) && (f.call == nil || f.call.Underway()) {
			fs = append(fs, f)
		}
	}
	return fs
}

func (r *run) cancel(calls []*crew.Call) { r.crew.Cancel(calls...) }

// lendTo has the agent's call that ctx is of, if it is of one, lend its place to the run.
func (r *run) lendTo(ctx context.Context) (stop func()) { return r.crew.Lend(ctx, r.party) }

// cutCalls ends all calls of a run that stops. Those that fail by it have used what they
// say, and are made again when the run is resumed.
func (r *run) cutCalls() {
	r.cut.Store(true)
	var calls []*crew.Call
	for _, f := range r.underway(engine.Call) {
		calls = append(calls, f.call)
	}
	r.cancel(calls)
}

func (r *run) continueAt(t engine.Tally) { r.records.Continue(t) }
func (r *run) tally() engine.Tally       { return r.records.Tally() }
func (r *run) stopLog()                  { r.records.Stop() }
func (r *run) changed() <-chan struct{}  { return r.records.Watch() } // closed at the next record
