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
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// Sched is the scheduler of one run. Everything but fault, cur and ending belongs
// to the goroutine that executes at the moment: the driver or one branch.
type Sched struct {
	port engine.Port

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

	queue    [][]*effect      // calls that wait, by classes that are decided alike; the earliest first
	front    int64            // the place in line before all
	round    int64            // of decisions about calls that wait
	refusals []*effect        // calls that the log says will be refused, the next one first
	dropped  map[*effect]bool // calls under way that no branch waits for

	given   engine.Figures   // at the start
	figures engine.Figures   // now
	all     engine.Figure    // of all agents
	guesses map[string]int64 // by agent: calls under way whose reservation is a guess

	timed map[time.Duration]int // effects, by the time worked at which they end
	armed *engine.Op            // the time limit that the engine holds

	cur    atomic.Pointer[Branch] // the branch that executes; nil: the driver
	fault  atomic.Pointer[agent.Error]
	ending atomic.Bool
}

// New makes a run of body as the root branch, from what in says of budgets.
func New(port engine.Port, in engine.Input, body func(*Branch, *Scope)) *Sched {
	s := &Sched{port: port, depth: in.Depth, given: in.Figures}
	for name, f := range in.Figures { // the order does not matter to sums and maxima
		s.learn(name, f.Settled, amounts{onTokens: f.Most.Tokens, onCost: int64(f.Most.Cost)})
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
		s.cur.Store(b)
		_, alive := b.resume()
		s.cur.Store(nil)
		if !alive {
			s.finished(b)
		} else if e := b.wait; e != nil && e.phase == described && s.fault.Load() == nil {
			s.ask(e)
		}
	}
	s.ready = s.ready[:0]
	if s.armed != nil || len(s.timed) > 0 {
		s.arm()
	}
	if s.root.done {
		return s.children == 0, nil
	}
	if s.waiting == 0 {
		return false, flowError("deadlock: every branch waits for another one, and nothing is under way")
	}
	return false, nil
}

// effect is that of op; nil: the engine was not given it.
func (s *Sched) effect(op *engine.Op, did string) *effect {
	e, ok := op.Owner.(*effect)
	if !ok || e.branch == nil {
		s.broken("the engine %s an effect that it was not given", did)
		return nil
	}
	return e
}

// Complete implements engine.Execution.
func (s *Sched) Complete(c engine.Completion) {
	s.applied++
	if c.Op == nil {
		s.root.cancel(c.Err)
	} else if c.Op.Kind == engine.Limit {
		s.expire(c.Op)
	} else if e := s.effect(c.Op, "completed"); e != nil && e.phase == settled {
		s.broken("the engine completed effect %s twice", c.Op.Key())
	} else if e != nil {
		s.settle(e, c)
	}
	if len(s.queue)+len(s.refusals) > 0 {
		s.decideAll()
	}
}

// settle books what e used, in place of what was held for it, and gives its branch the
// result.
func (s *Sched) settle(e *effect, c engine.Completion) {
	e.phase = settled
	if e.queued { // the log is ahead of today's limits
		s.dequeue(e)
	}
	delete(s.dropped, e)
	var used providers.Usage
	switch {
	case c.Response != nil:
		used = c.Response.Usage
	case c.Err != nil:
		used = c.Err.Usage
	}
	left := c.Err != nil && errors.Is(c.Err, engine.ErrLeft)
	switch {
	case left:
		e.pinned = true
		held := e.reservation()
		held.add(minus(measure(&used)))
		s.book(e, &used, lost, held)
	case e.Kind == engine.Child && c.Err == nil:
		c.End = s.childEnd(e, c.Response, &used)
	default:
		seen := s.book(e, &used, nothing, amounts{})
		if e.Kind == engine.Call && (c.Err == nil || max(seen[onTokens], seen[onCost]) > 0) { // a failure that used nothing says nothing
			s.learn(e.Name, 1, seen)
		}
	}
	if e.Kind == engine.Child {
		s.children--
	}
	if e.branch.wait == e {
		s.resolve(e, c)
	}
}

// childEnd books how a child ended: what it used and lost, and what it learned.
func (s *Sched) childEnd(e *effect, r *agent.Response, used *providers.Usage) *engine.End {
	end := &engine.End{}
	if r != nil && len(r.Data) > 0 {
		if err := json.Unmarshal(r.Data, end); err != nil {
			s.broken("the end of child run %s cannot be read: %v", e.Key(), err)
		}
	}
	s.book(e, used, lost, amounts{end.Lost.Calls, end.Lost.Tokens, int64(end.Lost.Cost)})
	e.at, e.held = nothing, amounts{}  // it stays lost
	for name, f := range end.Figures { // the order does not matter: sums and maxima
		s.learn(name, f.Settled, amounts{onTokens: f.Most.Tokens, onCost: int64(f.Most.Cost)})
	}
	_, worked := s.port.Now()
	left := s.top.LeftAt(worked)
	over := min(left.Calls, left.Tokens, int64(left.Cost), int64(left.Wall)) < 0 || e.branch.canceled != nil
	if end.Err != nil && !over { // the child's budget is not the run's
		end.Err.Codes = slices.DeleteFunc(end.Err.Codes, func(c agent.Code) bool { return c == engine.ErrOver })
	}
	return end
}

// Charge implements engine.Execution. Until Lose, budgets hold what is reserved for a
// call under way, and not what it used beside that.
func (s *Sched) Charge(op *engine.Op, used providers.Usage) {
	s.applied++
	switch e := s.effect(op, "charged"); {
	case e == nil:
	case e.at == lost: // it was left behind, and what it really used is known
		e.charged = false
		seen := s.book(e, &used, lost, amounts{})
		if e.Kind == engine.Call && max(seen[onTokens], seen[onCost]) > 0 {
			s.learn(e.Name, 1, seen)
		}
	default:
		e.charged = true
		s.book(e, &used, kept, amounts{})
	}
	s.decideAll()
}

// broken stops the run: the flow's code broke a rule.
func (s *Sched) broken(format string, args ...any) {
	s.fault.CompareAndSwap(nil, flowError(format, args...))
}

func flowError(format string, args ...any) *agent.Error {
	return &agent.Error{Message: fmt.Sprintf(format, args...), Codes: []agent.Code{engine.ErrFlow}}
}

// Tally puts into end what the run used and lost, and what a child learned.
func (s *Sched) Tally(end *engine.End) {
	end.Spent = s.top.spent
	end.Lost = s.top.held[lost].lost()
	if s.depth > 0 {
		end.Figures = engine.Figures{}
	}
	for name, f := range s.figures { // the order does not matter to a map
		if f.Settled -= s.given[name].Settled; s.depth > 0 && f.Settled > 0 {
			end.Figures[name] = f
		}
	}
}
