package sched_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/sched"
	"github.com/convene-go/convene/providers"
)

const cent = providers.USD / 100

// orders are the orders in which n effects that are under way complete.
var orders = map[string]func(n int) int{
	"the first": func(int) int { return 0 },
	"the last":  func(n int) int { return n - 1 },
	"one between": func(n int) int {
		return n / 2
	},
}

// everyOrder runs a test with completions in every order.
func everyOrder(test func(t bubble, pick func(n int) int)) func(t *testing.T) {
	return func(t *testing.T) {
		for name, pick := range orders {
			t.Run(name, inBubble(func(t bubble) { test(t, pick) }))
		}
	}
}

// agents is how agents answer, and what they were asked and paid.
type agents struct {
	answer func(name string, nth int) engine.Completion // of the nth call that is made
	calls  int
	paid   providers.NanoUSD
}

// drive hands out completions until the flow ends.
func (m *agents) drive(r *run, pick func(n int) int) {
	r.t.Helper()
	begun := map[*engine.Op]int64{}
	for {
		done, err := r.s.Advance()
		require.NoError(r.t, err)
		if done {
			return
		}
		require.NotEmpty(r.t, r.under, "the flow waits for nothing that is under way: %q", r.told)
		op := r.under[pick(len(r.under))]
		assert.NotContains(r.t, begun, op)
		c := m.answer(op.Name, m.calls)
		m.calls++
		if c.Response != nil {
			m.paid += c.Response.Usage.Cost
		}
		r.hand(op.Key(), c)
	}
}

// price is an answer that costs so much.
func price(cost providers.NanoUSD) engine.Completion {
	return used(providers.Usage{Calls: 1, Input: int64(cost), Cost: cost})
}

// mapOver calls agents side by side, one branch each, and returns their results.
func mapOver(b *sched.Branch, sc *sched.Scope, names []string, estimate providers.NanoUSD) []engine.Completion {
	out := make([]engine.Completion, len(names))
	g := b.Group()
	for i, name := range names {
		g.Go(unlimited, func(b *sched.Branch) {
			op := b.Op(engine.Call, name)
			op.Request = &agent.Request{Limits: agent.Limits{Estimate: estimate}}
			out[i] = b.Do(sched.Options{Scope: sc}, op)
		})
	}
	join(g)
	return out
}

// names are so many times each of so many agents.
func names(each, agents int) (all []string) {
	for range each {
		for i := range agents {
			all = append(all, fmt.Sprintf("agent %d", i))
		}
	}
	return all
}

