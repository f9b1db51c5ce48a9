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

// underWay are runs with something under way, which takes a minute.
var underWay = map[string]struct {
	f     orchestrator.AnyFlow
	drain time.Duration // time that draining takes
	log   string        // log then
	rest  string        // what another engine adds to it
}{
	"a call": {pair, time.Minute, "started called used", "resumed called ended"},
	"a sleep": {
		flow("sleeps", func(c *orchestrator.Context) (none, error) { return none{}, c.Sleep(time.Minute) }),
		0, "started", "resumed slept ended",
	},
	"a question": {
		flow("asks", func(c *orchestrator.Context) (bool, error) {
			_, err := orchestrator.Await[int](c, orchestrator.Question{Key: "k", Timeout: time.Minute})
			return err == nil, nil
		}), 0, "started asked", "resumed expired ended",
	},
	"a child's call":  {over, time.Minute, "started", "resumed called ended"},
	"a child's sleep": {inside("f", flow("sleeps", func(c *orchestrator.Context) (none, error) { return none{}, c.Sleep(time.Minute) })), 0, "started", "resumed called ended"},
}

func TestClose(t *testing.T) {
	for name, tt := range underWay {
		for how, drain := range map[string]bool{"stops at once ": false, "lets calls finish ": true} {
			everywhere(t, map[string]func(*testing.T, runlog.Store){how + name: func(t *testing.T, s runlog.Store) {
				slow := &counted{Agent: after(time.Minute)}
				e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": slow}})
				wait := begin(t, e, tt.f, "x")
				synctest.Wait()
				began := time.Now()
				require.NoError(t, e.Close(t.Context(), drain))
				took, log := time.Duration(0), "started"
				if drain {
					took, log = tt.drain, tt.log
				}
				assert.Equal(t, took, time.Since(began))
				_, err := wait(t.Context())
				require.ErrorIs(t, err, engine.ErrStopped)
				assert.LessOrEqual(t, slow.n.Load(), int64(1), "no further call")
				if s == nil {
					return
				}
				if drain {
					assert.Equal(t, log, kinds(t, e, "x"))
				}
				status(t, e, "x", engine.Suspended)
				two := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": slow}})
				before := kinds(t, two, "x")
				output(t, begin(t, two, tt.f, "x"))
				if drain {
					assert.Equal(t, before+" "+tt.rest, kinds(t, two, "x"))
				}
				if drain && tt.drain > 0 {
					assert.Equal(t, int64(2), slow.n.Load(), "the first call is not made again")
				}
			}})
		}
	}
}

func TestCloseHasItsTime(t *testing.T) {
	everywhere(t, map[string]func(*testing.T, runlog.Store){
		"twice, and without anything": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s})
			shut(t, e)
			shut(t, e)
			require.NoError(t, e.Close(t.Context(), true))
		},
		"agents that ignore their context are named, each once": func(t *testing.T, s runlog.Store) {
			release := make(chan struct{})
			deaf := agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
				<-release
				return agent.Response{}, nil
			})
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": deaf}})
			begin(t, e, pair, "x")
			begin(t, e, pair, "y")
			synctest.Wait()
			began := time.Now()
			err := e.Close(t.Context(), false)
			require.ErrorContains(t, err, "agents still running: a: they ignore ctx")
			assert.LessOrEqual(t, time.Since(began), 2*engine.DefaultGrace)
			close(release)
			synctest.Wait()
		},
		"when the ctx of a draining Close is done, the calls are cut": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": after(time.Hour)}})
			wait := begin(t, e, pair, "x")
			synctest.Wait()
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			began := time.Now()
			require.ErrorIs(t, e.Close(ctx, true), context.DeadlineExceeded)
			assert.Equal(t, time.Minute, time.Since(began))
			_, err := wait(t.Context())
			require.ErrorIs(t, err, engine.ErrStopped)
		},
		"draining lets nothing begin": func(t *testing.T, s runlog.Store) {
			a := &counted{Agent: after(time.Minute)}
			f := flow("wide", func(c *orchestrator.Context) (none, error) {
				_, err := orchestrator.Values(orchestrator.Map(c, []string{"1", "2", "3"}, 0, ask))
				return none{}, err
			})
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": a}, Parallel: 1})
			begin(t, e, f, "x")
			synctest.Wait()
			closed := make(chan error)
			go func() { closed <- e.Close(t.Context(), true) }()
			synctest.Wait()
			_, err := e.Start(t.Context(), pair.Program(), input("y"))
			require.ErrorIs(t, err, engine.ErrStopped)
			require.NoError(t, <-closed)
			assert.Equal(t, int64(1), a.n.Load(), "calls that wait for a place do not begin")
		},
	})
	bubble(t, map[string]func(*testing.T){
		"a store that hangs does not hold it up": func(t *testing.T) {
			s := newTap()
			e := newEngine(t, driver.Config{Store: s})
			open := s.holdBack(runlog.Called)
			wait := begin(t, e, pair, "x")
			synctest.Wait()
			began := time.Now()
			shut(t, e)
			assert.Less(t, time.Since(began), time.Minute)
			_, err := wait(t.Context())
			require.ErrorIs(t, err, engine.ErrStopped)
			close(open)
		},
		"others take its runs over at once": func(t *testing.T) {
			s := runlog.NewMemory()
			one := newEngine(t, driver.Config{Store: s})
			begin(t, one, asker, "x")
			synctest.Wait()
			shut(t, one)
			two := newEngine(t, driver.Config{Store: s, Programs: programs(asker)})
			assert.Equal(t, []string{"x"}, resume(t, two).Runs, "the lease is not waited for")
		},
		"whoever waits, watches or asks for changes hears of it": func(t *testing.T) {
			e := newEngine(t, driver.Config{Store: runlog.NewMemory()})
			begin(t, e, asker, "x")
			synctest.Wait()
			errs := make(chan error, 3)
			go func() { _, err := e.Wait(t.Context(), "x", nil); errs <- err }()
			go func() { errs <- e.Changed(t.Context(), "x", 100) }()
			go func() {
				for _, err := range e.Watch(t.Context(), "x") {
					assert.NoError(t, err)
				}
				errs <- engine.ErrStopped
			}()
			synctest.Wait()
			shut(t, e)
			for range 3 {
				require.ErrorIs(t, <-errs, engine.ErrStopped)
			}
		},
	})
}
