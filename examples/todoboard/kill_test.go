package main

import (
	"bufio"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/examples/internal/cli/clitest"
)

var (
	kills = flag.Int("kills", 4, "how often TestKills kills the program")
	seed  = flag.Uint64("seed", 1, "of the moments at which it does")
)

// victim is a board whose program is killed again and again.
type victim struct {
	program, repo, db string
	dice              *rand.Rand
}

func (v *victim) args() []string {
	return []string{"-dir", v.repo, "-db", v.db, "-answer", "My todos", "-pace", "2ms"}
}

// kill starts the program and kills it a moment after some lines of progress. ended says
// that it came to its end before.
func (v *victim) kill(t *testing.T) (ended bool) {
	t.Helper()
	lines, moment := v.dice.IntN(5), time.Duration(v.dice.IntN(150))*time.Millisecond
	cmd := exec.CommandContext(t.Context(), v.program, v.args()...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var timer *time.Timer
	for s := bufio.NewScanner(out); s.Scan(); {
		if !strings.HasPrefix(s.Text(), "  ") {
			continue // it is no progress
		}
		if lines--; lines < 0 && timer == nil {
			timer = time.AfterFunc(moment, func() { _ = cmd.Process.Kill() }) // it may have ended
		}
	}
	err = cmd.Wait()
	if timer != nil {
		timer.Stop()
	}
	if code := cmd.ProcessState.ExitCode(); code < 0 {
		return false // by the signal
	}
	require.NoError(t, err)
	return true
}

// main is the commit of the main branch; "": there is none yet. After any kill it is
// complete, and contains the commit before.
func (v *victim) main(t *testing.T, before string) string {
	t.Helper()
	git := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = v.repo
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	now, err := git("rev-parse", "--verify", "refs/heads/main")
	if before == "" && err != nil {
		return "" // it was killed before there was a first commit
	}
	require.NoError(t, err, now)
	said, err := git("rev-list", "--objects", "--quiet", now)
	require.NoError(t, err, "main is not whole: %s", said)
	if before != "" {
		_, err = git("merge-base", "--is-ancestor", before, now)
		require.NoError(t, err, "main was at %s, and is at %s", before, now)
	}
	return now
}

// The program is killed at seeded moments and started again: it continues, no answer is
// requested twice, main is never broken, and in the end the board is complete.
func TestKills(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it builds a server in a repository")
	}
	program, left := clitest.Build(t), *kills
	dice := rand.New(rand.NewPCG(*seed, 0)) //nolint:gosec // chance that can be repeated
	for board := 1; left > 0; board++ {
		dir := t.TempDir()
		v := &victim{program, filepath.Join(dir, "repo"), filepath.Join(dir, "b.db"), dice}
		tip, ended := "", false
		for left > 0 && !ended {
			if ended = v.kill(t); !ended {
				left--
			}
			tip = v.main(t, tip)
		}
		out, err := exec.CommandContext(t.Context(), program, v.args()...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.Contains(t, string(out), "completed: 9 of 9 tasks complete")
		assert.NotContains(t, string(out), "warning: ")
		repository(t, v.repo, "My todos")
		v.neverBroken(t)
		for call, n := range clitest.Answers(clitest.Log(t, v.db, (&options{dir: v.repo}).family())) {
			assert.Equal(t, 1, n, "%s is on record once", call)
		}
		t.Logf("board %d is built, %d kills are left", board, left)
	}
}

// neverBroken builds and tests every commit that main has been at.
func (v *victim) neverBroken(t *testing.T) {
	t.Helper()
	tree := filepath.Join(t.TempDir(), "tree")
	in(t, v.repo, "git", "worktree", "add", "--detach", tree)
	for commit := range strings.FieldsSeq(in(t, v.repo, "git", "rev-list", "--first-parent", "main")) {
		in(t, tree, "git", "checkout", "--quiet", commit)
		if _, err := os.Stat(filepath.Join(tree, "go.mod")); err == nil {
			in(t, tree, "go", "test", "./...")
		}
	}
}
