package enginetest_test

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/enginetest"
	local "github.com/convene-go/convene/orchestrator/internal/engine"
)

// processes opens local engines on a store.
func processes(t *testing.T, store runlog.Store) enginetest.Open {
	t.Helper()
	return func(agents agent.Roster, flows ...orchestrator.AnyFlow) *orchestrator.Engine {
		e, err := orchestrator.NewLocal(orchestrator.Config{
			Agents: agents, Flows: flows, Store: store, Retry: orchestrator.Attempts{Wait: time.Millisecond},
		})
		require.NoError(t, err)
		return e
	}
}

// All checks can share one storage, and what one leaves there disturbs no other.
func TestChecksShareAStorage(t *testing.T) {
	store := runlog.NewMemory()
	t.Run("with the same code for each flow", func(t *testing.T) {
		enginetest.Run(t, enginetest.Engine{Peers: true, Storage: func(t *testing.T) enginetest.Open {
			t.Helper()
			return processes(t, store)
		}})
	})
}

// An engine may resume runs before it is asked to.
func TestEngineThatResumesByItself(t *testing.T) {
	t.Run("what an engine does by itself is a field", func(t *testing.T) {
		enginetest.Run(t, enginetest.Engine{Resumes: true, Peers: true, Storage: func(t *testing.T) enginetest.Open {
			t.Helper()
			open := processes(t, runlog.NewMemory())
			return func(agents agent.Roster, flows ...orchestrator.AnyFlow) *orchestrator.Engine {
				e := open(agents, flows...)
				if _, err := e.Resume(t.Context()); !errors.Is(err, engine.ErrNoFlow) {
					require.NoError(t, err)
				}
				return e
			}
		}})
	})
}

// An engine needs no optional interface: the suite says what it skips.
func TestEngineWithoutOptionalInterfaces(t *testing.T) {
	enginetest.Run(t, enginetest.Engine{Storage: func(t *testing.T) enginetest.Open {
		t.Helper()
		store := runlog.NewMemory()
		return func(agents agent.Roster, flows ...orchestrator.AnyFlow) *orchestrator.Engine {
			c := local.Config{
				Agents: agents, Store: store, Log: slog.New(slog.DiscardHandler), Retry: engine.Retry{Initial: time.Millisecond},
				Fleet: local.Fleet{Lease: 30 * time.Second, Poll: 500 * time.Millisecond, Outage: time.Minute},
			}
			for _, f := range flows {
				c.Programs = append(c.Programs, f.Program())
			}
			return orchestrator.NewEngine(struct{ engine.Driver }{local.New(c)})
		}
	}})
}
