package worktree_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/worktree"
)

// BenchmarkLarge reports how long an attempt takes in a repository of 50,000 files: to make
// the worktree, which writes all of them, and to commit, merge and remove, which does not.
func BenchmarkLarge(b *testing.B) {
	r := newRepo(b)
	for i := range 50_000 {
		dir := filepath.Join(r.Dir, fmt.Sprint(i/1000), fmt.Sprint(i/100%10))
		require.NoError(b, os.MkdirAll(dir, 0o755))
		require.NoError(b, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte(fmt.Sprintln("file", i)), 0o644))
	}
	r.run("add", "--all")
	r.run("commit", "--quiet", "-m", "many")
	r.run("checkout", "--quiet", "--detach") // no folder has to follow
	w := r.open()
	steps := map[string]time.Duration{}
	attempt := 0
	for b.Loop() {
		attempt++
		step := func(name string, do func() error) {
			begun := time.Now()
			require.NoError(b, do())
			steps[name] += time.Since(begun)
		}
		var tree worktree.Tree
		var commit string
		step("create", func() (err error) { tree, err = w.Create(b.Context(), "a", attempt, ""); return err })
		write(b, tree.Path, "result", fmt.Sprint(attempt))
		step("commit", func() (err error) {
			commit, err = w.Commit(b.Context(), tree, worktree.Note{}, []string{"result"})
			return err
		})
		step("merge", func() error { _, err := w.Merge(b.Context(), tree, commit, "", nil); return err })
		step("remove", func() error { return w.Remove(b.Context(), tree) })
	}
	for name, took := range steps {
		b.ReportMetric(float64(took.Milliseconds())/float64(attempt), "ms/"+name)
	}
}
