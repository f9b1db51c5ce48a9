package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
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
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/providers"
)

// perCall counts the calls of each prompt.
type perCall struct {
	agent.Agent
	mu    sync.Mutex
	times map[string]int
}

func newPerCall(a agent.Agent) *perCall { return &perCall{Agent: a, times: map[string]int{}} }

func (a *perCall) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	i := agent.InfoFrom(ctx)
	a.mu.Lock()
	a.times[i.Key]++
	a.mu.Unlock()
	return a.Agent.Call(ctx, req)
}

// repeated are the calls that were made more than once.
func (a *perCall) repeated() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var keys []string
	for key, n := range a.times {
		if n > 1 {
			keys = append(keys, key)
		}
	}
	return keys
}

// wide calls eight times side by side, and once more.
var wide = flow("wide", func(c *orchestrator.Context) (string, error) {
	got, err := orchestrator.Values(orchestrator.Map(c, strings.Split("12345678", ""), 0, func(c *orchestrator.Context, p string) (string, error) {
		c.Emit("step", p)
		return ask(c, "a", p)
	}))
	if err != nil {
		return "", err
	}
	last, err := ask(c, "a", "9")
	return strings.Join(got, "") + last, err
})

func TestStoreThatFailsForAWhile(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault func(d *doubles.Double)
		heal  time.Duration
	}{
		{"fails once", func(d *doubles.Double) { d.Fail(1) }, 0},
		{"fails five times", func(d *doubles.Double) { d.Fail(5) }, 0},
		{"stores and fails then", func(d *doubles.Double) { d.Lose(1) }, 0},
		{"stores and fails then, five times", func(d *doubles.Double) { d.Lose(5) }, 0},
		{"hangs for 50 s", func(d *doubles.Double) { d.Hang() }, 50 * time.Second},
		{"fails for 50 s", func(d *doubles.Double) { d.Fail(1 << 40) }, 50 * time.Second},
		{"is slow", func(d *doubles.Double) { d.Slow(3 * time.Second) }, 0},
		{"answers later than the engine waits", func(d *doubles.Double) { d.Slow(11 * time.Second) }, 50 * time.Second},
	} {
		for _, only := range []string{"Append", ""} {
			t.Run(strings.TrimSpace(fmt.Sprintf("C8 a store that %s: the run does not notice it %s", tt.name, only)), func(t *testing.T) {
				flowtest.Bubble(t, func(t *testing.T) {
					t.Helper()
					a := newPerCall(after(time.Second))
					d := doubles.New(runlog.NewMemory())
					e := local(t, orchestrator.Config{Agents: agent.Roster{"a": a}, Store: d.Store(), Flows: []orchestrator.AnyFlow{wide}, Leases: orchestrator.Leases{For: time.Hour}})
					_, err := e.Resume(t.Context())
					require.NoError(t, err)
					r := begin(t, e, wide, "x")
					synctest.Wait()
					if only != "" {
						d.Only(only)
					}
					tt.fault(d)
					if tt.heal > 0 {
						time.AfterFunc(tt.heal, d.Heal)
					}
					pause(2 * time.Minute)
					got, err := wide.Result(t.Context(), r)
					require.NoError(t, err)
					assert.Equal(t, "123456789", got)
					assert.Empty(t, a.repeated())
					d.Heal()
					log := kinds(logOf(t, d.Store(), "x"))
					assert.Equal(t, runlog.Ended, log[len(log)-1])
					assert.NotContains(t, log, runlog.Resumed)
					assert.Equal(t, 9, strings.Count(strings.Join(log, " "), runlog.Called))
					assert.Equal(t, 8, strings.Count(strings.Join(log, " "), "step"))
				})
			})
		}
	}
	t.Run("C8 an outage of more than a minute suspends, and the engine resumes by itself", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			a := newPerCall(after(time.Second))
			d := doubles.New(runlog.NewMemory())
			e := local(t, orchestrator.Config{Agents: agent.Roster{"a": a}, Store: d.Store(), Flows: []orchestrator.AnyFlow{wide}, Leases: orchestrator.Leases{For: time.Hour}})
			_, err := e.Resume(t.Context())
			require.NoError(t, err)
			runs := []*orchestrator.Run{}
			for i := range 5 {
				runs = append(runs, begin(t, e, wide, fmt.Sprint(i)))
			}
			pause(500 * time.Millisecond)
			d.Fail(1 << 40)
			begun := time.Now()
			for _, r := range runs {
				err := r.Wait(t.Context())
				require.ErrorIs(t, err, orchestrator.ErrStopped)
				require.ErrorContains(t, err, doubles.ErrDouble.Error(), "the store's error is in it")
				require.ErrorContains(t, err, "the store failed for 1m0s")
				assert.LessOrEqual(t, time.Since(begun), 75*time.Second, "all of them, together")
			}
			d.Heal()
			for _, r := range runs {
				i := infoOf(t, r)
				assert.Equal(t, orchestrator.Suspended, i.Status)
				assert.Empty(t, i.Err)
			}
			pause(10 * time.Second)
			for _, r := range runs {
				got, err := wide.Result(t.Context(), r)
				require.NoError(t, err)
				assert.Equal(t, "123456789", got)
			}
			r := begin(t, e, wide, "later")
			pause(500 * time.Millisecond)
			d.Fail(1 << 40)
			pause(50 * time.Second)
			d.Heal()
			got, err := wide.Result(t.Context(), r)
			require.NoError(t, err, "the next outage is another one")
			assert.Equal(t, "123456789", got)
		})
	})
	t.Run("C8 a run that the store refuses for good does not take the others along", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := hooked{newPlain(), func(recs []runlog.Record) error {
				if has(recs, runlog.Called, "bad") {
					return doubles.ErrDouble
				}
				return nil
			}}
			a := newPerCall(after(time.Second))
			e := local(t, orchestrator.Config{Agents: agent.Roster{"a": a}, Store: s})
			bad := begin(t, e, wide, "bad")
			good := begin(t, e, wide, "good")
			require.ErrorContains(t, bad.Wait(t.Context()), doubles.ErrDouble.Error())
			got, err := wide.Result(t.Context(), good)
			require.NoError(t, err)
			assert.Equal(t, "123456789", got)
			assert.Empty(t, a.repeated())
		})
	})
	t.Run("C8 Close does not wait for a store that hangs", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			d := doubles.New(runlog.NewMemory())
			e, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"a": after(time.Second)}, Store: d.Store(), Leases: orchestrator.Leases{For: time.Hour}})
			require.NoError(t, err)
			r := begin(t, e, wide, "x")
			synctest.Wait()
			d.Hang()
			pause(2 * time.Second)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			begun := time.Now()
			require.ErrorIs(t, e.Close(ctx), context.DeadlineExceeded)
			assert.Equal(t, 5*time.Second, time.Since(begun))
			require.ErrorIs(t, r.Wait(t.Context()), orchestrator.ErrStopped)
		})
	})
	t.Run("C8 a conflict is final at once", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := hooked{newPlain(), func(recs []runlog.Record) error {
				if has(recs, runlog.Called, "") {
					return runlog.ErrConflict
				}
				return nil
			}}
			begun := time.Now()
			r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s}), wide, "x")
			require.ErrorIs(t, r.Wait(t.Context()), runlog.ErrConflict)
			assert.Zero(t, time.Since(begun))
			assert.Equal(t, orchestrator.Suspended, infoOf(t, r).Status, "not stuck")
		})
	})
	t.Run("C8 an attempt that is stored while the next one is made is the run's own", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			late := &tardy{plain: newPlain()}
			a := newPerCall(echo)
			r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": a}, Store: late}), wide, "x")
			got, err := wide.Result(t.Context(), r)
			require.NoError(t, err)
			assert.Equal(t, "123456789", got)
			assert.Empty(t, a.repeated())
			assert.Equal(t, 9, strings.Count(strings.Join(kinds(logOf(t, late.plain, "x")), " "), runlog.Called))
		})
	})
	t.Run("C8 a record of another engine in its place is not", func(t *testing.T) {
		for name, change := range map[string]func(rec *runlog.Record){
			"kind": func(rec *runlog.Record) { rec.Kind = runlog.Used },
			"name": func(rec *runlog.Record) { rec.Name = "b" },
			"n":    func(rec *runlog.Record) { rec.N++ },
			"time": func(rec *runlog.Record) { rec.At = rec.At.Add(1) },
			"data": func(rec *runlog.Record) { rec.Data = []byte(`{"response":{"text":"another answer"}}`) },
		} {
			flowtest.Bubble(t, func(t *testing.T) {
				late := &tardy{plain: newPlain(), change: change}
				r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: late}), pair, "x")
				require.ErrorIs(t, r.Wait(t.Context()), runlog.ErrConflict, name)
			})
		}
	})
	t.Run("C8 nothing follows a record that was given up", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			failing := newHeld()
			tries := 0
			s := hooked{newPlain(), nil}
			s.before = func(recs []runlog.Record) error {
				if recs[0].Kind != runlog.Called {
					return nil
				}
				if tries++; tries == 1 {
					failing.wait()
				}
				if tries <= 2 {
					return doubles.ErrDouble
				}
				return nil
			}
			v := map[string]valve{"x": newValve(), "y": newValve()}
			a := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
				return v[req.Prompt].Call(ctx, req)
			})
			f := flow("two", func(c *orchestrator.Context) ([]string, error) {
				return orchestrator.Values(orchestrator.Map(c, []string{"x", "y"}, 0, func(c *orchestrator.Context, p string) (string, error) { return ask(c, "a", p) }))
			})
			r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": a}, Store: s, Leases: orchestrator.Leases{Outage: 1}}), f, "x")
			synctest.Wait()
			close(v["x"].open)
			<-failing.there
			close(v["y"].open) // its record waits behind the one that fails
			synctest.Wait()
			close(failing.open)
			require.ErrorContains(t, r.Wait(t.Context()), doubles.ErrDouble.Error())
			synctest.Wait()
			assert.Equal(t, []string{runlog.Started}, kinds(logOf(t, s, "x")))
		})
	})
	t.Run("C8 the end of a run in a commit that conflicts for another one is stored", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			first, together := newHeld(), false
			var once sync.Once
			s := hooked{newPlain(), nil}
			s.before = func(recs []runlog.Record) error {
				if has(recs, runlog.Called, "first") {
					once.Do(first.wait)
				}
				if has(recs, runlog.Called, "bad") {
					together = together || has(recs, runlog.Ended, "good")
					return runlog.ErrConflict
				}
				return nil
			}
			v := map[string]valve{"first": newValve(), "bad": newValve()}
			a := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
				return v[agent.InfoFrom(ctx).Run].Call(ctx, req)
			})
			end := make(chan struct{})
			ends := flow("ends", func(*orchestrator.Context) (none, error) {
				<-end // what no flow should do
				return none{}, nil
			})
			e := local(t, orchestrator.Config{Agents: agent.Roster{"a": a}, Store: s})
			begin(t, e, pair, "first")
			bad, good := begin(t, e, pair, "bad"), begin(t, e, ends, "good")
			synctest.Wait()
			close(v["first"].open)
			<-first.there // the committer is busy, and the next two wait for it together
			close(end)
			synctest.Wait()
			close(v["bad"].open)
			synctest.Wait()
			close(first.open)
			require.ErrorIs(t, bad.Wait(t.Context()), runlog.ErrConflict)
			require.NoError(t, good.Wait(t.Context()))
			assert.True(t, together, "they came in one commit")
			assert.Equal(t, []string{runlog.Started, runlog.Ended}, kinds(logOf(t, s, "good")))
		})
	})
	t.Run("C8 a question expires although the store hung meanwhile", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			d := doubles.New(runlog.NewMemory())
			d.Only("Put")
			e := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: d.Store()})
			r := begin(t, e, asks, "x")
			d.Hang()
			pause(4 * time.Minute) // the question's time is 3 minutes
			assert.Len(t, infoOf(t, r).Questions, 1)
			d.Heal()
			pause(time.Minute)
			assert.Equal(t, orchestrator.Completed, infoOf(t, r).Status)
		})
	})
	t.Run("C8 large values are kept over an outage too", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			text := strings.Repeat("x", 100<<10)
			d := doubles.New(runlog.NewMemory())
			d.Only("PutBlob")
			f := flow("large", func(c *orchestrator.Context) (string, error) { return ask(c, "a", text) })
			r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": after(time.Second)}, Store: d.Store(), Leases: orchestrator.Leases{For: time.Hour}}), f, "x")
			d.Fail(5)
			got, err := f.Result(t.Context(), r)
			require.NoError(t, err)
			assert.Equal(t, text, got)
		})
	})
}

