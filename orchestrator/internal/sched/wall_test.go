package sched_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/sched"
)

const timeIsUp = "(budget: the time limit of 5s is reached)"

// limitKey is the key of the limit that ends so long after the start.
func limitKey(after time.Duration) string { return fmt.Sprint(-int64(after)) }

func TestTimeLimit(t *testing.T) {
	limit := engine.Budget{Wall: 5 * time.Second}
	five := limitKey(5 * time.Second)
	t.Run("it is an effect of the run, by the time worked", inBubble(func(t bubble) {
		r := t.begin(func(_ *run, b *sched.Branch) {
			call(b, unlimited)
			call(b, sched.Options{Scope: b.Scope(nil, limit)})
		})
		r.waits()
		r.answer("0", "") // after a second
		assert.Equal(t, []string{"start call 0", "start call 1", "start limit -6000000000"}, r.told)
		assert.Equal(t, 6*time.Second, r.under[1].Worked)
		assert.Empty(t, r.under[1].Branch)
	}))
	t.Run("it gives up what is under way, and refuses what comes", inBubble(func(t bubble) {
		r := t.within(limit, func(r *run, b *sched.Branch, sc *sched.Scope) {
			u := sched.Options{Scope: sc}
			g := b.Group()
			for _, kind := range []engine.Kind{engine.Call, engine.Sleep, engine.Await} {
				g.Go(u, func(b *sched.Branch) { r.say("%s", result(do(b, u, engine.Op{Kind: kind}))) })
			}
			join(g)
			r.say("%s", result(do(b, u, engine.Op{Kind: engine.Sleep})))
		})
		r.waits()
		r.hand(five, engine.Completion{})
		r.ends()
		assert.Equal(t, []string{timeIsUp, timeIsUp, timeIsUp, timeIsUp}, r.notes)
		assert.Equal(t, []string{"cancel call 0:0", "cancel sleep 1:0", "cancel await 2:0"}, r.told[4:])
		assert.Empty(t, r.emitted, "it is on record that the time is up")
	}))
	t.Run("a call that is asked for afterwards is refused on record", inBubble(func(t bubble) {
		r := t.within(limit, func(r *run, b *sched.Branch, sc *sched.Scope) {
			call(b, sched.Options{Scope: sc, Shielded: true})
			r.say("%s", call(b, sched.Options{Scope: sc}))
		})
		r.waits()
		assert.Equal(t, []string{"start call 0"}, r.told, "nothing that the limit could end is under way")
		r.worked = 4 * time.Second
		r.last("0", "") // after five
		assert.Equal(t, []string{timeIsUp}, r.notes)
		assert.Len(t, r.emitted, 1)
	}))
	t.Run("it is ErrBudget and no cancel", inBubble(func(t bubble) {
		r := t.within(limit, func(_ *run, b *sched.Branch, sc *sched.Scope) {
			done := do(b, sched.Options{Scope: sc}, engine.Op{Kind: engine.Call})
			require.ErrorIs(t, done.Err, engine.ErrBudget)
			require.ErrorIs(t, done.Err, engine.ErrOver)
			assert.Nil(t, b.Err())
			assert.Equal(t, "goes on", call(b, unlimited))
		})
		r.waits()
		r.hand(five, engine.Completion{})
		r.waits()
		r.last("1", "goes on")
	}))
	t.Run("a late completion of what it gave up is dropped", inBubble(func(t bubble) {
		r := t.within(limit, func(r *run, b *sched.Branch, sc *sched.Scope) {
			r.say("%s", call(b, sched.Options{Scope: sc}))
			r.say("%s", call(b, unlimited))
		})
		r.waits()
		r.hand(five, engine.Completion{})
		r.waits()
		r.answer("0", "too late")
		r.last("1", "in time")
		assert.Equal(t, []string{timeIsUp, "in time"}, r.notes)
	}))
	t.Run("it reaches what is under it in every branch, nothing else", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			ends, other := b.Scope(nil, limit), b.Scope(nil, engine.Budget{Wall: time.Hour})
			inner := b.Scope(ends, engine.Budget{Calls: 3})
			g := b.Group()
			for _, u := range []sched.Options{{Scope: ends}, {Scope: inner}, {Scope: other}, {}, {Scope: ends, Shielded: true}} {
				g.Go(sched.Options{}, func(b *sched.Branch) { r.say("%s %s", b.Path(), call(b, u)) })
			}
			join(g)
		})
		r.waits()
		r.hand(five, engine.Completion{})
		r.waits()
		assert.Equal(t, []string{"0 " + timeIsUp, "1 " + timeIsUp}, r.notes)
		r.answer("4:0", "shielded")
		r.answer("2:0", "other")
		r.last("3:0", "none")
		assert.Equal(t, []string{"4 shielded", "2 other", "3 none"}, r.notes[2:])
	}))
	t.Run("a child is told to end, once, and waited for", inBubble(func(t bubble) {
		r := t.within(limit, func(r *run, b *sched.Branch, sc *sched.Scope) {
			r.say("%s", result(do(b, sched.Options{Scope: sc}, engine.Op{Kind: engine.Child})))
		})
		r.waits()
		r.hand(five, engine.Completion{})
		r.waits()
		r.s.Complete(engine.Completion{Err: enough})
		r.waits()
		assert.Equal(t, []string{"start child 0", "start limit " + five, "cancel child 0"}, r.told)
		r.last("0", "so far")
		assert.Equal(t, []string{"so far"}, r.notes)
	}))
	t.Run("a call that waits for money ends, too", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Cost: 10, Wall: 5 * time.Second}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			for range 2 {
				g.Go(unlimited, func(b *sched.Branch) { r.say("%s %s", b.Path(), estimated(b, sc, 10)) })
			}
			join(g)
		})
		r.waits()
		r.hand(five, engine.Completion{})
		r.ends()
		assert.Equal(t, []string{"start call 0:0", "start limit " + five, "cancel call 0:0"}, r.told)
		assert.Equal(t, []string{"0 " + timeIsUp, "1 " + timeIsUp}, r.notes)
	}))
	t.Run("a time that never comes", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			call(b, unlimited)
			sc := b.Scope(nil, engine.Budget{Wall: math.MaxInt64})
			assert.Positive(t, sc.LeftAt(time.Second).Wall)
			r.say("%s", call(b, sched.Options{Scope: sc}))
		})
		r.waits()
		r.answer("0", "")
		r.last("1", "made")
		assert.Equal(t, []string{"made"}, r.notes)
	}))
	t.Run("N4 what the log made after today's time is not ended by it", inBubble(func(t bubble) {
		r := t.within(limit, func(r *run, b *sched.Branch, sc *sched.Scope) {
			r.say("%s", call(b, sched.Options{Scope: sc}))
			r.say("%s", call(b, sched.Options{Scope: sc}))
		})
		r.recorded = map[string]engine.Recorded{"1": {Made: true}}
		r.waits()
		r.hand(five, engine.Completion{})
		r.waits()
		assert.Equal(t, []string{"start call 0", "start limit " + five, "cancel call 0", "start call 1"}, r.told)
		r.last("1", "made")
		assert.Equal(t, []string{timeIsUp, "made"}, r.notes)
	}))
}

