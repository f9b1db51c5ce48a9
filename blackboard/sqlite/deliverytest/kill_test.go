//go:build unix

// Package deliverytest kills processes that work on real code with a delivery team.
package deliverytest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/sqlite"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/orchestrator/delivery/workspace"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

// buildCache is the cache of this machine: a cold one would build the standard library.
var buildCache = sync.OnceValues(func() (string, error) {
	out, err := exec.CommandContext(context.Background(), "go", "env", "GOCACHE").Output()
	return strings.TrimSpace(string(out)), err
})

// place is a task of its own: a project of one function, and a fifo.
func place(t *testing.T) task {
	t.Helper()
	cache, err := buildCache()
	require.NoError(t, err)
	above := t.TempDir()
	in := func(name string) string { return filepath.Join(above, name) }
	require.NoError(t, syscall.Mkfifo(in("alive"), 0o600))
	require.NoError(t, os.Mkdir(in("project"), 0o755))
	for name, content := range project {
		require.NoError(t, os.WriteFile(filepath.Join(in("project"), name), []byte(content), 0o600))
	}
	return task{DB: in("runs.db"), Calls: in("calls"), Config: workspace.Config{
		Dir: in("project"), State: in("state"), Test: []string{"go", "test", "-json", "-count=1", "-vet=off", "./..."},
		Env: []string{"GOCACHE=" + cache, "ALIVE=" + in("alive")}, Writable: []string{cache, in("alive")},
	}}
}

var project = map[string]string{
	"go.mod": "module example.org/sum\n\ngo 1.26\n",
	"sum.go": "package sum\n\n// Sum adds.\nfunc Sum(a, b int) int { return a + b }\n",
}

// legal are the contents that files of the project may have whenever no test runs.
func legal() map[string][]string {
	all := map[string][]string{"sub.go": {source("Sub", "-")}}
	for name, content := range project {
		all[name] = []string{content}
	}
	for _, name := range []string{"Sub", "Mul"} {
		for _, f := range append(operator(name).Files, operator(name).Tests...) {
			all[f.Path] = append(all[f.Path], f.Content)
		}
	}
	return all
}

// worker is a process that works on the task. Each line that it prints is a call that
// begins.
type worker struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func start(t *testing.T, todo task) *worker {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), program, asWorker, string(agent.JSON(todo)))
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0") // the race detector waits a second
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return &worker{cmd, bufio.NewScanner(out)}
}

// finish waits until the run has ended, and returns how many calls the process made.
func (w *worker) finish(t *testing.T) (calls int) {
	t.Helper()
	for w.lines.Scan() {
		calls++
	}
	require.NoError(t, w.cmd.Wait())
	return calls
}

// reach waits for the n-th call of an operation, of any for "". The process may end before.
func (w *worker) reach(op string, n int) {
	for n > 0 && w.lines.Scan() {
		if op == "" || w.lines.Text() == op {
			n--
		}
	}
}

// kill kills the process. It may have ended by itself.
func (w *worker) kill(t *testing.T) (killed bool) {
	t.Helper()
	if err := w.cmd.Process.Kill(); !errors.Is(err, os.ErrProcessDone) {
		require.NoError(t, err)
	}
	for w.lines.Scan() { // lines that it printed before
	}
	return w.cmd.Wait() != nil
}

// ending is what came of a run, and of the project.
type ending struct {
	Outcome delivery.Outcome
	Files   map[string]string
}

func (todo task) ending(t *testing.T) ending {
	t.Helper()
	store, err := sqlite.Open(todo.DB)
	require.NoError(t, err)
	defer func() { assert.NoError(t, store.Close()) }()
	e, err := orchestrator.NewLocal(orchestrator.Config{Store: store})
	require.NoError(t, err)
	defer func() { assert.NoError(t, e.Close(t.Context())) }()
	run, err := e.Open(t.Context(), "run")
	require.NoError(t, err)
	out, err := factory().Result(t.Context(), run)
	require.NoError(t, err)
	return ending{flowtest.Clockless(out), todo.files(t)}
}

// files are the project's.
func (todo task) files(t *testing.T) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(todo.Config.Dir)
	require.NoError(t, err)
	files := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(todo.Config.Dir, e.Name()))
		require.NoError(t, err)
		files[e.Name()] = string(data)
	}
	return files
}

// made counts the calls that were made, by their keys.
func (todo task) made(t *testing.T) map[string]int {
	t.Helper()
	data, err := os.ReadFile(todo.Calls)
	if !errors.Is(err, os.ErrNotExist) {
		require.NoError(t, err)
	}
	n := map[string]int{}
	for key := range strings.Lines(string(data)) {
		n[strings.TrimSpace(key)]++
	}
	return n
}

