package sched_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/sched"
	"github.com/convene-go/convene/providers"
)

// household is a run with its children, all of which the test carries out: children
// are runs of the flow that Op.Name picks.
type household struct {
	t      bubble
	flows  map[string]func(h *household, b *sched.Branch, sc *sched.Scope)
	cost   providers.NanoUSD
	calls  int
	starts int // of children
}

// live carries a run out to its end.
func (h *household) live(in engine.Input, flow string) engine.End {
	h.t.Helper()
	w := &world{}
	s := sched.New(w, in, func(b *sched.Branch, sc *sched.Scope) { h.flows[flow](h, b, sc) })
	defer s.Leave()
	open := map[string]engine.End{} // of children: they begin when they are started, and end when it is their turn
	for {
		done, err := s.Advance()
		require.NoError(h.t, err)
		if done {
			end := engine.End{Status: engine.Completed}
			s.Tally(&end)
			return end
		}
		for _, op := range w.under {
			if _, begun := open[op.Key()]; op.Kind == engine.Child && !begun {
				h.starts++
				open[op.Key()] = h.live(*op.Input, op.Name)
			}
		}
		op := w.under[0]
		w.take(op.Key())
		c := engine.Completion{Op: op}
		if op.Kind == engine.Child {
			end := open[op.Key()]
			c.Response = &agent.Response{Data: agent.JSON(end), Usage: end.Spent}
		} else {
			h.calls++
			c.Response = &agent.Response{Usage: providers.Usage{Calls: 1, Cost: h.cost}}
		}
		s.Complete(c)
	}
}

// child starts a child.
func child(b *sched.Branch, sc *sched.Scope, flow string) engine.Completion {
	return do(b, sched.Options{Scope: sc}, engine.Op{Kind: engine.Child, Name: flow})
}

// sideBySide starts so many children, each under what under makes of the budget.
func sideBySide(b *sched.Branch, sc *sched.Scope, n int, under func(b *sched.Branch, sc *sched.Scope) *sched.Scope) []engine.Completion {
	out := make([]engine.Completion, n)
	g := b.Group()
	for i := range n {
		g.Go(unlimited, func(b *sched.Branch) { out[i] = child(b, under(b, sc), "child") })
	}
	join(g)
	return out
}

// untilRefused calls an agent until a budget refuses it.
func untilRefused(estimate providers.NanoUSD) func(*household, *sched.Branch, *sched.Scope) {
	return func(_ *household, b *sched.Branch, sc *sched.Scope) {
		for strings.HasPrefix(estimated(b, sc, estimate), "(") == false {
		}
	}
}

