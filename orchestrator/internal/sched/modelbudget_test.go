package sched_test

import (
	"slices"
	"time"

	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// budget is a budget.
type budget struct {
	outer   *budget
	limit   engine.Budget
	until   time.Duration
	expired bool
}

// within tells whether c is outer or inside of it.
func (c *budget) within(outer *budget) bool {
	for ; c != nil; c = c.outer {
		if c == outer {
			return true
		}
	}
	return false
}

func (l *line) budget(outer *budget, limit engine.Budget) *budget {
	c := &budget{outer: outer, limit: limit, expired: limit.Wall < 0}
	if limit.Wall > 0 {
		c.until = l.m.worked + limit.Wall
		l.limits = append(l.limits, l.begin(&act{kind: engine.Limit, under: c}))
	}
	return c
}

func (m *model) spent(c *budget) (u providers.Usage) {
	for _, a := range m.ops {
		if a.done && (a.kind == engine.Call || a.kind == engine.Child) && a.under.within(c) {
			u = u.Add(providers.Usage{Calls: 1, Input: a.step.cost, Cost: providers.NanoUSD(a.step.cost)})
		}
	}
	return u
}

// reserved is what calls under way set aside.
func (m *model) reserved(c *budget) (calls int64, cost providers.NanoUSD) {
	for _, a := range m.ops {
		if a.kind == engine.Call && !a.done && !a.gone && !a.shielded && a.under.within(c) {
			calls++
			cost += providers.NanoUSD(a.step.estimate)
		}
	}
	return calls, cost
}

func (m *model) refuses(s step, c *budget) bool {
	for ; c != nil; c = c.outer {
		if c.expired {
			return true
		}
		u := m.spent(c)
		calls, cost := m.reserved(c)
		uses := s.kind == engine.Call || s.kind == engine.Child
		if uses && (rest(c.limit.Calls, u.Calls+calls) < 0 || rest(c.limit.Tokens, u.Input) < 0 || rest(c.limit.Cost, u.Cost+cost) < 0) {
			return true
		}
		if uses && c.limit.Cost > 0 && u.Cost+cost+providers.NanoUSD(s.estimate) > c.limit.Cost {
			return true
		}
	}
	return false
}

// rest is what is left of a limit: 0 is no limit, -1 nothing.
func rest[N ~int64](limit, used N) N {
	switch {
	case limit == 0:
		return 0
	case limit < 0 || used >= limit:
		return -1
	}
	return limit - used
}

func (m *model) left(c *budget) engine.Budget {
	var all [4][]int64
	for ; c != nil; c = c.outer {
		u := m.spent(c)
		calls, cost := m.reserved(c)
		wall := rest(c.until, m.worked)
		if c.expired {
			wall = -1
		}
		for i, n := range []int64{int64(rest(c.limit.Cost, u.Cost+cost)), rest(c.limit.Tokens, u.Input), rest(c.limit.Calls, u.Calls+calls), int64(wall)} {
			if n != 0 {
				all[i] = append(all[i], n)
			}
		}
	}
	least := func(ns []int64) int64 {
		if len(ns) == 0 {
			return 0
		}
		return slices.Min(ns)
	}
	return engine.Budget{Cost: providers.NanoUSD(least(all[0])), Tokens: least(all[1]), Calls: least(all[2]), Wall: time.Duration(least(all[3]))}
}
