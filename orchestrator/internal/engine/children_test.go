package engine_test

import (
	"context"
	"errors"
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

// childOf is the ID of the only child of a run.
func childOf(t *testing.T, e *driver.Engine, id string) string {
	t.Helper()
	child := ""
	for v, err := range e.List(t.Context(), runlog.Query{Parent: id}) {
		require.NoError(t, err)
		require.Empty(t, child)
		child = v.Run
	}
	require.NotEmpty(t, child)
	return child
}

// inside is a flow that has f as its child.
func inside[Out any](name string, f script[Out]) script[Out] {
	return flow(name, func(c *orchestrator.Context) (Out, error) { return f.Child(c, none{}) })
}

// ended waits for the end of a run, and has that status.
func ended(t *testing.T, wait waiter, want engine.Status) engine.End {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), forever)
	defer stop()
	end, err := wait(ctx)
	require.NoError(t, err)
	require.Equal(t, want, end.Status)
	return end
}

// waitFor is Wait for a run.
func waitFor(e *driver.Engine, id string) waiter {
	return func(ctx context.Context) (engine.End, error) { return e.Wait(ctx, id, nil) }
}

func TestChildren(t *testing.T) {
	everywhere(t, map[string]func(*testing.T, runlog.Store){
		"are runs of their own": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s})
			wait := begin(t, e, over, "x")
			end := ended(t, wait, engine.Completed)
			assert.Equal(t, `"one two"`, string(end.Output))
			assert.EqualValues(t, 10, end.Spent.Cost, "its parent pays")
			child := childOf(t, e, "x")
			assert.Equal(t, "started called ended", kinds(t, e, "x"))
			assert.Equal(t, "started called called ended", kinds(t, e, child))
			assert.Equal(t, "x", look(t, e, child).Parent)
			assert.EqualValues(t, 10, ended(t, waitFor(e, child), engine.Completed).Spent.Cost)
		},
		"a failure of theirs is their parent's to judge": func(t *testing.T, s runlog.Store) {
			kid := flow("kid", func(*orchestrator.Context) (none, error) { return none{}, errors.New("no luck") })
			f := flow("f", func(c *orchestrator.Context) (string, error) {
				_, err := kid.Child(c, none{})
				return err.Error(), nil
			})
			e := newEngine(t, driver.Config{Store: s})
			assert.Contains(t, output(t, begin(t, e, f, "x")), "no luck")
		},
		"without their agents they are an error, and no run": func(t *testing.T, s runlog.Store) {
			kid := pair
			kid.Agents = []string{"nobody"}
			f := flow("f", func(c *orchestrator.Context) (bool, error) {
				_, err := kid.Child(c, none{})
				return errors.Is(err, engine.ErrNoAgent), nil
			})
			e := newEngine(t, driver.Config{Store: s})
			assert.Equal(t, "true", output(t, begin(t, e, f, "x")))
			assert.Equal(t, "started called ended", kinds(t, e, "x"))
		},
		"a stuck one has its parents stuck, up to the top": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s})
			wait := begin(t, e, inside("top", inside("middle", broken)), "x")
			_, err := wait(t.Context())
			require.ErrorIs(t, err, engine.ErrFlow)
			require.ErrorContains(t, err, "is stuck")
			require.ErrorContains(t, err, "a bug")
			synctest.Wait()
			middle := childOf(t, e, "x")
			for _, id := range []string{"x", middle, childOf(t, e, middle)} {
				status(t, e, id, engine.Stuck)
			}
			assert.Equal(t, "started stuck", kinds(t, e, "x"))
			require.NoError(t, cancel(t, e, "x"))
			for _, id := range []string{"x", middle, childOf(t, e, middle)} {
				status(t, e, id, engine.Canceled)
			}
			end := ended(t, waitFor(e, "x"), engine.Canceled)
			require.ErrorIs(t, end.Err, engine.ErrCanceled)
			require.ErrorContains(t, end.Err, "enough")
			assert.Equal(t, "started stuck canceled ended", kinds(t, e, middle))
		},
		"a cancel of the parent ends them, the deepest one too": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s})
			wait := begin(t, e, inside("top", inside("middle", sleeper)), "x")
			synctest.Wait()
			middle := childOf(t, e, "x")
			deep := childOf(t, e, middle)
			began := time.Now()
			require.NoError(t, cancel(t, e, "x"))
			ended(t, wait, engine.Canceled)
			pause(poll)
			status(t, e, middle, engine.Canceled)
			status(t, e, deep, engine.Canceled)
			assert.Less(t, time.Since(began), 3*poll)
			assert.Contains(t, kinds(t, e, deep), "canceled")
		},
		"a parent that ends before them cancels them": func(t *testing.T, s runlog.Store) {
			f := flow("f", func(c *orchestrator.Context) (none, error) {
				q := orchestrator.NewQueue[none](c)
				q.Go("kid", func(c *orchestrator.Context) (none, error) { return sleeper.Child(c, none{}) })
				if err := c.Sleep(time.Second); err != nil {
					return none{}, err
				}
				q.CancelAll()
				r, _ := q.Next()
				if !errors.Is(r.Err, engine.ErrCanceled) {
					return none{}, errors.New("the child was not canceled")
				}
				return none{}, nil
			})
			e := newEngine(t, driver.Config{Store: s})
			wait := begin(t, e, f, "x")
			synctest.Wait()
			child := childOf(t, e, "x")
			output(t, wait)
			pause(poll)
			status(t, e, child, engine.Canceled)
		},
		"a stuck parent stops them, and they are canceled with it": func(t *testing.T, s runlog.Store) {
			f := flow("f", func(c *orchestrator.Context) (none, error) {
				q := orchestrator.NewQueue[none](c)
				q.Go("kid", func(c *orchestrator.Context) (none, error) { return inside("mid", sleeper).Child(c, none{}) })
				_ = c.Sleep(time.Second)
				panic("a bug")
			})
			e := newEngine(t, driver.Config{Store: s})
			wait := begin(t, e, f, "x")
			_, err := wait(t.Context())
			require.ErrorContains(t, err, "a bug")
			pause(poll)
			child := childOf(t, e, "x")
			status(t, e, child, engine.Suspended)
			deep := childOf(t, e, child)
			status(t, e, deep, engine.Suspended)
			require.NoError(t, cancel(t, e, "x"))
			status(t, e, child, engine.Canceled)
			status(t, e, deep, engine.Canceled)
			assert.Equal(t, "started canceled ended", kinds(t, e, deep))
		},
	})
}

