package orchestrator_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

// buggy calls a, and panics while it is not mended.
type buggy struct {
	orchestrator.Flow[none, string]
	mended bool
	says   string // with its panic
	begun  int
}

func newBuggy() *buggy {
	b := &buggy{says: "ouch"}
	b.Flow = flow("buggy", func(c *orchestrator.Context) (string, error) {
		b.begun++
		text, err := ask(c, "a", "first")
		if !b.mended {
			panic(b.says)
		}
		return text, err
	})
	return b
}

// records counts the records of a store.
func records(t *testing.T, s runlog.Store) int64 {
	t.Helper()
	var n int64
	for l, err := range s.List(t.Context(), runlog.Query{}) {
		require.NoError(t, err)
		n += l.Next
	}
	return n
}

// heap is how many bytes are in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// tries resumes all runs and waits until nothing happens any more.
func tries(t *testing.T, e *orchestrator.Engine) {
	t.Helper()
	_, err := e.Resume(t.Context())
	require.NoError(t, err)
	synctest.Wait()
}

func TestStuckRuns(t *testing.T) {
	everywhere(t, "N5 it is Stuck, in Info, in Events, in Result and in Wait", func(t *testing.T, s runlog.Store) {
		t.Helper()
		b := newBuggy()
		r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s}), b.Flow, "x")
		_, err := b.Result(t.Context(), r)
		for _, err := range []error{err, r.Wait(t.Context())} {
			require.ErrorIs(t, err, orchestrator.ErrFlow)
			require.ErrorContains(t, err, "ouch")
			require.ErrorContains(t, err, "stuck_test.go:", "the line of the flow")
		}
		i := infoOf(t, r)
		assert.Equal(t, orchestrator.Stuck, i.Status)
		assert.Contains(t, i.Err, "ouch")
		var last runlog.Record
		for rec, err := range r.Events(t.Context(), 0) {
			require.NoError(t, err)
			if last = rec; rec.Kind == runlog.Stuck {
				break
			}
		}
		assert.Contains(t, string(last.Data), "ouch")
	})
	t.Run("N5 1,000 Resumes of 100 stuck runs append nothing and remember nothing more", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			b, s := newBuggy(), runlog.NewMemory()
			c := orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Flows: []orchestrator.AnyFlow{b}}
			e := local(t, c)
			for i := range 100 {
				require.Error(t, begin(t, e, b.Flow, fmt.Sprint(i)).Wait(t.Context()))
			}
			before, begun := records(t, s), b.begun
			tries(t, e)
			held := heap()
			for range 1000 {
				tries(t, e)
			}
			assert.Equal(t, begun, b.begun, "this process has tried them")
			assert.Less(t, heap(), held+256<<10, "bytes")
			assert.Equal(t, before, records(t, s))
		})
	})
	t.Run("N5 each process tries a stuck run once, and the same failure is not recorded again", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			b, s := newBuggy(), runlog.NewMemory()
			c := orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Flows: []orchestrator.AnyFlow{b}}
			require.Error(t, begin(t, local(t, c), b.Flow, "x").Wait(t.Context()))
			before := records(t, s)
			for n := range 5 {
				e := local(t, c)
				if n%2 == 0 {
					tries(t, e)
				}
				for range 3 {
					_, err := b.Result(t.Context(), open(t, e, "x"))
					require.ErrorContains(t, err, "ouch")
				}
				tries(t, e)
				require.NoError(t, e.Close(t.Context()))
				assert.Equal(t, 2+n, b.begun)
			}
			assert.Equal(t, before, records(t, s))
			b.says = "worse"
			e := local(t, c)
			tries(t, e)
			assert.Contains(t, infoOf(t, open(t, e, "x")).Err, "worse")
			assert.Equal(t, before+1, records(t, s), "another failure is recorded")
			b.mended = true
			tries(t, e)
			assert.Equal(t, orchestrator.Stuck, infoOf(t, open(t, e, "x")).Status, "it was tried")
			got, err := b.Result(t.Context(), open(t, local(t, c), "x"))
			require.NoError(t, err, "new code may be mended: Result tries it first")
			assert.Equal(t, "first", got)
		})
	})
	t.Run("N5 a process that watches tries a stuck run of a dead one once", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			b, s := newBuggy(), runlog.NewMemory()
			c := orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Flows: []orchestrator.AnyFlow{b}}
			first, err := orchestrator.NewLocal(c)
			require.NoError(t, err)
			require.Error(t, begin(t, first, b.Flow, "x").Wait(t.Context()))
			require.NoError(t, first.Close(t.Context()))
			before := records(t, s)
			tries(t, local(t, c))
			pause(24 * time.Hour)
			assert.Equal(t, 2, b.begun)
			assert.Equal(t, before, records(t, s))
		})
	})
	t.Run("N5 a stuck parent of a stuck child is not recorded again", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			b, s := newBuggy(), runlog.NewMemory()
			parent := flow("parent", func(c *orchestrator.Context) (string, error) { return b.Child(c, none{}) })
			c := orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Flows: []orchestrator.AnyFlow{b, parent}}
			require.ErrorContains(t, begin(t, local(t, c), parent, "x").Wait(t.Context()), `child run "x/0" is stuck`)
			before := records(t, s)
			for range 5 {
				e := local(t, c)
				tries(t, e)
				require.ErrorContains(t, open(t, e, "x").Wait(t.Context()), `child run "x/0" is stuck`)
				require.NoError(t, e.Close(t.Context()))
			}
			assert.Equal(t, before, records(t, s))
			b.mended = true
			got, err := parent.Result(t.Context(), open(t, local(t, c), "x"))
			require.NoError(t, err)
			assert.Equal(t, "first", got)
		})
	})
	t.Run("N5 an unknown flow or version is left alone, and Info says so", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := runlog.NewMemory()
			c := orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: s}
			first, err := orchestrator.NewLocal(c)
			require.NoError(t, err)
			begin(t, first, pair, "x")
			synctest.Wait()
			require.NoError(t, first.Close(t.Context()))
			before := records(t, s)
			newer := pair
			newer.Version = 7
			for _, known := range [][]orchestrator.AnyFlow{nil, {newer}} {
				c.Flows = known
				e := local(t, c)
				_, err := e.Resume(t.Context())
				if known == nil {
					require.NoError(t, err)
				} else {
					require.ErrorContains(t, err, `version 0 of flow "pair" is not registered`)
				}
				pause(time.Hour)
				i := infoOf(t, open(t, e, "x"))
				assert.Equal(t, orchestrator.Suspended, i.Status)
				assert.Contains(t, i.Err, `version 0 of flow "pair" is not registered`)
				require.NoError(t, e.Close(t.Context()))
			}
			assert.Equal(t, before, records(t, s))
		})
	})
}

