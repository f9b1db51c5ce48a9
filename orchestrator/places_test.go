package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

// busyOnce fails each time it was not asked for d, and asks for a wait of d.
func busyOnce(d time.Duration) agent.Func {
	var failed atomic.Bool
	return func(context.Context, agent.Request) (agent.Response, error) {
		if failed.CompareAndSwap(false, true) {
			return agent.Response{}, agent.Transient(errors.New("429"), d)
		}
		return agent.Response{Text: "at last"}, nil
	}
}

func TestPlacesDuringBackoff(t *testing.T) {
	everywhere(t, "a call that waits for its next attempt leaves its place to others", func(t *testing.T, s runlog.Store) {
		agents := agent.Roster{"busy": busyOnce(2 * time.Second), "healthy": after(time.Millisecond)}
		e := local(t, orchestrator.Config{Agents: agents, Store: s, Parallel: 1})
		f := flow("both", func(c *orchestrator.Context) ([]time.Duration, error) {
			begun := c.Now()
			return orchestrator.Values(orchestrator.Map(c, []string{"busy", "healthy"}, 0, func(c *orchestrator.Context, name string) (time.Duration, error) {
				_, err := ask(c, name, "")
				return c.Now().Sub(begun), err
			}))
		})
		got, err := f.Run(t.Context(), e, none{})
		require.NoError(t, err)
		assert.Equal(t, []time.Duration{2 * time.Second, time.Millisecond}, got)
	})
	everywhere(t, "and waits for a place again", func(t *testing.T, s runlog.Store) {
		agents := agent.Roster{"busy": busyOnce(2 * time.Second), "slow": after(time.Minute)}
		e := local(t, orchestrator.Config{Agents: agents, Store: s, Parallel: 1})
		busy := begin(t, e, flow("busy", func(c *orchestrator.Context) (string, error) { return ask(c, "busy", "") }), "busy")
		synctest.Wait()
		begin(t, e, flow("slow", func(c *orchestrator.Context) (string, error) { return ask(c, "slow", "") }), "slow")
		began := time.Now()
		require.NoError(t, busy.Wait(t.Context()))
		assert.Equal(t, time.Minute, time.Since(began))
	})
	everywhere(t, "Total bounds that too, and so does a cancel", func(t *testing.T, s runlog.Store) {
		agents := agent.Roster{"busy": busyOnce(2 * time.Second), "busy too": busyOnce(2 * time.Second), "slow": after(time.Hour)}
		e := local(t, orchestrator.Config{Agents: agents, Store: s, Parallel: 1})
		limited := begin(t, e, flow("limited", func(c *orchestrator.Context) (string, error) {
			resp, err := c.Call("busy", agent.Request{Limits: agent.Limits{Total: time.Minute}})
			assert.ErrorIs(t, err, orchestrator.ErrTimeout)
			return resp.Text, nil
		}), "limited")
		synctest.Wait()
		canceled := begin(t, e, flow("canceled", func(c *orchestrator.Context) (string, error) { return ask(c, "busy too", "") }), "canceled")
		synctest.Wait()
		slow := begin(t, e, flow("slow", func(c *orchestrator.Context) (string, error) { return ask(c, "slow", "") }), "slow")
		next := begin(t, e, flow("next", func(c *orchestrator.Context) (string, error) { return ask(c, "slow", "") }), "next")
		began := time.Now()
		pause(30 * time.Second)
		require.NoError(t, canceled.Cancel(t.Context(), "enough"))
		require.NoError(t, canceled.Wait(t.Context()))
		assert.Equal(t, 30*time.Second, time.Since(began))
		require.NoError(t, limited.Wait(t.Context()))
		assert.Equal(t, time.Minute, time.Since(began))
		require.NoError(t, slow.Wait(t.Context()))
		require.NoError(t, next.Wait(t.Context()))
		assert.Equal(t, 2*time.Hour, time.Since(began), "none of both holds a place")
	})
}

func TestPlacesAreShared(t *testing.T) {
	calls := func(n int) orchestrator.Flow[none, none] {
		return flow(fmt.Sprint("calls ", n), func(c *orchestrator.Context) (none, error) {
			_, err := orchestrator.Values(orchestrator.Map(c, make([]int, n), 0, func(c *orchestrator.Context, _ int) (string, error) { return ask(c, "a", "") }))
			return none{}, err
		})
	}
	everywhere(t, "a run of one call does not wait behind a thousand of another", func(t *testing.T, s runlog.Store) {
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": after(time.Second)}, Store: s, Parallel: 2})
		large := begin(t, e, calls(1000), "large")
		pause(10 * time.Second)
		began := time.Now()
		_, err := calls(1).Run(t.Context(), e, none{})
		require.NoError(t, err)
		assert.LessOrEqual(t, time.Since(began), 2*time.Second, "one turn, and its own call")
		require.NoError(t, large.Wait(t.Context()))
	})
	everywhere(t, "children count as their parent does", func(t *testing.T, s runlog.Store) {
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": after(time.Second)}, Store: s, Parallel: 1})
		parent := begin(t, e, flow("parent", func(c *orchestrator.Context) (none, error) {
			_, err := orchestrator.Values(orchestrator.Map(c, make([]int, 20), 0, func(c *orchestrator.Context, _ int) (none, error) { return calls(5).Child(c, none{}) }))
			return none{}, err
		}), "parent")
		synctest.Wait()
		began := time.Now()
		_, err := calls(2).Run(t.Context(), e, none{})
		require.NoError(t, err)
		assert.LessOrEqual(t, time.Since(began), 5*time.Second)
		require.NoError(t, parent.Wait(t.Context()))
	})
}

