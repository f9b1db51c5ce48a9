package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/engine"
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