// What a stuck run used is in its end, calls without answer too.
func TestTheEndOfACanceledStuckRunHasWhatItUsed(t *testing.T) {
	everywhere(t, map[string]func(*testing.T, runlog.Store){
		"of all its calls": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s})
			f := flow("f", func(c *orchestrator.Context) (none, error) {
				_, _ = ask(c, "one")
				_, _ = pair.Child(c, none{})
				panic("a bug")
			})
			_, err := begin(t, e, f, "x")(t.Context())
			require.Error(t, err)
			require.NoError(t, cancel(t, e, "x"))
			end := ended(t, waitFor(e, "x"), engine.Canceled)
			assert.EqualValues(t, 15, end.Spent.Cost)
			assert.EqualValues(t, 3, end.Spent.Calls)
			require.NoError(t, cancel(t, e, "x"), "it has ended")
			assert.Equal(t, "started called called stuck canceled ended", kinds(t, e, "x"))
			require.NoError(t, e.Delete(t.Context(), "x"))
		},
	})
}

func TestChildrenAndOtherEngines(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"a child is resumed with its parent": func(t *testing.T) {
			s := left(t, driver.Config{Agents: agent.Roster{"a": hang}}, inside("top", over))
			a := &counted{Agent: echo}
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": a}, Programs: programs(inside("top", over), over, pair)})
			assert.Equal(t, []string{"top"}, resume(t, e).Runs)
			assert.Equal(t, `"one two"`, output(t, waitFor(e, "top")))
			assert.Equal(t, int64(2), a.n.Load())
			assert.Equal(t, "started resumed called ended", kinds(t, e, childOf(t, e, "top")))
		},
		"one that ended while nobody worked on its parent is not started again": func(t *testing.T) {
			s := newTap()
			open := s.holdBack(runlog.Called) // of the child's end in its parent, too
			one := newEngine(t, driver.Config{Store: s})
			kid := flow("kid", func(*orchestrator.Context) (int, error) { return 7, nil })
			begin(t, one, inside("f", kid), "x")
			synctest.Wait()
			status(t, one, childOf(t, one, "x"), engine.Completed)
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			_ = one.Close(ctx, false)
			s.on(nil)
			close(open)
			two := newEngine(t, driver.Config{Store: s, Programs: programs(inside("f", kid))})
			pause(lease)
			resume(t, two)
			assert.Equal(t, "7", output(t, waitFor(two, "x")))
			assert.Equal(t, "started ended", kinds(t, two, childOf(t, two, "x")))
		},
		"a parent that is resumed elsewhere takes its child along": func(t *testing.T) {
			s := runlog.NewMemory()
			slow := agent.Roster{"a": after(time.Hour)}
			one := newEngine(t, driver.Config{Store: s, Agents: slow})
			begin(t, one, over, "x")
			synctest.Wait()
			child := childOf(t, one, "x")
			shut(t, one)
			two := newEngine(t, driver.Config{Store: s})
			require.NoError(t, s.Beat(t.Context(), "ghost", time.Hour))
			steal(t, s, child, "ghost") // which lives, but has not the parent
			assert.Equal(t, `"one two"`, output(t, begin(t, two, over, "x")))
		},
		"a cancel that comes before the child has begun reaches it": func(t *testing.T) {
			s := newTap()
			open := make(chan struct{})
			s.on(func(ctx context.Context, recs []runlog.Record) error {
				if recs[0].Kind == runlog.Started && recs[0].Run != "x" {
					<-open
				}
				return nil
			})
			f := flow("f", func(c *orchestrator.Context) (bool, error) {
				q := orchestrator.NewQueue[none](c)
				q.Go("kid", func(c *orchestrator.Context) (none, error) { return sleeper.Child(c, none{}) })
				if err := c.Sleep(time.Second); err != nil {
					return false, err
				}
				q.CancelAll()
				r, _ := q.Next()
				return errors.Is(r.Err, engine.ErrCanceled), nil
			})
			e := newEngine(t, driver.Config{Store: s})
			wait := begin(t, e, f, "x")
			began := time.Now()
			time.AfterFunc(5*time.Second, func() { close(open) })
			assert.Equal(t, "true", output(t, wait))
			assert.Less(t, time.Since(began), time.Minute, "it does not sleep for an hour")
			pause(poll)
			status(t, e, childOf(t, e, "x"), engine.Canceled)
		},
		"a child that cannot be read suspends its parent, and both go on later": func(t *testing.T) {
			s := newTap()
			s.on(func(_ context.Context, recs []runlog.Record) error {
				if recs[0].Run != "x" {
					return errors.New("disk full")
				}
				return nil
			})
			e := newEngine(t, driver.Config{Store: s, Programs: programs(over)})
			_, err := begin(t, e, over, "x")(t.Context())
			require.ErrorIs(t, err, engine.ErrStopped)
			require.ErrorContains(t, err, "disk full")
			status(t, e, "x", engine.Suspended)
			s.on(nil)
			resume(t, e)
			assert.Equal(t, `"one two"`, output(t, waitFor(e, "x")))
		},
	})
}
