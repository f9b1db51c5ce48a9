package enginetest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

var failureChecks = []check{
	{name: "an agent that is missing is ErrNoAgent at the call", run: noAgent},
	{name: "a declared agent that is missing is ErrNoAgent before the start", run: noDeclaredAgent},
	{name: "a call that is not declared is ErrNoAgent", run: undeclaredCall},
	{name: "codes of errors survive", run: codesSurvive},
	{name: "the kind of a provider's error is a code", run: providerKind},
	{name: "a panic of an agent is an error of its call", run: agentPanics},
	{name: "a transient error is retried", run: transientRetried},
	{name: "a plain error is not retried", run: plainNotRetried},
	{name: "one attempt where one is wanted", run: oneAttempt},
	{name: "retries end", run: retriesEnd},
	{name: "an attempt that takes too long is tried again", run: attemptTimeout},
	{name: "a call that takes too long is ErrTimeout", run: totalTimeout},
	{name: "a response beside an error is dropped but for its usage", run: responseBesideError},
	{name: "an input that is not JSON is ErrMalformed", run: badInput},
}

func noAgent(t *testing.T, h *host) {
	_, err := run(h, nil, func(c *orchestrator.Context) (string, error) { return ask(c, "missing", "") })
	require.ErrorIs(t, err, orchestrator.ErrNoAgent)
	assert.ErrorContains(t, err, "missing")
}

func noDeclaredAgent(t *testing.T, h *host) {
	f := flow(h, func(*orchestrator.Context, none) (none, error) { return none{}, nil })
	f.Agents = []string{"echo", "missing"}
	e := h.engine(agent.Roster{"echo": echo})
	_, err := f.Start(h.ctx, e, none{}, orchestrator.StartOptions{ID: h.id("x")})
	require.ErrorIs(t, err, orchestrator.ErrNoAgent)
	require.ErrorContains(t, err, "missing")
	_, err = e.Open(h.ctx, h.id("x"))
	require.ErrorIs(t, err, orchestrator.ErrNoRun, "nothing is recorded")
}

func undeclaredCall(t *testing.T, h *host) {
	a, calls := counted(echo)
	f := flow(h, func(c *orchestrator.Context, _ none) (string, error) { return ask(c, "other", "") })
	f.Agents = []string{"echo"}
	_, err := f.Run(h.ctx, h.engine(agent.Roster{"echo": a, "other": a}), none{})
	require.ErrorIs(t, err, orchestrator.ErrNoAgent)
	assert.Zero(t, calls.Load())
}

func codesSurvive(t *testing.T, h *host) {
	const other = agent.Code("enginetest/other")
	failed := errors.Join(fmt.Errorf("deep: %w", errPoor), fmt.Errorf("%w, %w, %w", other, context.Canceled, context.DeadlineExceeded))
	inFlow := true
	_, err := run(h, agent.Roster{"a": fails(failed)}, func(c *orchestrator.Context) (string, error) {
		text, err := ask(c, "a", "")
		for _, want := range []error{errPoor, other, context.Canceled, context.DeadlineExceeded} {
			inFlow = inFlow && errors.Is(err, want)
		}
		return text, fmt.Errorf("the flow says: %w", err)
	})
	assert.True(t, inFlow, "in the flow")
	for _, want := range []error{errPoor, other, context.Canceled, context.DeadlineExceeded, orchestrator.ErrCanceled, orchestrator.ErrTimeout} {
		require.ErrorIs(t, err, want)
	}
	var crossed *agent.Error
	require.ErrorAs(t, err, &crossed)
	assert.ErrorContains(t, err, "the flow says: deep: enginetest/poor")
}

func providerKind(t *testing.T, h *host) {
	failed := &providers.Error{Kind: providers.RateLimited}
	_, err := run(h, agent.Roster{"a": fails(failed)}, func(c *orchestrator.Context) (string, error) {
		_, err := c.Call("a", agent.Request{Limits: agent.Limits{Attempts: 1}})
		return "", err
	})
	require.ErrorIs(t, err, agent.Code(providers.RateLimited))
}

