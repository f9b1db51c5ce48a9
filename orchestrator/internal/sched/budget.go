package sched

import (
	"maps"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// decide starts e and counts it in its budgets, or refuses it, or reports that it has to
// wait for room. An effect that the log knows is not refused.
func (s *Sched) decide(e *effect) (waits bool) {
	call := e.Kind == engine.Call
	limited := e.budgeted() && !e.shielded && e.scope.limited != [3]bool{}
	if limited && call {
		s.want(e)
	}
	for sc := e.scope; limited && sc != nil; sc = sc.parent {
		switch why := sc.refusal(e); {
		case why == nil:
		case !e.recorded():
			s.refuse(e, why)
			return false
		case call:
			return true
		}
	}
	for sc := e.scope; limited && call && sc != nil; sc = sc.parent {
		if sc.full(e) {
			sc.blocked = s.round
		}
		waits = waits || sc.blocked == s.round
	}
	if waits || e.guessed && s.guesses[e.Name] >= max(s.figures[e.Name].Settled, 1) {
		return true
	}
	s.dequeue(e)
	switch {
	case e.Kind == engine.Child:
		s.setAside(e)
	case limited:
		s.reserve(e)
	}
	s.start(e)
	return false
}

// want sets e.held to what the call may use, as far as limits apply to it.
func (s *Sched) want(e *effect) {
	most := s.all.Most
	if f := s.figures[e.Name]; f.Settled > 0 {
		most = f.Most
	} else if s.all.Settled == 0 {
		most = engine.Amount{Cost: unknown, Tokens: unknown}
	}
	e.held, e.guessed = amounts{onCalls: 1}, e.scope.limited[onTokens]
	if e.guessed {
		e.held[onTokens] = most.Tokens
	}
	switch estimate := e.Request.Limits.Estimate; {
	case !e.scope.limited[onCost]:
	case estimate <= 0:
		e.held[onCost], e.guessed = int64(most.Cost), true
	case e.known.Made:
		e.held[onCost] = int64(e.known.Reserved.Cost)
	default:
		e.held[onCost] = int64(estimate)
	}
}

// refusal returns why sc has no room for e even if all calls under way were free; nil:
// it has. A limit on calls counts calls under way as used, and for a child all limits do.
func (sc *Scope) refusal(e *effect) *agent.Error {
	for k, limit := range sc.limit {
		used := sc.used[k]
		if k == onCalls || e.Kind == engine.Child {
			used = plus(used, sc.held[reserved][k])
		}
		switch {
		case k == onCost && limit != 0 && sc.spent.Unpriced > 0 && !sc.budget.AllowUnpriced:
			return over("%d calls have no known price, which a limit on cost does not allow without AllowUnpriced", sc.spent.Unpriced)
		case exceeds(limit, used, e.held[k]):
			return sc.why(e, k)
		}
	}
	return nil
}

// full reports whether e has to wait for calls that are under way under sc.
func (sc *Scope) full(e *effect) bool {
	full := sc.alone
	for k, limit := range sc.limit {
		full = full || limit != 0 && e.held[k] == unknown || exceeds(limit, plus(sc.used[k], sc.held[reserved][k]), e.held[k])
	}
	return full && sc.held[reserved][onCalls] > 0
}

// exceeds reports whether wanted does not fit beside used, or nothing is left. A limit of
// 0 is no limit.
func exceeds(limit, used, wanted int64) bool {
	return limit != 0 && (used >= limit || wanted > limit-used)
}

// reserve holds what a call wants. It sets Limits.Cost of the request to what is left, or
// less if the flow says so.
func (s *Sched) reserve(e *effect) {
	if e.scope.limited[onCost] {
		l, left := &e.Request.Limits, e.scope.LeftAt(0)
		if l.Cost = e.cost; left.Cost > 0 && (l.Cost == 0 || left.Cost < l.Cost) {
			l.Cost, l.AllowUnpriced = left.Cost, left.AllowUnpriced
		}
	}
	if e.guessed {
		made(&s.guesses)[e.Name]++
	}
	want := e.held
	e.Reserved = engine.Amount{Cost: providers.NanoUSD(max(want[onCost], 0)), Tokens: max(want[onTokens], 0)}
	s.book(e, nil, reserved, e.reservation())
	for sc := e.scope; sc != nil && s.all.Settled == 0; sc = sc.parent {
		sc.alone = sc.limit[onCost] != 0 && want[onCost] == unknown || sc.limit[onTokens] != 0 && want[onTokens] == unknown
	}
}

// setAside gives a child all that is left. This share counts as used in all budgets
// around the child until the child ends.
func (s *Sched) setAside(e *effect) {
	_, worked := s.port.Now()
	share := e.scope.LeftAt(worked)
	e.Input.Run += "/" + e.Key()
	e.Input.Budget, e.Input.Depth, e.Input.Figures = share, s.depth+1, maps.Clone(s.figures)
	s.book(e, nil, shared, amounts{max(share.Calls, 0), max(share.Tokens, 0), max(int64(share.Cost), 0)})
	s.children++
}

// reservation returns what counts as lost if e is lost: one call and what was reserved
// for it, or the share of a child.
func (e *effect) reservation() amounts {
	if e.Kind == engine.Call {
		return amounts{1, e.Reserved.Tokens, int64(e.Reserved.Cost)}
	}
	return e.held
}

// learn notes that so many more calls of an agent were answered, and the most that one
// of them used.
func (s *Sched) learn(name string, calls int64, most amounts) {
	of := s.figures[name]
	for _, f := range [...]*engine.Figure{&of, &s.all} {
		f.Settled = plus(f.Settled, max(calls, 0))
		f.Most.Cost, f.Most.Tokens = max(f.Most.Cost, providers.NanoUSD(most[onCost])), max(f.Most.Tokens, most[onTokens])
	}
	if s.figures == nil {
		s.figures = engine.Figures{}
	}
	s.figures[name] = of
}
