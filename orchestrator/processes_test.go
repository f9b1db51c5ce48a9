package orchestrator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// valve is an agent whose calls wait until it is opened.
type valve struct{ open chan struct{} }

func newValve() valve { return valve{make(chan struct{})} }

func (v valve) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	select {
	case <-v.open:
		return agent.Response{Text: req.Prompt}, nil
	case <-ctx.Done():
		return agent.Response{}, ctx.Err()
	}
}

// pair calls twice.
var pair = flow("pair", func(c *orchestrator.Context) (string, error) {
	first, err := ask(c, "a", "one")
	if err != nil {
		return "", err
	}
	second, err := ask(c, "a", "two")
	return first + " " + second, err
})

func TestFence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, v := newPlain(), newValve()
		first := local(t, orchestrator.Config{Agents: agent.Roster{"a": v}, Store: s})
		loser := begin(t, first, pair, "x")
		synctest.Wait()
		winner := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": v}, Store: s}), pair, "x")
		synctest.Wait()
		close(v.open)
		got, err := pair.Result(t.Context(), winner)
		require.NoError(t, err)
		assert.Equal(t, "one two", got)
		require.ErrorIs(t, loser.Wait(t.Context()), runlog.ErrConflict)
		assert.Equal(t, []string{runlog.Started, runlog.Resumed, runlog.Lost, runlog.Called, runlog.Called, runlog.Ended}, kinds(logOf(t, s, "x")),
			"nothing that the first one got counts")
	})
}

func TestOneOfManyWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPlain()
		var host sync.WaitGroup
		for range 8 {
			e := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s})
			host.Go(func() {
				r, err := pair.Start(t.Context(), e, none{}, orchestrator.StartOptions{ID: "x"})
				if err == nil {
					err = r.Wait(t.Context())
				}
				if err != nil {
					assert.ErrorIs(t, err, runlog.ErrConflict)
				}
			})
		}
		host.Wait()
		log := logOf(t, s, "x")
		called := 0
		for _, rec := range log {
			if rec.Kind == runlog.Called {
				called++
			}
		}
		assert.LessOrEqual(t, called, 2, "no call is on record twice: %v", kinds(log))
	})
}

func TestLeases(t *testing.T) {
	open := func(t *testing.T, s runlog.Store, a agent.Agent) *orchestrator.Engine {
		t.Helper()
		return local(t, orchestrator.Config{Agents: agent.Roster{"a": a}, Store: s, Flows: []orchestrator.AnyFlow{pair}})
	}
	taken := func(t *testing.T, e *orchestrator.Engine) int {
		t.Helper()
		runs, err := listed(e.Resume(t.Context()))
		require.NoError(t, err)
		return len(runs)
	}
	t.Run("a run is left to the engine that works on it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, v := runlog.NewMemory(), newValve()
			first, second := open(t, s, v), open(t, s, echo)
			r := begin(t, first, pair, "x")
			assert.Zero(t, taken(t, second))
			assert.Equal(t, "x", begin(t, second, pair, "x").ID(), "starting it again is that run")
			wait := time.NewTimer(10 * time.Minute)
			<-wait.C
			assert.Zero(t, taken(t, second), "the lease is prolonged")
			close(v.open)
			require.NoError(t, r.Wait(t.Context()))
			there, err := pair.Result(t.Context(), begin(t, second, pair, "x"))
			require.NoError(t, err)
			assert.Equal(t, "one two", there, "the result is seen from the other process")
		})
	})
	t.Run("it is free when that engine is closed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := runlog.NewMemory()
			first, second := open(t, s, hang), open(t, s, echo)
			begin(t, first, pair, "x")
			require.NoError(t, first.Close(t.Context()))
			assert.Equal(t, 1, taken(t, second))
		})
	})
	t.Run("it is free when that engine is dead", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := runlog.NewMemory()
			dead := &dying{Memory: s}
			first, second := open(t, dead, hang), open(t, s, echo)
			begin(t, first, pair, "x")
			dead.dead.Store(true)
			assert.Zero(t, taken(t, second))
			wait := time.NewTimer(time.Minute)
			<-wait.C
			r, err := second.Open(t.Context(), "x")
			require.NoError(t, err)
			i, err := r.Info(t.Context())
			require.NoError(t, err)
			assert.Equal(t, orchestrator.Completed, i.Status, "it was resumed without being asked again")
		})
	})
}

