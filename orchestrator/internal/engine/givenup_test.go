package engine_test

import (
	"context"
	"errors"
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
)

// within has do in a part that may take d.
func within(c *orchestrator.Context, d time.Duration, do func(c *orchestrator.Context) error) error {
	return do(c.WithBudget(orchestrator.Budget{Wall: d}))
}

func call(c *orchestrator.Context) error { _, err := ask(c, "one"); return err }

func TestWhatAFlowGivesUp(t *testing.T) {
	everywhere(t, map[string]func(*testing.T, runlog.Store){
		"a call: its agent hears of it at once": func(t *testing.T, s runlog.Store) {
			began := time.Now()
			var told time.Duration
			a := agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
				<-ctx.Done()
				told = time.Since(began)
				return agent.Response{}, context.Cause(ctx)
			})
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": a}})
			wait := begin(t, e, flow("f", func(c *orchestrator.Context) (bool, error) {
				err := within(c, time.Minute, call)
				return err != nil, c.Sleep(time.Hour)
			}), "x")
			assert.Equal(t, "true", output(t, wait))
			assert.Equal(t, time.Minute, told)
		},
		"a limit that is not reached: it leaves no record": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s})
			wait := begin(t, e, flow("f", func(c *orchestrator.Context) (none, error) {
				for range 3 {
					if err := within(c, time.Minute, call); err != nil {
						return none{}, err
					}
				}
				return none{}, c.Sleep(time.Hour)
			}), "x")
			output(t, wait)
			assert.Equal(t, "started called called called slept ended", kinds(t, e, "x"))
		},
		"a question whose time is over at the moment of its limit": func(t *testing.T, s runlog.Store) {
			for range 30 {
				e := newEngine(t, driver.Config{Store: s})
				wait := begin(t, e, flow("f", func(c *orchestrator.Context) (bool, error) {
					err := within(c, time.Minute, func(c *orchestrator.Context) error {
						_, err := orchestrator.Await[int](c, orchestrator.Question{Key: "k", Timeout: time.Minute})
						return err
					})
					return err != nil, c.Sleep(time.Minute)
				}), "x")
				assert.Equal(t, "true", output(t, wait))
				require.NoError(t, e.Delete(t.Context(), "x"))
				shut(t, e)
			}
		},
		"a call that had not begun: it holds no place": func(t *testing.T, s runlog.Store) {
			a := &counted{Agent: echo}
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": a}, Parallel: 1})
			_, err := begin(t, e, flow("f", func(c *orchestrator.Context) (none, error) {
				q := orchestrator.NewQueue[none](c)
				q.Go("call", func(c *orchestrator.Context) (none, error) { return none{}, call(c) })
				q.Go("bug", func(*orchestrator.Context) (none, error) { panic("a bug") })
				q.Next()
				return none{}, nil
			}), "x")(t.Context())
			require.ErrorIs(t, err, engine.ErrFlow)
			synctest.Wait()
			assert.Zero(t, a.n.Load())
			output(t, begin(t, e, pair, "y"))
			shut(t, e)
		},
		"a call whose agent was left behind: it is not under way": func(t *testing.T, s runlog.Store) {
			release := make(chan struct{})
			deaf := agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
				<-release
				return agent.Response{}, nil
			})
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": deaf}})
			begin(t, e, flow("f", func(c *orchestrator.Context) (int, error) {
				_ = within(c, time.Second, call)
				return orchestrator.Await[int](c, orchestrator.Question{Key: "k"})
			}), "x")
			pause(time.Minute)
			status(t, e, "x", engine.Waiting)
			began := time.Now()
			require.ErrorContains(t, e.Close(t.Context(), true), "agents still running: a")
			assert.LessOrEqual(t, time.Since(began), 2*engine.DefaultGrace, "a drain does not wait for it")
			close(release)
			synctest.Wait()
		},
		"an agent that says of no call: it counts as one, also when it comes late": func(t *testing.T, s runlog.Store) {
			mute := agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
				<-time.After(time.Minute)
				return agent.Response{}, nil
			})
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": mute}})
			end := ended(t, begin(t, e, flow("f", func(c *orchestrator.Context) (none, error) {
				_ = within(c, time.Second, call)
				return none{}, c.Sleep(time.Hour)
			}), "x"), engine.Completed)
			assert.Contains(t, kinds(t, e, "x"), "used")
			assert.EqualValues(t, 1, end.Spent.Calls)
		},
	})
}