// N4's table: under 1 USD, and the same under as many tokens as nano-dollars.
func TestMoneyBeforeTheAnswer(t *testing.T) {
	unpaid := engine.Completion{Err: &agent.Error{Message: "no", Usage: providers.Usage{Calls: 1}}}
	first := func(then engine.Completion, first engine.Completion) func(string, int) engine.Completion {
		return func(_ string, nth int) engine.Completion {
			if nth == 0 {
				return first
			}
			return then
		}
	}
	always := func(cost providers.NanoUSD) func(string, int) engine.Completion {
		return func(string, int) engine.Completion { return price(cost) }
	}
	tests := []struct {
		name     string
		asks     []string
		estimate providers.NanoUSD
		answer   func(name string, nth int) engine.Completion
		calls    int
		paid     providers.NanoUSD
	}{
		{"Map over 1,000 at 0.01", names(1000, 1), 0, always(cent), 100, 100 * cent},
		{"1,000 at 0.03", names(1000, 1), 0, always(3 * cent), 33, 99 * cent},
		{"first 0.01, then 0.10", names(1000, 1), 0, first(price(10*cent), price(cent)), 10, 91 * cent},
		{"first fails unpaid, then 0.10", names(1000, 1), 0, first(price(10*cent), unpaid), 11, 100 * cent},
		{"0.60, then 0.01", names(1000, 1), 0, first(price(cent), price(60*cent)), 1, 60 * cent},
		{"10 agents, one call of 0.50 each", names(1, 10), 0, always(50 * cent), 2, 100 * cent},
		{"10 agents, 10 calls of 0.05 each", names(10, 10), 0, always(5 * cent), 20, 100 * cent},
		{"Estimate 0.30, 10 items", names(10, 1), 30 * cent, always(30 * cent), 3, 90 * cent},
		{"100 free calls", names(100, 1), 0, always(0), 100, 0},
	}
	for _, tt := range tests {
		t.Run("N4 "+tt.name, everyOrder(func(t bubble, pick func(int) int) {
			m := &agents{answer: tt.answer}
			var spent providers.NanoUSD
			r := t.within(engine.Budget{Cost: providers.USD}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
				for _, c := range mapOver(b, sc, tt.asks, tt.estimate) {
					if c.Err != nil && c.Err != unpaid.Err {
						require.ErrorIs(t, c.Err, engine.ErrBudget)
						require.ErrorContains(t, c.Err, "Estimate")
					}
				}
				spent = sc.Spent().Cost
			})
			m.drive(r, pick)
			assert.Equal(t, tt.calls, m.calls)
			assert.Equal(t, tt.paid, m.paid)
			assert.Equal(t, tt.paid, spent)
			assert.Len(t, r.emitted, len(tt.asks)-tt.calls, "each refusal is on record")
		}))
		if tt.estimate > 0 {
			continue // there is none of tokens
		}
		t.Run("N4 tokens: "+tt.name, everyOrder(func(t bubble, pick func(int) int) {
			m := &agents{answer: tt.answer}
			r := t.within(engine.Budget{Tokens: int64(providers.USD)}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
				mapOver(b, sc, tt.asks, 0)
			})
			m.drive(r, pick)
			assert.Equal(t, tt.calls, m.calls)
			assert.Equal(t, tt.paid, m.paid)
		}))
	}
	t.Run("N4 100 free calls under way at once in the end", inBubble(func(t bubble) {
		m := &agents{answer: always(0)}
		most := 0
		r := t.within(engine.Budget{Cost: providers.USD}, func(_ *run, b *sched.Branch, sc *sched.Scope) { mapOver(b, sc, names(100, 1), 0) })
		m.drive(r, func(n int) int { most = max(most, n); return 0 })
		assert.Equal(t, 50, most, "as many as are settled, while there are as many")
	}))
	t.Run("N4 an Estimate needs no calls before", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: providers.USD}, func(_ *run, b *sched.Branch, sc *sched.Scope) { mapOver(b, sc, names(10, 1), 20*cent) })
		r.waits()
		assert.Len(t, r.under, 5)
	}))
	t.Run("N4 without a limit nothing waits and nothing is reserved", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Calls: 100}, func(_ *run, b *sched.Branch, sc *sched.Scope) { mapOver(b, sc, names(10, 1), 20*cent) })
		r.waits()
		assert.Len(t, r.under, 10)
		assert.Zero(t, r.under[0].Reserved)
	}))
}

