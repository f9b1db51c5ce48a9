package local

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/convene-go/convene/orchestrator/engine"
)

// job is work for a goroutine of the pool.
type job interface{ work() }

// jobFunc is a job made of a function.
type jobFunc func()

func (f jobFunc) work() { f() }

// pool runs jobs on goroutines that it uses again, so that their stacks have
// grown already. It also limits the calls that are made at once.
type pool struct {
	limit int // calls at once; 0: no limit
	jobs  chan job
	quit  chan struct{}
	idle  atomic.Int64 // goroutines without a job

	mu      sync.Mutex
	active  int              // goroutines, without those left behind in an agent
	home    chan struct{}    // closed when none is left behind any more; nil: nothing waits
	left    map[*flight]bool // calls whose agents were left behind and still run
	calls   int              // that hold a place
	waiting []*flight        // for a place, first in, first out
	closed  bool
	ended   chan struct{} // closed once closed and nothing is active
}

// spare is how many goroutines without a job a pool keeps.
const spare = 64

func newPool(limit int) *pool {
	return &pool{limit: limit, jobs: make(chan job), quit: make(chan struct{}), left: map[*flight]bool{}, ended: make(chan struct{})}
}

// do runs j on a goroutine of the pool. After close it does nothing, and says so.
func (p *pool) do(j job) (done bool) {
	select {
	case p.jobs <- j:
		return true
	default:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spawn(j)
}

// spawn makes one more goroutine, which close waits for. p.mu is held.
func (p *pool) spawn(j job) (done bool) {
	if p.closed {
		return false
	}
	p.active++
	go p.run(j)
	return true
}

func (p *pool) run(j job) {
	defer p.exit()
	for {
		j.work()
		if p.idle.Add(1) > spare {
			p.idle.Add(-1)
			return
		}
		select {
		case j = <-p.jobs:
			p.idle.Add(-1)
		case <-p.quit:
			return
		}
	}
}

func (p *pool) exit() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.active--
	p.check()
}

// check notices the end. p.mu is held.
func (p *pool) check() {
	if !p.closed || p.active > 0 {
		return
	}
	select {
	case <-p.ended:
	default:
		close(p.ended)
	}
}

// call performs f, at once or when it gets a place.
func (p *pool) call(f *flight) {
	if p.limit > 0 {
		p.mu.Lock()
		if p.calls >= p.limit {
			p.waiting = append(p.waiting, f)
			p.mu.Unlock()
			return
		}
		p.calls++
		f.placed = true
		p.mu.Unlock()
	}
	p.do(f)
}

// free gives f's place, if it holds one, to the next call.
func (p *pool) free(f *flight) {
	if p.limit == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !f.placed {
		return
	}
	f.placed = false
	if len(p.waiting) == 0 {
		p.calls--
		return
	}
	next := p.waiting[0]
	p.waiting = p.waiting[1:]
	next.placed = true
	select {
	case p.jobs <- next:
	default:
		p.spawn(next)
	}
}

// withdraw performs f without a place, if it waits for one: it is canceled, and its
// agent is not called.
func (p *pool) withdraw(f *flight) {
	if p.limit == 0 {
		return
	}
	p.mu.Lock()
	i := slices.Index(p.waiting, f)
	if i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
	}
	p.mu.Unlock()
	if i >= 0 {
		p.do(f)
	}
}

// abandon stops waiting for the goroutine that is inside f's agent.
func (p *pool) abandon(f *flight) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left[f] = true
	p.active--
	p.check()
}

// welcome counts the goroutine again, whose agent has returned.
func (p *pool) welcome(f *flight) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.left, f)
	p.active++
	if len(p.left) == 0 && p.home != nil {
		close(p.home)
		p.home = nil
	}
}

// linger waits a little for agents that were left behind.
func (p *pool) linger(ctx context.Context) {
	p.mu.Lock()
	if len(p.left) == 0 {
		p.mu.Unlock()
		return
	}
	home := make(chan struct{})
	p.home = home
	p.mu.Unlock()
	wait := time.NewTimer(engine.DefaultGrace)
	defer wait.Stop()
	select {
	case <-home:
	case <-wait.C:
	case <-ctx.Done():
	}
}

// abandoned are the names of agents that were left behind and still run.
func (p *pool) abandoned() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for f := range p.left {
		names = append(names, f.name)
	}
	return names
}

// close waits for all jobs and ends the goroutines.
func (p *pool) close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.quit)
		p.check()
	}
	p.mu.Unlock()
	<-p.ended
}
