package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

const usd = providers.NanoUSD(1e9)

// spending fails transiently with each of costs, in turn, and answers then.
func spending(costs ...providers.NanoUSD) agent.Func {
	n := 0
	return func(context.Context, agent.Request) (agent.Response, error) {
		if n++; n > len(costs) {
			return agent.Response{Text: "done", Usage: providers.Usage{Calls: 1}}, nil
		}
		return agent.Response{}, &agent.Error{Message: "busy", Transient: true, Usage: providers.Usage{Calls: 1, Cost: costs[n-1], Input: int64(costs[n-1])}}
	}
}

// execute makes a call of a in a bubble.
func execute(t *testing.T, a agent.Agent, task *Task) *Task {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		task.Info.Agent = "a"
		if task.Request == nil {
			task.Request = &agent.Request{}
		}
		task.Execute(t.Context(), agent.Roster{"a": a}, Retry{})
	})
	return task
}

func TestRetriesOfATask(t *testing.T) {
	for name, tt := range map[string]struct {
		costs    []providers.NanoUSD
		reserved Amount
		limit    providers.NanoUSD
		attempts int
	}{
		"what costs nothing is tried again":                                {[]providers.NanoUSD{0, 0, 0}, Amount{Cost: usd}, usd, 4},
		"what costs nothing is tried again without a reservation":          {[]providers.NanoUSD{0, 0, 0}, Amount{}, 0, 4},
		"a reservation is for one attempt that costs":                      {[]providers.NanoUSD{usd / 10, 0, 0}, Amount{Cost: usd}, usd, 1},
		"also where that came later":                                       {[]providers.NanoUSD{0, usd / 10, 0}, Amount{Cost: usd}, usd, 2},
		"and for tokens":                                                   {[]providers.NanoUSD{1, 0}, Amount{Tokens: 100}, 0, 1},
		"without one, while the largest of the attempts fits what is left": {[]providers.NanoUSD{usd / 4, usd / 4, usd / 4}, Amount{}, usd, 4},
		"without one, and it does not fit":                                 {[]providers.NanoUSD{usd / 3, usd / 3, usd / 3}, Amount{}, usd, 3},
		"without one, and one attempt took more than half of what is left": {[]providers.NanoUSD{6 * usd / 10, 0, 0}, Amount{}, usd, 1},
		"without a limit nothing is in the way":                            {[]providers.NanoUSD{usd, usd, usd}, Amount{}, 0, 4},
	} {
		t.Run(name, func(t *testing.T) {
			task := execute(t, spending(tt.costs...), &Task{Reserved: tt.reserved, Request: &agent.Request{Limits: agent.Limits{Cost: tt.limit}}})
			var spent providers.Usage
			for _, cost := range tt.costs[:min(tt.attempts, len(tt.costs))] {
				spent = spent.Add(providers.Usage{Calls: 1, Cost: cost, Input: int64(cost)})
			}
			if tt.attempts > len(tt.costs) {
				spent.Calls++
				require.Nil(t, task.Err)
				assert.Equal(t, spent, task.Response.Usage)
				assert.Equal(t, "done", task.Response.Text)
			} else {
				require.NotNil(t, task.Err)
				assert.Equal(t, spent, task.Err.Usage)
				assert.Equal(t, agent.Response{}, task.Response)
			}
			assert.Equal(t, spent, task.Reported())
		})
	}
	t.Run("an agent that reports no call counts as one, and Reported says none", func(t *testing.T) {
		free := agent.Func(func(context.Context, agent.Request) (agent.Response, error) { return agent.Response{}, nil })
		task := execute(t, free, &Task{})
		assert.Equal(t, int64(1), task.Response.Usage.Calls)
		assert.Zero(t, task.Reported())
	})
	t.Run("the error of the last attempt is the call's", func(t *testing.T) {
		n := 0
		task := execute(t, agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
			n++
			assert.Equal(t, n, agent.InfoFrom(ctx).Attempt)
			return agent.Response{}, agent.Transient(fmt.Errorf("attempt %d", n), 0)
		}), &Task{})
		assert.Equal(t, "attempt 4", task.Err.Message)
		assert.True(t, task.Err.Transient)
	})
	t.Run("Info of an attempt stays what it was when the next one begins", func(t *testing.T) {
		var all []context.Context
		execute(t, agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
			all = append(all, ctx)
			return agent.Response{}, agent.Transient(errors.New("busy"), 0)
		}), &Task{})
		for i, ctx := range all {
			assert.Equal(t, i+1, agent.InfoFrom(ctx).Attempt)
			require.ErrorIs(t, ctx.Err(), context.Canceled, "the attempt is over")
		}
		assert.Len(t, all, 4)
	})
	t.Run("Total ends the attempts, and the error is not transient", func(t *testing.T) {
		n := 0
		task := execute(t, agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
			n++
			<-ctx.Done()
			return agent.Response{}, ctx.Err()
		}), &Task{Request: &agent.Request{Limits: agent.Limits{Timeout: time.Minute, Total: 90 * time.Second, Attempts: 9}}})
		assert.Equal(t, 2, n)
		require.ErrorIs(t, task.Err, ErrTimeout)
		assert.False(t, task.Err.Transient)
		assert.Equal(t, 90*time.Second, task.Ended.Sub(task.begun))
	})
}

