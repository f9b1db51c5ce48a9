package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/flowtest"
	driver "github.com/convene-go/convene/orchestrator/internal/engine"
)

// timed asks "k" for a minute, and then sleeps for an hour.
var timed = flow("timed", func(c *orchestrator.Context) (string, error) {
	n, err := orchestrator.Await[int](c, orchestrator.Question{Key: "k", Timeout: time.Minute})
	got := fmt.Sprint(n)
	if errors.Is(err, orchestrator.ErrTimeout) {
		got, err = "expired", nil
	}
	if err != nil {
		return "", err
	}
	return got, c.Sleep(time.Hour)
})

// lettersOf counts the letters that are not taken.
func lettersOf(t *testing.T, s runlog.Inbox) (n int) {
	t.Helper()
	for _, err := range s.Letters(t.Context(), "") {
		require.NoError(t, err)
		n++
	}
	return n
}

// taken requires that no letter is left in a store.
func taken(t *testing.T, s runlog.Store) {
	t.Helper()
	if inbox, ok := s.(runlog.Inbox); ok {
		assert.Zero(t, lettersOf(t, inbox))
	}
}

func TestAnswers(t *testing.T) {
	everywhere(t, map[string]func(*testing.T, runlog.Store){
		"an equal one is nil, another one ErrAnswered, also after the end": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s})
			wait := begin(t, e, timed, "x")
			synctest.Wait()
			require.NoError(t, answer(t, e, "x", "7"))
			for range 2 {
				synctest.Wait()
				require.NoError(t, answer(t, e, "x", " 7 "))
				require.ErrorIs(t, answer(t, e, "x", "8"), engine.ErrAnswered)
				assert.Equal(t, `"7"`, output(t, wait))
			}
			assert.Equal(t, "started asked answered slept ended", kinds(t, e, "x"))
			taken(t, s)
		},
		"to a question that expired": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s})
			wait := begin(t, e, timed, "x")
			pause(2 * time.Minute)
			for range 2 {
				err := answer(t, e, "x", "7")
				require.ErrorIs(t, err, engine.ErrNoQuestion)
				require.ErrorContains(t, err, "expired")
				assert.Equal(t, `"expired"`, output(t, wait))
			}
			taken(t, s)
		},
		"to a question that was withdrawn": func(t *testing.T, s runlog.Store) {
			f := flow("f", func(c *orchestrator.Context) (none, error) {
				_, err := orchestrator.Await[int](c.WithBudget(orchestrator.Budget{Wall: time.Minute}), orchestrator.Question{Key: "k"})
				if err == nil {
					return none{}, errors.New("answered")
				}
				return none{}, c.Sleep(time.Hour)
			})
			e := newEngine(t, driver.Config{Store: s})
			wait := begin(t, e, f, "x")
			pause(2 * time.Minute)
			assert.Empty(t, look(t, e, "x").Questions)
			for range 2 {
				err := answer(t, e, "x", "7")
				require.ErrorIs(t, err, engine.ErrNoQuestion)
				require.ErrorContains(t, err, "withdrawn")
				output(t, wait)
			}
			assert.Contains(t, kinds(t, e, "x"), "withdrawn")
		},
		"to a run that has ended, or is not there": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s})
			output(t, begin(t, e, pair, "x"))
			require.ErrorIs(t, answer(t, e, "x", "7"), engine.ErrNoQuestion)
			require.ErrorContains(t, answer(t, e, "x", "7"), "has ended")
			require.ErrorIs(t, answer(t, e, "y", "7"), engine.ErrNoRun)
			require.ErrorIs(t, cancel(t, e, "y"), engine.ErrNoRun)
			require.NoError(t, cancel(t, e, "x"))
			assert.Equal(t, "started called called ended", kinds(t, e, "x"))
			taken(t, s)
		},
		"before the question": func(t *testing.T, s runlog.Store) {
			f := flow("f", func(c *orchestrator.Context) (int, error) {
				if err := c.Sleep(time.Minute); err != nil {
					return 0, err
				}
				return orchestrator.Await[int](c, orchestrator.Question{Key: "k"})
			})
			e := newEngine(t, driver.Config{Store: s})
			wait := begin(t, e, f, "x")
			require.NoError(t, answer(t, e, "x", "7"))
			require.NoError(t, answer(t, e, "x", "7"))
			require.ErrorIs(t, answer(t, e, "x", "8"), engine.ErrAnswered)
			assert.Equal(t, "7", output(t, wait))
			taken(t, s)
		},
		"two branches wait for one key": func(t *testing.T, s runlog.Store) {
			f := flow("f", func(c *orchestrator.Context) ([]int, error) {
				return orchestrator.Values(orchestrator.Map(c, []int{1, 2}, 0, func(c *orchestrator.Context, _ int) (int, error) {
					return orchestrator.Await[int](c, orchestrator.Question{Key: "k"})
				}))
			})
			e := newEngine(t, driver.Config{Store: s})
			wait := begin(t, e, f, "x")
			synctest.Wait()
			assert.Len(t, look(t, e, "x").Questions, 1)
			require.NoError(t, answer(t, e, "x", "7"))
			assert.Equal(t, "[7,7]", output(t, wait))
			assert.Equal(t, "started asked asked answered ended", kinds(t, e, "x"))
		},
		"a key that is asked again has another round": func(t *testing.T, s runlog.Store) {
			f := flow("f", func(c *orchestrator.Context) (string, error) {
				var got []string
				for range 4 {
					n, err := orchestrator.Await[int](c, orchestrator.Question{Key: "k", Timeout: time.Minute})
					got = append(got, fmt.Sprint(n, errors.Is(err, orchestrator.ErrTimeout)))
				}
				return strings.Join(got, ","), nil
			})
			e := newEngine(t, driver.Config{Store: s})
			wait := begin(t, e, f, "x")
			pause(90 * time.Second) // the second round
			require.NoError(t, answer(t, e, "x", "2"))
			pause(2 * time.Minute)
			output(t, wait)
			got := kinds(t, e, "x")
			assert.Contains(t, got, "started asked expired asked answered")
			taken(t, s)
		},
		"a question can be asked for by its key": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s})
			begin(t, e, timed, "x")
			synctest.Wait()
			q, open, err := e.Question(t.Context(), "x", "k")
			require.NoError(t, err)
			assert.True(t, open)
			assert.Equal(t, time.Minute, q.Timeout)
			_, open, err = e.Question(t.Context(), "x", "other")
			require.NoError(t, err)
			assert.False(t, open)
			require.NoError(t, answer(t, e, "x", "7"))
			synctest.Wait()
			_, open, err = e.Question(t.Context(), "x", "k")
			require.NoError(t, err)
			assert.False(t, open, "it is answered")
			_, _, err = e.Question(t.Context(), "y", "k")
			require.ErrorIs(t, err, engine.ErrNoRun)
		},
		"a second cancel is nil and no second record": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s})
			wait := begin(t, e, sleeper, "x")
			for range 3 {
				require.NoError(t, cancel(t, e, "x"))
			}
			end := ended(t, wait, engine.Canceled)
			require.ErrorContains(t, end.Err, "enough")
			assert.Equal(t, "started canceled ended", kinds(t, e, "x"))
			taken(t, s)
		},
	})
}

