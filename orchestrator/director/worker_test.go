package director_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/worktree"
	"github.com/convene-go/convene/internal/git/gittest"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/providers"
)

// model is a model that answers with what is next, and keeps what it was asked.
type model struct {
	asked []providers.Request
	next  []providers.Response
}

func (m *model) Generate(_ context.Context, req providers.Request) (providers.Response, error) {
	m.asked = append(m.asked, req)
	resp := m.next[0]
	m.next = m.next[1:]
	return resp, nil
}

func TestWorker(t *testing.T) {
	call := func(name string) providers.Response {
		return providers.Response{ToolCalls: []providers.ToolCall{{ID: name, Name: "note", Input: []byte(`{"text":"x"}`)}}, Stop: providers.StopTools}
	}
	type note struct {
		Text string `json:"text"`
	}
	t.Run("BC59 B51 tools find the worktree, which a slice finds as the last one left it", func(t *testing.T) {
		r := newRepo(t)
		r.run("worktree", "add", "--quiet", "-b", "task", filepath.Join(r.Dir, "tree"))
		tree := filepath.Join(r.Dir, "tree")
		require.NoError(t, os.WriteFile(filepath.Join(tree, "dirt.txt"), []byte("of a slice that was cut"), 0o600))
		var places []director.Place
		tool, err := agent.NewTool("note", "Notes a text.", func(ctx context.Context, _ note) (string, error) {
			p, ok := director.PlaceFrom(ctx)
			assert.True(t, ok)
			places = append(places, p)
			return "noted", nil
		})
		require.NoError(t, err)
		m := &model{next: []providers.Response{call("c1"), {Text: "done"}}}
		place := director.Place{Path: tree, Branch: "task", Commit: r.run("rev-parse", "HEAD")}
		resp, err := director.Worker(m, tool).Call(t.Context(), agent.Request{
			Op: director.OpWork, Prompt: "Do it.", Input: agent.JSON(director.WorkInput{Worktree: &place}),
		})
		require.NoError(t, err)
		assert.Equal(t, "done", resp.Text)
		assert.Equal(t, []director.Place{place}, places)
		assert.NoFileExists(t, filepath.Join(tree, "dirt.txt"))
	})
	t.Run("BC44 a further slice shows the model its history, and nothing beside it", func(t *testing.T) {
		m := &model{next: []providers.Response{{Text: "done"}}}
		_, err := director.Worker(m).Call(t.Context(), agent.Request{
			Op: director.OpContinue, Prompt: "Go on.", Input: agent.JSON(director.SliceInput{Task: "a", Attempt: 1, Slice: 2}),
			History: []providers.Message{{Role: providers.User, Text: "Do it."}},
		})
		require.NoError(t, err)
		require.Len(t, m.asked, 1)
		assert.Equal(t, []providers.Message{{Role: providers.User, Text: "Do it."}, {Role: providers.User, Text: "Go on."}}, m.asked[0].Messages)
	})
	t.Run("BC58 its turns are limited by its time and its guardian", func(t *testing.T) {
		assert.Equal(t, 500, director.Worker(&model{}).MaxTurns)
	})
	t.Run("BC59 a folder that is no worktree", func(t *testing.T) {
		_, err := director.Worker(&model{}).Call(t.Context(), agent.Request{
			Op: director.OpWork, Prompt: "x", Input: agent.JSON(director.WorkInput{Worktree: &director.Place{Path: t.TempDir(), Branch: "task", Commit: "0123456789012345678901234567890123456789"}}),
		})
		require.ErrorContains(t, err, "no worktree")
		_, ok := director.PlaceFrom(t.Context())
		assert.False(t, ok)
	})
}

