package sched_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/sched"
	"github.com/convene-go/convene/providers"
)

func TestCancelOfTheRun(t *testing.T) {
	t.Run("what is under way is given up, and nothing is begun any more", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			r.say("before %v", b.Err())
			r.say("%s", call(b, unlimited))
			r.say("%s", result(do(b, unlimited, engine.Op{Kind: engine.Sleep})))
			r.say("%s", result(do(b, unlimited, engine.Op{Kind: engine.Await})))
			r.say("after %v", b.Err())
		})
		r.waits()
		r.s.Complete(engine.Completion{Err: enough})
		r.ends()
		assert.Equal(t, []string{"before <nil>", "(enough)", "(enough)", "(enough)", "after enough"}, r.notes)
		assert.Equal(t, []string{"start call 0", "cancel call 0"}, r.told)
	}))
	t.Run("it reaches every branch, the deepest too", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			g := b.Group()
			for range 2 {
				g.Go(unlimited, func(b *sched.Branch) {
					inner := b.Group()
					inner.Go(unlimited, func(b *sched.Branch) { r.say("%s %s", b.Path(), call(b, unlimited)) })
					r.say("%s %s", b.Path(), call(b, unlimited))
					inner.Next()
				})
			}
			join(g)
		})
		r.waits()
		r.s.Complete(engine.Completion{Err: enough})
		r.ends()
		assert.Equal(t, []string{"0 (enough)", "0.0 (enough)", "1 (enough)", "1.0 (enough)"}, r.notes)
	}))
	t.Run("the first reason stays", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			call(b, unlimited)
			call(b, shielded)
			r.say("%s %v", call(b, unlimited), b.Err())
		})
		r.waits()
		r.cancel()
		r.s.Complete(engine.Completion{Err: unwanted})
		r.waits()
		r.last("1", "")
		assert.Equal(t, []string{"(enough) enough"}, r.notes)
	}))
	t.Run("a branch started afterwards is canceled from its beginning", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			call(b, unlimited)
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) { r.say("%s %v", call(b, unlimited), b.Err()) })
			join(g)
		})
		r.waits()
		r.s.Complete(engine.Completion{Err: enough})
		r.ends()
		assert.Equal(t, []string{"(enough) enough"}, r.notes)
	}))
	t.Run("a branch that outlives the one that started it is canceled too", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) {
				between := b.Group()
				between.Go(unlimited, func(b *sched.Branch) {
					b.Group().Go(unlimited, func(b *sched.Branch) { r.say("%s %s", b.Path(), call(b, unlimited)) })
					call(b, unlimited)
				})
				call(b, unlimited)
			})
			g.Next()
			call(b, shielded)
		})
		r.waits()
		r.answer("0:0", "") // both branches between are over, the upper one first
		r.answer("0.0:0", "")
		r.cancel()
		r.last("0", "")
		assert.Equal(t, []string{"0.0.0 (enough)"}, r.notes)
	}))
	t.Run("branches that a shielded one left behind are not", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			g := b.Group()
			g.Go(shielded, func(b *sched.Branch) {
				b.Group().Go(unlimited, func(b *sched.Branch) { r.say("%s", call(b, unlimited)) })
			})
			g.Next()
			call(b, shielded)
		})
		r.waits()
		r.cancel()
		r.answer("0.0:0", "tidy")
		r.last("0", "")
		assert.Equal(t, []string{"tidy"}, r.notes)
	}))
	t.Run("a shielded one is not, whoever started it", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			g := b.Group()
			g.Go(shielded, func(b *sched.Branch) {
				b.Group().Go(shielded, func(b *sched.Branch) { r.say("%s", call(b, unlimited)) })
			})
			g.Next()
			call(b, shielded)
		})
		r.waits()
		r.cancel()
		r.answer("0.0:0", "tidy")
		r.last("0", "")
		assert.Equal(t, []string{"tidy"}, r.notes)
	}))
}

func TestShielded(t *testing.T) {
	t.Run("an effect under way goes on", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) { r.say("%s", call(b, shielded)) })
		r.waits()
		r.cancel()
		r.last("0", "tidy")
		assert.Equal(t, []string{"tidy"}, r.notes)
		assert.Equal(t, []string{"start call 0"}, r.told)
	}))
	t.Run("a branch goes on, and its branches", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			g := b.Group()
			g.Go(shielded, func(b *sched.Branch) {
				inner := b.Group()
				inner.Go(unlimited, func(b *sched.Branch) { r.say("%s %s", b.Path(), call(b, unlimited)) })
				join(inner)
				r.say("%s %s %v", b.Path(), call(b, unlimited), b.Err())
			})
			r.say("root %s", call(b, unlimited))
			join(g)
		})
		r.waits()
		r.cancel()
		r.answer("0.0:0", "one")
		r.last("0:0", "two")
		assert.Equal(t, []string{"root (enough)", "0.0 one", "0 two <nil>"}, r.notes)
	}))
	t.Run("a branch started after the cancel goes on", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			call(b, unlimited)
			g := b.Group()
			g.Go(shielded, func(b *sched.Branch) { r.say("%s", call(b, unlimited)) })
			join(g)
		})
		r.waits()
		r.cancel()
		r.last("0:0", "tidy")
		assert.Equal(t, []string{"tidy"}, r.notes)
	}))
}

