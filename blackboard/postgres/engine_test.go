package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/enginetest"
)

func TestEngine(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts servers, stops them or waits for them")
	}
	enginetest.Run(t, enginetest.Engine{RealTime: true, Peers: true, Storage: func(t *testing.T) enginetest.Open {
		t.Helper()
		store := open(t, config(t))
		return func(agents agent.Roster, flows ...orchestrator.AnyFlow) *orchestrator.Engine {
			e, err := orchestrator.NewLocal(orchestrator.Config{
				Agents: agents, Flows: flows, Store: store, Retry: orchestrator.Attempts{Wait: time.Millisecond},
			})
			require.NoError(t, err)
			return e
		}
	}})
}
