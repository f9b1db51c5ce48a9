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

	"github.com/convene-go/convene/examples/internal/cli/clitest"
)

// A second film on the same run shows it, and resumes it when the first one is killed.
func TestTwoFilmsOneOfThemKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it kills processes")
	}
	program, dir := clitest.Build(t), t.TempDir()
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
	for call, n := range clitest.Answers(records(t, db)) {
		assert.Equal(t, 1, n, call)
	}
}

func TestKilledTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it kills processes")
	}
	program, dir := clitest.Build(t), t.TempDir()
	whole, killed := filepath.Join(dir, "whole.db"), filepath.Join(dir, "killed.db")
	args := func(db, pace, out string) []string {
		return []string{"-db", db, "-pace", pace, "-o", filepath.Join(dir, out), bread}
	}
	got := start(t, nil, args(whole, "0", "whole.json")...)
	require.Equal(t, 0, got.Code, got.Err)

	clitest.KillAt(t, "attempt 1", 2, program, args(killed, "30ms", "none.json")...)
	first := records(t, killed)
	require.NotEmpty(t, clitest.Answers(first))
	clitest.KillAt(t, "done, quality", 1, program, args(killed, "30ms", "none.json")...)
	second := records(t, killed)
	assert.Equal(t, first, second[:len(first)], "what was recorded stays")
	assert.Greater(t, len(clitest.Answers(second)), len(clitest.Answers(first)))

	cmd := exec.CommandContext(t.Context(), program, args(killed, "0", "killed.json")...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	assert.Contains(t, string(out), fmt.Sprintf("resumed run %s with %d recorded answers", family(), len(clitest.Answers(second))))
	last := records(t, killed)
	assert.Equal(t, second, last[:len(second)], "what was recorded stays")
	assert.Equal(t, clitest.Answers(records(t, whole)), clitest.Answers(last), "the same calls, each recorded once")
	assert.Equal(t, outcome(t, filepath.Join(dir, "whole.json")), outcome(t, filepath.Join(dir, "killed.json")))
}
