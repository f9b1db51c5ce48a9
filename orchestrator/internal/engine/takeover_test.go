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

func TestChildrenBelongToTheEngineOfTheirParent(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"an engine without the parent, which lives, does not keep a child": func(t *testing.T) {
			s := left(t, driver.Config{Agents: agent.Roster{"a": hang}}, over)
			e := newEngine(t, driver.Config{Store: s})
			require.NoError(t, s.Beat(t.Context(), "ghost", time.Hour))
			steal(t, s, childOf(t, e, "over"), "ghost")
			began := time.Now()
			assert.Equal(t, `"one two"`, output(t, begin(t, e, over, "over")))
			assert.Less(t, time.Since(began), lease, "its lease is not waited for")
		},
		"one that takes a child under way stops neither its parent nor the child": func(t *testing.T) {
			s := runlog.NewMemory()
			a := &counted{Agent: after(time.Minute)}
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": a}})
			wait := begin(t, e, over, "x")
			synctest.Wait()
			child := childOf(t, e, "x")
			require.NoError(t, s.Beat(t.Context(), "ghost", 100*time.Hour))
			steal(t, s, child, "ghost")
			began := time.Now()
			assert.Equal(t, `"one two"`, soon(t, wait))
			assert.Less(t, time.Since(began), 5*time.Minute)
			assert.Equal(t, "started called ended", kinds(t, e, "x"))
			assert.Equal(t, "started resumed resumed lost lost called called ended", kinds(t, e, child))
			assert.Equal(t, int64(3), a.n.Load(), "the first answer had no record")
		},
		"one that is canceled in the step in which it begins does not go on": func(t *testing.T) {
			s := newTap()
			s.on(func(_ context.Context, recs []runlog.Record) error {
				if recs[0].Run != "x" && recs[0].Kind == runlog.Started {
					<-time.After(5 * time.Second)
				}
				return nil
			})
			e := newEngine(t, driver.Config{Store: s})
			wait := begin(t, e, flow("f", func(c *orchestrator.Context) (bool, error) {
				q := orchestrator.NewQueue[none](c)
				q.Go("kid", func(c *orchestrator.Context) (none, error) { return sleeper.Child(c, none{}) })
				q.Go("other", func(*orchestrator.Context) (none, error) { return none{}, nil })
				q.Next()
				q.CancelAll()
				kid, _ := q.Next()
				return errors.Is(kid.Err, engine.ErrCanceled), nil
			}), "x")
			began := time.Now()
			assert.Equal(t, "true", soon(t, wait))
			assert.Less(t, time.Since(began), time.Minute, "it does not sleep for an hour")
			assert.Equal(t, "started canceled ended", kinds(t, e, childOf(t, e, "x")))
		},
		"Resume tells which runs are held, and names no children": func(t *testing.T) {
			s := runlog.NewMemory()
			one := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": hang}})
			begin(t, one, over, "x")
			synctest.Wait()
			two := newEngine(t, driver.Config{Store: s, Programs: programs(over, pair)})
			res := resume(t, two)
			require.Len(t, res.Held, 1)
			assert.Equal(t, "x", res.Held[0].ID)
			assert.Empty(t, res.Runs)
		},
	})
}

func TestARunThatIsResumedKnowsItsQuestions(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"those that are open": func(t *testing.T) {
			s := left(t, driver.Config{}, timed)
			e := newEngine(t, driver.Config{Store: s, Programs: programs(timed)})
			resume(t, e)
			synctest.Wait()
			require.Len(t, look(t, e, "timed").Questions, 1)
			_, open, err := e.Question(t.Context(), "timed", "k")
			require.NoError(t, err)
			assert.True(t, open)
		},
		"those that are over": func(t *testing.T) {
			s := runlog.NewMemory()
			one := newEngine(t, driver.Config{Store: s})
			begin(t, one, timed, "x")
			pause(2 * time.Minute)
			shut(t, one)
			e := newEngine(t, driver.Config{Store: s, Programs: programs(timed)})
			resume(t, e)
			require.ErrorContains(t, answer(t, e, "x", "7"), "expired")
		},
		"and none when it has ended": func(t *testing.T) {
			f := flow("f", func(c *orchestrator.Context) (none, error) {
				q := orchestrator.NewQueue[int](c)
				q.Go("asks", func(c *orchestrator.Context) (int, error) {
					return orchestrator.Await[int](c, orchestrator.Question{Key: "k"})
				})
				_ = c.Sleep(time.Second)
				panic("a bug")
			})
			e := newEngine(t, driver.Config{Store: runlog.NewMemory()})
			_, err := begin(t, e, f, "x")(t.Context())
			require.ErrorIs(t, err, engine.ErrFlow)
			require.NoError(t, cancel(t, e, "x"))
			ended(t, waitFor(e, "x"), engine.Canceled)
			assert.Equal(t, "started asked slept stuck canceled ended", kinds(t, e, "x"), "it was not withdrawn")
			assert.Empty(t, look(t, e, "x").Questions)
			_, open, err := e.Question(t.Context(), "x", "k")
			require.NoError(t, err)
			assert.False(t, open)
		},
	})
}

