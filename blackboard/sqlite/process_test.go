package sqlite_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/sqlite"
	"github.com/convene-go/convene/orchestrator/engine"
)

// child is a process that works on the run.
type child struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Scanner
}

// start starts this test's program as another process.
func start(t *testing.T, todo task) *child {
	t.Helper()
	data, err := json.Marshal(todo)
	require.NoError(t, err)
	program, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestChild$", "-child="+string(data))
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0") // the race detector waits a second
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return &child{t, cmd, in, bufio.NewScanner(out)}
}

// says is the next line that the process prints, "" if it ends without one.
func (c *child) says() string {
	c.out.Scan()
	return c.out.Text()
}

// answer lets a call answer. If the process has ended, says tells.
func (c *child) answer() { _, _ = c.in.Write([]byte{'\n'}) }

// kill kills the process.
func (c *child) kill() {
	c.t.Helper()
	require.NoError(c.t, c.cmd.Process.Kill())
	require.Error(c.t, c.cmd.Wait(), "it was killed")
}

// finish lets all calls answer until the process ends, and returns what it says.
func (c *child) finish() string {
	c.t.Helper()
	said := c.says()
	for ; said == saysCall; said = c.says() {
		c.answer()
	}
	var rest []string
	for c.out.Scan() {
		rest = append(rest, c.out.Text())
	}
	require.NoError(c.t, c.cmd.Wait(), "%s\n%s", said, strings.Join(rest, "\n"))
	return said
}

// killAt kills the process at its call of that number, which has no answer then. It
// reports whether the process lived that long; else it has ended.
func (c *child) killAt(call int) bool {
	c.t.Helper()
	for n := 1; ; n++ {
		if said := c.says(); said != saysCall {
			require.Equal(c.t, saysEnd, said)
			require.NoError(c.t, c.cmd.Wait())
			return false
		}
		if n == call {
			c.kill()
			return true
		}
		c.answer()
	}
}

// place is a task in a directory of its own.
func place(t *testing.T) task {
	t.Helper()
	dir := t.TempDir()
	return task{DB: filepath.Join(dir, "runs.db"), Calls: filepath.Join(dir, "calls")}
}

// resume is the same task for a new process.
func (todo task) resume() task {
	todo.Resume = true
	return todo
}

// made counts the calls that were made, by their keys.
func (todo task) made(t *testing.T) map[string]int {
	t.Helper()
	data, err := os.ReadFile(todo.Calls)
	require.NoError(t, err)
	n := map[string]int{}
	for key := range strings.Lines(string(data)) {
		n[strings.TrimSpace(key)]++
	}
	return n
}

// recorded are the keys of the calls on record. It fails the test if a record is
// there twice.
func (todo task) recorded(t *testing.T) map[string]bool {
	t.Helper()
	s, err := sqlite.Open(todo.DB)
	require.NoError(t, err)
	defer func() { assert.NoError(t, s.Close()) }()
	keys := map[string]bool{}
	for l, err := range s.List(t.Context(), runlog.Query{}) {
		require.NoError(t, err)
		seen := map[string]bool{}
		for rec, err := range s.Records(t.Context(), l.Run, 0) {
			require.NoError(t, err)
			id := fmt.Sprint(rec.Kind, " ", engine.Key(rec.Branch, rec.N))
			assert.False(t, rec.Kind != runlog.Resumed && seen[id], "run %q has the record %s twice", rec.Run, id)
			seen[id] = true
			if rec.Kind == runlog.Called {
				keys[rec.Run+"/"+engine.Key(rec.Branch, rec.N)] = true
			}
		}
	}
	return keys
}
