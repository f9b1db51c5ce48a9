package sched_test

import (
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/sched"
)

func TestLeave(t *testing.T) {
	// tree has a root, two branches, and one below each, all of which wait.
	tree := func(r *run, b *sched.Branch) {
		defer r.say("root")
		g := b.Group()
		for range 2 {
			g.Go(unlimited, func(b *sched.Branch) {
				defer r.say("%s", b.Path())
				inner := b.Group()
				inner.Go(unlimited, func(b *sched.Branch) {
					defer r.say("%s", b.Path())
					call(b, unlimited)
				})
				join(inner)
			})
		}
		join(g)
	}
	t.Run("the youngest branch is unwound first", both(func(t seam) {
		r := t.begin(tree)
		r.waits()
		told := len(r.told)
		r.leave()
		assert.Equal(t, []string{"1.0", "0.0", "1", "0", "root"}, r.notes)
		assert.Len(t, r.told, told, "the engine is told nothing")
	}))
	t.Run("after a fault too", both(func(t seam) {
		r := t.begin(tree)
		r.waits()
		r.s.Complete(engine.Completion{Op: &engine.Op{}})
		assert.ErrorContains(t, r.breaks(), "not given")
		r.leave()
		assert.Equal(t, []string{"1.0", "0.0", "1", "0", "root"}, r.notes)
	}))
	t.Run("a branch that has not begun never does", both(func(t seam) {
		r := t.begin(func(r *run, b *sched.Branch) {
			b.Group().Go(unlimited, func(*sched.Branch) { r.say("begun") })
			panic("ouch")
		})
		assert.ErrorContains(t, r.breaks(), "ouch")
		r.leave()
		assert.Empty(t, r.notes)
	}))
	t.Run("a run that has not begun never does", both(func(t seam) {
		r := t.begin(func(r *run, _ *sched.Branch) { r.say("begun") })
		r.leave()
		assert.Empty(t, r.notes)
	}))
	t.Run("deferred functions make no effect", both(func(t seam) {
		r := t.begin(func(r *run, b *sched.Branch) {
			defer r.say("the first deferred runs last")
			defer func() {
				call(b, shielded)
				r.say("an effect came back")
			}()
			call(b, unlimited)
		})
		r.waits()
		told := len(r.told)
		r.leave()
		assert.Equal(t, []string{"the first deferred runs last"}, r.notes)
		assert.Len(t, r.told, told)
	}))
	t.Run("deferred functions do not wait for branches", both(func(t seam) {
		r := t.begin(func(r *run, b *sched.Branch) {
			defer r.say("root")
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) { call(b, unlimited) })
			defer func() {
				join(g)
				r.say("joined")
			}()
			call(b, unlimited)
		})
		r.waits()
		r.leave()
		assert.Contains(t, r.notes, "root")
	}))
	t.Run("a flow cannot swallow it", both(func(t seam) {
		r := t.begin(func(r *run, b *sched.Branch) {
			for range 3 {
				func() {
					defer func() { r.say("recovered %v", recover()) }()
					call(b, unlimited)
				}()
			}
			r.say("went on")
		})
		r.waits()
		r.leave()
		assert.Equal(t, []string{"recovered <nil>"}, r.notes)
	}))
	t.Run("a panic of a deferred function is kept from the driver", both(func(t seam) {
		r := t.begin(func(r *run, b *sched.Branch) {
			defer r.say("root")
			b.Group().Go(unlimited, func(b *sched.Branch) {
				defer func() { panic("ouch") }()
				call(b, unlimited)
			})
			call(b, unlimited)
		})
		r.waits()
		r.leave()
		assert.Equal(t, []string{"root"}, r.notes)
	}))
	t.Run("an engine that ends its coroutines itself is not asked to", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var stops []func()
			own := func(body func(yield func() bool)) (func() bool, func()) {
				resume, stop := goroutines(body)
				stops = append(stops, stop)
				return resume, nil
			}
			r := seam{t, own}.begin(tree)
			r.waits()
			r.leave()
			assert.Empty(t, r.notes, "nothing is unwound by Leave")
			for _, stop := range stops { // as the engine likes: here the oldest first
				stop()
			}
			assert.Equal(t, []string{"root", "0", "1", "0.0", "1.0"}, r.notes)
		})
	})
	t.Run("a flow that ends its goroutine is found there, too", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			own := func(body func(yield func() bool)) (func() bool, func()) {
				resume, _ := goroutines(body)
				return resume, nil
			}
			r := seam{t, own}.begin(func(*run, *sched.Branch) { runtime.Goexit() })
			assert.ErrorContains(t, r.breaks(), "ended its goroutine")
		})
	})
	t.Run("of branches among many that have ended", both(func(t seam) {
		r := t.begin(func(r *run, b *sched.Branch) {
			g := b.Group()
			for i := range 300 {
				g.Go(unlimited, func(b *sched.Branch) {
					if i%100 == 7 {
						defer r.say("%s", b.Path())
						call(b, unlimited)
					}
				})
			}
			join(g)
		})
		r.waits()
		r.leave()
		assert.Equal(t, []string{"207", "107", "7"}, r.notes)
	}))
}

func TestWhatTheRootLeavesBehind(t *testing.T) {
	both(func(t seam) {
		r := t.within(engine.Budget{Wall: 5}, func(r *run, b *sched.Branch, sc *sched.Scope) {
			g := b.Group()
			for range 2 {
				g.Go(unlimited, func(b *sched.Branch) {
					defer r.say("%s", b.Path())
					call(b, sched.Options{Scope: b.Scope(sc, engine.Budget{Wall: 3})})
					r.say("came back")
				})
			}
			g.Go(unlimited, func(*sched.Branch) {})
			g.Next()
			r.say("root")
		})
		r.ends()
		assert.Equal(t, []string{
			"start call 0:0", "start call 1:0",
			"cancel call 1:0", "cancel call 0:0",
		}, r.told, "the engine is told what nobody wants any more, the youngest branch's first")
		r.leave()
		assert.Equal(t, []string{"root", "1", "0"}, r.notes)
	})(t)
}
