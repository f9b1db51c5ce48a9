package worktree_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/worktree"
)

var (
	kills      = flag.Int("kills", 20, "how often TestKills kills the process")
	seed       = flag.Uint64("seed", 1, "of the moments at which it does")
	victimRepo = flag.String("victim", "", "the repository of a child process of the tests")
)

// TestVictim is the child process that TestKills kills.
func TestVictim(t *testing.T) {
	if *victimRepo == "" {
		t.Skip("it is a part of TestKills")
	}
	v := victim{log: *victimRepo + ".log", done: map[string]json.RawMessage{}}
	require.NoError(t, v.work(t.Context(), *victimRepo))
}

// victim works in a repository. As a run does, it keeps a log of the steps that have ended,
// with their results, and makes the step again in which it was killed.
type victim struct {
	log  string
	done map[string]json.RawMessage
}

// pairs is how often it does two tasks that change one file.
const pairs = 10

func (v *victim) work(ctx context.Context, dir string) error {
	data, err := os.ReadFile(v.log)
	if err == nil {
		err = json.Unmarshal(data, &v.done)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	w, err := worktree.Open(ctx, worktree.Config{Repo: dir, Run: "run-1", Init: true})
	for pair := 0; err == nil && pair < pairs; pair++ {
		err = v.pair(ctx, w, fmt.Sprint("t", pair))
	}
	if err == nil {
		_, err = w.Sweep(ctx, nil)
	}
	return err
}

// pair does two tasks: the second one conflicts with the first one, and is done again.
func (v *victim) pair(ctx context.Context, w *worktree.Trees, name string) error {
	one, two := name+"a", name+"b"
	err := errors.Join(v.attempt(ctx, w, one, 1), v.attempt(ctx, w, two, 1))
	if err == nil {
		err = v.merge(ctx, w, one, 1, true)
	}
	if err == nil {
		err = v.merge(ctx, w, two, 1, false)
	}
	if err == nil {
		err = v.attempt(ctx, w, two, 2)
	}
	if err == nil {
		err = v.merge(ctx, w, two, 2, true)
	}
	return err
}

func (v *victim) attempt(ctx context.Context, w *worktree.Trees, task string, n int) error {
	tree, err := v.tree(ctx, w, task, n)
	if err != nil {
		return err
	}
	_, err = step(v, fmt.Sprint("commit ", task, n), func() (string, error) {
		for name, content := range map[string]string{"main.txt": task, "src/" + task + ".txt": strings.Repeat(task, 9999)} {
			path := filepath.Join(tree.Path, filepath.FromSlash(name))
			err := os.MkdirAll(filepath.Dir(path), 0o755)
			if err == nil {
				err = os.WriteFile(path, []byte(content), 0o644)
			}
			if err != nil {
				return "", err
			}
		}
		return w.Commit(ctx, tree, worktree.Note{Phase: "build", Summary: task, Key: task}, nil)
	})
	return err
}

func (v *victim) tree(ctx context.Context, w *worktree.Trees, task string, n int) (worktree.Tree, error) {
	return step(v, fmt.Sprint("create ", task, n), func() (worktree.Tree, error) { return w.Create(ctx, task, n, "") })
}

// merge merges an attempt, or finds that it conflicts, and removes it.
func (v *victim) merge(ctx context.Context, w *worktree.Trees, task string, n int, lands bool) error { //nolint:revive // flag-parameter: what is expected
	tree, err := v.tree(ctx, w, task, n)
	if err != nil {
		return err
	}
	_, err = step(v, fmt.Sprint("merge ", task, n), func() (worktree.Merge, error) {
		head, err := w.Head(ctx, tree)
		if err != nil {
			return worktree.Merge{}, err
		}
		m, err := w.Merge(ctx, tree, head, "", nil)
		if err == nil && (m.Merged != lands || m.Behind != "" || m.Moved) {
			err = fmt.Errorf("the merge is %+v", m)
		}
		return m, err
	})
	if err == nil {
		_, err = step(v, fmt.Sprint("delete ", task, n), func() (bool, error) { return true, w.Delete(ctx, tree) })
	}
	return err
}

// step returns the result of a step in the log, or does it.
func step[T any](v *victim, name string, do func() (T, error)) (result T, err error) {
	if data, ok := v.done[name]; ok {
		return result, json.Unmarshal(data, &result)
	}
	if result, err = do(); err != nil {
		return result, fmt.Errorf("%s: %w", name, err)
	}
	if v.done[name], err = json.Marshal(result); err != nil {
		return result, err
	}
	data, err := json.Marshal(v.done)
	if err == nil {
		err = os.WriteFile(v.log+".new", data, 0o644)
	}
	if err == nil {
		err = os.Rename(v.log+".new", v.log)
	}
	return result, err
}

func TestKills(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts git often")
	}
	t.Parallel()
	t.Run("BX1 BX30 killed in the middle of git's commands, it does what is left", func(t *testing.T) {
		self, err := os.Executable()
		require.NoError(t, err)
		dice := rand.New(rand.NewPCG(*seed, 0)) //nolint:gosec // chance that can be repeated
		for left := *kills; left > 0; {
			r := newRepo(t)
			if dice.IntN(2) == 0 {
				require.NoError(t, os.RemoveAll(r.Dir)) // it is made, too
			}
			for ended := false; !ended; {
				ctx, cancel := context.WithCancel(t.Context())
				if left > 0 {
					most := 700
					if dice.IntN(2) == 0 {
						most = 100 // while it begins
					}
					time.AfterFunc(time.Duration(dice.IntN(most))*time.Millisecond, cancel)
				}
				cmd := exec.CommandContext(ctx, self, "-test.run=^TestVictim$", "-victim="+r.Dir)
				out, err := cmd.CombinedOutput()
				cancel()
				if ended = cmd.ProcessState.Success(); !ended {
					require.Negative(t, cmd.ProcessState.ExitCode(), "%v: %s", err, out)
					left--
				}
				if _, err := os.Stat(filepath.Join(r.Dir, ".git", "refs", "heads", "main")); err == nil {
					r.run("fsck", "--connectivity-only", "main")
				}
			}
			assert.Equal(t, 1+pairs*4, strings.Count(r.run("log", "--format=%H", "main")+"\n", "\n"), "a commit and a merge for each task, beside the first one")
			assert.Equal(t, 1+pairs*2, strings.Count(r.run("ls-tree", "-r", "--name-only", "main")+"\n", "\n"))
			assert.Empty(t, r.run("status", "--porcelain"), "the folder has followed")
			assert.Equal(t, fmt.Sprintf("t%db", pairs-1), read(t, r.Dir, "main.txt"))
			assert.Equal(t, "refs/heads/main", r.run("for-each-ref", "--format=%(refname)"))
			assert.NoDirExists(t, filepath.Join(r.Dir, "worktrees", "4e65d3fb"))
			assert.Equal(t, 1, strings.Count(r.run("worktree", "list", "--porcelain"), "worktree "))
		}
	})
}

