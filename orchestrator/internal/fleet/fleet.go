package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// Config is what a Fleet needs. Its times are those of orchestrator.Fleet.
type Config struct {
	ID       string            // name of this engine as the owner of runs
	Programs []*engine.Program // flows of this engine
	Serves   map[string]string // labels that runs must not contradict
	Lease    time.Duration     // time after which a silent engine is dead
	Poll     time.Duration     // how often the store is asked for letters and free runs

	Store *Storage     // where the runs are kept
	Log   *slog.Logger // log of the engine, never nil
	Lifetime
}

// Lifetime is how long a Fleet may work, and on which goroutines.
type Lifetime struct {
	Do   func(func())    // starts a goroutine of the engine
	Life context.Context //nolint:containedctx // ends when the engine is closed and has waited long enough
	Open context.Context //nolint:containedctx // ends when the engine's Close begins; its cause is the error of what a closed engine does not do
}

const (
	slower      = 5                // how much less often the store is polled when it notifies
	storeLimit  = time.Minute      // time limit of one look at the store, so that a store that hangs does not end the polling
	readerLimit = 10 * time.Second // time after which a reader in another process that asks no more is gone
)

// Fleet is what an engine knows of the others. It is safe for concurrent use.
type Fleet struct {
	claims
	Config
	host Host

	watching atomic.Bool // Resume was called: free runs are taken up
	beaten   time.Time   // time at which the last heartbeat that was kept began

	life context.Context //nolint:containedctx // ends with Close
	stop context.CancelFunc

	kept    atomic.Bool // the store knows that this engine is alive; set under mu
	mu      sync.Mutex
	listens bool
	loops   sync.WaitGroup

	foreign sync.Map // channels (chan struct{}) by the ID of a run of others that somebody waits for, closed when it changes
}

// New returns the Fleet of host. It starts nothing.
func New(c Config, host Host) *Fleet {
	f := &Fleet{claims: claims{c.ID, c.Programs, c.Serves, c.Store}, Config: c, host: host}
	f.life, f.stop = context.WithCancel(c.Life)
	return f
}

// Watch has the engine take up, from now on, runs that no engine works on.
func (f *Fleet) Watch() { f.watching.Store(true) }

// Keep makes sure that other engines know that this one is alive, before it begins work.
func (f *Fleet) Keep(ctx context.Context) error {
	_, owners := runlog.As[runlog.Owners](f.face())
	_, inbox := runlog.As[runlog.Inbox](f.face())
	if !owners && !inbox {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Open.Err() != nil || f.kept.Load() {
		return nil
	}
	begun := time.Now()
	if err := f.Store.Beat(ctx, f.ID, f.Lease); err != nil {
		return fmt.Errorf("this engine cannot be known as alive: %w", err)
	}
	f.beaten = begun
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
// this one for dead, and resumed its runs. The store may have heard the last beat when
// that began, and this one only when it ends.
func (f *Fleet) beat(ctx context.Context) {
	begun := time.Now()
	if err := f.Store.Beat(ctx, f.ID, f.Lease); err != nil {
		f.Log.Warn("the store does not learn that this engine is alive", "err", err)
		return
	}
	late := time.Since(f.beaten) > f.Lease
	if f.beaten = begun; late {
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
			break
		}
		if _, unfit := f.fits(&l, nil); unfit == nil {
			f.host.TakeUp(ctx, &l)
		}
	}
	for _, id := range f.host.Abandoned() {
		if l, err := f.listing(ctx, id); err == nil {
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
	n, ok := runlog.As[runlog.Notifier](f.face())
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
	if c, ok := f.foreign.LoadAndDelete(id); ok {
		close(c.(chan struct{})) //nolint:errcheck,forcetypeassert // there are no others
	}
}

// Until calls look until it says that it is done, or fails: now, and again whenever the
// run changes. It fails when ctx is done, or the engine closes.
func (f *Fleet) Until(ctx context.Context, id string, look func() (done bool, err error)) error {
	var signal <-chan struct{} // taken before look
	var poll time.Duration
	defer func() {
		if signal != nil {
			f.notify(id) // the others who wait make a new channel
		}
	}()
	for {
		if done, err := look(); done || err != nil {
			return err
		}
		if f.Open.Err() != nil {
			return context.Cause(f.Open)
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
	c, _ := f.foreign.LoadOrStore(id, make(chan struct{}))
	return c.(chan struct{}), f.Poll //nolint:errcheck,forcetypeassert // there are no others
}

// serve replies to a request of another engine.
func (f *Fleet) serve(ctx context.Context, data []byte) []byte {
	var q Request
	var a Reply
	err := json.Unmarshal(data, &q)
	if err == nil {
		a, err = f.host.Reply(ctx, q, readerLimit)
	}
	a.Err = agent.ErrorOf(err)
	out, err := engine.Encode(a)
	if err != nil { // the input that a model gave a tool may be no JSON
		for i, p := range a.Progress {
			if p.Tool != nil {
				a.Progress[i].Tool = &providers.ToolCall{ID: p.Tool.ID, Name: p.Tool.Name}
			}
		}
		out, err = engine.Encode(a)
	}
	if err != nil {
		out, _ = engine.Encode(Reply{Err: agent.ErrorOf(fmt.Errorf("the reply cannot be sent: %w", err))})
	}
	return out
}
