package orchestrator_test

import (
	"context"
	"fmt"
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
)

// perCall counts the calls of each prompt.
type perCall struct {
	agent.Agent
	mu    sync.Mutex
	times map[string]int
}

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

func newPerCall(a agent.Agent) *perCall { return &perCall{Agent: a, times: map[string]int{}} }

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
			t.Run(strings.TrimSpace(fmt.Sprintf("a store that %s: the run does not notice it %s", tt.name, only)), func(t *testing.T) {
				flowtest.Bubble(t, func(t *testing.T) {
					t.Helper()
					a := newPerCall(after(time.Second))
					d := doubles.New(runlog.NewMemory())
					e := local(t, orchestrator.Config{Agents: agent.Roster{"a": a}, Store: d.Store(), Flows: []orchestrator.AnyFlow{wide}, Fleet: orchestrator.Fleet{Lease: time.Hour}})
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
	t.Run("an outage of more than a minute suspends, and the engine resumes by itself", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			a := newPerCall(after(time.Second))
			d := doubles.New(runlog.NewMemory())
			e := local(t, orchestrator.Config{Agents: agent.Roster{"a": a}, Store: d.Store(), Flows: []orchestrator.AnyFlow{wide}, Fleet: orchestrator.Fleet{Lease: time.Hour}})
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
	t.Run("a run that the store refuses for good does not take the others along", func(t *testing.T) {
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
	t.Run("Close does not wait for a store that hangs", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			d := doubles.New(runlog.NewMemory())
			e, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"a": after(time.Second)}, Store: d.Store(), Fleet: orchestrator.Fleet{Lease: time.Hour}})
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
	t.Run("a conflict is final at once", func(t *testing.T) {
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
	t.Run("an attempt that is stored while the next one is made is the run's own", func(t *testing.T) {
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
	t.Run("a record of another engine in its place is not", func(t *testing.T) {
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
	t.Run("nothing follows a record that was given up", func(t *testing.T) {
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
				if tries <= 3 {
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
			r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": a}, Store: s, Fleet: orchestrator.Fleet{Outage: 1}}), f, "x")
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
	t.Run("the end of a run in a commit that conflicts for another one is stored", func(t *testing.T) {
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
	t.Run("a question expires although the store hung meanwhile", func(t *testing.T) {
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
	t.Run("large values are kept over an outage too", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			text := strings.Repeat("x", 100<<10)
			d := doubles.New(runlog.NewMemory())
			d.Only("PutBlob")
			f := flow("large", func(c *orchestrator.Context) (string, error) { return ask(c, "a", text) })
			r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": after(time.Second)}, Store: d.Store(), Fleet: orchestrator.Fleet{Lease: time.Hour}}), f, "x")
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