// N3's table, under 1 USD.
func TestChildrenShareTheBudget(t *testing.T) {
	same := func(_ *sched.Branch, sc *sched.Scope) *sched.Scope { return sc }
	upTo := func(cost providers.NanoUSD) func(b *sched.Branch, sc *sched.Scope) *sched.Scope {
		return func(b *sched.Branch, sc *sched.Scope) *sched.Scope { return b.Scope(sc, engine.Budget{Cost: cost}) }
	}
	split := func(b *sched.Branch, sc *sched.Scope) *sched.Scope {
		return b.Scope(sc, engine.Budget{Cost: providers.USD}.Split(10))
	}
	once := func(_ *household, b *sched.Branch, sc *sched.Scope) { estimated(b, sc, 90*cent) }
	tests := []struct {
		name     string
		children int
		under    func(b *sched.Branch, sc *sched.Scope) *sched.Scope
		child    func(*household, *sched.Branch, *sched.Scope)
		cost     providers.NanoUSD // of a call
		calls    int
		refused  int // children, at their start
		spent    providers.NanoUSD
	}{
		{"100 children, Estimate 0.90, no Split", 100, same, once, 90 * cent, 1, 99, 90 * cent},
		{"10 children, Split(10), calls of 0.03 with Estimate", 10, split, untilRefused(3 * cent), 3 * cent, 30, 0, 90 * cent},
		{"10 children, Split(10), calls of 0.03 without Estimate", 10, split, untilRefused(0), 3 * cent, 30, 0, 90 * cent},
		{"4 children of 0.30, Estimate 0.10", 4, upTo(30 * cent), untilRefused(10 * cent), 10 * cent, 10, 0, 100 * cent},
		{"10 children of 0.10, first call unknown, 0.30", 10, upTo(10 * cent), untilRefused(0), 30 * cent, 10, 0, 300 * cent},
	}
	for _, tt := range tests {
		t.Run("N3 "+tt.name, inBubble(func(t bubble) {
			h := &household{t: t, cost: tt.cost, flows: map[string]func(*household, *sched.Branch, *sched.Scope){"child": tt.child}}
			refused := 0
			h.flows["parent"] = func(_ *household, b *sched.Branch, sc *sched.Scope) {
				for _, c := range sideBySide(b, sc, tt.children, tt.under) {
					if c.Err != nil {
						refused++
						require.ErrorIs(t, c.Err, engine.ErrBudget)
						require.ErrorIs(t, c.Err, engine.ErrOver)
						assert.EqualError(t, c.Err, "budget: nothing of 1 USD is left for a child run (child runs hold 1: Split gives each a share)")
					}
				}
			}
			end := h.live(engine.Input{Budget: engine.Budget{Cost: providers.USD}}, "parent")
			assert.Equal(t, []any{tt.calls, tt.refused, tt.children - tt.refused, tt.spent}, []any{h.calls, refused, h.starts, end.Spent.Cost})
		}))
	}
	t.Run("N3 nested 0.80/0.40/0.20/0.10, call-child-call of 0.10 each", inBubble(func(t bubble) {
		h := &household{t: t, cost: 10 * cent, flows: map[string]func(*household, *sched.Branch, *sched.Scope){}}
		refused := 0
		limits := []providers.NanoUSD{80 * cent, 40 * cent, 20 * cent, 10 * cent}
		for i, limit := range limits {
			h.flows[fmt.Sprint(i)] = func(_ *household, b *sched.Branch, sc *sched.Scope) {
				sc = b.Scope(sc, engine.Budget{Cost: limit})
				for _, does := range []string{"call", "child", "call"} {
					if does == "child" && i+1 < len(limits) {
						child(b, sc, fmt.Sprint(i+1))
					} else if does == "call" && strings.HasPrefix(estimated(b, sc, 0), "(") {
						refused++
					}
				}
			}
		}
		end := h.live(engine.Input{Budget: engine.Budget{Cost: providers.USD}}, "0")
		assert.Equal(t, []any{6, 2, 60 * cent}, []any{h.calls, refused, end.Spent.Cost})
	}))
}

