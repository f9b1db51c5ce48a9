// Package gittest replaces git by one that fails on demand, for tests.
package gittest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Killer is a git that is killed in one of its commands, before it has done anything. It is
// found instead of git by this process until the test ends.
type Killer struct {
	tb    testing.TB
	count string // a file
}

// New returns one that does all its commands, or skips the test on Windows.
func New(t *testing.T) *Killer {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("git is replaced by a shell script")
	}
	real, err := exec.LookPath("git")
	require.NoError(t, err)
	dir := t.TempDir()
	k := &Killer{t, filepath.Join(dir, "count")}
	k.At(0)
	script := fmt.Sprintf("#!/bin/sh\nread n <'%[1]s'\nn=$((n-1))\necho $n >'%[1]s'\n[ $n -eq 0 ] && exit 137\nexec '%[2]s' \"$@\"\n", k.count, real)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o700)) //nolint:gosec // it is a program
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))               //nolint:forbidigo // of the test's own process
	return k
}

// At lets the n-th command from now on be killed; 0: none.
func (k *Killer) At(n int) {
	k.tb.Helper()
	require.NoError(k.tb, os.WriteFile(k.count, []byte(strconv.Itoa(n)+"\n"), 0o600))
}

// Killed says whether that command was reached, and kills no more.
func (k *Killer) Killed() bool {
	k.tb.Helper()
	left, err := os.ReadFile(k.count)
	require.NoError(k.tb, err)
	n, err := strconv.Atoi(strings.TrimSpace(string(left)))
	require.NoError(k.tb, err)
	k.At(0)
	return n <= 0
}
