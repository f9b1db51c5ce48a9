package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	driver "github.com/convene-go/convene/orchestrator/internal/engine"
)

// lingers sleeps for an hour, and does not return before open is closed.
func lingers(open <-chan none) script[none] {
	return flow("lingers", func(c *orchestrator.Context) (none, error) {
		defer func() { <-open }()
		return none{}, c.Sleep(time.Hour)
	})
}

// panics fails after a second, beside what do does.
func panics(do func(c *orchestrator.Context) (none, error)) script[none] {
	return flow("panics", func(c *orchestrator.Context) (none, error) {
		q := orchestrator.NewQueue[none](c)
		q.Go("beside", do)
		_ = c.Sleep(time.Second)
		panic("a bug")
	})
}

// A flow's code may take long to return when its run stops.
func TestRunsWhoseFlowIsSlowToReturn(t *testing.T) {
	everywhere(t, map[string]func(*testing.T, runlog.Store){
		"a cancel of a stuck one waits for it": func(t *testing.T, s runlog.Store) {
			open := make(chan none)
			e := newEngine(t, driver.Config{Store: s})
			begin(t, e, panics(func(c *orchestrator.Context) (none, error) { return lingers(open).Do(c, none{}) }), "x")
			canceled(t, e, "x", open)
			assert.Equal(t, "started slept stuck canceled ended", kinds(t, e, "x"))
		},
		"a cancel of a stuck one waits for its child": func(t *testing.T, s runlog.Store) {
			open := make(chan none)
			e := newEngine(t, driver.Config{Store: s})
			begin(t, e, panics(func(c *orchestrator.Context) (none, error) { return lingers(open).Child(c, none{}) }), "x")
			canceled(t, e, "x", open)
			status(t, e, childOf(t, e, "x"), engine.Canceled)
			assert.Equal(t, "started canceled ended", kinds(t, e, childOf(t, e, "x")))
		},
	})
	bubble(t, map[string]func(*testing.T){
		"who waits for a record hears of the next engine's": func(t *testing.T) {
			s := runlog.NewMemory()
			open := make(chan none)
			f := flow("pair", func(c *orchestrator.Context) (none, error) {
				defer func() { <-open }()
				return none{}, call(c)
			})
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": after(time.Minute)}})
			begin(t, e, f, "x")
			changed := make(chan error, 1)
			ctx, stop := context.WithTimeout(t.Context(), time.Hour)
			defer stop()
			go func() { changed <- e.Changed(ctx, "x", 2) }()
			require.NoError(t, s.Beat(t.Context(), "ghost", time.Hour))
			steal(t, s, "x", "ghost")
			pause(2 * time.Minute) // its answer has come, and is no record
			assert.Empty(t, changed)
			close(open)
			pause(time.Minute)
			steal(t, s, "x", "ghost")
			pause(2 * poll)
			require.Len(t, changed, 1)
			require.NoError(t, <-changed)
		},
	})
}

// canceled has a run canceled that got stuck and whose flow returns when open is closed.
func canceled(t *testing.T, e *driver.Engine, id string, open chan none) {
	t.Helper()
	pause(2 * time.Second)
	done := make(chan error, 1)
	go func() { done <- cancel(t, e, id) }()
	pause(poll)
	assert.Empty(t, done, "the flow has not returned")
	close(open)
	require.NoError(t, <-done)
	ended(t, waitFor(e, id), engine.Canceled)
	status(t, e, id, engine.Canceled)
}

func TestWhatComesTooLate(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"the end of a question's time, when the flow has given it up": func(t *testing.T) {
			s := newTap()
			open := s.holdBack(runlog.Slept)
			e := newEngine(t, driver.Config{Store: s})
			wait := begin(t, e, flow("f", func(c *orchestrator.Context) (bool, error) {
				err := within(c, time.Minute, func(c *orchestrator.Context) error {
					_, err := orchestrator.Await[int](c, orchestrator.Question{Key: "k", Timeout: time.Minute + time.Second})
					return err
				})
				return errors.Is(err, orchestrator.ErrTimeout), c.Sleep(time.Hour)
			}), "x")
			pause(time.Minute + 5*time.Second)
			close(open)
			assert.Equal(t, "false", output(t, wait))
			assert.Equal(t, "started asked slept expired withdrawn slept ended", kinds(t, e, "x"))
			pause(10 * poll)
			taken(t, s)
		},
		"a failure between the record of a resume and what is new is on record, although its text is": func(t *testing.T) {
			deaf := agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
				<-time.After(time.Hour)
				return agent.Response{}, nil
			})
			f := func(waits bool) script[none] {
				return flow("f", func(c *orchestrator.Context) (none, error) {
					q := orchestrator.NewQueue[none](c)
					q.Go("call", func(c *orchestrator.Context) (none, error) {
						return none{}, call(c.WithBudget(orchestrator.Budget{Calls: 1}))
					})
					_ = c.Sleep(time.Second)
					if waits {
						q.Next() // the call is lost, and there is nothing left for another one
					}
					panic("a bug")
				})
			}
			s := runlog.NewMemory()
			one := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": deaf}})
			_, err := begin(t, one, f(false), "x")(t.Context())
			require.ErrorIs(t, err, engine.ErrFlow)
			_ = one.Close(t.Context(), false)
			assert.Equal(t, "started slept stuck", kinds(t, one, "x"))
			e := newEngine(t, driver.Config{Store: s, Programs: programs(f(true))})
			resume(t, e)
			pause(poll)
			assert.Equal(t, "started slept stuck resumed stuck", kinds(t, e, "x"))
			status(t, e, "x", engine.Stuck)
			pause(time.Hour) // the agent returns
		},
		"a flow that does not write what it wrote is stuck before it is resumed": func(t *testing.T) {
			writes := func(does bool) script[int] {
				return flow("writes", func(c *orchestrator.Context) (int, error) {
					if does {
						c.Emit("note", 1)
					}
					return orchestrator.Await[int](c, orchestrator.Question{Key: "k"})
				})
			}
			s := left(t, driver.Config{}, writes(true))
			e := newEngine(t, driver.Config{Store: s, Programs: programs(writes(false))})
			resume(t, e)
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			_, err := e.Wait(ctx, "writes", nil)
			require.ErrorIs(t, err, engine.ErrDiverged)
			require.ErrorContains(t, err, `recorded was "note"`)
			assert.Equal(t, "started note asked stuck", kinds(t, e, "writes"))
		},
		"a call that was left behind, while its record takes long": func(t *testing.T) {
			s := newTap()
			release := make(chan none)
			deaf := agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
				<-release
				return agent.Response{}, nil
			})
			open := s.holdBack(runlog.Called)
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": deaf}})
			wait := begin(t, e, flow("f", func(c *orchestrator.Context) (int, error) {
				_ = within(c, time.Second, call)
				return orchestrator.Await[int](c, orchestrator.Question{Key: "k"})
			}), "x")
			pause(time.Second + 2*engine.DefaultGrace)
			status(t, e, "x", engine.Waiting)
			close(open)
			close(release)
			require.NoError(t, answer(t, e, "x", "7"))
			assert.Equal(t, "7", soon(t, wait))
		},
	})
}
