package orchestrator_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

// An answer and the end of a question's time may both be on record.
func TestAnsweredAndExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := flow("question", func(c *orchestrator.Context) (bool, error) {
			ok, err := orchestrator.Await[bool](c, orchestrator.Question{Key: "ok", Timeout: time.Hour})
			if err != nil {
				return ok, err
			}
			_, err = ask(c, "echo", "x")
			return ok, err
		})
		agents := agent.Roster{"echo": echo}
		first := newPlain()
		r := begin(t, local(t, orchestrator.Config{Agents: agents, Store: first}), f, "x")
		synctest.Wait()
		require.NoError(t, r.Answer(t.Context(), "ok", true))
		require.NoError(t, r.Wait(t.Context()))
		log := logOf(t, first, "x")
		require.Equal(t, []string{runlog.Started, runlog.Asked, runlog.Answered, runlog.Called, runlog.Ended}, kinds(log))

		expired := log[2]
		expired.Kind, expired.Data, expired.Branch, expired.N = runlog.Expired, nil, log[1].Branch, log[1].N
		again := stored(t, log[0], log[1], log[2], expired, log[3])
		got, err := f.Result(t.Context(), begin(t, local(t, orchestrator.Config{Agents: agents, Store: again}), f, "x"))
		require.NoError(t, err)
		assert.True(t, got)
	})
}

// An answer that comes before its question, when the process then dies, is there for
// the one that goes on.
func TestEarlyAnswerSurvives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, v := newPlain(), newValve()
		f := flow("later", func(c *orchestrator.Context) (string, error) {
			if _, err := ask(c, "a", ""); err != nil {
				return "", err
			}
			return orchestrator.Await[string](c, orchestrator.Question{Key: "name"})
		})
		c := orchestrator.Config{Agents: agent.Roster{"a": v}, Store: s}
		e, err := orchestrator.NewLocal(c)
		require.NoError(t, err)
		require.NoError(t, begin(t, e, f, "x").AnswerWith(t.Context(), "name", "ann", early))
		require.NoError(t, e.Close(t.Context()))
		close(v.open)
		r := begin(t, local(t, c), f, "x")
		require.ErrorIs(t, r.AnswerWith(t.Context(), "name", "bob", early), orchestrator.ErrAnswered, "the first one counts")
		got, err := f.Result(t.Context(), r)
		require.NoError(t, err)
		assert.Equal(t, "ann", got)
	})
}

func TestQuestionsOfSeveralBranches(t *testing.T) {
	everywhere(t, "N6 branches that wait for the same key all learn that its time is over", func(t *testing.T, s runlog.Store) {
		f := flow("same", func(c *orchestrator.Context) (int, error) {
			n := 0
			for _, r := range orchestrator.Map(c, make([]int, 3), 0, func(c *orchestrator.Context, _ int) (int, error) {
				return orchestrator.Await[int](c, orchestrator.Question{Key: "n", Timeout: time.Minute})
			}) {
				if r.Err != nil && strings.Contains(r.Err.Error(), "no answer") {
					n++
				}
			}
			return n, nil
		})
		e := local(t, orchestrator.Config{Store: s})
		r := begin(t, e, f, "x")
		pause(time.Hour)
		assert.Equal(t, orchestrator.Completed, infoOf(t, r).Status)
		got, err := f.Result(t.Context(), r)
		require.NoError(t, err)
		assert.Equal(t, 3, got)
	})
	everywhere(t, "N6 a question that one branch gave up expires for the other, and is shown no more", func(t *testing.T, s runlog.Store) {
		f := flow("gave up", func(c *orchestrator.Context) (bool, error) {
			both := orchestrator.Map(c, []time.Duration{time.Second, 0}, 0, func(c *orchestrator.Context, wall time.Duration) (int, error) {
				return orchestrator.Await[int](c.WithBudget(orchestrator.Budget{Wall: wall}), orchestrator.Question{Key: "n", Timeout: time.Minute})
			})
			return errors.Is(both[1].Err, orchestrator.ErrTimeout), c.Sleep(time.Hour)
		})
		r := begin(t, local(t, orchestrator.Config{Store: s}), f, "x")
		pause(2 * time.Minute)
		assert.Empty(t, infoOf(t, r).Questions)
		got, err := f.Result(t.Context(), r)
		require.NoError(t, err)
		assert.True(t, got)
	})
	t.Run("N6 a letter is not taken while the run is executed from its log", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			s := runlog.NewMemory()
			busy := make(chan struct{})
			close(busy)
			f := flow("busy", func(c *orchestrator.Context) (int, error) {
				if _, err := ask(c, "a", ""); err != nil {
					return 0, err
				}
				<-busy // what no flow should do
				return orchestrator.Await[int](c, orchestrator.Question{Key: "n"})
			})
			c := orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Fleet: lease}
			e, err := orchestrator.NewLocal(c)
			require.NoError(t, err)
			begin(t, e, f, "x")
			synctest.Wait()
			require.NoError(t, e.Close(t.Context()))
			require.NoError(t, open(t, local(t, orchestrator.Config{Store: s, Fleet: orchestrator.Fleet{Observe: true}}), "x").Answer(t.Context(), "n", 7))
			busy = make(chan struct{})
			r := begin(t, local(t, c), f, "x")
			pause(time.Minute)
			close(busy)
			n, err := f.Result(t.Context(), r)
			require.NoError(t, err)
			assert.Equal(t, 7, n)
			assert.Equal(t, []string{runlog.Started, runlog.Called, runlog.Asked, runlog.Resumed, runlog.Answered, runlog.Ended}, kinds(logOf(t, s, "x")))
		})
	})
}
