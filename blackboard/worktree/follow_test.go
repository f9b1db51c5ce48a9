package worktree_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/worktree"
)

func TestIgnoredFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts git often")
	}
	// ignoring is a repository that ignores .env and build.
	ignoring := func(t *testing.T) *repo {
		r := newRepo(t)
		write(t, r.Dir, ".gitignore", ".env\nbuild\n")
		r.run("add", "--all")
		r.run("commit", "--quiet", "-m", "ignore")
		return r
	}
	for name, c := range map[string]struct{ mine, merged string }{
		"a file":                      {".env", ".env"},
		"a folder":                    {"build/notes", "build"},
		"a file in place of a folder": {"build", "build/script"},
	} {
		t.Run("BX3 a merge that would overwrite an ignored file is refused, and nothing is merged: "+name, func(t *testing.T) {
			r := ignoring(t)
			write(t, r.Dir, c.mine, "the only copy")
			w := r.open()
			tree := create(t, w, "a", 1)
			id := change(t, w, tree, c.merged, "example")
			before := r.run("rev-parse", "main")
			_, err := w.Merge(t.Context(), tree, id, "", nil)
			require.ErrorIs(t, err, worktree.ErrDirtyRepo)
			require.ErrorContains(t, err, "which git does not track: move or remove it")
			assert.Equal(t, before, r.run("rev-parse", "main"))
			assert.Equal(t, "the only copy", read(t, r.Dir, c.mine))
			require.NoError(t, os.Rename(filepath.Join(r.Dir, filepath.FromSlash(c.mine)), filepath.Join(t.TempDir(), "x")))
			m := merge(t, w, tree, id)
			assert.Equal(t, worktree.Merge{Merged: true, Commit: r.run("rev-parse", "main")}, m)
			assert.Equal(t, "example", read(t, r.Dir, c.merged))
			assert.Empty(t, r.run("status", "--porcelain"))
		})
	}
	t.Run("BX3 the same content is not in the way, nor what git tracks", func(t *testing.T) {
		r := ignoring(t)
		write(t, r.Dir, "folder/x", "1")
		r.run("add", "--all")
		r.run("commit", "--quiet", "-m", "folder")
		write(t, r.Dir, ".env", "example")
		w := r.open()
		tree := create(t, w, "a", 1)
		require.NoError(t, os.Remove(filepath.Join(tree.Path, "main.txt")))
		require.NoError(t, os.RemoveAll(filepath.Join(tree.Path, "folder")))
		write(t, tree.Path, "main.txt/x", "a folder now")
		write(t, tree.Path, "folder", "a file now")
		write(t, tree.Path, ".env", "example")
		id, err := w.Commit(t.Context(), tree, worktree.Note{}, []string{"main.txt", "folder", ".env"})
		require.NoError(t, err)
		assert.Empty(t, merge(t, w, tree, id).Behind)
		assert.Equal(t, "a folder now", read(t, r.Dir, "main.txt/x"))
		assert.Equal(t, "a file now", read(t, r.Dir, "folder"))
		assert.Empty(t, r.run("status", "--porcelain"))
	})
	t.Run("BX3 an ignored file that is made while main moves is kept", func(t *testing.T) {
		r := ignoring(t)
		w, err := worktree.OpenStopping(t.Context(), r.config(), func(args []string) error {
			if len(args) == 4 && args[1] == "refs/heads/main" {
				write(t, r.Dir, ".env", "mine")
			}
			return nil
		})
		require.NoError(t, err)
		tree := create(t, w, "a", 1)
		m := merge(t, w, tree, change(t, w, tree, ".env", "example"))
		assert.Equal(t, r.Dir, m.Behind)
		assert.Equal(t, "mine", read(t, r.Dir, ".env"))
		require.NoError(t, os.Remove(filepath.Join(r.Dir, ".env")))
		_, err = w.Sweep(t.Context(), []string{tree.Branch})
		require.NoError(t, err)
		assert.Equal(t, "example", read(t, r.Dir, ".env"), "it follows when it can")
		assert.Empty(t, r.run("status", "--porcelain"))
	})
	t.Run("BX2 BC62 an update that was interrupted while it wrote an ignored file is finished", func(t *testing.T) {
		r := ignoring(t)
		w, err := worktree.OpenStopping(t.Context(), r.config(), func(args []string) error {
			if len(args) == 4 && args[1] == "refs/heads/main" {
				write(t, r.Dir, ".env", "exam")
				return errStopped
			}
			return nil
		})
		require.NoError(t, err)
		tree := create(t, w, "a", 1)
		_, err = w.Merge(t.Context(), tree, change(t, w, tree, ".env", "example"), "", nil)
		require.ErrorIs(t, err, errStopped)
		r.open()
		assert.Equal(t, "example", read(t, r.Dir, ".env"))
		assert.Empty(t, r.run("status", "--porcelain"))
	})
	t.Run("BX3 in the worktree of an attempt they give way", func(t *testing.T) {
		r := ignoring(t)
		w := r.open()
		one, two := create(t, w, "one", 1), create(t, w, "two", 1)
		merge(t, w, one, change(t, w, one, "build", "script"))
		write(t, two.Path, "build/output", "x")
		conflicts, err := w.Update(t.Context(), two, "")
		require.NoError(t, err)
		assert.Empty(t, conflicts)
		assert.Equal(t, "script", read(t, two.Path, "build"))
	})
}

func TestFollowedBefore(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts git often")
	}
	t.Run("BC62 BX3 what a user has staged since a folder was updated is kept", func(t *testing.T) {
		r := newRepo(t)
		write(t, r.Dir, "b.txt", "old")
		r.run("add", "--all")
		r.run("commit", "--quiet", "-m", "b")
		w, err := worktree.OpenStopping(t.Context(), r.config(), func(args []string) error {
			if slices.Contains(args, "read-tree") {
				return errStopped
			}
			return nil
		})
		require.NoError(t, err)
		tree := create(t, w, "a", 1)
		write(t, tree.Path, "main.txt", "merged")
		write(t, tree.Path, "b.txt", "new")
		id, err := w.Commit(t.Context(), tree, worktree.Note{}, nil)
		require.NoError(t, err)
		m := merge(t, w, tree, id)
		assert.Equal(t, r.Dir, m.Behind, "the process ended before it could tell")
		assert.Empty(t, r.run("status", "--porcelain"))
		assert.NotEmpty(t, r.run("for-each-ref", "refs/convene/forward"))

		r.run("checkout", "--quiet", "HEAD~1", "--", "b.txt")
		r.open()
		assert.Equal(t, "old", read(t, r.Dir, "b.txt"))
		assert.Equal(t, "M  b.txt", r.run("status", "--porcelain"))
		assert.Empty(t, r.run("for-each-ref", "refs/convene/forward"))
	})
}