func TestLogsThatAFlowDoesNotRepeat(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"a record of a part that is not there any more": func(t *testing.T) {
			parts := func(calls bool) script[none] {
				return flow("parts", func(c *orchestrator.Context) (none, error) {
					q := orchestrator.NewQueue[none](c)
					q.Go("asks", func(c *orchestrator.Context) (none, error) {
						_, err := orchestrator.Await[int](c, orchestrator.Question{Key: "k"})
						return none{}, err
					})
					if calls {
						q.Go("calls", func(c *orchestrator.Context) (none, error) { return none{}, call(c) })
					}
					for _, ok := q.Next(); ok; _, ok = q.Next() {
					}
					return none{}, nil
				})
			}
			s := left(t, driver.Config{}, parts(true))
			e := newEngine(t, driver.Config{Store: s, Programs: programs(parts(false))})
			resume(t, e)
			synctest.Wait()
			ctx, stop := context.WithTimeout(t.Context(), time.Hour)
			defer stop()
			_, err := e.Wait(ctx, "parts", nil)
			require.ErrorIs(t, err, engine.ErrDiverged)
			assert.NotContains(t, kinds(t, e, "parts"), "resumed", "nothing is recorded but the failure")
		},
		"the same failure behind the log is another one": func(t *testing.T) {
			calls := 1
			f := flow("f", func(c *orchestrator.Context) (none, error) {
				for range calls {
					if err := call(c); err != nil {
						return none{}, err
					}
				}
				panic("a bug")
			})
			s := left(t, driver.Config{}, f)
			calls = 2
			e := newEngine(t, driver.Config{Store: s, Programs: programs(f)})
			resume(t, e)
			synctest.Wait()
			assert.Equal(t, "started called stuck resumed lost called stuck", kinds(t, e, "f"))
		},
		"its end is on record a moment before: who waits gets that": func(t *testing.T) {
			s := newTap()
			s.on(func(_ context.Context, recs []runlog.Record) error {
				if recs[len(recs)-1].Kind == runlog.Ended {
					return errors.New("disk full")
				}
				return nil
			})
			one := newEngine(t, driver.Config{Store: s})
			_, err := begin(t, one, pair, "x")(t.Context())
			require.ErrorIs(t, err, engine.ErrStopped)
			shut(t, one)
			two := newEngine(t, driver.Config{Store: s, Programs: programs(pair)})
			s.on(func(ctx context.Context, recs []runlog.Record) error {
				if recs[0].Kind != runlog.Ended {
					return nil
				}
				s.on(nil)
				rec := recs[0]
				rec.Data = []byte(`{"status":"completed","output":"theirs"}`)
				return s.Memory.Append(ctx, []runlog.Record{rec})
			})
			assert.Equal(t, `"theirs"`, output(t, begin(t, two, pair, "x")))
		},
	})
}

// Who waits for a record of a run that stopped here hears of what another engine records.
func TestChangesOfARunThatStoppedHere(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"fenced by another engine": func(t *testing.T) {
			s := runlog.NewMemory()
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": after(time.Minute)}})
			wait := begin(t, e, pair, "x")
			require.NoError(t, s.Beat(t.Context(), "ghost", time.Hour))
			began := time.Now()
			changed := make(chan time.Duration, 1)
			go func() {
				assert.NoError(t, e.Changed(t.Context(), "x", 2))
				changed <- time.Since(began)
			}()
			synctest.Wait()
			steal(t, s, "x", "ghost")
			_, err := wait(t.Context())
			require.ErrorIs(t, err, runlog.ErrConflict)
			pause(time.Minute)
			steal(t, s, "x", "ghost")
			pause(10 * poll)
			require.Len(t, changed, 1)
			assert.LessOrEqual(t, <-changed, 2*time.Minute+poll)
		},
	})
}
