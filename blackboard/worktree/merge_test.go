package worktree_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/worktree"
)

func TestMerge(t *testing.T) {
	t.Run("BA117 BC20 the same line: the second one conflicts, with the file", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		one, two := create(t, w, "one", 1), create(t, w, "two", 1)
		ofOne, ofTwo := change(t, w, one, "main.txt", "1\none\n3\n4\n5\n"), change(t, w, two, "main.txt", "1\ntwo\n3\n4\n5\n")
		assert.True(t, merge(t, w, one, ofOne).Merged)
		before := r.run("rev-parse", "main")
		assert.Equal(t, worktree.Merge{Conflicts: []string{"main.txt"}}, merge(t, w, two, ofTwo))
		assert.Equal(t, before, r.run("rev-parse", "main"))
		assert.Contains(t, r.file("main", "main.txt"), "one")
		assert.Empty(t, r.run("status", "--porcelain"), "nothing half-done is anywhere")
	})
	t.Run("BA117 all files that conflict, sorted", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		one, two := create(t, w, "one", 1), create(t, w, "two", 1)
		for i, tree := range []worktree.Tree{one, two} {
			write(t, tree.Path, "z ü", fmt.Sprint(i))
			write(t, tree.Path, "a", fmt.Sprint(i))
			change(t, w, tree, "same", "same")
			_, err := w.Commit(t.Context(), tree, worktree.Note{}, nil)
			require.NoError(t, err)
		}
		head := func(tree worktree.Tree) string { return r.run("rev-parse", tree.Branch) }
		assert.True(t, merge(t, w, one, head(one)).Merged)
		assert.Equal(t, []string{"a", "z ü"}, merge(t, w, two, head(two)).Conflicts)
	})
	t.Run("BA118 B97 B100 different files: both, one merge a task", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		one, two := create(t, w, "one", 1), create(t, w, "two", 1)
		ofOne, ofTwo := change(t, w, one, "one", "1"), change(t, w, two, "two", "2")
		first, second := merge(t, w, one, ofOne), merge(t, w, two, ofTwo)
		assert.Equal(t, "1"+"2", r.file("main", "one")+r.file("main", "two"))
		assert.Equal(t, first.Commit+" "+ofTwo, r.run("log", "-1", "--format=%P", second.Commit))
		assert.Equal(t, one.Base+" "+ofOne, r.run("log", "-1", "--format=%P", first.Commit), "a commit of its own although none was needed")
		assert.Equal(t, second.Commit, r.run("rev-parse", "main"))
		assert.Equal(t, "run-1/two/a1", r.run("log", "-1", "--format=%(trailers:key=Orchestrator-Task,valueonly)", "main"))
	})
	t.Run("BA119 BX2 again: the merge that is there", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		one := create(t, w, "one", 1)
		id := change(t, w, one, "x", "1")
		first := merge(t, w, one, id)
		two := create(t, w, "two", 1)
		merge(t, w, two, change(t, w, two, "y", "1"))
		before := r.run("rev-parse", "main")
		assert.Equal(t, first, merge(t, r.open(), one, id))
		assert.Equal(t, before, r.run("rev-parse", "main"))
		assert.Equal(t, worktree.Merge{Merged: true, Commit: before}, merge(t, w, one, one.Base), "what main has by itself")
	})
	t.Run("BC61 Check can refuse a merge", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		one := create(t, w, "one", 1)
		id := change(t, w, one, "x", "1")
		before := r.run("rev-parse", "main")
		broken := errors.New("tests fail")
		_, err := w.Merge(t.Context(), one, id, "", func(_ context.Context, commit, _ string) error {
			assert.Equal(t, "1", r.file(commit, "x"))
			return broken
		})
		require.ErrorIs(t, err, broken)
		assert.Equal(t, before, r.run("rev-parse", "main"))
	})
	t.Run("BX4 main that others move is merged with anew, three times", func(t *testing.T) {
		if testing.Short() {
			t.Skip("long: it starts git often")
		}
		r := newRepo(t)
		r.run("checkout", "--quiet", "--detach")
		w := r.open()
		one := create(t, w, "one", 1)
		id := change(t, w, one, "x", "1")
		moves := 0
		moveMain := func(times int) func(context.Context, string, string) error {
			return func(context.Context, string, string) error {
				if moves < times {
					moves++
					tip := r.run("commit-tree", "main^{tree}", "-p", "main", "-m", "elsewhere")
					r.run("update-ref", "refs/heads/main", tip)
				}
				return nil
			}
		}
		m, err := w.Merge(t.Context(), one, id, "", moveMain(3))
		require.NoError(t, err)
		assert.True(t, m.Merged)
		assert.Equal(t, 3, moves)
		two := create(t, w, "two", 1)
		id = change(t, w, two, "y", "1")
		moves = 0
		m, err = w.Merge(t.Context(), two, id, "", moveMain(9))
		require.NoError(t, err)
		assert.Equal(t, worktree.Merge{Moved: true}, m)
		assert.Equal(t, 4, moves)
	})
	t.Run("B97 bad commits and branches", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		one := create(t, w, "one", 1)
		_, err := w.Merge(t.Context(), one, "main", "", nil)
		require.ErrorContains(t, err, `"main" is no commit`)
		_, err = w.Merge(t.Context(), one, one.Base, "nothing", nil)
		require.ErrorContains(t, err, `branch "nothing" does not exist`)
		_, err = w.Merge(t.Context(), one, strings.Repeat("1", 40), "", nil)
		require.ErrorContains(t, err, "exit 128")
	})
}