func TestShareOfAChild(t *testing.T) {
	t.Run("N3 what is left is set aside in all budgets around it, but for time", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100, Calls: 10, Wall: time.Hour}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			inner := b.Scope(sc, engine.Budget{Cost: 60, Tokens: 50})
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) { child(b, inner, "film") })
			do(b, unlimited, engine.Op{Kind: engine.Sleep})
			r.say("%+v", sc.LeftAt(0))
			r.say("%+v", inner.LeftAt(0))
			join(g)
			r.say("%+v", sc.LeftAt(0))
			r.say("%+v", inner.LeftAt(0))
		})
		r.waits()
		op := r.find("0:0")
		assert.Equal(t, engine.Budget{Cost: 60, Tokens: 50, Calls: 10, Wall: time.Hour}, op.Input.Budget)
		r.answer("0", "")
		r.hand("0:0", engine.Completion{Response: &agent.Response{Data: []byte(`{}`), Usage: providers.Usage{Calls: 2, Cost: 30, Input: 4}}})
		r.ends()
		assert.Equal(t, []string{
			fmt.Sprintf("%+v", engine.Budget{Cost: 40, Calls: -1, Wall: time.Hour}),
			fmt.Sprintf("%+v", engine.Budget{Cost: -1, Tokens: -1, Calls: -1, Wall: time.Hour}),
			fmt.Sprintf("%+v", engine.Budget{Cost: 70, Calls: 8, Wall: time.Hour}),
			fmt.Sprintf("%+v", engine.Budget{Cost: 30, Tokens: 46, Calls: 8, Wall: time.Hour}),
		}, r.notes)
	}))
	t.Run("N3 what calls beside it reserve is not its", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) { estimated(b, sc, 30) })
			g.Go(unlimited, func(b *sched.Branch) { child(b, sc, "film") })
			g.Go(unlimited, func(b *sched.Branch) { r.say("%s", result(child(b, sc, "film"))) })
			g.Go(unlimited, func(b *sched.Branch) { r.say("%s", estimated(b, sc, 40)) })
			join(g)
		})
		r.waits()
		assert.Equal(t, engine.Budget{Cost: 70}, r.find("1:0").Input.Budget)
		assert.Equal(t, []string{
			"(budget: nothing of 0.0000001 USD is left for a child run (child runs hold 0.00000007: Split gives each a share))",
			"(budget: 0.00000003 of 0.0000001 USD are left (child runs hold 0.00000007: Split gives each a share), and the call wants 0.00000004, its Limits.Estimate)",
		}, r.notes, "neither waits for a child")
	}))
	t.Run("N3 a call beside a child waits for calls", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) { child(b, b.Scope(sc, engine.Budget{Cost: 50}), "film") })
			for range 2 {
				g.Go(unlimited, func(b *sched.Branch) { r.say("%s", estimated(b, sc, 30)) })
			}
			join(g)
		})
		r.waits()
		assert.Equal(t, []string{"start child 0:0", "start call 1:0"}, r.told)
		r.hand("1:0", price(10))
		r.waits()
		assert.Equal(t, "start call 2:0", r.told[2])
	}))
	t.Run("N3 an unknown cost beside a child does not wait for it", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) { child(b, b.Scope(sc, engine.Budget{Cost: 50}), "film") })
			g.Go(unlimited, func(b *sched.Branch) { estimated(b, sc, 0) })
			join(g)
		})
		r.waits()
		assert.Len(t, r.under, 2)
	}))
	t.Run("N3 without siblings the text names none", inBubble(func(t bubble) {
		for limit, says := range map[engine.Budget]string{
			{Cost: -1}:   "budget: nothing of 0 USD is left for a child run",
			{Tokens: -1}: "budget: nothing of 0 tokens is left for a child run",
			{Calls: -1}:  "budget: nothing of 0 calls is left for a child run",
			{Wall: -1}:   "budget: the time limit of 0s is reached",
		} {
			t.within(limit, func(_ *run, b *sched.Branch, sc *sched.Scope) {
				assert.EqualError(t, child(b, sc, "film").Err, says)
			}).ends()
		}
	}))
	t.Run("N3 a call whose limit children hold says so", inBubble(func(t bubble) {
		for limit, says := range map[engine.Budget]string{
			{Calls: 5}:  "budget: the limit of 5 calls is reached (child runs hold 5: Split gives each a share)",
			{Tokens: 5}: "budget: 0 of 5 tokens are left (child runs hold 5: Split gives each a share), and the call to \"a\" wants an unknown amount",
		} {
			r := t.within(limit, func(r *run, b *sched.Branch, sc *sched.Scope) {
				g := b.Group()
				g.Go(unlimited, func(b *sched.Branch) { child(b, sc, "film") })
				g.Go(unlimited, func(b *sched.Branch) { r.say("%s", call(b, sched.Options{Scope: sc})) })
				join(g)
			})
			r.waits()
			assert.Equal(t, []string{"(" + says + ")"}, r.notes)
		}
	}))
	t.Run("N3 a price that showed afterwards stops children, too", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 9}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
			call(b, sched.Options{Scope: sc})
			require.ErrorContains(t, child(b, sc, "film").Err, "1 calls have no known price")
		})
		r.waits()
		r.hand("0", used(providers.Usage{Unpriced: 1}))
		r.ends()
	}))
	t.Run("N3 one that the log knows is started, though nothing is left today", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: -1}, func(r *run, b *sched.Branch, sc *sched.Scope) { r.say("%s", result(child(b, sc, "film"))) })
		r.recorded = map[string]engine.Recorded{"0": {Made: true}}
		r.waits()
		r.last("0", "made")
		assert.Equal(t, []string{"made"}, r.notes)
	}))
	t.Run("N3 one that the log refused is refused", inBubble(func(t bubble) {
		r := t.within(engine.Budget{}, func(r *run, b *sched.Branch, sc *sched.Scope) { r.say("%s", result(child(b, sc, "film"))) })
		r.recorded = map[string]engine.Recorded{"0": {Refused: &engine.RefusedData{Err: &agent.Error{Message: "as recorded"}}}}
		r.ends()
		assert.Equal(t, []string{"(as recorded)"}, r.notes)
		assert.Len(t, r.emitted, 1)
	}))
	t.Run("N3 a failed one leaves nothing behind", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			r.say("%s", result(child(b, sc, "film")))
			r.say("%d", sc.LeftAt(0).Cost)
		})
		r.waits()
		r.hand("0", engine.Completion{Err: &agent.Error{Message: "no such agent"}})
		r.ends()
		assert.Equal(t, []string{"(no such agent)", "100"}, r.notes)
	}))
	t.Run("N3 a resume does not charge it as a lost call", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) { child(b, b.Scope(sc, engine.Budget{Cost: 40}), "film") })
			g.Go(unlimited, func(b *sched.Branch) { do(b, sched.Options{Scope: sc}, engine.Op{Kind: engine.Sleep}) })
			join(g)
		})
		r.waits()
		r.s.Lose()
		r.waits()
		assert.Empty(t, r.emitted)
		assert.Equal(t, []string{"start child 0:0", "start sleep 1:0"}, r.told)
	}))
	t.Run("N3 what it lost counts, and shows", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100, Calls: 9}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			child(b, sc, "film")
			r.say("%+v %+v", sc.LeftAt(0), sc.Spent())
		})
		r.waits()
		lost := engine.Lost{Calls: 2, Cost: 30, Tokens: 4}
		r.hand("0", engine.Completion{Response: &agent.Response{Data: agent.JSON(engine.End{Lost: lost}), Usage: providers.Usage{Calls: 1, Cost: 10}}})
		r.ends()
		assert.Equal(t, []string{fmt.Sprintf("%+v %+v", engine.Budget{Cost: 60, Calls: 6}, providers.Usage{Calls: 1, Cost: 10})}, r.notes)
		assert.Equal(t, lost, ended(r).Lost)
	}))
}

