package sched_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/sched"
	"github.com/convene-go/convene/providers"
)

func TestPanics(t *testing.T) {
	t.Run("of the root", inBubble(func(t bubble) {
		fault := t.begin(func(*run, *sched.Branch) { panic("ouch") }).breaks()
		assert.ErrorContains(t, fault, "panic in the flow's code: ouch")
		assert.Contains(t, fault.Stack, "TestPanics", "where it panicked")
	}))
	t.Run("of a branch, behind an effect", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) {
				call(b, unlimited)
				panic("ouch")
			})
			join(g)
			r.say("the root goes on")
		})
		r.waits()
		r.hand("0:0", engine.Completion{})
		assert.ErrorContains(t, r.breaks(), "ouch")
		assert.Empty(t, r.notes)
	}))
	t.Run("of the root: what is under way is left as it is", inBubble(func(t bubble) {
		r := t.begin(func(_ *run, b *sched.Branch) {
			b.Group().Go(unlimited, func(b *sched.Branch) { call(b, unlimited) })
			call(b, unlimited)
			panic("ouch")
		})
		r.waits()
		r.hand("0", engine.Completion{})
		assert.ErrorContains(t, r.breaks(), "ouch")
		assert.Equal(t, []string{"start call 0", "start call 0:0"}, r.told, "nothing is canceled: the run is stuck, not over")
	}))
	t.Run("one that the flow recovers from is its own business", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			func() {
				defer func() { r.say("recovered %v", recover()) }()
				call(b, unlimited)
				panic("ouch")
			}()
			r.say("%s", call(b, unlimited))
		})
		r.waits()
		r.answer("0", "")
		r.last("1", "goes on")
		assert.Equal(t, []string{"recovered ouch", "goes on"}, r.notes)
	}))
	t.Run("nothing executes behind it", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			g := b.Group()
			g.Go(unlimited, func(*sched.Branch) { panic("ouch") })
			g.Go(unlimited, func(*sched.Branch) { r.say("the next branch") })
			join(g)
		})
		assert.ErrorContains(t, r.breaks(), "ouch")
		assert.Empty(t, r.notes)
	}))
	t.Run("the first one counts", inBubble(func(t bubble) {
		r := t.begin(func(_ *run, b *sched.Branch) {
			b.Fault("first %d", 1)
			b.Fault("second")
			panic("third")
		})
		assert.EqualError(t, r.breaks(), "first 1")
	}))
}

// A flow that ends its goroutine must not end the engine's with it, as a test's
// FailNow inside of a flow would.
func TestGoexit(t *testing.T) {
	advance := func(r *run) (done bool, err error) {
		var driver sync.WaitGroup
		driver.Go(func() { done, err = r.s.Advance() })
		driver.Wait()
		return done, err
	}
	t.Run("of the root", inBubble(func(t bubble) {
		r := t.begin(func(r *run, _ *sched.Branch) {
			defer r.say("deferred")
			runtime.Goexit()
		})
		done, err := advance(r)
		require.ErrorIs(t, err, engine.ErrFlow)
		assert.False(t, done)
		r.leave()
		assert.Equal(t, []string{"deferred"}, r.notes)
	}))
	t.Run("of a branch, behind an effect", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) {
				call(b, unlimited)
				runtime.Goexit()
			})
			join(g)
			r.say("the root goes on")
		})
		r.waits()
		r.hand("0:0", engine.Completion{})
		_, err := advance(r)
		require.ErrorIs(t, err, engine.ErrFlow)
		assert.Empty(t, r.notes)
	}))
}

func TestDeadlock(t *testing.T) {
	t.Run("every branch waits and nothing is under way", inBubble(func(t bubble) {
		r := t.begin(func(_ *run, b *sched.Branch) {
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) { b.Sleep() })
			join(g)
		})
		assert.ErrorContains(t, r.breaks(), "deadlock")
	}))
	t.Run("not while anything is under way", inBubble(func(t bubble) {
		for _, kind := range []engine.Kind{engine.Call, engine.Sleep, engine.Await, engine.Child} {
			r := t.begin(func(_ *run, b *sched.Branch) {
				g := b.Group()
				g.Go(unlimited, func(b *sched.Branch) { do(b, unlimited, engine.Op{Kind: kind}) })
				g.Go(unlimited, func(b *sched.Branch) { b.Sleep() })
				join(g)
			})
			r.waits()
			r.hand("0:0", engine.Completion{})
			assert.ErrorContains(t, r.breaks(), "deadlock", "%d", kind)
		}
	}))
	t.Run("an effect that was given up does not hold it off", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			call(b, unlimited)
			b.Sleep()
		})
		r.waits()
		r.s.Complete(engine.Completion{Err: enough})
		assert.ErrorContains(t, r.breaks(), "deadlock")
	}))
	t.Run("a time limit does not hold it off", inBubble(func(t bubble) {
		r := t.within(engine.Budget{Wall: 5}, func(_ *run, b *sched.Branch, _ *sched.Scope) { b.Sleep() })
		assert.ErrorContains(t, r.breaks(), "deadlock")
	}))
}

