package worktree_test

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

	"github.com/convene-go/convene/blackboard/worktree"
)

// blockLog lets git fail to move the main branch, whose log it cannot write.
func blockLog(t *testing.T, r *repo) {
	t.Helper()
	log := filepath.Join(r.Dir, ".git", "logs", "refs", "heads", "main")
	require.NoError(t, os.RemoveAll(log))
	write(t, log, "folder/file", "")
}

func TestFailures(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts git often")
	}
	t.Run("BX4 a branch that git cannot move has not been moved by others", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		tree := create(t, w, "a", 1)
		id := change(t, w, tree, "x", "1")
		blockLog(t, r)
		_, err := w.Merge(t.Context(), tree, id, "", nil)
		require.ErrorContains(t, err, "git update-ref refs/heads/main")
		assert.Empty(t, r.run("status", "--porcelain"))
		require.NoError(t, os.RemoveAll(filepath.Join(r.Dir, ".git", "logs")))
		assert.True(t, merge(t, w, tree, id).Merged)
	})
	t.Run("BX5 no commits, and git cannot make the branch", func(t *testing.T) {
		r := newRepo(t)
		r.Dir = t.TempDir()
		r.run("init", "--quiet")
		blockLog(t, r)
		_, err := worktree.Open(t.Context(), r.config())
		require.ErrorContains(t, err, "git update-ref refs/heads/main")
	})
	t.Run("BX1 a ref that is broken is not one that is missing", func(t *testing.T) {
		for content, want := range map[string]string{"": "cannot be read", strings.Repeat("1", 40) + "\n": "which is no commit of the repository"} {
			r := newRepo(t)
			main := filepath.Join(r.Dir, ".git", "refs", "heads", "main")
			require.NoError(t, os.WriteFile(main, []byte(content), 0o600))
			_, err := worktree.Open(t.Context(), r.config())
			require.ErrorContains(t, err, "refs/heads/main")
			require.ErrorContains(t, err, want)
			left, err := os.ReadFile(main)
			require.NoError(t, err)
			assert.Equal(t, content, string(left), "it is left as it is")
		}
	})
	t.Run("BX1 BX3 a run whose own branch is broken does not go to main", func(t *testing.T) {
		r := newRepo(t)
		c := r.config()
		c.AllowDirty = true
		write(t, r.Dir, "main.txt", "mine")
		_, err := worktree.Open(t.Context(), c)
		require.NoError(t, err)
		r.run("checkout", "--quiet", "--", "main.txt")
		write(t, r.Dir, ".git/refs/heads/orchestrator/4e65d3fb", "")
		_, err = worktree.Open(t.Context(), c)
		require.ErrorContains(t, err, "refs/heads/orchestrator/4e65d3fb cannot be read")
	})
	t.Run("BX1 B98 a folder that git cannot make leaves no branch", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		id := r.run("rev-parse", "main:main.txt")
		blob := filepath.Join(r.Dir, ".git", "objects", id[:2], id[2:])
		require.NoError(t, os.Rename(blob, blob+"x"))
		_, err := w.Create(t.Context(), "a", 1, "")
		require.ErrorContains(t, err, "git worktree add")
		assert.Equal(t, "refs/heads/main", r.run("for-each-ref", "--format=%(refname)"))
		assert.NoDirExists(t, filepath.Join(r.Dir, "worktrees", "4e65d3fb"))

		require.NoError(t, os.Rename(blob+"x", blob))
		tree := create(t, w, "a", 1)
		work := change(t, w, tree, "x", "1")
		require.NoError(t, os.RemoveAll(tree.Path))
		require.NoError(t, os.Rename(blob, blob+"x"))
		_, err = w.Create(t.Context(), "a", 1, "")
		require.ErrorContains(t, err, "git worktree add")
		assert.Equal(t, work, r.run("rev-parse", tree.Branch), "one that was there stays")
	})
	t.Run("BX3 the index of a user is not written to look at a folder", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		index := read(t, r.Dir, ".git/index")
		then := time.Now().Add(-time.Hour)
		require.NoError(t, os.Chtimes(filepath.Join(r.Dir, "main.txt"), then, then))
		tree := create(t, w, "a", 1)
		id := change(t, w, tree, "x", "1")
		stop := errors.New("refused")
		_, err := w.Merge(t.Context(), tree, id, "", func(context.Context, string, string) error { return stop })
		require.ErrorIs(t, err, stop)
		other := r.config()
		other.Run = "run-2"
		_, err = worktree.Open(t.Context(), other)
		require.NoError(t, err)
		assert.Equal(t, index, read(t, r.Dir, ".git/index"))
	})
	t.Run("BX5 a repository that git refuses: its message, also with Init", func(t *testing.T) {
		r := newRepo(t)
		write(t, r.Dir, ".git/config", "[broken")
		c := r.config()
		for range 2 {
			_, err := worktree.Open(t.Context(), c)
			require.ErrorIs(t, err, worktree.ErrNoRepo)
			require.ErrorContains(t, err, "bad config line")
			c.Init = true
		}
	})
}
