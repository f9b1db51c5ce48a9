package sched_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/sched"
	"github.com/convene-go/convene/providers"
)

// journal is a run whose processes are killed: its log, and what its agents were
// really paid.
type journal struct {
	t       tester
	limit   engine.Budget
	body    func(r *run, b *sched.Branch, sc *sched.Scope)
	cost    func(op *engine.Op) providers.NanoUSD
	log     []entry
	emitted []runlog.Record
	calls   int                          // that agents got
	paid    providers.NanoUSD            // to them, by those that were killed, too
	above   providers.NanoUSD            // what calls cost beyond what was reserved for them
	under   map[*engine.Op]engine.Amount // calls that agents work on
	end     engine.End
	sure    int // emissions that are in the log for certain: a completion came after them
}

// entry is a completion, a charge, or a resumption.
type entry struct {
	kind     string
	key      string
	c        engine.Completion
	reserved engine.Amount
}

// process resumes the run, lets so many calls complete, in the order that pick says,
// and is killed. It reports whether the run ended.
func (j *journal) process(completions int, pick func(n int) int) bool {
	j.t.Helper()
	r := newRun(j.t, j.limit, j.body)
	defer r.leave()
	r.recorded = j.known()
	done := j.advance(r)
	for _, e := range j.log {
		j.apply(r, e)
		done = j.advance(r)
	}
	if len(j.log) > 0 && !done {
		j.write(r, entry{kind: "resumed"})
		done = j.advance(r)
	}
	for j.work(r); !done && completions > 0; completions-- {
		op := r.under[pick(len(r.under))]
		j.write(r, entry{kind: "called", key: op.Key(), c: price(j.cost(op)), reserved: op.Reserved})
		done = j.advance(r)
		j.work(r)
	}
	j.recall(r)
	if done {
		j.end = ended(r)
	} else if len(j.log) == 0 {
		j.log = append(j.log, entry{kind: "nothing"})
	}
	return done
}

func (j *journal) advance(r *run) bool {
	j.t.Helper()
	done, err := r.s.Advance()
	require.NoError(j.t, err)
	return done
}

func (j *journal) write(r *run, e entry) {
	j.sure = len(r.emitted)
	j.log = append(j.log, e)
	j.apply(r, e)
}

func (j *journal) apply(r *run, e entry) {
	switch e.kind {
	case "called":
		r.hand(e.key, e.c)
	case "used":
		r.s.Charge(r.find(e.key), e.c.Response.Usage)
	case "resumed":
		r.killed = true
		r.s.Lose()
		r.killed = false
	}
}

// work has agents begin calls that are under way.
func (j *journal) work(r *run) {
	if j.under == nil {
		j.under = map[*engine.Op]engine.Amount{}
	}
	for _, op := range r.under {
		if _, ok := j.under[op]; !ok && !r.gaveUp[op] {
			cost := j.cost(op)
			j.under[op] = op.Reserved
			j.calls++
			j.paid += cost
			j.above += max(cost-op.Reserved.Cost, 0)
		}
	}
	for op := range j.under {
		if !slices.Contains(r.under, op) {
			delete(j.under, op)
		}
	}
}

// recall keeps what the process emitted, which has to be what others emitted.
func (j *journal) recall(r *run) {
	for i, rec := range r.emitted {
		if i < len(j.emitted) {
			require.Equal(j.t, j.emitted[i], rec, "a replay emits the same")
		} else {
			j.emitted = append(j.emitted, rec)
		}
	}
	require.Len(j.t, r.emitted, len(j.emitted), "and all of it")
	j.under = nil
}

// known is what the log knows of calls.
func (j *journal) known() map[string]engine.Recorded {
	known := map[string]engine.Recorded{}
	for _, e := range j.log {
		if e.kind == "called" {
			known[e.key] = engine.Recorded{Made: true, Reserved: e.reserved}
		}
	}
	for _, rec := range j.emitted {
		if rec.Kind == runlog.Refused {
			d := &engine.RefusedData{}
			require.NoError(j.t, json.Unmarshal(rec.Data, d))
			known[engine.Key(rec.Branch, rec.N)] = engine.Recorded{Refused: d}
		}
	}
	return known
}