func TestMisuse(t *testing.T) {
	t.Run("by another branch", inBubble(func(t bubble) {
		r := t.begin(func(r *run, outer *sched.Branch) {
			g := outer.Group()
			g.Go(unlimited, func(*sched.Branch) { r.say("%s", call(outer, unlimited)) })
			join(g)
		})
		assert.ErrorContains(t, r.breaks(), `the Context of branch "" was used by another branch`)
		assert.Empty(t, r.told, "nothing was begun")
		require.Len(t, r.notes, 1, "whoever did it gets the error")
		assert.Contains(t, r.notes[0], "was used by another branch")
	}))
	t.Run("by a goroutine while its branch waits", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) {
				call(b, unlimited)
				r.say("goes on")
			})
			call(b, unlimited)
		})
		var root *sched.Branch
		r2 := t.begin(func(_ *run, b *sched.Branch) {
			root = b
			call(b, unlimited)
			call(b, unlimited)
		})
		r.waits()
		r2.waits()
		var foreign sync.WaitGroup
		foreign.Go(func() { assert.NotNil(t, root.Check()) })
		foreign.Wait()
		assert.ErrorContains(t, r2.breaks(), "or goroutine")
		r.answer("0:0", "") // another run is not touched
		assert.Equal(t, []string{"goes on"}, r.notes)
	}))
	t.Run("when the run is over", inBubble(func(t bubble) {
		var kept *sched.Branch
		r := t.begin(func(_ *run, b *sched.Branch) { kept = b })
		r.ends()
		r.leave()
		done := do(kept, unlimited, engine.Op{Kind: engine.Call})
		require.ErrorIs(t, done.Err, engine.ErrFlow)
		require.ErrorContains(t, done.Err, "the run is over")
		assert.Empty(t, r.told)
	}))
	t.Run("a fault by the flow's own word", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			b.Fault("a %s rule", "broken")
			r.say("%s", call(b, unlimited))
		})
		assert.EqualError(t, r.breaks(), "a broken rule")
	}))
}

func TestEngineThatBreaksItsWord(t *testing.T) {
	t.Run("an effect completed twice", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			r.say("%s", call(b, unlimited))
			r.say("%s", call(b, unlimited))
		})
		r.waits()
		first := r.under[0]
		c := engine.Completion{Op: first, Response: &agent.Response{Text: "one"}}
		r.s.Complete(c)
		r.s.Complete(c)
		assert.ErrorContains(t, r.breaks(), "completed effect 0 twice")
	}))
	t.Run("an effect that was given up, completed twice", inBubble(func(t bubble) {
		r := t.begin(func(_ *run, b *sched.Branch) {
			call(b, unlimited)
			call(b, shielded)
		})
		r.waits()
		first := r.under[0]
		r.cancel()
		r.s.Complete(engine.Completion{Op: first})
		r.waits()
		r.s.Complete(engine.Completion{Op: first})
		assert.ErrorContains(t, r.breaks(), "completed effect 0 twice")
	}))
	t.Run("a question completed twice", inBubble(func(t bubble) {
		r := t.begin(func(_ *run, b *sched.Branch) {
			do(b, unlimited, engine.Op{Kind: engine.Await})
			call(b, unlimited)
		})
		r.waits()
		question := r.under[0]
		r.answer("0", "yes")
		r.s.Complete(engine.Completion{Op: question})
		assert.ErrorContains(t, r.breaks(), "completed effect 0 twice")
	}))
	t.Run("an effect that nobody asked for", inBubble(func(t bubble) {
		r := t.begin(func(_ *run, b *sched.Branch) { call(b, unlimited) })
		r.waits()
		r.s.Complete(engine.Completion{Op: &engine.Op{Kind: engine.Call}})
		assert.ErrorContains(t, r.breaks(), "completed an effect that it was not given")
	}))
	t.Run("a time limit that has ended is no fault", inBubble(func(t bubble) {
		r := t.begin(func(_ *run, b *sched.Branch) {
			call(b, sched.Options{Scope: b.Scope(nil, engine.Budget{Wall: 5})})
			call(b, unlimited)
		})
		r.waits()
		limit := r.under[1]
		r.hand("-5", engine.Completion{})
		r.waits()
		r.s.Complete(engine.Completion{Op: limit})
		r.waits()
	}))
	t.Run("an effect that the engine charges and was not given", inBubble(func(t bubble) {
		r := t.begin(func(_ *run, b *sched.Branch) { call(b, unlimited) })
		r.waits()
		r.s.Charge(&engine.Op{Kind: engine.Call}, providers.Usage{})
		assert.ErrorContains(t, r.breaks(), "charged an effect that it was not given")
	}))
	t.Run("an end of a child that cannot be read", inBubble(func(t bubble) {
		r := t.begin(func(_ *run, b *sched.Branch) { do(b, unlimited, engine.Op{Kind: engine.Child}) })
		r.waits()
		r.hand("0", engine.Completion{Response: &agent.Response{Data: []byte("{")}})
		assert.ErrorContains(t, r.breaks(), "the end of child run 0 cannot be read")
	}))
}