// nests are a flow whose agent runs the next one on its own engine, so many deep. The
// innermost has a few calls side by side.
func nests(depth int, e **orchestrator.Engine) (orchestrator.Flow[none, int], agent.Roster) {
	agents := agent.Roster{"leaf": after(time.Second)}
	f := flow("innermost", func(c *orchestrator.Context) (int, error) {
		got, err := orchestrator.Values(orchestrator.Map(c, make([]int, 3), 0, func(c *orchestrator.Context, _ int) (string, error) { return ask(c, "leaf", "") }))
		return len(got), err
	})
	for i := range depth {
		inner, name := f, fmt.Sprint("team ", i)
		agents[name] = agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
			n, err := inner.Run(ctx, *e, none{}, orchestrator.StartOptions{ID: fmt.Sprint("inner-", i)})
			return agent.Response{Text: fmt.Sprint(n)}, err
		})
		f = flow("flow "+name, func(c *orchestrator.Context) (n int, err error) {
			text, err := ask(c, name, "")
			if err == nil {
				_, err = fmt.Sscan(text, &n)
			}
			return n, err
		})
	}
	return f, agents
}

func TestAgentsThatRunFlows(t *testing.T) {
	for depth := 1; depth <= 3; depth++ {
		everywhere(t, fmt.Sprintf("%d deep, one place is enough for them", depth), func(t *testing.T, s runlog.Store) {
			var e *orchestrator.Engine
			f, agents := nests(depth, &e)
			e = local(t, orchestrator.Config{Agents: agents, Store: s, Parallel: 1})
			began := time.Now()
			n, err := f.Run(t.Context(), e, none{})
			require.NoError(t, err)
			assert.Equal(t, 3, n)
			assert.Equal(t, 3*time.Second, time.Since(began), "one after the other")
		})
	}
	everywhere(t, "with more places their calls use these too", func(t *testing.T, s runlog.Store) {
		var e *orchestrator.Engine
		f, agents := nests(2, &e)
		e = local(t, orchestrator.Config{Agents: agents, Store: s, Parallel: 3})
		began := time.Now()
		_, err := f.Run(t.Context(), e, none{})
		require.NoError(t, err)
		assert.Equal(t, time.Second, time.Since(began), "three at once: those of the teams are lent")
	})
	everywhere(t, "when the outer run is canceled, so are they, and no place is lost", func(t *testing.T, s runlog.Store) {
		var e *orchestrator.Engine
		f, agents := nests(2, &e)
		agents["leaf"], agents["after"] = hang, after(time.Second)
		e = local(t, orchestrator.Config{Agents: agents, Store: s, Parallel: 1})
		r := begin(t, e, f, "outer")
		pause(time.Second)
		require.NoError(t, r.Cancel(t.Context(), "enough"))
		began := time.Now()
		require.NoError(t, r.Wait(t.Context()))
		for i := range 2 {
			inner := open(t, e, fmt.Sprint("inner-", i))
			require.NoError(t, inner.Wait(t.Context()))
			assert.Equal(t, orchestrator.Canceled, infoOf(t, inner).Status)
		}
		assert.Zero(t, time.Since(began))
		_, err := flow("after", func(c *orchestrator.Context) (none, error) {
			_, err := orchestrator.Values(orchestrator.Map(c, make([]int, 2), 0, func(c *orchestrator.Context, _ int) (string, error) { return ask(c, "after", "") }))
			return none{}, err
		}).Run(t.Context(), e, none{})
		require.NoError(t, err)
		assert.Equal(t, 2*time.Second, time.Since(began), "there is one place, no more and no less")
	})
	t.Run("after a kill the inner runs are resumed by themselves, and the outer ones wait for them", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			var e *orchestrator.Engine
			f, agents := nests(2, &e)
			s := newPlain()
			first := newMortal(t, s, orchestrator.Config{Agents: agents, Parallel: 1})
			e = first.Engine
			begin(t, e, f, "outer")
			pause(1500 * time.Millisecond)
			first.kill()
			g, again := nests(2, &e)
			h, _ := nests(1, &e)
			i, _ := nests(0, &e)
			e = local(t, orchestrator.Config{Agents: again, Store: s, Flows: []orchestrator.AnyFlow{g, h, i}, Parallel: 1})
			rs, err := listed(e.Resume(t.Context()))
			require.NoError(t, err)
			require.Len(t, rs, 3)
			n, err := g.Result(t.Context(), open(t, e, "outer"))
			require.NoError(t, err)
			assert.Equal(t, 3, n)
		})
	})
	everywhere(t, "one that only looks at its run lends its place too", func(t *testing.T, s runlog.Store) {
		var e *orchestrator.Engine
		inner, agents := nests(0, &e)
		agents["looks"] = agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
			r, err := inner.Start(ctx, e, none{}, orchestrator.StartOptions{ID: "looked-at"})
			if err != nil {
				return agent.Response{}, err
			}
			for _, err := range r.Events(ctx, 0) {
				if err != nil {
					return agent.Response{}, err
				}
			}
			return agent.Response{}, r.Wait(ctx)
		})
		e = local(t, orchestrator.Config{Agents: agents, Store: s, Parallel: 1})
		_, err := flow("looks", func(c *orchestrator.Context) (string, error) { return ask(c, "looks", "") }).Run(t.Context(), e, none{})
		require.NoError(t, err)
	})
}
