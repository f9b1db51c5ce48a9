package local

import (
	"sync"
	"sync/atomic"
)

// pool runs jobs on goroutines that it uses again, so that their stacks have
// grown already.
type pool struct {
	limit int // agents' calls at once; 0: no limit
	jobs  chan func()
	quit  chan struct{}
	wg    sync.WaitGroup

	idle atomic.Int64 // goroutines without a job

	mu      sync.Mutex
	calls   int
	waiting []func() // calls over the limit, first in, first out
	closed  bool
}

// spare is how many goroutines without a job a pool keeps.
const spare = 64

func newPool(limit int) *pool {
	return &pool{limit: limit, jobs: make(chan func()), quit: make(chan struct{})}
}

// do runs job on a goroutine of the pool. After close it does nothing.
func (p *pool) do(job func()) {
	select {
	case p.jobs <- job:
		return
	default:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.wg.Go(func() { p.work(job) })
	}
}

// call runs job like do, as one of the calls that are limited.
func (p *pool) call(job func()) {
	if p.limit == 0 {
		p.do(job)
		return
	}
	p.mu.Lock()
	if p.calls >= p.limit {
		p.waiting = append(p.waiting, job)
		p.mu.Unlock()
		return
	}
	p.calls++
	p.mu.Unlock()
	p.do(func() { p.inTurn(job) })
}

// inTurn runs job and then those that wait for its place.
func (p *pool) inTurn(job func()) {
	for job != nil {
		job()
		p.mu.Lock()
		job = nil
		if len(p.waiting) > 0 {
			job = p.waiting[0]
			p.waiting = p.waiting[1:]
		} else {
			p.calls--
		}
		p.mu.Unlock()
	}
}

func (p *pool) work(job func()) {
	for {
		job()
		if !p.rest() {
			return
		}
		select {
		case job = <-p.jobs:
			p.idle.Add(-1)
		case <-p.quit:
			return
		}
	}
}

// rest tells whether one more goroutine may wait for a job.
func (p *pool) rest() bool {
	if p.idle.Add(1) <= spare {
		return true
	}
	p.idle.Add(-1)
	return false
}

// close waits for all jobs and ends the goroutines.
func (p *pool) close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.quit)
	}
	p.mu.Unlock()
	p.wg.Wait()
}
