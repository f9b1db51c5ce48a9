package engine_test

import (
	"context"
	"math"
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

// many starts 100 runs of f.
func many(t *testing.T, e *driver.Engine, f orchestrator.AnyFlow) {
	t.Helper()
	for i := range 100 {
		begin(t, e, f, strconv.Itoa(i))
	}
	pause(time.Second)
}

// settled is how many goroutines there are when those that wait for work have left: the
// least of some moments, as one may be at work that comes at regular times.
func settled() int {
	least := math.MaxInt
	for range 5 {
		pause(time.Minute)
		synctest.Wait()
		least = min(least, runtime.NumGoroutine())
	}
	return least
}

func TestARunThatWaitsHasNoDriver(t *testing.T) {
	for name, f := range map[string]orchestrator.AnyFlow{
		"for a time": sleeper,
		"for an answer": flow("asker", func(c *orchestrator.Context) (int, error) {
			return orchestrator.Await[int](c, orchestrator.Question{Key: "k", Timeout: time.Hour})
		}),
		"for a time that a budget limits": flow("f", func(c *orchestrator.Context) (none, error) {
			return none{}, c.WithBudget(orchestrator.Budget{Wall: time.Hour}).Sleep(time.Hour)
		}),
	} {
		everywhere(t, map[string]func(*testing.T, runlog.Store){name: func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s})
			begin(t, e, f, "first")
			before := settled()
			many(t, e, f)
			// The code of a flow keeps its own goroutine, which is its stack.
			assert.LessOrEqual(t, settled()-before, 100+8, "one for the flow's code, none for its driver")
			for v, err := range e.List(t.Context(), runlog.Query{}) {
				require.NoError(t, err)
				require.False(t, v.Ended)
			}
		}})
	}
}

func TestNoGoroutineIsLeftOfARun(t *testing.T) {
	hangs := driver.Config{Agents: agent.Roster{"a": hang}}
	for name, tt := range map[string]struct {
		c   driver.Config
		f   orchestrator.AnyFlow
		end func(t *testing.T, e *driver.Engine, id string)
	}{
		"that ended":    {f: pair, end: func(*testing.T, *driver.Engine, string) {}},
		"that panicked": {f: broken, end: func(*testing.T, *driver.Engine, string) {}},
		"that was canceled while it slept": {f: sleeper, end: func(t *testing.T, e *driver.Engine, id string) {
			t.Helper()
			require.NoError(t, cancel(t, e, id))
		}},
		"that was canceled in a call": {c: hangs, f: pair, end: func(t *testing.T, e *driver.Engine, id string) {
			t.Helper()
			require.NoError(t, cancel(t, e, id))
		}},
		"that was canceled in a call of a child": {c: hangs, f: over, end: func(t *testing.T, e *driver.Engine, id string) {
			t.Helper()
			require.NoError(t, cancel(t, e, id))
		}},
		"that was answered": {f: asker, end: func(t *testing.T, e *driver.Engine, id string) {
			t.Helper()
			require.NoError(t, answer(t, e, id, "1"))
		}},
	} {
		everywhere(t, map[string]func(*testing.T, runlog.Store){name: func(t *testing.T, s runlog.Store) {
			tt.c.Store = s
			e := newEngine(t, tt.c)
			begin(t, e, sleeper, "first")
			before := settled()
			many(t, e, tt.f)
			for i := range 100 {
				tt.end(t, e, strconv.Itoa(i))
			}
			assert.LessOrEqual(t, settled()-before, 5, "100 runs left none; one of the test's own may come or go")
		}})
	}
	everywhere(t, map[string]func(*testing.T, runlog.Store){
		"of an engine that is closed": func(t *testing.T, s runlog.Store) {
			before := runtime.NumGoroutine()
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": after(time.Hour)}})
			for _, f := range []orchestrator.AnyFlow{pair, sleeper, asker, over, broken} {
				begin(t, e, f, f.Program().Name)
			}
			synctest.Wait()
			shut(t, e)
			synctest.Wait()
			assert.LessOrEqual(t, runtime.NumGoroutine()-before, 1, "five runs left none; one of the test's own may come or go")
		},
	})
}

// One goroutine drives a run at a time, whatever comes at once.
func TestOneGoroutineDrivesARunAtATime(t *testing.T) {
	everywhere(t, map[string]func(*testing.T, runlog.Store){
		"although 200 records come at once": func(t *testing.T, s runlog.Store) {
			at, inside := 0, 0 // without a lock: the race detector looks on
			f := flow("wide", func(c *orchestrator.Context) (int, error) {
				c.Expose(func() any { return at })
				q := orchestrator.NewQueue[none](c)
				for i := range 200 {
					q.Go(strconv.Itoa(i), func(c *orchestrator.Context) (none, error) {
						if inside++; inside != 1 {
							return none{}, context.Canceled
						}
						inside--
						if i%2 == 0 {
							return none{}, c.Sleep(time.Second)
						}
						_, err := ask(c, "one")
						at++
						return none{}, err
					})
				}
				for r, ok := q.Next(); ok; r, ok = q.Next() {
					if r.Err != nil {
						return 0, r.Err
					}
				}
				return at, nil
			})
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": after(time.Second)}})
			wait := begin(t, e, f, "x")
			for range 10 {
				go func() { _, _ = e.State(t.Context(), "x") }()
				go func() { _, _ = e.Look(t.Context(), "x") }()
			}
			assert.Equal(t, "100", output(t, wait))
			status(t, e, "x", engine.Completed)
		},
	})
}