func always(cost providers.NanoUSD) func(*engine.Op) providers.NanoUSD {
	return func(*engine.Op) providers.NanoUSD { return cost }
}

func first(int) int { return 0 }

func TestKills(t *testing.T) {
	one := func(estimate providers.NanoUSD) func(r *run, b *sched.Branch, sc *sched.Scope) {
		return func(r *run, b *sched.Branch, sc *sched.Scope) {
			r.say("%s", estimated(b, sc, estimate))
		}
	}
	t.Run("N4 Estimate 0.30, 20 kills during the call", inBubble(func(t bubble) {
		j := &journal{t: t, limit: engine.Budget{Cost: providers.USD}, body: one(30 * cent), cost: always(30 * cent)}
		kills := 0
		for !j.process(0, first) && kills < 20 {
			kills++
		}
		assert.Equal(t, 3, kills)
		assert.Equal(t, 3, j.calls)
		assert.Equal(t, 90*cent, j.paid)
		assert.Equal(t, engine.Lost{Calls: 3, Cost: 90 * cent}, j.end.Lost)
		assert.Zero(t, j.end.Spent)
		require.Len(t, j.emitted, 4)
		for i, rec := range j.emitted[:3] {
			assert.Equal(t, []any{runlog.Lost, "", int64(i)}, []any{rec.Kind, rec.Branch, rec.N})
			assert.JSONEq(t, `{"calls":1,"cost":300000000,"of":[{"agent":"","cost":300000000}]}`, string(rec.Data))
		}
		assert.Equal(t, runlog.Refused, j.emitted[3].Kind)
		assert.True(t, j.process(0, first), "the next process sees the same end")
	}))
	t.Run("N4 3 calls, 20 kills during the call", inBubble(func(t bubble) {
		j := &journal{t: t, limit: engine.Budget{Calls: 3}, body: one(0), cost: always(0)}
		for kills := 0; !j.process(0, first); kills++ {
			require.Less(t, kills, 20)
		}
		assert.Equal(t, 3, j.calls)
		assert.Equal(t, engine.Lost{Calls: 3}, j.end.Lost)
	}))
	t.Run("N4 an unknown cost is not charged, its call is", inBubble(func(t bubble) {
		j := &journal{t: t, limit: engine.Budget{Cost: providers.USD}, body: one(0), cost: always(30 * cent)}
		for range 5 {
			require.False(t, j.process(0, first))
		}
		require.True(t, j.process(1, first))
		assert.Equal(t, engine.Lost{Calls: 5}, j.end.Lost)
		assert.Equal(t, 30*cent, j.end.Spent.Cost)
	}))
	t.Run("N4 what was lost is admitted again before those that wait", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			for _, est := range []providers.NanoUSD{30, 20, 90, 10} {
				g.Go(unlimited, func(b *sched.Branch) { r.say("%s %s", b.Path(), estimated(b, sc, est)) })
			}
			join(g)
		})
		r.waits()
		r.s.Lose()
		r.waits()
		assert.Equal(t, []string{"start call 0:0", "start call 1:0"}, r.told, "50 lost, 30 and 20 under way")
		assert.Equal(t, []string{"2 (budget: 0.00000005 of 0.0000001 USD are left, and the call wants 0.00000009, its Limits.Estimate)"}, r.notes)
		r.s.Lose()
		r.ends()
		assert.Len(t, r.notes, 4, "nothing is left")
		assert.Equal(t, []string{"cancel call 0:0", "cancel call 1:0"}, r.told[2:])
	}))
	t.Run("N4 one that does not fit any more is refused and canceled", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			for _, est := range []providers.NanoUSD{30, 30, 15} {
				g.Go(unlimited, func(b *sched.Branch) { r.say("%s %s", b.Path(), estimated(b, sc, est)) })
			}
			join(g)
		})
		r.waits()
		r.killed = true
		r.s.Lose() // 75 are lost, 15 fit into the rest
		r.killed = false
		r.waits()
		assert.Equal(t, []string{"cancel call 0:0", "cancel call 1:0"}, r.told[3:])
		assert.Len(t, r.under, 1)
		assert.Equal(t, providers.NanoUSD(25), r.under[0].Request.Limits.Cost)
	}))
	t.Run("N4 one that has to wait now is canceled, and started again", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			for _, est := range []providers.NanoUSD{30, 25} {
				g.Go(unlimited, func(b *sched.Branch) { r.say("%s %s", b.Path(), estimated(b, sc, est)) })
			}
			join(g)
		})
		r.waits()
		r.killed = true
		r.s.Lose() // 55 are lost: 30 fit, 25 do not beside them
		r.killed = false
		r.waits()
		assert.Equal(t, []string{"start call 0:0", "start call 1:0", "cancel call 1:0"}, r.told)
		r.hand("0:0", price(5))
		r.waits()
		assert.Equal(t, "start call 1:0", r.told[3])
		r.hand("1:0", price(25))
		r.ends()
		assert.Equal(t, []string{"0 ok", "1 ok"}, r.notes)
	}))
	t.Run("N4 an unknown cost is alone again", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			for range 2 {
				g.Go(unlimited, func(b *sched.Branch) { estimated(b, sc, 0) })
			}
			join(g)
		})
		r.waits()
		r.s.Lose()
		r.waits()
		assert.Equal(t, []string{"start call 0:0"}, r.told)
		r.hand("0:0", price(1))
		r.waits()
		assert.Equal(t, []string{"start call 0:0", "start call 1:0"}, r.told)
	}))
	t.Run("N4 what the flow gave up is lost, too, and not admitted", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) { estimated(b, sc, 60) })
			do(b, unlimited, engine.Op{Kind: engine.Sleep})
			g.Cancel(0, unwanted)
			r.say("%s", estimated(b, sc, 60))
		})
		r.waits()
		r.answer("0", "")
		r.s.Lose()
		r.ends()
		assert.Equal(t, []string{"(budget: 0.00000004 of 0.0000001 USD are left, and the call wants 0.00000006, its Limits.Estimate)"}, r.notes)
		assert.Equal(t, engine.Lost{Calls: 1, Cost: 60}, ended(r).Lost)
	}))
	t.Run("N4 what was given up and lost does not complete", inBubble(func(t bubble) {
		r := t.begin(func(_ *run, b *sched.Branch) {
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) { call(b, unlimited) })
			do(b, unlimited, engine.Op{Kind: engine.Sleep})
			g.Cancel(0, unwanted)
			do(b, unlimited, engine.Op{Kind: engine.Sleep})
		})
		r.waits()
		r.answer("0", "")
		r.s.Lose()
		r.waits()
		r.hand("0:0", engine.Completion{})
		assert.ErrorContains(t, r.breaks(), "completed effect 0:0 twice")
	}))
	t.Run("N4 an agent is told what is left then", inBubble(func(t bubble) {
		for own, want := range map[providers.NanoUSD][]providers.NanoUSD{0: {40, 90}, 50: {40, 50}} {
			r := t.within(engine.Budget{Cost: 100}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
				g := b.Group()
				g.Go(unlimited, func(b *sched.Branch) { child(b, b.Scope(sc, engine.Budget{Cost: 60}), "film") })
				g.Go(unlimited, func(b *sched.Branch) {
					op := b.Op(engine.Call, "a")
					op.Request = &agent.Request{Limits: agent.Limits{Estimate: 10, Cost: own}}
					b.Do(sched.Options{Scope: sc}, op)
				})
				join(g)
			})
			r.waits()
			l := &r.find("1:0").Request.Limits
			assert.Equal(t, want[0], l.Cost)
			r.answer("0:0", "")
			r.s.Lose()
			r.waits()
			assert.Equal(t, want[1], l.Cost)
		}
	}))
	t.Run("N4 what is shielded is lost, too, and made again", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Calls: -1}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			r.say("%s", call(b, sched.Options{Scope: sc, Shielded: true}))
		})
		r.waits()
		r.s.Lose()
		r.waits()
		r.s.Lose()
		r.waits()
		r.last("0", "tidy")
		assert.Equal(t, []string{"start call 0"}, r.told)
		assert.Equal(t, engine.Lost{Calls: 2}, ended(r).Lost)
	}))
	t.Run("N4 it is on record which calls were lost", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			for _, est := range []providers.NanoUSD{30, 20, 10, 90} {
				g.Go(unlimited, func(b *sched.Branch) {
					do(b, sched.Options{Scope: sc}, engine.Op{Kind: engine.Call, Name: "a", Request: &agent.Request{Limits: agent.Limits{Estimate: est}}})
				})
			}
			do(b, unlimited, engine.Op{Kind: engine.Sleep})
			g.Cancel(1, unwanted)
			join(g)
		})
		r.waits()
		charged := r.find("2:0")
		r.answer("0", "")
		r.waits()
		r.s.Charge(charged, providers.Usage{Calls: 1, Cost: 5})
		r.s.Lose()
		require.NotEmpty(t, r.emitted)
		assert.Equal(t, runlog.Lost, r.emitted[0].Kind)
		assert.JSONEq(t, `{"calls":2,"cost":50,"of":[{"branch":"0","agent":"a","cost":30},{"branch":"1","agent":"a","cost":20,"givenUp":true}]}`, string(r.emitted[0].Data),
			"what the third one used is known, and the fourth one waits")
	}))
	t.Run("N4 sleeps and questions are not lost", inBubble(func(t bubble) {
		r := t.begin(func(_ *run, b *sched.Branch) {
			do(b, unlimited, engine.Op{Kind: engine.Sleep})
			do(b, unlimited, engine.Op{Kind: engine.Await})
		})
		r.waits()
		r.s.Lose()
		r.answer("0", "")
		r.s.Lose()
		r.last("1", "")
		assert.Empty(t, r.emitted)
	}))
	t.Run("N4 a call that the log knows is not canceled while it waits", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100}, func(r *run, b *sched.Branch, sc *sched.Scope) { r.say("%s", estimated(b, sc, 60)) })
		r.recorded = map[string]engine.Recorded{"0": {Made: true, Reserved: engine.Amount{Cost: 60}}}
		r.waits()
		r.s.Lose()
		r.waits()
		r.last("0", "made")
		assert.Equal(t, []string{"start call 0"}, r.told)
		assert.Equal(t, []string{"made"}, r.notes)
	}))
}