func TestRecordedCallUnderAnExpiredBudget(t *testing.T) {
	inBubble(func(t bubble) {
		r := t.begin(func(_ *run, b *sched.Branch) {
			g := b.Group()
			for _, wall := range []time.Duration{5, -1} {
				g.Go(unlimited, func(b *sched.Branch) { call(b, sched.Options{Scope: b.Scope(nil, engine.Budget{Wall: wall})}) })
			}
			join(g)
		})
		r.recorded = map[string]engine.Recorded{"1:0": {Made: true}}
		r.waits()
		assert.Equal(t, []string{"start call 0:0", "start call 1:0", "start limit -5"}, r.told, "the log has the second call; it does not end by time")
	})(t)
}

func TestOneDeadlineOfARun(t *testing.T) {
	t.Run("parts that end in time leave nothing", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Wall: time.Hour}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
			for range 3 {
				call(b, sched.Options{Scope: b.Scope(sc, engine.Budget{Wall: 3 * time.Second})})
			}
			call(b, unlimited)
		})
		r.waits()
		for i := range 3 { // each at the second i
			require.Len(t, r.under, 2)
			assert.Equal(t, time.Duration(i+3)*time.Second, r.under[1].Worked)
			r.take(r.under[1].Key()) // the engine forgets it when it is canceled
			r.answer(fmt.Sprint(i), "")
		}
		assert.Len(t, r.under, 1, "nothing under a limit is under way: %q", r.told)
		r.last("3", "")
		assert.Equal(t, []string{
			"start call 0", "start limit -3000000000",
			"start call 1", "cancel limit -3000000000", "start limit -4000000000",
			"start call 2", "cancel limit -4000000000", "start limit -5000000000",
			"start call 3", "cancel limit -5000000000",
		}, r.told)
	}))
	t.Run("effects under one limit do not set it again", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Wall: time.Hour}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
			for range 3 {
				call(b, sched.Options{Scope: sc})
			}
		})
		r.waits()
		r.answer("0", "")
		r.answer("1", "")
		r.last("2", "")
		hour := limitKey(time.Hour)
		assert.Equal(t, []string{"start call 0", "start limit " + hour, "start call 1", "start call 2", "cancel limit " + hour}, r.told)
	}))
	t.Run("the earliest is set, and all that are due then expire", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			g := b.Group()
			for _, wall := range []time.Duration{9, 5, 7, 60} {
				sc := b.Scope(nil, engine.Budget{Wall: wall * time.Second})
				g.Go(unlimited, func(b *sched.Branch) { r.say("%s %s", b.Path(), call(b, sched.Options{Scope: sc})) })
			}
			join(g)
		})
		r.waits()
		assert.Equal(t, "start limit "+limitKey(5*time.Second), r.told[4])
		r.worked = 6 * time.Second
		r.hand(limitKey(5*time.Second), engine.Completion{}) // at 7
		r.waits()
		assert.Equal(t, []string{"1 " + timeIsUp, "2 (budget: the time limit of 7s is reached)"}, r.notes)
		assert.Equal(t, []string{"cancel call 1:0", "cancel call 2:0", "start limit " + limitKey(9*time.Second)}, r.told[5:])
	}))
	t.Run("one that comes after it was taken back ends what is due", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			short, long := b.Scope(nil, engine.Budget{Wall: 3 * time.Second}), b.Scope(nil, engine.Budget{Wall: 8 * time.Second})
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) { call(b, sched.Options{Scope: short}) })
			g.Go(unlimited, func(b *sched.Branch) { r.say("%s", call(b, sched.Options{Scope: long})) })
			join(g)
		})
		r.waits()
		r.answer("0:0", "")
		r.hand(limitKey(3*time.Second), engine.Completion{}) // it was on record before the cancel
		r.waits()
		assert.Empty(t, r.notes)
		assert.Equal(t, []string{"cancel limit " + limitKey(3*time.Second), "start limit " + limitKey(8*time.Second)}, r.told[3:])
		r.hand(limitKey(8*time.Second), engine.Completion{})
		r.ends()
	}))
	t.Run("what the completion says is enough, if the clock is behind", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Wall: 5 * time.Second}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			r.say("%s", call(b, sched.Options{Scope: sc}))
			r.say("%s", call(b, sched.Options{Scope: sc}))
		})
		r.waits()
		r.hand(limitKey(5*time.Second), engine.Completion{}) // the clock says 1s
		r.ends()
		assert.Equal(t, []string{timeIsUp, timeIsUp}, r.notes)
	}))
}

