package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/sqlite"
	"github.com/convene-go/convene/orchestrator"
)

// TestEnginesThatNeverLeft has engines whose processes died without Close and without an
// open run.
func TestEnginesThatNeverLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	done := orchestrator.Flow[struct{}, string]{Name: "done", Version: 1, Do: func(*orchestrator.Context, struct{}) (string, error) { return "ok", nil }}
	begin := func(i int) *sqlite.Store {
		s := open(t, sqlite.Config{Path: path})
		e, err := orchestrator.NewLocal(orchestrator.Config{Store: s, Flows: []orchestrator.AnyFlow{done}, Fleet: orchestrator.Fleet{Lease: time.Hour, Poll: time.Hour}})
		require.NoError(t, err)
		t.Cleanup(func() {
			now, cancel := context.WithCancel(context.Background())
			cancel()
			_ = e.Close(now) // the stores of all but the last are closed
		})
		r, err := done.Start(t.Context(), e, struct{}{}, orchestrator.StartOptions{ID: fmt.Sprint("r", i)})
		require.NoError(t, err)
		require.NoError(t, r.Wait(t.Context()))
		return s
	}
	for i := range 30 {
		s := begin(i)
		before := lockFiles(t, path)
		require.NoError(t, s.Close())
		for _, file := range before { // a process that is killed removes no file
			f, err := os.OpenFile(filepath.Join(path+".owners", filepath.Base(file)), os.O_CREATE|os.O_RDWR, 0o600)
			require.NoError(t, err)
			require.NoError(t, f.Close())
		}
	}
	begin(30)
	assert.Len(t, query(t, path, "SELECT owner FROM owners"), 1)
	assert.Len(t, lockFiles(t, path), 1)
	assert.Len(t, query(t, path, "SELECT run FROM runs"), 31, "their runs stay")
}
