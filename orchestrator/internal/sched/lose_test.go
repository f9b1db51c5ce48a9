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

// lose loses the calls of those keys, as an engine does whose worker was killed: what is
// canceled then does not complete.
func (r *run) lose(keys ...string) {
	r.t.Helper()
	var ops []*engine.Op
	for _, key := range keys {
		op := r.find(key)
		require.NotNil(r.t, op, "effect %s is not under way: %q", key, r.told)
		ops = append(ops, op)
	}
	r.killed = true
	r.s.Lose(ops...)
	r.killed = false
}

// inBranches calls agents in one branch each, with those estimates, and says what came of
// each call.
func inBranches(estimates ...providers.NanoUSD) func(r *run, b *sched.Branch, sc *sched.Scope) {
	return func(r *run, b *sched.Branch, sc *sched.Scope) {
		g := b.Group()
		for _, est := range estimates {
			g.Go(unlimited, func(b *sched.Branch) { r.say("%s %s", b.Path(), estimated(b, sc, est)) })
		}
		join(g)
	}
}

func TestLoseOneCall(t *testing.T) {
	t.Run("without limits it stays started, and the others are not touched", inBubble(func(t bubble) {
		r := t.within(engine.Budget{}, inBranches(0, 0, 0))
		r.waits()
		r.lose("1:0")
		r.waits()
		assert.Equal(t, []string{"start call 0:0", "start call 1:0", "start call 2:0"}, r.told)
		assert.Equal(t, engine.Lost{Calls: 1}, ended(r).Lost)
		require.Len(t, r.emitted, 1)
		assert.JSONEq(t, `{"calls":1,"of":[{"branch":"1","agent":""}]}`, string(r.emitted[0].Data))
		r.hand("0:0", price(1))
		r.hand("1:0", price(2))
		r.hand("2:0", price(4))
		r.ends()
		assert.Equal(t, []string{"0 ok", "1 ok", "2 ok"}, r.notes)
		assert.Equal(t, providers.NanoUSD(7), ended(r).Spent.Cost)
	}))
	t.Run("what was reserved counts as lost, and again for the second try", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100}, inBranches(30, 20, 50))
		r.waits()
		r.lose("1:0") // 20 are lost; 30 and 50 stay reserved, so 20 do not fit beside them
		r.waits()
		assert.Equal(t, []string{"cancel call 1:0"}, r.told[3:])
		assert.Empty(t, r.notes)
		r.hand("0:0", price(5))
		r.waits()
		assert.Equal(t, []string{"start call 1:0"}, r.told[4:], "25 are free")
		r.hand("1:0", price(20))
		r.hand("2:0", price(50))
		r.ends()
		assert.Equal(t, engine.Lost{Calls: 1, Cost: 20}, ended(r).Lost)
		assert.Equal(t, providers.NanoUSD(75), ended(r).Spent.Cost)
	}))
	t.Run("a second try that is refused leaves the first one lost", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100}, inBranches(60, 40))
		r.waits()
		r.lose("0:0") // 60 do not fit into 40
		r.waits()
		assert.Equal(t, []string{"cancel call 0:0"}, r.told[2:])
		assert.Equal(t, []string{"0 (budget: 0.00000004 of 0.0000001 USD are left, and the call wants 0.00000006, its Limits.Estimate)"}, r.notes)
		r.hand("1:0", price(40))
		r.ends()
		assert.Equal(t, engine.Lost{Calls: 1, Cost: 60}, ended(r).Lost)
	}))
	t.Run("a limit on calls counts the lost one", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Calls: 2}, inBranches(0, 0))
		r.waits()
		r.lose("1:0")
		r.waits()
		assert.Equal(t, []string{"1 (budget: the limit of 2 calls is reached)"}, r.notes)
		r.hand("0:0", price(1))
		r.ends()
		assert.Equal(t, engine.Lost{Calls: 1}, ended(r).Lost)
	}))
	t.Run("it is admitted before calls that wait", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 150}, inBranches(50, 80, 45))
		r.waits() // the third one waits
		r.lose("0:0")
		r.waits()
		assert.Equal(t, []string{"start call 0:0", "start call 1:0", "cancel call 0:0"}, r.told)
		r.hand("1:0", price(0))
		r.waits()
		assert.Equal(t, []string{"start call 0:0", "start call 2:0"}, r.told[3:])
	}))
	t.Run("calls of a later loss go before those of an earlier one", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 200}, inBranches(30, 40, 60, 50))
		r.waits()
		r.lose("0:0") // 20 are free beside 150 that are reserved and 30 lost
		r.waits()
		r.lose("1:0")
		r.waits()
		assert.Equal(t, []string{"cancel call 0:0", "cancel call 1:0"}, r.told[4:])
		r.hand("3:0", price(0))
		r.waits()
		assert.Equal(t, []string{"start call 1:0", "start call 0:0"}, r.told[6:])
	}))
	t.Run("two of three, in any order, are one record in the order of the flow", inBubble(func(t bubble) {
		r := t.within(engine.Budget{}, inBranches(0, 0, 0))
		r.waits()
		r.lose("2:0", "0:0", "2:0")
		r.waits()
		require.Len(t, r.emitted, 1)
		assert.JSONEq(t, `{"calls":2,"of":[{"branch":"0","agent":""},{"branch":"2","agent":""}]}`, string(r.emitted[0].Data), "none of them twice")
		r.lose("1:0")
		require.Len(t, r.emitted, 2)
		assert.Equal(t, int64(1), r.emitted[1].N, "losses are numbered")
	}))
	t.Run("what was charged for it is all that counts", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100}, inBranches(30, 60))
		r.waits()
		r.s.Charge(r.find("0:0"), providers.Usage{Calls: 1, Cost: 4})
		r.lose("1:0")
		r.waits()
		assert.Equal(t, engine.Lost{Calls: 1, Cost: 60}, ended(r).Lost)
		r.lose("0:0")
		r.waits()
		assert.Equal(t, engine.Lost{Calls: 1, Cost: 60}, ended(r).Lost, "the usage of 0 is known")
		assert.Equal(t, providers.NanoUSD(4), ended(r).Spent.Cost)
	}))
	t.Run("one that the flow gave up is not made again", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) { estimated(b, sc, 30) })
			g.Go(unlimited, func(b *sched.Branch) { estimated(b, sc, 20) })
			do(b, unlimited, engine.Op{Kind: engine.Sleep})
			g.Cancel(0, unwanted)
			g.Cancel(1, unwanted)
			r.say("%s", estimated(b, sc, 60))
		})
		r.waits()
		lost, slow := r.find("0:0"), r.find("1:0")
		r.answer("0", "")
		assert.Empty(t, r.notes, "60 do not fit beside 50")
		r.s.Lose(lost)
		r.waits()
		require.Len(t, r.emitted, 1)
		assert.JSONEq(t, `{"calls":1,"cost":30,"of":[{"branch":"0","agent":"","cost":30,"givenUp":true}]}`, string(r.emitted[0].Data))
		assert.NotContains(t, r.told, "start call 1", "the other one still holds its money")
		r.s.Complete(engine.Completion{Op: slow, Response: &agent.Response{Usage: providers.Usage{Calls: 1, Cost: 5}}})
		r.waits()
		assert.Contains(t, r.told, "start call 1")
		r.s.Complete(engine.Completion{Op: lost})
		assert.ErrorContains(t, r.breaks(), "completed effect 0:0 twice")
	}))
	t.Run("a shielded one stays started", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Calls: -1}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			r.say("%s", call(b, sched.Options{Scope: sc, Shielded: true}))
		})
		r.waits()
		r.lose("0")
		r.waits()
		r.last("0", "tidy")
		assert.Equal(t, []string{"start call 0"}, r.told)
		assert.Equal(t, engine.Lost{Calls: 1}, ended(r).Lost)
	}))
	t.Run("a shielded one does not wait behind others of its kind", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			for _, o := range []sched.Options{{Scope: sc}, {Scope: sc, Shielded: true}} {
				g.Go(unlimited, func(b *sched.Branch) {
					do(b, o, engine.Op{Kind: engine.Call, Request: &agent.Request{Limits: agent.Limits{Estimate: 30}}})
				})
			}
			g.Go(unlimited, func(b *sched.Branch) { estimated(b, sc, 60) })
			join(g)
		})
		r.waits()
		r.lose("0:0", "1:0") // 30 are lost, 60 reserved: no other 30 fit
		r.waits()
		assert.Equal(t, []string{"cancel call 0:0"}, r.told[3:])
	}))
	t.Run("lost calls are tried again in the order in which the flow asked", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 170}, inBranches(30, 30, 30, 60))
		r.waits()
		r.lose("0:0", "1:0", "2:0") // 90 are lost, 60 reserved: 20 are free
		r.waits()
		require.Equal(t, []string{"cancel call 0:0", "cancel call 1:0", "cancel call 2:0"}, r.told[4:])
		r.hand("3:0", price(0))
		r.waits()
		assert.Equal(t, []string{"start call 0:0", "start call 1:0"}, r.told[7:])
	}))
	t.Run("a call that waits is not lost twice", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100}, inBranches(30, 70))
		r.waits()
		op := r.find("0:0")
		r.lose("0:0")
		r.waits()
		r.s.Lose(op)
		r.waits()
		assert.Equal(t, engine.Lost{Calls: 1, Cost: 30}, ended(r).Lost)
		assert.Len(t, r.emitted, 1)
	}))
}

func TestLoseWhatIsNoCallUnderWay(t *testing.T) {
	t.Run("an effect that the engine was not given", inBubble(func(t bubble) {
		r := t.begin(func(_ *run, b *sched.Branch) { call(b, unlimited) })
		r.waits()
		r.s.Lose(&engine.Op{Kind: engine.Call})
		assert.ErrorContains(t, r.breaks(), "lost an effect that it was not given")
		assert.Zero(t, ended(r).Lost)
	}))
	t.Run("a sleep", inBubble(func(t bubble) {
		r := t.begin(func(_ *run, b *sched.Branch) { do(b, unlimited, engine.Op{Kind: engine.Sleep}) })
		r.waits()
		r.s.Lose(r.under[0])
		assert.ErrorContains(t, r.breaks(), "lost effect 0, which is no call under way")
	}))
	t.Run("a call that is complete", inBubble(func(t bubble) {
		r := t.begin(func(_ *run, b *sched.Branch) {
			call(b, unlimited)
			call(b, shielded)
		})
		r.waits()
		op := r.under[0]
		r.cancel()
		r.s.Complete(engine.Completion{Op: op})
		r.s.Lose(op)
		assert.ErrorContains(t, r.breaks(), "lost effect 0, which is no call under way")
	}))
}
