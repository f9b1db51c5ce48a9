package sched

import (
	"math"
	"time"

	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// amounts are the three figures that budgets limit, indexed by the kinds below.
type amounts [3]int64

const (
	onCalls = iota
	onTokens
	onCost

	unknown = -1 // amount of a call of which nothing is known: it needs budgets that limit it for itself
)

// add adds b to a. Each sum stays between zero and the largest number.
func (a *amounts) add(b amounts) {
	for k := range b {
		a[k] = max(plus(a[k], b[k]), 0)
	}
}

func minus(a amounts) amounts { return amounts{-a[0], -a[1], -a[2]} }

// measure returns what budgets count of u. A usage with a figure below zero is none: u is
// set to zero.
func measure(u *providers.Usage) amounts {
	if u.Negative() {
		*u = providers.Usage{}
	}
	return amounts{u.Calls, plus(u.Input, u.Output), int64(u.Cost)}
}

// something reports whether a failure that used a tells what calls use.
func (a *amounts) something() bool { return a[onCalls] > 1 || a[onTokens] > 0 || a[onCost] > 0 }

// lost returns a as it is recorded.
func (a *amounts) lost() engine.Lost {
	return engine.Lost{Calls: a[onCalls], Cost: providers.NanoUSD(a[onCost]), Tokens: a[onTokens]}
}

// plus is a sum that stays at the largest number where it would overflow.
func plus[N ~int64](a, b N) N {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// account says why a budget holds an amount.
type account uint8

const (
	nothing  account = iota // the budget holds nothing
	reserved                // calls under way may use it
	shared                  // children under way may use it
	lost                    // calls and children used it, as far as is known
	accounts                // number of accounts

	kept // argument of book: account and amounts stay as they are
)

// Scope is a budget in the tree of budgets of a run.
type Scope struct {
	parent  *Scope
	budget  engine.Budget
	limit   amounts // limits of budget; 0: none
	limited [3]bool // kinds that it or a budget around it limits

	spent   providers.Usage
	held    [accounts]amounts
	used    amounts // sum of spent, shared and lost: all but the calls under way
	running int64   // number of calls under way, each of which uses at least one call of a model
	alone   bool    // one call under way has the budget for itself
	blocked int64   // latest round of decisions in which a call had to wait for it

	until time.Duration // time worked at which it expires; 0: no time limit, -1: it has expired
	due   *Scope        // the first to expire of it and the budgets around it; nil: none has a time limit
}

// Scope returns a budget under parent. A nil parent makes the root of a tree.
func (b *Branch) Scope(parent *Scope, budget engine.Budget) *Scope {
	sc := &Scope{parent: parent, budget: budget, limit: amounts{budget.Calls, budget.Tokens, int64(budget.Cost)}}
	if parent != nil {
		sc.limited, sc.due = parent.limited, parent.due
	}
	for k, limit := range sc.limit {
		sc.limited[k] = sc.limited[k] || limit != 0
	}
	if budget.Wall != 0 {
		_, worked := b.s.port.Now()
		if sc.until = -1; budget.Wall > 0 {
			sc.until = plus(worked, budget.Wall)
		}
		if sc.due == nil || sc.until < sc.due.until {
			sc.due = sc
		}
	}
	return sc
}

// Spent returns what calls under sc have used so far.
func (sc *Scope) Spent() providers.Usage { return sc.spent }

// LeftAt returns what may still be used under sc and every budget around it, in a run
// that has been worked on for so long. 0 is no limit, -1 is used up. Reservations and
// the shares of children count as used.
func (sc *Scope) LeftAt(worked time.Duration) engine.Budget {
	var left amounts
	var wall time.Duration
	allow, said := true, false
	for s := sc; s != nil; s = s.parent {
		for k := range left {
			left[k] = least(left[k], s.limit[k], plus(s.used[k], s.held[reserved][k]))
		}
		wall = least(wall, s.until, worked)
		allow = allow && (s.limit[onCost] == 0 || s.budget.AllowUnpriced)
		said = said || s.budget.AllowUnpriced
	}
	return engine.Budget{
		Cost: providers.NanoUSD(left[onCost]), Tokens: left[onTokens], Calls: left[onCalls], Wall: wall,
		AllowUnpriced: allow && said,
	}
}

// least returns the smaller of left and limit-used. 0 is no limit, -1 is nothing.
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

// book counts in every budget of e; nothing else does. It adds used, which may be nil, and
// holds amounts in the account at, in place of what was held for e. What e used counts
// against limits from then on. With at kept, the reservation stays, and what e used
// counts against limits when it is released. It returns what budgets count of used.
func (s *Sched) book(e *effect, used *providers.Usage, at account, held amounts) (seen amounts) {
	if used != nil {
		seen = measure(used)
		e.spent.add(seen)
		of := s.byAgent[e.Name]
		if of == nil && (e.Kind == engine.Call || e.Kind == engine.Child) { // others use nothing
			of = new(providers.Usage)
			s.byAgent[e.Name] = of
		}
		if of != nil {
			*of = of.Add(*used)
		}
	}
	for sc := e.scope; sc != nil; sc = sc.parent {
		if used != nil {
			sc.spent = sc.spent.Add(*used)
		}
		if at == kept {
			continue
		}
		if e.at != nothing {
			sc.hold(e.at, minus(e.held))
		}
		sc.used.add(e.spent)
		if at != nothing {
			sc.hold(at, held)
		}
	}
	if at != kept {
		if e.at == reserved && e.guessed {
			s.guesses[e.Name]--
		}
		e.at, e.held, e.spent = at, held, amounts{}
	}
	return seen
}

// hold adds a to an account of sc.
func (sc *Scope) hold(at account, a amounts) {
	sc.held[at].add(a)
	switch {
	case at != reserved:
		sc.used.add(a)
	case a[onCalls] > 0:
		sc.running++
	default:
		sc.running--
		sc.alone = false // a call that had it for itself was the only one
	}
}
