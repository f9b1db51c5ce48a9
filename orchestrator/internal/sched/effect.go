package sched

import (
	"cmp"
	"slices"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
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
	branch   *Branch
	scope    *Scope
	shielded bool
	phase    phase
	queued   bool  // a call that waits for room in a budget
	charged  bool  // what it used was charged before its completion
	guessed  bool  // some of what a call wants is what other calls used
	pinned   bool  // it is not used again: the engine or Sched.refusals may hold it
	place    int64 // in the order in which effects were asked for; of a lost call: before all

	request agent.Request // room for the request of a call
	result  engine.Completion
	known   engine.Recorded   // what the log knows of a call or a child
	cost    providers.NanoUSD // of a call: Limits.Cost as the flow set it
	until   time.Duration     // when it ends by a time limit; 0: never
	at      account           // of its budgets, that held counts in
	held    amounts           // with no account: what a call wants
	spent   amounts           // what it used, which counts in its budgets when held does not any more
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
	if kind == engine.Call {
		e.Request = &e.request
	}
	return &e.Op
}

// Do makes an effect, which Op made, and waits for it. Branch and N of op are set
// here; of a child also what its Input says of budgets.
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

// ask starts e, refuses it, or has it wait for room in a budget. What the log says
// stands over what budgets say.
func (s *Sched) ask(e *effect) {
	s.asked++
	s.waiting++
	e.place, e.phase = s.asked, asked
	if e.shielded {
		s.decide(e)
		return
	}
	limited := false
	switch e.Kind { //nolint:exhaustive // budgets count the others never
	case engine.Call:
		e.known, e.cost = s.port.Recorded(e.Branch, e.N), e.Request.Limits.Cost
		limited = e.scope.limited != [3]bool{}
	case engine.Child:
		e.known, limited = s.port.Recorded(e.Branch, e.N), true
	}
	r := e.known.Refused
	if r != nil && (e.Kind == engine.Child || s.applied >= r.After) {
		s.refuse(e, r.Err)
		return
	}
	if r != nil {
		e.pinned = true
		i, _ := slices.BinarySearchFunc(s.refusals, r.Nth, func(e *effect, nth int64) int { return cmp.Compare(e.known.Refused.Nth, nth) })
		s.refusals = slices.Insert(s.refusals, i, e)
	}
	if due := e.scope.due; due != nil {
		if _, worked := s.port.Now(); worked >= due.until && !e.recorded() {
			s.refuse(e, timeIsUp(due))
			return
		}
		if due.until > 0 {
			e.until = due.until
			made(&s.timed)[e.until]++
		}
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
		made(&s.dropped)[e] = true
	}
	s.resolve(e, engine.Completion{Err: why})
}

// refuse ends e because of a budget, wherever it is. Of a call and a child that is
// recorded; what the log says stands over why.
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

// resolve gives the branch of e its result.
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

// alike reports whether calls that wait are decided alike: while the first of such a
// class waits, all do. So decisions cost as much as there are classes.
func alike(a, b *effect) bool {
	return a.scope == b.scope && a.Name == b.Name && a.Request.Limits.Estimate == b.Request.Limits.Estimate && !a.recorded() && !b.recorded()
}

// enqueue has a call wait.
func (s *Sched) enqueue(e *effect) {
	e.queued = true
	i := slices.IndexFunc(s.queue, func(class []*effect) bool { return alike(class[0], e) })
	if i < 0 {
		i, s.queue = len(s.queue), append(s.queue, nil)
	}
	at, _ := slices.BinarySearchFunc(s.queue[i], e, byPlace)
	s.queue[i] = slices.Insert(s.queue[i], at, e)
}

// dequeue takes e out of those that wait, if it is among them.
func (s *Sched) dequeue(e *effect) {
	if !e.queued {
		return
	}
	e.queued = false
	i := slices.IndexFunc(s.queue, func(class []*effect) bool { return class[0] == e || alike(class[0], e) })
	class := s.queue[i]
	switch at, _ := slices.BinarySearchFunc(class, e, byPlace); {
	case len(class) == 1:
		s.queue = slices.Delete(s.queue, i, i+1)
	case at == 0:
		s.queue[i] = class[1:] // in linear time for all
	default:
		s.queue[i] = slices.Delete(class, at, at+1)
	}
}

func byPlace(a, b *effect) int { return cmp.Compare(a.place, b.place) }

// decideAll goes through the calls that wait, in their order: each starts, is
// refused, or keeps waiting. It is called when something of the log was applied.
func (s *Sched) decideAll() {
	for len(s.refusals) > 0 && s.refusals[0].known.Refused.After <= s.applied {
		e := s.refusals[0]
		s.refusals = s.refusals[1:]
		if e.branch.wait == e {
			s.refuse(e, nil) // today it waits or is under way
		}
	}
	s.round++
	for i, sorted := 0, false; i < len(s.queue); {
		if !sorted {
			slices.SortFunc(s.queue[i:], func(a, b []*effect) int { return byPlace(a[0], b[0]) })
		}
		if sorted = s.decide(s.queue[i][0]); sorted { // else a later call of its class is first
			i++
		}
	}
}

// made is the map m, which most runs do not need.
func made[M ~map[K]V, K comparable, V any](m *M) M {
	if *m == nil {
		*m = M{}
	}
	return *m
}
