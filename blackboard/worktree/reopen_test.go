package worktree_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/worktree"
)

func TestOpenAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts git often")
	}
	for _, allow := range []bool{false, true} {
		name := map[bool]string{false: "", true: ", also if changes are allowed"}[allow]
		t.Run("BX3 BX2 BA120 changes made during a run stop its merges, not its process that starts again"+name, func(t *testing.T) {
			r := newRepo(t)
			c := r.config()
			c.AllowDirty = allow
			open := func() *worktree.Trees {
				w, err := worktree.Open(t.Context(), c)
				require.NoError(t, err)
				return w
			}
			first := create(t, open(), "a", 1)
			write(t, first.Path, "x", "finished work")
			write(t, r.Dir, "main.txt", "mine")

			w := open()
			assert.Equal(t, "main", w.Target())
			id, err := w.Commit(t.Context(), first, worktree.Note{}, nil)
			require.NoError(t, err)
			_, err = w.Merge(t.Context(), first, id, "", nil)
			require.ErrorIs(t, err, worktree.ErrDirtyRepo)
			assert.Equal(t, "mine", read(t, r.Dir, "main.txt"))

			r.run("checkout", "--quiet", "--", "main.txt")
			assert.True(t, merge(t, open(), first, id).Merged)
			require.NoError(t, w.Delete(t.Context(), first))
			write(t, r.Dir, "main.txt", "mine")
			assert.Equal(t, "main", open().Target(), "also when it has no attempts")
			assert.Equal(t, "refs/heads/main", r.run("for-each-ref", "--format=%(refname)"))
		})
	}
	t.Run("BX3 BA120 a run that was refused chooses when it is opened again", func(t *testing.T) {
		r := newRepo(t)
		write(t, r.Dir, "main.txt", "mine")
		c := r.config()
		_, err := worktree.Open(t.Context(), c)
		require.ErrorIs(t, err, worktree.ErrDirtyRepo)
		c.AllowDirty = true
		w, err := worktree.Open(t.Context(), c)
		require.NoError(t, err)
		assert.Equal(t, "orchestrator/4e65d3fb", w.Target())
	})
}
