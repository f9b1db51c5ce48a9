//go:build unix

package sqlite_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/sqlite"
)

// modes opens the file of c, uses it, and returns the modes of all that is beside it.
func modes(t *testing.T, c sqlite.Config) map[string]fs.FileMode {
	t.Helper()
	s := open(t, c)
	require.NoError(t, s.Append(t.Context(), []runlog.Record{small("r", 0)}))
	require.NoError(t, s.Beat(t.Context(), "ann", time.Hour))
	got := map[string]fs.FileMode{}
	require.NoError(t, filepath.WalkDir(filepath.Dir(c.Path), func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		name, _ := filepath.Rel(filepath.Dir(c.Path), path)
		if filepath.Ext(name) == ".lock" {
			name = "lock"
		}
		got[name] = info.Mode().Perm()
		return nil
	}))
	delete(got, ".")
	return got
}

func TestModes(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	path := func() string { return filepath.Join(t.TempDir(), "runs.db") }
	t.Run("only its owner reads a file and what is beside it", func(t *testing.T) {
		assert.Equal(t, map[string]fs.FileMode{"runs.db": 0o600, "runs.db-wal": 0o600, "runs.db-shm": 0o600, "runs.db.owners": 0o700, "lock": 0o600}, modes(t, sqlite.Config{Path: path()}))
	})
	t.Run("another mode, whatever the umask", func(t *testing.T) {
		assert.Equal(t, map[string]fs.FileMode{"runs.db": 0o660, "runs.db-wal": 0o660, "runs.db-shm": 0o660, "runs.db.owners": 0o770, "lock": 0o660}, modes(t, sqlite.Config{Path: path(), Mode: 0o660}))
		assert.Equal(t, fs.FileMode(0o755), modes(t, sqlite.Config{Path: path(), Mode: 0o644})["runs.db.owners"])
	})
	t.Run("a file that is there keeps its mode", func(t *testing.T) {
		old := path()
		require.NoError(t, os.WriteFile(old, nil, 0o600))
		require.NoError(t, os.Chmod(old, 0o640))
		assert.Equal(t, map[string]fs.FileMode{"runs.db": 0o640, "runs.db-wal": 0o640, "runs.db-shm": 0o640, "runs.db.owners": 0o750, "lock": 0o640}, modes(t, sqlite.Config{Path: old}))
	})
	t.Run("a mode without which a store cannot work", func(t *testing.T) {
		for _, mode := range []fs.FileMode{0o400, 0o700, 0o060, fs.ModeDir | 0o600} {
			_, err := sqlite.New(sqlite.Config{Path: path(), Mode: mode})
			require.ErrorContains(t, err, "want bits of 0666 that include 0600", mode)
		}
	})
}
