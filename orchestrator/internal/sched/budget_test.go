package sched_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/sched"
	"github.com/convene-go/convene/providers"
)

// used is the completion of a call that used so much.
func used(u providers.Usage) engine.Completion {
	return engine.Completion{Response: &agent.Response{Text: "ok", Usage: u}}
}

// estimated calls an agent that may cost so much.
func estimated(b *sched.Branch, sc *sched.Scope, cost providers.NanoUSD) string {
	return result(do(b, sched.Options{Scope: sc}, engine.Op{Kind: engine.Call, Request: &agent.Request{Limits: agent.Limits{Estimate: cost}}}))
}

func TestLimits(t *testing.T) {
	tests := []struct {
		name  string
		limit engine.Budget
		usage providers.Usage // of each call
		want  int             // calls that are made, of at most 9
		says  string          // why no more are
	}{
		{"no limit", engine.Budget{}, providers.Usage{Calls: 7, Input: 7, Output: 7, Cost: 7, Unpriced: 1}, 9, ""},
		{"calls", engine.Budget{Calls: 3}, providers.Usage{Calls: 1}, 3, "the limit of 3 calls is reached"},
		{"N10 calls of models in one call", engine.Budget{Calls: 5}, providers.Usage{Calls: 2}, 2, "1 of 5 calls are left, and the call wants 2, the most that such a call used so far"},
		{"N10 calls of models to the last", engine.Budget{Calls: 6}, providers.Usage{Calls: 2}, 3, "the limit of 6 calls is reached"},
		{"tokens", engine.Budget{Tokens: 20}, providers.Usage{Input: 4, Output: 3}, 2, "6 of 20 tokens are left, and the call wants 7, the most that such a call used so far"},
		{"tokens to the last", engine.Budget{Tokens: 21}, providers.Usage{Input: 4, Output: 3}, 3, "0 of 21 tokens are left"},
		{"cost", engine.Budget{Cost: 2 * providers.USD}, providers.Usage{Cost: 800_000_000}, 2, "0.4 of 2 USD are left, and the call wants 0.8, the most that such a call used so far: an Estimate for this agent says"},
		{"cost to the last", engine.Budget{Cost: 2 * providers.USD}, providers.Usage{Cost: providers.USD}, 2, "0 of 2 USD are left"},
		{"a price that shows afterwards", engine.Budget{Cost: 9}, providers.Usage{Unpriced: 1}, 1, "1 calls have no known price"},
		{"a price that may be unknown", engine.Budget{Cost: 9, Calls: 4, AllowUnpriced: true}, providers.Usage{Calls: 1, Unpriced: 1}, 4, "4 calls"},
		{"a price that nobody asks for", engine.Budget{Calls: 2}, providers.Usage{Calls: 1, Unpriced: 1}, 2, "2 calls"},
		{"no calls", engine.Budget{Calls: -1}, providers.Usage{}, 0, "the limit of 0 calls"},
		{"no tokens", engine.Budget{Tokens: -1}, providers.Usage{}, 0, "0 of 0 tokens are left, and the call wants an unknown amount"},
		{"no money", engine.Budget{Cost: -1}, providers.Usage{}, 0, "0 of 0 USD are left, and the call wants an unknown amount: an Estimate for this agent"},
		{"no time", engine.Budget{Wall: -1}, providers.Usage{}, 0, "the time limit of 0s is reached"},
	}
	for _, tt := range tests {
		t.Run(tt.name, inBubble(func(t bubble) {
			made := 0
			var last engine.Completion
			r := t.within(tt.limit, func(_ *run, b *sched.Branch, sc *sched.Scope) {
				for made < 9 {
					if last = do(b, sched.Options{Scope: sc}, engine.Op{Kind: engine.Call}); last.Err != nil {
						return
					}
					made++
				}
			})
			for done := false; !done; {
				var err error
				done, err = r.s.Advance()
				require.NoError(t, err)
				if !done {
					r.hand(r.under[0].Key(), used(tt.usage))
				}
			}
			assert.Equal(t, tt.want, made)
			if tt.says == "" {
				assert.Nil(t, last.Err)
				return
			}
			require.ErrorIs(t, last.Err, engine.ErrBudget)
			require.ErrorIs(t, last.Err, engine.ErrOver)
			assert.ErrorContains(t, last.Err, tt.says)
		}))
	}
}

