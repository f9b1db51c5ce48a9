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
	k := &Killer{t, filepath.Join(t.TempDir(), "count")}
	k.At(0)
	replace(t, fmt.Sprintf("read n <'%[1]s'\nn=$((n-1))\necho $n >'%[1]s'\n[ $n -eq 0 ] && exit 137\n", k.count))
	return k
}

// OtherOwner has git take each repository for one of another owner until the test ends, and
// gives the user a configuration that trusts some of them. It skips the test on Windows.
func OtherOwner(t *testing.T, trusted ...string) {
	t.Helper()
	replace(t, "export GIT_TEST_ASSUME_DIFFERENT_OWNER=1\n")
	Configured(t, "[safe]\n\tdirectory = "+strings.Join(trusted, "\n\tdirectory = ")+"\n")
}

// Configured gives the user that configuration, and no other, until the test ends. It
// returns the user's home.
func Configured(t *testing.T, config string) (home string) {
	t.Helper()
	home = t.TempDir()
	file := filepath.Join(home, ".gitconfig")
	for name, value := range map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": "",
		"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": file, "GIT_CONFIG_COUNT": "0", "GIT_CONFIG_PARAMETERS": "",
	} {
		t.Setenv(name, value)
	}
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	return home
}

// replace has this process find a script instead of git, which continues with git.
func replace(t *testing.T, script string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("git is replaced by a shell script")
	}
	real, err := exec.LookPath("git")
	require.NoError(t, err)
	dir := t.TempDir()
	script = "#!/bin/sh\n" + script + "exec '" + real + "' \"$@\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o700)) //nolint:gosec // it is a program
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))               //nolint:forbidigo // of the test's own process
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
