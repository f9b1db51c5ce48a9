package orchestrator_test

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
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
)

var (
	lease     = orchestrator.Fleet{Lease: 30 * time.Second, Poll: time.Second}
	observing = orchestrator.Fleet{Lease: lease.Lease, Poll: lease.Poll, Observe: true} // place of an engine that only reads
)

// Runs of a process that was killed continue.
func TestRunsOfAKilledProcess(t *testing.T) {
	// two are an engine that was killed during the first call of run x, and one that
	// lives.
	two := func(t *testing.T, flows ...orchestrator.AnyFlow) (b *orchestrator.Engine, s *runlog.Memory) {
		t.Helper()
		s = runlog.NewMemory()
		a := newMortal(t, s, orchestrator.Config{Agents: agent.Roster{"a": hang}, Fleet: lease})
		begin(t, a.Engine, pair, "x")
		synctest.Wait()
		a.kill()
		return local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Flows: flows, Fleet: lease}), s
	}
	result := func(t *testing.T, s runlog.Store) {
		t.Helper()
		got, err := pair.Result(t.Context(), open(t, local(t, orchestrator.Config{Store: s, Fleet: orchestrator.Fleet{Observe: true}}), "x"))
		require.NoError(t, err)
		assert.Equal(t, "one two", got)
	}
	t.Run("N7 an engine that called Resume once takes them over when the lease ends", func(t *testing.T) {
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
			assert.LessOrEqual(t, time.Since(begun), lease.Lease+2*lease.Poll)
			result(t, s)
			assert.NotEqual(t, res.Held[0].Owner, infoOf(t, open(t, b, "x")).Owner)
		})
	})
	t.Run("N7 Start of its ID takes it over", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			b, s := two(t)
			r := begin(t, b, pair, "x")
			assert.Equal(t, orchestrator.Running, infoOf(t, r).Status, "while the lease lasts")
			pause(lease.Lease + time.Second)
			begin(t, b, pair, "x")
			synctest.Wait()
			assert.Equal(t, orchestrator.Completed, infoOf(t, r).Status)
			result(t, s)
		})
	})
	t.Run("N7 Result takes it over, also with a flow that is not in Config.Flows", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			b, _ := two(t)
			begun := time.Now()
			got, err := pair.Result(t.Context(), open(t, b, "x"))
			require.NoError(t, err)
			assert.Equal(t, "one two", got)
			assert.LessOrEqual(t, time.Since(begun), lease.Lease+2*lease.Poll)
		})
	})
	t.Run("N7 Answer takes it over", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			b, s := two(t, pair)
			pause(lease.Lease + time.Second)
			assert.Equal(t, orchestrator.Suspended, infoOf(t, open(t, b, "x")).Status)
			require.NoError(t, open(t, b, "x").AnswerWith(t.Context(), "n", 1, early))
			synctest.Wait()
			assert.Equal(t, orchestrator.Completed, infoOf(t, open(t, b, "x")).Status)
			result(t, s)
		})
	})
	t.Run("N7 Cancel takes it over and ends it", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			b, _ := two(t, pair)
			pause(lease.Lease + time.Second)
			require.NoError(t, open(t, b, "x").Cancel(t.Context(), "enough"))
			synctest.Wait()
			assert.Equal(t, orchestrator.Canceled, infoOf(t, open(t, b, "x")).Status)
		})
	})
	t.Run("N7 an answer that an observer gave reaches the process that took it over", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := runlog.NewMemory()
			a := newMortal(t, s, orchestrator.Config{Agents: agent.Roster{"a": echo}, Fleet: lease})
			begin(t, a.Engine, asks, "x")
			synctest.Wait()
			a.kill()
			b := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Flows: []orchestrator.AnyFlow{asks}, Fleet: lease})
			_, err := b.Resume(t.Context())
			require.NoError(t, err)
			require.NoError(t, open(t, local(t, orchestrator.Config{Store: s, Fleet: orchestrator.Fleet{Observe: true}}), "x").Answer(t.Context(), "n", 7))
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
			a := newMortal(t, s, orchestrator.Config{Agents: agent.Roster{"a": v}, Fleet: lease})
			r := begin(t, a.Engine, pair, "x")
			synctest.Wait()
			a.kill()
			b := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Flows: []orchestrator.AnyFlow{pair}, Fleet: lease})
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

