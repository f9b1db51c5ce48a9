package sched_test

import (
	"fmt"
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
	blocked bool // a call was found to wait for it
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

// chain is c and all around it.
func (c *budget) chain() (all []*budget) {
	for ; c != nil; c = c.outer {
		all = append(all, c)
	}
	return all
}

func (l *line) budget(outer *budget, limit engine.Budget) *budget {
	c := &budget{outer: outer, limit: limit, expired: limit.Wall < 0}
	if limit.Wall > 0 {
		c.until = l.m.worked + limit.Wall
	}
	return c
}

// due is the budget around c whose time is up first.
func (c *budget) due() (first *budget) {
	for _, b := range slices.Backward(c.chain()) {
		if b.until > 0 && (first == nil || b.until < first.until) {
			first = b
		}
	}
	return first
}

// figures: tokens cost the same number of nano-dollars, in all random programs.
type figures struct{ calls, cost int64 }

func usageOf(f figures) providers.Usage {
	return providers.Usage{Calls: f.calls, Input: f.cost, Cost: providers.NanoUSD(f.cost)}
}

// sum adds up what of says about all effects under c.
func (m *model) sum(c *budget, of func(*act) figures) (s figures) {
	for _, a := range m.ops {
		if a.under.within(c) {
			f := of(a)
			s.calls += f.calls
			s.cost += f.cost
		}
	}
	return s
}

func (m *model) spent(c *budget) figures {
	return m.sum(c, func(a *act) figures { return a.used })
}

// gone is what is used, lost, or given to children: cost and tokens apart, for
// children may get different shares of them.
func (m *model) gone(c *budget) (calls int64, cost providers.NanoUSD, tokens int64) {
	f := m.sum(c, func(a *act) figures {
		return figures{a.used.calls - a.held.calls + a.lost.calls, a.used.cost - a.held.cost}
	})
	calls, cost, tokens = f.calls, providers.NanoUSD(f.cost), f.cost
	for _, a := range m.ops {
		if a.under.within(c) {
			cost += a.lostCost
			tokens += a.lostTokens
			if a.kind == engine.Child && !a.done {
				calls += max(a.share.Calls, 0)
				cost += max(a.share.Cost, 0)
				tokens += max(a.share.Tokens, 0)
			}
		}
	}
	return calls, cost, tokens
}

func (m *model) reserved(c *budget) (calls int64, cost providers.NanoUSD, tokens int64) {
	for _, a := range m.ops {
		if a.open && !a.shielded && a.under.within(c) {
			calls += a.wants.calls
			cost += a.wants.cost
			tokens += a.wants.tokens
		}
	}
	return calls, cost, tokens
}

// running is how many calls are under way.
func (m *model) running(c *budget) (n int64) {
	for _, a := range m.ops {
		if a.open && !a.shielded && a.under.within(c) {
			n++
		}
	}
	return n
}

// wants is what a call may use.
type wants struct {
	calls         int64
	cost          providers.NanoUSD
	tokens        int64
	alone, aloneT bool // under limits on cost, on tokens
	guess         bool
}

// lost is how many calls are lost with the call.
func (w wants) lost() int64 { return max(w.calls, 1) }

func (m *model) want(a *act) (w wants) {
	w.calls = 1
	known, own := m.figure(""), m.figure(a.step.agent)
	most := known.cost
	if own.calls > 0 {
		most = own.cost
	}
	for _, c := range a.under.chain() {
		if c.limit.Calls != 0 {
			if w.calls = a.step.calls; w.calls == 0 {
				w.calls = max(m.calls(a.step.agent), 1)
				w.guess = w.guess || w.calls > 1
			}
		}
		if c.limit.Cost != 0 {
			w.cost = providers.NanoUSD(a.step.estimate)
			if a.step.estimate == 0 {
				w.cost, w.guess, w.alone = providers.NanoUSD(most), true, known.calls == 0
			}
		}
		if c.limit.Tokens != 0 {
			if w.tokens = a.step.tokens; w.tokens == 0 {
				w.tokens, w.guess, w.aloneT = most, true, known.calls == 0
			}
		}
	}
	return w
}

// figure is what was seen of an agent, "": of any: how many calls, and the most.
func (m *model) figure(agent string) (f figures) {
	for _, s := range m.seen {
		if agent == "" || s.agent == agent {
			f.calls++
			f.cost = max(f.cost, s.cost)
		}
	}
	return f
}

// calls is how many calls of models a call of the agent has made at most.
func (m *model) calls(agent string) (most int64) {
	for _, s := range m.seen {
		if s.agent == agent {
			most = max(most, s.calls)
		}
	}
	return most
}

// judge is "yes", "wait" or "no".
func (m *model) judge(a *act) string {
	w := m.want(a)
	for _, c := range a.under.chain() {
		calls, cost, tokens := m.gone(c)
		l := c.limit
		if l.Calls != 0 && (calls+m.running(c) >= l.Calls || calls+w.calls > l.Calls) || l.Cost != 0 && (cost >= l.Cost || cost+w.cost > l.Cost) || l.Tokens != 0 && (tokens >= l.Tokens || tokens+w.tokens > l.Tokens) {
			return "no"
		}
	}
	waits := false
	for _, c := range a.under.chain() {
		if m.full(c, w) {
			c.blocked = true
		}
		waits = waits || c.blocked
	}
	guesses := int64(0)
	for _, o := range m.ops {
		if o.open && o.wants.guess && o.step.agent == a.step.agent {
			guesses++
		}
	}
	if waits || w.guess && guesses >= max(1, m.figure(a.step.agent).calls) {
		return "wait"
	}
	a.wants = w
	return "yes"
}

func (m *model) full(c *budget, w wants) bool {
	calls, cost, tokens := m.gone(c)
	heldCalls, heldCost, heldTokens := m.reserved(c)
	l := c.limit
	others := false
	for _, o := range m.ops {
		others = others || o.open && o.under.within(c) && (o.wants.alone && l.Cost != 0 || o.wants.aloneT && l.Tokens != 0)
	}
	calls, cost, tokens = calls+heldCalls, cost+heldCost, tokens+heldTokens
	return m.running(c) > 0 && (others || l.Calls != 0 && (calls >= l.Calls || calls+w.calls > l.Calls) || w.alone && l.Cost != 0 || w.aloneT && l.Tokens != 0 ||
		l.Cost != 0 && (cost >= l.Cost || cost+w.cost > l.Cost) || l.Tokens != 0 && (tokens >= l.Tokens || tokens+w.tokens > l.Tokens))
}

// unblock forgets what calls wait for.
func (m *model) unblock() {
	for _, l := range m.lines {
		for _, c := range l.budgets {
			c.blocked = false
		}
	}
}

// decide goes through the calls that wait. Calls of one agent, under one budget and
// with one estimate are decided alike.
func (m *model) decide() {
	if len(m.queue) == 0 {
		return
	}
	m.unblock()
	alike := map[string]bool{}
	for _, a := range slices.Clone(m.queue) {
		class := fmt.Sprintf("%p %s %d %d %d", a.under, a.step.agent, a.step.estimate, a.step.calls, a.step.tokens)
		if alike[class] {
			continue
		}
		switch m.judge(a) {
		case "no":
			m.unqueue(a)
			m.refuse(a)
			if a.begun {
				m.tell("cancel", a)
				m.forget(a)
			}
			a.gone = true
			a.resolve("[budget over]")
		case "yes":
			m.unqueue(a)
			m.begin(a)
		default:
			alike[class] = true
		}
	}
}

func (m *model) unqueue(a *act) {
	m.queue = slices.DeleteFunc(m.queue, func(o *act) bool { return o == a })
}

func (m *model) refuse(a *act) {
	a.refused = true
	m.emits = append(m.emits, fmt.Sprintf("refused %s after %d", a.key, m.applied))
}

// lose loses the call of that key, or all that are under way ("").
func (m *model) lose(key string) {
	var calls int64
	var cost providers.NanoUSD
	var tokens int64
	var again []*act
	for _, a := range m.ops {
		if a.kind != engine.Call || !a.begun || a.done || a.over || !a.open || key != "" && key != a.key {
			continue
		}
		a.open = false
		if !a.charged {
			a.lost.calls += a.wants.lost()
			a.lostCost += a.wants.cost
			a.lostTokens += a.wants.tokens
			calls += a.wants.lost()
			cost += a.wants.cost
			tokens += a.wants.tokens
		}
		a.charged, a.held = false, figures{}
		switch {
		case a.gone || m.lines[0].done:
			a.over = true
			m.forget(a)
		case a.shielded:
			a.open = true
		default:
			again = append(again, a)
		}
	}
	if calls > 0 {
		m.emits = append(m.emits, fmt.Sprintf("lost %d: %d calls, %d, %d", m.losses, calls, cost, tokens))
		m.losses++
	}
	m.queue = slices.Concat(again, m.queue)
	m.decide()
	for _, a := range again {
		if slices.Contains(m.queue, a) {
			a.begun = false
			m.tell("cancel", a)
			m.forget(a)
		}
	}
}

// forget takes a out of what the engine holds.
func (m *model) forget(a *act) {
	m.under = slices.DeleteFunc(m.under, func(o *act) bool { return o == a })
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
	for _, c := range c.chain() {
		calls, cost, tokens := m.gone(c)
		moreCalls, moreCost, moreTokens := m.reserved(c)
		wall := rest(c.until, m.worked)
		if c.expired {
			wall = -1
		}
		for i, n := range []int64{int64(rest(c.limit.Cost, cost+moreCost)), rest(c.limit.Tokens, tokens+moreTokens), rest(c.limit.Calls, calls+moreCalls), int64(wall)} {
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

// late tells whether the time of a budget around c is up.
func (m *model) late(c *budget) bool {
	return slices.ContainsFunc(c.chain(), func(b *budget) bool { return b.expired || b.until > 0 && m.worked >= b.until })
}

// arm keeps one limit at the engine.
func (m *model) arm() {
	var first time.Duration
	for _, l := range m.lines {
		if a := l.wait; a != nil && !l.done && !a.shielded && !a.ends && a.under.due() != nil {
			if u := a.under.due().until; !a.under.due().expired && (first == 0 || u < first) {
				first = u
			}
		}
	}
	if m.armed != nil && m.armed.until != first {
		m.tell("cancel", m.armed)
		m.armed = nil
	}
	if m.armed == nil && first > 0 {
		m.armed = &act{kind: engine.Limit, key: limitKey(first), until: first}
		m.under = append(m.under, m.armed)
		m.tell("start", m.armed)
	}
}

// expire ends what is due.
func (m *model) expire(limit *act) {
	if m.armed == limit {
		m.armed = nil
	}
	now := max(m.worked, limit.until)
	for _, l := range m.lines {
		if a := l.wait; a != nil && !l.done && !a.shielded && !a.ends && a.under.due() != nil && a.under.due().until <= now {
			a.under.due().expired = true
		}
	}
	for _, l := range m.lines {
		if a := l.wait; a != nil && !l.done && !a.shielded && !a.ends && a.under.due() != nil && a.under.due().expired {
			a.giveUp("[budget over]")
		}
	}
}
