package sched_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/sched"
)

func TestIdentityOfEffects(t *testing.T) {
	t.Run("branch and number are the identity", inBubble(func(t bubble) {
		r := t.begin(func(_ *run, b *sched.Branch) {
			call(b, unlimited)
			g := b.Group()
			for range 2 {
				g.Go(unlimited, func(b *sched.Branch) {
					call(b, unlimited)
					inner := b.Group()
					inner.Go(unlimited, func(b *sched.Branch) { call(b, unlimited) })
					inner.Next()
					call(b, unlimited)
				})
			}
			join(g)
			again := b.Group()
			again.Go(unlimited, func(b *sched.Branch) { call(b, unlimited) })
			again.Next()
			do(b, unlimited, engine.Op{Kind: engine.Sleep})
		})
		r.waits()
		for _, key := range []string{"0", "0:0", "1:0", "1.0:0", "0.0:0", "0:1", "1:1", "2:0"} {
			r.answer(key, "")
		}
		r.last("1", "")
		assert.Equal(t, []string{
			"start call 0", "start call 0:0", "start call 1:0", "start call 0.0:0", "start call 1.0:0",
			"start call 1:1", "start call 0:1", "start call 2:0", "start sleep 1",
		}, r.told)
	}))
	t.Run("the scheduler sets it, whatever the caller says", inBubble(func(t bubble) {
		r := t.begin(func(_ *run, b *sched.Branch) {
			do(b, unlimited, engine.Op{Kind: engine.Call, Branch: "7", N: 7})
		})
		r.waits()
		op := r.under[0]
		assert.Empty(t, op.Branch)
		assert.Zero(t, op.N)
		assert.Equal(t, "0", op.Key())
	}))
	t.Run("a child's run is named by the effect", inBubble(func(t bubble) {
		r := t.begin(func(_ *run, b *sched.Branch) {
			call(b, unlimited)
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) {
				do(b, unlimited, engine.Op{Kind: engine.Child, Input: &engine.Input{Run: "top"}})
			})
			g.Next()
		})
		r.waits()
		r.answer("0", "")
		assert.Equal(t, "top/0:0", r.under[0].Input.Run)
	}))
	t.Run("a branch knows its path", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			g := b.Group()
			g.Go(unlimited, func(*sched.Branch) {})
			g.Go(unlimited, func(b *sched.Branch) {
				r.say("%s", b.Path())
				inner := b.Group()
				inner.Go(unlimited, func(b *sched.Branch) { r.say("%s", b.Path()) })
				inner.Next()
			})
			join(g)
			r.say("root %q", b.Path())
		})
		r.ends()
		assert.Equal(t, []string{"1", "1.0", `root ""`}, r.notes)
	}))
}