// errStopped is how a test ends a process.
var errStopped = errors.New("stopped")

// oneRun does what a run does with two tasks, of which the second one conflicts. It can be
// repeated after it was stopped anywhere. Reviewed has the trees whose merge was tried, as
// the log of a run would: nothing is deleted before that is on record.
func oneRun(ctx context.Context, c worktree.Config, reviewed map[string]worktree.Tree, after func([]string) error) error {
	w, err := worktree.OpenStopping(ctx, c, after)
	if err != nil {
		return err
	}
	attempt := func(task string, n int, content string) (worktree.Tree, worktree.Merge, error) {
		tree, err := w.Create(ctx, task, n, "")
		if err != nil {
			return tree, worktree.Merge{}, err
		}
		if err := os.WriteFile(filepath.Join(tree.Path, "main.txt"), []byte(content), 0o644); err != nil {
			return tree, worktree.Merge{}, err
		}
		if err := os.WriteFile(filepath.Join(tree.Path, task), []byte(content), 0o644); err != nil {
			return tree, worktree.Merge{}, err
		}
		id, err := w.Commit(ctx, tree, worktree.Note{Phase: "build", Summary: task, Key: fmt.Sprint(task, n)}, nil)
		if err != nil {
			return tree, worktree.Merge{}, err
		}
		m, err := w.Merge(ctx, tree, id, "", nil)
		return tree, m, err
	}
	if len(reviewed) == 0 { // both start from the same commit, as tasks side by side do
		for _, task := range []string{"one", "two"} {
			if _, err := w.Create(ctx, task, 1, ""); err != nil {
				return err
			}
		}
	}
	for _, task := range []string{"one", "two"} {
		if _, ok := reviewed[task]; ok {
			continue
		}
		tree, m, err := attempt(task, 1, "1\n"+task+"\n3\n4\n5\n")
		if err != nil {
			return err
		}
		if m.Merged != (task == "one") {
			return fmt.Errorf("%s: %+v", task, m)
		}
		reviewed[task] = tree
	}
	if _, err := w.Sweep(ctx, []string{reviewed["two"].Branch}); err != nil {
		return err
	}
	return errors.Join(w.Delete(ctx, reviewed["one"]), w.Remove(ctx, reviewed["two"]))
}

func TestStoppedAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts git often")
	}
	t.Run("BX2 BX30 BX6 BA119 stopped after any command of git, and repeated", func(t *testing.T) {
		commands := 0
		whole := newRepo(t)
		require.NoError(t, oneRun(t.Context(), whole.config(), map[string]worktree.Tree{}, func([]string) error { commands++; return nil }))
		require.Greater(t, commands, 50)
		var group sync.WaitGroup
		stops := make(chan int, commands)
		for n := range commands {
			stops <- n
		}
		close(stops)
		for range 4 {
			group.Go(func() {
				for n := range stops {
					stoppedAfter(t, n, whole.run("log", "--format=%s", "--first-parent", "main"))
				}
			})
		}
		group.Wait()
	})
}

// stoppedAfter stops a run after its nth command of git and at later ones, until it is
// through, and compares what is there then.
func stoppedAfter(t *testing.T, n int, want string) {
	t.Helper()
	r, left, reviewed := newRepo(t), n, map[string]worktree.Tree{}
	err := oneRun(t.Context(), r.config(), reviewed, func([]string) error {
		if left--; left < 0 {
			return errStopped
		}
		return nil
	})
	if !assert.ErrorIs(t, err, errStopped, "after %d", n) {
		return
	}
	if err := oneRun(t.Context(), r.config(), reviewed, nil); !assert.NoError(t, err, "again after %d", n) {
		return
	}
	assert.Equal(t, want, r.run("log", "--format=%s", "--first-parent", "main"), "after %d", n)
	assert.Equal(t, "1\none\n3\n4\n5", r.file("main", "main.txt"), "after %d", n)
	assert.Empty(t, r.run("status", "--porcelain"), "after %d", n)
	assert.Equal(t, 1, strings.Count(r.run("worktree", "list"), "\n")+1, "after %d", n)
	assert.Equal(t, "refs/convene/base/4e65d3fb/two/a1\nrefs/heads/main\nrefs/heads/task/4e65d3fb/two/a1", r.run("for-each-ref", "--format=%(refname)"), "after %d", n)
}