func agentPanics(t *testing.T, h *host) {
	a, calls := counted(agent.Func(func(context.Context, agent.Request) (agent.Response, error) { panic("ouch") }))
	_, err := run(h, agent.Roster{"a": a}, func(c *orchestrator.Context) (string, error) { return ask(c, "a", "") })
	require.ErrorIs(t, err, agent.Code("panic"))
	require.ErrorContains(t, err, "ouch")
	var crossed *agent.Error
	require.ErrorAs(t, err, &crossed)
	assert.Contains(t, crossed.Stack, "agentPanics", "where it panicked")
	assert.Equal(t, int64(1), calls.Load(), "it is not retried")
}

// flaky returns an agent that fails n times, then answers with the number of its attempt.
func flaky(n int64, err error) (agent.Agent, *atomic.Int64) {
	calls := new(atomic.Int64)
	return agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
		if calls.Add(1) <= n {
			return agent.Response{}, err
		}
		return agent.Response{Text: fmt.Sprint(agent.InfoFrom(ctx).Attempt)}, nil
	}), calls
}

func transientRetried(t *testing.T, h *host) {
	a, _ := flaky(2, agent.Transient(errPoor, 0))
	got, err := run(h, agent.Roster{"a": a}, func(c *orchestrator.Context) (string, error) { return ask(c, "a", "") })
	require.NoError(t, err)
	assert.Equal(t, "3", got)
}

func plainNotRetried(t *testing.T, h *host) {
	a, calls := flaky(1, errPoor)
	_, err := run(h, agent.Roster{"a": a}, func(c *orchestrator.Context) (string, error) { return ask(c, "a", "") })
	require.ErrorIs(t, err, errPoor)
	assert.Equal(t, int64(1), calls.Load())
}

func oneAttempt(t *testing.T, h *host) {
	a, calls := flaky(1, agent.Transient(errPoor, 0))
	_, err := run(h, agent.Roster{"a": a}, func(c *orchestrator.Context) (string, error) {
		_, err := c.Call("a", agent.Request{Limits: agent.Limits{Attempts: 1}})
		var crossed *agent.Error
		if !errors.As(err, &crossed) || !crossed.Transient {
			return "", errors.New("the flow does not learn that it is transient")
		}
		return "", err
	})
	require.ErrorIs(t, err, errPoor)
	assert.Equal(t, int64(1), calls.Load())
}

func retriesEnd(t *testing.T, h *host) {
	a, calls := flaky(100, agent.Transient(errPoor, 0))
	_, err := run(h, agent.Roster{"a": a}, func(c *orchestrator.Context) (string, error) {
		_, err := c.Call("a", agent.Request{Limits: agent.Limits{Attempts: 3}})
		return "", err
	})
	require.ErrorIs(t, err, errPoor)
	assert.Equal(t, int64(3), calls.Load())
}

func attemptTimeout(t *testing.T, h *host) {
	var calls atomic.Int64
	a := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
		if calls.Add(1) == 1 {
			return hang(ctx, req)
		}
		return agent.Response{Text: "second"}, nil
	})
	got, err := run(h, agent.Roster{"a": a}, func(c *orchestrator.Context) (string, error) {
		resp, err := c.Call("a", agent.Request{Limits: agent.Limits{Timeout: 50 * time.Millisecond}})
		return resp.Text, err
	})
	require.NoError(t, err)
	assert.Equal(t, "second", got)
}

func totalTimeout(t *testing.T, h *host) {
	_, err := run(h, agent.Roster{"hang": hang}, func(c *orchestrator.Context) (string, error) {
		resp, err := c.Call("hang", agent.Request{Limits: agent.Limits{Total: 50 * time.Millisecond}})
		return resp.Text, err
	})
	require.ErrorIs(t, err, orchestrator.ErrTimeout)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func responseBesideError(t *testing.T, h *host) {
	a := agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
		return agent.Response{Text: "lost", Usage: providers.Usage{Calls: 1, Cost: 3}}, errPoor
	})
	got, err := run(h, agent.Roster{"a": a}, func(c *orchestrator.Context) (int64, error) {
		resp, err := c.Call("a", agent.Request{})
		if resp.Text != "" || err == nil {
			return -1, err
		}
		return int64(c.Spent().Cost), nil
	})
	require.NoError(t, err)
	assert.Equal(t, int64(3), got)
}

func badInput(t *testing.T, h *host) {
	_, err := run(h, agent.Roster{"echo": echo}, func(c *orchestrator.Context) (string, error) {
		_, err := c.Call("echo", agent.Request{Input: []byte("{")})
		return "", err
	})
	require.ErrorIs(t, err, orchestrator.ErrMalformed)
}
