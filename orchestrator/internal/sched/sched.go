package sched

import (
	"fmt"
	"sync/atomic"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// Sched is the scheduler of one run. Everything but fault and cur belongs to the
// goroutine that executes at the moment: the driver or one branch.
type Sched struct {
	port    engine.Port
	spawner func(body func(yield func() bool)) (resume func() bool, stop func())

	ready   []*Branch // first in, first out
	live    []*Branch // in order of spawn; those that ended are swept out now and then
	ended   int       // of live
	waiting int       // effects that a branch or a budget waits for
	root    *Branch

	cur    atomic.Pointer[Branch] // the branch that executes; nil: the driver
	fault  atomic.Pointer[agent.Error]
	ending atomic.Bool
}

// New makes a run of body as the root branch, under the given budget.
func New(port engine.Port, limit engine.Budget, body func(*Branch, *Scope)) *Sched {
	s := &Sched{port: port, spawner: engine.Pull}
	if sp, ok := port.(engine.Spawner); ok {
		s.spawner = sp.Spawn
	}
	s.root = s.spawn("", nil, func(b *Branch) { body(b, b.Scope(nil, limit)) })
	return s
}

// Advance executes ready branches until every one waits, or the root has ended
// (done). A broken rule, a panic and a deadlock are errors.
func (s *Sched) Advance() (done bool, err error) {
	if f := s.fault.Load(); f != nil { // of a completion, or of a goroutine meanwhile
		return false, f
	}
	for i := 0; i < len(s.ready); i++ { // grows while it is walked
		b := s.ready[i]
		s.ready[i] = nil
		s.execute(b)
		if f := s.fault.Load(); f != nil {
			return false, f
		}
		if s.root.done {
			s.withdraw()
			return true, nil
		}
	}
	s.ready = s.ready[:0]
	if s.waiting == 0 {
		return false, &agent.Error{Message: "deadlock: every branch waits for another one, and nothing is under way", Codes: []agent.Code{engine.ErrFlow}}
	}
	return false, nil
}

// execute lets b run until it waits or ends.
func (s *Sched) execute(b *Branch) {
	s.cur.Store(b)
	alive := b.resume()
	s.cur.Store(nil)
	switch {
	case !alive:
		s.finished(b)
	case b.start != nil:
		e := b.start
		b.start = nil
		s.port.Start(&e.Op)
	}
}

// Complete hands c to whoever waits for it.
func (s *Sched) Complete(c engine.Completion) {
	if c.Op == nil {
		s.root.cancel(c.Err)
		return
	}
	e, ok := c.Op.Owner.(*effect)
	if !ok {
		s.broken("the engine completed an effect that it was not given")
		return
	}
	if c.Op.Kind == engine.Limit {
		if e.dead {
			return
		}
		e.dead = true
		s.waiting--
		s.expire(e.scope)
		return
	}
	if e.settled {
		s.broken("the engine completed effect %s twice", c.Op.Key())
		return
	}
	e.settled = true
	e.scope.settle(e, c)
	if e.dead { // canceled while its completion was under way
		return
	}
	e.resolve(c)
}

// broken stops the run: the flow's code broke a rule.
func (s *Sched) broken(format string, args ...any) {
	s.fault.CompareAndSwap(nil, &agent.Error{Message: fmt.Sprintf(format, args...), Codes: []agent.Code{engine.ErrFlow}})
}

// finished takes b, which has ended, out of the run.
func (s *Sched) finished(b *Branch) {
	b.done = true
	b.dropLimits()
	s.ended++
	if s.ended > 64 && s.ended > len(s.live)/2 {
		s.sweep()
	}
	if b.group != nil {
		b.bequeath()
		b.group.finished(b)
	}
}

// sweep forgets branches that have ended.
func (s *Sched) sweep() {
	n := 0
	for _, b := range s.live {
		if !b.done {
			s.live[n] = b
			n++
		}
	}
	clear(s.live[n:])
	s.live = s.live[:n]
	s.ended = 0
}
