package worktree_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/worktree"
)

// A worker may check out something else in its worktree.
func TestCheckedOut(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts git often")
	}
	for _, args := range [][]string{{"main"}, {"--detach"}, {"-b", "of-the-worker"}, {"--orphan", "of-the-worker"}} {
		t.Run("B95 B8 what is in the worktree is committed on its branch, after git checkout "+args[len(args)-1], func(t *testing.T) {
			r := newRepo(t)
			r.run("checkout", "--quiet", "-b", "develop")
			first := r.run("rev-parse", "main")
			w := r.open()
			tree := create(t, w, "a", 1)
			checkout(t, r, tree, args...)
			write(t, tree.Path, "x", "1")
			id, err := w.Commit(t.Context(), tree, worktree.Note{Key: "k"}, nil)
			require.NoError(t, err)
			head, err := w.Head(t.Context(), tree)
			require.NoError(t, err)
			assert.Equal(t, head, id)
			assert.Equal(t, "A\tx", r.run("diff", "--name-status", first, id))
			assert.Equal(t, first, r.run("rev-parse", "main"))
			checkout(t, r, tree, "--detach", "main")
			again, err := w.Commit(t.Context(), tree, worktree.Note{Key: "k"}, nil)
			require.NoError(t, err)
			assert.Equal(t, id, again, "its key is looked for on its branch")
		})
	}
	t.Run("BC59 BC8 a reset moves no other branch", func(t *testing.T) {
		r := newRepo(t)
		r.run("checkout", "--quiet", "-b", "develop")
		w := r.open()
		tree, other := create(t, w, "a", 1), create(t, w, "b", 1)
		wip := change(t, w, tree, "x", "1")
		merged := merge(t, w, other, change(t, w, other, "y", "1")).Commit
		for _, reset := range []func() error{
			func() error { return w.Reset(t.Context(), tree, wip) },
			func() error { return worktree.ResetFolder(t.Context(), tree.Path, tree.Branch, wip) },
		} {
			checkout(t, r, tree, "main")
			write(t, tree.Path, "x", "2")
			require.NoError(t, reset())
			assert.Equal(t, merged, r.run("rev-parse", "main"))
			assert.Equal(t, "1", read(t, tree.Path, "x"))
			assert.NoFileExists(t, tree.Path+"/y")
			head, err := w.Head(t.Context(), tree)
			require.NoError(t, err)
			assert.Equal(t, wip, head)
			inner := *r
			inner.Dir = tree.Path
			assert.Equal(t, tree.Branch, inner.run("branch", "--show-current"))
		}
	})
	t.Run("B8 BX4 a worker that has checked out main stops no merge, and its files stay", func(t *testing.T) {
		r := newRepo(t)
		r.run("checkout", "--quiet", "-b", "develop")
		w := r.open()
		tree, other := create(t, w, "a", 1), create(t, w, "b", 1)
		id := change(t, w, other, "main.txt", "others\n")
		checkout(t, r, tree, "main")
		write(t, tree.Path, "x", "1")
		m := merge(t, w, other, id)
		assert.Equal(t, worktree.Merge{Merged: true, Commit: r.run("rev-parse", "main")}, m)
		id, err := w.Commit(t.Context(), tree, worktree.Note{}, nil)
		require.NoError(t, err)
		assert.Equal(t, "A\tx", r.run("diff", "--name-status", tree.Base, id))
	})
	t.Run("BX6 B97 a worktree is kept whatever is checked out in it", func(t *testing.T) {
		r := newRepo(t)
		r.run("checkout", "--quiet", "-b", "develop")
		w := r.open()
		tree, orphan := create(t, w, "a", 1), create(t, w, "b", 1)
		checkout(t, r, tree, "main")
		checkout(t, r, orphan, "--ignore-other-worktrees", tree.Branch)
		removed, err := w.Sweep(t.Context(), []string{tree.Branch})
		require.NoError(t, err)
		assert.Equal(t, []string{orphan.Path}, removed)
	})
}

// checkout does what a worker with a shell may do.
func checkout(t *testing.T, r *repo, tree worktree.Tree, args ...string) {
	t.Helper()
	inner := *r
	inner.Dir = tree.Path
	inner.run(append([]string{"checkout", "--quiet"}, args...)...)
}