func TestEndsOfATask(t *testing.T) {
	t.Run("Goexit sets the error, ends the context and stops its timer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var seen context.Context
			exits := agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
				seen = ctx
				_ = ctx.Done()
				runtime.Goexit()
				return agent.Response{}, nil
			})
			task := &Task{Info: agent.Info{Agent: "a"}, Request: &agent.Request{Limits: agent.Limits{Timeout: 24 * time.Hour}}}
			done := make(chan struct{})
			go func() {
				defer close(done)
				task.Execute(t.Context(), agent.Roster{"a": exits}, Retry{})
				t.Error("Execute returned")
			}()
			<-done
			require.ErrorContains(t, task.Err, "ended its goroutine")
			assert.True(t, task.Due().IsZero())
			assert.Equal(t, int64(1), task.Err.Usage.Calls)
			require.ErrorIs(t, seen.Err(), context.Canceled)
		})
	})
	t.Run("a typed nil is an error, its usage counts", func(t *testing.T) {
		task := execute(t, agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
			var failed *agent.Error
			return agent.Response{Text: "x", Usage: providers.Usage{Calls: 2, Cost: 5}}, failed
		}), &Task{})
		require.NotNil(t, task.Err)
		assert.Equal(t, providers.Usage{Calls: 2, Cost: 5}, task.Err.Usage)
		assert.Empty(t, task.Response.Text)
	})
	t.Run("a call that is canceled before it begins reaches no agent", func(t *testing.T) {
		task := &Task{}
		task.Cancel()
		execute(t, agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
			t.Error("the agent was called")
			return agent.Response{}, nil
		}), task)
		require.ErrorIs(t, task.Err, context.Canceled)
		assert.Zero(t, task.Reported())
		assert.Zero(t, task.Err.Usage)
	})
	t.Run("a cancel ends the attempt under way, and none follows", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			task := &Task{Info: agent.Info{Agent: "a"}, Request: &agent.Request{}}
			time.AfterFunc(time.Minute, func() { task.Cancel() })
			task.Execute(t.Context(), agent.Roster{"a": agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
				n++
				<-ctx.Done()
				return agent.Response{}, agent.Transient(ctx.Err(), 0)
			})}, Retry{})
			assert.Equal(t, 1, n)
			require.ErrorIs(t, task.Err, context.Canceled)
		})
	})
	t.Run("a cancel between two attempts ends the wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			task := &Task{Info: agent.Info{Agent: "a"}, Request: &agent.Request{}}
			begun := time.Now()
			time.AfterFunc(time.Minute, func() { task.Cancel() })
			task.Execute(t.Context(), agent.Roster{"a": agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
				return agent.Response{}, agent.Transient(errors.New("busy"), time.Hour)
			})}, Retry{})
			assert.Equal(t, time.Minute, time.Since(begun))
			require.ErrorContains(t, task.Err, "busy")
		})
	})
	t.Run("an unknown agent is ErrNoAgent", func(t *testing.T) {
		task := &Task{Info: agent.Info{Agent: "a"}, Request: &agent.Request{}}
		task.Execute(t.Context(), agent.Roster{}, Retry{})
		require.ErrorIs(t, task.Err, ErrNoAgent)
		assert.False(t, task.Ended.IsZero())
	})
	t.Run("Grace is a second where the limits do not say", func(t *testing.T) {
		assert.Equal(t, time.Second, (&Task{Request: &agent.Request{}}).Grace())
		assert.Equal(t, time.Minute, (&Task{Request: &agent.Request{Limits: agent.Limits{Grace: time.Minute}}}).Grace())
	})
	t.Run("N13 Due is told by the monotonic clock", func(t *testing.T) { // bubbles have none
		task := &Task{Info: agent.Info{Agent: "a"}, Request: &agent.Request{Limits: agent.Limits{Timeout: time.Hour}}}
		task.Execute(t.Context(), agent.Roster{"a": agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
			assert.Contains(t, task.Due().String(), " m=", "the reading of that clock")
			return agent.Response{}, nil
		})}, Retry{})
		require.Nil(t, task.Err)
	})
	t.Run("Due is the end of the attempt under way", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			task := &Task{Info: agent.Info{Agent: "a"}, Request: &agent.Request{Limits: agent.Limits{Timeout: time.Minute, Total: time.Hour}}}
			n := 0
			task.Execute(t.Context(), agent.Roster{"a": agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
				if n++; n == 1 {
					assert.True(t, task.Due().Equal(begun.Add(time.Minute)))
					return agent.Response{}, agent.Transient(errors.New("busy"), 59*time.Minute+30*time.Second)
				}
				assert.True(t, task.Due().Equal(begun.Add(time.Hour)), "Total is nearer")
				return agent.Response{}, nil
			})}, Retry{})
			require.Nil(t, task.Err)
			assert.True(t, task.Due().IsZero())
		})
	})
}

