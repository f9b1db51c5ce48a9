package sched

import (
	"fmt"
	"time"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// Scope is a budget in the tree of budgets of a run: what may be used under it,
// what has been, and what calls under way have reserved.
type Scope struct {
	parent *Scope
	limit  engine.Budget
	until  time.Duration // by the run's time worked; 0: no limit
	spent  providers.Usage

	calls    int64             // reserved
	estimate providers.NanoUSD // reserved
	expired  bool
}

// Scope makes a budget under parent; nil: the root of the tree. Its time limit ends with the branch.
func (b *Branch) Scope(parent *Scope, limit engine.Budget) *Scope {
	sc := &Scope{parent: parent, limit: limit}
	switch {
	case limit.Wall < 0:
		sc.expired = true
	case limit.Wall > 0:
		_, worked := b.s.port.Now()
		sc.until = worked + limit.Wall
		e := &effect{Op: engine.Op{Branch: b.path, N: b.effects, Kind: engine.Limit, Worked: sc.until}, branch: b, scope: sc}
		e.Owner = e
		b.effects++
		b.s.waiting++
		b.limits = append(b.limits, e)
		b.s.port.Start(&e.Op)
	}
	return sc
}

// admit reserves what e may cost in every enclosing budget, or in none.
func (sc *Scope) admit(e *effect) *agent.Error {
	if e.shielded {
		return nil
	}
	for s := sc; s != nil; s = s.parent {
		if err := s.refuses(e); err != nil {
			return err
		}
	}
	if e.Kind != engine.Call {
		return nil
	}
	if left := sc.Left().Cost; left > 0 && (e.Request.Limits.Cost == 0 || left < e.Request.Limits.Cost) {
		e.Request.Limits.Cost = left // what e itself reserves is not gone
		e.Request.Limits.AllowUnpriced = sc.Left().AllowUnpriced
	}
	e.reserved = true
	for s := sc; s != nil; s = s.parent {
		s.calls++
		s.estimate += e.Request.Limits.Estimate
	}
	return nil
}

// refuses tells why e does not fit, or nil. Only calls and children use money and
// tokens; everything takes time.
func (sc *Scope) refuses(e *effect) *agent.Error {
	if sc.expired {
		return over("the time limit of %v is reached", max(sc.limit.Wall, 0))
	}
	if e.Kind != engine.Call && e.Kind != engine.Child {
		return nil
	}
	l, u := sc.limit, sc.spent
	switch {
	case l.Calls != 0 && u.Calls+sc.calls >= max(l.Calls, 0):
		return over("the limit of %d calls is reached", max(l.Calls, 0))
	case l.Tokens != 0 && u.Input+u.Output >= max(l.Tokens, 0):
		return over("the limit of %d tokens is reached (%d used)", max(l.Tokens, 0), u.Input+u.Output)
	case l.Cost != 0 && u.Unpriced > 0 && !l.AllowUnpriced:
		return over("%d calls have no known price, which a limit on cost does not allow", u.Unpriced)
	case l.Cost != 0 && (u.Cost+sc.estimate >= max(l.Cost, 0) || u.Cost+sc.estimate+e.Request.Limits.Estimate > max(l.Cost, 0)):
		return over("the limit of %s USD does not allow this call (%s used, %s reserved, %s wanted)",
			usd(max(l.Cost, 0)), usd(u.Cost), usd(sc.estimate), usd(e.Request.Limits.Estimate))
	}
	return nil
}

func over(format string, args ...any) *agent.Error {
	return &agent.Error{Message: "budget: " + fmt.Sprintf(format, args...), Codes: []agent.Code{engine.ErrBudget}}
}

func usd(n providers.NanoUSD) string { return fmt.Sprintf("%.6f", float64(n)/float64(providers.USD)) }

// release gives back what e has reserved.
func (sc *Scope) release(e *effect) {
	if !e.reserved {
		return
	}
	e.reserved = false
	for s := sc; s != nil; s = s.parent {
		s.calls--
		s.estimate -= e.Request.Limits.Estimate
	}
}

// settle counts what e has used.
func (sc *Scope) settle(e *effect, c engine.Completion) {
	sc.release(e)
	used := c.Response.Usage
	if c.Err != nil {
		used = used.Add(c.Err.Usage)
	}
	if used == (providers.Usage{}) {
		return
	}
	for s := sc; s != nil; s = s.parent {
		s.spent = s.spent.Add(used)
	}
}

// Spent is what calls under sc have used so far.
func (sc *Scope) Spent() providers.Usage { return sc.spent }

// Left is what may still be used under sc and every budget around it. A zero
// field is no limit, -1 is used up. Reservations of calls under way count as used.
func (sc *Scope) Left() engine.Budget {
	var left engine.Budget
	for s := sc; s != nil; s = s.parent {
		left.Calls = least(left.Calls, s.limit.Calls, s.spent.Calls+s.calls)
		left.Tokens = least(left.Tokens, s.limit.Tokens, s.spent.Input+s.spent.Output)
		if s.limit.Cost != 0 {
			left.AllowUnpriced = s.limit.AllowUnpriced && (left.Cost == 0 || left.AllowUnpriced)
		}
		left.Cost = least(left.Cost, s.limit.Cost, s.spent.Cost+s.estimate)
	}
	return left
}

// LeftAt is Left with the time that is left when the run has been worked on for so
// long.
func (sc *Scope) LeftAt(worked time.Duration) engine.Budget {
	left := sc.Left()
	for s := sc; s != nil; s = s.parent {
		switch {
		case s.expired:
			left.Wall = -1
		case s.until > 0:
			left.Wall = least(left.Wall, s.until, worked)
		}
	}
	return left
}

// least is the smaller of left and limit-used, where 0 is no limit and -1 nothing.
func least[N ~int64](left, limit, used N) N {
	if limit == 0 {
		return left
	}
	rest := limit - used
	if limit < 0 || rest <= 0 {
		return -1
	}
	if left == 0 || left > rest {
		return rest
	}
	return left
}

// expire ends the time of sc: effects under it are given up with ErrBudget.
func (s *Sched) expire(sc *Scope) {
	sc.expired = true
	why := over("the time limit of %v is reached", sc.limit.Wall)
	for _, b := range s.live {
		e := b.wait
		if e == nil || e.shielded || b.done {
			continue
		}
		for x := e.scope; x != nil; x = x.parent {
			if x == sc {
				e.abandon(why)
				break
			}
		}
	}
}
