package worktree_test

import (
	"os"
	"path/filepath"
	"testing"

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
}
