package orchestrator_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/enginetest"
	localdriver "github.com/convene-go/convene/orchestrator/internal/local"
)

// noRunner is a driver that carries no run out on its caller's goroutine.
type noRunner struct {
	engine.Driver
	engine.Viewer
}

// blind is a driver that shows nothing, either.
type blind struct{ engine.Driver }

func driver(agents agent.Roster, store blackboard.Store, flows ...orchestrator.AnyFlow) *localdriver.Engine {
	c := localdriver.Config{Agents: agents, Store: store, Log: slog.New(slog.DiscardHandler), Retry: orchestrator.Retry{Initial: time.Millisecond}}
	for _, f := range flows {
		c.Programs = append(c.Programs, f.Program())
	}
	return localdriver.New(c)
}

func TestEngineThatIsNoRunner(t *testing.T) {
	enginetest.Run(t, enginetest.Engine{Storage: func(t *testing.T) enginetest.Open {
		t.Helper()
		store := newPlain()
		return func(agents agent.Roster, flows ...orchestrator.AnyFlow) *orchestrator.Engine {
			d := driver(agents, store, flows...)
			return orchestrator.NewEngine(noRunner{d, d})
		}
	}})
}

func TestEngineThatShowsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := orchestrator.NewEngine(blind{driver(agent.Roster{"a": echo}, nil)})
		r, err := pair.Start(t.Context(), e, none{}, orchestrator.StartOptions{ID: "x"})
		require.NoError(t, err)
		require.NoError(t, r.Wait(t.Context()))
		const want = "this engine does not show runs"
		ctx := t.Context()
		_, info := r.Info(ctx)
		_, open := e.Open(ctx, "x")
		for name, err := range map[string]error{
			"Info": info, "Open": open, "State": r.State(ctx, new(int)), "Answer": r.Answer(ctx, "k", 1),
		} {
			assert.ErrorContains(t, err, want, name)
		}
		for _, err := range r.Events(ctx, 0) {
			require.ErrorContains(t, err, want)
		}
		for _, err := range e.Runs(ctx, false) {
			require.ErrorContains(t, err, want)
		}
		require.NoError(t, e.Close(ctx))
	})
}

// single is an engine that gives every run the goroutine that it is called on, and
// makes one call after the other.
type single struct {
	spawn  func(body func(yield func() bool)) (resume func() bool, stop func())
	agents agent.Roster
	now    time.Time
	begun  time.Time
	under  []*engine.Op
	calls  int // how many are answered; then it stops
}

func (s *single) Spawn(body func(yield func() bool)) (resume func() bool, stop func()) {
	return s.spawn(body)
}
func (s *single) Start(op *engine.Op)             { s.under = append(s.under, op) }
func (s *single) Cancel(*engine.Op)               {}
func (s *single) Now() (time.Time, time.Duration) { return s.now, s.now.Sub(s.begun) }
func (s *single) Emit(blackboard.Record)          {}
func (s *single) Next() (engine.Completion, error) {
	op := s.under[0]
	s.under = s.under[1:]
	if op.Kind != engine.Call {
		s.now = op.Until
		return engine.Completion{Op: op}, nil
	}
	if s.calls--; s.calls < 0 {
		return engine.Completion{}, errStopped
	}
	resp, err := engine.Execute(context.Background(), s.agents, agent.Info{Agent: op.Name, Key: op.Key()}, op.Request, engine.Retry{})
	return engine.Completion{Op: op, Response: resp, Err: err}, nil
}

var errStopped = errors.New("this host stops")

// A flow runs on an engine that gives it a goroutine and waits in Next, over both
// kinds of coroutines.
func TestProgramRun(t *testing.T) {
	f := orchestrator.Flow[string, []string]{Name: "greets", Do: func(c *orchestrator.Context, in string) ([]string, error) {
		if err := c.Sleep(time.Hour); err != nil {
			return nil, err
		}
		said, err := orchestrator.Values(orchestrator.Map(c, []string{"hi ", "ho "}, 0, func(c *orchestrator.Context, s string) (string, error) {
			return ask(c, "echo", s+in)
		}))
		return append(said, c.Elapsed().String()), err
	}}
	for name, spawn := range map[string]func(body func(yield func() bool)) (func() bool, func()){"pull": engine.Pull, "goroutines": engine.Goroutines} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				end, err := f.Program().Run(&single{spawn: spawn, agents: agent.Roster{"echo": echo}, calls: 2}, engine.Input{Data: json.RawMessage(`"ann"`)})
				require.NoError(t, err)
				assert.Equal(t, engine.Completed, end.Status)
				assert.JSONEq(t, `["hi ann", "ho ann", "1h0m0s"]`, string(end.Output))
				assert.Equal(t, int64(2), end.Spent.Calls)

				_, err = f.Program().Run(&single{spawn: spawn, agents: agent.Roster{"echo": echo}, calls: 1}, engine.Input{Data: json.RawMessage(`"ann"`)})
				require.ErrorIs(t, err, errStopped, "and nothing is left of the run")
				_, err = f.Program().Run(&single{spawn: spawn}, engine.Input{Data: json.RawMessage(`7`)})
				require.ErrorIs(t, err, orchestrator.ErrDiverged)
			})
		})
	}
}