// tardy is a store whose first commit of a call fails, and is made after all while its
// caller makes the next attempt. change makes it that of another engine.
type tardy struct {
	plain
	change func(rec *runlog.Record)
	late   []runlog.Record
	done   bool
}

func (s *tardy) Append(ctx context.Context, recs []runlog.Record) error {
	switch {
	case s.done || !has(recs, runlog.Called, ""):
	case s.late == nil:
		s.late = slices.Clone(recs)
		return doubles.ErrDouble
	default:
		s.done = true
		if s.change != nil {
			s.change(&s.late[0])
		}
		if err := s.plain.Append(ctx, s.late); err != nil {
			return err
		}
	}
	return s.plain.Append(ctx, recs)
}

// Calls under way at a kill are charged.
func TestKillsDuringACall(t *testing.T) {
	kill := func(t *testing.T, budget orchestrator.Budget, l agent.Limits) (calls int64, end orchestrator.Info) {
		t.Helper()
		s := runlog.NewMemory()
		a := &counted{Agent: hang}
		f := flow("kills", func(c *orchestrator.Context) (string, error) {
			resp, err := c.Call("a", agent.Request{Prompt: "x", Limits: l})
			return resp.Text, err
		})
		for range 20 {
			m := newMortal(t, s, orchestrator.Config{Agents: agent.Roster{"a": a}, Flows: []orchestrator.AnyFlow{f}, Leases: lease})
			_, err := f.Start(t.Context(), m.Engine, none{}, orchestrator.StartOptions{ID: "x", Budget: budget})
			require.NoError(t, err)
			synctest.Wait()
			m.kill()
			pause(lease.For + time.Second)
		}
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": a}, Store: s, Flows: []orchestrator.AnyFlow{f}, Leases: lease})
		r, err := f.Start(t.Context(), e, none{}, orchestrator.StartOptions{ID: "x", Budget: budget})
		require.NoError(t, err)
		_, err = f.Result(t.Context(), r)
		require.ErrorIs(t, err, orchestrator.ErrBudget)
		return a.calls.Load(), infoOf(t, r)
	}
	t.Run("C12 N4 20 kills under Calls 3 make 3 calls", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			calls, i := kill(t, orchestrator.Budget{Calls: 3}, agent.Limits{})
			assert.Equal(t, int64(3), calls)
			assert.Equal(t, int64(3), i.Lost.Calls)
			assert.Zero(t, i.Spent)
			assert.Equal(t, orchestrator.OutOfBudget, i.Status)
		})
	})
	t.Run("C12 N4 Estimate 0.30 under 1 USD and 20 kills: 3 calls, 0.90 charged", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			usd := providers.NanoUSD(1e9)
			calls, i := kill(t, orchestrator.Budget{Cost: usd}, agent.Limits{Estimate: usd * 3 / 10})
			assert.Equal(t, int64(3), calls)
			assert.Equal(t, usd*9/10, i.Lost.Cost)
			assert.Zero(t, i.Spent.Cost)
			assert.Equal(t, orchestrator.OutOfBudget, i.Status)
		})
	})
}

