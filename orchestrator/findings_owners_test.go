package orchestrator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/storetest/doubles"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

var lease = orchestrator.Leases{For: 30 * time.Second, Poll: time.Second}

// Runs of a process that was killed continue.
func TestRunsOfAKilledProcess(t *testing.T) {
	// two are an engine that was killed during the first call of run x, and one that
	// lives.
	two := func(t *testing.T, flows ...orchestrator.AnyFlow) (b *orchestrator.Engine, s *runlog.Memory) {
		t.Helper()
		s = runlog.NewMemory()
		a := newMortal(t, s, orchestrator.Config{Agents: agent.Roster{"a": hang}, Leases: lease})
		begin(t, a.Engine, pair, "x")
		synctest.Wait()
		a.kill()
		return local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Flows: flows, Leases: lease}), s
	}
	result := func(t *testing.T, s runlog.Store) {
		t.Helper()
		got, err := pair.Result(t.Context(), open(t, local(t, orchestrator.Config{Store: s, Observe: true}), "x"))
		require.NoError(t, err)
		assert.Equal(t, "one two", got)
	}
	t.Run("N7 C1 an engine that called Resume once takes them over when the lease ends", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			b, s := two(t, pair)
			begun := time.Now()
			res, err := b.Resume(t.Context())
			require.NoError(t, err)
			assert.Empty(t, res.Runs)
			require.Len(t, res.Held, 1)
			assert.Equal(t, "x", res.Held[0].ID)
			assert.Equal(t, infoOf(t, open(t, b, "x")).Owner, res.Held[0].Owner)
			assert.WithinDuration(t, begun, res.Held[0].Since, 0)
			assert.NotEmpty(t, res.Held[0].Owner)
			require.NoError(t, open(t, b, "x").Wait(t.Context()))
			assert.LessOrEqual(t, time.Since(begun), lease.For+2*lease.Poll)
			result(t, s)
			assert.NotEqual(t, res.Held[0].Owner, infoOf(t, open(t, b, "x")).Owner)
		})
	})
	t.Run("N7 C1 Start of its ID takes it over", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			b, s := two(t)
			r := begin(t, b, pair, "x")
			assert.Equal(t, orchestrator.Running, infoOf(t, r).Status, "while the lease lasts")
			pause(lease.For + time.Second)
			begin(t, b, pair, "x")
			synctest.Wait()
			assert.Equal(t, orchestrator.Completed, infoOf(t, r).Status)
			result(t, s)
		})
	})
	t.Run("N7 C1 Result takes it over, also with a flow that is not in Config.Flows", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			b, _ := two(t)
			begun := time.Now()
			got, err := pair.Result(t.Context(), open(t, b, "x"))
			require.NoError(t, err)
			assert.Equal(t, "one two", got)
			assert.LessOrEqual(t, time.Since(begun), lease.For+2*lease.Poll)
		})
	})
	t.Run("N7 C1 Answer takes it over", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			b, s := two(t, pair)
			pause(lease.For + time.Second)
			assert.Equal(t, orchestrator.Suspended, infoOf(t, open(t, b, "x")).Status)
			require.NoError(t, open(t, b, "x").Answer(t.Context(), "n", 1))
			synctest.Wait()
			assert.Equal(t, orchestrator.Completed, infoOf(t, open(t, b, "x")).Status)
			result(t, s)
		})
	})
	t.Run("N7 C1 Cancel takes it over and ends it", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			b, _ := two(t, pair)
			pause(lease.For + time.Second)
			require.NoError(t, open(t, b, "x").Cancel(t.Context(), "enough"))
			synctest.Wait()
			assert.Equal(t, orchestrator.Canceled, infoOf(t, open(t, b, "x")).Status)
		})
	})
	t.Run("N7 C1 an answer that an observer gave reaches the process that took it over", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := runlog.NewMemory()
			a := newMortal(t, s, orchestrator.Config{Agents: agent.Roster{"a": echo}, Leases: lease})
			begin(t, a.Engine, asks, "x")
			synctest.Wait()
			a.kill()
			b := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Flows: []orchestrator.AnyFlow{asks}, Leases: lease})
			_, err := b.Resume(t.Context())
			require.NoError(t, err)
			require.NoError(t, open(t, local(t, orchestrator.Config{Store: s, Observe: true}), "x").Answer(t.Context(), "n", 7))
			n, err := asks.Result(t.Context(), open(t, b, "x"))
			require.NoError(t, err)
			assert.Equal(t, 7, n)
		})
	})
	t.Run("N7 the process that was cut off hears of it and its answers do not count", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := runlog.NewMemory()
			v := newValve()
			a := newMortal(t, s, orchestrator.Config{Agents: agent.Roster{"a": v}, Leases: lease})
			r := begin(t, a.Engine, pair, "x")
			synctest.Wait()
			a.kill()
			b := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Flows: []orchestrator.AnyFlow{pair}, Leases: lease})
			_, err := b.Resume(t.Context())
			require.NoError(t, err)
			require.NoError(t, open(t, b, "x").Wait(t.Context()))
			before := kinds(logOf(t, s, "x"))
			a.store.Heal()
			close(v.open)
			require.ErrorIs(t, r.Wait(t.Context()), runlog.ErrConflict)
			assert.Equal(t, before, kinds(logOf(t, s, "x")))
			assert.Equal(t, orchestrator.Completed, infoOf(t, r).Status)
		})
	})
}

