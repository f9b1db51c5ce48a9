package orchestrator_test

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

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// deaf ignores its context until release is closed.
func deaf(release <-chan struct{}) agent.Func {
	return func(context.Context, agent.Request) (agent.Response, error) {
		<-release
		return agent.Response{Text: "at last", Usage: providers.Usage{Calls: 1, Cost: 5}}, nil
	}
}

// tardily ignores its context for d.
func tardily(d time.Duration) agent.Func {
	return func(context.Context, agent.Request) (agent.Response, error) {
		pause(d)
		return agent.Response{Text: "late", Usage: providers.Usage{Calls: 1, Cost: 5}}, nil
	}
}

// exits ends its goroutine.
var exits = agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
	runtime.Goexit()
	return agent.Response{}, nil
})

type deafOut struct {
	Deaf, Steady, Child, Answer, After string

	Order   []string
	Spent   providers.NanoUSD
	Elapsed time.Duration
}

// A branch whose agent ignores its cancel continues after the grace; the calls of
// others, children, questions, emissions and budgets are as if nothing had been.
func TestAgentThatIgnoresItsContext(t *testing.T) {
	everywhere(t, "its branch continues, and nothing else notices", func(t *testing.T, s runlog.Store) {
		t.Helper()
		release := make(chan struct{})
		steady := newPerCall(agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
			resp, err := after(time.Duration(5+len(req.Prompt))*time.Second)(ctx, agent.Request{Prompt: "steady"})
			resp.Usage.Cost = 3
			return resp, err
		}))
		child := flow("child", func(c *orchestrator.Context) (string, error) { return ask(c, "steady", "child") })
		f := flow("beside", func(c *orchestrator.Context) (deafOut, error) {
			var out deafOut
			state := 0
			c.Expose(func() any { return state })
			c.Emit("begin", 1)
			q := orchestrator.NewQueue[string](c)
			q.Go("deaf", func(c *orchestrator.Context) (string, error) {
				return ask(c.WithBudget(orchestrator.Budget{Wall: 2 * time.Second}), "deaf", "")
			})
			q.Go("steady", func(c *orchestrator.Context) (string, error) {
				c.Emit("branch", 1)
				return ask(c, "steady", "")
			})
			q.Go("child", func(c *orchestrator.Context) (string, error) { return child.Child(c, none{}) })
			q.Go("answer", func(c *orchestrator.Context) (string, error) {
				return orchestrator.Await[string](c, orchestrator.Question{Key: "k", Timeout: time.Hour})
			})
			q.Go("sleep", func(c *orchestrator.Context) (string, error) { return "slept", c.Sleep(4 * time.Second) })
			text := map[string]*string{"deaf": &out.Deaf, "steady": &out.Steady, "child": &out.Child, "answer": &out.Answer, "sleep": new(string)}
			for r, ok := q.Next(); ok; r, ok = q.Next() {
				out.Order = append(out.Order, r.Key)
				state++
				if *text[r.Key] = r.Value; r.Err != nil {
					*text[r.Key] = r.Err.Error()
				}
			}
			out.After, _ = ask(c, "echo", "on")
			out.Spent, out.Elapsed = c.Spent().Cost, c.Elapsed()
			c.Emit("end", 1)
			return out, nil
		})
		e := local(t, orchestrator.Config{Agents: agent.Roster{"deaf": deaf(release), "steady": steady, "echo": echo}, Store: s})
		r := begin(t, e, f, "x")
		pause(3500 * time.Millisecond)
		var state int
		require.NoError(t, r.State(t.Context(), &state))
		assert.Equal(t, 1, state, "the branch of the deaf agent was handed out")
		require.NoError(t, r.Answer(t.Context(), "k", "yes"))
		out, err := f.Result(t.Context(), r)
		require.NoError(t, err)
		assert.Contains(t, out.Deaf, "budget: the time limit of 2s is reached")
		out.Deaf = ""
		assert.Equal(t, deafOut{
			Steady: "steady", Child: "steady", Answer: "yes", After: "on",
			Order: []string{"deaf", "answer", "sleep", "steady", "child"}, Spent: 6, Elapsed: 10 * time.Second,
		}, out)
		assert.Empty(t, steady.repeated())
		i := infoOf(t, r)
		assert.Equal(t, int64(1), i.Lost.Calls, "what it uses is not known")
		before := runtime.NumGoroutine()
		close(release)
		synctest.Wait()
		assert.LessOrEqual(t, runtime.NumGoroutine(), before, "it comes back and ends")
		require.NoError(t, e.Close(t.Context()))
	})
	everywhere(t, "many of them, one after the other and side by side", func(t *testing.T, s runlog.Store) {
		t.Helper()
		release := make(chan struct{})
		f := flow("many", func(c *orchestrator.Context) ([]string, error) {
			var out []string
			for range 3 {
				for _, r := range orchestrator.Map(c, []string{"deaf", "late", "hang", "deaf", "hang", "late", "exits"}, 0, func(c *orchestrator.Context, name string) (string, error) {
					return ask(c.WithBudget(orchestrator.Budget{Wall: time.Second}), name, "")
				}) {
					out = append(out, fmt.Sprint(r.Value, r.Err != nil))
				}
			}
			return out, nil
		})
		agents := agent.Roster{"deaf": deaf(release), "late": tardily(1500 * time.Millisecond), "hang": hang, "exits": exits}
		e, err := orchestrator.NewLocal(orchestrator.Config{Agents: agents, Store: s, Parallel: 7})
		require.NoError(t, err)
		r := begin(t, e, f, "x")
		got, err := f.Result(t.Context(), r)
		require.NoError(t, err)
		want := []string{}
		for range 21 {
			want = append(want, "true")
		}
		assert.Equal(t, want, got)
		err = e.Close(t.Context())
		require.ErrorContains(t, err, "agents still running: deaf:", "Close names those that still run")
		defer synctest.Wait()
		defer close(release)
		if s == nil {
			return
		}
		log := logOf(t, s, "x")
		for n := 1; n < len(log); n++ { // the log replays, cut anywhere
			e := local(t, orchestrator.Config{Agents: agents, Store: stored(t, log[:n]...)})
			got, err := f.Result(t.Context(), begin(t, e, f, "x"))
			require.NoError(t, err, "%d records", n)
			assert.Equal(t, want, got)
		}
	})
	everywhere(t, "an agent that ignores its deadline is left behind after its grace", func(t *testing.T, s runlog.Store) {
		t.Helper()
		for _, tt := range []struct {
			limits agent.Limits
			want   time.Duration
		}{
			{agent.Limits{Timeout: time.Minute}, time.Minute + time.Second},
			{agent.Limits{Timeout: time.Minute, Grace: 30 * time.Second}, 90 * time.Second},
			{agent.Limits{Total: time.Minute}, time.Minute + time.Second},
			{agent.Limits{Timeout: time.Minute, Total: time.Hour}, time.Minute + time.Second},
			{agent.Limits{Timeout: time.Hour, Total: time.Minute}, time.Minute + time.Second},
			{agent.Limits{Timeout: time.Minute, Attempts: 1}, time.Minute + time.Second},
		} {
			release := make(chan struct{})
			f := flow("overdue", func(c *orchestrator.Context) (time.Duration, error) {
				_, err := c.Call("deaf", agent.Request{Limits: tt.limits})
				if !errors.Is(err, orchestrator.ErrTimeout) {
					return 0, fmt.Errorf("the error is %w", err)
				}
				return c.Elapsed(), nil
			})
			got, err := f.Run(t.Context(), local(t, orchestrator.Config{Agents: agent.Roster{"deaf": deaf(release)}, Store: s}), none{})
			require.NoError(t, err)
			assert.Equal(t, tt.want, got, "%+v", tt.limits)
			close(release)
			synctest.Wait()
		}
	})
	everywhere(t, "a second attempt that is deaf is left behind by its own deadline", func(t *testing.T, s runlog.Store) {
		t.Helper()
		release := make(chan struct{})
		n := 0
		a := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
			if n++; n < 3 {
				return hang(ctx, req)
			}
			return deaf(release)(ctx, req)
		})
		f := flow("overdue", func(c *orchestrator.Context) (time.Duration, error) {
			_, err := c.Call("a", agent.Request{Limits: agent.Limits{Timeout: time.Minute}})
			if !errors.Is(err, orchestrator.ErrTimeout) {
				return 0, fmt.Errorf("the error is %w", err)
			}
			return c.Elapsed().Truncate(time.Second), nil
		})
		got, err := f.Run(t.Context(), local(t, orchestrator.Config{Agents: agent.Roster{"a": a}, Store: s}), none{})
		require.NoError(t, err)
		assert.Equal(t, 3*time.Minute+time.Second, got)
		close(release)
		synctest.Wait()
	})
	everywhere(t, "a late return is recorded for its usage alone", func(t *testing.T, s runlog.Store) {
		t.Helper()
		f := flow("late", func(c *orchestrator.Context) (string, error) {
			_, err := c.Call("late", agent.Request{Limits: agent.Limits{Timeout: time.Second, Attempts: 1}})
			if err == nil {
				return "", errors.New("it was not left behind")
			}
			if err := c.Sleep(time.Minute); err != nil {
				return "", err
			}
			return fmt.Sprint(c.Spent().Calls, c.Spent().Cost), nil
		})
		r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"late": tardily(5 * time.Second)}, Store: s}), f, "x")
		got, err := f.Result(t.Context(), r)
		require.NoError(t, err)
		assert.Equal(t, "1 5", got)
		assert.Equal(t, 1, countOf(t, r, runlog.Called))
		assert.Equal(t, 1, countOf(t, r, runlog.Used))
		i := infoOf(t, r)
		assert.Equal(t, providers.NanoUSD(5), i.Spent.Cost)
		assert.Zero(t, i.Lost)
	})
	everywhere(t, "with one place of Parallel nothing hangs", func(t *testing.T, s runlog.Store) {
		t.Helper()
		release := make(chan struct{})
		f := flow("one", func(c *orchestrator.Context) (string, error) {
			for _, name := range []string{"exits", "deaf", "exits", "deaf"} {
				if _, err := c.Call(name, agent.Request{Limits: agent.Limits{Timeout: time.Second, Attempts: 1}}); err == nil {
					return "", errors.New("no error")
				}
			}
			return ask(c, "echo", "on")
		})
		e := local(t, orchestrator.Config{Agents: agent.Roster{"deaf": deaf(release), "exits": exits, "echo": echo, "slow": after(time.Minute)}, Store: s, Parallel: 1})
		for range 3 {
			got, err := f.Run(t.Context(), e, none{})
			require.NoError(t, err)
			assert.Equal(t, "on", got)
		}
		close(release)
		synctest.Wait()
		begun := time.Now()
		_, err := flow("busy", func(c *orchestrator.Context) ([]string, error) {
			return orchestrator.Values(orchestrator.Map(c, make([]int, 4), 0, func(c *orchestrator.Context, _ int) (string, error) { return ask(c, "slow", "") }))
		}).Run(t.Context(), e, none{})
		require.NoError(t, err)
		assert.Equal(t, 4*time.Minute, time.Since(begun), "late returns give no place back a second time")
	})
	everywhere(t, "calls that are given up while they wait for a place reach no agent", func(t *testing.T, s runlog.Store) {
		t.Helper()
		a := &counted{Agent: hang}
		f := flow("gives up", func(c *orchestrator.Context) (int, error) {
			q := orchestrator.NewQueue[string](c)
			for i := range 10 {
				q.Go(fmt.Sprint(i), func(c *orchestrator.Context) (string, error) { return ask(c, "a", "") })
			}
			if err := c.Sleep(time.Minute); err != nil {
				return 0, err
			}
			q.CancelAll()
			n := 0
			for _, ok := q.Next(); ok; _, ok = q.Next() {
				n++
			}
			return n, nil
		})
		got, err := f.Run(t.Context(), local(t, orchestrator.Config{Agents: agent.Roster{"a": a}, Store: s, Parallel: 2}), none{})
		require.NoError(t, err)
		assert.Equal(t, 10, got)
		assert.Equal(t, int64(2), a.calls.Load())
	})
	everywhere(t, "an agent that ends its goroutine is an error of its call", func(t *testing.T, s runlog.Store) {
		t.Helper()
		a := &counted{Agent: exits}
		cleaned := 0
		f := flow("exits", func(c *orchestrator.Context) (string, error) {
			defer func() { cleaned++ }()
			_, err := ask(c, "exits", "")
			said, _ := ask(c, "echo", "on")
			return fmt.Sprint(err, ", ", said), nil
		})
		got, err := f.Run(t.Context(), local(t, orchestrator.Config{Agents: agent.Roster{"exits": a, "echo": echo}, Store: s}), none{})
		require.NoError(t, err)
		assert.Equal(t, `agent "exits" ended its goroutine, by runtime.Goexit or FailNow of a test, on`, got)
		assert.Equal(t, int64(1), a.calls.Load())
		assert.Equal(t, 1, cleaned)
	})
	everywhere(t, "a canceled run ends although its agents are deaf", func(t *testing.T, s runlog.Store) {
		t.Helper()
		release := make(chan struct{})
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": deaf(release)}, Store: s})
		r := begin(t, e, pair, "x")
		synctest.Wait()
		begun := time.Now()
		require.NoError(t, r.Cancel(t.Context(), "enough"))
		_, err := pair.Result(t.Context(), r)
		require.ErrorIs(t, err, orchestrator.ErrCanceled)
		assert.LessOrEqual(t, time.Since(begun), time.Second)
		close(release)
		synctest.Wait()
	})
	everywhere(t, "Close waits no longer than the grace for deaf agents, and names them", func(t *testing.T, s runlog.Store) {
		t.Helper()
		release := make(chan struct{})
		e, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"a": deaf(release)}, Store: s})
		require.NoError(t, err)
		begin(t, e, pair, "x")
		begin(t, e, pair, "y")
		synctest.Wait()
		begun := time.Now()
		require.ErrorContains(t, e.Close(t.Context()), "agents still running: a: they ignore ctx")
		assert.LessOrEqual(t, time.Since(begun), 2*time.Second)
		close(release)
		synctest.Wait()
		if s != nil {
			assert.NotContains(t, kinds(logOf(t, s, "x")), runlog.Called)
		}
	})
}
