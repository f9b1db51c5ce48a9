package orchestrator_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/enginetest"
)

// on opens local engines on a store; nil: none.
func on(t *testing.T, store runlog.Store) enginetest.Open {
	t.Helper()
	return func(agents agent.Roster, flows ...orchestrator.AnyFlow) *orchestrator.Engine {
		e, err := orchestrator.NewLocal(orchestrator.Config{
			Agents: agents, Flows: flows, Store: store, Retry: orchestrator.Attempts{Wait: time.Millisecond},
		})
		require.NoError(t, err)
		return e
	}
}

func inMemory(t *testing.T) enginetest.Open { t.Helper(); return on(t, nil) }

func onStore(t *testing.T) enginetest.Open { t.Helper(); return on(t, runlog.NewMemory()) }

func TestEngineInMemory(t *testing.T) {
	enginetest.Run(t, enginetest.Engine{Forgets: true, Storage: inMemory})
}

func TestEngineOnStore(t *testing.T) {
	enginetest.Run(t, enginetest.Engine{Peers: true, Storage: onStore})
}

func TestEngineInRealTime(t *testing.T) {
	enginetest.Run(t, enginetest.Engine{RealTime: true, Peers: true, Storage: onStore})
}