func TestWhatACallReserves(t *testing.T) {
	type ask struct {
		agent    string
		estimate providers.NanoUSD
	}
	settle := func(t bubble, limit engine.Budget, before map[string]providers.Usage, now ask) *engine.Op {
		r := t.within(limit, func(_ *run, b *sched.Branch, sc *sched.Scope) {
			for _, name := range []string{"a", "b"} {
				if _, ok := before[name]; ok {
					mapOver(b, b.Scope(nil, engine.Budget{}), []string{name}, 0)
				}
			}
			mapOver(b, sc, []string{now.agent}, now.estimate)
		})
		for range before {
			r.waits()
			r.hand(r.under[0].Key(), used(before[r.under[0].Name]))
		}
		r.waits()
		return r.under[0]
	}
	a, b := providers.Usage{Cost: 7, Input: 3, Output: 4}, providers.Usage{Cost: 9, Input: 20}
	both9 := map[string]providers.Usage{"a": a, "b": b}
	tests := []struct {
		name   string
		limit  engine.Budget
		before map[string]providers.Usage
		now    ask
		want   engine.Amount
	}{
		{"its Estimate", engine.Budget{Cost: 100}, both9, ask{"a", 5}, engine.Amount{Cost: 5}},
		{"a negative Estimate is none", engine.Budget{Cost: 100}, both9, ask{"a", -5}, engine.Amount{Cost: 7}},
		{"else the most of that agent", engine.Budget{Cost: 100}, both9, ask{"a", 0}, engine.Amount{Cost: 7}},
		{"else the most of any", engine.Budget{Cost: 100}, both9, ask{"c", 0}, engine.Amount{Cost: 9}},
		{"else nothing: it goes alone", engine.Budget{Cost: 100}, nil, ask{"c", 0}, engine.Amount{}},
		{"of an agent that is free", engine.Budget{Cost: 100}, map[string]providers.Usage{"a": {}, "b": b}, ask{"a", 0}, engine.Amount{}},
		{"tokens of that agent", engine.Budget{Tokens: 100}, both9, ask{"a", 5}, engine.Amount{Tokens: 7}},
		{"tokens of any", engine.Budget{Tokens: 100}, both9, ask{"c", 0}, engine.Amount{Tokens: 20}},
		{"both", engine.Budget{Tokens: 100, Cost: 100}, both9, ask{"c", 3}, engine.Amount{Cost: 3, Tokens: 20}},
	}
	for _, tt := range tests {
		t.Run("N4 "+tt.name, inBubble(func(t bubble) {
			assert.Equal(t, tt.want, settle(t, tt.limit, tt.before, tt.now).Reserved)
		}))
	}
	t.Run("N4 a failure with usage is a figure, one without is none", inBubble(func(t bubble) {
		for _, tt := range []struct {
			used providers.Usage
			want providers.NanoUSD
		}{{providers.Usage{Calls: 1, Cost: 6}, 6}, {providers.Usage{Calls: 1}, 9}} {
			r := t.within(engine.Budget{Cost: 100}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
				mapOver(b, b.Scope(nil, engine.Budget{}), []string{"b", "a"}, 0)
				mapOver(b, sc, []string{"a"}, 0)
			})
			r.waits()
			r.hand("0:0", price(9))
			r.hand("1:0", engine.Completion{Err: &agent.Error{Message: "no", Usage: tt.used}})
			r.waits()
			assert.Equal(t, tt.want, r.under[0].Reserved.Cost)
		}
	}))
	t.Run("N4 every budget around holds it, none when it is settled", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			inner := b.Scope(b.Scope(sc, engine.Budget{}), engine.Budget{Cost: 50, Tokens: 40})
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) { mapOver(b, inner, []string{"a"}, 30) })
			do(b, unlimited, engine.Op{Kind: engine.Sleep})
			r.say("%d %d", sc.LeftAt(0).Cost, inner.LeftAt(0).Cost)
			join(g)
			r.say("%d %d", sc.LeftAt(0).Cost, inner.LeftAt(0).Cost)
		})
		r.waits()
		r.answer("0", "")
		r.hand("0.0:0", price(10))
		r.ends()
		assert.Equal(t, []string{"70 20", "90 40"}, r.notes)
	}))
}

