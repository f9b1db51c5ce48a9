package orchestrator_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

func TestPlacesOfCalls(t *testing.T) {
	everywhere(t, "Close waits for agents that heed their ctx slowly, whatever was left behind before", func(t *testing.T, s runlog.Store) {
		var inside atomic.Int64
		slow := agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
			inside.Add(1)
			<-ctx.Done()
			pause(900 * time.Millisecond) // less than the grace
			inside.Add(-1)
			return agent.Response{}, ctx.Err()
		})
		late := flow("late", func(c *orchestrator.Context) (none, error) {
			orchestrator.Map(c, make([]int, 6), 0, func(c *orchestrator.Context, _ int) (none, error) {
				_, err := c.Call("late", agent.Request{Limits: agent.Limits{Timeout: time.Second, Attempts: 1}})
				return none{}, err
			})
			return none{}, c.Sleep(time.Hour)
		})
		e, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"a": slow, "late": tardily(10 * time.Second)}, Store: s})
		require.NoError(t, err)
		require.NoError(t, begin(t, e, late, "late").Wait(t.Context()))
		for i := range 6 {
			begin(t, e, pair, fmt.Sprint(i))
		}
		synctest.Wait()
		require.Equal(t, int64(6), inside.Load())
		begun := time.Now()
		require.NoError(t, e.Close(t.Context()))
		assert.Equal(t, 900*time.Millisecond, time.Since(begun))
		assert.Zero(t, inside.Load())
	})
	everywhere(t, "a late return without usage counts as one call", func(t *testing.T, s runlog.Store) {
		silent := agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
			pause(10 * time.Second)
			return agent.Response{}, nil
		})
		f := flow("late", func(c *orchestrator.Context) (int64, error) {
			_, err := c.Call("late", agent.Request{Limits: agent.Limits{Timeout: time.Second, Attempts: 1}})
			if err == nil {
				return 0, fmt.Errorf("it was not left behind")
			}
			if err := c.Sleep(time.Minute); err != nil {
				return 0, err
			}
			return c.Spent().Calls, nil
		})
		got, err := f.Run(t.Context(), local(t, orchestrator.Config{Agents: agent.Roster{"late": silent}, Store: s}), none{})
		require.NoError(t, err)
		assert.Equal(t, int64(1), got)
	})
	everywhere(t, "calls get places in the order in which they were asked for", func(t *testing.T, s runlog.Store) {
		var mu sync.Mutex
		var order []string
		a := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
			mu.Lock()
			order = append(order, req.Prompt)
			mu.Unlock()
			return after(time.Second)(ctx, req)
		})
		f := flow("many", func(c *orchestrator.Context) ([]string, error) {
			return orchestrator.Values(orchestrator.Map(c, []string{"1", "2", "3", "4", "5"}, 0, func(c *orchestrator.Context, p string) (string, error) { return ask(c, "a", p) }))
		})
		got, err := f.Run(t.Context(), local(t, orchestrator.Config{Agents: agent.Roster{"a": a}, Store: s, Parallel: 1}), none{})
		require.NoError(t, err)
		assert.Equal(t, got, order)
	})
	everywhere(t, "N4 what was reserved for a call is on record, and counts at a resume", func(t *testing.T, s runlog.Store) {
		cents := providers.NanoUSD(1e7)
		spends := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
			resp, err := after(time.Second)(ctx, req)
			resp.Usage.Cost = 10 * cents
			return resp, err
		})
		estimated := func(estimate providers.NanoUSD) orchestrator.Flow[none, []string] {
			return flow("estimated", func(c *orchestrator.Context) ([]string, error) {
				var out []string
				for _, r := range orchestrator.Map(c.WithBudget(orchestrator.Budget{Cost: 100 * cents}), make([]int, 8), 0, func(c *orchestrator.Context, _ int) (string, error) {
					_, err := c.Call("a", agent.Request{Limits: agent.Limits{Estimate: estimate}})
					return c.Elapsed().String(), err
				}) {
					out = append(out, fmt.Sprint(r.Value, r.Err))
				}
				return out, nil
			})
		}
		agents := agent.Roster{"a": spends}
		f := estimated(30 * cents)
		r := begin(t, local(t, orchestrator.Config{Agents: agents, Store: s}), f, "x")
		want, err := f.Result(t.Context(), r)
		require.NoError(t, err)
		n := 0
		var log []runlog.Record
		for rec, err := range r.Events(t.Context(), 0) {
			require.NoError(t, err)
			log = append(log, rec)
			if rec.Kind == runlog.Called {
				assert.Contains(t, string(rec.Data), `"reserved":{"cost":300000000}`)
				n++
			}
		}
		assert.Equal(t, 8, n)
		got, err := again(t, orchestrator.Config{Agents: agents}, estimated(90*cents), log[:len(log)-1])
		require.NoError(t, err)
		assert.Equal(t, want, got)
	})
}

