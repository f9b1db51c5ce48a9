// Package fleet knows which engine works on which run: it says that this engine is alive,
// finds runs whose engine has died, and asks the engines that work on others.
//
// The idea: the log of a run names its owner, and a store that is a runlog.Owners knows
// which owners are alive. [Fleet.Claim] is the only place that decides whether this
// engine may work on a run. The decision is a hint and not a lock: it is the next record
// of the run that fences off everybody else (runlog.ErrConflict).
//
// Invariants:
//   - An engine works on a run only after Keep has told the store that it is alive.
//   - A run with a living owner is never claimed, but for a child whose parent's owner is
//     this engine: who works on a child without its parent has lost the lease of both.
//   - An engine that was silent for longer than its lease looks for each of its runs
//     whether it still owns it.
//   - Only runs that no engine works on are deleted, each with all runs inside of it.
//   - Nothing is started before Keep or Listen, and Close waits for all of it.
//
// # Files
//
//   - peers.go: what one engine asks another one for
//   - fleet.go: heartbeat, polling, notifications, waiting for a run to change
//   - claim.go: who may work on a run, and who may delete it
package fleet

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
)

// Host is the engine that a Fleet belongs to.
type Host interface {
	// Owns reports whether this engine works on the run, with a channel that is closed
	// when the run changes.
	Owns(run string) (changed <-chan struct{}, owns bool)

	// Letters has the letters to a run put on record; run "": those to all runs.
	Letters(ctx context.Context, run string)

	// Abandoned are the runs that this engine stopped because its store failed.
	Abandoned() []string

	// TakeUp resumes a run that no engine works on.
	TakeUp(ctx context.Context, l *runlog.Listing)

	// Fenced stops the run of l here if this engine owns it no more.
	Fenced(ctx context.Context)

	// Reply replies to a request for a run that this engine works on.
	Reply(ctx context.Context, q Request, limit time.Duration) (Reply, error)
}

// slower is how much less often the store is polled when it notifies.
const slower = 5

// storeLimit is how long one look at the store may take, so that a store that hangs does
// not end the polling.
const storeLimit = time.Minute

// Fleet is what an engine knows of the others. It is safe for concurrent use.
type Fleet struct {
	Config
	host Host

	watching atomic.Bool // Resume was called: free runs are taken up
	beaten   time.Time   // time of the last heartbeat that was kept

	life context.Context //nolint:containedctx // ends with Close
	stop context.CancelFunc

	kept    atomic.Bool // the store knows that this engine is alive; set under mu
	mu      sync.Mutex
	listens bool
	loops   sync.WaitGroup

	foreignMu sync.Mutex
	foreign   map[string]chan struct{} // closed when a run that others work on changes
}

// New returns the Fleet of host. It starts nothing.
func New(c Config, host Host) *Fleet {
	f := &Fleet{Config: c, host: host, foreign: map[string]chan struct{}{}}
	f.life, f.stop = context.WithCancel(c.Life)
	return f
}

// Watch has the engine take up, from now on, runs that no engine works on.
func (f *Fleet) Watch() { f.watching.Store(true) }

