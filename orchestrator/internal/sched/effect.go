package sched

import (
	"cmp"
	"slices"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// Options say which budget an effect is made under, and whether a cancel or an
// empty budget stops it.
type Options struct {
	Scope    *Scope // required
	Shielded bool   // a cancel or an empty budget does not stop the effect
}

// effect is an op with the branch that waits for it. Its branch uses it again for the
// next effect, unless it is pinned.
type effect struct {
	engine.Op
	branch   *Branch
	scope    *Scope
	shielded bool
	phase    phase
	queued   bool  // the call waits for room in a budget
	charged  bool  // its usage was charged before its completion
	guessed  bool  // held is estimated from earlier calls
	pinned   bool  // it must not be used again: the engine or Sched.refusals may hold it
	place    int64 // place in the order of asking; lost calls come before all others

	request agent.Request // room for the request of a call
	result  engine.Completion
	known   engine.Recorded // the log's knowledge of a call or a child
	own     engine.Amount   // Limits of a call as the flow set them
	until   time.Duration   // time worked at which a time limit ends it; 0: never
	at      account         // account of its budgets in which held counts
	held    amounts         // amounts held for it; before it is admitted: the amounts that the call wants
	spent   amounts         // usage that counts against limits once the reservation is released
}

// phase is the state of an effect.
type phase uint8

const (
	described phase = iota // the flow has described it
	asked                  // its branch waits for it; it is not started
	started                // the engine has it
	canceled               // the engine was told to cancel it
	settled                // it is complete, lost or refused
)

// Op returns an effect of b, which the caller describes and gives to Do. It is valid
// until Do returns. A Call has room for its Request.
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
	if kind == engine.Call {
		e.Request = &e.request
	}
	return &e.Op
}

// Do makes an effect that Op returned, and waits for it. Do sets Branch and N of op, and
// the budget of a child's Input.
func (b *Branch) Do(o Options, op *engine.Op) (c engine.Completion) {
	if b.s.cur.Load() != b || b.s.ending.Load() {
		if c.Err = b.Check(); c.Err != nil {
			return c
		}
	}
	e, _ := op.Owner.(*effect)
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
		b.yield()
		c = e.result
	}
	if !e.pinned {
		*e = effect{Op: engine.Op{Private: e.Private, Owner: e}}
		b.spare = e
	}
	return c
}

var errTooDeep = flowError("child runs are nested more than %d deep: does the flow start itself?", engine.MaxDepth)

// budgeted reports whether limits on calls, tokens and cost apply to e.
func (e *effect) budgeted() bool { return e.Kind == engine.Call || e.Kind == engine.Child }

// recorded reports whether the log knows e.
func (e *effect) recorded() bool { return e.known.Made || e.known.Refused != nil }

// ask starts e, refuses it, or queues it until there is room in its budgets. A recorded
// decision overrides budgets.
func (s *Sched) ask(e *effect) {
	s.asked++
	s.waiting++
	e.place, e.phase = s.asked, asked
	if e.shielded {
		s.decide(e)
		return
	}
	limited := false
	switch e.Kind { //nolint:exhaustive // no budget counts the others
	case engine.Call:
		l := &e.Request.Limits
		e.known, e.own = s.port.Recorded(e.Branch, e.N), engine.Amount{Cost: l.Cost, Tokens: l.Tokens, Calls: l.Calls}
		limited = e.scope.limited != [3]bool{}
	case engine.Child:
		e.known, limited = s.port.Recorded(e.Branch, e.N), true
	}
	if e.known.Refused != nil && s.refuseAsRecorded(e) || e.scope.due != nil && s.refuseLate(e) {
		return
	}
	if !limited {
		s.start(e)
		return
	}
	if len(s.queue) == 0 {
		s.round++ // no call waits for anything
	}
	if s.decide(e) {
		s.enqueue(e)
		if e.known.Made {
			s.start(e)
		}
	}
}

// refuseAsRecorded refuses e if the log refused it by now. Else it notes that e will be
// refused, whatever comes of it until then.
func (s *Sched) refuseAsRecorded(e *effect) (refused bool) {
	r := e.known.Refused
	if e.Kind == engine.Child || s.applied >= r.After {
		s.refuse(e, r.Err)
		return true
	}
	e.pinned = true
	i, _ := slices.BinarySearchFunc(s.refusals, r.Nth, func(e *effect, nth int64) int { return cmp.Compare(e.known.Refused.Nth, nth) })
	s.refusals = slices.Insert(s.refusals, i, e)
	return false
}

// start gives e to the engine, once.
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

// abandon cancels e, and its branch continues with the error why. A call is settled when
// its completion comes. A child is told to end, and its branch waits for it: what the
// child has so far is not lost.
func (s *Sched) abandon(e *effect, why *agent.Error) {
	s.untime(e)
	s.dequeue(e)
	s.cancel(e)
	if e.Kind == engine.Child {
		return
	}
	if e.Kind == engine.Call && e.phase == canceled {
		made(&s.dropped)[e] = true
	}
	s.resolve(e, engine.Completion{Err: why})
}

// refuse ends e because of a budget, in any phase. The refusal of a call or a child is
// recorded. A recorded reason overrides why.
func (s *Sched) refuse(e *effect, why *agent.Error) {
	if e.budgeted() {
		d := engine.RefusedData{Err: why, After: s.applied, Nth: s.refused}
		if e.known.Refused != nil {
			d = *e.known.Refused
		}
		s.refused++
		why = d.Err
		s.port.Emit(runlog.Record{Kind: runlog.Refused, Branch: e.Branch, N: e.N, Name: e.Name, Data: agent.JSON(d)})
	}
	s.dequeue(e)
	s.book(e, nil, nothing, amounts{})
	s.cancel(e)
	e.phase = settled
	s.resolve(e, engine.Completion{Err: why})
}

// resolve gives the branch of e its result, and queues the branch to be executed.
func (s *Sched) resolve(e *effect, c engine.Completion) {
	e.result = c
	e.result.Op = nil // its branch may have it again
	e.branch.wait = nil
	if e.until != 0 {
		s.untime(e)
	}
	s.waiting--
	s.ready = append(s.ready, e.branch)
}

// made returns the map m, which it makes if it is nil.
func made[M ~map[K]V, K comparable, V any](m *M) M {
	if *m == nil {
		*m = M{}
	}
	return *m
}
