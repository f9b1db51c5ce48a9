package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/flowtest"
	driver "github.com/convene-go/convene/orchestrator/internal/local"
	"github.com/convene-go/convene/providers"
)

// What a process did last before it died.
func TestLastActsOfAProcess(t *testing.T) {
	t.Run("N6 it had closed a question whose time was over, and not recorded it", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			s := runlog.NewMemory()
			a := newMortal(t, s, orchestrator.Config{Agents: agent.Roster{"a": echo}, Leases: lease})
			begin(t, a.Engine, asks, "x")
			pause(time.Minute)
			a.store.Only("Append")
			a.kill()
			pause(2*time.Minute + time.Second) // the question's time is 3 minutes
			require.Equal(t, 1, letters(t, s))
			a.store.Only()
			pause(time.Minute)
			b := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Flows: []orchestrator.AnyFlow{asks}, Leases: lease})
			r := open(t, b, "x")
			err := r.Answer(t.Context(), "n", 7)
			require.ErrorIs(t, err, orchestrator.ErrNoQuestion)
			n, err := asks.Result(t.Context(), r)
			require.NoError(t, err)
			assert.Zero(t, n)
			synctest.Wait() // the letter is taken behind its record
			assert.Zero(t, letters(t, s))
		})
	})
	t.Run("N6 it had a cancel for a child, and not told it", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			parent := flow("parent", func(c *orchestrator.Context) (string, error) { return pair.Child(c, none{}) })
			c := orchestrator.Config{Agents: agent.Roster{"a": hang}}
			s := newPlain()
			c.Store = s
			e, err := orchestrator.NewLocal(c)
			require.NoError(t, err)
			r := begin(t, e, parent, "x")
			synctest.Wait()
			require.NoError(t, r.Cancel(t.Context(), "enough"))
			require.NoError(t, r.Wait(t.Context()))
			require.NoError(t, e.Close(t.Context()))
			cut := newPlain()
			for _, rec := range logOf(t, s, "x") {
				if rec.Kind == runlog.Started || rec.Kind == runlog.Canceled {
					rec.Seq = int64(len(logOf(t, cut, "x")))
					require.NoError(t, cut.Append(t.Context(), []runlog.Record{rec}))
				}
			}
			require.NoError(t, cut.Append(t.Context(), logOf(t, s, "x/0")[:1]))
			c.Store = cut
			_, err = parent.Result(t.Context(), begin(t, local(t, c), parent, "x"))
			require.ErrorIs(t, err, orchestrator.ErrCanceled)
			assert.Equal(t, orchestrator.Canceled, infoOf(t, open(t, local(t, c), "x/0")).Status)
		})
	})
	t.Run("N4 C12 calls that it lost in a child are lost to the parent", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			s := runlog.NewMemory()
			parent := flow("parent", func(c *orchestrator.Context) (string, error) { return pair.Child(c, none{}) })
			a := newMortal(t, s, orchestrator.Config{Agents: agent.Roster{"a": hang}, Leases: lease})
			begin(t, a.Engine, parent, "x")
			synctest.Wait()
			a.kill()
			pause(time.Minute)
			b := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Flows: []orchestrator.AnyFlow{parent}, Leases: lease})
			got, err := parent.Result(t.Context(), open(t, b, "x"))
			require.NoError(t, err)
			assert.Equal(t, "one two", got)
			for _, id := range []string{"x", "x/0"} {
				i := infoOf(t, open(t, b, id))
				assert.Equal(t, int64(1), i.Lost.Calls, id)
				assert.Equal(t, int64(2), i.Spent.Calls, id)
			}
		})
	})
}

