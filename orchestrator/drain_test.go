package orchestrator_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

func TestDrain(t *testing.T) {
	everywhere(t, "calls under way finish, none begins, nothing is lost", func(t *testing.T, s runlog.Store) {
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
	everywhere(t, "a run without a call under way stops at once", func(t *testing.T, s runlog.Store) {
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
	everywhere(t, "calls that wait for a place do not begin", func(t *testing.T, s runlog.Store) {
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
	everywhere(t, "a child is drained with its parent", func(t *testing.T, s runlog.Store) {
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
	everywhere(t, "when its ctx is done it continues as Close", func(t *testing.T, s runlog.Store) {
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