func TestAnswersByOtherEngines(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"an observer's reaches the engine of the run": func(t *testing.T) {
			s := runlog.NewMemory()
			e, o := newEngine(t, driver.Config{Store: s}), newEngine(t, driver.Config{Store: s, Observe: true})
			wait := begin(t, e, asker, "x")
			synctest.Wait()
			status(t, o, "x", engine.Running)
			require.Len(t, look(t, o, "x").Questions, 1)
			require.NoError(t, answer(t, o, "x", "7"))
			began := time.Now()
			assert.Equal(t, "7", output(t, wait))
			assert.Less(t, time.Since(began), poll)
			require.ErrorIs(t, answer(t, o, "x", "8"), engine.ErrAnswered)
			pause(poll)
			taken(t, s)
		},
		"of a run that no engine works on waits for one": func(t *testing.T) {
			s := left(t, driver.Config{}, asker)
			o := newEngine(t, driver.Config{Store: s, Observe: true})
			require.NoError(t, answer(t, o, "asker", "7"))
			require.ErrorIs(t, answer(t, o, "asker", "8"), engine.ErrAnswered)
			assert.Equal(t, 1, lettersOf(t, s), "nobody has put it on record")
			assert.Equal(t, "started asked", kinds(t, o, "asker"))
			e := newEngine(t, driver.Config{Store: s, Programs: programs(asker)})
			resume(t, e)
			assert.Equal(t, "7", output(t, waitFor(e, "asker")))
			assert.Equal(t, "started asked resumed answered ended", kinds(t, e, "asker"))
			pause(10 * poll)
			taken(t, s)
		},
		"an engine with its flow resumes it for its answer": func(t *testing.T) {
			s := left(t, driver.Config{}, asker)
			e := newEngine(t, driver.Config{Store: s, Programs: programs(asker)})
			require.NoError(t, answer(t, e, "asker", "7"))
			assert.Equal(t, "7", output(t, waitFor(e, "asker")))
		},
		"a cancel comes before what the run does next": func(t *testing.T) {
			s := left(t, driver.Config{}, sleeper)
			o := newEngine(t, driver.Config{Store: s, Observe: true})
			require.NoError(t, cancel(t, o, "sleeper"))
			pause(2 * time.Hour)
			e := newEngine(t, driver.Config{Store: s, Programs: programs(sleeper)})
			resume(t, e)
			ended(t, waitFor(e, "sleeper"), engine.Canceled)
			assert.Equal(t, "started resumed canceled ended", kinds(t, e, "sleeper"))
		},
		"a letter is kept until its record is there": func(t *testing.T) {
			s := newTap()
			e, o := newEngine(t, driver.Config{Store: s}), newEngine(t, driver.Config{Store: s, Observe: true})
			wait := begin(t, e, asker, "x")
			synctest.Wait()
			open := s.holdBack(runlog.Answered)
			require.NoError(t, answer(t, o, "x", "7"))
			pause(5 * poll)
			assert.Equal(t, 1, lettersOf(t, s))
			close(open)
			assert.Equal(t, "7", output(t, wait))
			pause(10 * poll)
			taken(t, s)
		},
		"an engine without an inbox says that the run is not here": func(t *testing.T) {
			s := left(t, driver.Config{}, asker)
			e := newEngine(t, driver.Config{Store: struct{ runlog.Store }{s}})
			err := answer(t, e, "asker", "7")
			require.ErrorIs(t, err, engine.ErrStopped)
			require.ErrorContains(t, err, "the store has no inbox: call Resume first")
			require.ErrorIs(t, cancel(t, e, "asker"), engine.ErrStopped)
		},
	})
}

