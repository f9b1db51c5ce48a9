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
// Beside each stands how many times that is of plain git in the same run. TMPDIR says on
// which file system: on a busy disk all of it is waiting.
func BenchmarkLarge(b *testing.B) {
	r := newRepo(b)
	r.Time = 10 * time.Minute
	for i := range 50_000 {
		dir := filepath.Join(r.Dir, fmt.Sprint(i/1000), fmt.Sprint(i/100%10))
		require.NoError(b, os.MkdirAll(dir, 0o755))
		require.NoError(b, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte(fmt.Sprintln("file", i)), 0o644))
	}
	r.run("add", "--all")
	r.run("commit", "--quiet", "-m", "many")
	r.run("checkout", "--quiet", "--detach") // no folder has to follow
	w := r.open()
	ours, plain := map[string]time.Duration{}, map[string]time.Duration{}
	attempt := 0
	for b.Loop() {
		attempt++
		var tree worktree.Tree
		var commit string
		timed(b, ours, "create", func() (err error) { tree, err = w.Create(b.Context(), "a", attempt, ""); return err })
		write(b, tree.Path, "result", fmt.Sprint(attempt))
		timed(b, ours, "commit", func() (err error) {
			commit, err = w.Commit(b.Context(), tree, worktree.Note{}, []string{"result"})
			return err
		})
		timed(b, ours, "merge", func() error { _, err := w.Merge(b.Context(), tree, commit, "", nil); return err })
		timed(b, ours, "remove", func() error { return w.Remove(b.Context(), tree) })
		r.plainAttempt(b, plain, attempt)
	}
	for name, took := range ours {
		b.ReportMetric(float64(took.Milliseconds())/float64(attempt), "ms/"+name)
		b.ReportMetric(float64(took)/float64(plain[name]), "times/"+name)
	}
}

func timed(b *testing.B, steps map[string]time.Duration, name string, do func() error) {
	b.Helper()
	begun := time.Now()
	require.NoError(b, do())
	steps[name] += time.Since(begun)
}

// plainAttempt does the same with the commands of git that it takes at least.
func (r *repo) plainAttempt(b *testing.B, steps map[string]time.Duration, attempt int) {
	b.Helper()
	path := filepath.Join(filepath.Dir(r.Dir), fmt.Sprint("plain", attempt))
	in := func(dir string, commands ...[]string) (last string) {
		for _, args := range commands {
			last = r.run(append([]string{"-C", dir}, args...)...)
		}
		return last
	}
	timed(b, steps, "create", func() error {
		in(r.Dir, []string{"worktree", "add", "--quiet", "-b", fmt.Sprint("plain", attempt), path, "main"})
		return nil
	})
	write(b, path, "plain", fmt.Sprint(attempt))
	commit := ""
	timed(b, steps, "commit", func() error {
		commit = in(path, []string{"add", "--", "plain"}, []string{"commit", "--quiet", "-m", "plain"}, []string{"rev-parse", "HEAD"})
		return nil
	})
	timed(b, steps, "merge", func() error {
		tree := in(r.Dir, []string{"merge-tree", "--write-tree", "main", commit})
		merged := in(r.Dir, []string{"commit-tree", tree, "-p", "main", "-p", commit, "-m", "plain"})
		in(r.Dir, []string{"update-ref", "refs/heads/main", merged})
		return nil
	})
	timed(b, steps, "remove", func() error {
		in(r.Dir, []string{"worktree", "remove", "--force", path})
		return nil
	})
}
