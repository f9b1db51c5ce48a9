package flowtest_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

// made is an attempt of the call with that key and request.
func made(t *testing.T, s *flowtest.Script, key string, attempt int, req agent.Request) (string, error) {
	t.Helper()
	resp, err := s.Call(agent.WithInfo(t.Context(), agent.Info{Agent: "worker", Key: key, Attempt: attempt}), req)
	return resp.Text, err
}

func TestScriptMatchesOpAndTask(t *testing.T) {
	s := flowtest.NewScript(t).
		When(flowtest.Match{Op: "work", Task: "t-1"}, "one").
		When(flowtest.Match{Op: "work", Task: "t-2"}, "two").
		When(flowtest.Match{Op: "review"}, "fine").
		When(flowtest.Match{Task: "t-3", Prompt: "red"}, "red three").
		Else("other")
	for i, step := range []struct {
		req  agent.Request
		want string
	}{
		{agent.Request{Op: "work", Task: "t-2"}, "two"},
		{agent.Request{Op: "work", Task: "t-1"}, "one"},
		{agent.Request{Op: "work", Task: "t-1"}, "one"},
		{agent.Request{Op: "review", Task: "t-1"}, "fine"},
		{agent.Request{Op: "work", Task: "t-3", Prompt: "a red one"}, "red three"},
		{agent.Request{Op: "work", Task: "t-3", Prompt: "a blue one"}, "other"},
		{agent.Request{}, "other"},
	} {
		got, err := made(t, s, fmt.Sprint("x/", i), 1, step.req)
		require.NoError(t, err)
		assert.Equal(t, step.want, got, "call %d", i)
	}
}

// Several answers are for the calls of one task in turn, whatever other tasks ask
// meanwhile. A call that is made again gets its own once more.
func TestScriptMatchesInTurn(t *testing.T) {
	s := flowtest.NewScript(t).
		When(flowtest.Match{Task: "t-1"}, "first", "second").
		When(flowtest.Match{Task: "t-2"}, "another").
		Else("no more")
	for _, step := range []struct{ key, task, want string }{
		{"x/0", "t-1", "first"}, {"x/1", "t-2", "another"}, {"x/0", "t-1", "first"}, {"x/2", "t-1", "second"}, {"x/3", "t-1", "no more"}, {"x/2", "t-1", "second"},
	} {
		got, err := made(t, s, step.key, 1, agent.Request{Task: step.task})
		require.NoError(t, err)
		assert.Equal(t, step.want, got, step.key)
	}
	assert.Len(t, s.Requests(), 4, "distinct calls")
}

func TestScriptMatchesAttempts(t *testing.T) {
	busy := agent.Transient(errors.New("busy"), 0)
	s := flowtest.NewScript(t).
		When(flowtest.Match{Task: "t-1", Attempt: 1}, busy).
		When(flowtest.Match{Task: "t-1"}, "at last")
	for _, key := range []string{"x/0", "x/1"} {
		_, err := made(t, s, key, 1, agent.Request{Task: "t-1"})
		require.ErrorIs(t, err, busy)
		for _, attempt := range []int{2, 3} {
			got, err := made(t, s, key, attempt, agent.Request{Task: "t-1"})
			require.NoError(t, err)
			assert.Equal(t, "at last", got)
		}
	}
	assert.Len(t, s.Requests(), 2, "attempts are no calls of their own")
}

func TestScriptReportsWhatNoMatchFits(t *testing.T) {
	r := &recorder{TB: t}
	s := flowtest.NewScript(r).When(flowtest.Match{Task: "t-1"}, "a", "b").When(flowtest.Match{Op: "none"})
	_, err := made(t, s, "x/0", 1, agent.Request{Op: "work", Task: "t-2", Prompt: "do"})
	require.Error(t, err)
	require.Len(t, r.errors, 2)
	assert.Contains(t, r.errors[0], "When({Op:none")
	assert.Contains(t, r.errors[0], "has no answer")
	assert.Contains(t, r.errors[1], `its op is "work", its task is "t-2", its prompt is "do"`)
}

func TestScriptReportsAnswersOfAMatchThatAreLeft(t *testing.T) {
	r := &recorder{TB: t}
	s := flowtest.NewScript(r).When(flowtest.Match{Task: "t-1"}, "a", "b").When(flowtest.Match{Task: "t-2"}, "never")
	_, err := made(t, s, "x/0", 1, agent.Request{Task: "t-1"})
	require.NoError(t, err)
	left := r.end()
	require.Len(t, left, 1, "one answer for all calls may be for none")
	assert.Contains(t, left[0], `1 of 2 answers of When({Op: Task:t-1`)
	assert.Contains(t, left[0], `"b"`)
}

// Several tasks of a flow have scripts of their own, also where the process dies between
// them, and where an attempt fails.
func TestMatchesInASweep(t *testing.T) {
	f := orchestrator.Flow[[]string, []string]{Name: "tasks", Do: func(c *orchestrator.Context, tasks []string) ([]string, error) {
		return orchestrator.Values(orchestrator.Map(c, tasks, 0, func(c *orchestrator.Context, task string) (string, error) {
			var all string
			for range 2 {
				resp, err := c.Call("worker", agent.Request{Op: "work", Task: task, Prompt: "Do your task."})
				if err != nil {
					return "", err
				}
				all += resp.Text + " "
			}
			return all, nil
		}))
	}}
	c := flowtest.New(f, []string{"t-1", "t-2"}, func(t testing.TB) agent.Roster {
		return agent.Roster{"worker": flowtest.NewScript(t).
			When(flowtest.Match{Task: "t-2", Attempt: 1}, agent.Transient(errors.New("busy"), 0)).
			When(flowtest.Match{Op: "work", Task: "t-1"}, "one", "two").
			When(flowtest.Match{Op: "work", Task: "t-2"}, "three", "four")}
	})
	out, _, err := c.Run(t)
	require.NoError(t, err)
	assert.Equal(t, []string{"one two ", "three four "}, out)
	c.Sweep(t)
	c.Determinism(t)
}
