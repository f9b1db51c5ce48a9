package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/sqlite"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/enginetest"
)

func TestEngine(t *testing.T) {
	enginetest.Run(t, enginetest.Engine{RealTime: true, Storage: func(t *testing.T) enginetest.Open {
		t.Helper()
		store := open(t, sqlite.Config{Path: filepath.Join(t.TempDir(), "runs.db"), Sync: sqlite.Normal})
		return func(agents agent.Roster, flows ...orchestrator.AnyFlow) *orchestrator.Engine {
			e, err := orchestrator.NewLocal(orchestrator.Config{
				Agents: agents, Flows: flows, Store: store, Retry: orchestrator.Attempts{Wait: time.Millisecond},
			})
			require.NoError(t, err)
			return e
		}
	}})
}
