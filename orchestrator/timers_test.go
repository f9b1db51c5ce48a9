package orchestrator_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/storetest/doubles"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

func TestTimersOutliveNothing(t *testing.T) {
	everywhere(t, "100 parts with a time limit that end in time write no record of it", func(t *testing.T, s runlog.Store) {
		f := flow("parts", func(c *orchestrator.Context) (none, error) {
			for range 100 {
				if _, err := ask(c.WithBudget(orchestrator.Budget{Wall: time.Hour}), "a", ""); err != nil {
					return none{}, err
				}
			}
			return none{}, c.Sleep(24 * time.Hour)
		})
		r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": after(time.Second)}, Store: s}), f, "x")
		require.NoError(t, r.Wait(t.Context()))
		assert.Equal(t, 1, countOf(t, r, runlog.Slept))
		assert.Equal(t, 100, countOf(t, r, runlog.Called))
	})
	everywhere(t, "side by side too, and a limit that bites is recorded once", func(t *testing.T, s runlog.Store) {
		f := flow("parts", func(c *orchestrator.Context) (none, error) {
			c = c.WithBudget(orchestrator.Budget{Wall: time.Minute})
			orchestrator.Map(c, make([]int, 50), 0, func(c *orchestrator.Context, _ int) (string, error) { return ask(c, "a", "") })
			orchestrator.Map(c, make([]int, 50), 0, func(c *orchestrator.Context, _ int) (string, error) { return ask(c, "hang", "") })
			return none{}, nil
		})
		r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": after(time.Second), "hang": hang}, Store: s}), f, "x")
		require.NoError(t, r.Wait(t.Context()))
		assert.Equal(t, 1, countOf(t, r, runlog.Slept))
	})
	everywhere(t, "a run that panicked writes nothing later", func(t *testing.T, s runlog.Store) {
		f := flow("panics", func(c *orchestrator.Context) (none, error) {
			q := orchestrator.NewQueue[none](c)
			q.Go("sleep", func(c *orchestrator.Context) (none, error) { return none{}, c.Sleep(time.Hour) })
			q.Go("limit", func(c *orchestrator.Context) (none, error) {
				_, err := ask(c.WithBudget(orchestrator.Budget{Wall: time.Hour}), "hang", "")
				return none{}, err
			})
			q.Go("question", func(c *orchestrator.Context) (none, error) {
				return orchestrator.Await[none](c, orchestrator.Question{Key: "k", Timeout: time.Hour})
			})
			_ = c.Sleep(time.Second)
			panic("ouch")
		})
		r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"hang": hang}, Store: s}), f, "x")
		require.ErrorContains(t, r.Wait(t.Context()), "ouch")
		synctest.Wait()
		before := countOf(t, r, runlog.Slept) + countOf(t, r, runlog.Expired)
		pause(48 * time.Hour)
		assert.Equal(t, before, countOf(t, r, runlog.Slept)+countOf(t, r, runlog.Expired))
		assert.Equal(t, 1, before)
	})
	t.Run("after Close runs that slept hold nothing", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			sleeps := flow("sleeps", func(c *orchestrator.Context) (none, error) {
				q := orchestrator.NewQueue[none](c)
				q.Go("sleep", func(c *orchestrator.Context) (none, error) { return none{}, c.Sleep(24 * time.Hour) })
				q.Go("question", func(c *orchestrator.Context) (none, error) {
					return orchestrator.Await[none](c, orchestrator.Question{Key: "k", Timeout: 24 * time.Hour})
				})
				q.Go("call", func(c *orchestrator.Context) (none, error) {
					_, err := c.WithBudget(orchestrator.Budget{Wall: 24 * time.Hour}).Call("hang", agent.Request{Limits: agent.Limits{Timeout: 24 * time.Hour}})
					return none{}, err
				})
				q.Next()
				return none{}, nil
			})
			const runs = 500
			round := func() {
				e, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"hang": hang}, Store: runlog.NewMemory()})
				require.NoError(t, err)
				for i := range runs {
					begin(t, e, sleeps, fmt.Sprint(i))
				}
				synctest.Wait()
				require.NoError(t, e.Close(t.Context()))
				synctest.Wait()
			}
			round() // what the runtime keeps
			held := heap()
			round()
			assert.Less(t, int64(heap())-int64(held), int64(runs*1000), "bytes: 1,000 a run, where the first edition kept 4,600")
		})
	})
	t.Run("the time of a question that was answered is not waited for", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			v, d := newValve(), doubles.New(runlog.NewMemory())
			r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": v}, Store: d.Store()}), asks, "x")
			synctest.Wait()
			require.NoError(t, r.Answer(t.Context(), "n", 1))
			pause(time.Hour)
			close(v.open)
			require.NoError(t, r.Wait(t.Context()))
			assert.Equal(t, 1, d.Calls("Put"), "the answer alone")
		})
	})
	everywhere(t, "a question that was answered, a call that returned: nothing comes later", func(t *testing.T, s runlog.Store) {
		v := newValve()
		f := flow("answered", func(c *orchestrator.Context) (none, error) {
			if _, err := orchestrator.Await[int](c, orchestrator.Question{Key: "k", Timeout: time.Hour}); err != nil {
				return none{}, err
			}
			if _, err := c.WithBudget(orchestrator.Budget{Wall: time.Hour}).Call("quick", agent.Request{Limits: agent.Limits{Timeout: time.Hour}}); err != nil {
				return none{}, err
			}
			_, err := ask(c, "a", "")
			return none{}, err
		})
		r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": v, "quick": echo}, Store: s}), f, "x")
		synctest.Wait()
		require.NoError(t, r.Answer(t.Context(), "k", 1))
		pause(48 * time.Hour)
		close(v.open)
		require.NoError(t, r.Wait(t.Context()))
		assert.Zero(t, countOf(t, r, runlog.Expired)+countOf(t, r, runlog.Slept))
		assert.Zero(t, countOf(t, r, runlog.Used))
	})
}
