package worktree_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/worktree"
)

// paused is a task that has committed half of its work, and made a new worktree for the
// rest, after another task was merged that has written other.
func paused(t *testing.T, other, content string) (*repo, worktree.Tree) {
	t.Helper()
	r := newRepo(t)
	w := r.open()
	first, sub := create(t, w, "task", 1), create(t, w, "sub", 1)
	change(t, w, first, "half", "1\n")
	change(t, w, first, "same", "ours\n")
	assert.True(t, merge(t, w, sub, change(t, w, sub, other, content)).Merged)
	second, err := w.Create(t.Context(), "task", 2, first.Branch)
	require.NoError(t, err)
	return r, second
}

func TestUpdate(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts git often")
	}
	t.Run("B46 BC22 what was merged meanwhile is in the worktree, beside its own work", func(t *testing.T) {
		r, tree := paused(t, "found", "2\n")
		w := r.open()
		conflicts, err := w.Update(t.Context(), tree, "")
		require.NoError(t, err)
		assert.Empty(t, conflicts)
		assert.Equal(t, "1\n2\n", read(t, tree.Path, "half")+read(t, tree.Path, "found"))
		assert.Empty(t, r.run("-C", tree.Path, "status", "--porcelain"))
		head, err := w.Head(t.Context(), tree)
		require.NoError(t, err)
		_, err = w.Update(t.Context(), tree, "main")
		require.NoError(t, err)
		again, err := w.Head(t.Context(), tree)
		require.NoError(t, err)
		assert.Equal(t, head, again, "it is there already")

		id := change(t, w, tree, "rest", "3\n")
		diff, err := w.Diff(t.Context(), tree, id, "", 1<<20)
		require.NoError(t, err)
		for _, own := range []string{"+++ b/half", "+++ b/rest"} {
			assert.Contains(t, diff, own, "of both attempts")
		}
		assert.NotContains(t, diff, "found", "what others have made is not its own")
		assert.True(t, merge(t, w, tree, id).Merged)
		assert.Equal(t, "123", r.file("main", "half")+r.file("main", "found")+r.file("main", "rest"))
	})
	t.Run("B46 both versions of what both have changed, until one is chosen", func(t *testing.T) {
		r, tree := paused(t, "same", "theirs\n")
		w := r.open()
		for range 2 { // repeated, it says the same
			conflicts, err := w.Update(t.Context(), tree, "")
			require.NoError(t, err)
			assert.Equal(t, []string{"same"}, conflicts)
		}
		both := read(t, tree.Path, "same")
		assert.Contains(t, both, "ours\n=======\ntheirs\n")
		id := change(t, w, tree, "rest", "3\n")
		files, err := w.Unresolved(t.Context(), tree, id, "")
		require.NoError(t, err)
		assert.Equal(t, []string{"same"}, files)
		id = change(t, w, tree, "same", "ours and theirs\n")
		files, err = w.Unresolved(t.Context(), tree, id, "")
		require.NoError(t, err)
		assert.Empty(t, files)
		conflicts, err := w.Update(t.Context(), tree, "")
		require.NoError(t, err)
		assert.Empty(t, conflicts, "they were decided")
		assert.True(t, merge(t, w, tree, id).Merged)
		assert.Equal(t, "ours and theirs", r.file("main", "same"))
	})
	t.Run("markers that a file is about are no conflicts", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		tree := create(t, w, "task", 1)
		files, err := w.Unresolved(t.Context(), tree, change(t, w, tree, "guide", "<<<<<<< HEAD\n=======\n>>>>>>> theirs\n"), "")
		require.NoError(t, err)
		assert.Empty(t, files)
	})
	t.Run("BX30 stopped after any command of git, and repeated", func(t *testing.T) {
		for n := 1; ; n++ {
			r, tree := paused(t, "same", "theirs\n")
			w, left := r.open(), -1
			stopping, err := worktree.OpenStopping(t.Context(), r.config(), func([]string) error {
				if left--; left == 0 {
					return errStopped
				}
				return nil
			})
			require.NoError(t, err)
			left = n
			_, err = stopping.Update(t.Context(), tree, "")
			conflicts, again := w.Update(t.Context(), tree, "")
			require.NoError(t, again)
			assert.Equal(t, []string{"same"}, conflicts, "stopped after %d commands", n)
			assert.Contains(t, read(t, tree.Path, "same"), "theirs")
			assert.Equal(t, "1", r.run("rev-list", "--count", "--merges", "main.."+tree.Branch))
			if err == nil {
				break
			}
			require.ErrorIs(t, err, errStopped)
		}
	})
	t.Run("bad branches and foreign trees", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		tree := create(t, w, "task", 1)
		_, err := w.Update(t.Context(), tree, "nothing")
		require.ErrorContains(t, err, `branch "nothing" does not exist`)
		foreign := tree
		foreign.Branch = "main"
		_, err = w.Update(t.Context(), foreign, "")
		require.ErrorContains(t, err, "no tree of this run")
		_, err = w.Unresolved(t.Context(), foreign, tree.Base, "")
		require.ErrorContains(t, err, "no tree of this run")
		_, err = w.Unresolved(t.Context(), tree, strings.Repeat("x", 40), "")
		require.ErrorContains(t, err, "is no commit")
	})
}
