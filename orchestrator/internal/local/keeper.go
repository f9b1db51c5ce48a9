package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/convene-go/convene/blackboard"
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
	mu       sync.Mutex
	watching bool               // Resume was called
	closed   bool               // it shall not begin any more
	stop     context.CancelFunc // nil: it has not begun
	wg       sync.WaitGroup
}

// keep makes sure that others know that this engine is alive, before it begins work.
func (e *Engine) keep(ctx context.Context) error {
	if e.owners == nil && e.inbox == nil {
		return nil
	}
	k := &e.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed || k.stop != nil {
		return nil
	}
	if e.owners != nil {
		if err := e.owners.Beat(ctx, e.id, e.cfg.Lease); err != nil {
			return fmt.Errorf("this engine cannot be known as alive: %w", err)
		}
	}
	e.beaten = time.Now()
	var life context.Context
	life, k.stop = context.WithCancel(e.life)
	poll := e.cfg.Poll
	if n, ok := e.cfg.Store.(blackboard.Notifier); ok {
		poll *= slower
		k.wg.Go(func() { e.listen(life, n) })
	}
	if e.inbox != nil {
		k.every(life, poll, storeLimit, func(ctx context.Context) { e.takeLetters(ctx, "") })
	}
	if e.owners != nil {
		k.every(life, e.cfg.Poll, storeLimit, e.resumeFree)
		k.every(life, e.cfg.Lease/3, e.cfg.Lease/3, e.beat)
	}
	return nil
}

func (k *keeper) close() {
	k.mu.Lock()
	k.closed = true
	if k.stop != nil {
		k.stop()
	}
	k.mu.Unlock()
	k.wg.Wait()
}