// A git that was killed leaves any of its files for a worktree out, or empty.
func TestKilledWhileAWorktreeIsMadeOrRemoved(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts git often")
	}
	t.Parallel()
	damage := map[string]func(path string) error{
		"is missing": os.RemoveAll,
		"is empty":   func(path string) error { return os.WriteFile(path, nil, 0o644) },
	}
	for _, file := range []string{"HEAD", "commondir", "gitdir", "index"} {
		for how, harm := range damage {
			for _, making := range []bool{true, false} {
				for _, again := range []bool{true, false} {
					t.Run(fmt.Sprintf("BX2 BX30 %s %s, making %t, made again %t", file, how, making, again), func(t *testing.T) {
						r := newRepo(t)
						w := r.open()
						tree := create(t, w, "a", 1)
						commit := change(t, w, tree, "x", "1")
						own := filepath.Join(r.Dir, ".git", "worktrees", "a1")
						require.NoError(t, harm(filepath.Join(own, file)))
						if making {
							write(t, own, "locked", "initializing")
						} else {
							require.NoError(t, os.RemoveAll(tree.Path))
						}
						then := time.Now().Add(-2 * time.Second)
						require.NoError(t, os.Chtimes(own, then, then))

						other := r.config()
						other.Run = "another run"
						_, err := worktree.Open(t.Context(), other)
						require.NoError(t, err, "it stops no other run")
						w = r.open()
						if again {
							require.Equal(t, tree, create(t, w, "a", 1))
							assert.Equal(t, "1", read(t, tree.Path, "x"))
						}
						assert.True(t, merge(t, w, tree, commit).Merged)
						require.NoError(t, w.Delete(t.Context(), tree))
						_, err = w.Sweep(t.Context(), nil)
						require.NoError(t, err)
						assert.Empty(t, r.run("status", "--porcelain"))
						assert.NoDirExists(t, tree.Path)
						assert.NotContains(t, r.run("worktree", "list"), "\n", "git knows the main folder alone")
					})
				}
			}
		}
	}
	t.Run("BX30 a folder without its .git is made again, and is not taken for the repository around it", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		tree := create(t, w, "a", 1)
		write(t, tree.Path, "x", "1")
		require.NoError(t, os.Remove(filepath.Join(tree.Path, ".git")))
		write(t, r.Dir, "mine", "1")
		r.run("add", "mine")
		_, err := w.Commit(t.Context(), tree, worktree.Note{}, nil)
		require.ErrorContains(t, err, "not a git repository")
		require.Error(t, w.Reset(t.Context(), tree, tree.Base))
		assert.Equal(t, "A  mine", r.run("status", "--porcelain"), "what a user has staged is not committed")

		r.run("rm", "--cached", "--quiet", "mine")
		require.NoError(t, os.Remove(filepath.Join(r.Dir, "mine")))
		assert.Equal(t, tree, create(t, w, "a", 1))
		assert.NoFileExists(t, filepath.Join(tree.Path, "x"))
		assert.True(t, merge(t, w, tree, change(t, w, tree, "x", "2")).Merged)
	})
	t.Run("BX5 a worktree of a user in the same folder is left alone, also if it was moved away", func(t *testing.T) {
		r := newRepo(t)
		theirs := filepath.Join(r.Dir, "worktrees", "theirs")
		r.run("worktree", "add", "--quiet", "--detach", theirs)
		away := filepath.Join(t.TempDir(), "away")
		require.NoError(t, os.Rename(theirs, away))
		then := time.Now().Add(-time.Hour)
		require.NoError(t, os.Chtimes(filepath.Join(r.Dir, ".git", "worktrees", "theirs"), then, then))
		w := r.open()
		require.NoError(t, w.Delete(t.Context(), create(t, w, "a", 1)))
		r.run("worktree", "repair", away)
		assert.Contains(t, r.run("worktree", "list"), away)
	})
	t.Run("BX5 a worktree of others that is broken stops no run", func(t *testing.T) {
		r := newRepo(t)
		theirs := filepath.Join(t.TempDir(), "theirs")
		r.run("worktree", "add", "--quiet", "--detach", theirs)
		write(t, theirs, ".git", "rubbish")
		w := r.open()
		tree := create(t, w, "a", 1)
		assert.True(t, merge(t, w, tree, change(t, w, tree, "x", "1")).Merged)
		assert.DirExists(t, filepath.Join(r.Dir, ".git", "worktrees", "theirs"), "and is left alone")
	})
	t.Run("BX2 a folder whose update was killed a moment ago follows when the lock of its index is stale", func(t *testing.T) {
		r := newRepo(t)
		killed := errors.New("killed")
		w, err := worktree.OpenStopping(t.Context(), r.config(), func(args []string) error {
			if len(args) == 4 && args[1] == "refs/heads/main" {
				return killed
			}
			return nil
		})
		require.NoError(t, err)
		tree := create(t, w, "a", 1)
		_, err = w.Merge(t.Context(), tree, change(t, w, tree, "x", "1"), "", nil)
		require.ErrorIs(t, err, killed)
		leave(t, r.Dir, ".git/index.lock", 5*time.Second)
		r.open()
		assert.Equal(t, "1", read(t, r.Dir, "x"))
		assert.Empty(t, r.run("status", "--porcelain"))
	})
	t.Run("BC62 what is on the branch is merged, also if git fails afterwards", func(t *testing.T) {
		r := newRepo(t)
		broken := false
		w, err := worktree.OpenStopping(t.Context(), r.config(), func(args []string) error {
			if broken = broken || len(args) == 4 && args[1] == "refs/heads/main"; broken && args[0] == "read-tree" {
				return errors.New("the disk is full")
			}
			return nil
		})
		require.NoError(t, err)
		tree := create(t, w, "a", 1)
		m := merge(t, w, tree, change(t, w, tree, "x", "1"))
		assert.Equal(t, worktree.Merge{Merged: true, Commit: r.run("rev-parse", "main"), Behind: r.Dir}, m)
	})
}
