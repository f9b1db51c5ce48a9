// Package jobs has the goroutines of an engine, each of which is counted, so that Close
// can wait for all.
//
// The idea: work that follows from other work stays on the same goroutine. A [Job]
// returns the next one, as in "commit this record, then drive its run, then make the
// call that the run asks for". Nothing is woken, and a run costs no goroutine while it
// waits.
//
// Invariants: every goroutine of an engine is started by Do, or by an errgroup or
// WaitGroup of its owner. Close returns when no counted goroutine is left; one that is
// inside an agent that does not return is not counted between Uncount and Count.
//
// # Files
//
//   - jobs.go: the pool and its jobs
package jobs

import "sync"

// Job is work for a goroutine of a [Pool]. Work returns what that goroutine does next,
// or nil.
type Job interface{ Work() Job }

// Func is a Job that nothing follows.
type Func func()

// Work implements [Job].
func (f Func) Work() Job {
	f()
	return nil
}

// Pool counts goroutines. The zero value is ready to use. It is safe for concurrent use.
type Pool struct {
	mu      sync.Mutex
	changed sync.Cond // signals a change of active; Close gives it mu
	active  int       // goroutines that Close waits for
	closed  bool
}

// Do runs j, and what follows from it, on a goroutine of its own. It does nothing with a
// nil j, or when Close has returned.
func (p *Pool) Do(j Job) {
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

func (p *Pool) run(j Job) {
	defer p.Uncount() // the count is right even if an agent ends the goroutine
	for j != nil {
		j = j.Work()
	}
}

// Uncount has Close not wait for the calling goroutine any more: it is inside an agent
// that ignores its context.
func (p *Pool) Uncount() { p.add(-1) }

// Count has Close wait again for a goroutine that was uncounted.
func (p *Pool) Count() { p.add(1) }

func (p *Pool) add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.active += n
	p.changed.Broadcast()
}

// Close waits until no counted goroutine is left. A job that runs meanwhile may start
// others. When Close has returned, none starts any more, but by a goroutine that is
// counted again later.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed, p.changed.L = true, &p.mu
	for p.active > 0 {
		p.changed.Wait()
	}
}
