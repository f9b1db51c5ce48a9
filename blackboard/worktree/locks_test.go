package worktree_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/worktree"
)

// leave makes a lock as a git that was killed leaves it.
func leave(t *testing.T, dir, name string, age time.Duration) string {
	t.Helper()
	write(t, dir, name, "")
	path, then := filepath.Join(dir, filepath.FromSlash(name)), time.Now().Add(-age)
	require.NoError(t, os.Chtimes(path, then, then))
	return path
}

func TestLocksOfKilledGits(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts git often")
	}
	t.Run("BX2 of refs, of the index and of the main branch", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		branch := worktree.Branch("task", "run-1", "a", 1)
		leave(t, r.Dir, ".git/refs/heads/"+branch+".lock", 2*time.Second)
		tree := create(t, w, "a", 1)
		write(t, tree.Path, "new.txt", "new")
		leave(t, r.Dir, ".git/worktrees/a1/index.lock", 2*time.Second)
		id, err := w.Commit(t.Context(), tree, worktree.Note{}, nil)
		require.NoError(t, err)
		leave(t, r.Dir, ".git/refs/heads/main.lock", time.Minute)
		m, err := w.Merge(t.Context(), tree, id, "", nil)
		require.NoError(t, err)
		assert.True(t, m.Merged)
		assert.Equal(t, "new", r.file("main", "new.txt"))
		leave(t, r.Dir, ".git/worktrees/a1/index.lock", 2*time.Second)
		require.NoError(t, worktree.ResetFolder(t.Context(), tree.Path, tree.Branch, id))
	})
	t.Run("BX31 waits for the lock of a running git", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		tree := create(t, w, "a", 1)
		write(t, tree.Path, "new.txt", "new")
		id, err := w.Commit(t.Context(), tree, worktree.Note{}, nil)
		require.NoError(t, err)
		lock := leave(t, r.Dir, ".git/refs/heads/main.lock", 0)
		var wait sync.WaitGroup
		held := make(chan error, 2)
		wait.Go(func() {
			<-time.NewTimer(300 * time.Millisecond).C
			_, err := os.Stat(lock)
			held <- err
			held <- os.Remove(lock)
		})
		m, err := w.Merge(t.Context(), tree, id, "", nil)
		require.NoError(t, err)
		assert.True(t, m.Merged)
		require.NoError(t, <-held, "it was left alone")
		require.NoError(t, <-held)
		wait.Wait()
	})
}

// Git removes the link to the repository first, and the folder's files then.
func TestKilledWhileAFolderIsRemoved(t *testing.T) {
	for _, left := range []string{"files", "the note of git"} {
		t.Run("BX2 what is left is "+left, func(t *testing.T) {
			r := newRepo(t)
			w := r.open()
			tree := create(t, w, "a", 1)
			require.NoError(t, os.Remove(filepath.Join(tree.Path, ".git")))
			if left != "files" {
				require.NoError(t, os.RemoveAll(tree.Path))
			}
			require.NoError(t, w.Delete(t.Context(), tree))
			assert.NoDirExists(t, tree.Path)
			assert.Equal(t, "refs/heads/main", r.run("for-each-ref", "--format=%(refname)"))
			assert.NotContains(t, r.run("worktree", "list"), "\n", "git knows the main folder alone")
		})
	}
}
