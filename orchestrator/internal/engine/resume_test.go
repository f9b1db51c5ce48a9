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

// programs are those of flows.
func programs(flows ...orchestrator.AnyFlow) (ps []*engine.Program) {
	for _, f := range flows {
		ps = append(ps, f.Program())
	}
	return ps
}

// left is a store with runs of flows, by their names, that an engine left when it closed
// a second later.
func left(t *testing.T, c driver.Config, flows ...orchestrator.AnyFlow) *runlog.Memory {
	t.Helper()
	s := runlog.NewMemory()
	c.Store = s
	e := newEngine(t, c)
	for _, f := range flows {
		begin(t, e, f, f.Program().Name)
	}
	pause(time.Second)
	shut(t, e)
	return s
}

func resume(t *testing.T, e *driver.Engine) engine.Resumed {
	t.Helper()
	res, err := e.Resume(t.Context())
	require.NoError(t, err)
	return res
}

func TestResume(t *testing.T) {
	hangs := driver.Config{Agents: agent.Roster{"a": hang}}
	bubble(t, map[string]func(*testing.T){
		"takes free runs, not ended ones and not children": func(t *testing.T) {
			s := left(t, hangs, over, pair, sleeper, asker, flow("nothing", func(*orchestrator.Context) (none, error) { return none{}, nil }))
			a := &counted{Agent: echo}
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": a}, Programs: programs(over, pair, sleeper, asker)})
			status(t, e, "over", engine.Suspended)
			res := resume(t, e)
			assert.ElementsMatch(t, []string{"over", "pair", "sleeper", "asker"}, res.Runs)
			assert.Empty(t, res.Held)
			end, err := e.Wait(t.Context(), "over", nil)
			require.NoError(t, err)
			assert.Equal(t, `"one two"`, string(end.Output))
			output(t, func(ctx context.Context) (engine.End, error) { return e.Wait(ctx, "pair", nil) })
			assert.Equal(t, int64(4), a.n.Load())
			status(t, e, "sleeper", engine.Running)
			status(t, e, "asker", engine.Waiting)
			assert.ElementsMatch(t, []string{"sleeper", "asker"}, resume(t, e).Runs, "it works on them")
			assert.Equal(t, "started resumed", kinds(t, e, "sleeper"))
		},
		"tells which runs other engines hold": func(t *testing.T) {
			s := runlog.NewMemory()
			one := newEngine(t, driver.Config{Store: s})
			began := time.Now()
			begin(t, one, asker, "x")
			synctest.Wait()
			two := newEngine(t, driver.Config{Store: s, Programs: programs(asker)})
			res := resume(t, two)
			assert.Empty(t, res.Runs)
			assert.Equal(t, []engine.Held{{ID: "x", Owner: look(t, one, "x").Owner, Since: began.UTC()}}, res.Held)
			shut(t, one)
			pause(2 * poll)
			status(t, two, "x", engine.Waiting)
			assert.NotEqual(t, res.Held[0].Owner, look(t, two, "x").Owner, "it keeps resuming")
		},
		"a sleep goes on from when it began": func(t *testing.T) {
			began := time.Now()
			s := left(t, hangs, sleeper)
			pause(30 * time.Minute)
			e := newEngine(t, driver.Config{Store: s, Programs: programs(sleeper)})
			resume(t, e)
			output(t, func(ctx context.Context) (engine.End, error) { return e.Wait(ctx, "sleeper", nil) })
			assert.Equal(t, time.Hour, time.Since(began))
		},
		"one that is over meanwhile is over at once": func(t *testing.T) {
			s := left(t, hangs, sleeper)
			pause(3 * time.Hour)
			e := newEngine(t, driver.Config{Store: s, Programs: programs(sleeper)})
			began := time.Now()
			resume(t, e)
			output(t, func(ctx context.Context) (engine.End, error) { return e.Wait(ctx, "sleeper", nil) })
			assert.LessOrEqual(t, time.Since(began), time.Millisecond)
		},
		"names the runs that it cannot take up, and takes the others": func(t *testing.T) {
			s := left(t, hangs, sleeper, asker)
			p := asker.Program()
			p.Agents = []string{"nobody"}
			e := newEngine(t, driver.Config{Store: s, Programs: []*engine.Program{p, sleeper.Program()}})
			res, err := e.Resume(t.Context())
			require.ErrorIs(t, err, engine.ErrNoAgent)
			require.ErrorContains(t, err, `run "asker"`)
			assert.Equal(t, []string{"sleeper"}, res.Runs)
			status(t, e, "asker", engine.Suspended)
		},
		"leaves runs of flows and versions that it does not have": func(t *testing.T) {
			s := left(t, hangs, sleeper, asker)
			other := asker
			other.Version = 2
			e := newEngine(t, driver.Config{Store: s, Programs: programs(other)})
			res, err := e.Resume(t.Context())
			if err != nil {
				require.ErrorIs(t, err, engine.ErrNoFlow)
			}
			assert.Empty(t, res.Runs)
			for _, id := range []string{"sleeper", "asker"} {
				status(t, e, id, engine.Suspended)
				assert.NotEmpty(t, look(t, e, id).Err)
				assert.NotContains(t, kinds(t, e, id), "resumed")
			}
		},
		"leaves runs whose labels say that others serve them": func(t *testing.T) {
			s := runlog.NewMemory()
			one := newEngine(t, driver.Config{Store: s})
			in := input("x")
			in.Labels = map[string]string{"region": "us"}
			_, err := one.Start(t.Context(), asker.Program(), in)
			require.NoError(t, err)
			begin(t, one, asker, "y")
			synctest.Wait()
			shut(t, one)
			eu := newEngine(t, driver.Config{Store: s, Programs: programs(asker), Fleet: driver.Fleet{Serves: map[string]string{"region": "eu"}}})
			assert.Equal(t, []string{"y"}, resume(t, eu).Runs)
			us := newEngine(t, driver.Config{Store: s, Programs: programs(asker), Fleet: driver.Fleet{Serves: map[string]string{"region": "us"}}})
			assert.Equal(t, []string{"x"}, resume(t, us).Runs)
			_, err = eu.Start(t.Context(), asker.Program(), in)
			require.ErrorIs(t, err, engine.ErrNotServed)
		},
		"says what its ctx says": func(t *testing.T) {
			s := left(t, hangs, sleeper)
			e := newEngine(t, driver.Config{Store: s, Programs: programs(sleeper)})
			ctx, stop := context.WithCancelCause(t.Context())
			stop(errors.New("no time"))
			_, err := e.Resume(ctx)
			require.ErrorIs(t, err, context.Canceled)
			assert.Equal(t, []string{"sleeper"}, resume(t, e).Runs)
		},
	})
}