// every calls f each d, until ctx is done. A call may take as long as limit.
func (k *keeper) every(ctx context.Context, d, limit time.Duration, f func(ctx context.Context)) {
	k.wg.Go(func() {
		tick := time.NewTicker(d)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				limited, cancel := context.WithTimeout(ctx, limit)
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
// taken this one for dead.
func (e *Engine) beat(ctx context.Context) {
	late := time.Since(e.beaten) > e.cfg.Lease
	if err := e.owners.Beat(ctx, e.id, e.cfg.Lease); err != nil {
		e.cfg.Log.Warn("the store does not learn that this engine is alive", "err", err)
		return
	}
	if late {
		e.dropTaken(ctx)
	}
	e.beaten = time.Now()
}

// dropTaken stops the runs that another engine has resumed meanwhile.
func (e *Engine) dropTaken(ctx context.Context) {
	for _, r := range e.all() {
		if !r.isLive() || r.over() {
			continue
		}
		l, err := e.listing(ctx, r.id)
		if err == nil && (l.Owner != e.id || l.Ended) {
			r.stop(fmt.Errorf("%w: %w: engine %q has resumed run %q, because this one was silent for too long", engine.ErrStopped, blackboard.ErrConflict, l.Owner, r.id))
		}
	}
}

// listen reads letters when the store tells of them, and wakes who watches runs.
func (e *Engine) listen(ctx context.Context, n blackboard.Notifier) {
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

// leave lets other engines resume the runs of this one at once.
func (e *Engine) leave(ctx context.Context) error {
	if e.owners == nil {
		return nil
	}
	if err := e.owners.Leave(ctx, e.id); err != nil {
		return fmt.Errorf("this engine cannot be known as stopped: %w", err)
	}
	return nil
}

// Resume implements engine.Driver.
func (e *Engine) Resume(ctx context.Context) (engine.Resumed, error) {
	var res engine.Resumed
	if e.cfg.Observe {
		return res, fmt.Errorf("%w: the engine was made with Config.Observe and works on no run", engine.ErrStopped)
	}
	if e.commit == nil {
		return res, nil
	}
	if err := e.keep(ctx); err != nil {
		return res, err
	}
	e.keeper.mu.Lock()
	e.keeper.watching = true
	e.keeper.mu.Unlock()
	alive := map[string]bool{}
	var errs []error
	for l, err := range e.cfg.Store.List(ctx, blackboard.Query{Open: true}) {
		if err != nil {
			return res, errors.Join(append(errs, err)...)
		}
		if l.Parent != "" || e.run(l.Run) != nil {
			continue
		}
		owner := worker(&l)
		free, known := alive[owner]
		if !known {
			if free, err = e.free(ctx, owner); err != nil {
				return res, errors.Join(append(errs, err)...)
			}
			alive[owner] = free
		}
		if !free {
			res.Held = append(res.Held, engine.Held{Run: l.Run, Owner: l.Owner, Since: l.Changed})
			continue
		}
		taken, err := e.resumeOnce(ctx, l)
		if err != nil {
			errs = append(errs, fmt.Errorf("run %q: %w", l.Run, err))
		}
		if taken {
			res.Runs = append(res.Runs, l.Run)
		}
	}
	res.Runs = slices.DeleteFunc(res.Runs, func(id string) bool { return !e.holds(ctx, id) })
	return res, errors.Join(errs...)
}

// holds waits until a run that is being resumed is behind its log, and tells whether
// no other engine was first.
func (e *Engine) holds(ctx context.Context, id string) bool {
	r := e.run(id)
	if r == nil || r.waitLive(ctx) != nil {
		return true // it has ended or stopped already
	}
	return !r.over() || !r.fenced
}

// resumeFree resumes the runs of engines that have died, and those that an outage
// of the store suspended here.
func (e *Engine) resumeFree(ctx context.Context) {
	e.keeper.mu.Lock()
	watching := e.keeper.watching
	e.keeper.mu.Unlock()
	if !watching || e.owners == nil || e.isClosed() || e.draining.Load() {
		return
	}
	var free []blackboard.Listing
	for l, err := range e.owners.Orphans(ctx) {
		if err != nil {
			if ctx.Err() == nil {
				e.cfg.Log.Warn("runs without an engine cannot be listed", "err", err)
			}
			return
		}
		free = append(free, l)
	}
	for _, id := range e.suspended() {
		if l, err := e.listing(ctx, id); err == nil {
			free = append(free, l)
		}
	}
	for _, l := range free {
		if l.Parent != "" || e.program(l.Flow, l.Version) == nil || e.run(l.Run) != nil {
			continue
		}
		if _, err := e.resumeOnce(ctx, l); err != nil && ctx.Err() == nil && !errors.Is(err, engine.ErrStopped) {
			e.cfg.Log.Warn("run cannot be resumed", "run", l.Run, "flow", l.Flow, "err", err)
		}
	}
}

// resumeOnce resumes a run whose flow this engine has. A stuck one is tried once.
// That another engine was first is no error.
func (e *Engine) resumeOnce(ctx context.Context, l blackboard.Listing) (bool, error) {
	if e.hasTried(&l) {
		return false, nil
	}
	if p := e.program(l.Flow, l.Version); p == nil && !e.hasFlow(l.Flow) {
		return false, nil
	}
	taken, err := e.resume(ctx, l, nil)
	if errors.Is(err, blackboard.ErrConflict) {
		err = nil
	}
	return taken, err
}

// hasTried tells whether the run is stuck and this process has tried it.
func (e *Engine) hasTried(l *blackboard.Listing) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return l.Status == blackboard.Stuck && e.tried[l.Run] != nil
}

// hasFlow tells whether any version of the flow is registered.
func (e *Engine) hasFlow(name string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id := range e.programs {
		if id.name == name {
			return true
		}
	}
	return false
}

// suspended are the runs that stopped here because the store failed.
func (e *Engine) suspended() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var ids []string
	for id, err := range e.stopped {
		if errors.Is(err, errOutage) {
			ids = append(ids, id)
		}
	}
	return ids
}
