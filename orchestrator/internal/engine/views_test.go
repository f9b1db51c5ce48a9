package engine_test

import (
	"context"
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

// shows is a flow that shows how far it is.
func shows(rest func(c *orchestrator.Context) error) script[none] {
	return flow("shows", func(c *orchestrator.Context) (none, error) {
		at := 0
		c.Expose(func() any { return at })
		if _, err := ask(c, "one"); err != nil {
			return none{}, err
		}
		at = 1
		err := rest(c)
		at = 2
		return none{}, err
	})
}

func state(t *testing.T, e *driver.Engine, id string) string {
	t.Helper()
	data, err := e.State(t.Context(), id)
	require.NoError(t, err)
	return string(data)
}

func TestStateOfARun(t *testing.T) {
	everywhere(t, map[string]func(*testing.T, runlog.Store){
		"in a call, in a sleep, and at its end": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": after(time.Minute)}})
			wait := begin(t, e, shows(func(c *orchestrator.Context) error { return c.Sleep(time.Minute) }), "x")
			synctest.Wait()
			assert.Equal(t, "0", state(t, e, "x"))
			pause(time.Minute)
			assert.Equal(t, "1", state(t, e, "x"))
			output(t, wait)
			assert.Equal(t, "2", state(t, e, "x"))
		},
		"of a flow that shows nothing, and of no run": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s})
			begin(t, e, sleeper, "x")
			_, err := e.State(t.Context(), "x")
			require.ErrorIs(t, err, engine.ErrNoState)
			wait := begin(t, e, pair, "y")
			output(t, wait)
			_, err = e.State(t.Context(), "y")
			require.ErrorIs(t, err, engine.ErrNoState)
			_, err = e.State(t.Context(), "z")
			require.ErrorIs(t, err, engine.ErrNoRun)
		},
		"of a stuck run there is none": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s})
			_, err := begin(t, e, shows(func(*orchestrator.Context) error { panic("a bug") }), "x")(t.Context())
			require.Error(t, err)
			_, err = e.State(t.Context(), "x")
			require.Error(t, err)
		},
	})
	bubble(t, map[string]func(*testing.T){
		"of a run of another engine": func(t *testing.T) {
			s := runlog.NewMemory()
			e, o := newEngine(t, driver.Config{Store: s}), newEngine(t, driver.Config{Store: s, Fleet: driver.Fleet{Observe: true}})
			begin(t, e, shows(func(c *orchestrator.Context) error { return c.Sleep(time.Minute) }), "x")
			pause(poll)
			assert.Equal(t, "1", state(t, o, "x"))
			shut(t, e)
			_, err := o.State(t.Context(), "x")
			require.ErrorIs(t, err, engine.ErrNoState)
			require.ErrorContains(t, err, "no engine works on it")
		},
		"of a run that is being resumed is that behind its log": func(t *testing.T) {
			f := shows(func(c *orchestrator.Context) error { return c.Sleep(time.Hour) })
			s := left(t, driver.Config{}, f)
			tap := newTap()
			tap.Memory = s
			open := tap.holdBack(runlog.Resumed)
			e := newEngine(t, driver.Config{Store: tap, Programs: programs(f)})
			go func() { _, _ = e.Resume(t.Context()) }()
			synctest.Wait()
			got := make(chan string)
			go func() { got <- state(t, e, "shows") }()
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			_, err := e.State(ctx, "shows")
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Empty(t, got)
			close(open)
			assert.Equal(t, "1", <-got)
		},
	})
}

// stages are flows, by the status that runs of them come to.
var stages = map[engine.Status]orchestrator.AnyFlow{
	engine.Waiting: asker, engine.Stuck: broken, engine.Completed: pair, engine.Running: sleeper,
	engine.Failed: flow("failed", func(*orchestrator.Context) (none, error) { return none{}, context.Canceled }),
}