// An answer and the end of a question's time come at the same moment: exactly one wins,
// and who answered hears which.
func TestAnsweredAtTheLastMoment(t *testing.T) {
	for seed := range uint64(120) {
		flowtest.Bubble(t, func(t *testing.T) {
			dice := rand.New(rand.NewPCG(seed, 1))
			var s runlog.Store
			if seed%3 > 0 {
				tap := newTap()
				tap.on(func(ctx context.Context, _ []runlog.Record) error {
					if dice := rand.IntN(3); dice > 0 {
						time.Sleep(time.Duration(dice) * time.Millisecond) //nolint:forbidigo // virtual time
					}
					return ctx.Err()
				})
				s = tap
			}
			e := newEngine(t, driver.Config{Store: s})
			from := e
			if seed%3 == 2 {
				from = newEngine(t, driver.Config{Store: s, Observe: true})
			}
			wait := begin(t, e, timed, "x")
			time.Sleep(time.Minute + time.Duration(dice.IntN(9)-5)*time.Millisecond) //nolint:forbidigo // virtual time
			err := answer(t, from, "x", "7")
			got := output(t, wait)
			log := kinds(t, e, "x")
			if err == nil {
				assert.Equal(t, `"7"`, got, "seed %d", seed)
				assert.Equal(t, "started asked answered slept ended", log, "seed %d", seed)
			} else {
				require.ErrorIs(t, err, engine.ErrNoQuestion, "seed %d", seed)
				assert.Equal(t, `"expired"`, got, "seed %d", seed)
				assert.Equal(t, "started asked expired slept ended", log, "seed %d", seed)
			}
			pause(10 * poll)
			if s != nil {
				taken(t, s)
			}
		})
	}
}
