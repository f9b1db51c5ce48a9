package orchestrator_test

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/storetest/doubles"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/providers"
)

// What was found by using and attacking the engine. Each test is named after the
// finding, and fails on the engine that had it.

// pause lets virtual time pass.
func pause(d time.Duration) { <-time.NewTimer(d).C }

// everywhere runs a test without a store and with one, each in a bubble.
func everywhere(t *testing.T, name string, test func(t *testing.T, s runlog.Store)) {
	t.Helper()
	t.Run(name+", in memory", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			test(t, nil)
		})
	})
	t.Run(name+", on a store", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			test(t, runlog.NewMemory())
		})
	})
}

// counted counts the calls of an agent.
type counted struct {
	agent.Agent
	calls atomic.Int64
}

func (a *counted) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	a.calls.Add(1)
	return a.Agent.Call(ctx, req)
}

// after answers as echo does, after d.
func after(d time.Duration) agent.Func {
	return func(ctx context.Context, req agent.Request) (agent.Response, error) {
		wait := time.NewTimer(d)
		defer wait.Stop()
		select {
		case <-wait.C:
			return agent.Response{Text: req.Prompt, Usage: providers.Usage{Calls: 1}}, nil
		case <-ctx.Done():
			return agent.Response{}, ctx.Err()
		}
	}
}

// mortal is an engine whose process can be killed: then it reaches its store no more.
type mortal struct {
	*orchestrator.Engine
	store *doubles.Double
}

func newMortal(t *testing.T, s runlog.Store, c orchestrator.Config) mortal {
	t.Helper()
	m := mortal{store: doubles.New(s)}
	c.Store = m.store.Store()
	m.Engine = local(t, c)
	t.Cleanup(m.store.Heal) // so that it can be closed
	return m
}

func (m mortal) kill() { m.store.Fail(math.MaxInt) }

func open(t *testing.T, e *orchestrator.Engine, id string) *orchestrator.Run {
	t.Helper()
	r, err := e.Open(t.Context(), id)
	require.NoError(t, err)
	return r
}

func infoOf(t *testing.T, r *orchestrator.Run) orchestrator.Info {
	t.Helper()
	i, err := r.Info(t.Context())
	require.NoError(t, err)
	return i
}

// runsIn counts the runs that an engine lists.
func runsIn(t *testing.T, e *orchestrator.Engine, q orchestrator.RunQuery) int {
	t.Helper()
	n := 0
	for _, err := range e.Runs(t.Context(), q) {
		require.NoError(t, err)
		n++
	}
	return n
}

func TestDrain(t *testing.T) {
	everywhere(t, "C8 calls under way finish, none begins, nothing is lost", func(t *testing.T, s runlog.Store) {
		t.Helper()
		a := &counted{Agent: after(time.Minute)}
		c := orchestrator.Config{Agents: agent.Roster{"a": a}, Store: s, Flows: []orchestrator.AnyFlow{pair}}
		e, err := orchestrator.NewLocal(c)
		require.NoError(t, err)
		two := orchestrator.StartOptions{ID: "x", Budget: orchestrator.Budget{Calls: 2}}
		r, err := pair.Start(t.Context(), e, none{}, two)
		require.NoError(t, err)
		synctest.Wait()
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		require.NoError(t, e.Drain(ctx))
		assert.Equal(t, time.Minute, time.Since(begun), "until the call has finished, no longer")
		assert.Equal(t, int64(1), a.calls.Load(), "the second call has not begun")
		require.ErrorIs(t, r.Wait(t.Context()), orchestrator.ErrStopped)
		if s == nil {
			return
		}
		assert.Equal(t, []string{runlog.Started, runlog.Called, runlog.Used}, kinds(logOf(t, s, "x")))
		r, err = pair.Start(t.Context(), local(t, c), none{}, two)
		require.NoError(t, err)
		got, err := pair.Result(t.Context(), r)
		require.NoError(t, err)
		assert.Equal(t, "one two", got)
		assert.Equal(t, int64(2), a.calls.Load(), "the first call is not made again")
	})
	everywhere(t, "C8 a run without a call under way stops at once", func(t *testing.T, s runlog.Store) {
		t.Helper()
		f := flow("sleeps", func(c *orchestrator.Context) (none, error) { return none{}, c.Sleep(time.Hour) })
		e, err := orchestrator.NewLocal(orchestrator.Config{Store: s})
		require.NoError(t, err)
		begin(t, e, f, "x")
		synctest.Wait()
		begun := time.Now()
		require.NoError(t, e.Drain(t.Context()))
		assert.Zero(t, time.Since(begun))
		_, err = f.Start(t.Context(), e, none{}, orchestrator.StartOptions{})
		require.ErrorIs(t, err, orchestrator.ErrStopped)
	})
	everywhere(t, "C8 calls that wait for a place do not begin", func(t *testing.T, s runlog.Store) {
		t.Helper()
		a := &counted{Agent: after(time.Minute)}
		f := flow("wide", func(c *orchestrator.Context) ([]string, error) {
			return orchestrator.Values(orchestrator.Map(c, []string{"1", "2", "3", "4"}, 0, func(c *orchestrator.Context, p string) (string, error) { return ask(c, "a", p) }))
		})
		c := orchestrator.Config{Agents: agent.Roster{"a": a}, Store: s, Parallel: 1}
		e, err := orchestrator.NewLocal(c)
		require.NoError(t, err)
		begin(t, e, f, "x")
		synctest.Wait()
		begun := time.Now()
		require.NoError(t, e.Drain(t.Context()))
		assert.Equal(t, time.Minute, time.Since(begun))
		assert.Equal(t, int64(1), a.calls.Load())
		if s == nil {
			return
		}
		got, err := f.Result(t.Context(), begin(t, local(t, c), f, "x"))
		require.NoError(t, err)
		assert.Equal(t, []string{"1", "2", "3", "4"}, got)
		assert.Equal(t, int64(4), a.calls.Load())
	})
	everywhere(t, "C8 a child is drained with its parent", func(t *testing.T, s runlog.Store) {
		t.Helper()
		a := &counted{Agent: after(time.Minute)}
		f := flow("parent", func(c *orchestrator.Context) (string, error) { return pair.Child(c, none{}) })
		c := orchestrator.Config{Agents: agent.Roster{"a": a}, Store: s}
		e, err := orchestrator.NewLocal(c)
		require.NoError(t, err)
		begin(t, e, f, "x")
		synctest.Wait()
		begun := time.Now()
		require.NoError(t, e.Drain(t.Context()))
		assert.Equal(t, time.Minute, time.Since(begun))
		assert.Equal(t, int64(1), a.calls.Load())
		if s == nil {
			return
		}
		got, err := f.Result(t.Context(), begin(t, local(t, c), f, "x"))
		require.NoError(t, err)
		assert.Equal(t, "one two", got)
		assert.Equal(t, int64(2), a.calls.Load())
	})
	everywhere(t, "C8 when its ctx is done it continues as Close", func(t *testing.T, s runlog.Store) {
		t.Helper()
		e, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: s})
		require.NoError(t, err)
		begin(t, e, pair, "x")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		err = e.Drain(ctx)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Minute, time.Since(begun))
		synctest.Wait()
	})
}
