package engine_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/flowtest"
	driver "github.com/convene-go/convene/orchestrator/internal/engine"
)

func TestAnswersByOtherEngines(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"an observer's reaches the engine of the run": func(t *testing.T) {
			s := runlog.NewMemory()
			e, o := newEngine(t, driver.Config{Store: s}), newEngine(t, driver.Config{Store: s, Fleet: driver.Fleet{Observe: true}})
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
			o := newEngine(t, driver.Config{Store: s, Fleet: driver.Fleet{Observe: true}})
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
			o := newEngine(t, driver.Config{Store: s, Fleet: driver.Fleet{Observe: true}})
			require.NoError(t, cancel(t, o, "sleeper"))
			pause(2 * time.Hour)
			e := newEngine(t, driver.Config{Store: s, Programs: programs(sleeper)})
			resume(t, e)
			ended(t, waitFor(e, "sleeper"), engine.Canceled)
			assert.Equal(t, "started resumed canceled ended", kinds(t, e, "sleeper"))
		},
		"a letter is kept until its record is there": func(t *testing.T) {
			s := newTap()
			e, o := newEngine(t, driver.Config{Store: s}), newEngine(t, driver.Config{Store: s, Fleet: driver.Fleet{Observe: true}})
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
			e := newEngine(t, driver.Config{Store: struct{ runlog.Store }{s}, Programs: programs(asker)})
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
				from = newEngine(t, driver.Config{Store: s, Fleet: driver.Fleet{Observe: true}})
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
