//go:build unix

package sqlite_test

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/sqlite"
)

// TestStoppedEngine stops the process of an engine, which keeps its lock: silence
// makes it dead, the log's fence keeps it out when it continues, and a beat makes it
// alive again.
func TestStoppedEngine(t *testing.T) {
	t.Run("N7 a stopped engine is dead when it was silent for d", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "runs.db")
		s := open(t, sqlite.Config{Path: path})
		e := startEngine(t, path)
		require.NoError(t, e.cmd.Process.Signal(syscall.SIGSTOP))
		stopped := time.Now()
		for isAlive(t, s, "ann") {
			require.Less(t, time.Since(stopped), 100*silence)
			<-time.After(beats)
		}
		assert.Greater(t, time.Since(stopped), silence-2*beats)
		assert.Len(t, lockFiles(t, path), 1, "its lock is held")
		require.Equal(t, []string{"r"}, orphans(t, s))
		taken := runlog.Record{Run: "r", Seq: 1, Kind: runlog.Resumed, Data: []byte(`{"owner":"bob"}`)}
		require.NoError(t, s.Append(t.Context(), []runlog.Record{taken}))

		require.NoError(t, e.cmd.Process.Signal(syscall.SIGCONT))
		_, err := fmt.Fprintln(e.in, "append")
		require.NoError(t, err)
		assert.Contains(t, e.says(), runlog.ErrConflict.Error())
		for began := time.Now(); !isAlive(t, s, "ann"); {
			require.Less(t, time.Since(began), 100*silence)
			<-time.After(beats)
		}
	})
}
