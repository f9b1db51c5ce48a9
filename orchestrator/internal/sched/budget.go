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

// want sets e.held to what the call may use, as far as limits apply to it: what the flow
// says, else the most that such a call has used.
func (s *Sched) want(e *effect) {
	most, settled := s.all.Most, s.figures[e.Name].Settled > 0
	if settled {
		most = s.figures[e.Name].Most
	} else if s.all.Settled == 0 {
		most = engine.Amount{Cost: unknown, Tokens: unknown}
	}
	own := engine.Amount{Cost: e.Request.Limits.Estimate, Tokens: e.own.Tokens, Calls: e.own.Calls}
	if e.known.Made {
		own = e.asRecorded(own)
	}
	e.held, e.guessed = amounts{onCalls: 1}, false
	if e.scope.limited[onCalls] && s.edition > 0 && (settled || own.Calls > 0) {
		e.want(onCalls, max(own.Calls, 0), max(most.Calls, 1))
	}
	if e.scope.limited[onTokens] {
		e.want(onTokens, own.Tokens, most.Tokens)
	}
	if e.scope.limited[onCost] {
		e.want(onCost, int64(own.Cost), int64(most.Cost))
	}
}

// want sets what e wants of kind k: its own figure, or else a guess.
func (e *effect) want(k int, own, guess int64) {
	if e.held[k] = own; own <= 0 {
		e.held[k] = guess
		e.guessed = e.guessed || k != onCalls || guess > 1 // one call of a model is no guess
	}
}

// asRecorded returns what the flow says of a call that was made, with the figures of the
// record.
func (e *effect) asRecorded(own engine.Amount) engine.Amount {
	if own.Cost > 0 {
		own.Cost = e.known.Reserved.Cost
	}
	if own.Tokens > 0 {
		own.Tokens = e.known.Reserved.Tokens
	}
	if own.Calls > 0 {
		own.Calls = max(e.known.Reserved.Calls, 1)
	}
	return own
}

// refusal returns why sc has no room for e even if all calls under way were free; nil:
// it has. A limit on calls counts each call under way as one, and for a child all limits
// count reservations as used.
func (sc *Scope) refusal(e *effect) *agent.Error {
	for k, limit := range sc.limit {
		used := sc.used[k]
		if e.Kind == engine.Child {
			used = plus(used, sc.held[reserved][k])
		}
		switch {
		case k == onCalls && e.Kind == engine.Call && exceeds(limit, plus(used, sc.running), 1):
			return sc.why(e, k)
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

// reserve holds what a call wants. It sets Limits of the request to what is left, or less
// if the flow says so.
func (s *Sched) reserve(e *effect) {
	l, left := &e.Request.Limits, e.scope.LeftAt(0)
	if e.scope.limited[onCost] {
		if l.Cost = e.own.Cost; left.Cost > 0 && (l.Cost == 0 || left.Cost < l.Cost) {
			l.Cost, l.AllowUnpriced = left.Cost, left.AllowUnpriced
		}
	}
	l.Calls, l.Tokens = lower(e.own.Calls, left.Calls), lower(e.own.Tokens, left.Tokens)
	if e.guessed {
		made(&s.guesses)[e.Name]++
	}
	want := e.held
	e.Reserved = engine.Amount{Cost: providers.NanoUSD(max(want[onCost], 0)), Tokens: max(want[onTokens], 0)}
	if want[onCalls] > 1 {
		e.Reserved.Calls = want[onCalls]
	}
	s.book(e, nil, reserved, e.reservation())
	for sc := e.scope; sc != nil && s.all.Settled == 0; sc = sc.parent {
		sc.alone = sc.limit[onCost] != 0 && want[onCost] == unknown || sc.limit[onTokens] != 0 && want[onTokens] == unknown
	}
}

// lower returns the lower one of what the flow allows and what is left, as far as they
// limit anything.
func lower(own, left int64) int64 {
	if left > 0 && (own <= 0 || left < own) {
		return left
	}
	return own
}

// setAside gives a child all that is left. This share counts as used in all budgets
// around the child until the child ends.
func (s *Sched) setAside(e *effect) {
	_, worked := s.port.Now()
	share := e.scope.LeftAt(worked)
	e.Input.Run += "/" + e.Key()
	e.Input.Budget, e.Input.Edition, e.Input.Depth, e.Input.Figures = share, engine.Edition, s.depth+1, maps.Clone(s.figures)
	s.book(e, nil, shared, amounts{max(share.Calls, 0), max(share.Tokens, 0), max(int64(share.Cost), 0)})
	s.children++
}

// reservation returns what counts as lost if e is lost: what was reserved for a call, at
// least one call, or the share of a child.
func (e *effect) reservation() amounts {
	if e.Kind == engine.Call {
		return amounts{max(e.Reserved.Calls, 1), e.Reserved.Tokens, int64(e.Reserved.Cost)}
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
		if most[onCalls] > 1 {
			f.Most.Calls = max(f.Most.Calls, most[onCalls])
		}
	}
	if s.figures == nil {
		s.figures = engine.Figures{}
	}
	s.figures[name] = of
}
