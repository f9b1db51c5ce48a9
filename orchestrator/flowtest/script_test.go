package flowtest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

// recorder is a test that notes its failures.
type recorder struct {
	testing.TB
	errors  []string
	cleanup []func()
}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}
func (r *recorder) Failed() bool     { return len(r.errors) > 0 }
func (r *recorder) Cleanup(f func()) { r.cleanup = append(r.cleanup, f) }

// end ends the recorded test.
func (r *recorder) end() []string {
	for _, f := range r.cleanup {
		f()
	}
	return r.errors
}

// call is an attempt of the call of a key.
func call(t *testing.T, s *flowtest.Script, key string, attempt int, prompt string) (agent.Response, error) {
	t.Helper()
	ctx := agent.WithInfo(t.Context(), agent.Info{Agent: "writer", Key: key, Attempt: attempt})
	return s.Call(ctx, agent.Request{Prompt: prompt})
}

func TestScriptAnswers(t *testing.T) {
	oops := errors.New("oops")
	tests := []struct {
		name   string
		answer any
		want   agent.Response
		err    error
	}{
		{"a text", "hello", agent.Response{Text: "hello"}, nil},
		{"an error", oops, agent.Response{}, oops},
		{"a response", agent.Response{Text: "a", More: true}, agent.Response{Text: "a", More: true}, nil},
		{"a value", struct{ N int }{3}, agent.Response{Data: []byte(`{"N":3}`)}, nil},
		{"a function", func(_ context.Context, req agent.Request) (agent.Response, error) {
			return agent.Response{Text: req.Prompt + "!"}, nil
		}, agent.Response{Text: "ask!"}, nil},
		{"an agent", agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
			return agent.Response{Text: req.Prompt + "?"}, nil
		}), agent.Response{Text: "ask?"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := call(t, flowtest.NewScript(t, tt.answer), "x/0", 1, "ask")
			require.ErrorIs(t, err, tt.err)
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestScriptAnswersInTurn(t *testing.T) {
	s := flowtest.NewScript(t, "one", "two")
	for i, want := range []string{"one", "two"} {
		got, err := call(t, s, fmt.Sprint("x/", i), 1, "")
		require.NoError(t, err)
		assert.Equal(t, want, got.Text)
	}
}

func TestScriptGivesTheSameAnswerToTheSameKey(t *testing.T) {
	s := flowtest.NewScript(t, "one", "two")
	for _, step := range []struct{ key, want string }{{"x/0", "one"}, {"x/1", "two"}, {"x/0", "one"}, {"x/1", "two"}} {
		got, err := call(t, s, step.key, 1, "")
		require.NoError(t, err)
		assert.Equal(t, step.want, got.Text, step.key)
	}
	assert.Len(t, s.Requests(), 2, "distinct calls")
}

func TestScriptRules(t *testing.T) {
	s := flowtest.NewScript(t, "other").On("red", "rule 1").On("re", "rule 2")
	for i, step := range []struct{ prompt, want string }{{"a red one", "rule 1"}, {"green", "rule 2"}, {"blue", "other"}, {"red", "rule 1"}} {
		got, err := call(t, s, fmt.Sprint("x/", i), 1, step.prompt)
		require.NoError(t, err)
		assert.Equal(t, step.want, got.Text, step.prompt)
	}
}

func TestScriptFails(t *testing.T) {
	oops := errors.New("oops")
	s := flowtest.NewScript(t, flowtest.Fail(2, oops, "at last"))
	for attempt := 1; attempt <= 2; attempt++ {
		_, err := call(t, s, "x/0", attempt, "")
		require.ErrorIs(t, err, oops)
	}
	got, err := call(t, s, "x/0", 3, "")
	require.NoError(t, err)
	assert.Equal(t, "at last", got.Text)
}

func TestScriptHangsAndDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := flowtest.NewScript(t, flowtest.Delay(time.Hour, "late"), flowtest.Hang())
		begun := time.Now()
		got, err := call(t, s, "x/0", 1, "")
		require.NoError(t, err)
		assert.Equal(t, "late", got.Text)
		assert.Equal(t, time.Hour, time.Since(begun))

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = s.Call(agent.WithInfo(ctx, agent.Info{Key: "x/1"}), agent.Request{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestScriptReportsUnexpectedCalls(t *testing.T) {
	r := &recorder{TB: t}
	s := flowtest.NewScript(r, "one")
	_, err := call(t, s, "run/0", 1, "first")
	require.NoError(t, err)
	_, err = call(t, s, "run/0.2:1", 1, "write a poem")
	require.Error(t, err)
	require.Len(t, r.errors, 1)
	for _, want := range []string{`"writer"`, "call 2", "run/0.2:1", `"write a poem"`, "not expected"} {
		assert.Contains(t, r.errors[0], want)
	}
	assert.Len(t, r.end(), 1)
}

func TestScriptReportsUnusedAnswers(t *testing.T) {
	r := &recorder{TB: t}
	s := flowtest.NewScript(r, "one", "two", "three")
	_, err := call(t, s, "x/0", 1, "")
	require.NoError(t, err)
	require.Empty(t, r.errors)
	require.Len(t, r.end(), 1)
	for _, want := range []string{"2 of 3", `"two"`} {
		assert.Contains(t, r.errors[0], want)
	}
}

func TestScriptIsContentWithUnusedRules(t *testing.T) {
	r := &recorder{TB: t}
	flowtest.NewScript(r).On("never", "asked")
	assert.Empty(t, r.end())
}

func TestScriptRequestsAreInOrderOfBranches(t *testing.T) {
	s := flowtest.NewScript(t).On("", "ok")
	for _, c := range []struct{ branch, key string }{{"10", "x/10:0"}, {"2", "x/2:1"}, {"", "x/1"}, {"2", "x/2:0"}, {"2.0", "x/2.0:0"}} {
		ctx := agent.WithInfo(t.Context(), agent.Info{Branch: c.branch, Key: c.key})
		_, err := s.Call(ctx, agent.Request{Prompt: c.key})
		require.NoError(t, err)
	}
	var got []string
	for _, req := range s.Requests() {
		got = append(got, req.Prompt)
	}
	assert.Equal(t, []string{"x/1", "x/2:0", "x/2:1", "x/2.0:0", "x/10:0"}, got)
}

func TestElse(t *testing.T) {
	s := flowtest.NewScript(t, "first").On("rule", "ruled").Else("rest")
	for i, tt := range []struct{ prompt, want string }{{"a", "first"}, {"b", "rest"}, {"a rule", "ruled"}, {"c", "rest"}} {
		ctx := agent.WithInfo(t.Context(), agent.Info{Key: fmt.Sprint("k", i)})
		resp, err := s.Call(ctx, agent.Request{Prompt: tt.prompt})
		require.NoError(t, err)
		assert.Equal(t, tt.want, resp.Text)
	}
}
