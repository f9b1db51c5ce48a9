package enginetest

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

var branchChecks = []check{
	{name: "Map gives results in item order", run: mapOrder},
	{name: "Map runs side by side up to its limit", run: mapLimit},
	{name: "one failure in Map stops no other", run: mapFailure},
	{name: "Queue hands out in the order of finishing", run: queueOrder},
	{name: "Queue cancels the branches of a key", run: queueCancel},
	{name: "Queue cancels all its branches", run: queueCancelAll},
	{name: "branches share variables without locks", run: sharedVariables},
	{name: "branches left behind are given up", run: leftBehind},
}

func mapOrder(t *testing.T, h *host) {
	g := newGate(t, "0", "1", "2")
	last := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
		resp, err := g.Call(ctx, req)
		if n, _ := strconv.Atoi(req.Prompt); n > 0 {
			g.pass(strconv.Itoa(n - 1))
		}
		return resp, err
	})
	g.pass("2")
	got, err := run(h, agent.Roster{"a": last}, func(c *orchestrator.Context) ([]string, error) {
		return orchestrator.Values(orchestrator.Map(c, []string{"0", "1", "2"}, 0, func(c *orchestrator.Context, item string) (string, error) {
			return ask(c, "a", item)
		}))
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"0", "1", "2"}, got)
}

func mapLimit(t *testing.T, h *host) {
	var now, most atomic.Int64
	meet := make(chan struct{})
	pair := agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		select { // two must be here at once
		case meet <- struct{}{}:
		case <-meet:
		case <-ctx.Done():
		}
		now.Add(-1)
		return agent.Response{}, ctx.Err()
	})
	_, err := run(h, agent.Roster{"a": pair}, func(c *orchestrator.Context) ([]string, error) {
		return orchestrator.Values(orchestrator.Map(c, make([]int, 6), 2, func(c *orchestrator.Context, _ int) (string, error) {
			return ask(c, "a", "")
		}))
	})
	require.NoError(t, err)
	assert.Equal(t, int64(2), most.Load())
}

func mapFailure(t *testing.T, h *host) {
	got, err := run(h, agent.Roster{"echo": echo, "bad": fails(errPoor)}, func(c *orchestrator.Context) ([]string, error) {
		return orchestrator.Values(orchestrator.Map(c, []string{"bad", "echo", "echo"}, 1, func(c *orchestrator.Context, name string) (string, error) {
			text, err := ask(c, name, "ok")
			return text + "!", err
		}))
	})
	require.ErrorIs(t, err, errPoor)
	assert.Equal(t, []string{"!", "ok!", "ok!"}, got)
}

// inTurn starts a branch for each key and lets them finish in the given order. It returns
// the keys in the order in which the queue hands them out.
func inTurn(c *orchestrator.Context, keys, order []string) ([]string, error) {
	q := orchestrator.NewQueue[string](c)
	for _, k := range keys {
		q.Go(k, func(c *orchestrator.Context) (string, error) { return ask(c, "gate", k) })
	}
	var got []string
	for _, k := range order {
		if _, err := ask(c, "open", k); err != nil {
			return got, err
		}
		r, _ := q.Next()
		got = append(got, r.Key+r.Value)
	}
	if _, ok := q.Next(); ok {
		got = append(got, "one too many")
	}
	return got, nil
}

func queueOrder(t *testing.T, h *host) {
	g := newGate(t, "a", "b", "c")
	got, err := run(h, agent.Roster{"gate": g, "open": g.opener()}, func(c *orchestrator.Context) ([]string, error) {
		return inTurn(c, []string{"a", "b", "c"}, []string{"c", "a", "b"})
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"cc", "aa", "bb"}, got)
}

func queueCancel(t *testing.T, h *host) {
	g := newGate(t, "b")
	var canceled error
	got, err := run(h, agent.Roster{"hang": hang, "gate": g, "open": g.opener()}, func(c *orchestrator.Context) ([]string, error) {
		q := orchestrator.NewQueue[string](c)
		q.Go("a", func(c *orchestrator.Context) (string, error) { return ask(c, "hang", "a") })
		q.Go("b", func(c *orchestrator.Context) (string, error) { return ask(c, "gate", "b") })
		_ = c.Sleep(1)
		q.Cancel("a")
		first, _ := q.Next()
		canceled = first.Err
		_, err := ask(c, "open", "b")
		second, _ := q.Next()
		return []string{first.Key, second.Key, strconv.Itoa(q.Len())}, err
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b", "0"}, got)
	require.ErrorIs(t, canceled, orchestrator.ErrCanceled)
	require.ErrorIs(t, canceled, context.Canceled)
}

func queueCancelAll(t *testing.T, h *host) {
	got, err := run(h, agent.Roster{"hang": hang}, func(c *orchestrator.Context) (int, error) {
		q := orchestrator.NewQueue[string](c)
		for range 3 {
			q.Go("x", func(c *orchestrator.Context) (string, error) { return ask(c, "hang", "") })
		}
		_ = c.Sleep(1)
		q.CancelAll()
		n := 0
		for r, ok := q.Next(); ok; r, ok = q.Next() {
			if r.Err == nil {
				return n, nil
			}
			n++
		}
		return n, nil
	})
	require.NoError(t, err)
	assert.Equal(t, 3, got)
}

func sharedVariables(t *testing.T, h *host) {
	got, err := run(h, agent.Roster{"echo": echo}, func(c *orchestrator.Context) (int, error) {
		n := 0
		_, err := orchestrator.Values(orchestrator.Map(c, make([]int, 50), 0, func(c *orchestrator.Context, _ int) (none, error) {
			n++
			_, err := ask(c, "echo", "")
			n++
			return none{}, err
		}))
		return n, err
	})
	require.NoError(t, err)
	assert.Equal(t, 100, got)
}

func leftBehind(t *testing.T, h *host) {
	cleaned := false
	got, err := run(h, agent.Roster{"hang": hang}, func(c *orchestrator.Context) (string, error) {
		q := orchestrator.NewQueue[string](c)
		q.Go("x", func(c *orchestrator.Context) (string, error) {
			defer func() { cleaned = true }()
			return ask(c, "hang", "")
		})
		err := c.Sleep(1)
		return "done", err
	})
	require.NoError(t, err)
	assert.Equal(t, "done", got)
	assert.True(t, cleaned, "deferred functions of a branch that is given up run")
}
