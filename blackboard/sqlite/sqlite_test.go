package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/blackboard/sqlite"
	"github.com/convene-go/convene/blackboard/storetest"
)

// open opens the file at path until the test ends.
func open(t testing.TB, cfg sqlite.Config) *sqlite.Store {
	t.Helper()
	s, err := sqlite.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

func TestStoreNormal(t *testing.T) {
	storetest.Run(t, func(t *testing.T) blackboard.Store {
		t.Helper()
		return open(t, sqlite.Config{Path: filepath.Join(t.TempDir(), "runs.db"), Sync: sqlite.Normal})
	})
}

func TestStoreFull(t *testing.T) {
	storetest.Run(t, func(t *testing.T) blackboard.Store {
		t.Helper()
		s, err := sqlite.Open(filepath.Join(t.TempDir(), "100% of #1?.db"))
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, s.Close()) })
		return s
	})
}