func TestQuestionsOfSeveralBranches(t *testing.T) {
	everywhere(t, "N6 branches that wait for the same key all learn that its time is over", func(t *testing.T, s runlog.Store) {
		f := flow("same", func(c *orchestrator.Context) (int, error) {
			n := 0
			for _, r := range orchestrator.Map(c, make([]int, 3), 0, func(c *orchestrator.Context, _ int) (int, error) {
				return orchestrator.Await[int](c, orchestrator.Question{Key: "n", Timeout: time.Minute})
			}) {
				if r.Err != nil && strings.Contains(r.Err.Error(), "no answer") {
					n++
				}
			}
			return n, nil
		})
		e := local(t, orchestrator.Config{Store: s})
		r := begin(t, e, f, "x")
		pause(time.Hour)
		assert.Equal(t, orchestrator.Completed, infoOf(t, r).Status)
		got, err := f.Result(t.Context(), r)
		require.NoError(t, err)
		assert.Equal(t, 3, got)
	})
	everywhere(t, "N6 a question that one branch gave up expires for the other, and is shown no more", func(t *testing.T, s runlog.Store) {
		f := flow("gave up", func(c *orchestrator.Context) (bool, error) {
			both := orchestrator.Map(c, []time.Duration{time.Second, 0}, 0, func(c *orchestrator.Context, wall time.Duration) (int, error) {
				return orchestrator.Await[int](c.WithBudget(orchestrator.Budget{Wall: wall}), orchestrator.Question{Key: "n", Timeout: time.Minute})
			})
			return errors.Is(both[1].Err, orchestrator.ErrTimeout), c.Sleep(time.Hour)
		})
		r := begin(t, local(t, orchestrator.Config{Store: s}), f, "x")
		pause(2 * time.Minute)
		assert.Empty(t, infoOf(t, r).Questions)
		got, err := f.Result(t.Context(), r)
		require.NoError(t, err)
		assert.True(t, got)
	})
	t.Run("N6 a letter is not taken while the run is executed from its log", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			s := runlog.NewMemory()
			busy := make(chan struct{})
			close(busy)
			f := flow("busy", func(c *orchestrator.Context) (int, error) {
				if _, err := ask(c, "a", ""); err != nil {
					return 0, err
				}
				<-busy // what no flow should do
				return orchestrator.Await[int](c, orchestrator.Question{Key: "n"})
			})
			c := orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Leases: lease}
			e, err := orchestrator.NewLocal(c)
			require.NoError(t, err)
			begin(t, e, f, "x")
			synctest.Wait()
			require.NoError(t, e.Close(t.Context()))
			require.NoError(t, open(t, local(t, orchestrator.Config{Store: s, Observe: true}), "x").Answer(t.Context(), "n", 7))
			busy = make(chan struct{})
			r := begin(t, local(t, c), f, "x")
			pause(time.Minute)
			close(busy)
			n, err := f.Result(t.Context(), r)
			require.NoError(t, err)
			assert.Equal(t, 7, n)
			assert.Equal(t, []string{runlog.Started, runlog.Called, runlog.Asked, runlog.Resumed, runlog.Answered, runlog.Ended}, kinds(logOf(t, s, "x")))
		})
	})
}

func TestFiguresOfChildren(t *testing.T) {
	everywhere(t, "N3 what a child learned of an agent, its parent knows", func(t *testing.T, s runlog.Store) {
		cent := providers.NanoUSD(1e7)
		spends := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
			resp, err := after(time.Second)(ctx, req)
			resp.Usage.Cost = cent
			return resp, err
		})
		child := flow("child", func(c *orchestrator.Context) (none, error) {
			for range 3 {
				if _, err := ask(c, "a", ""); err != nil {
					return none{}, err
				}
			}
			return none{}, nil
		})
		f := flow("parent", func(c *orchestrator.Context) (time.Duration, error) {
			if _, err := child.Child(c, none{}); err != nil {
				return 0, err
			}
			_, err := orchestrator.Values(orchestrator.Map(c, make([]int, 3), 0, func(c *orchestrator.Context, _ int) (string, error) { return ask(c, "a", "") }))
			return c.Elapsed(), err
		})
		got, err := f.Run(t.Context(), local(t, orchestrator.Config{Agents: agent.Roster{"a": spends}, Store: s}), none{}, orchestrator.StartOptions{Budget: orchestrator.Budget{Cost: 100 * cent}})
		require.NoError(t, err)
		assert.Equal(t, 4*time.Second, got, "three calls of the child, then three at once: as many were settled")
	})
}