func TestWorktrees(t *testing.T) {
	t.Run("BC52 what it is not asked", func(t *testing.T) {
		r := newRepo(t)
		w := director.NewWorktrees(worktree.Config{Repo: r.Dir})
		ctx := agent.WithInfo(t.Context(), agent.Info{Run: "r", Key: "r/1"})
		for op, input := range map[string]string{"fly": `{}`, director.OpCreate: `{"tasks":"x"}`, director.OpMerge: `[]`} {
			_, err := w.Call(ctx, agent.Request{Op: op, Input: []byte(input)})
			require.ErrorContains(t, err, "director: worktree: "+op)
		}
	})
	t.Run("BX30 BC59 a commit that is made again is the same", func(t *testing.T) {
		r := newRepo(t)
		w := director.NewWorktrees(worktree.Config{Repo: r.Dir})
		do := func(key, op string, in, out any) {
			resp, err := w.Call(agent.WithInfo(t.Context(), agent.Info{Run: "r", Key: key}), agent.Request{Op: op, Input: agent.JSON(in)})
			require.NoError(t, err)
			decode(resp.Data, out)
		}
		var made, again director.Created
		do("1", director.OpCreate, director.CreateRequest{Task: "a", Attempt: 1}, &made)
		do("1", director.OpCreate, director.CreateRequest{Task: "a", Attempt: 1}, &again)
		assert.Equal(t, made, again)
		ignored := director.CommitRequest{Tree: made.Tree, Since: made.Head, Phase: "plan", Summary: "s", Path: "/out/x.md", Text: "x"}
		require.NoError(t, os.WriteFile(filepath.Join(made.Tree.Path, ".gitignore"), []byte("out\n"), 0o600))
		var first, second director.Committed
		do("2", director.OpCommit, ignored, &first)
		do("2", director.OpCommit, ignored, &second)
		assert.Equal(t, first, second)
		assert.Equal(t, director.Committed{Commit: first.Commit, Files: 2, Found: true}, first)
		assert.Equal(t, "x", r.run("show", first.Commit+":out/x.md"))
		ignored.Path = "/../x"
		do("3", director.OpCommit, ignored, &second)
		assert.NotEmpty(t, second.Unsafe)
		var seen director.Inspected
		do("4", director.OpInspect, director.InspectRequest{Tree: made.Tree, Commit: first.Commit, Path: "../x"}, &seen)
		assert.True(t, seen.Missing)
	})
	t.Run("BX1 BX29 a git that is killed gives no answer, and the next one the true one", func(t *testing.T) {
		if testing.Short() {
			t.Skip("long: it kills each command of git")
		}
		r := newRepo(t)
		w := director.NewWorktrees(worktree.Config{Repo: r.Dir})
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
			var made director.Created
			try := func(op string, in, out any) {
				git.At(n)
				err := do(op, in, out)
				tested = git.Killed() || tested
				if err != nil {
					require.NoError(t, do(op, in, out), "%s: the %d. command of git was killed: %v", op, n, err)
				}
			}
			try(director.OpCreate, director.CreateRequest{Task: "a", Attempt: n}, &made)
			require.NoError(t, os.WriteFile(filepath.Join(made.Tree.Path, "x.md"), []byte(strconv.Itoa(n)), 0o600))
			var got director.Committed
			try(director.OpCommit, director.CommitRequest{Tree: made.Tree, Since: made.Head, Phase: "plan", Summary: "s", Path: "x.md"}, &got)
			assert.Equal(t, director.Committed{Commit: got.Commit, Files: 1, Found: true}, got, n)
			var seen director.Inspected
			try(director.OpInspect, director.InspectRequest{Tree: made.Tree, Commit: got.Commit, Path: "x.md", Limit: 9999}, &seen)
			assert.Equal(t, strconv.Itoa(n), seen.Artifact.Text, n)
			assert.Contains(t, seen.Diff, "+"+strconv.Itoa(n), n)
			var merged director.Merged
			try(director.OpMerge, director.MergeRequest{Tree: made.Tree, Commit: got.Commit}, &merged)
			assert.True(t, merged.Merged, n)
			assert.Len(t, merged.Files, 1, n)
			try(director.OpRemove, director.RemoveRequest{Trees: []worktree.Tree{made.Tree}, Branches: true}, new(struct{}))
			assert.Equal(t, strconv.Itoa(n), r.show("x.md"))
			assert.Equal(t, "refs/heads/main", r.run("for-each-ref", "--format=%(refname)", "refs/heads"), n)
		}
	})
	t.Run("BC66 B8 work that is in the branch already is merged, with no files of others", func(t *testing.T) {
		r := newRepo(t)
		w := director.NewWorktrees(worktree.Config{Repo: r.Dir})
		do := func(key, op string, in, out any) {
			resp, err := w.Call(agent.WithInfo(t.Context(), agent.Info{Run: "r", Key: key}), agent.Request{Op: op, Input: agent.JSON(in)})
			require.NoError(t, err)
			decode(resp.Data, out)
		}
		var made director.Created
		do("1", director.OpCreate, director.CreateRequest{Task: "a", Attempt: 1}, &made)
		var merged director.Merged
		do("2", director.OpMerge, director.MergeRequest{Tree: made.Tree, Commit: made.Head}, &merged)
		assert.Equal(t, director.Merged{Merge: worktree.Merge{Merged: true, Commit: made.Head}}, merged)
	})
	t.Run("BX6 a worktree that cannot be updated is not left behind", func(t *testing.T) {
		r := newRepo(t)
		w := director.NewWorktrees(worktree.Config{Repo: r.Dir})
		_, err := w.Call(agent.WithInfo(t.Context(), agent.Info{Run: "r", Key: "1"}), agent.Request{
			Op: director.OpCreate, Input: agent.JSON(director.CreateRequest{Task: "a", Attempt: 1, Update: true, Into: "nothing"}),
		})
		require.ErrorContains(t, err, `branch "nothing" does not exist`)
		assert.Len(t, strings.Split(r.run("worktree", "list"), "\n"), 1)
		assert.Equal(t, "main", r.run("branch", "--format=%(refname:short)"))
	})
	t.Run("BC61 BX4 a merge that was checked lands on the commit that it was checked with", func(t *testing.T) {
		r := newRepo(t)
		w := director.NewWorktrees(worktree.Config{Repo: r.Dir})
		do := func(op string, in, out any) {
			resp, err := w.Call(agent.WithInfo(t.Context(), agent.Info{Run: "r", Key: op}), agent.Request{Op: op, Input: agent.JSON(in)})
			require.NoError(t, err)
			decode(resp.Data, out)
		}
		var made director.Created
		do(director.OpCreate, director.CreateRequest{Task: "a", Attempt: 1}, &made)
		var done director.Committed
		do(director.OpCommit, director.CommitRequest{Tree: made.Tree, Since: made.Head, Phase: "build", Path: "a.md", Text: "a"}, &done)
		var first, second, third director.Merged
		merge := director.MergeRequest{Tree: made.Tree, Commit: done.Commit, Prepare: true}
		do(director.OpMerge, merge, &first)
		require.NotEmpty(t, first.Prepared)
		r.run("commit", "--quiet", "--allow-empty", "-m", "others were first")
		merge.Checked = first.Prepared
		do(director.OpMerge, merge, &second)
		assert.False(t, second.Merged)
		assert.NotEqual(t, first.Prepared, second.Prepared)
		assert.Equal(t, r.run("rev-parse", "main"), second.Onto)
		merge.Checked = second.Prepared
		do(director.OpMerge, merge, &third)
		assert.True(t, third.Merged)
		assert.Equal(t, "a", r.show("a.md"))
	})
}

