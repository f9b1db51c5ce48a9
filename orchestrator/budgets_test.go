package orchestrator_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

func TestSplit(t *testing.T) {
	tests := []struct {
		name string
		b    orchestrator.Budget
		n    int
		want orchestrator.Budget
	}{
		{"no limit stays none", orchestrator.Budget{}, 3, orchestrator.Budget{}},
		{"rounded down", orchestrator.Budget{Cost: 11, Tokens: 10, Calls: 7}, 3, orchestrator.Budget{Cost: 3, Tokens: 3, Calls: 2}},
		{"a share of a little is nothing", orchestrator.Budget{Cost: 2, Tokens: 2, Calls: 2}, 3, orchestrator.Budget{Cost: -1, Tokens: -1, Calls: -1}},
		{"the last one each", orchestrator.Budget{Calls: 3}, 3, orchestrator.Budget{Calls: 1}},
		{"nothing stays nothing", orchestrator.Budget{Cost: -1, Tokens: -7, Calls: -1}, 2, orchestrator.Budget{Cost: -1, Tokens: -1, Calls: -1}},
		{"nothing among one", orchestrator.Budget{Calls: -7}, 1, orchestrator.Budget{Calls: -1}},
		{"less than one counts as one", orchestrator.Budget{Calls: 7}, 0, orchestrator.Budget{Calls: 7}},
		{"below zero too", orchestrator.Budget{Calls: 7}, -4, orchestrator.Budget{Calls: 7}},
		{"time is not split", orchestrator.Budget{Wall: time.Hour}, 4, orchestrator.Budget{Wall: time.Hour}},
		{"nor is no time", orchestrator.Budget{Wall: -1}, 4, orchestrator.Budget{Wall: -1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, tt.b.Split(tt.n)) })
	}
	t.Run("shares are never more than the whole, nor without limit", rapid.MakeCheck(func(t *rapid.T) {
		limit, n := rapid.Int64Range(-3, 1<<40).Draw(t, "limit"), rapid.IntRange(-2, 1<<20).Draw(t, "n")
		share := orchestrator.Budget{Calls: limit}.Split(n).Calls
		assert.Equal(t, limit == 0, share == 0)
		assert.LessOrEqual(t, max(share, 0)*int64(max(n, 1)), max(limit, 0))
	}))
}

// allowed tells how many calls of many a budget allows.
func allowed(c *orchestrator.Context) int {
	for n := range 20 {
		if _, err := ask(c, "a", ""); err != nil {
			return n
		}
	}
	return 20
}

func TestBudgetsOfAContext(t *testing.T) {
	costs := agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
		return agent.Response{Usage: providers.Usage{Calls: 1, Input: 3, Output: 4, Cost: 5}}, nil
	})
	within := func(t *testing.T, b orchestrator.Budget, do func(c *orchestrator.Context) ([]int, error)) []int {
		t.Helper()
		f := flow("budget", do)
		r, err := f.Start(t.Context(), local(t, orchestrator.Config{Agents: agent.Roster{"a": costs}}), none{}, orchestrator.StartOptions{Budget: b})
		require.NoError(t, err)
		got, err := f.Result(t.Context(), r)
		require.NoError(t, err)
		return got
	}
	t.Run("0 is no limit", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			got := within(t, orchestrator.Budget{}, func(c *orchestrator.Context) ([]int, error) {
				return []int{allowed(c.WithBudget(orchestrator.Budget{}))}, nil
			})
			assert.Equal(t, []int{20}, got)
		})
	})
	t.Run("the context before WithBudget is under the old limits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			got := within(t, orchestrator.Budget{Calls: 5}, func(c *orchestrator.Context) ([]int, error) {
				sub := c.WithBudget(orchestrator.Budget{Calls: 2})
				return []int{allowed(sub), allowed(c), int(sub.Spent().Calls), int(c.Spent().Calls)}, nil
			})
			assert.Equal(t, []int{2, 3, 2, 5}, got, "and what was used under the new one counts there")
		})
	})
	t.Run("a budget is a cap and no reservation", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			got := within(t, orchestrator.Budget{Calls: 5}, func(c *orchestrator.Context) ([]int, error) {
				big := c.WithBudget(orchestrator.Budget{Calls: 4})
				_, _ = ask(c, "a", "")
				_, _ = ask(c, "a", "")
				return []int{int(big.Left().Calls), allowed(big)}, nil
			})
			assert.Equal(t, []int{3, 3}, got)
		})
	})
	t.Run("shares of branches hold, whoever is first", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			got := within(t, orchestrator.Budget{Calls: 11}, func(c *orchestrator.Context) ([]int, error) {
				share := c.Left().Split(3)
				return orchestrator.Values(orchestrator.Map(c, make([]int, 3), 0, func(c *orchestrator.Context, _ int) (int, error) {
					return allowed(c.WithBudget(share)), nil
				}))
			})
			assert.Equal(t, []int{3, 3, 3}, got)
		})
	})
	t.Run("an agent of another framework is one opaque call", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var told []agent.Limits
			foreign := agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
				told = append(told, req.Limits)
				return agent.Response{Usage: providers.Usage{Calls: 7, Cost: 70}}, nil // seven steps that nobody could stop
			})
			f := flow("foreign", func(c *orchestrator.Context) (providers.Usage, error) {
				_, _ = ask(c, "a", "")
				_, err := ask(c, "a", "")
				return c.Spent(), err
			})
			r, err := f.Start(t.Context(), local(t, orchestrator.Config{Agents: agent.Roster{"a": foreign}}), none{}, orchestrator.StartOptions{Budget: orchestrator.Budget{Calls: 3, Cost: 50}})
			require.NoError(t, err)
			got, err := f.Result(t.Context(), r)
			require.ErrorIs(t, err, orchestrator.ErrBudget)
			assert.Equal(t, providers.Usage{Calls: 7, Cost: 70}, got, "its inner steps are counted, not budgeted")
			assert.Equal(t, []agent.Limits{{Cost: 50, Calls: 3}}, told, "what it may use it is told")
		})
	})
}

func TestTimeLeftOfABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := flow("time", func(c *orchestrator.Context) ([]time.Duration, error) {
			sub := c.WithBudget(orchestrator.Budget{Wall: 30 * time.Minute})
			left := []time.Duration{c.Left().Wall, sub.Left().Wall}
			err := c.Sleep(10 * time.Minute)
			left = append(left, c.Left().Wall, sub.Left().Wall)
			if sub.Sleep(time.Hour) == nil || err != nil {
				return left, err
			}
			return append(left, c.Left().Wall, sub.Left().Wall), nil
		})
		r, err := f.Start(t.Context(), local(t, orchestrator.Config{}), none{}, orchestrator.StartOptions{Budget: orchestrator.Budget{Wall: time.Hour}})
		require.NoError(t, err)
		got, err := f.Result(t.Context(), r)
		require.NoError(t, err)
		for i := range got {
			got[i] = got[i].Round(time.Minute)
		}
		assert.Equal(t, []time.Duration{time.Hour, 30 * time.Minute, 50 * time.Minute, 20 * time.Minute, 30 * time.Minute, 0}, got, "-1 ns is nothing")
	})
}

// What a run has spent of its time is not given back by a restart.
func TestTimeLimitSurvives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := flow("slow", func(c *orchestrator.Context) (time.Duration, error) {
			_ = c.Sleep(40 * time.Minute)
			_, err := ask(c, "a", "")
			return c.Elapsed(), err
		})
		s := newPlain()
		c := orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: s}
		e, err := orchestrator.NewLocal(c)
		require.NoError(t, err)
		_, err = f.Start(t.Context(), e, none{}, orchestrator.StartOptions{ID: "x", Budget: orchestrator.Budget{Wall: time.Hour}})
		require.NoError(t, err)
		night := time.NewTimer(50 * time.Minute)
		<-night.C
		require.NoError(t, e.Close(t.Context()))
		night.Reset(8 * time.Hour)
		<-night.C

		c.Flows = []orchestrator.AnyFlow{f}
		e = local(t, c)
		begun := time.Now()
		runs, err := listed(e.Resume(t.Context()))
		require.NoError(t, err)
		require.Len(t, runs, 1)
		got, err := f.Result(t.Context(), runs[0])
		require.ErrorIs(t, err, orchestrator.ErrBudget)
		assert.Equal(t, time.Hour, got)
		assert.LessOrEqual(t, time.Since(begun), 20*time.Minute, "40 min are on record")
	})
}