// asking makes calls of the agent "a" side by side, each with these limits.
func asking(n int, l agent.Limits) func(r *run, b *sched.Branch, sc *sched.Scope) {
	return func(r *run, b *sched.Branch, sc *sched.Scope) {
		g := b.Group()
		for range n {
			g.Go(unlimited, func(b *sched.Branch) {
				r.say("%s", result(do(b, sched.Options{Scope: sc}, engine.Op{Kind: engine.Call, Name: "a", Request: &agent.Request{Limits: l}})))
			})
		}
		join(g)
	}
}

func TestCallsOfModels(t *testing.T) {
	models := func(n int64) engine.Completion { return used(providers.Usage{Calls: n, Input: 10 * n}) }
	t.Run("N10 agents are told what is left of each limit, beside what others have reserved", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Calls: 9, Tokens: 100}, asking(2, agent.Limits{Tokens: 30}))
		r.waits()
		assert.Equal(t, agent.Limits{Calls: 9, Tokens: 30}, r.find("0:0").Request.Limits)
		assert.Equal(t, agent.Limits{Calls: 8, Tokens: 30}, r.find("1:0").Request.Limits)
	}))
	t.Run("N10 the flow may allow less", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Calls: 9}, asking(1, agent.Limits{Calls: 4, Tokens: 7}))
		r.waits()
		assert.Equal(t, agent.Limits{Calls: 4, Tokens: 7}, r.under[0].Request.Limits)
	}))
	t.Run("N10 no more than is left", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Calls: 9, Tokens: 5}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			asking(1, agent.Limits{})(r, b, b.Scope(sc, engine.Budget{Calls: 3}))
		})
		r.waits()
		assert.Equal(t, agent.Limits{Calls: 3, Tokens: 5}, r.under[0].Request.Limits)
	}))
	t.Run("N10 what an agent has used at most is reserved, and others wait", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Calls: 14}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			asking(1, agent.Limits{})(r, b, sc)
			asking(1, agent.Limits{})(r, b, sc)
			asking(3, agent.Limits{})(r, b, sc)
		})
		r.waits()
		r.hand("0:0", models(1))
		r.waits()
		r.hand("1:0", models(4))
		r.waits()
		require.Len(t, r.under, 2, "4 and 4 of 9")
		assert.Equal(t, engine.Amount{Calls: 4}, r.under[0].Reserved)
		assert.Equal(t, []int64{9, 5}, []int64{r.under[0].Request.Limits.Calls, r.under[1].Request.Limits.Calls})
		r.hand("2:0", models(2))
		r.waits()
		assert.Len(t, r.under, 1, "2 used, 4 reserved: 3 of 9 are left, and the third wants 4")
		r.hand("3:0", models(1))
		r.waits()
		require.Len(t, r.under, 1, "3 used: 6 are left")
		assert.Equal(t, int64(6), r.under[0].Request.Limits.Calls)
		r.hand("4:0", models(4))
		r.ends()
		assert.Equal(t, []string{"ok", "ok", "ok", "ok", "ok"}, r.notes)
	}))
	t.Run("N10 a failure of several calls is a figure, also without tokens", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Calls: 9}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			asking(1, agent.Limits{})(r, b, sc)
			asking(1, agent.Limits{})(r, b, sc)
		})
		r.waits()
		r.hand("0:0", engine.Completion{Err: &agent.Error{Message: "no", Usage: providers.Usage{Calls: 4}}})
		r.waits()
		assert.Equal(t, engine.Amount{Calls: 4}, r.under[0].Reserved)
		r.hand("1:0", models(1))
		r.ends()
	}))
	t.Run("N10 a call that would not fit is refused, and what it wants is said", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Calls: 3}, asking(1, agent.Limits{Calls: 4}))
		r.ends()
		assert.Equal(t, []string{`(budget: 3 of 3 calls are left, and the call to "a" wants 4, its Limits.Calls)`}, r.notes)
		r = t.within(engine.Budget{Tokens: 30}, asking(1, agent.Limits{Tokens: 31}))
		r.ends()
		assert.Equal(t, []string{`(budget: 30 of 30 tokens are left, and the call to "a" wants 31, its Limits.Tokens)`}, r.notes)
	}))
	t.Run("N10 limits that the flow sets are reserved: all that fit start at once", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Calls: 10, Tokens: 1000}, asking(4, agent.Limits{Calls: 3, Tokens: 100}))
		r.waits()
		assert.Len(t, r.under, 3)
		for _, op := range r.under {
			assert.Equal(t, engine.Amount{Calls: 3, Tokens: 100}, op.Reserved)
			assert.Equal(t, int64(3), op.Request.Limits.Calls)
		}
		r.s.Lose()
		r.ends()
		assert.Equal(t, engine.Lost{Calls: 9, Tokens: 300}, ended(r).Lost)
		assert.Len(t, r.notes, 4, "one call is left, and each wants 3")
	}))
	t.Run("N10 a call whose own limit is known does not wait behind a guess", inBubble(func(t bubble) {
		calls := func(b *sched.Branch, sc *sched.Scope, name string, own int64) {
			do(b, sched.Options{Scope: sc}, engine.Op{Kind: engine.Call, Name: name, Request: &agent.Request{Limits: agent.Limits{Calls: own}}})
		}
		r := t.within(engine.Budget{Calls: 20}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
			calls(b, sc, "a", 0)
			g := b.Group()
			for _, c := range []struct {
				name string
				own  int64
			}{{"a", 0}, {"b", 12}, {"a", 0}, {"a", 2}} {
				g.Go(unlimited, func(b *sched.Branch) { calls(b, sc, c.name, c.own) })
			}
			join(g)
		})
		r.waits()
		r.hand("0", models(4))
		r.waits()
		require.Len(t, r.under, 2, "4 used, 4 guessed and 12 reserved: the others wait")
		r.hand("1:0", models(1))
		r.waits()
		assert.NotNil(t, r.find("3:0"))
		assert.Nil(t, r.find("2:0"), "one guess at a time, as one was answered before")
	}))
	t.Run("N10 a call beyond the limit does not wait", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Calls: 2}, asking(3, agent.Limits{}))
		r.waits()
		assert.Len(t, r.under, 2)
		assert.Equal(t, []string{"(budget: the limit of 2 calls is reached)"}, r.notes)
	}))
	t.Run("N10 a child learns how many calls agents make, and tells", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Calls: 50}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			asking(1, agent.Limits{})(r, b, sc)
			child(b, sc, "film")
			asking(1, agent.Limits{})(r, b, sc)
		})
		r.waits()
		r.hand("0:0", models(5))
		r.waits()
		in := r.under[0].Input
		assert.Equal(t, int64(5), in.Figures["a"].Most.Calls)
		assert.Equal(t, engine.Edition, in.Edition)
		end := engine.End{Figures: engine.Figures{"a": {Most: engine.Amount{Calls: 7}, Settled: 1}}}
		r.hand("0", engine.Completion{Response: &agent.Response{Data: agent.JSON(end)}})
		r.waits()
		assert.Equal(t, engine.Amount{Calls: 7}, r.under[0].Reserved)
	}))
	t.Run("N10 a child that starts now has the rules of now, though its parent keeps older ones", inBubble(func(t bubble) {
		r := &run{t: t, world: &world{}}
		r.s = sched.New(r.world, engine.Input{}, func(b *sched.Branch, sc *sched.Scope) { child(b, sc, "film") })
		t.Cleanup(r.leave)
		r.waits()
		assert.Equal(t, engine.Edition, r.under[0].Input.Edition)
	}))
	t.Run("N10 runs that were started before keep their rules", inBubble(func(t bubble) {
		r := &run{t: t, world: &world{}}
		r.s = sched.New(r.world, engine.Input{Budget: engine.Budget{Calls: 6}}, func(b *sched.Branch, sc *sched.Scope) {
			asking(1, agent.Limits{})(r, b, sc)
			asking(2, agent.Limits{Calls: 5})(r, b, sc)
		})
		t.Cleanup(r.leave)
		r.waits()
		r.hand("0:0", models(5))
		r.waits()
		assert.Len(t, r.under, 1)
		assert.Equal(t, []string{"ok", "(budget: the limit of 6 calls is reached)"}, r.notes, "a call counts as one while it is under way")
		assert.Zero(t, r.under[0].Reserved)
	}))
}

