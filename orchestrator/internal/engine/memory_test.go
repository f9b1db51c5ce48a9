package engine_test

import (
	"context"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	driver "github.com/convene-go/convene/orchestrator/internal/engine"
)

// kept is how many runs an engine without a store keeps that have ended.
const kept = 256

func TestWhatAnEngineInMemoryKeeps(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"the last 256 runs that are over, and all that are not": func(t *testing.T) {
			e := newEngine(t, driver.Config{})
			open := begin(t, e, asker, "open")
			var first waiter
			for i := range kept + 10 {
				wait := begin(t, e, pair, strconv.Itoa(i))
				if i == 0 {
					first = wait
				}
				output(t, wait)
			}
			synctest.Wait()
			n := 0
			for _, err := range e.List(t.Context(), runlog.Query{}) {
				require.NoError(t, err)
				n++
			}
			assert.Equal(t, kept+1, n)
			_, err := e.Look(t.Context(), "9")
			require.ErrorIs(t, err, engine.ErrNoRun)
			_, err = e.Wait(t.Context(), "9", nil)
			require.ErrorIs(t, err, engine.ErrNoRun)
			assert.Empty(t, kinds(t, e, "9"))
			status(t, e, "10", engine.Completed)
			assert.Equal(t, `"one two"`, output(t, waitFor(e, "10")))
			assert.Equal(t, `"one two"`, output(t, first), "who started it has its end")
			output(t, begin(t, e, pair, "9")) // its ID begins anew
			require.NoError(t, answer(t, e, "open", "7"))
			assert.Equal(t, "7", output(t, open))
		},
		"nothing of runs that it has forgotten": func(t *testing.T) {
			e := newEngine(t, driver.Config{})
			heap := func() uint64 {
				var m runtime.MemStats
				runtime.GC()
				runtime.GC()
				runtime.ReadMemStats(&m)
				return m.HeapAlloc
			}
			fill := func(from int) {
				for i := range 2 * kept {
					output(t, begin(t, e, pair, strconv.Itoa(from+i)))
				}
				synctest.Wait()
			}
			fill(0)
			before := heap()
			for i := range 5 {
				fill((i + 1) * 2 * kept)
			}
			assert.Less(t, heap(), before+before/4+1<<20)
		},
		"the end of a run that stopped, with the reason": func(t *testing.T) {
			e := newEngine(t, driver.Config{})
			begin(t, e, broken, "x")
			synctest.Wait()
			for range 2 {
				_, err := e.Wait(t.Context(), "x", nil)
				require.ErrorContains(t, err, "a bug")
			}
			require.NoError(t, e.Delete(t.Context(), "x"))
			_, err := e.Wait(t.Context(), "x", nil)
			require.ErrorIs(t, err, engine.ErrNoRun)
		},
	})
}

func TestForgetting(t *testing.T) {
	everywhere(t, map[string]func(*testing.T, runlog.Store){
		"a run with its children": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s})
			wait := begin(t, e, over, "x")
			output(t, wait)
			child := childOf(t, e, "x")
			require.NoError(t, e.Delete(t.Context(), "x"))
			for _, id := range []string{"x", child} {
				_, err := e.Look(t.Context(), id)
				require.ErrorIs(t, err, engine.ErrNoRun)
			}
			assert.Equal(t, `"one two"`, output(t, wait), "who waited for it has its end")
			assert.Equal(t, `"one two"`, output(t, begin(t, e, over, "x")))
		},
		"not one that is worked on": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s})
			begin(t, e, inside("f", sleeper), "x")
			synctest.Wait()
			require.ErrorIs(t, e.Delete(t.Context(), "x"), engine.ErrRunning)
			require.ErrorIs(t, e.Delete(t.Context(), childOf(t, e, "x")), engine.ErrRunning)
			status(t, e, "x", engine.Running)
		},
		"ended runs that a query selects": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s})
			begin(t, e, sleeper, "open")
			begin(t, e, broken, "stuck")
			for i := range 5 {
				output(t, begin(t, e, pair, strconv.Itoa(i)))
				output(t, begin(t, e, over, "over"+strconv.Itoa(i)))
			}
			n, err := e.Prune(t.Context(), runlog.Query{Flow: "pair"})
			require.NoError(t, err)
			assert.GreaterOrEqual(t, n, 5)
			n, err = e.Prune(t.Context(), runlog.Query{})
			require.NoError(t, err)
			assert.GreaterOrEqual(t, n, 5)
			var left []string
			for v, err := range e.List(t.Context(), runlog.Query{}) {
				require.NoError(t, err)
				left = append(left, v.Run)
			}
			assert.ElementsMatch(t, []string{"open", "stuck"}, left)
			_, err = e.Wait(t.Context(), "0", nil)
			require.ErrorIs(t, err, engine.ErrNoRun)
		},
	})
}

func TestAgentsThatAreLeftBehind(t *testing.T) {
	late := func(d time.Duration) agent.Func {
		return func(ctx context.Context, req agent.Request) (agent.Response, error) {
			<-time.After(d)
			return echo(ctx, req)
		}
	}
	// tardy has the call given up after a second.
	tardy := func(rest time.Duration) script[bool] {
		return flow("tardy", func(c *orchestrator.Context) (bool, error) {
			_, err := c.Call("a", agent.Request{Limits: agent.Limits{Timeout: time.Second}})
			left := err != nil && agent.ErrorOf(err).Is(engine.ErrLeft)
			return left, c.Sleep(rest)
		})
	}
	everywhere(t, map[string]func(*testing.T, runlog.Store){
		"their calls are ErrLeft, and their runs go on": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": late(time.Minute)}, Retry: engine.Retry{Attempts: 1}})
			began := time.Now()
			wait := begin(t, e, tardy(time.Second), "x")
			assert.Equal(t, "true", output(t, wait))
			assert.Less(t, time.Since(began), 30*time.Second)
			assert.Equal(t, "started called slept ended", kinds(t, e, "x"))
			pause(2 * time.Minute)
			assert.Equal(t, "started called slept ended", kinds(t, e, "x"), "nothing follows an end")
		},
		"what they use is on record when they return": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": late(time.Minute)}, Retry: engine.Retry{Attempts: 1}})
			end := ended(t, begin(t, e, tardy(time.Hour), "x"), engine.Completed)
			assert.Equal(t, "started called used slept ended", kinds(t, e, "x"))
			assert.EqualValues(t, 5, end.Spent.Cost)
			assert.EqualValues(t, 1, end.Spent.Calls)
			assert.Zero(t, end.Lost)
		},
		"what they may use still is Lost": func(t *testing.T, s runlog.Store) {
			release := make(chan struct{})
			deaf := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
				<-release
				return echo(ctx, req)
			})
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": deaf}, Retry: engine.Retry{Attempts: 1}})
			end := ended(t, begin(t, e, tardy(time.Second), "x"), engine.Completed)
			assert.EqualValues(t, 1, end.Lost.Calls)
			assert.EqualValues(t, 0, end.Spent.Cost)
			close(release)
			synctest.Wait()
		},
		"a canceled run does not wait for them": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": late(time.Hour)}})
			wait := begin(t, e, pair, "x")
			synctest.Wait()
			began := time.Now()
			require.NoError(t, cancel(t, e, "x"))
			ended(t, wait, engine.Canceled)
			assert.LessOrEqual(t, time.Since(began), 2*engine.DefaultGrace)
			pause(2 * time.Hour)
		},
	})
}
