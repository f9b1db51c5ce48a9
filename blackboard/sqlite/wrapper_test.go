package sqlite_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// counting counts what is appended to a store.
type counting struct {
	runlog.Store
	records *atomic.Int64
}

// Append implements runlog.Store.
func (c counting) Append(ctx context.Context, recs []runlog.Record) error {
	c.records.Add(int64(len(recs)))
	return c.Store.Append(ctx, recs)
}

// Unwrap returns the store inside.
func (c counting) Unwrap() runlog.Store { return c.Store }

func newCounting(s runlog.Store) counting { return counting{s, new(atomic.Int64)} }

type empty struct{}

// approval asks an agent, then a person, then the agent again.
var approval = orchestrator.Flow[empty, string]{Name: "approval", Do: func(c *orchestrator.Context, _ empty) (string, error) {
	if _, err := c.Call("a", agent.Request{Prompt: "draft"}); err != nil {
		return "", err
	}
	word, err := orchestrator.Await[string](c, orchestrator.Question{Key: "k"})
	if err != nil {
		return "", err
	}
	resp, err := c.Call("a", agent.Request{Prompt: word})
	return resp.Text, err
}}

// Engines on a store that is wrapped, as to count, keep what SQLite offers: a run that
// another one works on is left to it, and answered and deleted from anywhere.
func TestEnginesOnAWrappedStore(t *testing.T) {
	_, a, b := two(t)
	var calls atomic.Int64
	agents := agent.Roster{"a": agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
		calls.Add(1)
		return agent.Response{Text: req.Prompt}, nil
	})}
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	engine := func(s runlog.Store) *orchestrator.Engine {
		e, err := orchestrator.NewLocal(orchestrator.Config{
			Agents: agents, Flows: []orchestrator.AnyFlow{approval}, Store: s, Log: logger,
		})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, e.Close(context.WithoutCancel(t.Context()))) })
		return e
	}
	wrapped := newCounting(a)
	first, second := engine(wrapped), engine(newCounting(b))
	run, err := approval.Start(t.Context(), first, empty{}, orchestrator.StartOptions{ID: "x"})
	require.NoError(t, err)
	for rec, err := range run.Events(t.Context(), 0) {
		require.NoError(t, err)
		if rec.Kind == runlog.Asked {
			break
		}
	}

	res, err := second.Resume(t.Context())
	require.NoError(t, err)
	assert.Empty(t, res.Runs, "the first engine works on it")
	require.Len(t, res.Held, 1)

	there, err := second.Open(t.Context(), "x")
	require.NoError(t, err)
	require.NoError(t, there.Answer(t.Context(), "k", "yes"))
	got, err := approval.Result(t.Context(), run)
	require.NoError(t, err)
	assert.Equal(t, "yes", got)
	assert.Equal(t, int64(2), calls.Load())
	assert.Equal(t, int64(6), wrapped.records.Load(), "started, called, asked, answered, called, ended")
	require.NoError(t, second.Delete(t.Context(), "x"))
	_, err = first.Open(t.Context(), "x")
	require.ErrorIs(t, err, orchestrator.ErrNoRun)
	assert.Empty(t, log.String(), "nothing is missing")
}
