package engine_test

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
	"github.com/convene-go/convene/orchestrator/engine"
	driver "github.com/convene-go/convene/orchestrator/internal/engine"
	"github.com/convene-go/convene/providers"
)

// late obeys its context so long after it is done, and has cost 5.
func late(d time.Duration) agent.Func {
	return func(ctx context.Context, _ agent.Request) (agent.Response, error) {
		<-ctx.Done()
		<-time.After(d)
		return agent.Response{Usage: providers.Usage{Calls: 1, Cost: 5}}, context.Cause(ctx)
	}
}

// hedge asks "first", which costs 5, and others, each with a Grace, and returns when one
// has answered.
func hedge(graces ...time.Duration) script[string] {
	return flow("hedge", func(c *orchestrator.Context) (string, error) {
		q := orchestrator.NewQueue[string](c)
		q.Go("first", func(c *orchestrator.Context) (string, error) {
			resp, err := c.Call("first", agent.Request{Prompt: "won", Limits: agent.Limits{Estimate: 5}})
			return resp.Text, err
		})
		for _, g := range graces {
			q.Go("other", func(c *orchestrator.Context) (string, error) {
				resp, err := c.Call("other", agent.Request{Limits: agent.Limits{Estimate: 7, Grace: g}})
				return resp.Text, err
			})
		}
		r, _ := q.Next()
		return r.Value, r.Err
	})
}

// under starts a run of f under a limit on cost.
func under(t *testing.T, e *driver.Engine, f orchestrator.AnyFlow, cost providers.NanoUSD) waiter {
	t.Helper()
	in := input("x")
	in.Budget.Cost = cost
	wait, err := e.Start(t.Context(), f.Program(), in)
	require.NoError(t, err)
	return wait
}

// sum requires that the end of a run tells of this.
func sum(t *testing.T, wait waiter, spent providers.NanoUSD, lost engine.Lost) {
	t.Helper()
	end := ended(t, wait, engine.Completed)
	assert.Equal(t, spent, end.Spent.Cost, "spent")
	assert.Equal(t, lost, end.Lost, "lost")
}

// killed returns what the process of run x leaves when it is killed now.
func killed(t *testing.T, s runlog.Store) runlog.Store {
	t.Helper()
	copied := runlog.NewMemory()
	for rec, err := range s.Records(t.Context(), "x", 0) {
		require.NoError(t, err)
		require.NoError(t, copied.Append(t.Context(), []runlog.Record{rec}))
	}
	return copied
}

func TestTheEndWaitsForCallsThatAreGivenUp(t *testing.T) {
	everywhere(t, map[string]func(*testing.T, runlog.Store){
		"N9 for the longest Grace, side by side": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"first": after(time.Minute), "other": late(time.Hour)}})
			began := time.Now()
			wait := under(t, e, hedge(3*time.Second, 0, 5*time.Second), 100)
			sum(t, wait, 5, engine.Lost{Calls: 3, Cost: 21})
			assert.Equal(t, time.Minute+5*time.Second, time.Since(began))
			pause(2 * time.Hour)
			assert.Equal(t, "started called called called called ended", kinds(t, e, "x"), "what comes later is not counted")
			sum(t, wait, 5, engine.Lost{Calls: 3, Cost: 21})
		},
		"N9 no longer than they take": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"first": after(time.Minute), "other": late(time.Second)}})
			began := time.Now()
			sum(t, under(t, e, hedge(time.Hour, time.Hour), 100), 15, engine.Lost{})
			assert.Equal(t, time.Minute+time.Second, time.Since(began))
		},
		"N9 a call that waits for a place reaches no agent and costs nothing": func(t *testing.T, s runlog.Store) {
			other := &counted{Agent: late(time.Second)}
			e := newEngine(t, driver.Config{Store: s, Parallel: 1, Agents: agent.Roster{"other": other}})
			began := time.Now()
			sum(t, begin(t, e, flow("f", func(c *orchestrator.Context) (none, error) {
				q := orchestrator.NewQueue[none](c)
				for range 3 {
					q.Go("call", func(c *orchestrator.Context) (none, error) {
						_, err := c.Call("other", agent.Request{Limits: agent.Limits{Grace: time.Hour}})
						return none{}, err
					})
				}
				return none{}, c.Sleep(time.Minute)
			}), "x"), 5, engine.Lost{})
			assert.Equal(t, time.Minute+time.Second, time.Since(began))
			assert.EqualValues(t, 1, other.n.Load(), "two wait for the place of the first")
		},
		"N9 a call between two attempts has cost what the first one did": func(t *testing.T, s runlog.Store) {
			busy := agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
				return agent.Response{Usage: providers.Usage{Calls: 1, Cost: 3}}, agent.Transient(agent.Code("busy"), time.Hour)
			})
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"first": after(time.Minute), "other": busy}})
			sum(t, begin(t, e, hedge(0), "x"), 8, engine.Lost{})
		},
		"N9 a cancel that comes by then changes nothing": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"first": after(time.Minute), "other": late(time.Minute)}})
			wait := under(t, e, hedge(time.Hour), 100)
			pause(time.Minute + time.Second)
			status(t, e, "x", engine.Running)
			require.NoError(t, cancel(t, e, "x"))
			sum(t, wait, 10, engine.Lost{})
		},
		"N9 a child that is given up ends after its calls": func(t *testing.T, s runlog.Store) {
			agents := agent.Roster{"first": after(time.Hour), "other": late(1500 * time.Millisecond), "a": after(time.Minute)}
			e := newEngine(t, driver.Config{Store: s, Agents: agents})
			wait := under(t, e, flow("parent", func(c *orchestrator.Context) (string, error) {
				q := orchestrator.NewQueue[string](c)
				for _, grace := range []time.Duration{0, 2 * time.Second} {
					q.Go("child", func(c *orchestrator.Context) (string, error) {
						return hedge(grace).Child(c.WithBudget(orchestrator.Budget{Cost: 30}), none{})
					})
				}
				resp, err := c.Call("a", agent.Request{Limits: agent.Limits{Estimate: 5}})
				return resp.Text, err
			}), 100)
			sum(t, wait, 10, engine.Lost{Calls: 1, Cost: 7}) // 5 of a, 5 in time, 7 too late; first obeys and costs nothing
		},
	})
}

