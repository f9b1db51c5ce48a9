// Package clitest runs example programs in tests: in this process, or built and killed.
package clitest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/sqlite"
	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/examples/internal/cli/vterm"
)

// Ran is the result of one start of a program.
type Ran struct {
	Code     int
	Out, Err string
	Drawn    string // on a terminal: all that was written to it, in order
}

// Program is a program under test.
type Program struct {
	Name string
	Run  cli.Program
	Env  map[string]string
	In   string
}

// Start runs the program in this process.
func (p Program) Start(ctx context.Context, args ...string) Ran {
	var out, errs bytes.Buffer
	code := cli.Run(ctx, p.Name, p.Run, args, cli.Console{
		In: strings.NewReader(p.In), Out: &out, Err: &errs, Getenv: func(k string) string { return p.Env[k] },
	})
	return Ran{Code: code, Out: out.String(), Err: errs.String()}
}

// Refuses starts the program in an empty folder and checks that it ends with that code and
// an error of one line that contains why. It returns what is in the folder then.
func (p Program) Refuses(t *testing.T, in string, code int, why string, args ...string) (left []string) {
	t.Helper()
	t.Chdir(t.TempDir())
	p.In = in
	got := p.Start(t.Context(), args...)
	assert.Equal(t, code, got.Code, got.Err)
	assert.Contains(t, got.Err, why)
	assert.Equal(t, 1, strings.Count(got.Err, "\n"), "one line: %s", got.Err)
	assert.True(t, strings.HasPrefix(got.Err, p.Name+": "), got.Err)
	assert.Empty(t, got.Out)
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, f := range files {
		left = append(left, f.Name())
	}
	return left
}

// InterruptAt runs the program and cancels its context once its output contains text.
func (p Program) InterruptAt(ctx context.Context, text string, args ...string) Ran {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := &interrupter{at: text, cancel: cancel}
	var errs bytes.Buffer
	code := cli.Run(ctx, p.Name, p.Run, args, cli.Console{Out: out, Err: &errs, Getenv: func(k string) string { return p.Env[k] }})
	return Ran{Code: code, Out: out.out.String(), Err: errs.String()}
}

type interrupter struct {
	out    bytes.Buffer
	at     string
	cancel context.CancelFunc
}

// Write implements io.Writer.
func (i *interrupter) Write(p []byte) (int, error) {
	n, err := i.out.Write(p)
	if strings.Contains(i.out.String(), i.at) {
		i.cancel()
	}
	return n, err
}

// Terminal runs the program on a terminal of that size. Out is what it shows at the
// end, after what was scrolled out.
func (p Program) Terminal(ctx context.Context, width, height int, args ...string) Ran {
	screen := vterm.New(width, height)
	var errs bytes.Buffer
	code := cli.Run(ctx, p.Name, p.Run, args, cli.Console{In: strings.NewReader(p.In), Out: screen, Err: &errs, Size: screen.Size})
	return Ran{code, screen.String(), errs.String(), screen.Drawn()}
}

// Build builds the program of this folder, and returns its path.
func Build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// KillAt starts a built program and kills it when it has printed that many lines that
// contain text.
func KillAt(t *testing.T, text string, lines int, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	for s := bufio.NewScanner(out); lines > 0 && s.Scan(); {
		if strings.Contains(s.Text(), text) {
			lines--
		}
	}
	require.Zero(t, lines, "it ended before it was killed")
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
}

// Log returns the records of a run.
func Log(t *testing.T, db, run string) []runlog.Record {
	t.Helper()
	s, err := sqlite.Open(db)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	var all []runlog.Record
	for rec, err := range s.Records(t.Context(), run, 0) {
		require.NoError(t, err)
		all = append(all, rec)
	}
	return all
}

// Answers counts the recorded answers of each call.
func Answers(log []runlog.Record) map[string]int {
	n := map[string]int{}
	for _, rec := range log {
		if rec.Kind == runlog.Called {
			n[fmt.Sprintf("%s:%d of %s", rec.Branch, rec.N, rec.Name)]++
		}
	}
	return n
}
