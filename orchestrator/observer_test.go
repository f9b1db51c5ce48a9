package orchestrator_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

// Runs are pinned to engines by their labels.
func TestServes(t *testing.T) {
	at := func(host string, agents agent.Agent, s runlog.Store) orchestrator.Config {
		here := lease
		here.Serves = map[string]string{"host": host}
		return orchestrator.Config{
			Agents: agent.Roster{"a": agents}, Store: s, Flows: []orchestrator.AnyFlow{pair}, Fleet: here,
		}
	}
	t.Run("N7 a run is resumed where its labels say", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := runlog.NewMemory()
			dead := newMortal(t, s, at("one", hang, s))
			for id, labels := range map[string]map[string]string{"pinned": {"host": "one", "for": "ann"}, "free": {"for": "ann"}} {
				_, err := pair.Start(t.Context(), dead.Engine, none{}, orchestrator.StartOptions{ID: id, Labels: labels})
				require.NoError(t, err)
			}
			synctest.Wait()
			dead.kill()
			two := local(t, at("two", echo, s))
			_, err := two.Resume(t.Context())
			require.NoError(t, err)
			pause(time.Hour)
			assert.Equal(t, orchestrator.Completed, infoOf(t, open(t, two, "free")).Status)
			left := infoOf(t, open(t, two, "pinned"))
			assert.Equal(t, orchestrator.Suspended, left.Status)
			assert.Contains(t, left.Err, `the label "host": "one"`)
			require.NoError(t, open(t, two, "pinned").Cancel(t.Context(), "late"), "it can be told something from anywhere")
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			_, err = pair.Result(ctx, open(t, two, "pinned"))
			require.ErrorIs(t, err, orchestrator.ErrNotServed)

			one := local(t, at("one", echo, s))
			res, err := one.Resume(t.Context())
			require.NoError(t, err)
			require.Len(t, res.Runs, 1)
			_, err = pair.Result(t.Context(), open(t, two, "pinned"))
			require.ErrorIs(t, err, orchestrator.ErrCanceled)
		})
	})
	t.Run("N7 a run is not started elsewhere", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := runlog.NewMemory()
			_, err := pair.Start(t.Context(), local(t, at("two", echo, s)), none{}, orchestrator.StartOptions{ID: "x", Labels: map[string]string{"host": "one"}})
			require.ErrorIs(t, err, orchestrator.ErrNotServed)
			require.ErrorContains(t, err, `run "x" has the label "host": "one", and Config.Fleet.Serves has "two"`)
			assert.Empty(t, logOf(t, s, "x"))
		})
	})
}

func TestObserver(t *testing.T) {
	t.Run("N7 Observe looks, answers and cancels, and works on nothing", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := runlog.NewMemory()
			a := newMortal(t, s, orchestrator.Config{Agents: agent.Roster{"a": hang}, Fleet: lease})
			begin(t, a.Engine, pair, "x")
			synctest.Wait()
			o := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Flows: []orchestrator.AnyFlow{pair}, Fleet: observing})
			r := open(t, o, "x")
			i := infoOf(t, r)
			assert.Equal(t, orchestrator.Running, i.Status)
			assert.NotEmpty(t, i.Owner)
			a.kill()
			pause(time.Hour)
			assert.Equal(t, orchestrator.Suspended, infoOf(t, r).Status)
			_, err := o.Resume(t.Context())
			require.ErrorIs(t, err, orchestrator.ErrStopped)
			_, err = pair.Start(t.Context(), o, none{}, orchestrator.StartOptions{ID: "x"})
			require.ErrorIs(t, err, orchestrator.ErrStopped)
			require.NoError(t, r.Cancel(t.Context(), "enough"))
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			_, err = pair.Result(ctx, r)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, []string{runlog.Started}, kinds(logOf(t, s, "x")))
			b := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Flows: []orchestrator.AnyFlow{pair}, Fleet: lease})
			_, err = b.Resume(t.Context())
			require.NoError(t, err)
			_, err = pair.Result(t.Context(), r)
			require.ErrorIs(t, err, orchestrator.ErrCanceled, "the cancel was kept")
		})
	})
	t.Run("N5 N7 an observer reports a stuck run and does not try it", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			b, s := newBuggy(), runlog.NewMemory()
			require.Error(t, begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s}), b.Flow, "x").Wait(t.Context()))
			o := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Fleet: orchestrator.Fleet{Observe: true}, Flows: []orchestrator.AnyFlow{b}})
			_, err := b.Result(t.Context(), open(t, o, "x"))
			require.ErrorContains(t, err, "ouch")
			require.NoError(t, open(t, o, "x").Cancel(t.Context(), "no use"))
			_, err = b.Result(t.Context(), open(t, o, "x"))
			require.ErrorIs(t, err, orchestrator.ErrCanceled)
			assert.Equal(t, 1, b.begun)
		})
	})
}