func TestWhatABudgetHoldsUp(t *testing.T) {
	t.Run("only calls and children use calls, tokens and money", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Calls: -1, Tokens: -1, Cost: -1}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			for _, kind := range []engine.Kind{engine.Call, engine.Child, engine.Sleep, engine.Await} {
				r.say("%v", do(b, sched.Options{Scope: sc}, engine.Op{Kind: kind}).Err != nil)
			}
		})
		r.waits()
		r.answer("2", "")
		r.last("3", "")
		assert.Equal(t, []string{"true", "true", "false", "false"}, r.notes)
	}))
	t.Run("everything uses time", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Wall: -1}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			for _, kind := range []engine.Kind{engine.Call, engine.Child, engine.Sleep, engine.Await} {
				r.say("%v", do(b, sched.Options{Scope: sc}, engine.Op{Kind: kind}).Err != nil)
			}
		})
		r.ends()
		assert.Equal(t, []string{"true", "true", "true", "true"}, r.notes)
	}))
	t.Run("what is shielded is made all the same, and counted", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Calls: 1, Wall: -1}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			for range 2 {
				r.say("%s", call(b, sched.Options{Scope: sc, Shielded: true}))
			}
			r.say("%d", sc.Spent().Calls)
		})
		r.waits()
		r.hand("0", used(providers.Usage{Calls: 1}))
		r.waits()
		r.hand("1", used(providers.Usage{Calls: 1}))
		r.ends()
		assert.Equal(t, []string{"ok", "ok", "2"}, r.notes)
	}))
	t.Run("failures cost", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 9}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			call(b, sched.Options{Scope: sc})
			r.say("%d", sc.Spent().Cost)
		})
		r.waits()
		r.hand("0", engine.Completion{Err: &agent.Error{Message: "no", Usage: providers.Usage{Cost: 7}}})
		r.ends()
		assert.Equal(t, []string{"7"}, r.notes)
	}))
	t.Run("what a child spent is counted", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Calls: 5}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			do(b, sched.Options{Scope: sc}, engine.Op{Kind: engine.Child})
			r.say("%d, %s", sc.Spent().Calls, call(b, sched.Options{Scope: sc}))
		})
		r.waits()
		r.hand("0", used(providers.Usage{Calls: 5}))
		r.ends()
		assert.Equal(t, []string{"5, (budget: the limit of 5 calls is reached)"}, r.notes)
	}))
	t.Run("a refused effect leaves no trace", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Calls: 1}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
			roomy := b.Scope(sc, engine.Budget{Calls: 3})
			tight := b.Scope(roomy, engine.Budget{Calls: -1})
			estimated(b, tight, 1)
			assert.Equal(t, int64(1), sc.LeftAt(0).Calls)
			assert.Equal(t, int64(1), roomy.LeftAt(0).Calls)
			estimated(b, roomy, 1)
		})
		r.waits()
		assert.Equal(t, []string{"start call 1"}, r.told, "but for its number and its record")
		assert.Len(t, r.emitted, 1)
	}))
}

