package sched_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/sched"
)

const timeIsUp = "(budget: the time limit of 5s is reached)"

func TestTimeLimit(t *testing.T) {
	limit := engine.Budget{Wall: 5 * time.Second}
	t.Run("it is an effect, by the time worked", both(func(t seam) {
		r := t.begin(func(_ *run, b *sched.Branch) {
			call(b, unlimited)
			call(b, sched.Use{Scope: b.Scope(nil, limit)})
		})
		r.waits()
		r.answer("0", "") // after a second
		assert.Equal(t, []string{"start call 0", "start limit 1", "start call 2"}, r.told)
		assert.Equal(t, 6*time.Second, r.under[0].Worked)
	}))
	t.Run("it gives up what is under way, and refuses what comes", both(func(t seam) {
		r := t.within(limit, func(r *run, b *sched.Branch, sc *sched.Scope) {
			u := sched.Use{Scope: sc}
			g := b.Group()
			for _, kind := range []engine.Kind{engine.Call, engine.Sleep, engine.Await} {
				g.Go(u, func(b *sched.Branch) { r.say("%s", result(b.Do(u, engine.Op{Kind: kind}))) })
			}
			join(g)
			r.say("%s", result(b.Do(u, engine.Op{Kind: engine.Sleep})))
		})
		r.waits()
		r.hand("0", engine.Completion{})
		r.ends()
		assert.Equal(t, []string{timeIsUp, timeIsUp, timeIsUp, timeIsUp}, r.notes)
		assert.Equal(t, []string{"cancel call 0:0", "cancel sleep 1:0", "cancel await 2:0"}, r.told[4:])
	}))
	t.Run("it is ErrBudget and no cancel", both(func(t seam) {
		r := t.within(limit, func(_ *run, b *sched.Branch, sc *sched.Scope) {
			done := b.Do(sched.Use{Scope: sc}, engine.Op{Kind: engine.Call})
			require.ErrorIs(t, done.Err, engine.ErrBudget)
			assert.Nil(t, b.Err())
			assert.Equal(t, "goes on", call(b, unlimited))
		})
		r.waits()
		r.hand("0", engine.Completion{})
		r.waits()
		r.last("2", "goes on")
	}))
	t.Run("a late completion of what it gave up is dropped", both(func(t seam) {
		r := t.within(limit, func(r *run, b *sched.Branch, sc *sched.Scope) {
			r.say("%s", call(b, sched.Use{Scope: sc}))
			r.say("%s", call(b, unlimited))
		})
		r.waits()
		r.hand("0", engine.Completion{})
		r.waits()
		r.answer("1", "too late")
		r.last("2", "in time")
		assert.Equal(t, []string{timeIsUp, "in time"}, r.notes)
	}))
	t.Run("it reaches what is under it in every branch, nothing else", both(func(t seam) {
		r := t.begin(func(r *run, b *sched.Branch) {
			ends, other := b.Scope(nil, limit), b.Scope(nil, engine.Budget{Wall: time.Hour})
			inner := b.Scope(ends, engine.Budget{Calls: 3})
			g := b.Group()
			for _, u := range []sched.Use{{Scope: ends}, {Scope: inner}, {Scope: other}, {}, {Scope: ends, Shielded: true}} {
				g.Go(sched.Use{}, func(b *sched.Branch) { r.say("%s %s", b.Path(), call(b, u)) })
			}
			join(g)
		})
		r.waits()
		r.hand("0", engine.Completion{})
		r.waits()
		assert.Equal(t, []string{"0 " + timeIsUp, "1 " + timeIsUp}, r.notes)
		r.answer("4:0", "shielded")
		r.answer("2:0", "other")
		r.last("3:0", "none")
		assert.Equal(t, []string{"4 shielded", "2 other", "3 none"}, r.notes[2:])
	}))
	t.Run("a child is told to end and waited for", both(func(t seam) {
		r := t.within(limit, func(r *run, b *sched.Branch, sc *sched.Scope) {
			r.say("%s", result(b.Do(sched.Use{Scope: sc}, engine.Op{Kind: engine.Child})))
		})
		r.waits()
		r.hand("0", engine.Completion{})
		r.waits()
		assert.Equal(t, []string{"start limit 0", "start child 1", "cancel child 1"}, r.told)
		r.last("1", "so far")
		assert.Equal(t, []string{"so far"}, r.notes)
	}))
	t.Run("it ends with the branch that made it", both(func(t seam) {
		var inner *sched.Scope
		r := t.begin(func(r *run, b *sched.Branch) {
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) {
				inner = b.Scope(nil, limit)
				call(b, sched.Use{Scope: inner})
			})
			g.Next()
			r.say("%s", call(b, unlimited))
		})
		r.waits()
		r.answer("0:1", "")
		assert.Equal(t, []string{"start limit 0:0", "start call 0:1", "cancel limit 0:0", "start call 0"}, r.told)
		r.hand("0:0", engine.Completion{}) // it was under way
		r.waits()
		assert.Equal(t, 3*time.Second, inner.LeftAt(r.worked).Wall, "not expired: it ended before its time")
		r.last("0", "")
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
		t.Run(tt.name, both(func(t seam) {
			t.within(engine.Budget{Wall: tt.outer}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
				assert.Equal(t, engine.Budget{Wall: tt.want}, b.Scope(sc, engine.Budget{Wall: tt.inner}).LeftAt(tt.worked))
			}).ends()
		}))
	}
	t.Run("none once it has expired", both(func(t seam) {
		r := t.within(engine.Budget{Wall: 5 * time.Second}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			call(b, sched.Use{Scope: sc})
			r.say("%d", b.Scope(sc, engine.Budget{Wall: time.Hour}).LeftAt(0).Wall)
		})
		r.waits()
		r.hand("0", engine.Completion{})
		r.ends()
		assert.Equal(t, []string{"-1"}, r.notes)
	}))
}