func TestTimeLeft(t *testing.T) {
	tests := []struct {
		name         string
		outer, inner time.Duration // limits, both made when nothing was worked
		worked       time.Duration
		want         time.Duration
	}{
		{"no limit", 0, 0, time.Second, 0},
		{"all of it", 5 * time.Second, 0, 0, 5 * time.Second},
		{"the rest", 5 * time.Second, 0, 2 * time.Second, 3 * time.Second},
		{"the inner one's", 5 * time.Second, 3 * time.Second, time.Second, 2 * time.Second},
		{"the outer one's", 3 * time.Second, 5 * time.Second, time.Second, 2 * time.Second},
		{"nothing", 5 * time.Second, 0, 5 * time.Second, -1},
		{"nothing under what is left outside", 5 * time.Second, 3 * time.Second, 4 * time.Second, -1},
		{"none was given", -1, 0, 0, -1},
		{"none was given inside", 5 * time.Second, -7, 0, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, inBubble(func(t bubble) {
			t.within(engine.Budget{Wall: tt.outer}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
				assert.Equal(t, engine.Budget{Wall: tt.want}, b.Scope(sc, engine.Budget{Wall: tt.inner}).LeftAt(tt.worked))
			}).ends()
		}))
	}
	t.Run("none once it has expired", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Wall: 5 * time.Second}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			call(b, sched.Options{Scope: sc})
			r.say("%d", b.Scope(sc, engine.Budget{Wall: time.Hour}).LeftAt(0).Wall)
		})
		r.waits()
		r.hand(limitKey(5*time.Second), engine.Completion{})
		r.ends()
		assert.Equal(t, []string{"-1"}, r.notes)
	}))
}
