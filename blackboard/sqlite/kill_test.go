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
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/blackboard/sqlite"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// calls is how many calls a run makes that nobody interrupts, and most how many of
// them are under way at once.
const (
	calls = 18
	most  = 5
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
// tells whether the process lived that long; else it has ended.
func (c *child) killAt(call int) bool {
	c.t.Helper()
	for n := 1; ; n++ {
		if said := c.says(); said != saysCall {
			require.Equal(c.t, saysEnd, said)
			require.NoError(c.t, c.cmd.Wait())
			return false
		}
		if n == call {
			require.NoError(c.t, c.cmd.Process.Kill())
			require.Error(c.t, c.cmd.Wait(), "it was killed")
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
	for ends, err := range s.Runs(t.Context(), false) {
		require.NoError(t, err)
		seen := map[string]bool{}
		for rec, err := range s.Records(t.Context(), ends[0].Run, 0) {
			require.NoError(t, err)
			id := fmt.Sprint(rec.Kind, " ", engine.Key(rec.Branch, rec.N))
			assert.False(t, rec.Kind != blackboard.Resumed && seen[id], "run %q has the record %s twice", rec.Run, id)
			seen[id] = true
			if rec.Kind == blackboard.Called {
				keys[rec.Run+"/"+engine.Key(rec.Branch, rec.N)] = true
			}
		}
	}
	return keys
}

// ending is how the run ended.
type ending struct {
	report  report
	status  orchestrator.Status
	spent   providers.Usage
	byAgent map[string]providers.Usage
}

func (todo task) ending(t *testing.T) ending {
	t.Helper()
	e, err := orchestrator.NewLocal(orchestrator.Config{Store: open(t, sqlite.Config{Path: todo.DB})})
	require.NoError(t, err)
	defer func() { assert.NoError(t, e.Close(t.Context())) }()
	run, err := e.Open(t.Context(), "run")
	require.NoError(t, err)
	r, err := whole.Result(t.Context(), run)
	require.NoError(t, err)
	info, err := run.Info(t.Context())
	require.NoError(t, err)
	return ending{r, info.Status, info.Spent, info.ByAgent}
}

// uninterrupted is the ending of a run that nobody kills.
func uninterrupted(t *testing.T) ending {
	t.Helper()
	todo := place(t)
	require.Equal(t, saysEnd, start(t, todo).finish())
	assert.Len(t, todo.made(t), calls)
	e := todo.ending(t)
	assert.Equal(t, orchestrator.Completed, e.status)
	assert.Equal(t, providers.Usage{Calls: calls, Input: 7 * calls, Output: 3 * calls, Cost: 11 * calls}, e.spent)
	assert.Equal(t, orchestrator.Budget{Calls: 100 - calls, Tokens: 1000 - 10*calls, Cost: 10_000 - 11*calls}, e.report.Left)
	return e
}

// TestKill kills a process at each of its calls, and lets another one end the run.
func TestKill(t *testing.T) {
	want := uninterrupted(t)
	for at := 1; at <= calls; at++ {
		t.Run(fmt.Sprintf("at call %d", at), func(t *testing.T) {
			todo := place(t)
			todo.Sync = sqlite.Sync(at % 2) // a kill loses nothing at either setting
			require.True(t, start(t, todo).killAt(at))
			before, recorded := todo.made(t), todo.recorded(t)
			assert.GreaterOrEqual(t, len(recorded), at-most, "what a call waits for is on record")

			require.Equal(t, saysEnd, start(t, todo.resume()).finish())
			after := todo.made(t)
			assert.Len(t, after, calls, "the same calls")
			for key, n := range after {
				if recorded[key] {
					assert.Equal(t, before[key], n, "%s is on record and was called again", key)
				}
			}
			todo.recorded(t)
			assert.Equal(t, want, todo.ending(t))
		})
	}
}

// TestKillAgain kills one process after the other, until one comes to the end of
// the run.
func TestKillAgain(t *testing.T) {
	want := uninterrupted(t)
	todo := place(t)
	recorded := map[string]bool{}
	for next := todo; ; next = todo.resume() {
		var before map[string]int
		if next.Resume {
			before = todo.made(t)
		}
		killed := start(t, next).killAt(most + 2)
		for key := range recorded {
			assert.Equal(t, before[key], todo.made(t)[key], "%s is on record and was called again", key)
		}
		had := len(recorded)
		recorded = todo.recorded(t)
		if !killed {
			break
		}
		require.Greater(t, len(recorded), had, "it goes on")
	}
	assert.Len(t, todo.made(t), calls)
	assert.Equal(t, want, todo.ending(t))
}

// TestKillLease leaves the run of a killed process alone as long as its lease lasts.
func TestKillLease(t *testing.T) {
	todo := place(t)
	todo.Leases = true
	require.True(t, start(t, todo).killAt(3))
	s := open(t, sqlite.Config{Path: todo.DB})
	var lease, owner string
	for rec, err := range s.Records(t.Context(), "run", 0) {
		require.NoError(t, err)
		var d engine.StartedData
		require.NoError(t, json.Unmarshal(rec.Data, &d))
		lease, owner = "engine/"+d.Owner, d.Owner
		break
	}
	require.ErrorIs(t, s.Lease(t.Context(), lease, "somebody", time.Second), blackboard.ErrConflict)
	require.NoError(t, s.Lease(t.Context(), lease, owner, time.Hour)) // however slow this test is
	require.Equal(t, saysNothing, start(t, todo.resume()).finish())

	require.NoError(t, s.Lease(t.Context(), lease, owner, 0), "who knows that it is dead gives its lease back")
	require.Equal(t, saysEnd, start(t, todo.resume()).finish())
}

// TestTwoProcesses has two processes work on one run: the one that was first stops
// before anything that it got counts.
func TestTwoProcesses(t *testing.T) {
	for name, endsFirst := range map[string]bool{"while the other works": false, "when the other has ended": true} {
		t.Run(name, func(t *testing.T) {
			todo := place(t)
			todo.Name = "first"
			first := start(t, todo)
			require.Equal(t, saysCall, first.says())
			todo.Name = "second"
			second := start(t, todo.resume())
			require.Equal(t, saysCall, second.says())
			second.answer()
			if endsFirst {
				require.Equal(t, saysEnd, second.finish())
			}
			first.answer()
			require.Equal(t, saysConflict, first.finish())
			if !endsFirst {
				require.Equal(t, saysEnd, second.finish())
			}
			e := todo.ending(t)
			for _, text := range append(append(e.report.Texts, e.report.Part...), e.report.Best.Value, e.report.Sum) {
				assert.NotContains(t, text, "first")
			}
			assert.Len(t, todo.recorded(t), calls+1, "the child run is one more")
			assert.EqualValues(t, calls, e.spent.Calls)
		})
	}
}
