package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
)

// build makes the program as a user would.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "film")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// killAt starts the program and kills it when it has printed that many lines with
// text.
func killAt(t *testing.T, cmd *exec.Cmd, text string, lines int) {
	t.Helper()
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

// effects counts the recorded answers of each call.
func effects(log []blackboard.Record) map[string]int {
	n := map[string]int{}
	for _, rec := range log {
		if rec.Kind == blackboard.Called {
			n[fmt.Sprintf("%s:%d of %s", rec.Branch, rec.N, rec.Name)]++
		}
	}
	return n
}

// A second film on the same run shows it, and resumes it when the first one is killed.
func TestTwoFilmsOneOfThemKilled(t *testing.T) {
	program, dir := build(t), t.TempDir()
	db := filepath.Join(dir, "f.db")
	first := exec.CommandContext(t.Context(), program, "-db", db, "-pace", "1h", bread)
	out, err := first.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, first.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "asks") { // it has begun
	}

	second := exec.CommandContext(t.Context(), program, "-db", db, "-pace", "0", bread)
	out, err = second.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, second.Start())
	lines = bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "another film works on run ") {
		require.NotContains(t, lines.Text(), "resumed")
	}
	require.NoError(t, first.Process.Kill())
	require.Error(t, first.Wait())
	report := ""
	for lines.Scan() {
		report += lines.Text() + "\n"
	}
	require.NoError(t, second.Wait())
	assert.Contains(t, report, "completed: overall score")
	for call, n := range effects(records(t, db)) {
		assert.Equal(t, 1, n, call)
	}
}

func TestKilledTwice(t *testing.T) {
	program, dir := build(t), t.TempDir()
	whole, killed := filepath.Join(dir, "whole.db"), filepath.Join(dir, "killed.db")
	args := func(db, pace, out string) []string {
		return []string{"-db", db, "-pace", pace, "-o", filepath.Join(dir, out), bread}
	}
	got := start(t.Context(), nil, args(whole, "0", "whole.json")...)
	require.Equal(t, 0, got.code, got.err)

	killAt(t, exec.CommandContext(t.Context(), program, args(killed, "30ms", "none.json")...), "attempt 1", 2)
	first := records(t, killed)
	require.NotEmpty(t, effects(first))
	killAt(t, exec.CommandContext(t.Context(), program, args(killed, "30ms", "none.json")...), "done, quality", 1)
	second := records(t, killed)
	assert.Equal(t, first, second[:len(first)], "what was recorded stays")
	assert.Greater(t, len(effects(second)), len(effects(first)))

	cmd := exec.CommandContext(t.Context(), program, args(killed, "0", "killed.json")...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	assert.Contains(t, string(out), fmt.Sprintf("resumed run %s with %d recorded answers", family(options{request: bread}), len(effects(second))))
	last := records(t, killed)
	assert.Equal(t, second, last[:len(second)], "what was recorded stays")
	assert.Equal(t, effects(records(t, whole)), effects(last), "the same calls, each recorded once")
	assert.Equal(t, outcome(t, filepath.Join(dir, "whole.json")), outcome(t, filepath.Join(dir, "killed.json")))
}