// TestChildOfAnotherEngine has a child whose engine lives, and has lost its parent: the
// engine that resumed the parent resumes the child, too.
func TestChildOfAnotherEngine(t *testing.T) {
	t.Run("N7 a child goes with its parent, whatever its own engine does", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			kid := flow("kid", func(c *orchestrator.Context) (string, error) { return ask(c, "a", "one") })
			parent := flow("parent", func(c *orchestrator.Context) (string, error) { return kid.Child(c, none{}) })
			s := runlog.NewMemory()
			a := newMortal(t, s, orchestrator.Config{Agents: agent.Roster{"a": hang}, Fleet: lease})
			begin(t, a.Engine, parent, "x")
			synctest.Wait()
			a.kill()
			for l, err := range s.List(t.Context(), runlog.Query{Parent: "x"}) {
				require.NoError(t, err)
				require.NoError(t, s.Beat(t.Context(), "ghost", 1000*time.Hour))
				require.NoError(t, s.Append(t.Context(), []runlog.Record{{Run: l.Run, Seq: l.Next, Kind: runlog.Resumed, At: time.Now(), Data: json.RawMessage(`{"owner":"ghost"}`)}}))
			}
			b := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Flows: []orchestrator.AnyFlow{parent, kid}, Fleet: lease})
			_, err := b.Resume(t.Context())
			require.NoError(t, err)
			began := time.Now()
			got, err := parent.Result(t.Context(), open(t, b, "x"))
			require.NoError(t, err)
			assert.Equal(t, "one", got)
			assert.Less(t, time.Since(began), lease.Lease+5*lease.Poll)
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
	t.Run("N7 a late record of an engine that lost the parent does not stop the child", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			kid := flow("kid", func(c *orchestrator.Context) (string, error) { return ask(c, "a", "one") })
			parent := flow("parent", func(c *orchestrator.Context) (string, error) { return kid.Child(c, none{}) })
			s := runlog.NewMemory()
			a := newMortal(t, s, orchestrator.Config{Agents: agent.Roster{"a": hang}, Fleet: lease})
			begin(t, a.Engine, parent, "x")
			synctest.Wait()
			a.kill()
			done := false
			b := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: overtaken{s, &done}, Flows: []orchestrator.AnyFlow{parent, kid}, Fleet: lease})
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
	t.Run("N7 an engine does not take a run from one that was first", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s, v := runlog.NewMemory(), newValve()
			first := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": v}, Store: s}), pair, "x")
			late := local(t, orchestrator.Config{Agents: agent.Roster{"a": v}, Store: lateOrphans{s}, Flows: []orchestrator.AnyFlow{pair}, Fleet: lease})
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

func TestEngineThatWasNotToldToResume(t *testing.T) {
	t.Run("N7 it takes over nothing that it was not asked for", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			s := runlog.NewMemory()
			a := newMortal(t, s, orchestrator.Config{Agents: agent.Roster{"a": hang}, Fleet: lease})
			begin(t, a.Engine, pair, "x")
			synctest.Wait()
			b := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Flows: []orchestrator.AnyFlow{pair}, Fleet: lease})
			require.NoError(t, begin(t, b, pair, "own").Wait(t.Context()))
			a.kill()
			pause(time.Hour)
			assert.Equal(t, []string{runlog.Started}, kinds(logOf(t, s, "x")))
			assert.Equal(t, orchestrator.Suspended, infoOf(t, open(t, b, "x")).Status)
		})
	})
	t.Run("N7 Resume leaves children to their parents", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			s := doubles.New(runlog.NewMemory())
			parent := flow("parent", func(c *orchestrator.Context) (string, error) { return pair.Child(c, none{}) })
			c := orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: s.Store(), Flows: []orchestrator.AnyFlow{pair, parent}, Fleet: lease}
			e, err := orchestrator.NewLocal(c)
			require.NoError(t, err)
			begin(t, e, parent, "x")
			synctest.Wait()
			require.NoError(t, e.Close(t.Context()))
			res, err := local(t, c).Resume(t.Context())
			require.NoError(t, err)
			require.Len(t, res.Runs, 1)
			assert.Equal(t, "x", res.Runs[0].ID())
		})
	})
}