// Runs are pinned to engines by their labels.
func TestServes(t *testing.T) {
	at := func(host string, agents agent.Agent, s runlog.Store) orchestrator.Config {
		return orchestrator.Config{
			Agents: agent.Roster{"a": agents}, Store: s, Flows: []orchestrator.AnyFlow{pair}, Leases: lease, Serves: map[string]string{"host": host},
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
			require.ErrorContains(t, err, `run "x" has the label "host": "one", and Config.Serves has "two"`)
			assert.Empty(t, logOf(t, s, "x"))
		})
	})
}

func TestObserver(t *testing.T) {
	t.Run("N7 Observe looks, answers and cancels, and works on nothing", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := runlog.NewMemory()
			a := newMortal(t, s, orchestrator.Config{Agents: agent.Roster{"a": hang}, Leases: lease})
			begin(t, a.Engine, pair, "x")
			synctest.Wait()
			o := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Observe: true, Flows: []orchestrator.AnyFlow{pair}, Leases: lease})
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
			b := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Flows: []orchestrator.AnyFlow{pair}, Leases: lease})
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
			o := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Observe: true, Flows: []orchestrator.AnyFlow{b}})
			_, err := b.Result(t.Context(), open(t, o, "x"))
			require.ErrorContains(t, err, "ouch")
			require.NoError(t, open(t, o, "x").Cancel(t.Context(), "no use"))
			_, err = b.Result(t.Context(), open(t, o, "x"))
			require.ErrorIs(t, err, orchestrator.ErrCanceled)
			assert.Equal(t, 1, b.begun)
		})
	})
}