func TestWaiting(t *testing.T) {
	// asks are calls side by side: of which agent, under which budget, with which Estimate.
	type asked struct {
		agent    string
		under    string // "root", or a budget of 100 below it
		estimate providers.NanoUSD
	}
	side := func(t bubble, limit engine.Budget, asks ...asked) *run {
		return t.within(limit, func(r *run, b *sched.Branch, sc *sched.Scope) {
			scopes := map[string]*sched.Scope{"root": sc}
			for _, a := range asks {
				if scopes[a.under] == nil {
					scopes[a.under] = b.Scope(sc, engine.Budget{Cost: 100})
				}
			}
			g := b.Group()
			for _, a := range asks {
				g.Go(unlimited, func(b *sched.Branch) {
					r.say("%s %s", b.Path(), result(mapOver(b, scopes[a.under], []string{a.agent}, a.estimate)[0]))
				})
			}
			join(g)
		})
	}
	started := func(r *run) (keys string) {
		for _, s := range r.told {
			keys += strings.TrimSuffix(strings.TrimPrefix(s, "start call "), ".0:0") + " "
		}
		return strings.TrimSpace(keys)
	}
	tests := []struct {
		name   string
		root   engine.Budget
		asks   []asked
		starts string // before anything is answered
		answer string // this one, with cost
		cost   providers.NanoUSD
		then   string
	}{
		{
			"first come, first served: a small one does not pass",
			engine.Budget{Cost: 100},
			[]asked{{"a", "root", 60}, {"a", "root", 60}, {"a", "root", 10}},
			"0", "0", 30, "0 1 2",
		},
		{
			"one that waits in another budget is passed",
			engine.Budget{},
			[]asked{{"a", "x", 60}, {"a", "x", 60}, {"a", "y", 60}, {"a", "x", 10}},
			"0 2", "0", 0, "0 2 1 3",
		},
		{
			"one that waits in the outer budget is not passed from an inner one",
			engine.Budget{Cost: 100},
			[]asked{{"a", "x", 60}, {"a", "y", 60}, {"a", "x", 10}},
			"0", "0", 0, "0 1 2",
		},
		{
			"one that waits in an inner budget alone is passed outside",
			engine.Budget{Cost: 1000},
			[]asked{{"a", "x", 60}, {"a", "x", 60}, {"a", "root", 10}, {"a", "y", 90}},
			"0 2 3", "0", 0, "0 2 3 1",
		},
		{
			"what was passed is not passed again: it waits outside, too",
			engine.Budget{Cost: 150},
			[]asked{{"a", "x", 60}, {"a", "x", 60}, {"a", "y", 60}, {"a", "y", 10}, {"a", "root", 20}},
			"0 2 3 4", "0", 60, "0 2 3 4",
		},
		{
			"one whose agent is busy is passed by another agent",
			engine.Budget{Cost: 100},
			[]asked{{"a", "root", 0}, {"a", "root", 0}, {"b", "root", 10}},
			"0", "0", 10, "0 1 2",
		},
		{
			"an unknown cost goes alone",
			engine.Budget{Cost: 100},
			[]asked{{"a", "root", 0}, {"b", "root", 0}, {"b", "root", 1}},
			"0", "0", 10, "0 1 2",
		},
		{
			"an unknown cost waits for all that is under way",
			engine.Budget{Cost: 100},
			[]asked{{"a", "root", 1}, {"b", "root", 0}, {"a", "root", 1}},
			"0", "0", 10, "0 1 2",
		},
		{
			"alone means in the outer budget, too",
			engine.Budget{Cost: 100},
			[]asked{{"a", "x", 0}, {"b", "y", 1}},
			"0", "0", 10, "0 1",
		},
		{
			"alone means only where there is a limit",
			engine.Budget{Calls: 9},
			[]asked{{"a", "x", 0}, {"b", "y", 0}, {"b", "root", 0}},
			"0 1 2", "2", 10, "0 1 2",
		},
	}
	for _, tt := range tests {
		t.Run("N4 "+tt.name, inBubble(func(t bubble) {
			r := side(t, tt.root, tt.asks...)
			r.waits()
			require.Equal(t, tt.starts, started(r))
			r.hand(tt.answer+".0:0", price(tt.cost))
			r.waits()
			assert.Equal(t, tt.then, started(r))
		}))
	}
	t.Run("N4 the ramp: as many as were settled, at least one", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: providers.USD}, func(_ *run, b *sched.Branch, sc *sched.Scope) { mapOver(b, sc, names(10, 1), 0) })
		for _, want := range []int{1, 1, 2, 3, 4, 5} { // under way after so many were settled
			r.waits()
			require.Len(t, r.under, want)
			r.hand(r.under[0].Key(), price(cent))
		}
	}))
	t.Run("N4 it is refused when it could not fit though all came back free", inBubble(func(t bubble) {
		r := side(t, engine.Budget{Cost: 100}, asked{"a", "root", 50}, asked{"a", "root", 60}, asked{"a", "root", 101})
		r.waits()
		assert.Equal(t, []string{"2 (budget: 0.0000001 of 0.0000001 USD are left, and the call to \"a\" wants 0.000000101, its Limits.Estimate)"}, r.notes)
		r.hand("0.0:0", price(41))
		r.ends()
		assert.Equal(t, "1 (budget: 0.000000059 of 0.0000001 USD are left, and the call to \"a\" wants 0.00000006, its Limits.Estimate)", r.notes[2])
	}))
	t.Run("N4 calls do not wait", inBubble(func(t bubble) {
		r := side(t, engine.Budget{Calls: 1}, asked{"a", "root", 0}, asked{"a", "root", 0})
		r.waits()
		assert.Equal(t, []string{"1 (budget: the limit of 1 calls is reached)"}, r.notes)
	}))
	t.Run("N4 a call that waits does not need a call of the limit", inBubble(func(t bubble) {
		r := side(t, engine.Budget{Calls: 2, Cost: 100}, asked{"a", "root", 90}, asked{"a", "root", 90}, asked{"a", "root", 90})
		r.waits()
		assert.Empty(t, r.notes)
		r.hand("0.0:0", price(0))
		r.waits()
		assert.Equal(t, "0 1", started(r))
		assert.Equal(t, []string{"0 ok", "2 (budget: the limit of 2 calls is reached)"}, r.notes)
	}))
	t.Run("N4 one behind that can never fit is refused at once", inBubble(func(t bubble) {
		r := side(t, engine.Budget{Cost: 100}, asked{"a", "root", 40}, asked{"a", "root", 40}, asked{"a", "root", 30}, asked{"a", "root", 70})
		r.waits()
		require.Empty(t, r.notes)
		r.hand("0.0:0", price(40)) // 40 gone, 40 reserved
		r.waits()
		assert.Equal(t, "0 1", started(r))
		require.Len(t, r.notes, 2)
		assert.Contains(t, r.notes[1], "3 (budget: 0.00000006 of")
	}))
	t.Run("N4 one that is canceled while it waits lets others through", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			for _, est := range []providers.NanoUSD{60, 90, 10} {
				g.Go(unlimited, func(b *sched.Branch) { r.say("%s %s", b.Path(), estimated(b, sc, est)) })
			}
			do(b, unlimited, engine.Op{Kind: engine.Sleep})
			g.Cancel(1, unwanted)
			do(b, unlimited, engine.Op{Kind: engine.Sleep})
			join(g)
		})
		r.waits()
		r.answer("0", "")
		r.answer("1", "")
		assert.Equal(t, []string{"start sleep 0", "start call 0:0", "start sleep 1", "start call 2:0"}, r.told)
		assert.Equal(t, []string{"1 (not wanted any more)"}, r.notes)
	}))
	t.Run("N4 one that was canceled alone does not hold up who asks next", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			for _, est := range []providers.NanoUSD{60, 90} {
				g.Go(unlimited, func(b *sched.Branch) { estimated(b, sc, est) })
			}
			do(b, unlimited, engine.Op{Kind: engine.Sleep})
			g.Cancel(1, unwanted)
			estimated(b, sc, 10)
		})
		r.waits()
		r.answer("0", "")
		assert.Equal(t, []string{"start sleep 0", "start call 0:0", "start call 1"}, r.told)
	}))
	t.Run("N4 the end of the run takes those that wait along", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			for range 2 {
				g.Go(unlimited, func(b *sched.Branch) { estimated(b, sc, 60) })
			}
			g.Go(unlimited, func(b *sched.Branch) { do(b, unlimited, engine.Op{Kind: engine.Child}) })
			do(b, unlimited, engine.Op{Kind: engine.Sleep})
		})
		r.waits()
		r.hand("0", engine.Completion{})
		r.waits() // for the child
		r.answer("0:0", "")
		r.hand("2:0", engine.Completion{})
		r.ends()
		assert.Equal(t, []string{"start sleep 0", "start call 0:0", "start child 2:0", "cancel child 2:0", "cancel call 0:0"}, r.told)
	}))
}

