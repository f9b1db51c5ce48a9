package trees_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/worktree"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director/trees"
)

func TestClient(t *testing.T) {
	t.Parallel()
	git := trees.Client{Agent: "git", Time: time.Minute}
	t.Run("BC52 from an empty worktree to the main branch", func(t *testing.T) {
		t.Parallel()
		r := newRepo(t)
		flow := orchestrator.Flow[struct{}, string]{Name: "merge", Agents: []string{"git"}, Do: func(c *orchestrator.Context, _ struct{}) (string, error) {
			opened, err := git.Open(c)
			if err != nil {
				return "", err
			}
			made, err := git.Create(c, trees.CreateRequest{Task: "a", Attempt: 1})
			if err != nil {
				return "", err
			}
			done, err := git.Commit(c, trees.CommitRequest{Tree: made.Tree, Since: made.Head, Phase: "build", Path: "a.md", Text: "a"})
			if err != nil {
				return "", err
			}
			seen, err := git.Inspect(c, trees.InspectRequest{Tree: made.Tree, Commit: done.Commit, Path: "a.md", Limit: 100})
			if err != nil {
				return "", err
			}
			merged, err := git.Merge(c, trees.MergeRequest{Tree: made.Tree, Commit: done.Commit})
			if err != nil || !merged.Merged {
				return "", errors.Join(err, errors.New("it is not merged"))
			}
			return opened.Branch + ": " + seen.Artifact.Text, git.Remove(c, trees.RemoveRequest{Trees: []worktree.Tree{made.Tree}, Branches: true})
		}}
		out, err := flow.Run(t.Context(), orchestrator.Local(agent.Roster{"git": trees.New(worktree.Config{Repo: r.Dir})}), struct{}{})
		require.NoError(t, err)
		assert.Equal(t, "main: a", out)
		assert.Equal(t, "a", r.show("a.md"))
		assert.Equal(t, "main", r.run("branch", "--format=%(refname:short)"))
	})
	t.Run("BX30 an operation that fails is asked for once more", func(t *testing.T) {
		t.Parallel()
		for fails, want := range map[int]int{1: 2, 2: 2} {
			calls := 0
			away := agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
				if calls++; calls <= fails {
					return agent.Response{}, errors.New("no space left on device")
				}
				return agent.Response{Data: agent.JSON(trees.Opened{Branch: "main"})}, nil
			})
			flow := orchestrator.Flow[struct{}, string]{Name: "open", Agents: []string{"git"}, Do: func(c *orchestrator.Context, _ struct{}) (string, error) {
				opened, err := git.Open(c)
				return opened.Branch, err
			}}
			out, err := flow.Run(t.Context(), orchestrator.Local(agent.Roster{"git": away}), struct{}{})
			assert.Equal(t, want, calls)
			if fails == 1 {
				require.NoError(t, err)
				assert.Equal(t, "main", out)
			} else {
				require.ErrorContains(t, err, "no space left on device")
			}
		}
	})
	t.Run("BC52 an answer that is no JSON of the operation", func(t *testing.T) {
		t.Parallel()
		odd := agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
			return agent.Response{Data: []byte(`[1]`)}, nil
		})
		flow := orchestrator.Flow[struct{}, struct{}]{Name: "open", Agents: []string{"git"}, Do: func(c *orchestrator.Context, _ struct{}) (none struct{}, err error) {
			_, err = git.Open(c)
			return none, err
		}}
		_, err := flow.Run(t.Context(), orchestrator.Local(agent.Roster{"git": odd}), struct{}{})
		require.ErrorIs(t, err, orchestrator.ErrMalformed)
	})
}