func TestReservations(t *testing.T) {
	t.Run("calls side by side do not spend the same money", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 10}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			for range 2 {
				g.Go(unlimited, func(b *sched.Branch) { r.say("%s %s", b.Path(), estimated(b, sc, 6)) })
			}
			g.Next()
			r.say("left %d", sc.LeftAt(0).Cost)
			g.Next()
			r.say("left %d", sc.LeftAt(0).Cost)
		})
		r.waits()
		assert.Equal(t, []string{"start call 0:0"}, r.told, "6 and 6 do not fit into 10")
		r.hand("0:0", used(providers.Usage{Cost: 2}))
		r.waits()
		assert.Equal(t, []string{"start call 0:0", "start call 1:0"}, r.told)
		assert.Equal(t, []string{"0 ok", "left 2"}, r.notes, "2 were used, 6 are reserved")
		r.last("1:0", "free")
		assert.Equal(t, []string{"1 free", "left 8"}, r.notes[2:])
	}))
	t.Run("a call under way counts as one", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Calls: 2}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			for range 3 {
				g.Go(unlimited, func(b *sched.Branch) { r.say("%s %s", b.Path(), call(b, sched.Options{Scope: sc})) })
			}
			g.Next()
			r.say("left %d", sc.LeftAt(0).Calls)
		})
		r.ends()
		assert.Equal(t, []string{"2 (budget: the limit of 2 calls is reached)", "left -1"}, r.notes)
	}))
	t.Run("what is given up is free when it has ended", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Calls: 2, Cost: 10}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) { estimated(b, sc, 9) })
			do(b, unlimited, engine.Op{Kind: engine.Sleep})
			g.Cancel(0, unwanted)
			r.say("left %d, %d calls", sc.LeftAt(0).Cost, sc.LeftAt(0).Calls)
			g.Next()
			r.say("%s", estimated(b, sc, 9))
		})
		r.waits()
		r.answer("0", "")
		assert.Equal(t, []string{"start sleep 0", "start call 0:0", "cancel call 0:0"}, r.told, "its agent may still cost something")
		r.hand("0:0", used(providers.Usage{Calls: 1, Cost: 1}))
		r.waits()
		r.last("1", "made")
		assert.Equal(t, []string{"left 1, 1 calls", "made"}, r.notes)
	}))
	t.Run("where all is reserved, a call without an estimate waits", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 10}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) { estimated(b, sc, 10) })
			g.Go(unlimited, func(b *sched.Branch) { r.say("left %d %s", sc.LeftAt(0).Cost, call(b, sched.Options{Scope: sc})) })
			join(g)
		})
		r.waits()
		assert.Equal(t, []string{"start call 0:0"}, r.told)
		r.answer("0:0", "")
		r.last("1:0", "made")
		assert.Equal(t, []string{"left -1 made"}, r.notes)
	}))
	t.Run("an estimate alone is no limit", inBubble(func(t bubble) {
		r := t.within(engine.Budget{}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			r.say("%s %v", estimated(b, sc, 6), sc.LeftAt(0) == engine.Budget{})
		})
		r.waits()
		r.last("0", "ok")
		assert.Equal(t, []string{"ok true"}, r.notes)
	}))
}

