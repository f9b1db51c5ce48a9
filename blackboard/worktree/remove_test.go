package worktree_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/worktree"
)

func TestRemove(t *testing.T) {
	t.Run("B97 B79 folders that may not be written", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		for _, end := range []func(worktree.Tree) error{
			func(tree worktree.Tree) error {
				return worktree.ResetFolder(t.Context(), tree.Path, tree.Branch, tree.Base)
			},
			func(tree worktree.Tree) error { return w.Reset(t.Context(), tree, tree.Base) },
			func(tree worktree.Tree) error { return w.Remove(t.Context(), tree) },
			func(worktree.Tree) error { _, err := w.Sweep(t.Context(), nil); return err },
		} {
			tree := create(t, w, "a", 1)
			module := filepath.Join(tree.Path, "mod", "x@v1")
			write(t, module, "f.go", "x")
			for _, dir := range []string{module, tree.Path} {
				require.NoError(t, os.Chmod(dir, 0o555))
				t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
			}
			require.NoError(t, end(tree))
			assert.NoDirExists(t, module)
		}
	})
}