func TestDepthOfChildren(t *testing.T) {
	t.Run("64 children deep, and the 65th is ErrFlow for the flow", inBubble(func(t bubble) {
		for depth, says := range map[int]string{0: "started", 63: "started", 64: "(child runs are nested more than 64 deep: does the flow start itself?)"} {
			r := &run{t: t, world: &world{}}
			r.s = sched.New(r.world, engine.Input{Depth: depth}, func(b *sched.Branch, sc *sched.Scope) {
				done := child(b, sc, "film")
				if done.Err != nil {
					require.ErrorIs(t, done.Err, engine.ErrFlow)
				}
				r.say("%s", result(done))
				r.say("%s", call(b, unlimited))
			})
			defer r.leave()
			r.waits()
			if depth < 64 {
				assert.Equal(t, depth+1, r.under[0].Input.Depth)
				r.answer("0", "started")
				r.last("1", "goes on")
			} else {
				r.last("0", "goes on")
			}
			assert.Equal(t, []string{says, "goes on"}, r.notes)
			assert.Empty(t, r.emitted)
		}
	}))
}

func TestFiguresOfChildren(t *testing.T) {
	known := engine.Figures{"a": {Most: engine.Amount{Cost: 7, Tokens: 3}, Settled: 2}}
	begin := func(t bubble, in engine.Input, body func(r *run, b *sched.Branch, sc *sched.Scope)) *run {
		r := &run{t: t, world: &world{}}
		r.s = sched.New(r.world, in, func(b *sched.Branch, sc *sched.Scope) { body(r, b, sc) })
		t.Cleanup(r.leave)
		return r
	}
	t.Run("N3 a child starts with its parent's and returns its own", inBubble(func(t bubble) {
		r := begin(t, engine.Input{Depth: 1, Budget: engine.Budget{Cost: 100}, Figures: known}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
			mapOver(b, sc, []string{"a", "a", "a", "b"}, 0)
			child(b, sc, "grandchild")
		})
		r.waits()
		require.Len(t, r.under, 3, "2 of a were settled before, and one of b at once")
		assert.Equal(t, engine.Amount{Cost: 7}, r.under[0].Reserved)
		assert.Equal(t, engine.Amount{Cost: 7}, r.find("3:0").Reserved)
		r.hand("0:0", used(providers.Usage{Cost: 5, Input: 4}))
		r.hand("1:0", used(providers.Usage{Cost: 4, Input: 1}))
		r.hand("3:0", used(providers.Usage{Cost: 1}))
		r.hand("2:0", used(providers.Usage{Cost: 2}))
		r.waits()
		assert.Equal(t, engine.Figures{"a": {Most: engine.Amount{Cost: 7, Tokens: 4}, Settled: 5}, "b": {Most: engine.Amount{Cost: 1}, Settled: 1}}, r.under[0].Input.Figures)
		learned := engine.Figures{"a": {Most: engine.Amount{Cost: 9}, Settled: 1}, "c": {Settled: 3}}
		r.hand("0", engine.Completion{Response: &agent.Response{Data: agent.JSON(engine.End{Figures: learned})}})
		r.ends()
		assert.Equal(t, engine.Figures{
			"a": {Most: engine.Amount{Cost: 9, Tokens: 4}, Settled: 4}, "b": {Most: engine.Amount{Cost: 1}, Settled: 1}, "c": {Settled: 3},
		}, ended(r).Figures)
	}))
	t.Run("N3 a figure below zero takes nothing away", inBubble(func(t bubble) {
		r := begin(t, engine.Input{Depth: 1}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
			child(b, sc, "grandchild")
			mapOver(b, sc, []string{"a"}, 0)
		})
		r.waits()
		wrong := engine.Figures{"a": {Most: engine.Amount{Cost: -9}, Settled: -3}}
		r.hand("0", engine.Completion{Response: &agent.Response{Data: agent.JSON(engine.End{Figures: wrong})}})
		r.waits()
		r.hand("0:0", price(1))
		r.ends()
		assert.Equal(t, engine.Figures{"a": {Most: engine.Amount{Cost: 1, Tokens: 1}, Settled: 1}}, ended(r).Figures)
	}))
	t.Run("N3 a run that is no child returns none", inBubble(func(t bubble) {
		r := begin(t, engine.Input{}, func(_ *run, b *sched.Branch, sc *sched.Scope) { mapOver(b, sc, []string{"a"}, 0) })
		r.waits()
		r.hand("0:0", price(1))
		r.ends()
		assert.Empty(t, ended(r).Figures)
	}))
	t.Run("N3 the parent reserves by what a child learned", inBubble(func(t bubble) {
		r := begin(t, engine.Input{Budget: engine.Budget{Cost: 100}}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
			child(b, sc, "film")
			mapOver(b, sc, []string{"a", "a", "a"}, 0)
		})
		r.waits()
		assert.Empty(t, r.under[0].Input.Figures)
		r.hand("0", engine.Completion{Response: &agent.Response{Data: agent.JSON(engine.End{Figures: known})}})
		r.waits()
		require.Len(t, r.under, 2, "as many as the child settled")
		assert.Equal(t, engine.Amount{Cost: 7}, r.under[0].Reserved)
	}))
}

