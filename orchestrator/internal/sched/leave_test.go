package sched_test

import (
	"testing"

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
	t.Run("the youngest branch is unwound first", inBubble(func(t bubble) {
		r := t.begin(tree)
		r.waits()
		told := len(r.told)
		r.leave()
		assert.Equal(t, []string{"1.0", "0.0", "1", "0", "root"}, r.notes)
		assert.Len(t, r.told, told, "the engine is told nothing")
	}))
	t.Run("after a fault too", inBubble(func(t bubble) {
		r := t.begin(tree)
		r.waits()
		r.s.Complete(engine.Completion{Op: &engine.Op{}})
		assert.ErrorContains(t, r.breaks(), "not given")
		r.leave()
		assert.Equal(t, []string{"1.0", "0.0", "1", "0", "root"}, r.notes)
	}))
	t.Run("a branch that has not begun never does", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			b.Group().Go(unlimited, func(*sched.Branch) { r.say("begun") })
			panic("ouch")
		})
		assert.ErrorContains(t, r.breaks(), "ouch")
		r.leave()
		assert.Empty(t, r.notes)
	}))
	t.Run("a run that has not begun never does", inBubble(func(t bubble) {
		r := t.begin(func(r *run, _ *sched.Branch) { r.say("begun") })
		r.leave()
		assert.Empty(t, r.notes)
	}))
	t.Run("deferred functions make no effect", inBubble(func(t bubble) {
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
	t.Run("deferred functions do not wait for branches", inBubble(func(t bubble) {
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
	t.Run("a flow cannot swallow it", inBubble(func(t bubble) {
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
	t.Run("a panic of a deferred function is kept from the driver", inBubble(func(t bubble) {
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
	t.Run("of branches among many that have ended", inBubble(func(t bubble) {
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
	inBubble(func(t bubble) {
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