// TestObserverHears has an engine that works on nothing and waits for another engine's
// run, with a store that tells of changes.
func TestObserverHears(t *testing.T) {
	t.Run("an observer does not wait for its poll", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s, v := runlog.NewMemory(), newValve()
			begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": v}, Store: s}), pair, "x")
			looks := local(t, orchestrator.Config{Store: s, Fleet: orchestrator.Fleet{Observe: true, Poll: time.Hour}})
			time.AfterFunc(time.Second, func() { close(v.open) })
			began := time.Now()
			require.NoError(t, open(t, looks, "x").Wait(t.Context()))
			assert.Equal(t, time.Second, time.Since(began))
		})
	})
}

func TestForeignViews(t *testing.T) {
	t.Run("a run of another engine is shown as running, with its owner", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := runlog.NewMemory()
			a := local(t, orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: s, Fleet: lease})
			r := begin(t, a, pair, "x")
			other := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Flows: []orchestrator.AnyFlow{pair}, Fleet: lease})
			pause(time.Hour)
			i := infoOf(t, open(t, other, "x"))
			assert.Equal(t, orchestrator.Running, i.Status)
			assert.NotEmpty(t, i.Owner)
			assert.Equal(t, infoOf(t, r).Owner, i.Owner)
			assert.Equal(t, 1, runsIn(t, other, orchestrator.RunQuery{Status: orchestrator.Running}))
			assert.Equal(t, 1, runsIn(t, other, orchestrator.RunQuery{Owner: i.Owner}))
			assert.Zero(t, runsIn(t, other, orchestrator.RunQuery{Status: orchestrator.Suspended}))
			require.ErrorIs(t, open(t, other, "x").State(t.Context(), new(int)), orchestrator.ErrNoState)
		})
	})
	t.Run("State honours its ctx while the flow's own code runs", func(t *testing.T) { // in real time: a lock stops the time of a bubble
		there, blocked := make(chan struct{}), make(chan struct{})
		f := flow("blocks", func(c *orchestrator.Context) (none, error) {
			c.Expose(func() any { return 1 })
			close(there)
			<-blocked // what no flow should do
			return none{}, nil
		})
		r := begin(t, local(t, orchestrator.Config{}), f, "x")
		<-there
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, r.State(ctx, new(int)), context.DeadlineExceeded)
		close(blocked)
		require.NoError(t, r.Wait(t.Context()))
		var got int
		require.NoError(t, r.State(t.Context(), &got))
		assert.Equal(t, 1, got)
	})
	t.Run("Flow.Run returns a second after its ctx although the flow's own code does not", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			f := flow("blocks", func(*orchestrator.Context) (none, error) { return none{}, nil })
			for step := range 3 {
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				begun := time.Now()
				_, err := f.Run(ctx, orchestrator.NewEngine(&stubborn{blocks: step}), none{})
				cancel()
				require.ErrorIs(t, err, context.DeadlineExceeded)
				assert.Equal(t, time.Duration(1500+1000*step)*time.Millisecond, time.Since(begun))
			}
		})
	})
	everywhere(t, "Flow.Run waits for what the flow still has to do after its ctx", func(t *testing.T, s runlog.Store) {
		t.Helper()
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": after(time.Minute)}, Store: s})
		f := flow("cleans", func(c *orchestrator.Context) (string, error) {
			_ = c.Sleep(time.Hour)
			text, err := ask(c.WithoutCancel(), "a", "cleaned")
			return text, err
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		got, err := f.Run(ctx, e, none{})
		require.NoError(t, err)
		assert.Equal(t, "cleaned", got)
	})
}

// stubborn is a driver of a flow that blocks in its own code, after so many steps of a
// second.
type stubborn struct {
	engine.Driver
	engine.Watcher
	blocks int
}

func (*stubborn) Tell(context.Context, string, engine.Command) error { return nil }

func (*stubborn) Start(context.Context, *engine.Program, engine.Input) (func(context.Context) (engine.End, error), error) {
	return func(ctx context.Context) (engine.End, error) {
		<-ctx.Done()
		return engine.End{}, ctx.Err()
	}, nil
}

func (s *stubborn) State(ctx context.Context, _ string) (json.RawMessage, error) {
	if s.blocks--; s.blocks >= 0 {
		return nil, orchestrator.ErrNoState
	}
	<-ctx.Done()
	return nil, ctx.Err()
}