// busy is a model that calls a tool so many times, and is then done.
type busy struct{ calls int }

func (b busy) Generate(_ context.Context, req providers.Request) (providers.Response, error) {
	made := 0
	for _, m := range req.Messages {
		if m.Role == providers.ToolRole {
			made++
		}
	}
	if made < b.calls {
		return providers.Response{Stop: providers.StopTools, ToolCalls: []providers.ToolCall{{ID: fmt.Sprint("c", made), Name: "look", Input: []byte(`{}`)}}}, nil
	}
	nudges := 0
	for _, m := range req.Messages {
		if m.Role == providers.System {
			nudges++
		}
	}
	return providers.Response{Stop: providers.StopEnd, Text: string(agent.JSON(director.WorkerResult{
		Status: director.StatusComplete, ResultPath: "a.md", Artifact: fmt.Sprintf("%d nudges", nudges),
	}))}, nil
}

func TestModelWorker(t *testing.T) {
	t.Run("BC44 BC58 a model with tools works in slices", func(t *testing.T) {
		look, err := agent.NewTool("look", "Looks.", func(context.Context, struct{}) (string, error) { return "seen", nil })
		require.NoError(t, err)
		s := one(map[string]func(asked) any{"assess": func(asked) any { return director.Assessment{Alignment: 95} }})
		s.extra = func(testing.TB) agent.Roster {
			return agent.Roster{"code_worker": director.Worker(busy{20}, look)}
		}
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "0 nudges", p.out.Files["a.md"])
		assert.EqualValues(t, 20, p.out.Board.Spent.ToolCalls)
		s.sweep(t)
	})
}