func TestChargedCalls(t *testing.T) {
	t.Run("N4 what Close cut is charged, and no more", inBubble(func(t bubble) {
		j := &journal{t: t, limit: engine.Budget{Cost: providers.USD}, cost: always(30 * cent)}
		j.body = func(r *run, b *sched.Branch, sc *sched.Scope) {
			r.say("%s", estimated(b, sc, 30*cent))
		}
		for range 15 {
			require.False(t, j.process(0, first))
			j.log = append(j.log, entry{kind: "used", key: "0", c: price(4 * cent)})
		}
		require.True(t, j.process(1, first))
		assert.Equal(t, 90*cent, j.end.Spent.Cost, "15 of 0.04, and the call")
		assert.Zero(t, j.end.Lost)
		assert.Empty(t, j.emitted)
	}))
	t.Run("N4 it is lost if it is killed after that", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100}, func(_ *run, b *sched.Branch, sc *sched.Scope) { estimated(b, sc, 30) })
		r.waits()
		r.s.Charge(r.under[0], providers.Usage{Cost: 4})
		r.s.Lose()
		r.waits()
		assert.Equal(t, engine.Lost{}, ended(r).Lost)
		r.s.Lose()
		r.waits()
		assert.Equal(t, engine.Lost{Calls: 1, Cost: 30}, ended(r).Lost)
	}))
	t.Run("N4 what the flow gave up is charged, too", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) { estimated(b, sc, 60) })
			do(b, unlimited, engine.Op{Kind: engine.Sleep})
			g.Cancel(0, unwanted)
			r.say("%s", estimated(b, sc, 60))
		})
		r.waits()
		op := r.find("0:0")
		r.answer("0", "")
		r.s.Charge(op, providers.Usage{Cost: 5})
		r.s.Lose()
		r.waits()
		r.last("1", "made")
		assert.Equal(t, providers.NanoUSD(5), ended(r).Spent.Cost)
		assert.Zero(t, ended(r).Lost)
	}))
	t.Run("N4 what the flow gave up and Close cut is one call, before the resume too", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100, Calls: 2}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) { estimated(b, sc, 60) })
			do(b, unlimited, engine.Op{Kind: engine.Sleep})
			g.Cancel(0, unwanted)
			r.say("%s", estimated(b, sc, 60))
		})
		r.waits()
		op := r.find("0:0")
		r.answer("0", "")
		r.s.Charge(op, providers.Usage{Calls: 1, Cost: 5})
		r.waits()
		assert.Empty(t, r.notes, "60 do not fit beside 60, and one call of two is left")
		r.s.Lose()
		r.waits()
		r.last("1", "made")
		assert.Equal(t, []string{"made"}, r.notes)
		assert.Equal(t, providers.NanoUSD(5), ended(r).Spent.Cost)
		assert.Zero(t, ended(r).Lost)
	}))
	t.Run("N4 what a cut call used is no figure", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 100}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			for range 2 {
				g.Go(unlimited, func(b *sched.Branch) { estimated(b, sc, 0) })
			}
			join(g)
		})
		r.waits()
		r.s.Charge(r.under[0], providers.Usage{Cost: 4})
		r.s.Lose()
		r.waits()
		assert.Len(t, r.under, 1, "it is still unknown what such a call costs")
	}))
}

