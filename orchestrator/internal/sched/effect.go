package sched

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// Options say which budget an effect is made under, and whether a cancel or an
// empty budget stops it.
type Options struct {
	Scope    *Scope // required
	Shielded bool
}

// effect is an op with the branch that waits for it. Its branch uses it again for
// the next effect if the engine cannot hold it any more.
type effect struct {
	engine.Op
	branch *Branch
	scope  *Scope
	place  int64 // in the order in which effects were asked for, or, where it was lost, before all
	phase  phase

	response *agent.Response // its result
	err      *agent.Error
	end      *engine.End

	known   engine.Recorded   // what the log knows of a call or a child
	cost    providers.NanoUSD // of a call: Limits.Cost as the flow set it
	until   time.Duration     // when it ends by a time limit; 0: never
	at      account           // where held counts
	held    amounts           // nowhere: what a call wants
	guessed bool              // some of it is what other calls used
	class   *class            // of a call that waits for room in a budget

	shielded bool
	charged  bool // what it used was charged before its completion
	pinned   bool // it is not used again: the engine or Sched.refusals may hold it
}

// phase is where an effect is.
type phase uint8

const (
	described phase = iota
	asked           // for, and not started
	started         // the engine has it
	canceled        // the engine was told to cancel it
	settled         // its completion has come, or it was lost or refused
)

// budgeted reports whether limits on calls, tokens and cost apply to e.
func (e *effect) budgeted() bool { return e.Kind == engine.Call || e.Kind == engine.Child }

// recorded reports whether the log knows e.
func (e *effect) recorded() bool { return e.known.Made || e.known.Refused != nil }

// Op is an effect of b, to be described and then done. It is b's until Do returns.
func (b *Branch) Op(kind engine.Kind, name string) *engine.Op {
	var e *effect
	if b.s.cur.Load() == b { // else Do says what is wrong
		e, b.spare = b.spare, nil
	}
	if e == nil {
		e = &effect{}
		e.Owner = e
	}
	e.Kind, e.Name = kind, name
	return &e.Op
}

// Do makes an effect, which Op made, and waits for it. Branch and N of op are set
// here; of a child also what its Input says of budgets.
func (b *Branch) Do(o Options, op *engine.Op) engine.Completion {
	e, _ := op.Owner.(*effect)
	var c engine.Completion
	if c.Err = b.Check(); c.Err != nil {
		return c
	}
	switch {
	case b.canceled != nil && !o.Shielded:
		c.Err = b.canceled
	case e.Kind == engine.Child && b.s.depth >= engine.MaxDepth:
		c.Err = errTooDeep
	default:
		e.branch, e.scope, e.shielded = b, o.Scope, o.Shielded
		e.Branch, e.N = b.path, b.effects
		e.pinned = e.Kind == engine.Await // the end of its time may come after the answer
		b.effects++
		b.wait = e // Advance asks for it: not on b's stack, which stays small
		b.block()
		c = engine.Completion{Response: e.response, Err: e.err, End: e.end}
	}
	if !e.pinned {
		private := e.Private
		*e = effect{}
		e.Owner, e.Private, b.spare = e, private, e
	}
	return c
}

var errTooDeep = flowError("child runs are nested more than %d deep: does the flow start itself?", engine.MaxDepth)

// ask has budgets decide about e: it starts, or waits for room, or is refused
// (false). What the log says stands over what they say.
func (s *Sched) ask(e *effect) bool {
	s.asked++
	e.place, e.phase = s.asked, asked
	var waits bool
	var why *agent.Error
	if !e.shielded {
		if e.budgeted() {
			e.known = s.port.Recorded(e.Branch, e.N)
		}
		if e.Kind == engine.Call {
			e.cost = e.Request.Limits.Cost
		}
		switch r := e.known.Refused; {
		case r != nil && (e.Kind == engine.Child || s.applied >= r.After):
			why = r.Err
		case s.late(e.scope) && !e.recorded():
			why = timeIsUp(e.scope.due)
		default:
			if len(s.classes) == 0 {
				s.round++ // no call waits for anything
			}
			waits, why = s.judge(e)
		}
	}
	if why != nil {
		e.err = s.refuse(e, why)
		e.branch.wait = nil
		return false
	}
	if r := e.known.Refused; r != nil {
		i, _ := slices.BinarySearchFunc(s.refusals, r.Nth, func(e *effect, nth int64) int { return cmp.Compare(e.known.Refused.Nth, nth) })
		s.refusals = slices.Insert(s.refusals, i, e)
		e.pinned = true
	}
	switch {
	case !waits:
		s.admit(e)
	case e.known.Made:
		s.enqueue(e)
		s.start(e)
	default:
		s.enqueue(e)
	}
	s.waiting++
	s.time(e)
	return true
}

