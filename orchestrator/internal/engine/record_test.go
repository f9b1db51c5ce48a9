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

// TestTheFlowLearnsOfNothingThatIsNotOnRecord has a store that is slow with one kind of
// record: the flow waits for it.
func TestTheFlowLearnsOfNothingThatIsNotOnRecord(t *testing.T) {
	kid := flow("kid", func(c *orchestrator.Context) (string, error) { return "kid", nil })
	for name, tt := range map[string]struct {
		kind  string
		first func(c *orchestrator.Context) error
		tell  func(t *testing.T, e *driver.Engine)
		log   string
	}{
		"an answer of an agent": {
			kind: runlog.Called, log: "started called called ended",
			first: func(c *orchestrator.Context) error { _, err := ask(c, "one"); return err },
		},
		"a time that is over": {
			kind: runlog.Slept, log: "started slept called ended",
			first: func(c *orchestrator.Context) error { return c.Sleep(time.Second) },
		},
		"the end of a child": {
			kind: runlog.Called, log: "started called called ended",
			first: func(c *orchestrator.Context) error { _, err := kid.Child(c, none{}); return err },
		},
		"a question's time that is over": {
			kind: runlog.Expired, log: "started asked expired called ended",
			first: func(c *orchestrator.Context) error {
				_, err := orchestrator.Await[int](c, orchestrator.Question{Key: "k", Timeout: time.Second})
				if !errors.Is(err, orchestrator.ErrTimeout) {
					return errors.New("it did not expire")
				}
				return nil
			},
		},
		"an answer from outside": {
			kind: runlog.Answered, log: "started asked answered called ended",
			first: func(c *orchestrator.Context) error {
				_, err := orchestrator.Await[int](c, orchestrator.Question{Key: "k"})
				return err
			},
			tell: func(t *testing.T, e *driver.Engine) { t.Helper(); assert.NoError(t, answer(t, e, "x", "7")) },
		},
		"a cancel": {
			kind: runlog.Canceled, log: "started canceled ended",
			first: func(c *orchestrator.Context) error { return c.Sleep(10 * time.Second) },
			tell:  func(t *testing.T, e *driver.Engine) { t.Helper(); assert.NoError(t, cancel(t, e, "x")) },
		},
	} {
		bubble(t, map[string]func(*testing.T){name: func(t *testing.T) {
			s := newTap()
			steps := make(chan string, 1)
			f := flow("f", func(c *orchestrator.Context) (none, error) {
				if err := tt.first(c); err != nil {
					return none{}, err
				}
				steps <- "on"
				_, err := ask(c, "two")
				return none{}, err
			})
			open := s.holdBack(tt.kind)
			e := newEngine(t, driver.Config{Store: s})
			wait := begin(t, e, f, "x")
			synctest.Wait()
			if tt.tell != nil {
				go tt.tell(t, e)
			}
			pause(5 * time.Second)
			assert.Empty(t, steps, "the record is not committed")
			status(t, e, "x", look(t, e, "x").Status)
			close(open)
			pause(time.Millisecond)
			_, err := wait(t.Context())
			require.NoError(t, err)
			assert.Equal(t, tt.log, kinds(t, e, "x"))
		}})
	}
}

func TestTheEndOfARunIsOnRecordBeforeOneHearsOfIt(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"and the run is there until then": func(t *testing.T) {
			s := newTap()
			open := s.holdBack(runlog.Ended)
			e := newEngine(t, driver.Config{Store: s})
			wait := begin(t, e, pair, "x")
			ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
			defer stop()
			_, err := wait(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			status(t, e, "x", engine.Running)
			require.ErrorIs(t, e.Delete(t.Context(), "x"), engine.ErrRunning)
			close(open)
			assert.Equal(t, `"one two"`, output(t, wait))
			status(t, e, "x", engine.Completed)
			assert.Equal(t, "started called called ended", kinds(t, e, "x"))
		},
		"where it cannot be stored the run is suspended, and its end comes later": func(t *testing.T) {
			s := newTap()
			a := &counted{Agent: echo}
			s.on(func(_ context.Context, recs []runlog.Record) error {
				if recs[len(recs)-1].Kind == runlog.Ended {
					return errors.New("disk full")
				}
				return nil
			})
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": a}, Programs: []*engine.Program{pair.Program()}})
			wait := begin(t, e, pair, "x")
			_, err := wait(t.Context())
			require.ErrorIs(t, err, engine.ErrStopped)
			require.ErrorContains(t, err, "disk full")
			status(t, e, "x", engine.Suspended)
			_, err = e.Wait(t.Context(), "x", nil)
			require.ErrorContains(t, err, "disk full", "whoever asks later gets the reason too")
			s.on(nil)
			wait = begin(t, e, pair, "x")
			assert.Equal(t, `"one two"`, output(t, wait))
			assert.Equal(t, int64(2), a.n.Load(), "no call is made again")
			assert.Equal(t, "started called called ended", kinds(t, e, "x"), "all is from its log")
		},
		"a start that is not on record starts nothing": func(t *testing.T) {
			s := newTap()
			a := &counted{Agent: echo}
			open := s.holdBack(runlog.Started)
			defer close(open)
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": a}})
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			_, err := e.Start(ctx, pair.Program(), input("x"))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, `start of run "x"`)
			synctest.Wait()
			assert.Zero(t, a.n.Load())
			_, err = e.Look(t.Context(), "x")
			require.ErrorIs(t, err, engine.ErrNoRun)
		},
	})
}

// What a flow emits is committed at the latest when the flow waits.
func TestWhatAFlowEmitsIsCommittedWhenItWaits(t *testing.T) {
	everywhere(t, map[string]func(*testing.T, runlog.Store){
		"behind what it saw, at its own time": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s})
			wait := begin(t, e, flow("f", func(c *orchestrator.Context) (none, error) {
				c.Emit("a", 1)
				if err := c.Sleep(time.Minute); err != nil {
					return none{}, err
				}
				c.Emit("b", 2)
				return none{}, c.Sleep(time.Minute)
			}), "x")
			began := time.Now()
			synctest.Wait()
			assert.Equal(t, "started a", kinds(t, e, "x"))
			pause(time.Minute)
			assert.Equal(t, "started a slept b", kinds(t, e, "x"))
			output(t, wait)
			for rec, err := range e.Log(t.Context(), "x", -5) {
				require.NoError(t, err)
				want := map[string]time.Duration{"b": time.Minute, "slept": time.Minute, "ended": 2 * time.Minute}[rec.Kind]
				if rec.Seq < 4 {
					assert.Equal(t, want, rec.At.Sub(began).Round(time.Second), rec.Kind)
				}
			}
		},
	})
}