func TestRefusalsOnRecord(t *testing.T) {
	t.Run("N4 branch, number, agent and why", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Calls: 1}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) {
				mapOver(b, sc, []string{"a"}, 0)
				do(b, unlimited, engine.Op{Kind: engine.Sleep})
				do(b, sched.Options{Scope: sc}, engine.Op{Kind: engine.Call, Name: "writer"})
				do(b, sched.Options{Scope: sc}, engine.Op{Kind: engine.Child, Name: "film"})
			})
			join(g)
		})
		r.waits()
		r.hand("0.0:0", price(1))
		r.waits()
		r.hand("0:0", engine.Completion{})
		r.ends()
		require.Len(t, r.emitted, 2)
		assert.Equal(t, []any{"refused", "0", int64(1), "writer"}, []any{r.emitted[0].Kind, r.emitted[0].Branch, r.emitted[0].N, r.emitted[0].Name})
		assert.JSONEq(t, `{"error":{"message":"budget: the limit of 1 calls is reached","codes":["budget","over"]},"after":2}`, string(r.emitted[0].Data))
		assert.Equal(t, []any{"refused", "0", int64(2), "film"}, []any{r.emitted[1].Kind, r.emitted[1].Branch, r.emitted[1].N, r.emitted[1].Name})
	}))
	recorded := &agent.Error{Message: "as recorded", Codes: []agent.Code{engine.ErrBudget, engine.ErrOver}}
	// two calls side by side, of which the log knows something.
	known := func(t bubble, limit engine.Budget, estimate providers.NanoUSD, known map[string]engine.Recorded) *run {
		r := t.within(limit, func(r *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			for range 2 {
				g.Go(unlimited, func(b *sched.Branch) { r.say("%s %s", b.Path(), estimated(b, sc, estimate)) })
			}
			join(g)
		})
		r.recorded = known
		return r
	}
	t.Run("N4 the log refuses what today's limits allow, at its place", inBubble(func(t bubble) {
		var root *sched.Scope
		r := t.within(engine.Budget{Cost: 100}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			root = sc
			g := b.Group()
			for range 2 {
				g.Go(unlimited, func(b *sched.Branch) { r.say("%s %s", b.Path(), estimated(b, sc, 10)) })
			}
			join(g)
		})
		r.recorded = map[string]engine.Recorded{"1:0": {Refused: &engine.RefusedData{Err: recorded, After: 1}}}
		r.waits()
		assert.Equal(t, []string{"start call 0:0", "start call 1:0"}, r.told)
		r.hand("0:0", price(10))
		r.ends()
		assert.Equal(t, engine.Budget{Cost: 90}, root.LeftAt(0))
		assert.Equal(t, []string{"0 ok", "1 (as recorded)"}, r.notes)
		assert.Equal(t, "cancel call 1:0", r.told[2])
		require.Len(t, r.emitted, 1)
		assert.Contains(t, string(r.emitted[0].Data), "as recorded")
	}))
	t.Run("N4 at once, if it did that", inBubble(func(t bubble) {
		r := known(t, engine.Budget{}, 0, map[string]engine.Recorded{"0:0": {Refused: &engine.RefusedData{Err: recorded}}})
		r.waits()
		assert.Equal(t, []string{"0 (as recorded)"}, r.notes)
	}))
	t.Run("N4 what today's limits refuse waits for the refusal of the log", inBubble(func(t bubble) {
		r := known(t, engine.Budget{Cost: 15}, 10, map[string]engine.Recorded{
			"0:0": {Made: true, Reserved: engine.Amount{Cost: 3}}, "1:0": {Refused: &engine.RefusedData{Err: recorded, After: 1}},
		})
		r.waits()
		assert.Empty(t, r.notes)
		r.hand("0:0", price(14))
		r.ends()
		assert.Equal(t, []string{"0 ok", "1 (as recorded)"}, r.notes)
	}))
	t.Run("N4 the log made what today's limits refuse", inBubble(func(t bubble) {
		r := known(t, engine.Budget{Cost: -1, Calls: -1, Wall: -1}, 10, map[string]engine.Recorded{"0:0": {Made: true}, "1:0": {Made: true}})
		r.waits()
		assert.Equal(t, []string{"start call 0:0", "start call 1:0"}, r.told)
		r.hand("1:0", price(10))
		r.waits()
		r.hand("0:0", price(10))
		r.ends()
		assert.Equal(t, []string{"1 ok", "0 ok"}, r.notes)
		assert.Empty(t, r.emitted)
	}))
	t.Run("N4 one that the log made and that waits today holds up no others", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 15}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			for _, est := range []providers.NanoUSD{11, 10, 10} {
				g.Go(unlimited, func(b *sched.Branch) { r.say("%s %s", b.Path(), estimated(b, sc, est)) })
			}
			join(g)
		})
		r.recorded = map[string]engine.Recorded{"1:0": {Made: true, Reserved: engine.Amount{Cost: 100}}}
		r.waits()
		assert.Equal(t, []string{"start call 0:0", "start call 1:0"}, r.told)
		r.hand("0:0", price(1))
		r.waits()
		assert.Equal(t, "start call 2:0", r.told[2])
	}))
	t.Run("N4 the log made what today's limits have wait, and the flow gave it up", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 15}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			for range 2 {
				g.Go(unlimited, func(b *sched.Branch) { r.say("%s %s", b.Path(), estimated(b, sc, 10)) })
			}
			do(b, unlimited, engine.Op{Kind: engine.Sleep})
			g.Cancel(1, unwanted)
			join(g)
			r.say("spent %d", sc.Spent().Cost)
		})
		r.recorded = map[string]engine.Recorded{"1:0": {Made: true, Reserved: engine.Amount{Cost: 10}}}
		r.waits()
		r.hand("0", engine.Completion{})
		r.waits()
		r.hand("1:0", price(4))
		r.waits()
		r.hand("0:0", price(10))
		r.ends()
		assert.Equal(t, []string{"1 (not wanted any more)", "0 ok", "spent 14"}, r.notes)
		assert.Equal(t, []string{"start sleep 0", "start call 0:0", "start call 1:0", "cancel call 1:0"}, r.told)
	}))
	t.Run("N4 what was reserved then stands over today's Estimate", inBubble(func(t bubble) {
		r := known(t, engine.Budget{Cost: 100}, 60, map[string]engine.Recorded{"0:0": {Made: true, Reserved: engine.Amount{Cost: 30}}})
		r.waits()
		assert.Equal(t, engine.Amount{Cost: 30}, r.under[0].Reserved)
		assert.Equal(t, []string{"start call 0:0", "start call 1:0"}, r.told, "60 fit beside 30")
	}))
}