func TestNestedBudgets(t *testing.T) {
	t.Run("an effect must fit into every one", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Calls: 3}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			for range 2 {
				inner := b.Scope(sc, engine.Budget{Calls: 2})
				for range 3 {
					r.say("%s", call(b, sched.Options{Scope: inner}))
				}
				r.say("spent %d of %d", inner.Spent().Calls, sc.Spent().Calls)
			}
		})
		for _, key := range []string{"0", "1", "3"} {
			r.waits()
			r.hand(key, used(providers.Usage{Calls: 1}))
		}
		r.ends()
		assert.Equal(t, []string{
			"ok", "ok", "(budget: the limit of 2 calls is reached)", "spent 2 of 2",
			"ok", "(budget: the limit of 3 calls is reached)", "(budget: the limit of 3 calls is reached)", "spent 1 of 3",
		}, r.notes)
	}))
	t.Run("what is left is the least of all", inBubble(func(t bubble) {
		tests := []struct {
			outer, inner, want engine.Budget
		}{
			{engine.Budget{}, engine.Budget{}, engine.Budget{}},
			{engine.Budget{Calls: 3}, engine.Budget{}, engine.Budget{Calls: 3}},
			{engine.Budget{}, engine.Budget{Tokens: 4}, engine.Budget{Tokens: 4}},
			{engine.Budget{Cost: 5, Calls: 2}, engine.Budget{Cost: 4, Calls: 3}, engine.Budget{Cost: 4, Calls: 2}},
			{engine.Budget{Cost: 5, AllowUnpriced: true}, engine.Budget{}, engine.Budget{Cost: 5, AllowUnpriced: true}},
			{engine.Budget{}, engine.Budget{Cost: 5, AllowUnpriced: true}, engine.Budget{Cost: 5, AllowUnpriced: true}},
			{engine.Budget{Cost: 5, AllowUnpriced: true}, engine.Budget{Cost: 4}, engine.Budget{Cost: 4}},
			{engine.Budget{Cost: 5}, engine.Budget{Cost: 4, AllowUnpriced: true}, engine.Budget{Cost: 4}},
			{engine.Budget{Calls: -7}, engine.Budget{Calls: 3}, engine.Budget{Calls: -1}},
			{engine.Budget{Calls: 3}, engine.Budget{Calls: -7}, engine.Budget{Calls: -1}},
		}
		t.within(engine.Budget{}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
			for _, tt := range tests {
				assert.Equal(t, tt.want, b.Scope(b.Scope(sc, tt.outer), tt.inner).LeftAt(0), "%+v", tt)
			}
		}).ends()
	}))
	t.Run("what is used up is -1 and not 0", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Calls: 1, Tokens: 5, Cost: 7}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
			call(b, sched.Options{Scope: sc})
			assert.Equal(t, engine.Budget{Calls: -1, Tokens: -1, Cost: -1}, sc.LeftAt(0))
		})
		r.waits()
		r.hand("0", used(providers.Usage{Calls: 2, Input: 3, Output: 2, Cost: 7}))
		r.ends()
	}))
	t.Run("budgets side by side do not share", inBubble(func(t bubble) {
		r := t.within(engine.Budget{}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			one, two := b.Scope(sc, engine.Budget{Calls: 1}), b.Scope(sc, engine.Budget{Calls: 1})
			call(b, sched.Options{Scope: one})
			r.say("%d %d", one.LeftAt(0).Calls, two.LeftAt(0).Calls)
		})
		r.waits()
		r.hand("0", used(providers.Usage{Calls: 1}))
		r.ends()
		assert.Equal(t, []string{"-1 1"}, r.notes)
	}))
}

