package sched_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/convene-go/convene/orchestrator/internal/sched"
)

func TestOrderOfBranches(t *testing.T) {
	t.Run("branches execute in the order in which they were started", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			g := b.Group()
			for i := range 4 {
				g.Go(unlimited, func(*sched.Branch) { r.say("branch %d", i) })
			}
			r.say("all started")
			join(g)
		})
		r.ends()
		assert.Equal(t, []string{"all started", "branch 0", "branch 1", "branch 2", "branch 3"}, r.notes)
	}))
	t.Run("first in, first out, over branches of branches", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			g := b.Group()
			for range 2 {
				g.Go(unlimited, func(b *sched.Branch) {
					r.say("%s begins", b.Path())
					inner := b.Group()
					for range 2 {
						inner.Go(unlimited, func(b *sched.Branch) { r.say("%s", b.Path()) })
					}
					join(inner)
					r.say("%s ends", b.Path())
				})
			}
			join(g)
		})
		r.ends()
		assert.Equal(t, []string{"0 begins", "1 begins", "0.0", "0.1", "1.0", "1.1", "0 ends", "1 ends"}, r.notes)
	}))
	t.Run("one branch executes until it waits", inBubble(func(t bubble) {
		shared := 0
		r := t.begin(func(r *run, b *sched.Branch) {
			g := b.Group()
			for range 3 {
				g.Go(unlimited, func(b *sched.Branch) {
					before := shared
					for range 100 {
						shared++
					}
					r.say("%s %d", b.Path(), shared-before)
					call(b, unlimited)
				})
			}
			join(g)
		})
		r.waits()
		assert.Equal(t, []string{"0 100", "1 100", "2 100"}, r.notes)
	}))
}

func TestGroup(t *testing.T) {
	t.Run("Next gives branches as they finish", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			g := b.Group()
			for range 3 {
				g.Go(unlimited, func(b *sched.Branch) { call(b, unlimited) })
			}
			r.say("%v", join(g))
		})
		r.waits()
		r.answer("2:0", "")
		r.answer("0:0", "")
		r.last("1:0", "")
		assert.Equal(t, []string{"[2 0 1]"}, r.notes)
	}))
	t.Run("branches that finish while nobody waits are kept in order", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			g := b.Group()
			for range 3 {
				g.Go(unlimited, func(b *sched.Branch) { call(b, unlimited) })
			}
			call(b, unlimited)
			r.say("running %d of %d", g.Running(), g.Len())
			r.say("%v", join(g))
			r.say("running %d of %d", g.Running(), g.Len())
		})
		r.waits()
		r.answer("1:0", "")
		r.answer("0:0", "")
		r.answer("0", "")
		r.last("2:0", "")
		assert.Equal(t, []string{"running 1 of 3", "[1 0 2]", "running 0 of 0"}, r.notes)
	}))
	t.Run("Next of nothing is false at once, and more may follow", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			g := b.Group()
			_, ok := g.Next()
			r.say("%v", ok)
			g.Go(unlimited, func(*sched.Branch) {})
			r.say("%v", join(g))
			g.Go(unlimited, func(*sched.Branch) {})
			r.say("%v", join(g))
		})
		r.ends()
		assert.Equal(t, []string{"false", "[0]", "[1]"}, r.notes, "indexes count on")
	}))
	t.Run("two groups of one branch do not mix", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			one, two := b.Group(), b.Group()
			one.Go(unlimited, func(b *sched.Branch) { call(b, unlimited) })
			two.Go(unlimited, func(b *sched.Branch) { call(b, unlimited) })
			r.say("one %v", join(one))
			r.say("two %v", join(two))
		})
		r.waits()
		r.answer("1:0", "") // it waits for the other group
		assert.Empty(t, r.notes)
		r.last("0:0", "")
		assert.Equal(t, []string{"one [0]", "two [0]"}, r.notes)
	}))
	t.Run("a branch may be started while others run", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			g := b.Group()
			for range 2 {
				g.Go(unlimited, func(b *sched.Branch) { call(b, unlimited) })
			}
			for i, ok := g.Next(); ok; i, ok = g.Next() {
				r.say("%d", i)
				if len(r.notes) < 3 {
					g.Go(unlimited, func(b *sched.Branch) { call(b, unlimited) })
				}
			}
		})
		r.waits()
		for _, key := range []string{"1:0", "2:0", "0:0"} {
			r.answer(key, "")
		}
		r.last("3:0", "")
		assert.Equal(t, []string{"1", "2", "0", "3"}, r.notes)
	}))
	t.Run("more branches than the scheduler keeps", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) { // it outlives 300 others
				call(b, unlimited)
				r.say("the first ends")
			})
			for range 300 {
				g.Go(unlimited, func(*sched.Branch) {})
				g.Next()
			}
			call(b, unlimited)
			r.say("%v", join(g))
		})
		r.waits()
		r.answer("0:0", "")
		r.last("0", "")
		assert.Equal(t, []string{"the first ends", "[0]"}, r.notes)
	}))
	t.Run("groups side by side, in another order than they were made", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			g, other := b.Group(), b.Group()
			other.Go(unlimited, func(b *sched.Branch) { r.say("%s", call(b, unlimited)) })
			g.Go(unlimited, func(b *sched.Branch) { r.say("%s", call(b, unlimited)) })
			join(g)
			join(other)
		})
		r.waits()
		r.answer("1:0", "one")
		r.last("0:0", "two")
		assert.Equal(t, []string{"one", "two"}, r.notes)
	}))
}