func TestCancelOfStuckRuns(t *testing.T) {
	everywhere(t, "N5 Cancel ends it without its flow", func(t *testing.T, s runlog.Store) {
		t.Helper()
		b := newBuggy()
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": after(0)}, Store: s, Flows: []orchestrator.AnyFlow{b}})
		r := begin(t, e, b.Flow, "x")
		require.Error(t, r.Wait(t.Context()))
		for range 2 {
			require.NoError(t, r.Cancel(t.Context(), "no use"))
		}
		require.NoError(t, r.Wait(t.Context()))
		_, err := b.Result(t.Context(), r)
		require.ErrorIs(t, err, orchestrator.ErrCanceled)
		require.ErrorContains(t, err, "no use")
		i := infoOf(t, r)
		assert.Equal(t, orchestrator.Canceled, i.Status)
		assert.Equal(t, int64(1), i.Spent.Calls)
		assert.Equal(t, 1, b.begun)
		assert.Zero(t, runsIn(t, e, orchestrator.RunQuery{Open: true}))
		require.ErrorIs(t, r.Retry(t.Context()), orchestrator.ErrMalformed, "it is not stuck any more")
	})
	everywhere(t, "N5 children that were stopped with it end too", func(t *testing.T, s runlog.Store) {
		t.Helper()
		b := newBuggy()
		parent := flow("parent", func(c *orchestrator.Context) (string, error) {
			q := orchestrator.NewQueue[string](c)
			q.Go("hangs", func(c *orchestrator.Context) (string, error) { return pair.Child(c, none{}) })
			q.Go("buggy", func(c *orchestrator.Context) (string, error) {
				_ = c.Sleep(time.Minute)
				return b.Child(c, none{})
			})
			r, _ := q.Next()
			return r.Value, r.Err
		})
		hanging := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
			if req.Prompt == "one" {
				return hang(ctx, req)
			}
			return echo(ctx, req)
		})
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": hanging}, Store: s, Flows: []orchestrator.AnyFlow{b, parent, pair}})
		r := begin(t, e, parent, "x")
		require.ErrorIs(t, r.Wait(t.Context()), orchestrator.ErrFlow)
		synctest.Wait()
		require.Equal(t, 3, runsIn(t, e, orchestrator.RunQuery{Open: true}))
		require.NoError(t, r.Cancel(t.Context(), "no use"))
		assert.Zero(t, runsIn(t, e, orchestrator.RunQuery{Open: true}), "no child is left open for ever")
		assert.Equal(t, 3, runsIn(t, e, orchestrator.RunQuery{Status: orchestrator.Canceled}))
	})
	everywhere(t, "N5 Retry of a run that is not stuck is ErrMalformed", func(t *testing.T, s runlog.Store) {
		t.Helper()
		r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: s}), pair, "x")
		require.ErrorIs(t, r.Retry(t.Context()), orchestrator.ErrMalformed)
	})
	everywhere(t, "N5 Start of a stuck run's ID is that run", func(t *testing.T, s runlog.Store) {
		t.Helper()
		b := newBuggy()
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Flows: []orchestrator.AnyFlow{b}})
		require.Error(t, begin(t, e, b.Flow, "x").Wait(t.Context()))
		r := begin(t, e, b.Flow, "x")
		require.ErrorContains(t, r.Wait(t.Context()), "ouch")
		assert.Equal(t, 1, b.begun, "this process has tried it")
		_, err := pair.Start(t.Context(), e, none{}, orchestrator.StartOptions{ID: "x"})
		require.ErrorIs(t, err, orchestrator.ErrExists)
		require.NoError(t, r.Retry(t.Context()))
		require.ErrorContains(t, r.Wait(t.Context()), "ouch")
		assert.Equal(t, 2, b.begun)
		b.mended = true
		require.NoError(t, r.Retry(t.Context()))
		got, err := b.Result(t.Context(), r)
		require.NoError(t, err)
		assert.Equal(t, "first", got)
	})
}

// A panic of flow code is a bug and no result: the run has not ended, and can be
// retried when the flow is mended.
func TestPanicIsNoResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPlain()
		f := flow("buggy", func(c *orchestrator.Context) (string, error) {
			_, _ = ask(c, "a", "")
			panic("ouch")
		})
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s})
		r := begin(t, e, f, "x")
		require.ErrorIs(t, r.Wait(t.Context()), orchestrator.ErrFlow)
		assert.Equal(t, []string{runlog.Started, runlog.Called, runlog.Stuck}, kinds(logOf(t, s, "x")))
		i, err := r.Info(t.Context())
		require.NoError(t, err)
		assert.Equal(t, orchestrator.Stuck, i.Status)
	})
}
