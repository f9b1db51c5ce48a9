package orchestrator_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

func TestMoveKey(t *testing.T) {
	m := orchestrator.Move{Path: "task/a", From: "review", Event: "pass", To: "done"}
	assert.Equal(t, "permit/task/a/pass", m.Key())
	m.Nth = 1
	assert.Equal(t, "permit/task/a/pass", m.Key())
	m.Nth = 2
	assert.Equal(t, "permit/task/a/pass/2", m.Key())
}

// permitted is a flow that makes one move twice in one branch and once in another.
func permitted(t *testing.T, permit orchestrator.Permit, answers map[string]any) *flowtest.Case[none, []string] {
	t.Helper()
	f := flow("moves", func(c *orchestrator.Context) ([]string, error) {
		paths := []string{"run", "run", "task/a"}
		return orchestrator.Values(orchestrator.Map(c, []int{0, 1, 2}, 1, func(c *orchestrator.Context, i int) (string, error) {
			m := orchestrator.Move{Path: paths[i], From: "here", Event: "go", To: "there", Nth: i%2 + 1}
			if err := permit.Allow(c, m); err != nil {
				if orchestrator.IsOver(err) {
					return "", err
				}
				return agent.ErrorOf(err).Message, nil
			}
			return "moved", nil
		}))
	})
	c := flowtest.New(f, none{}, func(testing.TB) agent.Roster { return nil })
	c.Answers = answers
	return c
}

func TestAskFirst(t *testing.T) {
	run := func(t *testing.T, permit orchestrator.Permit, answers map[string]any) []string {
		t.Helper()
		c := permitted(t, permit, answers)
		out, _, err := c.Run(t)
		require.NoError(t, err)
		c.Sweep(t)
		c.Determinism(t)
		return out
	}
	t.Run("every move is a question of its own", func(t *testing.T) {
		got := run(t, orchestrator.AskFirst{}, map[string]any{"permit/run/go": true, "permit/run/go/2": false, "permit/task/a/go": true})
		assert.Equal(t, []string{"moved", "not-permitted: the answer to permit/run/go/2 was no", "moved"}, got)
	})
	t.Run("only some moves", func(t *testing.T) {
		got := run(t, orchestrator.AskFirst{Moves: func(m orchestrator.Move) bool { return m.Path == "task/a" }}, map[string]any{"permit/task/a/go": false})
		assert.Equal(t, []string{"moved", "moved", "not-permitted: the answer to permit/task/a/go was no"}, got)
	})
	t.Run("no answer in time", func(t *testing.T) {
		got := run(t, orchestrator.AskFirst{Timeout: time.Hour}, nil)
		require.Len(t, got, 3)
		assert.Contains(t, got[0], "timeout")
	})
	t.Run("a function", func(t *testing.T) {
		no := errors.New("no")
		var p orchestrator.Permit = orchestrator.PermitFunc(func(_ *orchestrator.Context, m orchestrator.Move) error {
			if m.To == "there" {
				return no
			}
			return nil
		})
		require.ErrorIs(t, p.Allow(nil, orchestrator.Move{To: "there"}), no)
		require.NoError(t, p.Allow(nil, orchestrator.Move{}))
	})
}

// What a person is asked says the move, and who may answer.
func TestAskFirstShowsItsQuestion(t *testing.T) {
	flowtest.Bubble(t, func(t *testing.T) {
		eng := local(t, orchestrator.Config{})
		f := flow("move", func(c *orchestrator.Context) (bool, error) {
			err := orchestrator.AskFirst{Only: []string{"ann"}, Person: true}.Allow(c, orchestrator.Move{Path: "run", From: "ready", Event: "go", To: "done"})
			return errors.Is(err, orchestrator.ErrNotPermitted), err
		})
		run := begin(t, eng, f, "r")
		synctest.Wait()
		info, err := run.Info(t.Context())
		require.NoError(t, err)
		require.Len(t, info.Questions, 1)
		q := info.Questions[0]
		assert.Equal(t, "May run go from ready to done?", q.Text)
		assert.Equal(t, []string{"ann"}, q.Only)
		assert.True(t, q.Person)
		require.NoError(t, run.AnswerWith(t.Context(), q.Key, false, orchestrator.AnswerOptions{By: "ann", Seen: q.Hash}))
		refused, err := f.Result(t.Context(), run)
		require.ErrorIs(t, err, orchestrator.ErrNotPermitted)
		assert.True(t, refused)
	})
}