// dying is a store that its process does not reach any more.
type dying struct {
	*runlog.Memory
	dead atomic.Bool
}

func (d *dying) Beat(ctx context.Context, owner string, until time.Duration) error {
	if d.dead.Load() {
		return nil
	}
	return d.Memory.Beat(ctx, owner, until)
}

func TestLetters(t *testing.T) {
	question := flow("question", func(c *orchestrator.Context) (string, error) {
		return orchestrator.Await[string](c, orchestrator.Question{Key: "name"})
	})
	// both are two engines on a store, of which the first works on a run.
	both := func(t *testing.T) (here, there *orchestrator.Run) {
		t.Helper()
		s := runlog.NewMemory()
		here = begin(t, local(t, orchestrator.Config{Store: s}), question, "x")
		there, err := local(t, orchestrator.Config{Store: s}).Open(t.Context(), "x")
		require.NoError(t, err)
		synctest.Wait()
		return here, there
	}
	t.Run("an answer reaches a run of another process", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			here, there := both(t)
			require.ErrorIs(t, there.Answer(t.Context(), "name", 7), orchestrator.ErrMalformed, "it is checked before it is sent")
			require.NoError(t, there.Answer(t.Context(), "name", "ann"))
			require.ErrorIs(t, there.Answer(t.Context(), "name", "bob"), orchestrator.ErrAnswered)
			for _, r := range []*orchestrator.Run{here, there} {
				got, err := question.Result(t.Context(), r)
				require.NoError(t, err)
				assert.Equal(t, "ann", got)
			}
		})
	})
	t.Run("a cancel reaches a run of another process", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			here, there := both(t)
			require.NoError(t, there.Cancel(t.Context(), "enough"))
			require.NoError(t, there.Cancel(t.Context(), "enough"))
			_, err := question.Result(t.Context(), here)
			require.ErrorIs(t, err, orchestrator.ErrCanceled)
			assert.ErrorContains(t, err, "enough")
		})
	})
	t.Run("a letter to a run that nobody works on waits for it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := runlog.NewMemory()
			first, err := orchestrator.NewLocal(orchestrator.Config{Store: s})
			require.NoError(t, err)
			begin(t, first, question, "x")
			require.NoError(t, first.Close(t.Context()))
			e := local(t, orchestrator.Config{Store: s, Flows: []orchestrator.AnyFlow{question}})
			r, err := e.Open(t.Context(), "x")
			require.NoError(t, err)
			require.NoError(t, r.Answer(t.Context(), "name", "ann"))
			_, err = e.Resume(t.Context())
			require.NoError(t, err)
			got, err := question.Result(t.Context(), r)
			require.NoError(t, err)
			assert.Equal(t, "ann", got)
		})
	})
	t.Run("a store without an inbox refuses", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newPlain()
			first, err := orchestrator.NewLocal(orchestrator.Config{Store: s})
			require.NoError(t, err)
			begin(t, first, question, "x")
			require.NoError(t, first.Close(t.Context()))
			r, err := local(t, orchestrator.Config{Store: s}).Open(t.Context(), "x")
			require.NoError(t, err)
			require.ErrorIs(t, r.Answer(t.Context(), "name", "ann"), orchestrator.ErrStopped)
		})
	})
}