func TestCancelOfABranch(t *testing.T) {
	t.Run("one that has ended is not canceled, nor what it left behind", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) {
				b.Group().Go(unlimited, func(b *sched.Branch) { r.say("%s", call(b, unlimited)) })
			})
			call(b, unlimited)
			g.Cancel(0, unwanted)
			call(b, unlimited)
		})
		r.waits()
		r.answer("0", "")
		r.answer("0.0:0", "kept")
		r.last("1", "")
		assert.Equal(t, []string{"kept"}, r.notes)
	}))
	t.Run("it reaches that branch and those that it started, no other", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			g := b.Group()
			for range 2 {
				g.Go(unlimited, func(b *sched.Branch) {
					inner := b.Group()
					inner.Go(unlimited, func(b *sched.Branch) { r.say("%s %s", b.Path(), call(b, unlimited)) })
					join(inner)
					r.say("%s %s", b.Path(), call(b, unlimited))
				})
			}
			call(b, unlimited)
			g.Cancel(1, unwanted)
			join(g)
			r.say("root %s", call(b, unlimited))
		})
		r.waits()
		r.answer("0", "")
		r.answer("0.0:0", "kept")
		r.answer("0:0", "kept too")
		r.last("1", "and the root")
		assert.Equal(t, []string{
			"1.0 (not wanted any more)", "1 (not wanted any more)", "0.0 kept", "0 kept too", "root and the root",
		}, r.notes)
	}))
	t.Run("before it began it makes no effect", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) { r.say("%s", call(b, unlimited)) })
			g.Cancel(0, unwanted)
			r.say("%v", join(g))
		})
		r.ends()
		assert.Equal(t, []string{"(not wanted any more)", "[0]"}, r.notes)
		assert.Empty(t, r.told)
	}))
	t.Run("one that has finished is still handed out", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			g := b.Group()
			g.Go(unlimited, func(*sched.Branch) {})
			call(b, unlimited)
			g.Cancel(0, unwanted)
			r.say("%v", join(g))
			g.Cancel(0, unwanted) // it was handed out
		})
		r.waits()
		r.last("0", "")
		assert.Equal(t, []string{"[0]"}, r.notes)
	}))
	t.Run("a shielded effect of it goes on", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) {
				r.say("%s", call(b, shielded))
				r.say("%s", call(b, unlimited))
			})
			call(b, unlimited)
			g.Cancel(0, unwanted)
			join(g)
		})
		r.waits()
		r.answer("0", "")
		r.last("0:0", "tidy")
		assert.Equal(t, []string{"tidy", "(not wanted any more)"}, r.notes)
	}))
}

func TestCancelOfAChild(t *testing.T) {
	child := engine.Op{Kind: engine.Child, Name: "kid", Input: &engine.Input{Run: "top"}}
	t.Run("a child is told to end and waited for", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			done := do(b, unlimited, child)
			r.say("%s %v", done.End.Output, done.Err)
		})
		r.waits()
		r.cancel()
		assert.Equal(t, []string{"start child 0", "cancel child 0"}, r.told)
		r.hand("0", engine.Completion{Response: &agent.Response{Data: json.RawMessage(`{"output":"so far"}`)}})
		r.ends()
		assert.Equal(t, []string{`"so far" <nil>`}, r.notes)
	}))
	t.Run("a shielded child is not told", inBubble(func(t bubble) {
		r := t.begin(func(_ *run, b *sched.Branch) { do(b, shielded, child) })
		r.waits()
		r.cancel()
		assert.Equal(t, []string{"start child 0"}, r.told)
	}))
	t.Run("a child is not begun by a branch that is canceled", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			call(b, unlimited)
			r.say("%s", result(do(b, unlimited, child)))
		})
		r.waits()
		r.s.Complete(engine.Completion{Err: enough})
		r.ends()
		assert.Equal(t, []string{"(enough)"}, r.notes)
	}))
}

func TestWhatIsGivenUpCosts(t *testing.T) {
	inBubble(func(t bubble) {
		var spent []int64
		r := t.within(engine.Budget{Calls: 9}, func(_ *run, b *sched.Branch, sc *sched.Scope) {
			u := sched.Options{Scope: sc}
			g := b.Group()
			for range 2 {
				g.Go(u, func(b *sched.Branch) { call(b, u) })
			}
			call(b, u)
			g.Cancel(0, unwanted)
			g.Next()
			spent = append(spent, sc.Spent().Calls, 9-sc.LeftAt(0).Calls)
			g.Next()
			spent = append(spent, sc.Spent().Calls, 9-sc.LeftAt(0).Calls)
		})
		used := engine.Completion{Response: &agent.Response{Usage: providers.Usage{Calls: 1}}}
		r.waits()
		r.hand("0", used)
		r.waits()
		r.hand("0:0", used)
		r.waits()
		r.hand("1:0", used)
		r.ends()
		require.Len(t, spent, 4)
		assert.Equal(t, []int64{1, 3}, spent[:2], "both calls are under way until they end")
		assert.Equal(t, []int64{3, 3}, spent[2:], "its cost is counted when it comes")
	})(t)
}