// A budget that is used up is not filled by starting again: the run has ended, and
// going on is another run that says so.
func TestGoingOnAfterABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type input struct{ Done int }
		f := orchestrator.Flow[input, int]{Name: "count", Do: func(c *orchestrator.Context, in input) (int, error) {
			for in.Done < 5 {
				if _, err := ask(c, "a", ""); err != nil {
					return in.Done, err
				}
				in.Done++
			}
			return in.Done, nil
		}}
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: newPlain(), Flows: []orchestrator.AnyFlow{f}})
		first, err := f.Start(t.Context(), e, input{}, orchestrator.StartOptions{ID: "one", Budget: orchestrator.Budget{Calls: 3}})
		require.NoError(t, err)
		got, err := f.Result(t.Context(), first)
		require.ErrorIs(t, err, orchestrator.ErrBudget)
		runs, err := listed(e.Resume(t.Context()))
		require.NoError(t, err)
		assert.Empty(t, runs, "it has ended")
		_, err = f.Start(t.Context(), e, input{}, orchestrator.StartOptions{ID: "one", Budget: orchestrator.Budget{Calls: 9}})
		require.ErrorIs(t, err, orchestrator.ErrExists)
		require.ErrorContains(t, err, "StartOptions.Budget")
		same, err := f.Start(t.Context(), e, input{}, orchestrator.StartOptions{ID: "one", Budget: orchestrator.Budget{Calls: 3}})
		require.NoError(t, err)
		_, err = f.Result(t.Context(), same)
		require.ErrorIs(t, err, orchestrator.ErrBudget)

		second, err := f.Start(t.Context(), e, input{Done: got}, orchestrator.StartOptions{ID: "two", Budget: orchestrator.Budget{Calls: 3}, ContinuedFrom: "one"})
		require.NoError(t, err)
		got, err = f.Result(t.Context(), second)
		require.NoError(t, err)
		assert.Equal(t, 5, got)
		i, err := second.Info(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "one", i.ContinuedFrom)
		assert.Equal(t, int64(2), i.Spent.Calls)
	})
}

// What a call that was given up has cost is on record and counted.
func TestGivenUpCallsCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dear := agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
			<-ctx.Done()
			return agent.Response{Usage: providers.Usage{Calls: 1, Cost: 9}}, ctx.Err()
		})
		f := flow("gives up", func(c *orchestrator.Context) (providers.NanoUSD, error) {
			q := orchestrator.NewQueue[string](c)
			q.Go("dear", func(c *orchestrator.Context) (string, error) { return ask(c, "dear", "") })
			_ = c.Sleep(time.Second)
			q.CancelAll()
			_ = c.Sleep(time.Second)
			return c.Spent().Cost, nil
		})
		c := orchestrator.Config{Agents: agent.Roster{"dear": dear}}
		log := whole(t, c, f)
		assert.Equal(t, []string{runlog.Started, runlog.Slept, runlog.Called, runlog.Slept, runlog.Ended}, kinds(log))
		got, err := again(t, c, f, log[:len(log)-1])
		require.NoError(t, err)
		assert.Equal(t, providers.NanoUSD(9), got)
	})
}

// A branch gives way only inside an effect, so a sum over branches needs no lock, and
// money is a whole number: the order of finishing does not show.
func TestSumsDoNotDependOnTheOrder(t *testing.T) {
	for order := range 4 {
		synctest.Test(t, func(t *testing.T) {
			paced := agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
				n := int(req.Prompt[0] - '0')
				wait := time.NewTimer(time.Duration((n*7+order*3)%5) * time.Second)
				<-wait.C
				return agent.Response{Usage: providers.Usage{Calls: 1, Cost: providers.NanoUSD(100_000_001 * (n + 1))}}, nil
			})
			f := flow("sums", func(c *orchestrator.Context) (providers.NanoUSD, error) {
				orchestrator.Map(c, []string{"0", "1", "2", "3", "4"}, 0, func(c *orchestrator.Context, item string) (string, error) { return ask(c, "a", item) })
				return c.Spent().Cost, nil
			})
			got, err := f.Run(t.Context(), local(t, orchestrator.Config{Agents: agent.Roster{"a": paced}}), none{})
			require.NoError(t, err)
			assert.Equal(t, providers.NanoUSD(1_500_000_015), got, "15 times 100,000,001")
		})
	}
}
