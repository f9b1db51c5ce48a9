package orchestrator_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

func TestRunIsCanceledForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPlain()
		f := flow("work", func(c *orchestrator.Context) (string, error) {
			_, err := ask(c, "a", "")
			return "so far", err
		})
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: s, Flows: []orchestrator.AnyFlow{f}})
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(fmt.Errorf("the caller has gone")) })
		got, err := f.Run(ctx, e, none{})
		require.ErrorIs(t, err, orchestrator.ErrCanceled)
		require.ErrorContains(t, err, "the caller has gone", "the cause is the reason")
		assert.Equal(t, "so far", got)
		runs, err := listed(e.Resume(t.Context()))
		require.NoError(t, err)
		assert.Empty(t, runs, "there is nothing to go on with")
		for i, err := range e.Runs(t.Context(), orchestrator.RunQuery{}) {
			require.NoError(t, err)
			assert.Equal(t, orchestrator.Canceled, i.Status)
		}
	})
}

func TestStartOutlivesItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, v := newPlain(), newValve()
		c := orchestrator.Config{Agents: agent.Roster{"a": v}, Store: s, Flows: []orchestrator.AnyFlow{pair}}
		e, err := orchestrator.NewLocal(c)
		require.NoError(t, err)
		ctx, interrupt := context.WithCancel(t.Context())
		r, err := pair.Start(ctx, e, none{}, orchestrator.StartOptions{ID: "x"})
		require.NoError(t, err)
		interrupt() // Ctrl-C
		require.ErrorIs(t, r.Wait(ctx), context.Canceled)
		require.NoError(t, e.Close(t.Context()))

		close(v.open)
		runs, err := listed(local(t, c).Resume(t.Context()))
		require.NoError(t, err)
		require.Len(t, runs, 1)
		got, err := pair.Result(t.Context(), runs[0])
		require.NoError(t, err)
		assert.Equal(t, "one two", got)
	})
}

func TestRunThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := runlog.NewMemory()
		r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s}), pair, "x")
		require.NoError(t, r.Wait(t.Context()))
		require.NoError(t, s.Delete(t.Context(), "x"))
		ctx := t.Context()
		_, info := r.Info(ctx)
		_, result := pair.Result(ctx, r)
		for name, err := range map[string]error{
			"Wait": r.Wait(ctx), "Info": info, "Result": result, "State": r.State(ctx, new(int)),
			"Answer": r.Answer(ctx, "k", 1), "Cancel": r.Cancel(ctx, ""),
		} {
			assert.ErrorIs(t, err, orchestrator.ErrNoRun, name)
		}
	})
}

// lastGate is a store that holds the last record of a run back.
type lastGate struct {
	plain
	arrived, open chan struct{}
}

func (s lastGate) Append(ctx context.Context, recs []runlog.Record) error {
	if recs[len(recs)-1].Kind == runlog.Ended {
		close(s.arrived)
		<-s.open
	}
	return s.plain.Append(ctx, recs)
}

// Who speaks to a run that is just ending is too late, and no more than that.
func TestWordsToARunThatIsEnding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lastGate{newPlain(), make(chan struct{}), make(chan struct{})}
		r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s}), pair, "x")
		<-s.arrived
		var cancel, answer error
		var host sync.WaitGroup
		host.Go(func() { cancel = r.Cancel(t.Context(), "enough") })
		host.Go(func() { answer = r.Answer(t.Context(), "k", 1) })
		synctest.Wait()
		close(s.open)
		host.Wait()
		require.NoError(t, cancel)
		require.ErrorIs(t, answer, orchestrator.ErrNoQuestion)
		got, err := pair.Result(t.Context(), r)
		require.NoError(t, err)
		assert.Equal(t, "one two", got)
	})
}

func TestEventsAcrossProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, v := runlog.NewMemory(), newValve()
		c := orchestrator.Config{Agents: agent.Roster{"a": v}, Store: s, Flows: []orchestrator.AnyFlow{pair}}
		first, err := orchestrator.NewLocal(c)
		require.NoError(t, err)
		begin(t, first, pair, "x")
		there, err := local(t, orchestrator.Config{Store: s}).Open(t.Context(), "x")
		require.NoError(t, err)
		var seen []string
		var next int64
		var reader sync.WaitGroup
		reader.Go(func() {
			for rec, err := range there.Events(t.Context(), 0) {
				assert.NoError(t, err)
				assert.Equal(t, next, rec.Seq)
				next++
				seen = append(seen, rec.Kind)
			}
		})
		wait := time.NewTimer(time.Minute)
		<-wait.C
		assert.Equal(t, []string{runlog.Started}, seen)
		require.NoError(t, first.Close(t.Context()), "the process that works on the run ends, its reader reads on")

		close(v.open)
		runs, err := listed(local(t, c).Resume(t.Context()))
		require.NoError(t, err)
		require.Len(t, runs, 1)
		reader.Wait()
		assert.Equal(t, []string{runlog.Started, runlog.Used, runlog.Resumed, runlog.Called, runlog.Called, runlog.Ended}, seen)
	})
}

func TestInfoWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newValve()
		f := flow("busy", func(c *orchestrator.Context) (string, error) {
			_, _ = ask(c, "echo", "")
			q := orchestrator.NewQueue[string](c)
			q.Go("ask", func(c *orchestrator.Context) (string, error) {
				return orchestrator.Await[string](c, orchestrator.Question{Key: "name", Text: "Your name?", Timeout: time.Hour})
			})
			text, err := ask(c, "slow", "")
			q.Next()
			return text, err
		})
		e := local(t, orchestrator.Config{Agents: agent.Roster{"echo": echo, "slow": v}, Store: newPlain()})
		r := begin(t, e, f, "x")
		synctest.Wait()
		i, err := r.Info(t.Context())
		require.NoError(t, err)
		assert.Equal(t, orchestrator.Running, i.Status, "it does not wait for the answer alone")
		require.Len(t, i.Questions, 1)
		assert.Equal(t, []orchestrator.Question{{Key: "name", Text: "Your name?", Timeout: time.Hour, Hash: i.Questions[0].Hash}}, i.Questions)
		assert.Equal(t, int64(1), i.Spent.Calls, "calls under way are not included")
		assert.Equal(t, int64(1), i.ByAgent["echo"].Calls)
		close(v.open)
		synctest.Wait()
		i, err = r.Info(t.Context())
		require.NoError(t, err)
		assert.Equal(t, orchestrator.Waiting, i.Status)
		assert.Len(t, i.ByAgent, 2)
		for listed, err := range e.Runs(t.Context(), orchestrator.RunQuery{Open: true}) {
			require.NoError(t, err)
			i.Questions, i.Spent, i.ByAgent = nil, providers.Usage{}, nil
			assert.Equal(t, i, listed, "a list tells the rest")
		}
		require.NoError(t, r.Answer(t.Context(), "name", "ann"))
		require.NoError(t, r.Wait(t.Context()))
	})
}

// A sleep that was given up is nothing that a run does beside waiting.
func TestStatusAfterAGivenUpSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := flow("waits", func(c *orchestrator.Context) (bool, error) {
			q := orchestrator.NewQueue[none](c)
			q.Go("nap", func(c *orchestrator.Context) (none, error) { return none{}, c.Sleep(24 * time.Hour) })
			_ = c.Sleep(time.Second)
			q.CancelAll()
			return orchestrator.Await[bool](c, orchestrator.Question{Key: "ok"})
		})
		r := begin(t, local(t, orchestrator.Config{}), f, "x")
		status := func() orchestrator.Status {
			synctest.Wait()
			i, err := r.Info(t.Context())
			require.NoError(t, err)
			return i.Status
		}
		assert.Equal(t, orchestrator.Running, status())
		wait := time.NewTimer(time.Minute)
		<-wait.C
		assert.Equal(t, orchestrator.Waiting, status())
		require.NoError(t, r.Answer(t.Context(), "ok", true))
		require.NoError(t, r.Wait(t.Context()))
	})
}

// A run is started once: starting it again with another budget is an error, with the
// same one it continues.
func TestStartingAgainNeedsTheSameBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newValve()
		f := flow("calls", func(c *orchestrator.Context) (int, error) { return allowed(c), nil })
		c := orchestrator.Config{Agents: agent.Roster{"a": v}, Store: newPlain()}
		e, err := orchestrator.NewLocal(c)
		require.NoError(t, err)
		_, err = f.Start(t.Context(), e, none{}, orchestrator.StartOptions{ID: "x", Budget: orchestrator.Budget{Calls: 2}})
		require.NoError(t, err)
		synctest.Wait()
		require.NoError(t, e.Close(t.Context()))
		close(v.open)
		e = local(t, c)
		_, err = f.Start(t.Context(), e, none{}, orchestrator.StartOptions{ID: "x", Budget: orchestrator.Budget{Calls: 9}})
		require.ErrorIs(t, err, orchestrator.ErrExists)
		require.ErrorContains(t, err, "StartOptions.Budget")
		r, err := f.Start(t.Context(), e, none{}, orchestrator.StartOptions{ID: "x", Budget: orchestrator.Budget{Calls: 2}})
		require.NoError(t, err)
		got, err := f.Result(t.Context(), r)
		require.NoError(t, err)
		assert.Equal(t, 2, got, "the call that Close cut used nothing")
	})
}

func TestCloseTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: runlog.NewMemory(), Flows: []orchestrator.AnyFlow{pair}})
		require.NoError(t, err)
		begin(t, e, pair, "x")
		for range 2 {
			require.NoError(t, e.Close(t.Context()))
		}
		_, err = e.Resume(t.Context())
		require.ErrorIs(t, err, orchestrator.ErrStopped, "nobody may start runs after it")
	})
}

func TestCloseOfAnEngineThatDidNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, s := range []runlog.Store{nil, newPlain(), runlog.NewMemory()} {
			e, err := orchestrator.NewLocal(orchestrator.Config{Store: s})
			require.NoError(t, err)
			require.NoError(t, e.Close(t.Context()))
		}
	})
}

// What cannot be resumed is named, and holds up nothing else.
func TestResumeNamesWhatItCannotTakeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := pair
		old.Version = 1
		s := newPlain()
		e, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: s})
		require.NoError(t, err)
		begin(t, e, old, "old")
		begin(t, e, pair, "new")
		synctest.Wait()
		require.NoError(t, e.Close(t.Context()))
		runs, err := listed(local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Flows: []orchestrator.AnyFlow{pair}}).Resume(t.Context()))
		require.ErrorIs(t, err, orchestrator.ErrDiverged)
		require.ErrorContains(t, err, `run "old"`)
		assert.NotContains(t, err.Error(), `run "new"`)
		require.Len(t, runs, 1)
		assert.Equal(t, "new", runs[0].ID())
		require.NoError(t, runs[0].Wait(t.Context()))
	})
}
