package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
)

// codes are all codes with the text that logs have of them: none may ever change.
var codes = map[agent.Code]string{
	ErrBudget: "budget", ErrCanceled: "canceled", ErrTimeout: "timeout", ErrNoAgent: "no-agent", ErrNoRun: "no-run",
	ErrNoFlow: "no-flow", ErrNotServed: "not-served", ErrExists: "exists", ErrNoState: "no-state", ErrMalformed: "malformed",
	ErrAnswered: "answered", ErrNoQuestion: "no-question", ErrChanged: "changed", ErrNotAllowed: "not-allowed", ErrUnconfirmed: "unconfirmed", ErrDiverged: "diverged",
	ErrStopped: "stopped", ErrRunning: "running", ErrFlow: "flow", ErrTooLarge: "too-large", ErrOver: "over", ErrLeft: "left-behind",
}

func TestCodes(t *testing.T) {
	assert.Len(t, codes, 22, "each is another one")
	for code, text := range codes {
		assert.Equal(t, text, string(code))
		assert.Equal(t, text, code.Error())
		crossed := clone(t, agent.ErrorOf(fmt.Errorf("outer: %w", fmt.Errorf("%w: more", code))))
		require.ErrorIs(t, crossed, code, "it is found behind a log")
		for other := range codes {
			assert.Equal(t, other == code, crossed.Is(other), "%s in an error of %s", other, code)
		}
		assert.Equal(t, code == ErrCanceled, crossed.Is(context.Canceled))
		assert.Equal(t, code == ErrTimeout, crossed.Is(context.DeadlineExceeded))
	}
}

func TestCodesThatOnlyEnginesSet(t *testing.T) {
	for code := range codes {
		task := execute(t, agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
			return agent.Response{}, fmt.Errorf("%w: says the agent", code)
		}), &Task{})
		require.NotNil(t, task.Err)
		assert.Equal(t, code != ErrOver && code != ErrLeft, task.Err.Is(code), "%s", code)
		assert.Equal(t, string(code)+": says the agent", task.Err.Message)
	}
}

func TestCanceledBy(t *testing.T) {
	for reason, want := range map[string]string{
		``:               "the run was canceled",
		`null`:           "the run was canceled",
		`""`:             "the run was canceled",
		`"too slow"`:     "the run was canceled: too slow",
		`{"why":"slow"}`: "the run was canceled",
		`"half`:          "the run was canceled",
	} {
		c := CanceledBy(json.RawMessage(reason))
		assert.Nil(t, c.Op)
		assert.Nil(t, c.Response)
		require.EqualError(t, c.Err, want, "reason %s", reason)
		assert.Equal(t, []agent.Code{ErrCanceled, ErrOver}, c.Err.Codes)
	}
}

func TestExpired(t *testing.T) {
	op := awaits("q")
	c := Expired(op)
	assert.Same(t, op, c.Op)
	assert.Nil(t, c.Response)
	require.EqualError(t, c.Err, `timeout: no answer to the question "q"`)
	require.ErrorIs(t, c.Err, context.DeadlineExceeded)
	assert.NotErrorIs(t, c.Err, ErrOver)
}
