package postgres_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/postgres"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

var callsFile = flag.String("calls", "", "where a worker process of the tests notes its calls")

// TestWorkerProcess is a worker process of TestRollingRestart: it resumes what others
// leave, starts a run for each number that it reads, and drains when there are no more.
func TestWorkerProcess(t *testing.T) {
	if *callsFile == "" {
		t.Skip("it is the process of another test")
	}
	file, err := os.OpenFile(*callsFile, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	e, err := orchestrator.NewLocal(orchestrator.Config{
		Store: open(t, postgres.Config{Pool: pool(t, *engineDSN), Schema: *engineSchema}),
		Flows: []orchestrator.AnyFlow{branchy},
		Fleet: orchestrator.Fleet{Poll: 50 * time.Millisecond},
		Agents: agent.Roster{"a": agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
			_, err := fmt.Fprintln(file, agent.InfoFrom(ctx).Key) // in one write
			<-time.After(60 * time.Millisecond)
			return agent.Response{Text: req.Prompt}, err
		})},
	})
	require.NoError(t, err)
	_, err = e.Resume(t.Context())
	require.NoError(t, err)
	say("up")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		n, err := strconv.Atoi(in.Text())
		require.NoError(t, err)
		_, err = branchy.Start(t.Context(), e, n, orchestrator.StartOptions{ID: "r" + in.Text()})
		require.NoError(t, err)
	}
	require.NoError(t, e.Drain(t.Context()))
	require.NoError(t, file.Close())
}

// workerProcess is such a process.
type workerProcess struct {
	cmd *exec.Cmd
	in  io.WriteCloser
}

func startWorker(t *testing.T, cfg postgres.Config, calls string) workerProcess {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestWorkerProcess$", "-engine="+dsn(t), "-schema="+cfg.Schema, "-calls="+calls)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	up := make([]byte, len("up\n"))
	_, err = io.ReadFull(out, up)
	require.NoError(t, err)
	require.Equal(t, "up\n", string(up))
	return workerProcess{cmd, in}
}

// drain has the process finish its calls, and waits for its end.
func (w workerProcess) drain(t *testing.T) {
	t.Helper()
	require.NoError(t, w.in.Close())
	require.NoError(t, w.cmd.Wait())
}

// TestRollingRestart starts three processes in place of three others, one after the
// other, while runs are open.
func TestRollingRestart(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts servers, stops them or waits for them")
	}
	t.Run("a rolling restart of three processes repeats nothing", func(t *testing.T) {
		cfg := config(t)
		file := filepath.Join(t.TempDir(), "calls")
		require.NoError(t, os.WriteFile(file, nil, 0o600))
		made := func() []string {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			return strings.Fields(string(data))
		}

		var workers []workerProcess
		const runs = 6
		for i := range 3 {
			w := startWorker(t, cfg, file)
			_, err := fmt.Fprintf(w.in, "%d\n%d\n", i, i+3)
			require.NoError(t, err)
			workers = append(workers, w)
		}
		for i, w := range workers {
			for before := len(made()); len(made()) < min(before+200, runs*320); {
				<-time.After(5 * time.Millisecond)
			}
			t.Logf("%d of %d calls are made", len(made()), runs*320)
			workers[i] = startWorker(t, cfg, file)
			w.drain(t)
		}
		host := engine(t, orchestrator.Config{Store: open(t, cfg), Fleet: orchestrator.Fleet{Observe: true}})
		for i := range runs {
			run, err := host.Open(t.Context(), fmt.Sprint("r", i))
			require.NoError(t, err)
			got, err := branchy.Result(t.Context(), run)
			require.NoError(t, err)
			assert.Equal(t, i, got)
		}
		for _, w := range workers {
			w.drain(t)
		}
		calls := made()
		assert.Len(t, calls, runs*320)
		slices.Sort(calls)
		assert.Len(t, slices.Compact(calls), runs*320, "each once")
	})
}