// admit counts e in its budgets and starts it.
func (s *Sched) admit(e *effect) {
	switch {
	case e.Kind == engine.Child:
		s.setAside(e)
	case e.Kind == engine.Call && !e.shielded && e.scope.limited != [3]bool{}:
		s.reserve(e)
	}
	s.start(e)
}

func (s *Sched) start(e *effect) {
	if e.phase == asked {
		e.phase = started
		s.port.Start(&e.Op)
	}
}

// cancel tells the engine, once, that the result of e is not wanted any more.
func (s *Sched) cancel(e *effect) {
	if e.phase == started {
		e.phase, e.pinned = canceled, true
		s.port.Cancel(&e.Op)
	}
}

// abandon cancels e: its branch continues with the error. A call is settled when
// its completion comes. A child is told to end and waited for, so that what it has
// so far is not lost.
func (s *Sched) abandon(e *effect, why *agent.Error) {
	s.untime(e)
	s.dequeue(e)
	s.cancel(e)
	if e.Kind == engine.Child {
		return
	}
	if e.Kind == engine.Call && e.phase == canceled {
		s.dropped[e] = true
	}
	s.resolve(e, engine.Completion{Err: why})
}

// refuse records that a budget refuses e, where that is a call or a child, and
// returns why.
func (s *Sched) refuse(e *effect, why *agent.Error) *agent.Error {
	if !e.budgeted() {
		return why
	}
	d := engine.RefusedData{Err: why, After: s.applied, Nth: s.refused}
	if e.known.Refused != nil {
		d = *e.known.Refused
	}
	s.refused++
	s.emit(blackboard.Record{Kind: blackboard.Refused, Branch: e.Branch, N: e.N, Name: e.Name}, d)
	return d.Err
}

// turnAway refuses a call that waits or was under way.
func (s *Sched) turnAway(e *effect, why *agent.Error) {
	s.dequeue(e)
	s.hold(e, nothing, amounts{})
	why = s.refuse(e, why)
	s.cancel(e)
	e.phase = settled
	s.resolve(e, engine.Completion{Err: why})
}

// complete counts what an effect used, in place of what was held for it, and gives
// its branch the result.
func (s *Sched) complete(c engine.Completion) {
	e, ok := c.Op.Owner.(*effect)
	switch {
	case !ok || e.branch == nil:
		s.broken("the engine completed an effect that it was not given")
		return
	case e.phase == settled:
		s.broken("the engine completed effect %s twice", c.Op.Key())
		return
	}
	e.phase = settled
	if e.Kind == engine.Child {
		s.children--
	}
	s.dequeue(e) // it waits where the log is ahead of today's limits
	delete(s.dropped, e)
	used, held := engine.CalledData{Response: c.Response, Err: c.Err}.Usage(), e.reservation()
	e.scope.charge(&used)
	s.hold(e, nothing, amounts{})
	switch {
	case c.Err != nil && errors.Is(c.Err, engine.ErrLeft):
		e.pinned = true
		held.add(of(&used).negative())
		s.hold(e, lost, held)
	case e.Kind == engine.Call:
		s.learnOf(e, &used, c.Err == nil)
	case e.Kind == engine.Child && c.Err == nil:
		c.End = s.childEnd(e, c.Response)
	}
	if e.branch.wait == e {
		s.resolve(e, c)
	}
}

// childEnd is how a child ended. What it lost and learned counts here, too.
func (s *Sched) childEnd(e *effect, r *agent.Response) *engine.End {
	end := &engine.End{}
	if r != nil && len(r.Data) > 0 {
		if err := json.Unmarshal(r.Data, end); err != nil {
			s.broken("the end of child run %s cannot be read: %v", e.Key(), err)
		}
	}
	e.scope.count(lost, amounts{end.Lost.Calls, end.Lost.Tokens, int64(end.Lost.Cost)})
	for name, f := range end.Figures { // the order does not matter: sums and maxima
		s.learn(name, f)
	}
	if end.Err != nil && e.branch.canceled == nil && !s.over() { // the child's budget is not the run's
		end.Err.Codes = slices.DeleteFunc(end.Err.Codes, func(c agent.Code) bool { return c == engine.ErrOver })
	}
	return end
}

// resolve gives the branch of e its result.
func (s *Sched) resolve(e *effect, c engine.Completion) {
	e.response, e.err, e.end = c.Response, c.Err, c.End
	e.branch.wait = nil
	s.untime(e)
	s.waiting--
	s.ready = append(s.ready, e.branch)
}
