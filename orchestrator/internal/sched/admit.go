package sched

import (
	"container/list"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// want is what a call may use.
type want struct {
	engine.Amount
	alone   limits // what of it is unknown: budgets with these limits have to be its own
	guessed bool   // some of it is what other calls used
}

// ask starts e, or has it wait for room in a budget, or refuses it: then it returns
// why.
func (s *Sched) ask(e *effect) *agent.Error {
	if e.shielded {
		s.admit(e, want{})
		return nil
	}
	if e.budgeted() {
		e.known = s.port.Recorded(e.Branch, e.N)
		if s.refusedNow(e) {
			return s.refuse(e, nil)
		}
		if e.known.Refused != nil {
			e.pinned = true
			s.refusals = append(s.refusals, e)
		}
	}
	if s.late(e.scope) && !e.recorded() {
		return s.refuse(e, timeIsUp(e.scope.due))
	}
	if s.queue.calls.Len() == 0 {
		s.round++ // no call waits for anything
	}
	w, waits, why := s.judge(e)
	switch {
	case why != nil && !e.recorded():
		return s.refuse(e, why)
	case e.Kind == engine.Call && (waits || why != nil):
		s.queue.add(e, s.queue.calls.PushBack(e))
		if e.known.Made {
			s.start(e)
		}
	default:
		s.admit(e, w)
	}
	return nil
}

// admit counts e in its budgets and starts it.
func (s *Sched) admit(e *effect, w want) {
	if e.Kind == engine.Call {
		s.reserve(e, w)
	}
	if e.Kind == engine.Child {
		s.setAside(e)
	}
	s.start(e)
}

// judge says what e wants, whether it has to wait for room, and why it is refused:
// a call that would not fit even if all calls under way were free, or a child for
// which nothing is left.
func (s *Sched) judge(e *effect) (w want, waits bool, why *agent.Error) {
	if !e.budgeted() || e.scope.limits() == 0 {
		return w, false, nil
	}
	var f *figure
	if e.Kind == engine.Call {
		f = s.figures[e.Name]
		w = s.want(e, f)
	}
	for sc := e.scope; sc != nil; sc = sc.parent {
		if l := sc.never(e, w); l != 0 {
			return w, false, sc.why(e, l, w)
		}
	}
	for sc := e.scope; sc != nil; sc = sc.parent {
		if sc.full(w) {
			sc.blocked = s.round
		}
		waits = waits || sc.blocked == s.round
	}
	return w, waits || w.guessed && f != nil && f.guesses >= max(f.Settled, 1), nil
}

// want is what a call may use, as far as limits ask.
func (s *Sched) want(e *effect, f *figure) (w want) {
	most := s.most
	if f != nil && f.Settled > 0 {
		most = f.Most
	}
	guess := e.scope.around & (onCost | onTokens)
	if estimate := e.Request.Limits.Estimate; estimate > 0 && guess&onCost != 0 {
		guess &^= onCost
		w.Cost = estimate
		if e.known.Made {
			w.Cost = e.known.Reserved.Cost
		}
	}
	if guess&onCost != 0 {
		w.Cost = most.Cost
	}
	if guess&onTokens != 0 {
		w.Tokens = most.Tokens
	}
	w.guessed = guess != 0
	if !s.learned {
		w.alone = guess
	}
	return w
}

// never is the limit of sc that refuses e; 0: none does. A limit on calls counts
// calls under way as used.
func (sc *Scope) never(e *effect, w want) limits {
	l := &sc.limit
	used := sc.gone()
	if e.Kind == engine.Child {
		used = used.plus(sc.reserved)
	} else {
		used.Calls = plus(used.Calls, sc.reserved.Calls)
	}
	switch {
	case exceeds(l.Calls, used.Calls, 0):
		return onCalls
	case exceeds(l.Tokens, used.Tokens, w.Tokens):
		return onTokens
	case l.Cost != 0 && sc.spent.Unpriced > 0 && !l.AllowUnpriced:
		return onUnpriced
	case exceeds(l.Cost, used.Cost, w.Cost):
		return onCost
	}
	return 0
}

// full reports whether w has to wait for calls that are under way under sc.
func (sc *Scope) full(w want) bool {
	if sc.reserved.Calls == 0 {
		return false
	}
	used := sc.gone().plus(sc.reserved)
	return sc.alone > 0 || w.alone&limitsOf(sc.limit) != 0 ||
		exceeds(sc.limit.Cost, used.Cost, w.Cost) || exceeds(sc.limit.Tokens, used.Tokens, w.Tokens)
}

// exceeds reports whether wanted does not fit beside used, or nothing is left. A
// limit of 0 is none.
func exceeds[N ~int64](limit, used, wanted N) bool {
	return limit != 0 && (used >= limit || wanted > limit-used)
}

// reserve counts e, which is under way now, in its budgets, and tells its agent
// what it may cost.
func (s *Sched) reserve(e *effect, w want) {
	e.admitted = true
	if e.shielded {
		return
	}
	if e.scope.limits()&onCost != 0 {
		e.capCost()
	}
	e.Reserved, e.alone, e.guessed = w.Amount, w.alone, w.guessed
	s.hold(e, 1)
}

// release gives back what e has reserved.
func (s *Sched) release(e *effect) {
	if e.admitted && !e.shielded {
		e.admitted = false
		s.hold(e, -1)
	}
}

// hold counts n calls like e as under way, wherever there are limits.
func (s *Sched) hold(e *effect, n int64) {
	if e.guessed {
		s.figure(e.Name).guesses += n
	}
	a := callOf(e.Reserved)
	if n < 0 {
		a = a.negative()
	}
	for sc := e.scope; sc.limits() != 0; sc = sc.parent {
		sc.reserved = sc.reserved.plus(a)
		if e.alone&limitsOf(sc.limit) != 0 {
			sc.alone += n
		}
	}
}

// capCost sets what the call may cost: what is left, or less if the flow says so.
func (e *effect) capCost() {
	l := &e.Request.Limits
	if !e.capped {
		e.capped, e.cost = true, l.Cost
	}
	left := e.scope.Left()
	if l.Cost = e.cost; left.Cost > 0 && (l.Cost == 0 || left.Cost < l.Cost) {
		l.Cost, l.AllowUnpriced = left.Cost, left.AllowUnpriced
	}
}

// queue are the calls that wait for room in a budget, the earliest first. Calls of
// a class are decided alike: while its first one waits, the others do.
type queue struct {
	calls   list.List
	classes map[classKey]*class
}

type classKey struct {
	scope    *Scope
	agent    string
	estimate providers.NanoUSD
	recorded *effect // a call that the log knows has a class of its own
}

type class struct {
	key   classKey
	n     int   // calls of it that wait
	round int64 // the latest round in which its first one had to wait
}

// add counts e, which is in calls at place now, in its class.
func (q *queue) add(e *effect, place *list.Element) {
	key := classKey{scope: e.scope, agent: e.Name, estimate: e.Request.Limits.Estimate}
	if e.recorded() {
		key.recorded = e
	}
	if q.classes == nil {
		q.classes = map[classKey]*class{}
	}
	c := q.classes[key]
	if c == nil {
		c = &class{key: key}
		q.classes[key] = c
	}
	c.n++
	e.place, e.class = place, c
}

// remove takes e out, if it is there.
func (q *queue) remove(e *effect) {
	c := e.class
	if c == nil {
		return
	}
	q.calls.Remove(e.place)
	e.place, e.class = nil, nil
	if c.n--; c.n == 0 {
		delete(q.classes, c.key)
	}
}

// decide goes through the calls that wait, in their order: each starts, is refused,
// or keeps waiting. It is called when something of the log was applied.
func (s *Sched) decide() {
	if len(s.refusals) > 0 {
		s.refuseAsRecorded()
	}
	s.round++
	waiting := 0 // calls of classes that were found to wait
	for place := s.queue.calls.Front(); waiting < s.queue.calls.Len(); {
		e, _ := place.Value.(*effect)
		place = place.Next()
		if e.class.round == s.round {
			continue
		}
		w, waits, why := s.judge(e)
		switch {
		case why != nil && !e.recorded():
			s.turnAway(e, why)
		case waits || why != nil:
			e.class.round = s.round
			waiting += e.class.n
		default:
			s.queue.remove(e)
			s.admit(e, w)
		}
	}
}