func TestLargeInput(t *testing.T) {
	t.Run("C19 it is beside the log, and is compared and resumed as if it was there", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			s := runlog.NewMemory()
			f := orchestrator.Flow[string, int]{Name: "large", Do: func(c *orchestrator.Context, in string) (int, error) {
				_, err := ask(c, "a", "")
				return len(in), err
			}}
			large := strings.Repeat("x", 100<<10)
			o := orchestrator.StartOptions{ID: "x", Labels: map[string]string{"for": "ann"}}
			a := newMortal(t, s, orchestrator.Config{Agents: agent.Roster{"a": hang}, Leases: lease})
			_, err := f.Start(t.Context(), a.Engine, large, o)
			require.NoError(t, err)
			synctest.Wait()
			a.kill()
			pause(time.Minute)
			assert.Less(t, len(logOf(t, s, "x")[0].Data), 1000)
			b := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Leases: lease})
			_, err = f.Start(t.Context(), b, large+"y", o)
			require.ErrorIs(t, err, orchestrator.ErrExists)
			r, err := f.Start(t.Context(), b, large, o)
			require.NoError(t, err)
			n, err := f.Result(t.Context(), r)
			require.NoError(t, err)
			assert.Equal(t, 100<<10, n)
			assert.Equal(t, "ann", infoOf(t, r).Labels["for"])
			for rec, err := range r.Events(t.Context(), 0) {
				require.NoError(t, err)
				assert.Contains(t, string(rec.Data), large)
				break
			}
		})
	})
	t.Run("C19 large outputs and states are beside the log, and are shown", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			s := runlog.NewMemory()
			large := strings.Repeat("x", 100<<10)
			f := flow("large", func(c *orchestrator.Context) (string, error) {
				c.Expose(func() any { return large })
				return large, nil
			})
			begin(t, local(t, orchestrator.Config{Store: s}), f, "x")
			synctest.Wait()
			log := logOf(t, s, "x")
			assert.Less(t, len(log[len(log)-1].Data), 1000)
			r := open(t, local(t, orchestrator.Config{Store: s, Observe: true}), "x")
			got, err := f.Result(t.Context(), r)
			require.NoError(t, err)
			assert.Equal(t, large, got)
			var state string
			require.NoError(t, r.State(t.Context(), &state))
			assert.Equal(t, large, state)
		})
	})
}

func TestEngineThatWasNotToldToResume(t *testing.T) {
	t.Run("N7 it takes over nothing that it was not asked for", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			s := runlog.NewMemory()
			a := newMortal(t, s, orchestrator.Config{Agents: agent.Roster{"a": hang}, Leases: lease})
			begin(t, a.Engine, pair, "x")
			synctest.Wait()
			b := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Flows: []orchestrator.AnyFlow{pair}, Leases: lease})
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
			c := orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: s.Store(), Flows: []orchestrator.AnyFlow{pair, parent}, Leases: lease}
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

func TestDriverComparesParents(t *testing.T) {
	flowtest.Bubble(t, func(t *testing.T) {
		d := newDriver(t)
		p := quick.Program()
		for i, parent := range []string{"a", "a", "b", ""} {
			_, err := d.Start(t.Context(), p, engine.Input{Run: "x", Data: []byte(`{}`), Parent: parent})
			if i < 2 {
				require.NoError(t, err)
				continue
			}
			require.ErrorIs(t, err, orchestrator.ErrExists)
			require.ErrorContains(t, err, "another parent", fmt.Sprint(i))
		}
	})
}

func TestDriverTellsHowLongARunWasWorkedOn(t *testing.T) {
	flowtest.Bubble(t, func(t *testing.T) {
		d := newDriver(t)
		p := flow("sleeps", func(c *orchestrator.Context) (none, error) { return none{}, c.Sleep(time.Minute) }).Program()
		wait, err := d.Start(t.Context(), p, engine.Input{Run: "x", Data: []byte(`{}`)})
		require.NoError(t, err)
		end, err := wait(t.Context())
		require.NoError(t, err)
		assert.Equal(t, time.Minute, end.Elapsed)
	})
}

// newDriver is the driver of a local engine.
func newDriver(t *testing.T) engine.Driver {
	t.Helper()
	d := driver.New(driver.Config{Log: slog.New(slog.DiscardHandler), Lease: time.Minute, Poll: time.Second, Outage: time.Minute})
	t.Cleanup(func() { require.NoError(t, d.Close(context.WithoutCancel(t.Context()), false)) })
	return d
}
