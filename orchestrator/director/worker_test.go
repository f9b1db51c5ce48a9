package director_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/director/trees"
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
		var places []trees.Place
		tool, err := agent.NewTool("note", "Notes a text.", func(ctx context.Context, _ note) (string, error) {
			p, ok := trees.PlaceFrom(ctx)
			assert.True(t, ok)
			places = append(places, p)
			return "noted", nil
		})
		require.NoError(t, err)
		m := &model{next: []providers.Response{call("c1"), {Text: "done"}}}
		place := trees.Place{Path: tree, Branch: "task", Commit: r.run("rev-parse", "HEAD")}
		resp, err := director.Worker(m, tool).Call(t.Context(), agent.Request{
			Op: director.OpWork, Prompt: "Do it.", Input: agent.JSON(director.WorkInput{Worktree: &place}),
		})
		require.NoError(t, err)
		assert.Equal(t, "done", resp.Text)
		assert.Equal(t, []trees.Place{place}, places)
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
			Op: director.OpWork, Prompt: "x", Input: agent.JSON(director.WorkInput{Worktree: &trees.Place{Path: t.TempDir(), Branch: "task", Commit: "0123456789012345678901234567890123456789"}}),
		})
		require.ErrorContains(t, err, "no worktree")
		_, ok := trees.PlaceFrom(t.Context())
		assert.False(t, ok)
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
