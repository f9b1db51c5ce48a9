package sched

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// amounts are what budgets hold besides what was used.
type amounts engine.Lost

// callOf is one call with what is reserved for it.
func callOf(a engine.Amount) amounts { return amounts{Calls: 1, Amount: a} }

// of are the amounts in u that budgets limit. What u has below zero counts as zero.
func of(u *providers.Usage) amounts {
	return amounts{max(u.Calls, 0), engine.Amount{Cost: max(u.Cost, 0), Tokens: plus(max(u.Input, 0), max(u.Output, 0))}}
}

// add counts v in u, in place: it is called for every call in each of its budgets.
// What v has below zero counts as zero.
func add(u, v *providers.Usage) {
	u.Calls = plus(u.Calls, max(v.Calls, 0))
	u.ToolCalls = plus(u.ToolCalls, max(v.ToolCalls, 0))
	u.Input = plus(u.Input, max(v.Input, 0))
	u.Output = plus(u.Output, max(v.Output, 0))
	u.Reasoning = plus(u.Reasoning, max(v.Reasoning, 0))
	u.CacheRead = plus(u.CacheRead, max(v.CacheRead, 0))
	u.CacheWrite = plus(u.CacheWrite, max(v.CacheWrite, 0))
	u.Cost = plus(u.Cost, max(v.Cost, 0))
	u.Unpriced = plus(u.Unpriced, max(v.Unpriced, 0))
}

// plus is a sum that stays between zero and the largest number.
func (a amounts) plus(b amounts) amounts {
	return amounts{max(plus(a.Calls, b.Calls), 0), engine.Amount{
		Cost:   max(plus(a.Cost, b.Cost), 0),
		Tokens: max(plus(a.Tokens, b.Tokens), 0),
	}}
}

func (a amounts) negative() amounts {
	return amounts{-a.Calls, engine.Amount{Cost: -a.Cost, Tokens: -a.Tokens}}
}

// plus is a sum that stays at the largest number where it would overflow.
func plus[N ~int64](a, b N) N {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// limits are kinds of limits.
type limits uint8

const (
	onCalls limits = 1 << iota
	onTokens
	onCost
	onUnpriced // calls without a price, under a limit on cost
)

func limitsOf(b engine.Budget) (l limits) {
	if b.Cost != 0 {
		l |= onCost
	}
	if b.Tokens != 0 {
		l |= onTokens
	}
	if b.Calls != 0 {
		l |= onCalls
	}
	return l
}

// Scope is a budget in the tree of budgets of a run.
type Scope struct {
	parent *Scope
	limit  engine.Budget
	around limits // what it or a budget around it limits

	spent    providers.Usage
	lost     amounts // of calls and children whose usage is unknown; counts as used
	shares   amounts // of children under way; counts as used
	reserved amounts // for calls under way
	alone    int64   // calls under way that have it for themselves
	blocked  int64   // the latest round of decisions in which a call had to wait for it

	until  time.Duration // by the time worked; 0: it has no time limit, -1: it has expired
	due    *Scope        // it or the budget around it that expires first; nil: none has a time limit
	live   int           // effects that end when it expires
	listed bool          // it is in Sched.timed
}

// Scope makes a budget under parent; nil: the root of a tree.
func (b *Branch) Scope(parent *Scope, limit engine.Budget) *Scope {
	sc := &Scope{parent: parent, limit: limit, around: limitsOf(limit)}
	if parent != nil {
		sc.around |= parent.around
		sc.due = parent.due
	}
	if limit.Wall != 0 {
		_, worked := b.s.port.Now()
		if sc.until = -1; limit.Wall > 0 {
			sc.until = plus(worked, limit.Wall)
		}
		if sc.due == nil || sc.until < sc.due.until {
			sc.due = sc
		}
	}
	return sc
}

// limits are the kinds of limits that apply under sc; nil: none.
func (sc *Scope) limits() limits {
	if sc == nil {
		return 0
	}
	return sc.around
}

// gone is what would be used if all calls under way were free.
func (sc *Scope) gone() amounts { return of(&sc.spent).plus(sc.lost).plus(sc.shares) }

// Spent is what calls under sc have used so far.
func (sc *Scope) Spent() providers.Usage { return sc.spent }

// Left is what may still be used under sc and every budget around it, without
// Wall. A zero field is no limit, -1 is used up. What is reserved or set aside
// counts as used.
func (sc *Scope) Left() engine.Budget {
	var left engine.Budget
	for s := sc; s != nil; s = s.parent {
		used := s.gone().plus(s.reserved)
		left.Calls = least(left.Calls, s.limit.Calls, used.Calls)
		left.Tokens = least(left.Tokens, s.limit.Tokens, used.Tokens)
		if s.limit.Cost != 0 {
			left.AllowUnpriced = s.limit.AllowUnpriced && (left.Cost == 0 || left.AllowUnpriced)
		}
		left.Cost = least(left.Cost, s.limit.Cost, used.Cost)
	}
	return left
}

// LeftAt is Left with Wall, for a run that has been worked on for so long.
func (sc *Scope) LeftAt(worked time.Duration) engine.Budget {
	left := sc.Left()
	for s := sc; s != nil; s = s.parent {
		left.Wall = least(left.Wall, s.until, worked)
	}
	return left
}

// least is the smaller of left and limit-used, where 0 is no limit and -1 nothing.
func least[N ~int64](left, limit, used N) N {
	switch rest := limit - used; {
	case limit == 0:
		return left
	case limit < 0 || rest <= 0:
		return -1
	case left == 0 || left > rest:
		return rest
	}
	return left
}

// late reports whether the time of sc or of a budget around it is up.
func (s *Sched) late(sc *Scope) bool {
	if sc == nil || sc.due == nil {
		return false
	}
	_, worked := s.port.Now()
	return worked >= sc.due.until
}

// time makes e end when the time of a budget around it is up.
func (s *Sched) time(e *effect) {
	if e.shielded || e.scope == nil || e.scope.due == nil || e.scope.due.until < 0 {
		return
	}
	due := e.scope.due
	e.timed = true
	due.live++
	if !due.listed {
		due.listed = true
		i, _ := slices.BinarySearchFunc(s.timed, due.until, func(sc *Scope, until time.Duration) int { return cmp.Compare(sc.until, until) })
		s.timed = slices.Insert(s.timed, i, due)
	}
}

func (s *Sched) untime(e *effect) {
	if e.timed {
		e.timed = false
		e.scope.due.live--
	}
}

// arm keeps one time limit at the engine, if any: the first at which an effect has
// to end.
func (s *Sched) arm() {
	n := 0
	for n < len(s.timed) && s.timed[n].live == 0 {
		s.timed[n].listed = false
		n++
	}
	s.timed = slices.Delete(s.timed, 0, n)
	var first time.Duration
	if len(s.timed) > 0 {
		first = s.timed[0].until
	}
	if s.armed != nil && s.armed.Worked != first {
		s.port.Cancel(s.armed)
		s.armed = nil
	}
	if s.armed == nil && first > 0 {
		s.armed = &engine.Op{Kind: engine.Limit, N: -int64(first), Worked: first}
		s.port.Start(s.armed)
	}
}

// expire ends the effects under budgets whose time is up.
func (s *Sched) expire(op *engine.Op) {
	if s.armed == op {
		s.armed = nil
	}
	_, worked := s.port.Now()
	worked = max(worked, op.Worked)
	for _, b := range s.live {
		if e := b.wait; e != nil && e.timed && e.scope.due.until <= worked {
			e.scope.due.until = -1
			s.abandon(e, timeIsUp(e.scope.due))
		}
	}
}