func TestKilledWhileFilesAreWritten(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts git often")
	}
	// stopped merges a file that is changed, one that is new and one that is removed, and
	// stops before the folder is updated.
	stopped := func(t *testing.T) (*repo, string) {
		r := newRepo(t)
		write(t, r.Dir, "gone", "x")
		r.run("add", "--all")
		r.run("commit", "--quiet", "-m", "gone")
		w, err := worktree.OpenStopping(t.Context(), r.config(), func(args []string) error {
			if len(args) == 4 && args[1] == "refs/heads/main" {
				return errStopped
			}
			return nil
		})
		require.NoError(t, err)
		tree := create(t, w, "a", 1)
		require.NoError(t, os.Remove(filepath.Join(tree.Path, "gone")))
		write(t, tree.Path, "new", "new content")
		write(t, tree.Path, "main.txt", "changed content")
		id, err := w.Commit(t.Context(), tree, worktree.Note{}, nil)
		require.NoError(t, err)
		_, err = w.Merge(t.Context(), tree, id, "", nil)
		require.ErrorIs(t, err, errStopped)
		assert.NotEmpty(t, r.run("status", "--porcelain"), "main was moved, and the folder was not")
		return r, r.run("rev-parse", "main")
	}
	t.Run("BC62 BX2 some files are written, one of them half, and the lock is left", func(t *testing.T) {
		r, _ := stopped(t)
		write(t, r.Dir, "main.txt", "changed content")
		write(t, r.Dir, "new", "new co")
		require.NoError(t, os.Remove(filepath.Join(r.Dir, "gone")))
		lock := filepath.Join(r.Dir, ".git", "index.lock")
		write(t, r.Dir, ".git/index.lock", "")
		old := time.Now().Add(-time.Hour)
		require.NoError(t, os.Chtimes(lock, old, old))
		r.open()
		assert.Empty(t, r.run("status", "--porcelain"))
		assert.Equal(t, "new content", read(t, r.Dir, "new"))
	})
	t.Run("BC62 the index was written, and only the note is left", func(t *testing.T) {
		r, head := stopped(t)
		r.run("read-tree", "-m", "-u", head+"~1", head)
		r.open()
		assert.Empty(t, r.run("for-each-ref", "refs/convene/forward"))
		assert.Empty(t, r.run("status", "--porcelain"))
	})
	for name, content := range map[string]string{"main.txt": "mine", "new": "mine, too", "gone": "mine as well"} {
		t.Run("BC62 BX3 other changes are kept: "+name, func(t *testing.T) {
			r, _ := stopped(t)
			write(t, r.Dir, name, content)
			w := r.open()
			tree := create(t, w, "b", 1)
			_, err := w.Merge(t.Context(), tree, change(t, w, tree, "other", "1"), "", nil)
			require.ErrorIs(t, err, worktree.ErrDirtyRepo)
			assert.Equal(t, content, read(t, r.Dir, name))
		})
	}
	t.Run("BC62 waits for a process that uses the folder", func(t *testing.T) {
		r, _ := stopped(t)
		write(t, r.Dir, ".git/index.lock", "")
		done := make(chan error, 1)
		var wait sync.WaitGroup
		wait.Go(func() {
			<-time.NewTimer(300 * time.Millisecond).C
			done <- os.Remove(filepath.Join(r.Dir, ".git", "index.lock"))
		})
		r.open()
		wait.Wait()
		require.NoError(t, <-done)
		assert.Empty(t, r.run("status", "--porcelain"))
	})
}

func TestSeveralRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts git often")
	}
	t.Run("BX31 B100 two runs on one repository at once", func(t *testing.T) {
		r := newRepo(t)
		const tasks = 4
		var group sync.WaitGroup
		for n := range 2 {
			group.Go(func() {
				c := r.config()
				c.Run = fmt.Sprint("run-", n)
				w, err := worktree.Open(t.Context(), c)
				if !assert.NoError(t, err) {
					return
				}
				for i := range tasks {
					task := fmt.Sprintf("t%d-%d", n, i)
					tree, err := w.Create(t.Context(), task, 1, "")
					if !assert.NoError(t, err) {
						return
					}
					assert.NoError(t, os.WriteFile(filepath.Join(tree.Path, task), []byte(task), 0o644))
					id, err := w.Commit(t.Context(), tree, worktree.Note{}, nil)
					if !assert.NoError(t, err) {
						return
					}
					m, err := w.Merge(t.Context(), tree, id, "", nil)
					assert.NoError(t, err)
					assert.True(t, m.Merged)
					assert.NoError(t, w.Remove(t.Context(), tree))
				}
			})
		}
		group.Wait()
		for n := range 2 {
			for i := range tasks {
				task := fmt.Sprintf("t%d-%d", n, i)
				assert.Equal(t, task, r.file("main", task))
				assert.Equal(t, task, read(t, r.Dir, task))
			}
		}
		assert.Equal(t, "8", r.run("rev-list", "--count", "--merges", "main"))
		assert.Empty(t, r.run("status", "--porcelain"))
		r.run("fsck", "--strict")
	})
}
