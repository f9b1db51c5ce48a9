package worktree_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/worktree"
)

func TestRemove(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts git often")
	}
	t.Run("BX2 BX30 what a removal that was killed has left is not taken for a worktree", func(t *testing.T) {
		r := newRepo(t)
		w := r.open()
		tree := create(t, w, "a", 1)
		const files = 1000
		for i := range files {
			write(t, tree.Path, fmt.Sprint("x", i), "1")
		}
		var removal sync.WaitGroup
		removal.Go(func() { assert.NoError(t, w.Remove(t.Context(), tree)) })
		for {
			left, _ := os.ReadDir(tree.Path)
			if len(left) < files && !assert.NoFileExists(t, filepath.Join(tree.Path, ".git")) || len(left) == 0 {
				break
			}
		}
		removal.Wait()

		write(t, tree.Path, "x1", "1")
		assert.Equal(t, "1\n2\n3\n4\n5\n", read(t, create(t, w, "a", 1).Path, "main.txt"))
		assert.NoFileExists(t, filepath.Join(tree.Path, "x1"))
	})
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
