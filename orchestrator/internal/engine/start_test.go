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
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	driver "github.com/convene-go/convene/orchestrator/internal/engine"
)

// full is an input with all fields of a run that is no child.
func full() engine.Input {
	return engine.Input{Run: "x", Data: []byte(`{}`), Budget: engine.Budget{Calls: 5}, Labels: map[string]string{"k": "v"}, ContinuedFrom: "before"}
}

// others are inputs that differ from full, by what the error says of the first difference.
var others = map[string]func(in *engine.Input){
	"another input":                      func(in *engine.Input) { in.Data, in.Parent = []byte(`{"a":1}`), "other" },
	"another parent":                     func(in *engine.Input) { in.Parent, in.Labels = "other", nil },
	"another StartOptions.Budget":        func(in *engine.Input) { in.Budget.Calls, in.Labels = 6, nil },
	"another StartOptions.Labels":        func(in *engine.Input) { in.Labels, in.ContinuedFrom = nil, "" },
	"another StartOptions.ContinuedFrom": func(in *engine.Input) { in.ContinuedFrom = "" },
}

func TestStartOfATakenID(t *testing.T) {
	for state, f := range map[engine.Status]*engine.Program{
		engine.Running: sleeper.Program(), engine.Waiting: asker.Program(), engine.Stuck: broken.Program(), engine.Completed: pair.Program(),
	} {
		everywhere(t, map[string]func(*testing.T, runlog.Store){string(state): func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s})
			_, err := e.Start(t.Context(), f, full())
			require.NoError(t, err)
			synctest.Wait()
			status(t, e, "x", state)
			for field, change := range others {
				in := full()
				change(&in)
				_, err := e.Start(t.Context(), f, in)
				require.ErrorIs(t, err, engine.ErrExists, field)
				require.ErrorContains(t, err, field)
			}
			before := kinds(t, e, "x")
			_, err = e.Start(t.Context(), over.Program(), full())
			require.ErrorIs(t, err, engine.ErrExists)
			require.ErrorContains(t, err, "flow")
			_, err = e.Start(t.Context(), f, full())
			require.NoError(t, err, "the same is that run")
			synctest.Wait()
			assert.Equal(t, before, kinds(t, e, "x"))
			status(t, e, "x", state)
		}})
	}
}

func TestStartThatIsRefused(t *testing.T) {
	everywhere(t, map[string]func(*testing.T, runlog.Store){
		"without one of its agents, and all that are missing are named": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s})
			p := pair.Program()
			p.Agents = []string{"a", "b", "c"}
			_, err := e.Start(t.Context(), p, input("x"))
			require.ErrorIs(t, err, engine.ErrNoAgent)
			require.ErrorContains(t, err, `"b"`)
			require.ErrorContains(t, err, `"c"`)
			require.NotContains(t, err.Error(), `"a"`)
			_, err = e.Look(t.Context(), "x")
			require.ErrorIs(t, err, engine.ErrNoRun)
		},
		"with a flow that has a fault": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s})
			p := pair.Program()
			p.Fault = agent.ErrorOf(errors.New("no such flow"))
			_, err := e.Start(t.Context(), p, input("x"))
			require.ErrorContains(t, err, "no such flow")
			_, err = e.Look(t.Context(), "x")
			require.ErrorIs(t, err, engine.ErrNoRun)
		},
		"by an observer": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s, Fleet: driver.Fleet{Observe: true}})
			_, err := e.Start(t.Context(), pair.Program(), input("x"))
			require.ErrorIs(t, err, engine.ErrStopped)
			require.ErrorContains(t, err, "Config.Fleet.Observe")
			_, err = e.Resume(t.Context())
			require.ErrorIs(t, err, engine.ErrStopped)
		},
		"by an engine that is closed": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s})
			shut(t, e)
			_, err := e.Start(t.Context(), pair.Program(), input("x"))
			require.ErrorIs(t, err, engine.ErrStopped)
			_, err = e.Resume(t.Context())
			require.ErrorIs(t, err, engine.ErrStopped)
		},
		"by labels that contradict the engine's": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s, Fleet: driver.Fleet{Serves: map[string]string{"region": "eu"}}})
			in := input("x")
			in.Labels = map[string]string{"region": "us"}
			_, err := e.Start(t.Context(), pair.Program(), in)
			require.ErrorIs(t, err, engine.ErrNotServed)
			in.Labels["region"] = "eu"
			_, err = e.Start(t.Context(), pair.Program(), in)
			require.NoError(t, err)
		},
		"when the flow cannot read its input": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s})
			p := pair.Program()
			p.Begin = func(engine.Port, engine.Input) (engine.Execution, error) {
				return nil, agent.ErrorOf(errors.Join(engine.ErrDiverged, errors.New("no input of mine")))
			}
			wait, err := e.Start(t.Context(), p, input("x"))
			require.NoError(t, err, "the start is on record")
			_, err = wait(t.Context())
			require.ErrorContains(t, err, "no input of mine")
			status(t, e, "x", engine.Stuck)
		},
	})
}

