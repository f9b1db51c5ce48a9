package orchestrator_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// flaky fails so many times, and notes when it was asked.
type flaky struct {
	fails int
	err   error
	usage providers.Usage
	at    []time.Time
}

func (a *flaky) Call(context.Context, agent.Request) (agent.Response, error) {
	a.at = append(a.at, time.Now())
	if len(a.at) <= a.fails {
		return agent.Response{Usage: a.usage}, a.err
	}
	return agent.Response{Text: "at last", Usage: a.usage}, nil
}

// waits are the times between the attempts.
func (a *flaky) waits() []time.Duration {
	var ds []time.Duration
	for i := 1; i < len(a.at); i++ {
		ds = append(ds, a.at[i].Sub(a.at[i-1]))
	}
	return ds
}

func limited(t *testing.T, retry orchestrator.Attempts, a agent.Agent, l agent.Limits) (agent.Response, error) {
	t.Helper()
	f := flow("retry", func(c *orchestrator.Context) (agent.Response, error) { return c.Call("a", agent.Request{Limits: l}) })
	e, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"a": a}, Retry: retry})
	require.NoError(t, err)
	got, err := f.Run(t.Context(), e, none{})
	require.NoError(t, e.Close(t.Context()))
	return got, err
}

func TestRetry(t *testing.T) {
	busy := agent.Transient(errors.New("busy"), 0)
	t.Run("by default 4 attempts, from about a second, doubling", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a := &flaky{fails: 9, err: busy}
			_, err := limited(t, orchestrator.Attempts{}, a, agent.Limits{})
			require.ErrorContains(t, err, "busy")
			require.Len(t, a.waits(), 3)
			for i, d := range a.waits() {
				want := time.Second << i
				assert.GreaterOrEqual(t, d, want/2, "wait %d, with jitter", i)
				assert.LessOrEqual(t, d, want*3/2, "wait %d, with jitter", i)
			}
		})
	})
	t.Run("no wait is longer than the longest", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a := &flaky{fails: 9, err: busy}
			got, err := limited(t, orchestrator.Attempts{Max: 10, Wait: time.Minute, Longest: 2 * time.Minute}, a, agent.Limits{})
			require.NoError(t, err)
			assert.Equal(t, "at last", got.Text)
			for _, d := range a.waits()[1:] {
				assert.LessOrEqual(t, d, 3*time.Minute, "2 min, with jitter")
				assert.GreaterOrEqual(t, d, time.Minute)
			}
		})
	})
	t.Run("not before the vendor's word", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a := &flaky{fails: 2, err: &providers.Error{Kind: providers.RateLimited, RetryAfter: 5 * time.Minute}}
			_, err := limited(t, orchestrator.Attempts{}, a, agent.Limits{})
			require.NoError(t, err)
			for _, d := range a.waits() {
				assert.GreaterOrEqual(t, d, 5*time.Minute)
			}
		})
	})
	t.Run("the total bounds attempts and waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a := &flaky{fails: 99, err: agent.Transient(errors.New("busy"), time.Minute)}
			begun := time.Now()
			_, err := limited(t, orchestrator.Attempts{Max: 50}, a, agent.Limits{Total: 210 * time.Second})
			require.ErrorIs(t, err, orchestrator.ErrTimeout)
			require.ErrorContains(t, err, "in attempt 4, after 3m30s", "0 min, 1 min, 2 min, 3 min")
			require.ErrorContains(t, err, "busy")
			assert.Equal(t, 210*time.Second, time.Since(begun))
			var crossed *agent.Error
			require.ErrorAs(t, err, &crossed)
			assert.False(t, crossed.Transient, "trying again is over")
		})
	})
	t.Run("an attempt is bounded apart", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			_, err := limited(t, orchestrator.Attempts{Wait: time.Second, Longest: time.Second}, hang, agent.Limits{Timeout: time.Hour, Attempts: 2})
			require.ErrorIs(t, err, orchestrator.ErrTimeout)
			assert.Equal(t, 2*time.Hour, time.Since(begun).Truncate(time.Minute))
		})
	})
	t.Run("the agent learns of its deadline and its attempt", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var attempts []int
			begun := time.Now()
			_, err := limited(t, orchestrator.Attempts{}, agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
				attempts = append(attempts, agent.InfoFrom(ctx).Attempt)
				deadline, ok := ctx.Deadline()
				assert.True(t, ok)
				assert.Equal(t, time.Hour, deadline.Sub(begun))
				return agent.Response{}, busy
			}), agent.Limits{Total: time.Hour, Attempts: 3})
			require.Error(t, err)
			assert.Equal(t, []int{1, 2, 3}, attempts)
		})
	})
	t.Run("all attempts cost and take time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			used := providers.Usage{Calls: 1, Input: 5, Cost: 7}
			a := &flaky{fails: 2, err: agent.Transient(errors.New("busy"), time.Minute), usage: used}
			got, err := limited(t, orchestrator.Attempts{}, a, agent.Limits{})
			require.NoError(t, err)
			assert.Equal(t, used.Add(used).Add(used), got.Usage)
			assert.Equal(t, 2*time.Minute, got.Elapsed)
		})
	})
	t.Run("an agent that reports no call counts as one, however often it was tried", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			got, err := limited(t, orchestrator.Attempts{}, &flaky{fails: 2, err: busy}, agent.Limits{})
			require.NoError(t, err)
			assert.Equal(t, providers.Usage{Calls: 1}, got.Usage)
		})
	})
	t.Run("a cancel ends the waiting at once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a := &flaky{fails: 9, err: agent.Transient(errors.New("busy"), 5*time.Minute)}
			f := flow("retry", func(c *orchestrator.Context) (string, error) { return ask(c, "a", "") })
			r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": a}}), f, "x")
			synctest.Wait()
			begun := time.Now()
			require.NoError(t, r.Cancel(t.Context(), "enough"))
			require.NoError(t, r.Wait(t.Context()))
			assert.Zero(t, time.Since(begun))
			assert.Len(t, a.at, 1)
		})
	})
}

// Attempt counts those of this process; the key is what stays.
func TestAttemptsStartAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []agent.Info
		note := func(a agent.Agent) agent.Agent {
			return agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
				i := agent.InfoFrom(ctx)
				i.Log = nil
				seen = append(seen, i)
				return a.Call(ctx, req)
			})
		}
		f := flow("attempts", func(c *orchestrator.Context) (string, error) { return ask(c, "a", "x") })
		s := newPlain()
		e, err := orchestrator.NewLocal(orchestrator.Config{
			Agents: agent.Roster{"a": note(&flaky{fails: 9, err: agent.Transient(errors.New("busy"), 5*time.Minute)})}, Store: s,
		})
		require.NoError(t, err)
		begin(t, e, f, "x")
		wait := time.NewTimer(7 * time.Minute)
		<-wait.C
		require.NoError(t, e.Close(t.Context()))
		require.NoError(t, begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": note(echo)}, Store: s}), f, "x").Wait(t.Context()))
		info := agent.Info{Run: "x", Flow: "attempts", Agent: "a", Key: "x/0"}
		first, second, third := info, info, info
		first.Attempt, second.Attempt, third.Attempt = 1, 2, 1
		assert.Equal(t, []agent.Info{first, second, third}, seen)
	})
}
