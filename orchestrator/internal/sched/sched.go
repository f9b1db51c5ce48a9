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
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
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

	top     *Scope // the run's budget
	depth   int    // runs around this one
	applied int64  // calls of Complete, Charge and Lose
	asked   int64  // effects
	refused int64  // calls and children so far
	losses  int64  // resumptions that lost calls

	classes  map[classKey]*class // of calls that wait
	queue    []*class            // these, and some that are empty by now
	front    int64               // the smallest place in line, not above 0
	round    int64               // of decisions about calls that wait
	refusals []*effect           // calls that the log says will be refused, the next one first
	dropped  map[*effect]bool    // calls under way that no branch waits for

	figures map[string]*figure
	all     engine.Figure // of all agents

	limits []time.Duration       // times at which effects end, the earliest first
	timed  map[time.Duration]int // how many effects; 0: its limit is not needed any more
	armed  *engine.Op            // the time limit that the engine holds

	cur    atomic.Pointer[Branch] // the branch that executes; nil: the driver
	fault  atomic.Pointer[agent.Error]
	ending atomic.Bool
}

// New makes a run of body as the root branch, from what in says of budgets.
func New(port engine.Port, in engine.Input, body func(*Branch, *Scope)) *Sched {
	s := &Sched{
		port: port, spawner: engine.Pull, depth: in.Depth,
		classes: map[classKey]*class{}, dropped: map[*effect]bool{}, figures: map[string]*figure{}, timed: map[time.Duration]int{},
	}
	if sp, ok := port.(engine.Spawner); ok {
		s.spawner = sp.Spawn
	}
	for name, f := range in.Figures { // the order does not matter to sums and maxima
		s.learn(name, f)
		s.figures[name].own = engine.Figure{}
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
	for i := 0; ; { // ready grows while it is walked
		if f := s.fault.Load(); f != nil {
			return false, f
		}
		if i == len(s.ready) || s.root.done {
			break
		}
		b := s.ready[i]
		s.cur.Store(b)
		alive := b.resume()
		s.cur.Store(nil)
		if !alive {
			s.finished(b)
		} else if e := b.wait; e != nil && e.phase == described && s.fault.Load() == nil && !s.ask(e) {
			continue // it is refused: its branch continues at once
		}
		s.ready[i] = nil
		i++
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

// Charge implements engine.Execution.
func (s *Sched) Charge(op *engine.Op, used providers.Usage) {
	s.applied++
	e, ok := op.Owner.(*effect)
	if !ok || e.branch == nil {
		s.broken("the engine charged an effect that it was not given")
		return
	}
	e.scope.charge(&used)
	switch {
	case e.at == lost: // it was left behind, and what it really used is known
		s.hold(e, lost, amounts{})
		s.learnOf(e, &used, false)
	case e.phase != settled:
		e.charged = true
	}
	s.decide()
}

// Lose implements engine.Execution.
func (s *Sched) Lose() {
	s.applied++
	calls := slices.Collect(maps.Keys(s.dropped))
	clear(s.dropped)
	for _, b := range s.live {
		if e := b.wait; e != nil && e.Kind == engine.Call && e.class == nil {
			calls = append(calls, e)
		}
	}
	slices.SortFunc(calls, func(a, b *effect) int { return cmp.Compare(b.place, a.place) })
	var sum amounts
	for _, e := range calls { // the latest first: each goes before all that wait
		s.hold(e, nothing, amounts{})
		if !e.charged {
			sum.add(e.reservation())
			e.scope.count(lost, e.reservation())
		}
		e.charged = false
		switch {
		case e.branch.wait != e:
			e.phase = settled
		case !e.shielded:
			s.front--
			e.place = s.front
			s.enqueue(e)
		}
	}
	if sum[onCalls] > 0 {
		s.emit(blackboard.Record{Kind: blackboard.Lost, N: s.losses}, sum.lost())
		s.losses++
	}
	s.decide()
	for _, e := range slices.Backward(calls) {
		if e.class != nil && !e.known.Made { // it waits now
			s.cancel(e)
			e.phase = asked
		}
	}
}

// broken stops the run: the flow's code broke a rule.
func (s *Sched) broken(format string, args ...any) {
	s.fault.CompareAndSwap(nil, flowError(format, args...))
}

func flowError(format string, args ...any) *agent.Error {
	return &agent.Error{Message: fmt.Sprintf(format, args...), Codes: []agent.Code{engine.ErrFlow}}
}

func (s *Sched) emit(r blackboard.Record, data any) {
	var err error
	if r.Data, err = engine.Encode(data); err != nil { // cannot be: it is plain data
		s.broken("a %s record has no JSON form: %v", r.Kind, err)
	}
	s.port.Emit(r)
}

// Tally puts into end what the run used and lost, and what a child learned.
func (s *Sched) Tally(end *engine.End) {
	end.Spent = s.top.spent
	end.Lost = s.top.held[lost].lost()
	if s.depth > 0 {
		end.Figures = s.report(func(f *figure) engine.Figure { return f.own })
	}
}