// recorded are the keys of the calls that have an answer on record.
func (todo task) recorded(t *testing.T) map[string]bool {
	t.Helper()
	store, err := sqlite.Open(todo.DB)
	require.NoError(t, err)
	defer func() { assert.NoError(t, store.Close()) }()
	keys := map[string]bool{}
	for rec, err := range store.Records(t.Context(), "run", 0) {
		if errors.Is(err, runlog.ErrNoRun) { // it was killed before the start was on record
			break
		}
		require.NoError(t, err)
		if key := rec.Run + "/" + engine.Key(rec.Branch, rec.N); rec.Kind == runlog.Called {
			assert.False(t, keys[key], "%s is on record twice", key)
			keys[key] = true
		}
	}
	return keys
}

// recover opens the workspace as the next process does, and looks whether all that the
// killed one has left is gone and undone.
func (todo task) recover(t *testing.T, alive *os.File) {
	t.Helper()
	space, err := workspace.Open(t.Context(), todo.Config)
	require.NoError(t, err)
	require.NoError(t, space.Close())
	require.NoError(t, alive.SetReadDeadline(time.Now().Add(30*time.Second)))
	_, err = alive.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF, "no process of a test is left")
	for name, content := range todo.files(t) {
		assert.Contains(t, legal()[name], content, name)
	}
}

// alive is the reader's end of the fifo: it ends when no process holds the other one.
func (todo task) alive(t *testing.T) *os.File {
	t.Helper()
	f, err := os.OpenFile(strings.TrimPrefix(todo.Config.Env[1], "ALIVE="), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	return f
}

// TestKilled kills processes at random moments, mostly while tests run, and lets
// others go on until the run has ended.
func TestKilled(t *testing.T) {
	seeds, kills := 5, 6 // each seed kills so many processes
	if testing.Short() {
		seeds, kills = 1, 2
	}
	undisturbed := place(t)
	calls := start(t, undisturbed).finish(t)
	want := undisturbed.ending(t)
	require.Equal(t, orchestrator.Completed, want.Outcome.Status)
	require.Equal(t, 1, want.Outcome.State.Metrics.FixCycles)
	require.Equal(t, map[string]string{
		"go.mod": project["go.mod"], "sum.go": project["sum.go"], "sub.go": source("Sub", "-"), "mul.go": source("Mul", "*"),
		"sub_test.go": operator("Sub").Tests[0].Content, "mul_test.go": operator("Mul").Tests[0].Content,
	}, want.Files)
	require.Len(t, undisturbed.made(t), calls)

	var during atomic.Int64 // kills while tests ran
	t.Run("storm", func(t *testing.T) {
		for seed := range uint64(seeds) {
			t.Run(fmt.Sprintf("SC47 SC46 SX10 killed %d times, seed %d", kills, seed), func(t *testing.T) {
				t.Parallel()
				rng := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // each time kills the same
				for killed := 0; killed < kills; {
					todo := place(t)
					n, testing := todo.storm(t, rng, kills-killed)
					killed += n
					during.Add(testing)
					assert.ElementsMatch(t, slices.Collect(maps.Keys(undisturbed.made(t))), slices.Collect(maps.Keys(todo.made(t))), "the same calls")
					assert.Equal(t, want, todo.ending(t))
				}
			})
		}
	})
	if !testing.Short() {
		assert.Positive(t, during.Load(), "or it proves little")
	}
	t.Logf("%d of %d kills while tests ran", during.Load(), seeds*kills)
}

// storm works on a run with processes that are killed, at most so many, and returns how
// many were, and while tests ran.
func (todo task) storm(t *testing.T, rng *rand.Rand, most int) (killed int, during int64) {
	t.Helper()
	alive := todo.alive(t)
	settled := map[string]int{} // how often calls had been made that were on record then
	for ended := false; !ended; {
		w := start(t, todo)
		if killed < most {
			w.reach("", rng.IntN(5))
			w.reach(delivery.OpTest, min(1, rng.IntN(3)))
			<-time.After(time.Duration(rng.IntN(700)) * time.Millisecond) // any moment will do
			ended = !w.kill(t)
		} else {
			w.finish(t)
			ended = true
		}
		made := todo.made(t)
		for key, n := range settled {
			assert.Equal(t, n, made[key], "%s is on record and was called again", key)
		}
		if ended {
			break
		}
		killed++
		if _, err := os.Stat(filepath.Join(todo.Config.State, "testing")); err == nil {
			during++
		}
		todo.recover(t, alive)
		for key := range todo.recorded(t) {
			settled[key] = made[key]
		}
	}
	return killed, during
}
