package local

import (
	"context"
	"slices"
	"sync"

	"github.com/convene-go/convene/orchestrator/engine"
)

// job is work for a goroutine of the pool: it returns what that goroutine does next,
// or nil.
type job interface{ work() job }

// jobFunc is a job that nothing follows.
type jobFunc func()

func (f jobFunc) work() job {
	f()
	return nil
}

// pool counts the goroutines of an engine, and limits the calls that are made at once.
type pool struct {
	limit int // calls at once; 0: no limit

	mu      sync.Mutex
	changed sync.Cond        // active or left
	active  int              // goroutines, without those left behind in an agent
	left    map[*flight]bool // calls whose agents were left behind and still run
	calls   int              // that hold a place
	waiting []*flight        // for a place, first in, first out
	closed  bool
}

func newPool(limit int) *pool {
	p := &pool{limit: limit, left: map[*flight]bool{}}
	p.changed.L = &p.mu
	return p
}

// do runs j, and what follows from it, on a goroutine that close waits for. After
// close it does nothing.
func (p *pool) do(j job) {
	if j == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed || p.active > 0 {
		p.active++
		go p.run(j)
	}
}

func (p *pool) run(j job) {
	defer func() { // also where an agent ends the goroutine
		p.mu.Lock()
		defer p.mu.Unlock()
		p.active--
		p.changed.Broadcast()
	}()
	for j != nil {
		j = j.work()
	}
}

// admit gives f a place, or has it wait for one.
func (p *pool) admit(f *flight) bool {
	if p.limit == 0 {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	f.placed = p.calls < p.limit
	if f.placed {
		p.calls++
	} else {
		p.waiting = append(p.waiting, f)
	}
	return f.placed
}

// free gives the place of f, if it holds one, to the next call.
func (p *pool) free(f *flight) {
	if p.limit == 0 {
		return
	}
	p.mu.Lock()
	var next job
	switch {
	case !f.placed:
	case len(p.waiting) == 0:
		p.calls--
	default:
		p.waiting[0].placed = true
		next, p.waiting = p.waiting[0], p.waiting[1:]
	}
	f.placed = false
	p.mu.Unlock()
	p.do(next)
}

// withdraw takes those calls that wait for a place out of the line, and returns them.
func (p *pool) withdraw(calls []*flight) (waiting []*flight) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		return nil
	}
	for _, f := range calls {
		f.withdrawn = true
	}
	p.waiting = slices.DeleteFunc(p.waiting, func(f *flight) bool {
		if f.withdrawn {
			waiting = append(waiting, f)
		}
		return f.withdrawn
	})
	return waiting
}

// abandon stops waiting for the goroutine that is inside f's agent; welcome counts
// it again, when the agent has returned.
func (p *pool) abandon(f *flight) {
	p.free(f)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left[f] = true
	p.active--
	p.changed.Broadcast()
}

func (p *pool) welcome(f *flight) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.left, f)
	p.active++
	p.changed.Broadcast()
}

// close waits until no goroutine is active.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for p.active > 0 {
		p.changed.Wait()
	}
}

// linger waits a little for agents that were left behind, and names those that still
// run.
func (p *pool) linger(ctx context.Context) (names []string) {
	ctx, cancel := context.WithTimeout(ctx, engine.DefaultGrace)
	defer cancel()
	p.mu.Lock()
	defer p.mu.Unlock()
	defer context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.changed.Broadcast()
	})()
	for len(p.left) > 0 && ctx.Err() == nil {
		p.changed.Wait()
	}
	for f := range p.left {
		names = append(names, f.task.Info.Agent)
	}
	return names
}