func TestStuckRunsAreTriedOnce(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"by each engine, and the same failure is not recorded again": func(t *testing.T) {
			tries := 0
			f := flow("broken", func(c *orchestrator.Context) (none, error) {
				tries++
				_, _ = ask(c, "one")
				panic("a bug")
			})
			s := left(t, driver.Config{}, f)
			for i := range 3 {
				e := newEngine(t, driver.Config{Store: s, Programs: programs(f)})
				for range 5 {
					resume(t, e)
					pause(3 * poll)
				}
				assert.Equal(t, i+2, tries)
				status(t, e, "broken", engine.Stuck)
				_, err := e.Wait(t.Context(), "broken", nil)
				require.ErrorIs(t, err, engine.ErrFlow)
				require.ErrorContains(t, err, "a bug")
				assert.Equal(t, "started called stuck", kinds(t, e, "broken"))
				shut(t, e)
			}
		},
		"another failure is recorded": func(t *testing.T) {
			s := left(t, driver.Config{}, broken)
			f := flow("broken", func(c *orchestrator.Context) (none, error) {
				_, _ = ask(c, "one")
				panic("another bug")
			})
			e := newEngine(t, driver.Config{Store: s, Programs: programs(f)})
			resume(t, e)
			synctest.Wait()
			_, err := e.Wait(t.Context(), "broken", nil)
			require.ErrorContains(t, err, "another bug")
			assert.Equal(t, "started called stuck stuck", kinds(t, e, "broken"))
		},
		"a failure behind the log is recorded, although it is the same": func(t *testing.T) {
			s := left(t, driver.Config{}, broken)
			f := flow("broken", func(c *orchestrator.Context) (none, error) {
				_, _ = ask(c, "one")
				_, _ = ask(c, "two")
				panic("a bug")
			})
			e := newEngine(t, driver.Config{Store: s, Programs: programs(f)})
			resume(t, e)
			synctest.Wait()
			assert.Equal(t, "started called stuck resumed lost called stuck", kinds(t, e, "broken"))
		},
		"a flow that was repaired goes on": func(t *testing.T) {
			s := left(t, driver.Config{}, broken)
			a := &counted{Agent: echo}
			f := flow("broken", func(c *orchestrator.Context) (string, error) {
				_, _ = ask(c, "one")
				return ask(c, "two")
			})
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": a}, Programs: programs(f)})
			assert.Equal(t, []string{"broken"}, resume(t, e).Runs)
			assert.Equal(t, `"two"`, output(t, func(ctx context.Context) (engine.End, error) { return e.Wait(ctx, "broken", nil) }))
			assert.Equal(t, int64(1), a.n.Load())
		},
	})
}