// unreadable is a store that fails once to read the log of a run whose ID has a slash:
// a child.
type unreadable struct {
	*runlog.Memory
	failed *bool
}

func (s unreadable) Records(ctx context.Context, run string, from int64) iter.Seq2[runlog.Record, error] {
	if strings.Contains(run, "/") && !*s.failed {
		*s.failed = true
		return func(yield func(runlog.Record, error) bool) {
			yield(runlog.Record{}, errors.New("the network is down"))
		}
	}
	return s.Memory.Records(ctx, run, from)
}

func TestChildThatCannotBeRead(t *testing.T) {
	t.Run("C8 a parent whose child cannot be read for a while continues", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			kid := flow("kid", func(c *orchestrator.Context) (string, error) { return ask(c, "a", "one") })
			parent := flow("parent", func(c *orchestrator.Context) (string, error) { return kid.Child(c, none{}) })
			s := runlog.NewMemory()
			a := newMortal(t, s, orchestrator.Config{Agents: agent.Roster{"a": hang}, Leases: lease})
			begin(t, a.Engine, parent, "x")
			synctest.Wait()
			a.kill()
			failed := false
			b := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: unreadable{s, &failed}, Flows: []orchestrator.AnyFlow{parent, kid}, Leases: lease})
			_, err := b.Resume(t.Context())
			require.NoError(t, err)
			got, err := parent.Result(t.Context(), open(t, local(t, orchestrator.Config{Store: s, Observe: true}), "x"))
			require.NoError(t, err)
			assert.Equal(t, "one", got)
			assert.True(t, failed)
		})
	})
}