func TestEventsReaders(t *testing.T) {
	many := flow("many", func(c *orchestrator.Context) (none, error) {
		for i := range 100 {
			c.Emit("step", i)
			if _, err := ask(c, "a", fmt.Sprint(i)); err != nil {
				return none{}, err
			}
		}
		return none{}, nil
	})
	for _, s := range []runlog.Store{nil, newPlain()} {
		name := "in memory"
		if s != nil {
			name = "on a store"
		}
		t.Run("a slow reader holds up nobody and misses nothing, "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s}), many, "slow")
				var next int64
				for rec, err := range r.Events(t.Context(), 0) {
					require.NoError(t, err)
					require.Equal(t, next, rec.Seq)
					next++
					if next == 1 {
						require.NoError(t, r.Wait(t.Context()), "the run ends while its reader looks at the first record")
					}
				}
				assert.Equal(t, int64(202), next)
			})
		})
		t.Run("a reader that leaves leaves nothing behind, "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := newValve()
				r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": v}, Store: s}), pair, "leaves")
				next, stop := iter.Pull2(r.Events(t.Context(), 0))
				rec, err, ok := next()
				require.NoError(t, err)
				require.True(t, ok)
				assert.Equal(t, runlog.Started, rec.Kind)
				stop()
				close(v.open)
				require.NoError(t, r.Wait(t.Context()))
			})
		})
		t.Run("readers learn that the engine is closed, "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := local(t, orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: s})
				r := begin(t, e, pair, "closed")
				var last error
				var reader sync.WaitGroup
				reader.Go(func() {
					for _, err := range r.Events(t.Context(), 0) {
						last = err
					}
				})
				synctest.Wait()
				require.NoError(t, e.Close(t.Context()))
				reader.Wait()
				require.ErrorIs(t, last, orchestrator.ErrStopped)
			})
		})
	}
}

// A bubble fails if a goroutine is left in it; this counts coroutines too, of which
// each of these runs has more than a hundred. The runtime may have some of its own,
// and for a moment it still counts some dozens that have ended.
func TestCloseLeavesNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wide := flow("wide", func(c *orchestrator.Context) (none, error) {
			_, err := orchestrator.Values(orchestrator.Map(c.WithBudget(orchestrator.Budget{Wall: time.Hour}), make([]int, 20), 0, func(c *orchestrator.Context, _ int) (none, error) {
				q := orchestrator.NewQueue[string](c)
				q.Go("call", func(c *orchestrator.Context) (string, error) { return ask(c, "a", "") })
				q.Go("sleep", func(c *orchestrator.Context) (string, error) { return "", c.Sleep(time.Hour) })
				q.Go("child", func(c *orchestrator.Context) (string, error) { return pair.Child(c, none{}) })
				q.Go("question", func(c *orchestrator.Context) (string, error) {
					return orchestrator.Await[string](c, orchestrator.Question{Key: "k", Timeout: time.Hour})
				})
				q.Next()
				return none{}, nil
			}))
			return none{}, err
		})
		before := runtime.NumGoroutine()
		for _, s := range []runlog.Store{nil, newPlain(), runlog.NewMemory()} {
			e, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: s, Parallel: 3})
			require.NoError(t, err)
			for range 3 {
				_, err := wide.Start(t.Context(), e, none{}, orchestrator.StartOptions{})
				require.NoError(t, err)
			}
			synctest.Wait()
			require.NoError(t, e.Close(t.Context()))
			synctest.Wait()
			assert.Less(t, runtime.NumGoroutine(), before+100)
		}
	})
}

func TestCloseTellsOfAgentsThatDoNotListen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newValve()
		deaf := agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
			<-v.open
			return agent.Response{}, nil
		})
		e, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"a": deaf}})
		require.NoError(t, err)
		begin(t, e, pair, "x")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.EqualError(t, e.Close(ctx), "close: agents still running: a: they ignore ctx")
		close(v.open)
	})
}

func TestManyRunsOfOneFlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := orchestrator.Flow[int, []string]{Name: "many", Agents: []string{"a"}, Do: func(c *orchestrator.Context, n int) ([]string, error) {
			return orchestrator.Values(orchestrator.Map(c, make([]int, 5), 2, func(c *orchestrator.Context, _ int) (string, error) {
				return ask(c, "a", fmt.Sprint(n))
			}))
		}}
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: newPlain()})
		var host sync.WaitGroup
		for n := range 50 {
			host.Go(func() {
				got, err := f.Run(t.Context(), e, n)
				assert.NoError(t, err)
				s := fmt.Sprint(n)
				assert.Equal(t, []string{s, s, s, s, s}, got)
			})
		}
		host.Wait()
	})
}

func TestParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		busy := agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
			n := now.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			wait := time.NewTimer(time.Second)
			<-wait.C
			now.Add(-1)
			return agent.Response{}, nil
		})
		f := flow("busy", func(c *orchestrator.Context) ([]string, error) {
			return orchestrator.Values(orchestrator.Map(c, make([]int, 10), 0, func(c *orchestrator.Context, _ int) (string, error) { return ask(c, "a", "") }))
		})
		e := local(t, orchestrator.Config{Agents: agent.Roster{"a": busy}, Parallel: 4})
		begun := time.Now()
		var host sync.WaitGroup
		for range 2 {
			host.Go(func() {
				_, err := f.Run(t.Context(), e, none{})
				assert.NoError(t, err)
			})
		}
		host.Wait()
		assert.Equal(t, int64(4), most.Load(), "over all runs")
		assert.Equal(t, 5*time.Second, time.Since(begun), "20 calls of 1 s, 4 at once")
	})
}

func TestConfigNamesAllFaults(t *testing.T) {
	named := orchestrator.Flow[none, none]{Name: "f", Agents: []string{"missing"}}
	_, err := orchestrator.NewLocal(orchestrator.Config{
		Agents: agent.Roster{"": echo, "nil": nil, "mute": agent.LLM{}},
		Flows:  []orchestrator.AnyFlow{nil, named, named, orchestrator.Flow[none, none]{}},
		Store:  onlyStore{newPlain()}, Parallel: -1, Retry: orchestrator.Attempts{Max: -1}, Requests: orchestrator.Requests{Record: true},
	})
	require.Error(t, err)
	require.ErrorIs(t, err, orchestrator.ErrNoAgent)
	for _, want := range []string{
		`the agent ""`, `the agent "nil"`, `"mute": agent: LLM.Model is nil`, `Flows has a nil entry`, `duplicate flow "f" version 0`, `flow "": a Flow needs a Name and Do`,
		`"missing"`, `Parallel is -1`, `Config.Retry: it is {Max:-1`, `Requests.Record needs`,
	} {
		assert.ErrorContains(t, err, want)
	}
}

// onlyStore is nothing but a Store.
type onlyStore struct{ runlog.Store }

func TestWithoutStoreOldRunsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := local(t, orchestrator.Config{})
		f := flow("short", func(*orchestrator.Context) (none, error) { return none{}, nil })
		for i := range 257 {
			require.NoError(t, begin(t, e, f, fmt.Sprint(i)).Wait(t.Context()))
		}
		_, err := e.Open(t.Context(), "0")
		require.ErrorIs(t, err, orchestrator.ErrNoRun)
		_, err = e.Open(t.Context(), "1")
		require.NoError(t, err)
	})
}

func TestAnswerOfRawJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := flow("raw", func(c *orchestrator.Context) (map[string]any, error) {
			return orchestrator.Await[map[string]any](c, orchestrator.Question{Key: "k"})
		})
		r := begin(t, local(t, orchestrator.Config{Store: newPlain()}), f, "x")
		synctest.Wait()
		require.NoError(t, r.Answer(t.Context(), "k", json.RawMessage(`{ "a": "<b>" }`)))
		got, err := f.Result(t.Context(), r)
		require.NoError(t, err)
		assert.Equal(t, map[string]any{"a": "<b>"}, got)
	})
}
