package sched

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// Branch is one line of execution: a coroutine. Its methods are called from its
// own code alone; Check finds most of those who don't.
type Branch struct {
	s      *Sched
	path   string
	group  *Group // that it belongs to; nil: the root
	index  int    // in group
	resume func() bool
	yield  func() bool
	stop   func()

	effects  int64
	emits    int64
	children int

	spare    *effect      // used up, for the next effect
	start    *effect      // to be begun when the branch has given way
	wait     *effect      // what it waits for
	parked   bool         // it waits for its groups
	canceled *agent.Error // why
	shielded bool         // it was started under WithoutCancel
	groups   []*Group     // that it made
	limits   []*effect    // time limits of budgets that it made
	begun    bool
	done     bool
}

// Path names the branch: "" is the root, "0.2" the third branch of the first.
func (b *Branch) Path() string { return b.path }

// effect is an op with who waits for it.
type effect struct {
	engine.Op
	branch   *Branch
	scope    *Scope
	result   engine.Completion
	shielded bool
	reserved bool // it counts in the reservations of its scopes
	dead     bool // nobody waits for it any more
	settled  bool // its completion has come
}

// spawn makes a branch and puts it in line.
func (s *Sched) spawn(path string, g *Group, body func(*Branch)) *Branch {
	b := &Branch{s: s, path: path, group: g}
	b.resume, b.stop = s.spawner(func(yield func() bool) {
		b.yield, b.begun = yield, true
		returned := false
		defer func() {
			if v := recover(); v != nil {
				s.fault.CompareAndSwap(nil, &agent.Error{
					Message: fmt.Sprintf("panic in the flow's code: %v", v),
					Codes:   []agent.Code{engine.ErrFlow}, Stack: string(debug.Stack()),
				})
			} else if !returned && !s.ending.Load() {
				s.broken("the flow's code ended its goroutine in branch %q, by runtime.Goexit or FailNow of a test", path)
				b.yield() // until Leave: it would end the driver's goroutine too
			}
		}()
		body(b)
		returned = true
	})
	s.live = append(s.live, b)
	s.ready = append(s.ready, b)
	return b
}

// Check reports, as an error of the run, that a branch is used by somebody else:
// another branch, or a goroutine that the flow started. What is used while its
// own branch executes cannot be told from proper use; the race detector finds it.
func (b *Branch) Check() *agent.Error {
	if b.s.ending.Load() {
		if b.s.cur.Load() == b {
			runtime.Goexit() // a deferred function of a branch that is being unwound
		}
		return &agent.Error{Message: "the run is over: its Context was used by somebody who outlived it", Codes: []agent.Code{engine.ErrFlow}}
	}
	if b.s.cur.Load() != b {
		b.s.broken("the Context of branch %q was used by another branch or goroutine: use the one that the branch was given", b.path)
		return b.s.fault.Load()
	}
	return nil
}

// Fault stops the run: its code broke a rule.
func (b *Branch) Fault(format string, args ...any) { b.s.broken(format, args...) }

// block gives way to the driver until the branch is made ready again.
func (b *Branch) block() {
	if !b.yield() {
		runtime.Goexit()
	}
}

// await blocks until e is resolved. An effect whose completion has come is used
// again: nobody else holds it, except a question, whose end of time may still come.
func (b *Branch) await(e *effect) engine.Completion {
	b.wait = e
	b.block()
	result := e.result
	if e.settled && e.Kind != engine.Await {
		*e = effect{Op: engine.Op{Private: e.Private}}
		b.spare = e
	}
	return result
}

// resolve gives e its result and makes its branch ready.
func (e *effect) resolve(c engine.Completion) {
	e.dead = true
	e.result = c
	e.branch.wait = nil
	e.branch.s.waiting--
	e.branch.s.ready = append(e.branch.s.ready, e.branch)
}

// cancel makes every effect of b and of the branches that it started return
// ErrCanceled, now and from now on, but for those that are shielded.
func (b *Branch) cancel(why *agent.Error) {
	if b.canceled != nil || b.done || b.shielded {
		return
	}
	b.canceled = why
	if e := b.wait; e != nil && !e.shielded {
		e.abandon(why)
	}
	for _, g := range b.groups {
		g.cancel(why)
	}
}

// bequeath lets a cancel reach what b leaves running: through the nearest branch
// above it that has not ended.
func (b *Branch) bequeath() {
	heir := b.group.owner
	for heir.done {
		heir = heir.group.owner
	}
	for _, g := range b.groups {
		if g.run > 0 && !b.shielded {
			heir.groups = append(heir.groups, g)
		}
	}
}

// abandon gives e up: its branch goes on with the error, and what e has cost is
// counted when its completion comes. A child is told to end and waited for, so
// that what it has so far is not lost.
func (e *effect) abandon(why *agent.Error) {
	if e.Kind == engine.Child {
		e.branch.s.port.Cancel(&e.Op)
		return
	}
	e.scope.release(e)
	e.branch.s.port.Cancel(&e.Op)
	e.resolve(engine.Completion{Op: &e.Op, Err: why})
}

// withdraw tells the engine that nobody wants the effects any more that the root
// left behind when it ended.
func (s *Sched) withdraw() {
	for _, b := range slices.Backward(s.live) {
		if b.done {
			continue
		}
		if e := b.wait; e != nil {
			s.port.Cancel(&e.Op)
		}
		b.dropLimits()
	}
}

// Leave ends every branch that is still there, the youngest first.
func (s *Sched) Leave() {
	s.ending.Store(true)
	for _, b := range slices.Backward(s.live) {
		if b.done {
			continue
		}
		b.done = true
		if !b.begun {
			b.stop()
			continue
		}
		s.cur.Store(b)
		var wg sync.WaitGroup
		wg.Go(b.stop) // stop passes the branch's Goexit on to its caller
		wg.Wait()
		s.cur.Store(nil)
	}
}

// dropLimits stops the time limits of budgets that b made.
func (b *Branch) dropLimits() {
	for _, e := range b.limits {
		if !e.dead {
			e.dead = true
			b.s.waiting--
			b.s.port.Cancel(&e.Op)
		}
	}
	b.limits = nil
}

func (b *Branch) childPath() string {
	p := strconv.Itoa(b.children)
	b.children++
	if b.path != "" {
		p = b.path + "." + p
	}
	return p
}
