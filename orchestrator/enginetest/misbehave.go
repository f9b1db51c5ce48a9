package enginetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// misbehaveChecks are about agents that break the contract of agent.Agent, or return the
// engine's own errors.
var misbehaveChecks = []check{
	{name: "a nil *agent.Error is an error that says so", run: nilError},
	{name: "an agent that ends its goroutine is an error of its call", run: agentExits},
	{name: "an agent's own cancel is a failure like any other", run: ownCancel},
	{name: "an agent's own ErrBudget is a failure like any other", run: ownBudget},
	{name: "Refine tries again after an agent's own cancel or ErrBudget", run: refineOwn},
	{name: "negative usage is ErrMalformed", run: negativeUsage},
}

func nilError(t *testing.T, h *host) {
	a := agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
		var failed *agent.Error
		return agent.Response{Text: "fine"}, failed
	})
	_, err := run(h, agent.Roster{"a": a}, func(c *orchestrator.Context) (string, error) { return ask(c, "a", "") })
	require.ErrorContains(t, err, "nil *agent.Error")
}

func agentExits(t *testing.T, h *host) {
	a, calls := counted(agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
		runtime.Goexit()
		return agent.Response{}, nil
	}))
	e := h.engine(agent.Roster{"a": a, "echo": echo})
	f := flow(h, func(c *orchestrator.Context, name string) (string, error) { return ask(c, name, "hello") })
	ctx, cancel := context.WithTimeout(h.ctx, patience/4)
	defer cancel()
	r := start(h, e, f, "a", "")
	_, err := f.Result(ctx, r)
	require.Error(t, err)
	require.NoError(t, ctx.Err(), "the call does not come back")
	assert.Equal(t, int64(1), calls.Load(), "it is not tried again")
	got, err := f.Run(h.ctx, e, "echo")
	require.NoError(t, err, "the engine works as before")
	assert.Equal(t, "hello", got)
}

// ownWord runs a flow that fails with the error word of its agent, and requires that the
// run is Failed.
func ownWord(t *testing.T, h *host, word error) {
	canceled := false
	f := flow(h, func(c *orchestrator.Context, _ none) (string, error) {
		_, err := ask(c, "a", "")
		canceled = c.IsCanceled(err) || c.Err() != nil
		return "", err
	})
	r := start(h, h.engine(agent.Roster{"a": fails(fmt.Errorf("my own: %w", word))}), f, none{}, "")
	_, err := f.Result(h.ctx, r)
	require.ErrorContains(t, err, "my own")
	assert.False(t, canceled, "the run is not over for the flow")
	assert.Equal(t, orchestrator.Failed, info(h, r).Status, "for %v", word)
}

func ownCancel(t *testing.T, h *host) {
	for _, word := range []error{context.Canceled, orchestrator.ErrCanceled, &providers.Error{Kind: providers.Canceled}} {
		ownWord(t, h, word)
	}
}

func ownBudget(t *testing.T, h *host) { ownWord(t, h, orchestrator.ErrBudget) }

func refineOwn(t *testing.T, h *host) {
	for _, word := range []error{context.Canceled, orchestrator.ErrBudget} {
		a, calls := flaky(2, word)
		got, err := run(h, agent.Roster{"a": a}, func(c *orchestrator.Context) (int, error) {
			done, err := orchestrator.Refine(c, orchestrator.Refinement[string]{
				Attempts: 3,
				Try: func(c *orchestrator.Context, _ orchestrator.Refined[string]) (string, error) {
					return ask(c, "a", "")
				},
				Grade: func(*orchestrator.Context, string) (orchestrator.Verdict, error) {
					return orchestrator.Verdict{Score: 1}, nil
				},
			})
			return done.Tries, err
		})
		require.NoError(t, err, "for %v", word)
		assert.Equal(t, 3, got)
		assert.Equal(t, int64(3), calls.Load())
	}
}

func negativeUsage(t *testing.T, h *host) {
	got, err := run(h, agent.Roster{"a": uses(providers.Usage{Calls: 1, Cost: -5})}, func(c *orchestrator.Context) (bool, error) {
		_, err := c.Call("a", agent.Request{})
		if c.Spent().Cost < 0 {
			return false, errors.New("money came back")
		}
		return errors.Is(err, orchestrator.ErrMalformed), nil
	})
	require.NoError(t, err)
	assert.True(t, got)
}
