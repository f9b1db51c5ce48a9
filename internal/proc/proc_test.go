//go:build unix

package proc_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/internal/proc"
)

// sh is a command for the shell.
func sh(t *testing.T, script string) proc.Command {
	t.Helper()
	return proc.Command{Path: "/bin/sh", Args: []string{"-c", script}, Dir: t.TempDir(), Env: []string{"PATH=/usr/bin:/bin"}, Time: time.Minute}
}

func run(t *testing.T, c proc.Command) proc.Result {
	t.Helper()
	res, err := proc.Run(t.Context(), c)
	require.NoError(t, err)
	return res
}

func TestRun(t *testing.T) {
	c := sh(t, `cat; pwd; echo bad >&2; exit 3`)
	c.Stdin = "said\n"
	res := run(t, c)
	assert.Equal(t, proc.Exited, res.End)
	assert.Equal(t, 3, res.Code)
	assert.Equal(t, "said\n"+c.Dir+"\n", res.Stdout.String())
	assert.Equal(t, "bad\n", res.Stderr.String())
	assert.Empty(t, res.Why)
}

func TestErrors(t *testing.T) {
	_, err := proc.Run(t.Context(), proc.Command{Path: "/no/such/program", Dir: t.TempDir()})
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.ErrorContains(t, err, "start /no/such/program: ")

	c := sh(t, "true")
	c.Dir = "/no/such/folder"
	_, err = proc.Run(t.Context(), c)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "start /bin/sh: the folder that it runs in: ")

	c = sh(t, "true")
	c.Path = c.Dir // a folder
	_, err = proc.Run(t.Context(), c)
	require.ErrorIs(t, err, os.ErrPermission)

	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("no longer wanted")
	cancel(why)
	_, err = proc.Run(ctx, sh(t, "touch started"))
	require.ErrorIs(t, err, why)
}

func TestEnvironmentIsNotInherited(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "secret")
	c := sh(t, "env; cat /proc/$PPID/environ /proc/self/environ 2>/dev/null; true")
	c.Env = nil
	assert.NotContains(t, run(t, c).Stdout.String(), "secret")
}

func TestLimits(t *testing.T) {
	tests := []struct {
		name   string
		script string
		limit  func(*proc.Command)
		end    proc.End
		why    string
	}{
		{"a program that hangs", "sleep 1000", func(c *proc.Command) { c.Time = 50 * time.Millisecond }, proc.TimedOut, "killed after the time limit of 50ms"},
		{"one that does not listen", "trap '' TERM INT HUP; while :; do sleep 1; done", func(c *proc.Command) { c.Time = 50 * time.Millisecond }, proc.TimedOut, "killed after the time limit of 50ms"},
		{"a flood", "yes", func(c *proc.Command) { c.Flood = 1 << 20 }, proc.Flooded, "killed after it wrote more than 1048576 bytes"},
		{"a flood of errors", "yes >&2", func(c *proc.Command) { c.Flood = 1 << 20 }, proc.Flooded, "killed after it wrote more than 1048576 bytes"},
		{"killed by another", "sleep 1000 & kill -9 $!; wait $!; kill -9 -$$; sleep 1000", func(*proc.Command) {}, proc.Signaled, "signal: killed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.end == proc.Signaled && proc.Isolates() {
				t.Skip("no process of a namespace can kill its first one")
			}
			c := sh(t, tt.script)
			tt.limit(&c)
			res := run(t, c)
			assert.Equal(t, tt.end, res.End)
			assert.Equal(t, tt.why, res.Why)
			assert.Equal(t, -1, res.Code)
		})
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	c := sh(t, "echo begun; mkfifo f; : >f; sleep 1000")
	why := errors.New("no longer wanted")
	go func() { // the program waits for a reader
		path := filepath.Join(c.Dir, "f")
		for {
			if _, err := os.ReadFile(path); err == nil {
				break
			}
		}
		cancel(why)
	}()
	res, err := proc.Run(ctx, c)
	require.ErrorIs(t, err, why)
	assert.Equal(t, "begun\n", res.Stdout.String(), "what it wrote until then is there")
}

func TestOutputIsCut(t *testing.T) {
	c := sh(t, `i=0; while [ $i -lt 1000 ]; do echo "line $i"; i=$((i+1)); done`)
	c.Output = 40
	res := run(t, c)
	assert.Equal(t, "line 0\nline 1\nline 2", strings.TrimSuffix(res.Stdout.Head, "\n"))
	assert.Equal(t, "e 997\nline 998\nline 999\n"[4:], res.Stdout.Tail)
	total := int64(10*7 + 90*8 + 900*9)
	assert.Equal(t, total-40, res.Stdout.Cut)
	assert.Contains(t, res.Stdout.String(), "\n[cut: 8850 bytes]\n")
}

// Whatever is left when the program itself has ended goes with it.
func TestNothingIsLeft(t *testing.T) {
	for name, script := range map[string]string{
		"a child in the background": "sleep 999 &",
		"a group of its own":        "set -m; sleep 999 & ",
		"deaf children":             "(trap '' TERM HUP; sleep 999) &",
	} {
		t.Run(name, func(t *testing.T) {
			c := sh(t, script+"\necho done")
			c.Mark = "left-" + filepath.Base(c.Dir)
			res := run(t, c)
			assert.Equal(t, proc.Exited, res.End)
			assert.Equal(t, "done\n", res.Stdout.String())
			assert.Less(t, res.Elapsed, 30*time.Second)
			if name != "a group of its own" || proc.Isolates() {
				n, err := proc.Sweep(t.Context(), c.Mark)
				require.NoError(t, err)
				assert.Zero(t, n)
			}
		})
	}
}
