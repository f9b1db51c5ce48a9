package sqlite_test

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/sqlite"
)

var engineFile = flag.String("engine", "", "the database of the engine of a child process of the tests")

const (
	silence = 300 * time.Millisecond // limit of the engine in the other process
	beats   = silence / 10
)

// TestEngineProcess is the process of the engine "ann" of other tests: it begins the
// run "r" and beats until it is killed. For each line that it reads it appends a
// record and says what came of that.
func TestEngineProcess(t *testing.T) {
	if *engineFile == "" {
		t.Skip("it is the process of other tests")
	}
	s, err := sqlite.Open(*engineFile)
	require.NoError(t, err)
	require.NoError(t, s.Beat(t.Context(), "ann", silence))
	require.NoError(t, s.Append(t.Context(), []runlog.Record{ownedBy("r", "ann")}))
	say("begun")
	lines := make(chan error)
	go func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			lines <- s.Append(t.Context(), []runlog.Record{small("r", 1)})
		}
	}()
	for {
		select {
		case err := <-lines:
			say(fmt.Sprint("appended: ", err))
		case <-time.After(beats):
			require.NoError(t, s.Beat(t.Context(), "ann", silence))
		}
	}
}

func say(line string) { _, _ = fmt.Println(line) } //nolint:forbidigo // it is a program of its own

func ownedBy(run, owner string) runlog.Record {
	return runlog.Record{Run: run, Kind: runlog.Started, Name: "flow", Data: fmt.Appendf(nil, `{"owner":%q}`, owner)}
}

// engineProcess is an engine in another process.
type engineProcess struct {
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Scanner
}

// startEngine starts the engine "ann" on the file at path.
func startEngine(t *testing.T, path string) *engineProcess {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestEngineProcess$", "-engine="+path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	e := &engineProcess{cmd, in, bufio.NewScanner(out)}
	t.Cleanup(e.kill)
	require.Equal(t, "begun", e.says())
	return e
}

func (e *engineProcess) says() string {
	e.out.Scan()
	return e.out.Text()
}

// kill kills the process and waits for its end.
func (e *engineProcess) kill() {
	_ = e.cmd.Process.Kill()
	_ = e.cmd.Wait()
}

func isAlive(t *testing.T, s *sqlite.Store, owner string) bool {
	t.Helper()
	alive, err := s.Alive(t.Context(), owner)
	require.NoError(t, err)
	return alive
}

func orphans(t *testing.T, s *sqlite.Store) (runs []string) {
	t.Helper()
	for l, err := range s.Orphans(t.Context()) {
		require.NoError(t, err)
		runs = append(runs, l.Run)
	}
	return runs
}

// lockFiles are the lock files of engines beside the database.
func lockFiles(t *testing.T, path string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(path+".owners", "*.lock"))
	require.NoError(t, err)
	return files
}

func TestKilledEngine(t *testing.T) {
	t.Run("N7 a killed engine is dead at once", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "runs.db")
		s := open(t, sqlite.Config{Path: path})
		e := startEngine(t, path)
		assert.True(t, isAlive(t, s, "ann"))
		assert.Empty(t, orphans(t, s))
		assert.Len(t, lockFiles(t, path), 1)

		e.kill()
		began := time.Now()
		assert.False(t, isAlive(t, s, "ann"))
		assert.Equal(t, []string{"r"}, orphans(t, s))
		assert.Less(t, time.Since(began), time.Second)
		assert.Empty(t, lockFiles(t, path), "the first that finds a dead engine removes its file")

		require.NoError(t, s.Beat(t.Context(), "ann", time.Hour), "its name is free")
		assert.True(t, isAlive(t, s, "ann"))
	})
}