func TestForeignViews(t *testing.T) {
	t.Run("C18 a run of another engine is shown as running, with its owner", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := runlog.NewMemory()
			a := local(t, orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: s, Leases: lease})
			r := begin(t, a, pair, "x")
			other := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Flows: []orchestrator.AnyFlow{pair}, Leases: lease})
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
	t.Run("C18 State honours its ctx while the flow's own code runs", func(t *testing.T) { // in real time: a lock stops the time of a bubble
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
	t.Run("C18 Flow.Run returns a second after its ctx although the flow's own code does not", func(t *testing.T) {
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
	everywhere(t, "C18 Flow.Run waits for what the flow still has to do after its ctx", func(t *testing.T, s runlog.Store) {
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

// foreign fills a store with open runs of an engine that lives.
func foreign(t *testing.T, s *runlog.Memory, n int) {
	t.Helper()
	require.NoError(t, s.Beat(t.Context(), "other", 24*time.Hour))
	data, err := json.Marshal(map[string]any{"owner": "other", "data": none{}})
	require.NoError(t, err)
	for i := range n {
		id := fmt.Sprintf("foreign-%d", i)
		require.NoError(t, s.Append(t.Context(), []runlog.Record{{Run: id, Kind: runlog.Started, Name: "pair", At: time.Now(), Data: data}}))
	}
}

func TestCostOfLooking(t *testing.T) {
	t.Run("C19 Resume beside 5,000 foreign runs reads no log and asks for their owner once", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := runlog.NewMemory()
			foreign(t, s, 5000)
			d := doubles.New(s)
			e := local(t, orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: d.Store(), Flows: []orchestrator.AnyFlow{pair}, Leases: lease})
			res, err := e.Resume(t.Context())
			require.NoError(t, err)
			assert.Empty(t, res.Runs)
			assert.Len(t, res.Held, 5000)
			pause(time.Minute)
			assert.Zero(t, d.Calls("Records"))
			assert.Equal(t, 1, d.Calls("Alive"))
			assert.Equal(t, 1, d.Calls("List"))
		})
	})
	t.Run("C19 runs that become free are read once", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := runlog.NewMemory()
			foreign(t, s, 100)
			d := doubles.New(s)
			e := local(t, orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: d.Store(), Flows: []orchestrator.AnyFlow{pair}, Leases: lease})
			_, err := e.Resume(t.Context())
			require.NoError(t, err)
			require.NoError(t, s.Leave(t.Context(), "other"))
			pause(time.Minute)
			assert.Equal(t, 100, runsIn(t, e, orchestrator.RunQuery{Status: orchestrator.Running}))
			assert.Equal(t, 100, d.Calls("Records"))
		})
	})
	t.Run("C19 Answer on a run of 50,000 records reads no log", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := runlog.NewMemory()
			f := flow("long", func(c *orchestrator.Context) (none, error) {
				for range 50_000 {
					c.Emit("step", 1)
				}
				_, err := orchestrator.Await[int](c, orchestrator.Question{Key: "n"})
				if err == nil {
					err = c.Sleep(time.Hour)
				}
				return none{}, err
			})
			d := doubles.New(s)
			r := begin(t, local(t, orchestrator.Config{Store: d.Store(), Leases: lease}), f, "x")
			synctest.Wait()
			o := doubles.New(s)
			there := open(t, local(t, orchestrator.Config{Store: o.Store(), Observe: true, Leases: lease}), "x")
			require.ErrorIs(t, there.Answer(t.Context(), "n", "seven"), orchestrator.ErrMalformed)
			require.ErrorIs(t, r.Answer(t.Context(), "n", "seven"), orchestrator.ErrMalformed)
			for _, r := range []*orchestrator.Run{there, r} {
				require.NoError(t, r.Answer(t.Context(), "n", 7))
				require.NoError(t, r.Answer(t.Context(), "n", 7))
				require.ErrorIs(t, r.Answer(t.Context(), "n", 8), orchestrator.ErrAnswered)
			}
			assert.Zero(t, d.Calls("Records"))
			assert.Zero(t, o.Calls("Records"))
		})
	})
	t.Run("C19 lists read no log", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := runlog.NewMemory()
			foreign(t, s, 100)
			d := doubles.New(s)
			e := local(t, orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: d.Store(), Leases: lease})
			begin(t, e, pair, "x")
			for _, q := range []orchestrator.RunQuery{{}, {Open: true}, {Status: orchestrator.Running}, {Flow: "pair", Limit: 7}} {
				runsIn(t, e, q)
			}
			assert.Zero(t, d.Calls("Records"))
		})
	})
}

// Two may start one run at the same moment in one engine, and the first may fail.
func TestStartBesideAStartThatFails(t *testing.T) {
	flowtest.Bubble(t, func(t *testing.T) {
		t.Helper()
		s := doubles.New(runlog.NewMemory())
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s.Store(), Leases: lease})
		s.Only("Append")
		s.Hang()
		var host sync.WaitGroup
		host.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := pair.Start(ctx, e, none{}, orchestrator.StartOptions{ID: "x"})
			assert.ErrorIs(t, err, context.DeadlineExceeded)
		})
		synctest.Wait()
		host.Go(func() {
			r, err := pair.Start(t.Context(), e, none{}, orchestrator.StartOptions{ID: "x"})
			if assert.NoError(t, err) {
				got, err := pair.Result(t.Context(), r)
				assert.NoError(t, err)
				assert.Equal(t, "one two", got)
			}
		})
		synctest.Wait()
		s.Heal()
		host.Wait()
	})
}

