//go:build unix

package workspace_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/internal/proc"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/orchestrator/delivery/workspace"
)

// With this argument, and a configuration after it, this test binary is a process
// that opens the workspace and runs the tests.
const asWorker = "run-the-tests"

func TestMain(m *testing.M) {
	if len(os.Args) != 3 || os.Args[1] != asWorker {
		m.Run()
		return
	}
	var c workspace.Config
	if err := json.Unmarshal([]byte(os.Args[2]), &c); err != nil {
		panic(err)
	}
	ctx := context.Background()
	w, err := workspace.Open(ctx, c)
	if err != nil {
		panic(err)
	}
	if _, err := w.Call(agent.WithInfo(ctx, agent.Info{Key: "run/7"}), agent.Request{Op: delivery.OpTest}); err != nil {
		panic(err)
	}
}

// The process is killed at a moment of the run that the test chooses: the code under
// test tells it over a fifo, and holds another one as long as any of it lives.
func TestKilledDuringTests(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs go test and git often")
	}
	for i := range 3 {
		t.Run(fmt.Sprintf("SC47 SC46 SA47 kill -9 of ours %d", i), func(t *testing.T) {
			fifos := t.TempDir()
			for _, name := range []string{"alive", "ready"} {
				require.NoError(t, syscall.Mkfifo(filepath.Join(fifos, name), 0o600))
			}
			alive, err := os.OpenFile(filepath.Join(fifos, "alive"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
			require.NoError(t, err)
			defer func() { assert.NoError(t, alive.Close()) }()

			c := hostile(t, "\"os\"\n\"os/exec\"\n", fmt.Sprintf(`
				if _, err := os.Stat(%[1]q); err != nil { return } // it is the second time
				os.WriteFile("sum.go", []byte("half of it"), 0o644)
				hold, _ := os.OpenFile(%[1]q, os.O_RDWR, 0)
				for _, args := range [][]string{{"sleep", "60"}, {"setsid", "sleep", "60"}} {
					cmd := exec.Command(args[0], args[1:]...)
					cmd.Stdout = hold
					cmd.Start()
				}
				os.WriteFile(%[2]q, []byte("x"), 0)
				cmd := exec.Command("sleep", "60")
				cmd.Run()`, filepath.Join(fifos, "alive"), filepath.Join(fifos, "ready")))
			c.Writable = append(c.Writable, fifos)
			w, err := workspace.Open(t.Context(), c)
			require.NoError(t, err)
			before := snapshot(t, w, "")
			mark := workspace.Mark(w)
			require.NoError(t, w.Close())

			worker := exec.CommandContext(t.Context(), os.Args[0], asWorker, string(agent.JSON(c)))
			worker.Stderr = os.Stderr
			require.NoError(t, worker.Start())
			_, err = os.ReadFile(filepath.Join(fifos, "ready")) // returns when the test has written it
			require.NoError(t, err)
			require.NoError(t, worker.Process.Kill())
			require.Error(t, worker.Wait())
			assert.Equal(t, "half of it", content(t, c, "sum.go"))

			w = open(t, c)
			end, err := alive.Read(make([]byte, 1)) // waits for all that hold it
			assert.Zero(t, end)
			require.Error(t, err, "io.EOF: no process of the run is left")
			left, err := proc.Sweep(t.Context(), mark)
			require.NoError(t, err)
			assert.Zero(t, left)
			assert.Equal(t, before.ID, snapshot(t, w, "").ID, "the project is what it was")

			require.NoError(t, os.Remove(filepath.Join(fifos, "alive")))
			resp, err := call(t, w, "run/7", delivery.OpTest, nil)
			require.NoError(t, err)
			assert.JSONEq(t, `{"kind":"run","passed":true,"ran":2}`, string(resp.Data), "made again, the call answers")
			require.NoError(t, os.WriteFile(filepath.Join(c.Dir, "sum.go"), []byte("broken "+strconv.Itoa(i)), 0o600))
			again, err := call(t, w, "run/7", delivery.OpTest, nil)
			require.NoError(t, err)
			assert.Equal(t, resp, again, "and once")
		})
	}
}
