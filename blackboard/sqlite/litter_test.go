package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/sqlite"
)

// leaveDead has an engine that beat and whose process died: its row and its lock file stay.
func leaveDead(t *testing.T, path, name string) {
	t.Helper()
	s := open(t, sqlite.Config{Path: path})
	require.NoError(t, s.Beat(t.Context(), name, time.Hour))
	lock := query(t, path, "SELECT lock FROM owners WHERE owner = '"+name+"'")
	require.NoError(t, s.Close()) // removes the file, as a process that is killed cannot
	require.NoError(t, os.WriteFile(filepath.Join(path+".owners", lock[0]), nil, 0o600))
}

// TestDeadEnginesAreForgotten has engines that left without a word and without a run.
func TestDeadEnginesAreForgotten(t *testing.T) {
	t.Run("engines that are gone leave nothing once another one starts", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "runs.db")
		living := open(t, sqlite.Config{Path: path})
		require.NoError(t, living.Beat(t.Context(), "living", time.Hour))
		killed := startEngine(t, path)
		killed.kill()
		for i := range 30 {
			leaveDead(t, path, fmt.Sprint("dead-", i))
		}
		for name, content := range map[string]string{"none.lock": "", "notes.txt": "mine"} {
			require.NoError(t, os.WriteFile(filepath.Join(path+".owners", name), []byte(content), 0o600))
		}
		next := open(t, sqlite.Config{Path: path})
		require.NoError(t, next.Beat(t.Context(), "next", time.Hour))
		assert.Equal(t, []string{"living", "next"}, query(t, path, "SELECT owner FROM owners ORDER BY owner"))
		assert.Len(t, lockFiles(t, path), 2)
		assert.FileExists(t, filepath.Join(path+".owners", "notes.txt"))
		assert.True(t, isAlive(t, next, "living"))
		assert.True(t, isAlive(t, living, "next"))
		assert.Equal(t, []string{"r"}, orphans(t, next), "the run of the killed one is still free")
	})
}
