// Package sched runs the branches of one run over a port: cooperatively, one at a
// time, in an order that depends only on the order in which the port hands out
// completions. So flow code needs no locks, and a replay repeats every
// interleaving.
//
// It knows effects, branches, cancellation and budgets. Types and their JSON are
// package orchestrator's, on top.
//
// Budgets decide at two places alone: when a branch asks for a call, and when
// something of the log was applied (Complete, Charge, Lose). So neither starts nor
// waits have to be recorded.
package sched

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// Sched is the scheduler of one run. Everything but fault, cur and ending belongs
// to the goroutine that executes at the moment: the driver or one branch.
type Sched struct {
	port    engine.Port
	spawner func(body func(yield func() bool)) (resume func() bool, stop func())

	ready    []*Branch // first in, first out
	live     []*Branch // in order of spawn; those that ended are swept out now and then
	ended    int       // of live
	waiting  int       // effects that a branch waits for
	children int       // under way
	root     *Branch

	top      *Scope // the run's budget
	depth    int    // runs around this one
	applied  int64  // calls of Complete, Charge and Lose
	asked    int64  // effects
	round    int64  // of decisions about calls that wait
	queue    queue
	dropped  map[*effect]bool // calls under way that no branch waits for
	refusals []*effect        // calls that the log says will be refused
	refused  int64            // calls and children so far
	losses   int64            // resumptions that lost calls
	lost     amounts          // in all

	figures map[string]*figure
	most    engine.Amount // of all agents
	learned bool          // any figure at all

	timed []*Scope   // with effects that end at their time, the earliest first
	armed *engine.Op // the time limit that the engine holds

	cur    atomic.Pointer[Branch] // the branch that executes; nil: the driver
	fault  atomic.Pointer[agent.Error]
	ending atomic.Bool
}

// New makes a run of body as the root branch, from what in says of budgets.
func New(port engine.Port, in engine.Input, body func(*Branch, *Scope)) *Sched {
	s := &Sched{port: port, spawner: engine.Pull, depth: in.Depth, figures: map[string]*figure{}, dropped: map[*effect]bool{}}
	if sp, ok := port.(engine.Spawner); ok {
		s.spawner = sp.Spawn
	}
	for name, f := range in.Figures { // the order does not matter to a maximum
		s.figures[name] = &figure{Figure: f}
		s.most, s.learned = most(s.most, f.Most), true
	}
	s.root = s.spawn("", nil, func(b *Branch) {
		s.top = b.Scope(nil, in.Budget)
		body(b, s.top)
	})
	return s
}

// Advance executes ready branches until every one waits, or the root and all
// children have ended (done). A broken rule, a panic and a deadlock are errors.
func (s *Sched) Advance() (done bool, err error) {
	for i := 0; ; i++ { // ready grows while it is walked
		if f := s.fault.Load(); f != nil {
			return false, f
		}
		if i == len(s.ready) || s.root.done {
			break
		}
		b := s.ready[i]
		s.ready[i] = nil
		s.execute(b)
	}
	s.ready = s.ready[:0]
	s.arm()
	if s.root.done {
		return s.children == 0, nil
	}
	if s.waiting == 0 {
		return false, flowError("deadlock: every branch waits for another one, and nothing is under way")
	}
	return false, nil
}

// execute lets b run until it waits or ends.
func (s *Sched) execute(b *Branch) {
	for {
		s.cur.Store(b)
		alive := b.resume()
		s.cur.Store(nil)
		if !alive {
			s.finished(b)
			return
		}
		if b.wait == nil || b.wait.seq > 0 || s.fault.Load() != nil || s.begin(b.wait) {
			return
		}
	}
}

// Complete implements engine.Execution.
func (s *Sched) Complete(c engine.Completion) {
	s.applied++
	switch {
	case c.Op == nil:
		s.root.cancel(marked(c.Err))
	case c.Op.Kind == engine.Limit:
		s.expire(c.Op)
	default:
		s.complete(c)
	}
	s.decide()
}

func (s *Sched) complete(c engine.Completion) {
	e, ok := c.Op.Owner.(*effect)
	switch {
	case !ok || e.branch == nil:
		s.broken("the engine completed an effect that it was not given")
		return
	case e.settled:
		s.broken("the engine completed effect %s twice", c.Op.Key())
		return
	}
	e.settled = true
	if e.budgeted() {
		s.settle(e, &c)
	}
	if !e.dead() {
		s.resolve(e, c)
	}
}

// broken stops the run: the flow's code broke a rule.
func (s *Sched) broken(format string, args ...any) {
	s.fault.CompareAndSwap(nil, flowError(format, args...))
}

func flowError(format string, args ...any) *agent.Error {
	return &agent.Error{Message: fmt.Sprintf(format, args...), Codes: []agent.Code{engine.ErrFlow}}
}

// finished takes b, which has ended, out of the run. With the root all effects end;
// children are waited for.
func (s *Sched) finished(b *Branch) {
	b.done = true
	s.ended++
	if s.ended > 64 && s.ended > len(s.live)/2 {
		s.live = slices.DeleteFunc(s.live, func(b *Branch) bool { return b.done })
		s.ended = 0
	}
	switch {
	case b.group != nil:
		b.reparentGroups()
		b.group.finished(b)
	case s.fault.Load() == nil:
		for _, b := range slices.Backward(s.live) {
			if b.wait != nil {
				s.abandon(b.wait, nil)
			}
		}
	}
}
