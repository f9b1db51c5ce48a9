package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// step is what an agent does in one attempt.
type step struct {
	takes time.Duration
	resp  agent.Response
	err   error
}

// done is the Task of a call of an agent that makes these steps, one for each attempt.
func done(t *testing.T, limits agent.Limits, steps ...step) *engine.Task {
	t.Helper()
	a := agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
		s := steps[agent.InfoFrom(ctx).Attempt-1]
		select {
		case <-time.After(s.takes):
			return s.resp, s.err
		case <-ctx.Done():
			return agent.Response{}, ctx.Err()
		}
	})
	task := &engine.Task{Info: agent.Info{Agent: "a"}, Request: &agent.Request{Limits: limits}}
	task.Execute(t.Context(), agent.Roster{"a": a}, engine.Retry{})
	return task
}

func TestFailedAttempts(t *testing.T) {
	const code = agent.Code("acme/busy")
	paid := func(cost int64) providers.Usage { return providers.Usage{Calls: 1, Cost: providers.NanoUSD(cost)} }
	busy := func(cost int64) error {
		return agent.Transient(&agent.Error{Message: "busy", Codes: []agent.Code{code}, Usage: paid(cost)}, 0)
	}
	tests := []struct {
		name   string
		limits agent.Limits
		steps  []step
		want   *engine.Attempts
		used   providers.Usage
	}{
		{"a call that succeeds at once has none", agent.Limits{}, []step{{resp: agent.Response{Usage: paid(3)}}}, nil, paid(3)},
		{
			"two attempts before the answer",
			agent.Limits{},
			[]step{{takes: time.Second, err: busy(1)}, {takes: 2 * time.Second, err: busy(2)}, {resp: agent.Response{Usage: paid(4)}}},
			&engine.Attempts{{1, time.Second, "busy", []agent.Code{code}, paid(1)}, {2, 2 * time.Second, "busy", []agent.Code{code}, paid(2)}},
			providers.Usage{Calls: 3, Cost: 7},
		},
		{
			"the one attempt of a call that failed",
			agent.Limits{},
			[]step{{takes: time.Minute, err: errors.New("no")}},
			&engine.Attempts{{N: 1, Elapsed: time.Minute, Message: "no"}},
			providers.Usage{Calls: 1},
		},
		{
			"all attempts of a call that failed",
			agent.Limits{Attempts: 2},
			[]step{{err: busy(1)}, {err: busy(2)}},
			&engine.Attempts{{N: 1, Message: "busy", Codes: []agent.Code{code}, Usage: paid(1)}, {N: 2, Message: "busy", Codes: []agent.Code{code}, Usage: paid(2)}},
			providers.Usage{Calls: 2, Cost: 3},
		},
		{
			"an attempt that took too long",
			agent.Limits{Timeout: time.Second},
			[]step{{takes: time.Hour}, {}},
			&engine.Attempts{{N: 1, Elapsed: time.Second, Message: "timeout after 1s: context deadline exceeded", Codes: []agent.Code{engine.ErrTimeout}}},
			providers.Usage{Calls: 1},
		},
		{
			"a response beside the error counts with it",
			agent.Limits{},
			[]step{{resp: agent.Response{Usage: paid(5)}, err: busy(1)}, {}},
			&engine.Attempts{{1, 0, "busy", []agent.Code{code}, providers.Usage{Calls: 2, Cost: 6}}},
			providers.Usage{Calls: 2, Cost: 6},
		},
		{
			"a usage below zero is none",
			agent.Limits{},
			[]step{{err: busy(-1)}, {}},
			&engine.Attempts{{N: 1, Message: "busy", Codes: []agent.Code{code}}},
			providers.Usage{Calls: 1},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				task := done(t, tt.limits, tt.steps...)
				assert.Equal(t, tt.want, task.Failed)
				used := task.Response.Usage
				if task.Err != nil {
					used = task.Err.Usage
				}
				assert.Equal(t, tt.used, used, "each attempt is counted once")
			})
		})
	}
}

// A text of any length, and of any bytes, does not make the record large or unreadable.
func TestFailedAttemptsAreShort(t *testing.T) {
	task := done(t, agent.Limits{}, step{err: &agent.Error{Message: "\xff" + strings.Repeat("x", 10_000), Codes: []agent.Code{engine.ErrOver}}})
	require.Len(t, *task.Failed, 1)
	failed := (*task.Failed)[0]
	assert.Equal(t, "\ufffd"+strings.Repeat("x", 497)+"…", failed.Message)
	assert.Empty(t, failed.Codes, "the engine's own words are not an agent's")
	assert.Len(t, task.Err.Message, 10_003, "the error of the call is whole")
}

// An agent that is left behind has failed once more.
func TestAttemptsBeforeAnAgentIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		a := agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
			if agent.InfoFrom(ctx).Attempt == 1 {
				return agent.Response{}, agent.Transient(errors.New("busy"), 0)
			}
			<-block
			return agent.Response{}, nil
		})
		task := &engine.Task{Info: agent.Info{Agent: "a"}, Request: &agent.Request{Limits: agent.Limits{Timeout: time.Second}}}
		left := task.ExecuteWithin(t.Context(), nil, agent.Roster{"a": a}, engine.Retry{})
		require.NotNil(t, left)
		failed := *task.FailedBy(left)
		require.Len(t, failed, 2)
		assert.Equal(t, engine.Attempt{N: 1, Message: "busy"}, failed[0])
		assert.Equal(t, 2, failed[1].N)
		assert.Equal(t, left.Message, failed[1].Message)
		assert.Equal(t, []agent.Code{engine.ErrTimeout}, failed[1].Codes)
		close(block)
	})
}