// TestWaitsBetweenAttempts checks how long a Task waits before each further attempt.
func TestWaitsBetweenAttempts(t *testing.T) {
	// waits are the waits of a call whose attempts all fail, and want to be retried after after.
	waits := func(t *testing.T, limits agent.Limits, retry Retry, after time.Duration) (all []time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			last := time.Now()
			task := limited(limits)
			task.Execute(t.Context(), agent.Roster{"a": agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
				all = append(all, time.Since(last))
				last = time.Now()
				return agent.Response{}, agent.Transient(errors.New("busy"), after)
			})}, retry)
			require.EqualError(t, task.Err, "busy")
			require.ErrorIs(t, task.under.Load().Err(), context.Canceled, "no context of the call is left open")
		})
		return all[1:]
	}
	near := func(t *testing.T, want, got []time.Duration) {
		t.Helper()
		require.Len(t, got, len(want))
		for i := range want { // half of it is up to chance
			assert.InDelta(t, want[i].Seconds(), got[i].Seconds(), want[i].Seconds()/2, "wait %d", i)
		}
	}
	t.Run("they double up to the longest one", func(t *testing.T) {
		second := time.Second
		near(t, []time.Duration{second, 2 * second, 4 * second}, waits(t, agent.Limits{}, Retry{}, 0))
		got := waits(t, agent.Limits{}, Retry{Attempts: 12, Max: time.Hour}, 0)
		near(t, []time.Duration{512 * second, 1024 * second}, got[9:])
		got = waits(t, agent.Limits{}, Retry{Attempts: 12, Initial: 3 * second, Max: 10 * second}, 0)
		near(t, []time.Duration{3 * second, 6 * second, 10 * second, 10 * second}, got[:4])
		near(t, []time.Duration{time.Minute}, waits(t, agent.Limits{}, Retry{Attempts: 20}, 0)[18:])
		near(t, []time.Duration{second, 3 * second, 9 * second}, waits(t, agent.Limits{}, Retry{Factor: 3}, 0))
		near(t, []time.Duration{second, second, second}, waits(t, agent.Limits{}, Retry{Factor: 1}, 0))
	})
	t.Run("the vendor's wait counts where it is longer", func(t *testing.T) {
		assert.Equal(t, []time.Duration{time.Hour, time.Hour}, waits(t, agent.Limits{}, Retry{Attempts: 3}, time.Hour))
		near(t, []time.Duration{time.Second}, waits(t, agent.Limits{}, Retry{Attempts: 2}, time.Millisecond))
	})
	t.Run("the limits of the call say how many, before the engine", func(t *testing.T) {
		assert.Len(t, waits(t, agent.Limits{Attempts: 2}, Retry{Attempts: 7}, 0), 1)
		assert.Len(t, waits(t, agent.Limits{}, Retry{Attempts: 7}, 0), 6)
	})
}

func TestElapsedIsTheEngines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		task := limited(agent.Limits{})
		n := 0
		task.Execute(t.Context(), agent.Roster{"a": agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
			<-time.NewTimer(time.Second).C
			if n++; n == 1 {
				return agent.Response{}, agent.Transient(errors.New("busy"), time.Minute)
			}
			return agent.Response{Elapsed: time.Hour}, nil
		})}, Retry{})
		assert.Equal(t, time.Minute+2*time.Second, task.Response.Elapsed, "waits included, whatever the agent says")
	})
}
