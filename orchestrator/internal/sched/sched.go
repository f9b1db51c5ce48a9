// Package sched executes the branches of one run over an [engine.Port]. Branches are
// coroutines: one executes at a time, and gives way only when it waits. It knows effects,
// branches, cancellation and budgets. Package orchestrator adds types and their JSON.
//
// A branch describes an effect (Op) and waits for it (Do). Advance executes branches until
// all wait; then it gives each new effect to the port, refuses it, or queues it until its
// budgets have room. The engine applies the log by Complete, Charge and Lose, and calls
// Advance after each. One call, as the engine sees it:
//
//	s.Advance()   // the flow asks for a call: port.Start(op)
//	s.Complete(c) // c.Op is op: its usage is booked, its branch is ready
//	s.Advance()   // the branch continues behind Do, until it waits again or ends
//
// What holds at any time:
//
//   - The order of execution depends only on the order of Complete, Charge and Lose. So
//     flow code needs no locks, and a replay repeats every interleaving.
//   - Budgets decide only when a branch asks, and when the log was applied. So neither
//     starts nor waits are recorded; refusals and losses are.
//   - Only book changes what budgets count. An amount is reserved, shared, lost or spent,
//     and in one of these only.
//   - A recorded decision overrides what budgets say now.
//   - What was paid is counted: a run is done when no call is under way any more, given up
//     or not.
//
// Files, from the top: sched (the run), branch, group, effect, budget (decisions), queue
// (calls that wait), lose, scope (what budgets count), wall (time limits), why (errors).
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

// Sched is the scheduler of one run. Only the goroutine that executes at the moment, the
// driver or one branch, uses its fields, except fault, cur and ending.
type Sched struct {
	port engine.Port

	ready    []*Branch // branches to be executed, first in, first out
	live     []*Branch // branches in order of spawn; ended ones are removed now and then
	ended    int       // number of branches in live that have ended
	waiting  int       // number of branches that wait for an effect
	children int       // number of children under way
	root     *Branch

	top     *Scope // the run's budget
	depth   int    // number of runs around this one
	edition int    // edition of the rules that its budgets follow
	applied int64  // number of calls of Complete, Charge and Lose
	asked   int64  // number of effects so far
	refused int64  // number of refused calls and children so far
	losses  int64  // number of Lost records so far

	queue    [][]*effect      // calls that wait, by classes (see alike), the earliest first
	front    int64            // place of the first lost call; others have places above
	round    int64            // number of the round of decisions about calls that wait
	refusals []*effect        // calls that the log refuses later, the next one first
	dropped  map[*effect]bool // calls under way that no branch waits for

	byAgent map[string]*providers.Usage // sum of what was booked, by agent and by flow of children
	given   engine.Figures              // figures of agents at the start
	figures engine.Figures              // figures of agents now
	all     engine.Figure               // figure of all agents together
	guesses map[string]int64            // number of calls under way whose reservation is a guess, by agent

	timed map[time.Duration]int // number of effects, by the time worked at which they end
	armed *engine.Op            // the time limit that the engine holds; nil: none

	cur    atomic.Pointer[Branch]      // the branch that executes; nil: the driver
	fault  atomic.Pointer[agent.Error] // the reason why the run stops; nil: it does not
	ending atomic.Bool                 // Leave was called
}

// New returns a run with body as its root branch, under the budget of in. Nothing is
// executed yet.
func New(port engine.Port, in engine.Input, body func(*Branch, *Scope)) *Sched {
	s := &Sched{port: port, depth: in.Depth, edition: in.Edition, given: in.Figures, byAgent: map[string]*providers.Usage{}}
	for name, f := range in.Figures { // the order does not matter to sums and maxima
		s.learn(name, f.Settled, amounts{f.Most.Calls, f.Most.Tokens, int64(f.Most.Cost)})
	}
	s.root = s.spawn("", nil, func(b *Branch) {
		s.top = b.Scope(nil, in.Budget)
		body(b, s.top)
	})
	return s
}

// Advance implements engine.Execution: it executes ready branches until every one waits,
// or the root has ended, all children have, and all calls that the flow gave up are
// settled (done). A broken rule, a panic and a deadlock are errors.
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
		return s.children == 0 && len(s.dropped) == 0, nil
	}
	if s.waiting == 0 {
		return false, flowError("deadlock: every branch waits for another one, and nothing is under way")
	}
	return false, nil
}

// effect returns the effect of op. It is nil, and a fault, if the engine was not given
// op; did is what the engine did with it.
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
		if e.Kind == engine.Call && (c.Err == nil || seen.something()) { // else it says nothing
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

// childEnd books what a child used, lost and learned, and returns how it ended. Its
// response r may be nil.
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
		s.learn(name, f.Settled, amounts{f.Most.Calls, f.Most.Tokens, int64(f.Most.Cost)})
	}
	_, worked := s.port.Now()
	left := s.top.LeftAt(worked)
	over := min(left.Calls, left.Tokens, int64(left.Cost), int64(left.Wall)) < 0 || e.branch.canceled != nil
	if end.Err != nil { // the child's rules are not the run's, nor is its budget
		if !over && errors.Is(end.Err, engine.ErrOver) && errors.Is(end.Err, engine.ErrBudget) {
			end.Err.Codes = append(end.Err.Codes, engine.ErrChildOver)
		}
		end.Err.Codes = slices.DeleteFunc(end.Err.Codes, func(c agent.Code) bool { return c == engine.ErrRule || c == engine.ErrOver && !over })
	}
	return end
}

// Charge implements engine.Execution. Until the call is settled or lost, its reservation
// counts against limits, and the charge does not.
func (s *Sched) Charge(op *engine.Op, used providers.Usage) {
	s.applied++
	switch e := s.effect(op, "charged"); {
	case e == nil:
	case e.at == lost: // it was left behind, and what it really used is known
		seen := s.book(e, &used, lost, amounts{})
		if e.Kind == engine.Call && seen.something() {
			s.learn(e.Name, 1, seen)
		}
	default:
		e.charged = true
		s.book(e, &used, kept, amounts{})
	}
	s.decideAll()
}

// broken stops the run: the flow or the engine broke a rule. The first reason stays.
func (s *Sched) broken(format string, args ...any) {
	s.fault.CompareAndSwap(nil, flowError(format, args...))
}

// flowError returns the error of a flow that broke a rule.
func flowError(format string, args ...any) *agent.Error {
	return &agent.Error{Message: fmt.Sprintf(format, args...), Codes: []agent.Code{engine.ErrFlow, engine.ErrRule}}
}

// Tally sets in end what the run used and lost, and of a child what it learned.
func (s *Sched) Tally(end *engine.End) {
	end.Spent = s.top.spent
	end.Lost = s.top.held[lost].lost()
	end.ByAgent = map[string]providers.Usage{}
	for name, used := range s.byAgent { // the order does not matter to a map
		end.ByAgent[name] = *used
	}
	if s.depth > 0 {
		end.Figures = engine.Figures{}
	}
	for name, f := range s.figures { // the order does not matter to a map
		if f.Settled -= s.given[name].Settled; s.depth > 0 && f.Settled > 0 {
			end.Figures[name] = f
		}
	}
}
