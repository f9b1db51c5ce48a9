package local

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

const (
	leaseFor = 30 * time.Second // an engine that says nothing for so long is dead
	beat     = 10 * time.Second // how often it says that it lives
	look     = time.Second      // how often it looks for letters
)

// keeper is the goroutine that keeps the engine's lease and reads its letters. A
// store without either has none.
type keeper struct {
	mu   sync.Mutex
	quit chan struct{} // nil: not begun
	wg   sync.WaitGroup
}

// keep makes sure that others know that this engine lives, before it begins work.
func (e *Engine) keep(ctx context.Context) error {
	leaser, leases := e.cfg.Store.(blackboard.Leaser)
	inbox, letters := e.cfg.Store.(blackboard.Inbox)
	if !leases && !letters {
		return nil
	}
	k := &e.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.quit != nil {
		return nil
	}
	if leases {
		if err := leaser.Lease(ctx, e.lease(e.id), e.id, leaseFor); err != nil {
			return fmt.Errorf("lease of this engine: %w", err)
		}
	}
	k.quit = make(chan struct{})
	k.wg.Go(func() { e.live(leaser, inbox) })
	return nil
}

func (e *Engine) lease(owner string) string { return "engine/" + owner }

// live beats and looks until the keeper is closed.
func (e *Engine) live(leaser blackboard.Leaser, inbox blackboard.Inbox) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	tick := time.NewTicker(look)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-e.keeper.quit:
			return
		case t := <-tick.C:
			if inbox != nil {
				e.deliver(ctx, inbox, "")
			}
			if leaser == nil || t.Sub(last) < beat {
				continue
			}
			last = t
			if err := leaser.Lease(ctx, e.lease(e.id), e.id, leaseFor); err != nil {
				e.cfg.Log.Warn("lease of this engine cannot be prolonged", "err", err)
			}
		}
	}
}

func (k *keeper) close() {
	k.mu.Lock()
	if k.quit == nil {
		k.quit = make(chan struct{}) // it shall not begin any more
	}
	select {
	case <-k.quit:
	default:
		close(k.quit)
	}
	k.mu.Unlock()
	k.wg.Wait()
}

// giveBack lets others take up the runs of this engine at once.
func (e *Engine) giveBack(ctx context.Context) error {
	leaser, ok := e.cfg.Store.(blackboard.Leaser)
	if !ok {
		return nil
	}
	if err := leaser.Lease(ctx, e.lease(e.id), e.id, 0); err != nil && !errors.Is(err, blackboard.ErrConflict) {
		return fmt.Errorf("lease of this engine: %w", err)
	}
	return nil
}

// free tells whether nobody works on the runs of owner any more.
func (e *Engine) free(ctx context.Context, owner string) (bool, error) {
	leaser, ok := e.cfg.Store.(blackboard.Leaser)
	if !ok || owner == e.id || owner == "" {
		return true, nil
	}
	err := leaser.Lease(ctx, e.lease(owner), e.id, leaseFor)
	if errors.Is(err, blackboard.ErrConflict) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, leaser.Lease(ctx, e.lease(owner), e.id, 0)
}

// Resume implements engine.Driver.
func (e *Engine) Resume(ctx context.Context) ([]string, error) {
	if e.commits == nil {
		return nil, nil
	}
	if err := e.keep(ctx); err != nil {
		return nil, err
	}
	var open []string
	for ends, err := range e.cfg.Store.Runs(ctx, true) {
		if err != nil {
			return nil, err
		}
		open = append(open, ends[0].Run)
	}
	var runs []string
	var errs []error
	for _, id := range open {
		ok, err := e.resume(ctx, id)
		if err != nil {
			errs = append(errs, fmt.Errorf("run %q: %w", id, err))
		}
		if ok {
			runs = append(runs, id)
		}
	}
	return runs, errors.Join(errs...)
}

// resume takes up one run, if it is of a flow of this engine and nobody works on
// it. Children are taken up by their parents.
func (e *Engine) resume(ctx context.Context, id string) (bool, error) {
	if e.run(id) != nil {
		return false, nil
	}
	h, err := e.load(ctx, id)
	if err != nil || h == nil || h.ended() || h.start.Parent != "" {
		return false, err
	}
	p, err := e.program(h)
	if err != nil || p.Begin == nil {
		return false, err
	}
	if err := e.missing(p); err != nil {
		return false, err
	}
	if ok, err := e.free(ctx, h.owner); !ok {
		return false, err
	}
	r := newRun(e, id, p, h.start.Input)
	other, err := e.register(r)
	if err != nil || other != nil {
		return false, err
	}
	err = e.takeUp(ctx, r, h)
	if err != nil {
		e.forget(r, err)
		close(r.started)
		if errors.Is(err, blackboard.ErrConflict) {
			return false, nil // somebody else took it up
		}
		return false, err
	}
	r.begun = r
	close(r.started)
	e.pool.do(func() { r.begin().work() })
	return true, nil
}

// program is the flow of h in its version; the zero Program if this engine does not
// know the flow at all.
func (e *Engine) program(h *history) (engine.Program, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if p, ok := e.programs[programID{h.flow, h.start.Version}]; ok {
		return p, nil
	}
	for id := range e.programs {
		if id.name == h.flow {
			return engine.Program{}, agent.ErrorOf(fmt.Errorf("%w: it is of version %d of flow %q, which this engine has not", engine.ErrDiverged, h.start.Version, h.flow))
		}
	}
	return engine.Program{}, nil
}