// What is in line for a flow that is busy is dealt with in order, when it is not any more.
func TestFlowThatIsBusy(t *testing.T) {
	everywhere(t, "Close comes before what is in line", func(t *testing.T, s runlog.Store) {
		busy := make(chan struct{})
		third := &counted{Agent: echo}
		f := flow("busy", func(c *orchestrator.Context) (none, error) {
			q := orchestrator.NewQueue[string](c)
			for i := range 2 {
				q.Go(fmt.Sprint(i), func(c *orchestrator.Context) (string, error) { return ask(c, "a", fmt.Sprint(i)) })
			}
			q.Next()
			<-busy // what no flow should do
			q.Next()
			_, err := ask(c, "third", "")
			return none{}, err
		})
		delays := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
			return after(time.Duration(len(req.Prompt))*time.Second)(ctx, req)
		})
		e, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"a": delays, "third": third}, Store: s})
		require.NoError(t, err)
		r := begin(t, e, f, "x")
		pause(time.Minute)
		var host sync.WaitGroup
		host.Go(func() { assert.NoError(t, e.Close(t.Context())) })
		synctest.Wait()
		close(busy)
		host.Wait()
		require.ErrorIs(t, r.Wait(t.Context()), orchestrator.ErrStopped)
		assert.Zero(t, third.calls.Load())
	})
	everywhere(t, "a question whose time is over is withdrawn by the flow before it learns of that", func(t *testing.T, s runlog.Store) {
		busy := make(chan struct{})
		f := flow("busy", func(c *orchestrator.Context) ([]string, error) {
			q := orchestrator.NewQueue[int](c)
			q.Go("n", func(c *orchestrator.Context) (int, error) {
				return orchestrator.Await[int](c, orchestrator.Question{Key: "n", Timeout: time.Minute})
			})
			_, _ = ask(c, "a", "")
			<-busy // what no flow should do
			q.CancelAll()
			var out []string
			for r, ok := q.Next(); ok; r, ok = q.Next() {
				out = append(out, fmt.Sprint(r.Key, c.IsCanceled(r.Err), r.Err))
			}
			n, err := orchestrator.Await[int](c, orchestrator.Question{Key: "n"})
			return append(out, fmt.Sprint(n)), err
		})
		r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s}), f, "x")
		pause(10 * time.Minute)
		close(busy)
		synctest.Wait()
		require.NoError(t, r.Answer(t.Context(), "n", 7), "it is asked again")
		got, err := f.Result(t.Context(), r)
		require.NoError(t, err)
		require.Len(t, got, 2)
		assert.Contains(t, got[0], "canceled this branch")
		assert.Equal(t, "7", got[1])
		var log []runlog.Record
		for rec, err := range r.Events(t.Context(), 0) {
			require.NoError(t, err)
			log = append(log, rec)
		}
		same, err := again(t, orchestrator.Config{Agents: agent.Roster{"a": echo}}, f, log[:len(log)-1])
		require.NoError(t, err)
		assert.Equal(t, got, same)
	})
}