func TestWhatAChildLostStaysLost(t *testing.T) {
	inBubble(func(t bubble) {
		r := t.within(engine.Budget{Calls: 10}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) { child(b, sc, "film") })
			do(b, unlimited, engine.Op{Kind: engine.Sleep})
			g.Cancel(0, unwanted)
			join(g)
			do(b, unlimited, engine.Op{Kind: engine.Sleep})
		})
		r.waits()
		op := r.find("0:0")
		r.answer("0", "")
		r.hand("0:0", engine.Completion{Response: &agent.Response{Data: agent.JSON(engine.End{Lost: engine.Lost{Calls: 2}})}})
		r.waits()
		r.s.Charge(op, providers.Usage{Calls: 1})
		r.waits()
		assert.Equal(t, engine.Lost{Calls: 2}, ended(r).Lost, "a charge behind the end takes nothing back")
		assert.Equal(t, int64(1), ended(r).Spent.Calls)
	})(t)
}

func TestTheEndOfAParent(t *testing.T) {
	// a parent that ends while two children are under way.
	ends := func(t bubble) *run {
		return t.within(engine.Budget{Cost: 100, Calls: 9}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			for range 2 {
				g.Go(unlimited, func(b *sched.Branch) { child(b, b.Scope(sc, engine.Budget{Cost: 40, Calls: 3}), "film") })
			}
			g.Go(unlimited, func(b *sched.Branch) { call(b, unlimited) })
			do(b, unlimited, engine.Op{Kind: engine.Sleep})
		})
	}
	t.Run("N3 its children are told to end, and waited for", inBubble(func(t bubble) {
		r := ends(t)
		r.waits()
		r.hand("0", engine.Completion{})
		r.waits()
		assert.Equal(t, []string{"cancel call 2:0", "cancel child 1:0", "cancel child 0:0"}, r.told[4:])
		r.hand("1:0", used(providers.Usage{Calls: 1, Cost: 10}))
		r.waits()
		r.hand("2:0", price(5)) // it comes while the run waits
		r.waits()
		r.hand("0:0", used(providers.Usage{Calls: 1, Cost: 10}))
		r.ends()
		assert.Equal(t, providers.Usage{Calls: 2, Cost: 20}, ended(r).Spent, "the call was outside of the budget")
		r.ends()
	}))
	t.Run("N3 one that does not end in time counts its whole share", inBubble(func(t bubble) {
		r := ends(t)
		r.waits()
		r.hand("0", engine.Completion{})
		r.waits()
		r.hand("1:0", engine.Completion{Err: &agent.Error{Codes: []agent.Code{engine.ErrLeft}}})
		r.waits()
		r.hand("0:0", used(providers.Usage{Calls: 1, Cost: 10}))
		r.ends()
		end := ended(r)
		assert.Equal(t, providers.Usage{Calls: 1, Cost: 10}, end.Spent)
		assert.Equal(t, engine.Lost{Calls: 3, Cost: 40}, end.Lost)
	}))
	t.Run("N3 nothing is executed any more", inBubble(func(t bubble) {
		r := t.within(engine.Budget{}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) {
				child(b, sc, "film")
				r.say("came back")
			})
			g.Go(unlimited, func(b *sched.Branch) {
				call(b, sched.Options{Scope: b.Scope(sc, engine.Budget{Wall: 5})})
				r.say("came back")
			})
			do(b, unlimited, engine.Op{Kind: engine.Sleep})
		})
		r.waits()
		r.hand("0", engine.Completion{})
		r.waits()
		r.hand("-5", engine.Completion{}) // its record was there before the end
		r.s.Complete(engine.Completion{Err: enough})
		r.s.Lose()
		r.waits()
		r.last("0:0", "")
		assert.Empty(t, r.notes)
		assert.Len(t, r.emitted, 1, "the call was under way at the kill")
	}))
}