// noEnd lets no run end.
func noEnd(_ context.Context, recs []runlog.Record) error {
	if recs[len(recs)-1].Kind == runlog.Ended {
		return errDown
	}
	return nil
}

func TestRunsThatAnOutageSuspended(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"go on by themselves, if their engine resumes runs": func(t *testing.T) {
			s := newTap()
			a := &counted{Agent: echo}
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": a}, Programs: programs(pair)})
			resume(t, e)
			s.on(noEnd)
			_, err := begin(t, e, pair, "x")(t.Context())
			require.ErrorIs(t, err, engine.ErrStopped)
			s.on(nil)
			pause(5 * poll)
			status(t, e, "x", engine.Completed)
			assert.Equal(t, `"one two"`, output(t, waitFor(e, "x")))
			assert.Equal(t, int64(2), a.n.Load(), "no call is made again")
		},
		"stay where they are for who only waits, who has the reason": func(t *testing.T) {
			s := newTap()
			e := newEngine(t, driver.Config{Store: s, Programs: programs(pair)})
			s.on(noEnd)
			_, err := begin(t, e, pair, "x")(t.Context())
			require.ErrorIs(t, err, engine.ErrStopped)
			s.on(nil)
			for range 2 {
				_, err = e.Wait(t.Context(), "x", nil)
				require.ErrorIs(t, err, engine.ErrStopped)
				require.ErrorContains(t, err, errDown.Error())
				pause(poll)
			}
			status(t, e, "x", engine.Suspended)
			assert.Equal(t, "started called called", kinds(t, e, "x"))
		},
	})
}

func TestWhoWaitsForARunThatNobodyHere(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"can resume waits a lease anew after another engine had it": func(t *testing.T) {
			s := left(t, driver.Config{}, sleeper)
			e := newEngine(t, driver.Config{Store: s})
			began := time.Now()
			time.AfterFunc(20*time.Second, func() {
				assert.NoError(t, s.Beat(t.Context(), "ghost", time.Hour))
				steal(t, s, "sleeper", "ghost")
			})
			time.AfterFunc(time.Minute, func() { assert.NoError(t, s.Leave(t.Context(), "ghost")) })
			_, err := e.Wait(t.Context(), "sleeper", nil)
			require.ErrorIs(t, err, engine.ErrNoFlow)
			assert.InDelta(t, time.Minute+lease, time.Since(began), float64(3*poll))
		},
		"resumes yet watches on, and has what the next engine's agents report": func(t *testing.T) {
			s := runlog.NewMemory()
			slow := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
				<-time.After(3 * poll)
				return talks(ctx, req)
			})
			one := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": slow}})
			begin(t, one, pair, "x")
			synctest.Wait() // the engine listens to others
			time.AfterFunc(30*time.Second, func() { _ = one.Close(context.WithoutCancel(t.Context()), false) })
			two := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": slow}})
			time.AfterFunc(30*time.Second+lease/2, func() {
				_, err := two.Start(t.Context(), pair.Program(), input("x"))
				assert.NoError(t, err)
			})
			n := 0
			for _, err := range observer(t, s).Watch(t.Context(), "x") {
				require.NoError(t, err)
				n++
			}
			assert.Equal(t, 5, n, "one before the close, and two of each call after it")
		},
	})
}
