package trees_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/worktree"
	"github.com/convene-go/convene/internal/git"
	"github.com/convene-go/convene/internal/git/gittest"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director/trees"
)

// repo is a repository with a file.
type repo struct {
	t *testing.T
	git.Repo
}

func newRepo(t *testing.T) *repo {
	t.Helper()
	r := &repo{t, git.Repo{Dir: t.TempDir(), At: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}}
	r.run("init", "--quiet", "--initial-branch=main")
	require.NoError(t, os.WriteFile(filepath.Join(r.Dir, "main.txt"), []byte("1\n2\n3\n"), 0o600))
	r.run("add", "main.txt")
	r.run("commit", "--quiet", "-m", "first")
	return r
}

func (r *repo) run(args ...string) string {
	r.t.Helper()
	out, err := r.Run(r.t.Context(), args...)
	require.NoError(r.t, err)
	return strings.TrimSpace(out)
}

// show returns a file on the main branch.
func (r *repo) show(path string) string { return r.run("show", "main:"+path) }

func decode(data json.RawMessage, v any) {
	if err := json.Unmarshal(data, v); err != nil {
		panic(err)
	}
}

func TestAgent(t *testing.T) {
	t.Run("BC52 what it is not asked", func(t *testing.T) {
		r := newRepo(t)
		w := trees.New(worktree.Config{Repo: r.Dir})
		ctx := agent.WithInfo(t.Context(), agent.Info{Run: "r", Key: "r/1"})
		for op, input := range map[string]string{"fly": `{}`, trees.OpCreate: `{"tasks":"x"}`, trees.OpMerge: `[]`} {
			_, err := w.Call(ctx, agent.Request{Op: op, Input: []byte(input)})
			require.ErrorContains(t, err, "trees: "+op)
		}
	})
	t.Run("BX30 BC59 a commit that is made again is the same", func(t *testing.T) {
		r := newRepo(t)
		w := trees.New(worktree.Config{Repo: r.Dir})
		do := func(key, op string, in, out any) {
			resp, err := w.Call(agent.WithInfo(t.Context(), agent.Info{Run: "r", Key: key}), agent.Request{Op: op, Input: agent.JSON(in)})
			require.NoError(t, err)
			decode(resp.Data, out)
		}
		var made, again trees.Created
		do("1", trees.OpCreate, trees.CreateRequest{Task: "a", Attempt: 1}, &made)
		do("1", trees.OpCreate, trees.CreateRequest{Task: "a", Attempt: 1}, &again)
		assert.Equal(t, made, again)
		ignored := trees.CommitRequest{Tree: made.Tree, Since: made.Head, Phase: "plan", Summary: "s", Path: "/out/x.md", Text: "x"}
		require.NoError(t, os.WriteFile(filepath.Join(made.Tree.Path, ".gitignore"), []byte("out\n"), 0o600))
		var first, second trees.Committed
		do("2", trees.OpCommit, ignored, &first)
		do("2", trees.OpCommit, ignored, &second)
		assert.Equal(t, first, second)
		assert.Equal(t, trees.Committed{Commit: first.Commit, Files: 2, Found: true}, first)
		assert.Equal(t, "x", r.run("show", first.Commit+":out/x.md"))
		ignored.Path = "/../x"
		do("3", trees.OpCommit, ignored, &second)
		assert.NotEmpty(t, second.Unsafe)
		var seen trees.Inspected
		do("4", trees.OpInspect, trees.InspectRequest{Tree: made.Tree, Commit: first.Commit, Path: "../x"}, &seen)
		assert.True(t, seen.Missing)
	})
	t.Run("BX1 BX29 a git that is killed gives no answer, and the next one the true one", func(t *testing.T) {
		if testing.Short() {
			t.Skip("long: it kills each command of git")
		}
		r := newRepo(t)
		w := trees.New(worktree.Config{Repo: r.Dir})
		do := func(op string, in, out any) error {
			resp, err := w.Call(agent.WithInfo(t.Context(), agent.Info{Run: "r", Key: op}), agent.Request{Op: op, Input: agent.JSON(in)})
			if err == nil {
				decode(resp.Data, out)
			}
			return err
		}
		git := gittest.New(t)
		for n, tested := 1, true; tested; n++ {
			tested = false
			var made trees.Created
			try := func(op string, in, out any) {
				git.At(n)
				err := do(op, in, out)
				tested = git.Killed() || tested
				if err != nil {
					require.NoError(t, do(op, in, out), "%s: the %d. command of git was killed: %v", op, n, err)
				}
			}
			try(trees.OpCreate, trees.CreateRequest{Task: "a", Attempt: n}, &made)
			require.NoError(t, os.WriteFile(filepath.Join(made.Tree.Path, "x.md"), []byte(strconv.Itoa(n)), 0o600))
			var got trees.Committed
			try(trees.OpCommit, trees.CommitRequest{Tree: made.Tree, Since: made.Head, Phase: "plan", Summary: "s", Path: "x.md"}, &got)
			assert.Equal(t, trees.Committed{Commit: got.Commit, Files: 1, Found: true}, got, n)
			var seen trees.Inspected
			try(trees.OpInspect, trees.InspectRequest{Tree: made.Tree, Commit: got.Commit, Path: "x.md", Limit: 9999}, &seen)
			assert.Equal(t, strconv.Itoa(n), seen.Artifact.Text, n)
			assert.Contains(t, seen.Diff, "+"+strconv.Itoa(n), n)
			var merged trees.Merged
			try(trees.OpMerge, trees.MergeRequest{Tree: made.Tree, Commit: got.Commit}, &merged)
			assert.True(t, merged.Merged, n)
			assert.Len(t, merged.Files, 1, n)
			try(trees.OpRemove, trees.RemoveRequest{Trees: []worktree.Tree{made.Tree}, Branches: true}, new(struct{}))
			assert.Equal(t, strconv.Itoa(n), r.show("x.md"))
			assert.Equal(t, "refs/heads/main", r.run("for-each-ref", "--format=%(refname)", "refs/heads"), n)
		}
	})
	t.Run("BC66 B8 work that is in the branch already is merged, with no files of others", func(t *testing.T) {
		r := newRepo(t)
		w := trees.New(worktree.Config{Repo: r.Dir})
		do := func(key, op string, in, out any) {
			resp, err := w.Call(agent.WithInfo(t.Context(), agent.Info{Run: "r", Key: key}), agent.Request{Op: op, Input: agent.JSON(in)})
			require.NoError(t, err)
			decode(resp.Data, out)
		}
		var made trees.Created
		do("1", trees.OpCreate, trees.CreateRequest{Task: "a", Attempt: 1}, &made)
		var merged trees.Merged
		do("2", trees.OpMerge, trees.MergeRequest{Tree: made.Tree, Commit: made.Head}, &merged)
		assert.Equal(t, trees.Merged{Merge: worktree.Merge{Merged: true, Commit: made.Head}}, merged)
	})
	t.Run("BX6 a worktree that cannot be updated is not left behind", func(t *testing.T) {
		r := newRepo(t)
		w := trees.New(worktree.Config{Repo: r.Dir})
		_, err := w.Call(agent.WithInfo(t.Context(), agent.Info{Run: "r", Key: "1"}), agent.Request{
			Op: trees.OpCreate, Input: agent.JSON(trees.CreateRequest{Task: "a", Attempt: 1, Update: true, Into: "nothing"}),
		})
		require.ErrorContains(t, err, `branch "nothing" does not exist`)
		assert.Len(t, strings.Split(r.run("worktree", "list"), "\n"), 1)
		assert.Equal(t, "main", r.run("branch", "--format=%(refname:short)"))
	})
	t.Run("BC61 BX4 a merge that was checked lands on the commit that it was checked with", func(t *testing.T) {
		r := newRepo(t)
		w := trees.New(worktree.Config{Repo: r.Dir})
		do := func(op string, in, out any) {
			resp, err := w.Call(agent.WithInfo(t.Context(), agent.Info{Run: "r", Key: op}), agent.Request{Op: op, Input: agent.JSON(in)})
			require.NoError(t, err)
			decode(resp.Data, out)
		}
		var made trees.Created
		do(trees.OpCreate, trees.CreateRequest{Task: "a", Attempt: 1}, &made)
		var done trees.Committed
		do(trees.OpCommit, trees.CommitRequest{Tree: made.Tree, Since: made.Head, Phase: "build", Path: "a.md", Text: "a"}, &done)
		var first, second, third trees.Merged
		merge := trees.MergeRequest{Tree: made.Tree, Commit: done.Commit, Prepare: true}
		do(trees.OpMerge, merge, &first)
		require.NotEmpty(t, first.Prepared)
		r.run("commit", "--quiet", "--allow-empty", "-m", "others were first")
		merge.Checked = first.Prepared
		do(trees.OpMerge, merge, &second)
		assert.False(t, second.Merged)
		assert.NotEqual(t, first.Prepared, second.Prepared)
		assert.Equal(t, r.run("rev-parse", "main"), second.Onto)
		merge.Checked = second.Prepared
		do(trees.OpMerge, merge, &third)
		assert.True(t, third.Merged)
		assert.Equal(t, "a", r.show("a.md"))
	})
}