func TestViews(t *testing.T) {
	everywhere(t, map[string]func(*testing.T, runlog.Store){
		"each status, in Look and in List, newest first": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s})
			for want, f := range stages {
				begin(t, e, f, string(want))
				pause(time.Millisecond)
			}
			for want, f := range stages {
				status(t, e, string(want), want)
				v := look(t, e, string(want))
				assert.Equal(t, f.Program().Name, v.Flow)
				assert.Equal(t, want == engine.Completed || want == engine.Failed, v.Ended)
				if want == engine.Waiting {
					require.Len(t, v.Questions, 1)
					assert.Equal(t, "k", v.Questions[0].Key)
				} else {
					assert.Empty(t, v.Questions)
				}
			}
			last := time.Now()
			n := 0
			for v, err := range e.List(t.Context(), runlog.Query{}) {
				require.NoError(t, err)
				assert.False(t, v.Started.After(last))
				last = v.Started
				n++
			}
			assert.Equal(t, len(stages), n)
			for v, err := range e.List(t.Context(), runlog.Query{Open: true}) {
				require.NoError(t, err)
				assert.False(t, v.Ended)
			}
			for _, err := range e.List(t.Context(), runlog.Query{}) {
				require.NoError(t, err)
				break
			}
		},
		"a run that asks and works is Running": func(t *testing.T, s runlog.Store) {
			f := flow("f", func(c *orchestrator.Context) (none, error) {
				q := orchestrator.NewQueue[int](c)
				q.Go("ask", func(c *orchestrator.Context) (int, error) {
					return orchestrator.Await[int](c, orchestrator.Question{Key: "k"})
				})
				q.Go("sleep", func(c *orchestrator.Context) (int, error) { return 0, c.Sleep(time.Minute) })
				for _, ok := q.Next(); ok; _, ok = q.Next() {
				}
				return none{}, nil
			})
			e := newEngine(t, driver.Config{Store: s})
			begin(t, e, f, "x")
			synctest.Wait()
			status(t, e, "x", engine.Running)
			assert.Len(t, look(t, e, "x").Questions, 1)
			pause(time.Minute)
			status(t, e, "x", engine.Waiting)
		},
		"of a run that is not there": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s})
			_, err := e.Look(t.Context(), "x")
			require.ErrorIs(t, err, engine.ErrNoRun)
			_, err = e.Wait(t.Context(), "x", nil)
			require.ErrorIs(t, err, engine.ErrNoRun)
			require.ErrorIs(t, e.Changed(t.Context(), "x", 0), engine.ErrNoRun)
			require.NoError(t, e.Delete(t.Context(), "x"))
			assert.Empty(t, kinds(t, e, "x"))
			for _, err := range e.List(t.Context(), runlog.Query{}) {
				require.NoError(t, err)
				require.Fail(t, "there is none")
			}
			n := 0
			for _, err := range e.Watch(t.Context(), "x") {
				require.ErrorIs(t, err, engine.ErrNoRun)
				n++
			}
			assert.Equal(t, 1, n)
		},
	})
	bubble(t, map[string]func(*testing.T){
		"a run without an engine is Suspended, and says why one cannot resume it": func(t *testing.T) {
			s := left(t, driver.Config{}, sleeper)
			e := newEngine(t, driver.Config{Store: s, Programs: programs(asker)})
			status(t, e, "sleeper", engine.Suspended)
			assert.Contains(t, look(t, e, "sleeper").Err, "sleeper")
			o := newEngine(t, driver.Config{Store: s, Fleet: driver.Fleet{Observe: true}})
			assert.Empty(t, look(t, o, "sleeper").Err, "an observer resumes none")
			has := newEngine(t, driver.Config{Store: s, Programs: programs(sleeper)})
			assert.Empty(t, look(t, has, "sleeper").Err)
		},
		"an observer tells why a run is stuck, and does not try it": func(t *testing.T) {
			s := left(t, driver.Config{}, broken)
			o := newEngine(t, driver.Config{Store: s, Fleet: driver.Fleet{Observe: true}, Programs: programs(pair)})
			status(t, o, "broken", engine.Stuck)
			_, err := o.Wait(t.Context(), "broken", nil)
			require.ErrorIs(t, err, engine.ErrFlow)
			require.ErrorContains(t, err, "a bug")
			assert.Equal(t, "started called stuck", kinds(t, o, "broken"))
		},
		"who waits for a run that nobody can resume hears of it after a lease": func(t *testing.T) {
			s := left(t, driver.Config{}, sleeper)
			e := newEngine(t, driver.Config{Store: s})
			began := time.Now()
			_, err := e.Wait(t.Context(), "sleeper", nil)
			require.ErrorIs(t, err, engine.ErrNoFlow)
			assert.InDelta(t, lease, time.Since(began), float64(2*poll))
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			_, err = e.Wait(ctx, "sleeper", nil)
			require.ErrorIs(t, err, context.DeadlineExceeded)
		},
		"a damaged log is an error at once": func(t *testing.T) {
			s := runlog.NewMemory()
			require.NoError(t, s.Append(t.Context(), []runlog.Record{{Run: "x", Kind: runlog.Started, Name: "pair", Data: []byte(`{"input":7}`)}}))
			e := newEngine(t, driver.Config{Store: s, Programs: programs(pair)})
			began := time.Now()
			_, err := e.Wait(t.Context(), "x", nil)
			require.Error(t, err)
			assert.Less(t, time.Since(began), lease)
		},
	})
}