func TestRetry(t *testing.T) {
	everywhere(t, map[string]func(*testing.T, runlog.Store){
		"executes the flow of a stuck run again": func(t *testing.T, s runlog.Store) {
			fixed := false
			a := &counted{Agent: echo}
			f := flow("f", func(c *orchestrator.Context) (string, error) {
				got, err := ask(c, "one")
				if !fixed {
					panic("a bug")
				}
				return got, err
			})
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": a}})
			wait := begin(t, e, f, "x")
			_, err := wait(t.Context())
			require.ErrorIs(t, err, engine.ErrFlow)
			require.NoError(t, retry(t, e, "x"), "it is tried, and fails again")
			synctest.Wait()
			status(t, e, "x", engine.Stuck)
			_, err = e.Wait(t.Context(), "x", nil)
			require.ErrorContains(t, err, "a bug")
			fixed = true
			require.NoError(t, retry(t, e, "x"))
			output(t, func(ctx context.Context) (engine.End, error) { return e.Wait(ctx, "x", nil) })
			assert.Equal(t, int64(1), a.n.Load())
			require.ErrorIs(t, retry(t, e, "x"), engine.ErrMalformed)
			require.ErrorContains(t, retry(t, e, "x"), "not stuck")
		},
		"of a run that works, or is not there": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s})
			begin(t, e, sleeper, "x")
			require.ErrorIs(t, retry(t, e, "x"), engine.ErrMalformed)
			require.ErrorIs(t, retry(t, e, "y"), engine.ErrNoRun)
		},
		"is retried with its stuck child": func(t *testing.T, s runlog.Store) {
			fixed := false
			kid := flow("kid", func(*orchestrator.Context) (string, error) {
				if !fixed {
					panic("a bug")
				}
				return "well", nil
			})
			f := flow("f", func(c *orchestrator.Context) (string, error) { return kid.Child(c, none{}) })
			e := newEngine(t, driver.Config{Store: s})
			_, err := begin(t, e, f, "x")(t.Context())
			require.ErrorContains(t, err, "is stuck")
			before := kinds(t, e, "x")
			require.NoError(t, retry(t, e, "x"))
			synctest.Wait()
			assert.Equal(t, before, kinds(t, e, "x"), "the child failed again")
			status(t, e, "x", engine.Stuck)
			fixed = true
			require.NoError(t, retry(t, e, "x"))
			assert.Equal(t, `"well"`, output(t, func(ctx context.Context) (engine.End, error) { return e.Wait(ctx, "x", nil) }))
		},
	})
}
