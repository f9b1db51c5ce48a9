package sched

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// setAside gives a child what is left. It counts as used in all budgets around the
// child until that ends.
func (s *Sched) setAside(e *effect) {
	_, worked := s.port.Now()
	share := e.scope.LeftAt(worked)
	if e.Input == nil {
		e.Input = &engine.Input{}
	}
	e.Input.Budget, e.Input.Depth = share, s.depth+1
	e.Input.Figures = s.report(func(f *figure) engine.Figure { return f.Figure })
	if e.Input.Run != "" {
		e.Input.Run += "/" + e.Key()
	}
	e.held = amounts{max(share.Calls, 0), engine.Amount{Cost: max(share.Cost, 0), Tokens: max(share.Tokens, 0)}}
	e.scope.share(e.held)
	s.children++
}

// share sets a aside for a child under sc, or takes it back.
func (sc *Scope) share(a amounts) {
	for ; sc != nil; sc = sc.parent {
		sc.shares = sc.shares.plus(a)
	}
}

// charge counts what was used under sc.
func (sc *Scope) charge(used *providers.Usage) {
	for ; sc != nil; sc = sc.parent {
		add(&sc.spent, used)
	}
}

// lose counts what was lost under sc, or takes it back.
func (s *Sched) lose(sc *Scope, a amounts) {
	s.lost = s.lost.plus(a)
	for ; sc != nil; sc = sc.parent {
		sc.lost = sc.lost.plus(a)
	}
}

// settle counts what a call or a child used, in place of what was held for it, and
// puts the End of a child into c.
func (s *Sched) settle(e *effect, c *engine.Completion) {
	if e.Kind == engine.Call {
		s.queue.remove(e) // the log is ahead of today's limits
		delete(s.dropped, e)
		s.release(e)
		e.held = callOf(e.Reserved)
	} else {
		s.children--
		e.scope.share(e.held.negative())
	}
	used := usageOf(c)
	e.scope.charge(used)
	switch {
	case c.Err != nil && errors.Is(c.Err, engine.ErrLeft):
		e.left, e.pinned = true, true
		e.held = e.held.plus(of(used).negative())
		s.lose(e.scope, e.held)
	case e.Kind == engine.Call:
		s.learnCall(e, used, c.Err == nil)
	case c.Err == nil:
		c.End = s.childEnd(e, c.Response)
	}
}

// usageOf is what c says was used.
func usageOf(c *engine.Completion) *providers.Usage {
	switch {
	case c.Err != nil:
		return &c.Err.Usage
	case c.Response != nil:
		return &c.Response.Usage
	}
	return &providers.Usage{}
}

// childEnd is how a child ended. What it lost and learned counts here, too.
func (s *Sched) childEnd(e *effect, r *agent.Response) *engine.End {
	end := &engine.End{}
	if r != nil && len(r.Data) > 0 {
		if err := json.Unmarshal(r.Data, end); err != nil {
			s.broken("the end of child run %s cannot be read: %v", e.Key(), err)
		}
	}
	s.lose(e.scope, amounts(end.Lost))
	for name, f := range end.Figures { // the order does not matter: sums and maxima
		s.learn(name, f)
	}
	if end.Err != nil && e.branch.canceled == nil && !s.over() { // the child's budget is not the run's
		end.Err.Codes = slices.DeleteFunc(end.Err.Codes, func(c agent.Code) bool { return c == engine.ErrOver })
	}
	return end
}

// over reports whether the run's budget allows nothing any more.
func (s *Sched) over() bool {
	left := s.top.Left()
	return min(left.Calls, left.Tokens, int64(left.Cost)) < 0 || s.late(s.top)
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
	case e.left: // what it really used is known
		s.lose(e.scope, e.held.negative())
		e.held = amounts{}
		if e.Kind == engine.Call {
			s.learnCall(e, &used, false)
		}
	case !e.settled:
		e.charged = true
	}
	s.decide()
}

// Lose implements engine.Execution.
func (s *Sched) Lose() {
	s.applied++
	var calls []*effect
	for e := range s.dropped { // the order does not matter to a sum
		e.settled = true
		calls = append(calls, e)
	}
	clear(s.dropped)
	var again []*effect
	for _, b := range s.live {
		if e := b.wait; e != nil && e.admitted {
			calls = append(calls, e)
			if !e.shielded {
				again = append(again, e)
			}
		}
	}
	var sum amounts
	for _, e := range calls {
		s.release(e)
		if !e.charged {
			a := callOf(e.Reserved)
			s.lose(e.scope, a)
			sum = sum.plus(a)
		}
		e.charged = false
	}
	if sum.Calls > 0 {
		s.emit(blackboard.Record{Kind: blackboard.Lost, N: s.losses}, engine.Lost(sum))
		s.losses++
	}
	s.askAgain(again)
}

// askAgain decides anew about calls that were lost, before those that wait.
func (s *Sched) askAgain(calls []*effect) {
	slices.SortFunc(calls, func(a, b *effect) int { return cmp.Compare(a.seq, b.seq) })
	for _, e := range slices.Backward(calls) {
		s.queue.add(e, s.queue.calls.PushFront(e))
	}
	s.decide()
	for _, e := range calls {
		if e.class != nil && e.started && !e.known.Made {
			e.started, e.pinned = false, true
			s.port.Cancel(&e.Op)
		}
	}
}

// figure is what the run knows of an agent.
type figure struct {
	engine.Figure               // what its parent knew, too
	own           engine.Figure // what it and its children learned
	guesses       int64         // calls under way whose reservation is a guess
}

func (s *Sched) figure(name string) *figure {
	f := s.figures[name]
	if f == nil {
		f = &figure{}
		s.figures[name] = f
	}
	return f
}

// learnCall learns from a call. A failure that used nothing says nothing.
func (s *Sched) learnCall(e *effect, used *providers.Usage, answered bool) { //nolint:revive // what became of the call
	u := of(used)
	if answered || u.Cost > 0 || u.Tokens > 0 {
		s.learn(e.Name, engine.Figure{Most: u.Amount, Settled: 1})
	}
}

// learn counts calls of an agent and the most that one of them used.
func (s *Sched) learn(name string, seen engine.Figure) {
	f := s.figure(name)
	for _, g := range []*engine.Figure{&f.Figure, &f.own} {
		g.Settled = plus(g.Settled, max(seen.Settled, 0))
		g.Most = most(g.Most, seen.Most)
	}
	s.most = most(s.most, seen.Most)
	s.learned = true
}

func most(a, b engine.Amount) engine.Amount {
	return engine.Amount{Cost: max(a.Cost, b.Cost), Tokens: max(a.Tokens, b.Tokens)}
}

// report are the figures of agents that are known.
func (s *Sched) report(which func(*figure) engine.Figure) engine.Figures {
	var fs engine.Figures
	for name, f := range s.figures { // the order does not matter to a map
		if got := which(f); got != (engine.Figure{}) {
			if fs == nil {
				fs = engine.Figures{}
			}
			fs[name] = got
		}
	}
	return fs
}

// Tally puts into end what the run used and lost, and what a child learned.
func (s *Sched) Tally(end *engine.End) {
	end.Spent = s.top.spent
	end.Lost = engine.Lost(s.lost)
	if s.depth > 0 {
		end.Figures = s.report(func(f *figure) engine.Figure { return f.own })
	}
}
