package postgres_test

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/postgres"
	"github.com/convene-go/convene/blackboard/runlog"
)

var (
	engineDSN    = flag.String("engine", "", "the database of the engine of a child process of the tests")
	engineSchema = flag.String("schema", "", "its schema")
)

const (
	silence = time.Second // limit of the engine in the other process
	beats   = silence / 10
)

// TestEngineProcess is the process of the engine "ann" of other tests: it begins the
// run "r" and beats until it is killed. For each line that it reads it appends a
// record and prints the result.
func TestEngineProcess(t *testing.T) {
	if *engineDSN == "" {
		t.Skip("it is the process of other tests")
	}
	s := open(t, postgres.Config{Pool: pool(t, *engineDSN), Schema: *engineSchema, Timeout: time.Second})
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
			_ = s.Beat(t.Context(), "ann", silence) // an error while it is cut off
		}
	}
}

func say(line string) { _, _ = fmt.Println(line) } //nolint:forbidigo // it is a program of its own

func ownedBy(run, owner string) runlog.Record {
	return runlog.Record{Run: run, Kind: runlog.Started, Name: "flow", Data: fmt.Appendf(nil, `{"owner":%q}`, owner)}
}

// engineProcess is an engine in another process.
type engineProcess struct {
	cmd   *exec.Cmd
	in    io.Writer
	out   *bufio.Scanner
	ended sync.Once
}

// startEngine starts the engine "ann" on the tables of cfg, by way of that DSN.
func startEngine(t *testing.T, cfg postgres.Config, dsn string) *engineProcess {
	t.Helper()
	return startProcess(t, cfg, dsn, "TestEngineProcess")
}

// startProcess starts a process that executes that test.
func startProcess(t *testing.T, cfg postgres.Config, dsn, test string) *engineProcess {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^"+test+"$", "-engine="+dsn, "-schema="+cfg.Schema)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	e := &engineProcess{cmd: cmd, in: in, out: bufio.NewScanner(out)}
	t.Cleanup(e.kill)
	require.Equal(t, "begun", e.says())
	return e
}

func (e *engineProcess) says() string {
	e.out.Scan()
	return e.out.Text()
}

// append lets the engine append a record, and returns the result.
func (e *engineProcess) append(t *testing.T) string {
	t.Helper()
	_, err := fmt.Fprintln(e.in, "append")
	require.NoError(t, err)
	return e.says()
}

// kill kills the process and waits for its end. It may be called again, also at once.
func (e *engineProcess) kill() {
	e.ended.Do(func() {
		_ = e.cmd.Process.Kill()
		_ = e.cmd.Wait()
	})
}

func isAlive(t *testing.T, s *postgres.Store, owner string) bool {
	t.Helper()
	alive, err := s.Alive(t.Context(), owner)
	require.NoError(t, err)
	return alive
}

// awaitLife waits until s sees owner alive, or dead, and returns how long that took.
func awaitLife(t *testing.T, s *postgres.Store, owner string, want bool) time.Duration {
	t.Helper()
	began := time.Now()
	for isAlive(t, s, owner) != want {
		require.Less(t, time.Since(began), 100*silence)
		<-time.After(beats / 2)
	}
	return time.Since(began)
}

func orphans(t *testing.T, s *postgres.Store) (runs []string) {
	t.Helper()
	for l, err := range s.Orphans(t.Context()) {
		require.NoError(t, err)
		runs = append(runs, l.Run)
	}
	return runs
}