func TestResults(t *testing.T) {
	t.Run("a completion reaches whoever waits for it", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			g := b.Group()
			for range 3 {
				g.Go(unlimited, func(b *sched.Branch) {
					r.say("%s got %s", b.Path(), call(b, unlimited))
					r.say("%s got %s", b.Path(), call(b, unlimited))
				})
			}
			join(g)
		})
		r.waits()
		for _, key := range []string{"2:0", "0:0", "2:1", "1:0", "0:1"} {
			r.answer(key, "answer "+key)
		}
		r.last("1:1", "answer 1:1")
		assert.Equal(t, []string{
			"2 got answer 2:0", "0 got answer 0:0", "2 got answer 2:1", "1 got answer 1:0", "0 got answer 0:1", "1 got answer 1:1",
		}, r.notes)
	}))
	t.Run("a result has nothing of the one before", inBubble(func(t bubble) {
		var got []engine.Completion
		r := t.begin(func(_ *run, b *sched.Branch) {
			got = append(got,
				do(b, unlimited, engine.Op{Kind: engine.Call, Name: "a", Request: &agent.Request{Prompt: "p", Limits: agent.Limits{Estimate: 3}}}),
				do(b, unlimited, engine.Op{Kind: engine.Sleep, Until: time.Unix(1, 0)}),
				do(b, unlimited, engine.Op{Kind: engine.Call, Name: "b"}),
				do(b, unlimited, engine.Op{Kind: engine.Call, Name: "c"}))
		})
		r.waits()
		failed := &agent.Error{Message: "no"}
		r.hand("0", engine.Completion{Response: &agent.Response{Text: "one", Data: json.RawMessage(`1`)}, Err: failed})
		r.waits()
		assert.Equal(t, engine.Sleep, r.under[0].Kind)
		assert.Nil(t, r.under[0].Request, "of the call before")
		assert.Empty(t, r.under[0].Name)
		r.hand("1", engine.Completion{})
		r.waits()
		assert.Zero(t, r.under[0].Until, "of the sleep before")
		r.hand("2", engine.Completion{})
		r.waits()
		r.hand("3", engine.Completion{Response: &agent.Response{Text: "three"}})
		r.ends()
		require.Len(t, got, 4)
		assert.Equal(t, failed, got[0].Err)
		assert.Equal(t, "one", got[0].Response.Text)
		assert.Equal(t, []engine.Completion{{}, {}, {Response: &agent.Response{Text: "three"}}}, got[1:])
	}))
	t.Run("a late completion reaches nobody", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) {
				r.say("%s", call(b, unlimited))
				r.say("%s", call(b, shielded))
				r.say("%s", call(b, shielded))
			})
			call(b, unlimited)
			g.Cancel(0, unwanted)
			join(g)
		})
		r.waits()
		r.answer("0", "")         // now the first call of the branch is given up
		r.answer("0:1", "second") // the third is under way
		r.answer("0:0", "first, too late")
		r.last("0:2", "third")
		assert.Equal(t, []string{"(not wanted any more)", "second", "third"}, r.notes)
	}))
	t.Run("an answered question is not used again", inBubble(func(t bubble) {
		r := t.begin(func(_ *run, b *sched.Branch) {
			do(b, unlimited, engine.Op{Kind: engine.Await, Name: "ok"})
			call(b, unlimited)
		})
		r.waits()
		question := r.under[0]
		r.answer("0", "yes")
		assert.NotSame(t, question, r.under[0], "the end of its time may still come")
		assert.Equal(t, "ok", question.Name)
		assert.Equal(t, engine.Await, question.Kind)
	}))
	t.Run("what the engine leaves in an effect stays with it", inBubble(func(t bubble) {
		r := t.begin(func(_ *run, b *sched.Branch) {
			call(b, unlimited)
			do(b, unlimited, engine.Op{Kind: engine.Sleep, Private: "not the engine's"})
		})
		r.waits()
		first := r.under[0]
		assert.Nil(t, first.Private)
		first.Private = "the engine's"
		r.answer("0", "")
		if second := r.under[0]; second == first {
			assert.Equal(t, "the engine's", second.Private)
		} else {
			assert.Nil(t, second.Private)
		}
	}))
}

func TestPort(t *testing.T) {
	t.Run("the time is the engine's", inBubble(func(t bubble) {
		r := t.begin(func(r *run, b *sched.Branch) {
			for range 2 {
				now, worked := b.Now()
				r.say("%s %s", now.Format(time.TimeOnly), worked)
				call(b, unlimited)
			}
		})
		r.waits()
		r.answer("0", "")
		assert.Equal(t, []string{"03:04:05 0s", "03:04:06 1s"}, r.notes)
	}))
	t.Run("emissions are counted by branch", inBubble(func(t bubble) {
		r := t.begin(func(_ *run, b *sched.Branch) {
			b.Emit("step", json.RawMessage(`1`))
			g := b.Group()
			g.Go(unlimited, func(b *sched.Branch) {
				b.Emit("step", nil)
				call(b, unlimited)
				b.Emit("stop", nil)
			})
			g.Next()
			b.Emit("step", nil)
		})
		r.waits()
		r.last("0:0", "")
		assert.Equal(t, []runlog.Record{
			{Kind: "step", N: 0, Data: json.RawMessage(`1`)},
			{Branch: "0", Kind: "step", N: 0},
			{Branch: "0", Kind: "stop", N: 1},
			{Kind: "step", N: 1},
		}, r.emitted)
	}))
	t.Run("what is exposed reaches the engine", inBubble(func(t bubble) {
		n := 0
		r := t.begin(func(_ *run, b *sched.Branch) {
			b.Expose(func() (json.RawMessage, error) { return json.Marshal(n) })
			n = 3
			call(b, unlimited)
		})
		r.waits()
		data, err := r.state()
		require.NoError(t, err)
		assert.Equal(t, "3", string(data))
	}))
}