// What is over for a child is not over for its parent.
func TestOverOfAChild(t *testing.T) {
	over := agent.JSON(engine.End{Err: &agent.Error{Message: "no money", Codes: []agent.Code{engine.ErrBudget, engine.ErrOver}}})
	tests := []struct {
		name   string
		limit  engine.Budget
		used   providers.NanoUSD
		cancel bool
		over   bool
	}{
		{"its own budget", engine.Budget{Cost: 100}, 40, false, false},
		{"its parent has nothing left, either", engine.Budget{Cost: 40}, 40, false, true},
		{"its parent has no time left", engine.Budget{Wall: 1}, 40, false, true},
		{"its parent is canceled", engine.Budget{Cost: 100}, 40, true, true},
	}
	for _, tt := range tests {
		t.Run("N1 "+tt.name, inBubble(func(t bubble) {
			var got error
			r := t.within(tt.limit, func(_ *run, b *sched.Branch, sc *sched.Scope) {
				done := child(b, b.Scope(sc, engine.Budget{Cost: 40}), "film")
				got = done.End.Err
			})
			r.waits()
			if tt.cancel {
				r.cancel()
			}
			r.hand("0", engine.Completion{Response: &agent.Response{Data: over, Usage: providers.Usage{Cost: tt.used}}})
			r.ends()
			require.ErrorIs(t, got, engine.ErrBudget)
			assert.Equal(t, tt.over, errors.Is(got, engine.ErrOver))
		}))
	}
}