func TestTheEndIsResumed(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"N9 stopped while it waits": func(t *testing.T) {
			s := runlog.NewMemory()
			agents := agent.Roster{"first": after(time.Minute), "other": late(30 * time.Second)}
			e := newEngine(t, driver.Config{Store: s, Agents: agents})
			under(t, e, hedge(time.Hour), 100)
			pause(61 * time.Second)
			shut(t, e)
			e = newEngine(t, driver.Config{Store: s, Agents: agents, Programs: programs(hedge(time.Hour))})
			sum(t, under(t, e, hedge(time.Hour), 100), 10, engine.Lost{})
			assert.Equal(t, "started called used resumed ended", kinds(t, e, "x"))
		},
		"N9 killed while it waits": func(t *testing.T) {
			agents := agent.Roster{"first": after(time.Minute), "other": late(30 * time.Second)}
			s := runlog.NewMemory()
			under(t, newEngine(t, driver.Config{Store: s, Agents: agents}), hedge(time.Hour), 100)
			pause(61 * time.Second)
			again := newEngine(t, driver.Config{Store: killed(t, s), Agents: agents})
			began := time.Now()
			sum(t, under(t, again, hedge(time.Hour), 100), 5, engine.Lost{Calls: 1, Cost: 7})
			assert.Equal(t, "started called resumed lost ended", kinds(t, again, "x"))
			assert.Zero(t, time.Since(began), "no agent is left that could return")
		},
		"N9 killed before its end is on record": func(t *testing.T) {
			agents := agent.Roster{"first": after(time.Minute), "other": late(time.Second)}
			s := newTap()
			s.holdBack(runlog.Ended)
			under(t, newEngine(t, driver.Config{Store: s, Agents: agents}), hedge(time.Hour), 100)
			pause(62 * time.Second)
			again := newEngine(t, driver.Config{Store: killed(t, s), Agents: agents})
			sum(t, under(t, again, hedge(time.Hour), 100), 10, engine.Lost{})
			assert.Equal(t, "started called called ended", kinds(t, again, "x"), "all is on record")
			s.on(nil)
		},
		"N9 a call that is given up while the run is resumed": func(t *testing.T) {
			other := &counted{Agent: late(0)}
			agents := agent.Roster{"a": late(0), "b": other}
			f := flow("f", func(c *orchestrator.Context) (string, error) {
				q := orchestrator.NewQueue[none](c)
				q.Go("limited", func(c *orchestrator.Context) (none, error) {
					return none{}, call(c.WithBudget(orchestrator.Budget{Calls: 1}))
				})
				q.Go("other", func(c *orchestrator.Context) (none, error) {
					_, err := c.Call("b", agent.Request{})
					return none{}, err
				})
				r, _ := q.Next()
				q.CancelAll()
				return r.Key, nil
			})
			s := runlog.NewMemory()
			begin(t, newEngine(t, driver.Config{Store: s, Agents: agents}), f, "x")
			synctest.Wait()
			again := newEngine(t, driver.Config{Store: killed(t, s), Agents: agents})
			wait := begin(t, again, f, "x")
			sum(t, wait, 0, engine.Lost{Calls: 2})
			assert.Equal(t, `"limited"`, output(t, wait))
			assert.EqualValues(t, 1, other.n.Load(), "the call of the killed process")
			assert.Equal(t, "started resumed lost refused called ended", kinds(t, again, "x"))
		},
	})
}