func TestStartOfARunOfAnotherEngine(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"while that lives, it is only waited for": func(t *testing.T) {
			s := runlog.NewMemory()
			a, b := &counted{Agent: after(time.Minute)}, &counted{Agent: echo}
			one := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": a}})
			two := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": b}})
			begin(t, one, pair, "x")
			wait := begin(t, two, pair, "x")
			status(t, two, "x", engine.Running)
			assert.Equal(t, `"one two"`, output(t, wait))
			assert.Equal(t, int64(2), a.n.Load())
			assert.Zero(t, b.n.Load())
			assert.Equal(t, "started called called ended", kinds(t, two, "x"))
		},
		"when that closes, it goes on here": func(t *testing.T) {
			s := runlog.NewMemory()
			a, b := &counted{Agent: after(time.Minute)}, &counted{Agent: echo}
			one := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": a}})
			two := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": b}})
			begin(t, one, pair, "x")
			wait := begin(t, two, pair, "x")
			time.AfterFunc(90*time.Second, func() { _ = one.Close(context.WithoutCancel(t.Context()), false) })
			assert.Equal(t, `"one two"`, output(t, wait))
			assert.Equal(t, int64(2), a.n.Load(), "the second of them was cut")
			assert.Equal(t, int64(1), b.n.Load())
			assert.Equal(t, "started called used resumed called ended", kinds(t, two, "x"))
			assert.NotEmpty(t, look(t, two, "x").Owner)
		},
		"both at once: it is one run": func(t *testing.T) {
			s := runlog.NewMemory()
			a := &counted{Agent: after(time.Second)}
			var waits []waiter
			for range 4 {
				e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": a}})
				for range 4 {
					waits = append(waits, func(ctx context.Context) (engine.End, error) {
						wait, err := e.Start(ctx, pair.Program(), input("x"))
						if err != nil {
							return engine.End{}, err
						}
						return wait(ctx)
					})
				}
			}
			ends := make(chan string, len(waits))
			for _, wait := range waits {
				go func() {
					end, err := wait(t.Context())
					assert.NoError(t, err)
					ends <- string(end.Output)
				}()
			}
			for range waits {
				assert.Equal(t, `"one two"`, <-ends)
			}
			assert.Equal(t, int64(2), a.n.Load())
		},
	})
}

// Whoever starts a run while another start of it is under way waits for that, and tries
// itself when it fails.
func TestStartBesideAStartThatFails(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"the second one begins": func(t *testing.T) {
			s := newTap()
			open := s.holdBack(runlog.Started)
			e := newEngine(t, driver.Config{Store: s})
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			go func() {
				_, err := e.Start(ctx, pair.Program(), input("x"))
				assert.ErrorIs(t, err, context.DeadlineExceeded)
			}()
			synctest.Wait()
			time.AfterFunc(2*time.Second, func() { close(open) })
			assert.Equal(t, `"one two"`, output(t, begin(t, e, pair, "x")))
		},
		"its own ctx ends it": func(t *testing.T) {
			s := newTap()
			open := s.holdBack(runlog.Started)
			e := newEngine(t, driver.Config{Store: s})
			go func() {
				_, err := e.Start(t.Context(), pair.Program(), input("x"))
				assert.NoError(t, err)
			}()
			synctest.Wait()
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			_, err := e.Start(ctx, pair.Program(), input("x"))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			close(open)
			assert.Equal(t, `"one two"`, output(t, begin(t, e, pair, "x")))
		},
	})
}
