package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/sqlite"
	"github.com/convene-go/convene/orchestrator/teamtest"
)

// TestTeams kills the ready teams behind every record.
func TestTeams(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it sweeps all teams")
	}
	teamtest.Sweep(t, func(tb testing.TB) runlog.Store {
		tb.Helper()
		s, err := sqlite.New(sqlite.Config{Path: filepath.Join(tb.TempDir(), "runs.db"), Sync: sqlite.Normal})
		require.NoError(tb, err)
		tb.Cleanup(func() { assert.NoError(tb, s.Close()) })
		return s
	})
}