// Keep makes sure that other engines know that this one is alive, before it begins work.
func (f *Fleet) Keep(ctx context.Context) error {
	_, owners := f.Store.Store.(runlog.Owners)
	_, inbox := f.Store.Store.(runlog.Inbox)
	if !owners && !inbox {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Open.Err() != nil || f.kept.Load() {
		return nil
	}
	if err := f.Store.Beat(ctx, f.ID, f.Lease); err != nil {
		return fmt.Errorf("this engine cannot be known as alive: %w", err)
	}
	f.beaten = time.Now()
	f.kept.Store(true)
	poll := f.Poll
	if f.listen() {
		poll *= slower
	}
	f.every(poll, storeLimit, func(ctx context.Context) { f.host.Letters(ctx, "") })
	f.every(f.Poll, storeLimit, f.takeUp)
	f.every(f.Lease/3, f.Lease/3, f.beat)
	f.loops.Go(func() {
		if err := f.Store.Serve(f.life, f.ID, f.serve); err != nil && f.life.Err() == nil {
			f.Log.Warn("other engines cannot ask this one for the states of its runs", "err", err)
		}
	})
	return nil
}

// Close ends the polling and waits for it. It is called when the engine's Open is done.
func (f *Fleet) Close() {
	f.mu.Lock()
	f.stop()
	f.mu.Unlock()
	f.loops.Wait()
}

// Leave tells the store that this engine works on nothing any more, so that others resume
// its runs at once. An engine that never told that it is alive does nothing.
func (f *Fleet) Leave(ctx context.Context) error {
	if !f.kept.Load() { // it may have a store that it cannot change
		return nil
	}
	if err := f.Store.Leave(ctx, f.ID); err != nil {
		return fmt.Errorf("this engine cannot be known as stopped: %w", err)
	}
	return nil
}

// every calls do each d. One call may take as long as limit.
func (f *Fleet) every(d, limit time.Duration, do func(ctx context.Context)) {
	f.loops.Go(func() {
		tick := time.NewTicker(d)
		defer tick.Stop()
		for {
			select {
			case <-f.life.Done():
				return
			case <-tick.C:
				limited, cancel := context.WithTimeout(f.life, limit)
				do(limited)
				cancel()
			}
		}
	})
}

// beat says that this engine is alive. When it comes late, other engines may have taken
// this one for dead, and resumed its runs.
func (f *Fleet) beat(ctx context.Context) {
	late := time.Since(f.beaten) > f.Lease
	if err := f.Store.Beat(ctx, f.ID, f.Lease); err != nil {
		f.Log.Warn("the store does not learn that this engine is alive", "err", err)
		return
	}
	f.beaten = time.Now()
	if late {
		f.host.Fenced(ctx)
	}
}

// takeUp has the runs of engines that have died resumed, and those that an outage of the
// store suspended here.
func (f *Fleet) takeUp(ctx context.Context) {
	if !f.watching.Load() {
		return
	}
	for l, err := range f.Store.Orphans(ctx) {
		if err != nil {
			if ctx.Err() == nil {
				f.Log.Warn("runs without an engine cannot be listed", "err", err)
			}
			return
		}
		if _, unfit := f.fits(&l, nil); unfit == nil {
			f.host.TakeUp(ctx, &l)
		}
	}
	for _, id := range f.host.Abandoned() {
		if l, err := f.Store.Listing(ctx, id); err == nil {
			f.host.TakeUp(ctx, &l)
		}
	}
}

// Listen makes sure that the engine hears of runs of other engines, if the store tells.
func (f *Fleet) Listen() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Open.Err() == nil {
		f.listen()
	}
}

// listen begins to listen, and reports whether the store notifies. f.mu is held.
func (f *Fleet) listen() bool {
	n, ok := f.Store.Store.(runlog.Notifier)
	if ok && !f.listens {
		f.listens = true
		f.loops.Go(func() { f.hear(n) })
	}
	return ok
}

// hear has letters read when the store tells of them, and wakes who waits for runs.
func (f *Fleet) hear(n runlog.Notifier) {
	for f.life.Err() == nil {
		for id, err := range n.Changes(f.life) {
			if err != nil {
				break
			}
			f.notify(id)
			if _, owns := f.host.Owns(id); owns {
				f.Do(func() { f.host.Letters(f.life, id) })
			}
		}
		select {
		case <-f.life.Done():
		case <-time.After(f.Poll):
		}
	}
}

// notify wakes those who wait for a run that another engine works on.
func (f *Fleet) notify(id string) {
	f.foreignMu.Lock()
	defer f.foreignMu.Unlock()
	if c := f.foreign[id]; c != nil {
		close(c)
		delete(f.foreign, id)
	}
}

// Until calls look until it says that it is done, or fails: now, and again whenever the
// run changes. It fails when ctx is done, or the engine closes.
func (f *Fleet) Until(ctx context.Context, id string, look func() (done bool, err error)) error {
	var signal <-chan struct{} // taken before look
	var poll time.Duration
	for {
		if done, err := look(); done || err != nil {
			return err
		}
		if f.Open.Err() != nil {
			return f.Closed()
		}
		if signal != nil {
			select {
			case <-signal:
			case <-time.After(poll):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if signal, poll = f.signal(id); poll < math.MaxInt64 { // another engine works on it
			f.Listen()
		}
	}
}

// signal is closed when the run changes here, or when the store says so. After poll it is
// time to look again: a run of another engine may change, or its engine die, without a
// word.
func (f *Fleet) signal(id string) (signal <-chan struct{}, poll time.Duration) {
	if changed, owns := f.host.Owns(id); owns {
		return changed, math.MaxInt64
	}
	f.foreignMu.Lock()
	defer f.foreignMu.Unlock()
	if f.foreign[id] == nil {
		f.foreign[id] = make(chan struct{})
	}
	return f.foreign[id], f.Poll
}