func TestAgentsAreToldWhatACallMayCost(t *testing.T) {
	tests := []struct {
		name          string
		outer, inner  providers.NanoUSD // limits of cost
		own, estimate providers.NanoUSD // limits of the call
		want          providers.NanoUSD
	}{
		{"no limit", 0, 0, 0, 0, 0},
		{"the call's own", 0, 0, 3, 0, 3},
		{"the budget's", 10, 0, 0, 0, 10},
		{"the inner budget's", 10, 4, 0, 0, 4},
		{"the outer budget's", 4, 10, 0, 0, 4},
		{"the call's own where it is less", 10, 0, 3, 0, 3},
		{"the budget's where it is less", 10, 0, 30, 0, 10},
		{"what the call itself reserves is its own", 10, 0, 0, 6, 10},
		{"all is reserved for it", 10, 0, 0, 10, 10},
	}
	for _, tt := range tests {
		t.Run(tt.name, inBubble(func(t bubble) {
			r := t.within(engine.Budget{Cost: tt.outer}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
				l := agent.Limits{Cost: tt.own, Estimate: tt.estimate}
				do(b, sched.Options{Scope: b.Scope(sc, engine.Budget{Cost: tt.inner})}, engine.Op{Kind: engine.Call, Request: &agent.Request{Limits: l}})
			})
			r.waits()
			assert.Equal(t, tt.want, r.under[0].Request.Limits.Cost)
		}))
	}
	t.Run("whether its price may be unknown", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 10, AllowUnpriced: true}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
			call(b, sched.Options{Scope: sc})
			call(b, sched.Options{Scope: b.Scope(sc, engine.Budget{Cost: 4})})
		})
		r.waits()
		assert.Equal(t, agent.Limits{Cost: 10, AllowUnpriced: true}, r.under[0].Request.Limits)
		r.answer("0", "")
		assert.Equal(t, agent.Limits{Cost: 4}, r.under[0].Request.Limits, "where one of the budgets does not allow it")
	}))
	t.Run("what others reserve is not", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 10}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			for range 2 {
				g.Go(unlimited, func(b *sched.Branch) { estimated(b, sc, 4) })
			}
			join(g)
		})
		r.waits()
		assert.Equal(t, providers.NanoUSD(10), r.under[0].Request.Limits.Cost)
		assert.Equal(t, providers.NanoUSD(6), r.under[1].Request.Limits.Cost)
	}))
}