// TestSeveralEngines has three engines in one process, two of them on one store.
func TestSeveralEngines(t *testing.T) {
	path, a, b := two(t)
	c := open(t, sqlite.Config{Path: path})
	require.NoError(t, a.Beat(t.Context(), "ann", time.Hour))
	require.NoError(t, a.Beat(t.Context(), "anton", time.Hour))
	require.NoError(t, b.Beat(t.Context(), "bob", time.Hour))
	for _, run := range []string{"ann", "anton", "bob"} {
		require.NoError(t, a.Append(t.Context(), []runlog.Record{ownedBy("of "+run, run)}))
	}
	for _, s := range []*sqlite.Store{a, b, c} {
		assert.Empty(t, orphans(t, s))
	}
	require.NoError(t, a.Leave(t.Context(), "anton"))
	for _, s := range []*sqlite.Store{a, b, c} {
		assert.Equal(t, []string{"of anton"}, orphans(t, s))
	}
	require.NoError(t, b.Close(), "without Leave: its engine is dead")
	for _, s := range []*sqlite.Store{a, c} {
		assert.Equal(t, []string{"of anton", "of bob"}, orphans(t, s))
	}
	require.NoError(t, a.Beat(t.Context(), "ann", time.Hour))
	assert.Len(t, lockFiles(t, path), 1)
}

func TestBeatNameTaken(t *testing.T) {
	_, a, b := two(t)
	require.NoError(t, a.Beat(t.Context(), "ann", time.Hour))
	err := b.Beat(t.Context(), "ann", time.Hour)
	require.ErrorIs(t, err, runlog.ErrConflict)
	require.ErrorContains(t, err, "give each engine a name of its own")
	require.NoError(t, a.Leave(t.Context(), "ann"))
	require.NoError(t, b.Beat(t.Context(), "ann", time.Hour))
	assert.True(t, isAlive(t, a, "ann"))
}

// TestLockFileRemoved has a lock file that a person removed: the next beat makes it
// anew.
func TestLockFileRemoved(t *testing.T) {
	path, a, b := two(t)
	require.NoError(t, a.Beat(t.Context(), "ann", time.Hour))
	require.NoError(t, os.RemoveAll(path+".owners"))
	assert.False(t, isAlive(t, b, "ann"))
	require.NoError(t, a.Beat(t.Context(), "ann", time.Hour))
	assert.True(t, isAlive(t, b, "ann"))
	require.ErrorIs(t, b.Beat(t.Context(), "ann", time.Hour), runlog.ErrConflict)
}

func TestBeatWithoutFolder(t *testing.T) {
	path, a, _ := two(t)
	require.NoError(t, os.WriteFile(path+".owners", nil, 0o600))
	err := a.Beat(t.Context(), "ann", time.Hour)
	require.ErrorContains(t, err, "folder for the locks of engines")
	require.ErrorContains(t, err, path+".owners")
	assert.False(t, isAlive(t, a, "ann"))
}

func TestBeatReadOnlyFolder(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	path, a, _ := two(t)
	require.NoError(t, os.Mkdir(path+".owners", 0o500))
	require.ErrorContains(t, a.Beat(t.Context(), "ann", time.Hour), "permission denied")
}

// TestOwnersHeedNoWallClock has times of files and records far from now: only beats
// and the process's monotonic clock count.
func TestOwnersHeedNoWallClock(t *testing.T) {
	path, a, b := two(t)
	require.NoError(t, a.Beat(t.Context(), "ann", time.Hour))
	require.NoError(t, a.Append(t.Context(), []runlog.Record{ownedBy("r", "ann"), ownedBy("dead", "dan")}))
	for i, at := range []time.Time{time.Now().AddDate(-200, 0, 0), time.Now().AddDate(200, 0, 0)} {
		late := small("r", int64(i)+1)
		late.At = at
		require.NoError(t, a.Append(t.Context(), []runlog.Record{late}))
		for _, file := range lockFiles(t, path) {
			require.NoError(t, os.Chtimes(file, at, at))
		}
		require.NoError(t, os.Chtimes(path, at, at))
		for _, s := range []*sqlite.Store{a, b} {
			assert.True(t, isAlive(t, s, "ann"))
			assert.Equal(t, []string{"dead"}, orphans(t, s))
		}
	}
}
