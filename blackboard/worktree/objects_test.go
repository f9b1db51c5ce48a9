package worktree_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/worktree"
)

// objects counts what the repository stores.
func (r *repo) objects() (n int) {
	r.t.Helper()
	for line := range strings.Lines(r.run("count-objects", "-v")) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if key == "count" || key == "in-pack" {
			count, err := strconv.Atoi(value)
			require.NoError(r.t, err)
			n += count
		}
	}
	return n
}

// An attempt stores no more than git must for what it changes: each changed file, the
// folders above it and the commit; a merge only the folders in which both sides have
// changed something, and its commit. Its worktree shares all other content.
func TestObjects(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts git often")
	}
	r := newRepo(t)
	for _, name := range []string{"src/a/deep/file", "src/a/other", "src/b/y", "docs/x", "docs/more/z"} {
		write(t, r.Dir, name, "the content of "+name)
	}
	r.run("add", "--all")
	r.run("commit", "--quiet", "-m", "second")
	w := r.open()
	had := r.objects()
	stored := func() int {
		before := had
		had = r.objects()
		return had - before
	}
	one, two := create(t, w, "one", 1), create(t, w, "two", 1)
	t.Run("B94 a worktree stores nothing", func(t *testing.T) {
		assert.Equal(t, 0, stored())
		dir := r.run("-C", one.Path, "rev-parse", "--absolute-git-dir")
		bytes := int64(0)
		require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || d.Name() == "index" {
				return err
			}
			info, err := d.Info()
			bytes += info.Size()
			return err
		}))
		assert.Less(t, bytes, int64(2<<10), "beside its index it has names alone")
	})
	first := change(t, w, one, "src/a/deep/file", "changed")
	t.Run("B95 a commit stores the file, four folders and itself", func(t *testing.T) { assert.Equal(t, 6, stored()) })
	second := change(t, w, two, "docs/x", "changed, too")
	t.Run("B95 another one the file, two folders and itself", func(t *testing.T) { assert.Equal(t, 4, stored()) })
	merge(t, w, one, first)
	t.Run("B97 a merge into what has not changed stores its commit", func(t *testing.T) { assert.Equal(t, 1, stored()) })
	merge(t, w, two, second)
	t.Run("B97 a merge of two changes stores the folder above both as well", func(t *testing.T) { assert.Equal(t, 2, stored()) })
	t.Run("B97 B99 what is done leaves the repository as it is", func(t *testing.T) {
		require.NoError(t, w.Remove(t.Context(), one))
		require.NoError(t, w.Delete(t.Context(), two))
		assert.Equal(t, 0, stored())
		assert.NoDirExists(t, one.Path)
		assert.NoDirExists(t, two.Path)
		assert.Equal(t, "changed, too", r.file("main", "docs/x"))
	})
	t.Run("B98 BC8 so does an attempt that changes nothing", func(t *testing.T) {
		again := create(t, w, "two", 2)
		_, err := w.Commit(t.Context(), again, worktree.Note{}, nil)
		require.ErrorIs(t, err, worktree.ErrNoChange)
		assert.Equal(t, 0, stored())
	})
}

func TestAbandoned(t *testing.T) {
	t.Run("BA85 B99 of an abandoned attempt nothing is left, and main is as it was", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		main := r.run("rev-parse", "main")
		tree := create(t, w, "a", 1)
		change(t, w, tree, "new.txt", "half done")
		write(t, tree.Path, "more.txt", "not committed")
		require.NoError(t, w.Delete(t.Context(), tree))
		assert.NoDirExists(t, tree.Path)
		assert.Equal(t, main, r.run("rev-parse", "main"))
		assert.Equal(t, "refs/heads/main", r.run("for-each-ref", "--format=%(refname)"))
		require.NoError(t, w.Delete(t.Context(), tree), "again")
	})
}