func TestSaturation(t *testing.T) {
	huge := providers.Usage{Calls: 1 << 62, Input: 1 << 62, Output: 1 << 62, Cost: 1 << 62}
	t.Run("sums stay at the largest number", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Calls: -1 ^ -1<<63, Tokens: -1 ^ -1<<63, Cost: -1 ^ -1<<63}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			for range 2 {
				call(b, sched.Options{Scope: sc, Shielded: true})
			}
			r.say("%v", sc.LeftAt(0) == engine.Budget{Calls: -1, Tokens: -1, Cost: -1})
			r.say("%s", call(b, sched.Options{Scope: sc}))
		})
		for _, key := range []string{"0", "1"} {
			r.waits()
			r.hand(key, used(huge))
		}
		r.ends()
		assert.Equal(t, "true", r.notes[0])
		assert.Contains(t, r.notes[1], "budget: ")
	}))
	t.Run("a huge Estimate does not fit", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			for _, est := range []providers.NanoUSD{10, -1 ^ -1<<63} {
				g.Go(unlimited, func(b *sched.Branch) { r.say("%s %v", b.Path(), len(estimated(b, sc, est)) > 9) })
			}
			join(g)
		})
		r.waits()
		assert.Equal(t, []string{"1 true"}, r.notes)
	}))
	t.Run("usage below zero gives nothing back", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Calls: 9, Tokens: 90, Cost: 90}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			for range 4 {
				call(b, sched.Options{Scope: sc})
			}
			r.say("%+v %+v", sc.LeftAt(0), sc.Spent())
		})
		below := providers.Usage{Calls: -5, ToolCalls: -5, Input: -5, Output: -5, Reasoning: -5, CacheRead: -5, CacheWrite: -5, Cost: -5, Unpriced: -5}
		for i, c := range []engine.Completion{price(10), used(below), {Err: &agent.Error{Usage: below}}, price(10)} {
			r.waits()
			r.hand(fmt.Sprint(i), c)
		}
		r.ends()
		assert.Equal(t, []string{fmt.Sprintf("%+v %+v", engine.Budget{Calls: 7, Tokens: 70, Cost: 70}, providers.Usage{Calls: 2, Input: 20, Cost: 20})}, r.notes)
	}))
}

