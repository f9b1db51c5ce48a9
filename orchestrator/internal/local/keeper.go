package local

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/engine"
)

// slower is how much less often the store is polled when it notifies.
const slower = 5

// storeLimit is how long what the keeper does may take at once, so that a store that
// hangs does not end it.
const storeLimit = time.Minute

// keeper is the goroutines that say that this engine is alive, read letters, and
// resume runs whose engine has died. A store without owners and inbox has none.
type keeper struct {
	watching atomic.Bool // Resume was called
	beaten   time.Time   // when the last beat was kept

	life context.Context //nolint:containedctx // ends with the engine's Close
	stop context.CancelFunc

	kept    atomic.Bool // it says that this engine is alive; set under mu
	mu      sync.Mutex
	listens bool
	wg      sync.WaitGroup
}

// keep makes sure that others know that this engine is alive, before it begins work.
func (e *Engine) keep(ctx context.Context) error {
	_, owners := e.cfg.Store.(runlog.Owners)
	_, inbox := e.cfg.Store.(runlog.Inbox)
	if !owners && !inbox {
		return nil
	}
	k := &e.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	if e.open.Err() != nil || k.kept.Load() {
		return nil
	}
	if err := e.store.Beat(ctx, e.id, e.cfg.Lease); err != nil {
		return fmt.Errorf("this engine cannot be known as alive: %w", err)
	}
	k.beaten = time.Now()
	k.kept.Store(true)
	poll := e.cfg.Poll
	if e.beginListening() {
		poll *= slower
	}
	k.every(poll, storeLimit, func(ctx context.Context) { e.takeLetters(ctx, "") })
	k.every(e.cfg.Poll, storeLimit, e.resumeFree)
	k.every(e.cfg.Lease/3, e.cfg.Lease/3, e.beat)
	k.wg.Go(func() {
		if err := e.store.Serve(k.life, e.id, e.serve); err != nil && k.life.Err() == nil {
			e.cfg.Log.Warn("other engines cannot ask this one for the states of its runs", "err", err)
		}
	})
	return nil
}

// close is called once the engine is closed, and begins nothing any more.
func (k *keeper) close() {
	k.mu.Lock()
	k.stop()
	k.mu.Unlock()
	k.wg.Wait()
}

// every calls f each d. A call may take as long as limit.
func (k *keeper) every(d, limit time.Duration, f func(ctx context.Context)) {
	k.wg.Go(func() {
		tick := time.NewTicker(d)
		defer tick.Stop()
		for {
			select {
			case <-k.life.Done():
				return
			case <-tick.C:
				limited, cancel := context.WithTimeout(k.life, limit)
				f(limited)
				cancel()
			}
		}
	})
}

// shortly bounds what an engine asks a store for a run, because a store may hang.
func (e *Engine) shortly() (context.Context, context.CancelFunc) {
	return context.WithTimeout(e.life, appendLimit)
}

// beat says that this engine is alive. When it comes late, other engines may have
// taken this one for dead, and resumed its runs: these are stopped here.
func (e *Engine) beat(ctx context.Context) {
	late := time.Since(e.keeper.beaten) > e.cfg.Lease
	if err := e.store.Beat(ctx, e.id, e.cfg.Lease); err != nil {
		e.cfg.Log.Warn("the store does not learn that this engine is alive", "err", err)
		return
	}
	e.keeper.beaten = time.Now()
	if !late {
		return
	}
	for _, r := range e.all() {
		if !r.isLive() {
			continue
		}
		l, err := e.store.listing(ctx, r.id)
		if err == nil && (l.Owner != e.id || l.Ended) {
			r.stop(fmt.Errorf("%w: %w: engine %q has resumed run %q, because this one was silent for too long", engine.ErrStopped, runlog.ErrConflict, l.Owner, r.id))
		}
	}
}

// hear makes sure that the engine hears of runs of other engines, if the store tells.
func (e *Engine) hear() {
	e.keeper.mu.Lock()
	defer e.keeper.mu.Unlock()
	if e.open.Err() == nil {
		e.beginListening()
	}
}

// beginListening tells whether the store notifies.
func (e *Engine) beginListening() bool {
	k := &e.keeper
	n, ok := e.cfg.Store.(runlog.Notifier)
	if ok && !k.listens {
		k.listens = true
		k.wg.Go(func() { e.listen(k.life, n) })
	}
	return ok
}

// listen reads letters when the store tells of them, and wakes who watches runs.
func (e *Engine) listen(ctx context.Context, n runlog.Notifier) {
	for ctx.Err() == nil {
		for id, err := range n.Changes(ctx) {
			if err != nil {
				break
			}
			e.notify(id)
			if r := e.run(id); r != nil {
				e.pool.do(jobFunc(func() { e.takeLetters(ctx, id) }))
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(e.cfg.Poll):
		}
	}
}