// A run that is killed again and again, with flows that call agents side by side,
// spends no more than its limit and what calls cost beyond what was reserved.
func TestOvershootOverKills(t *testing.T) {
	t.Run("N4 ", rapid.MakeCheck(func(t *rapid.T) {
		truth := rapid.Bool().Draw(t, "estimates are true")
		dear := rapid.Int64Range(1, 40).Draw(t, "the dearest call")
		limit := rapid.Int64Range(1, 100).Draw(t, "limit")
		batches := rapid.SliceOfN(rapid.IntRange(1, 8), 1, 4).Draw(t, "calls side by side")
		chance := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "chance"), 0))
		costs := map[string]int64{}
		priceOf := func(key string) providers.NanoUSD {
			if costs[key] == 0 {
				costs[key] = 1 + chance.Int64N(dear)
			}
			return providers.NanoUSD(costs[key])
		}
		j := &journal{t: t, limit: engine.Budget{Cost: providers.NanoUSD(limit)}, cost: func(op *engine.Op) providers.NanoUSD { return priceOf(op.Key()) }}
		j.body = func(_ *run, b *sched.Branch, sc *sched.Scope) {
			for _, n := range batches {
				g := b.Group()
				for i := range n {
					inner := sc
					if i%3 == 2 {
						inner = b.Scope(sc, engine.Budget{Cost: providers.NanoUSD(dear)})
					}
					g.Go(unlimited, func(b *sched.Branch) {
						op := b.Op(engine.Call, fmt.Sprint(i%2))
						op.Request = &agent.Request{}
						if truth {
							op.Request.Limits.Estimate = priceOf(engine.Key(b.Path(), 0))
						}
						b.Do(sched.Options{Scope: inner}, op)
					})
				}
				join(g)
			}
		}
		pick := func(n int) int { return chance.IntN(n) }
		for range 30 {
			if j.process(chance.IntN(4), pick) {
				break
			}
			if chance.IntN(2) == 0 {
				j.emitted = j.emitted[:min(j.sure, len(j.emitted))]
			}
		}
		for !j.process(100, pick) {
		}
		assert.LessOrEqual(t, j.paid, providers.NanoUSD(limit)+j.above)
		if truth {
			assert.LessOrEqual(t, j.paid, providers.NanoUSD(limit), "no overshoot with true Estimates")
		}
		again := *j
		require.True(t, again.process(0, first), "the whole log replays")
		assert.Equal(t, j.end, again.end)
	}))
}