func TestLeftBehind(t *testing.T) {
	left := engine.Completion{Err: &agent.Error{Message: "left behind", Codes: []agent.Code{engine.ErrLeft}, Usage: providers.Usage{Calls: 1}}}
	t.Run("N4 what was reserved stays used until the truth is known", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100, Calls: 9}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			r.say("%s", estimated(b, sc, 60))
			r.say("left %d %d, spent %d", sc.LeftAt(0).Cost, sc.LeftAt(0).Calls, sc.Spent().Cost)
			do(b, unlimited, engine.Op{Kind: engine.Sleep})
			r.say("left %d %d, spent %d", sc.LeftAt(0).Cost, sc.LeftAt(0).Calls, sc.Spent().Cost)
			mapOver(b, sc, []string{"a"}, 0)
		})
		r.waits()
		op := r.under[0]
		r.hand("0", left)
		r.waits()
		assert.Equal(t, engine.Lost{Cost: 60}, ended(r).Lost)
		r.s.Charge(op, providers.Usage{Cost: 25})
		r.hand("1", engine.Completion{})
		r.waits()
		assert.Equal(t, []string{"(left behind)", "left 40 8, spent 0", "left 75 8, spent 25"}, r.notes)
		assert.Equal(t, engine.Amount{Cost: 25}, r.under[0].Reserved, "it is a figure")
		assert.Equal(t, engine.Lost{}, ended(r).Lost)
	}))
	t.Run("N4 a call that waited gets what is free then", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			for _, est := range []providers.NanoUSD{60, 30, 40} {
				g.Go(unlimited, func(b *sched.Branch) { estimated(b, sc, est) })
			}
			join(g)
		})
		r.waits()
		op := r.under[0]
		r.hand("0:0", left)
		r.waits()
		assert.Len(t, r.under, 1, "40 do not fit beside 60 and 30")
		r.s.Charge(op, providers.Usage{Cost: 10})
		r.waits()
		assert.Len(t, r.under, 2)
	}))
	t.Run("N4 charged twice, it is found once", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			for range 3 {
				g.Go(unlimited, func(b *sched.Branch) { estimated(b, sc, 30) })
			}
			join(g)
		})
		r.waits()
		op := r.under[0]
		r.hand("0:0", left)
		r.hand("1:0", left)
		r.s.Charge(op, providers.Usage{Cost: 1})
		r.s.Charge(op, providers.Usage{Cost: 1})
		assert.Equal(t, engine.Lost{Cost: 30}, ended(r).Lost)
	}))
	t.Run("N4 its effect is not used again", inBubble(func(t bubble) {
		r := t.begin(func(_ *run, b *sched.Branch) { call(b, unlimited); call(b, unlimited) })
		r.waits()
		op := r.under[0]
		r.hand("0", left)
		r.waits()
		assert.NotSame(t, op, r.under[0])
	}))
}

// ended is the end of r as far as the scheduler knows it.
func ended(r *run) (end engine.End) {
	r.s.Tally(&end)
	return end
}

// What a flow gave up is used, too: a race of agents cannot spend more than there is.
func TestARaceOfAgents(t *testing.T) {
	t.Run("N4 the losers' money is held until they end", inBubble(func(t bubble) {
		paid := providers.NanoUSD(0)
		r := t.within(engine.Budget{Cost: providers.USD}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
			for range 10 {
				g := b.Group()
				for range 3 {
					g.Go(unlimited, func(b *sched.Branch) { estimated(b, sc, 30*cent) })
				}
				first, _ := g.Next()
				for i := range 3 {
					if i != first {
						g.Cancel(i, unwanted)
					}
				}
				join(g)
			}
		})
		for done := false; !done; {
			var err error
			done, err = r.s.Advance()
			require.NoError(t, err)
			if !done {
				paid += 30 * cent
				i := slices.IndexFunc(r.under, func(op *engine.Op) bool { return !r.gaveUp[op] })
				r.hand(r.under[max(i, 0)].Key(), price(30*cent))
			}
		}
		assert.Equal(t, 90*cent, paid)
	}))
}
