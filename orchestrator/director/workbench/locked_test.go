package workbench_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/director/workbench"
)

// Code that a model wrote may leave folders without permissions.
func TestFoldersWithoutPermissionsAreRemoved(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no such permissions")
	}
	lock := []string{"sh", "-c", "mkdir -p $TMPDIR/a/b left/c && chmod 0 $TMPDIR/a left"}
	w, repo, commit := open(t, workbench.Config{Commands: map[string][]string{"lock": lock}}, nil)
	assert.True(t, check(t, w, commit, lock...).Passed)
	said, err := call(t, w, repo, "run", `{"command":"lock"}`)
	require.NoError(t, err)
	assert.Equal(t, "\n(exit code 0)", said)
	require.NoError(t, os.Chmod(filepath.Join(repo, "left"), 0o700)) //nolint:gosec // so that it can be removed

	left := filepath.Join(state, "tmp", "left")
	write(t, left, map[string]string{"a/x": "of a process that was killed"})
	require.NoError(t, os.Chmod(filepath.Join(left, "a"), 0))
	require.NoError(t, os.Chtimes(left, time.Time{}, time.Now().Add(-time.Hour)))
	assert.True(t, check(t, w, commit, "true").Passed, "which finds no folder left afterwards")
}

// What a check says of many tests that failed does not take long to read.
func TestManyFailures(t *testing.T) {
	var events strings.Builder
	for range 20_000 {
		events.WriteString(`{"Action":"fail","Package":"m","Test":"TestA/`)
		events.WriteString(strings.Repeat("x", 60))
		events.WriteString(strings.Repeat("y", events.Len()%97))
		events.WriteString(time.Duration(events.Len()).String())
		events.WriteString("\"}\n")
	}
	w, _, commit := open(t, workbench.Config{}, map[string]string{"events": events.String()})
	began := time.Now()
	assert.Len(t, check(t, w, commit, "sh", "-c", "cat events; exit 1").Failed, 20_000)
	assert.Less(t, time.Since(began), 20*time.Second)
}
