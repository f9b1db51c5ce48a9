//go:build unix

package postgres_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/postgres"
	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
)

// taken resumes the run "r" as the engine "bob", after that of ann was silent.
func taken(t *testing.T, s *postgres.Store) {
	t.Helper()
	require.Equal(t, []string{"r"}, orphans(t, s))
	require.NoError(t, s.Append(t.Context(), []runlog.Record{{
		Run: "r", Seq: 1, Kind: runlog.Resumed, Data: []byte(`{"owner":"bob"}`),
	}}))
}

// TestStoppedEngine stops the process of an engine, which keeps its session: silence
// makes it dead, the log's fence keeps it out when it continues, and a beat makes it
// alive again.
func TestStoppedEngine(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts servers, stops them or waits for them")
	}
	t.Run("N7 a stopped engine is dead when it was silent for d", func(t *testing.T) {
		cfg := config(t)
		s := open(t, cfg)
		e := startEngine(t, cfg, dsn(t))
		require.NoError(t, e.cmd.Process.Signal(syscall.SIGSTOP))
		took := awaitLife(t, s, "ann", false)
		assert.Greater(t, took, silence-2*beats)
		assert.Less(t, took, 3*silence)
		taken(t, s)

		require.NoError(t, e.cmd.Process.Signal(syscall.SIGCONT))
		assert.Contains(t, e.append(t), runlog.ErrConflict.Error())
		awaitLife(t, s, "ann", true)
	})
}

// TestStoppedOwner stops the process that works on a run.
func TestStoppedOwner(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts servers, stops them or waits for them")
	}
	t.Run("the state of a run whose owner is stopped is an error after 5 s", func(t *testing.T) {
		cfg := config(t)
		e := startProcess(t, cfg, dsn(t), "TestTellingProcess")
		r, err := worker(t, cfg, true).Open(t.Context(), "t")
		require.NoError(t, err)
		require.NoError(t, e.cmd.Process.Signal(syscall.SIGSTOP))
		began := time.Now()
		err = r.State(t.Context(), new(string))
		require.ErrorIs(t, err, orchestrator.ErrNoState)
		require.ErrorContains(t, err, "does not reply")
		assert.Less(t, time.Since(began), 8*time.Second)
		require.NoError(t, e.cmd.Process.Signal(syscall.SIGCONT))
		require.NoError(t, r.State(t.Context(), new(string)))

		require.NoError(t, e.cmd.Process.Signal(syscall.SIGSTOP))
		time.AfterFunc(silence, e.kill)
		err = r.State(t.Context(), new(string))
		require.ErrorContains(t, err, "no engine works on it", "it died while it was asked")
	})
}

// TestCutEngine cuts the network of an engine's process, whose session the server
// still believes in.
func TestCutEngine(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts servers, stops them or waits for them")
	}
	t.Run("N7 an engine that is cut off is dead when it was silent for d", func(t *testing.T) {
		cfg := config(t)
		s := open(t, cfg)
		if server == nil {
			t.Skip()
		}
		proxy, err := server.NewProxy()
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, proxy.Close()) })
		e := startEngine(t, cfg, proxy.DSN())
		proxy.Freeze()
		took := awaitLife(t, s, "ann", false)
		assert.Greater(t, took, silence-2*beats)
		assert.Less(t, took, 3*silence)
		taken(t, s)
		said := e.append(t)
		assert.Contains(t, said, "did not answer in time", "it is told what is wrong")

		proxy.Thaw()
		awaitLife(t, s, "ann", true)
		assert.Contains(t, e.append(t), runlog.ErrConflict.Error())
		<-time.After(beats)
		last, err := s.Last(t.Context(), "r")
		require.NoError(t, err)
		assert.Equal(t, runlog.Resumed, last.Kind, "nothing of it was stored late")
	})
}