// stubborn is a driver of a flow that blocks in its own code, after so many steps of a
// second.
type stubborn struct {
	engine.Driver
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

// TestChildOfAnotherEngine has a child whose engine lives, and has lost its parent: the
// engine that resumed the parent resumes the child, too.
func TestChildOfAnotherEngine(t *testing.T) {
	t.Run("N7 C1 a child goes with its parent, whatever its own engine does", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			kid := flow("kid", func(c *orchestrator.Context) (string, error) { return ask(c, "a", "one") })
			parent := flow("parent", func(c *orchestrator.Context) (string, error) { return kid.Child(c, none{}) })
			s := runlog.NewMemory()
			a := newMortal(t, s, orchestrator.Config{Agents: agent.Roster{"a": hang}, Leases: lease})
			begin(t, a.Engine, parent, "x")
			synctest.Wait()
			a.kill()
			for l, err := range s.List(t.Context(), runlog.Query{Parent: "x"}) {
				require.NoError(t, err)
				require.NoError(t, s.Beat(t.Context(), "ghost", 1000*time.Hour))
				require.NoError(t, s.Append(t.Context(), []runlog.Record{{Run: l.Run, Seq: l.Next, Kind: runlog.Resumed, At: time.Now(), Data: json.RawMessage(`{"owner":"ghost"}`)}}))
			}
			b := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Flows: []orchestrator.AnyFlow{parent, kid}, Leases: lease})
			_, err := b.Resume(t.Context())
			require.NoError(t, err)
			began := time.Now()
			got, err := parent.Result(t.Context(), open(t, b, "x"))
			require.NoError(t, err)
			assert.Equal(t, "one", got)
			assert.Less(t, time.Since(began), lease.For+5*lease.Poll)
		})
	})
}

// TestObserverHears has an engine that works on nothing and waits for another engine's
// run, with a store that tells of changes.
func TestObserverHears(t *testing.T) {
	t.Run("C1 an observer does not wait for its poll", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s, v := runlog.NewMemory(), newValve()
			begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": v}, Store: s}), pair, "x")
			looks := local(t, orchestrator.Config{Store: s, Observe: true, Leases: orchestrator.Leases{Poll: time.Hour}})
			time.AfterFunc(time.Second, func() { close(v.open) })
			began := time.Now()
			require.NoError(t, open(t, looks, "x").Wait(t.Context()))
			assert.Equal(t, time.Second, time.Since(began))
		})
	})
}

// overtaken is a store in which another engine records for a child just before it is
// resumed.
type overtaken struct {
	*runlog.Memory
	done *bool
}

func (s overtaken) Append(ctx context.Context, recs []runlog.Record) error {
	if r := recs[0]; r.Kind == runlog.Resumed && strings.Contains(r.Run, "/") && !*s.done {
		*s.done = true
		r.Data = json.RawMessage(`{"owner":"ghost"}`)
		if err := s.Memory.Append(ctx, []runlog.Record{r}); err != nil {
			return err
		}
	}
	return s.Memory.Append(ctx, recs)
}

func TestChildOvertaken(t *testing.T) {
	t.Run("N7 C1 a late record of an engine that lost the parent does not stop the child", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			kid := flow("kid", func(c *orchestrator.Context) (string, error) { return ask(c, "a", "one") })
			parent := flow("parent", func(c *orchestrator.Context) (string, error) { return kid.Child(c, none{}) })
			s := runlog.NewMemory()
			a := newMortal(t, s, orchestrator.Config{Agents: agent.Roster{"a": hang}, Leases: lease})
			begin(t, a.Engine, parent, "x")
			synctest.Wait()
			a.kill()
			done := false
			b := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: overtaken{s, &done}, Flows: []orchestrator.AnyFlow{parent, kid}, Leases: lease})
			_, err := b.Resume(t.Context())
			require.NoError(t, err)
			got, err := parent.Result(t.Context(), open(t, b, "x"))
			require.NoError(t, err)
			assert.Equal(t, "one", got)
			assert.True(t, done)
		})
	})
}

// lateOrphans is a store whose list of orphans is old when it is read: another engine
// has resumed the runs meanwhile.
type lateOrphans struct{ *runlog.Memory }

func (s lateOrphans) Orphans(ctx context.Context) iter.Seq2[runlog.Listing, error] {
	return func(yield func(runlog.Listing, error) bool) {
		for l, err := range s.List(ctx, runlog.Query{Open: true}) {
			l.Owner = "dead"
			if !yield(l, err) {
				return
			}
		}
	}
}

func TestOrphanTakenMeanwhile(t *testing.T) {
	t.Run("N7 C1 an engine does not take a run from one that was first", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s, v := runlog.NewMemory(), newValve()
			first := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": v}, Store: s}), pair, "x")
			late := local(t, orchestrator.Config{Agents: agent.Roster{"a": v}, Store: lateOrphans{s}, Flows: []orchestrator.AnyFlow{pair}, Leases: lease})
			_, err := late.Resume(t.Context())
			require.NoError(t, err)
			pause(5 * lease.Poll)
			close(v.open)
			got, err := pair.Result(t.Context(), first)
			require.NoError(t, err)
			assert.Equal(t, "one two", got)
			assert.NotContains(t, kinds(logOf(t, s, "x")), runlog.Resumed)
		})
	})
}
