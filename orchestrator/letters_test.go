package orchestrator_test

import (
	"context"
	"iter"
	"strings"
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

func TestAnswersFromOtherProcesses(t *testing.T) {
	t.Run("N6 a letter that becomes a record meanwhile is found", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s, v := runlog.NewMemory(), newValve()
			d := doubles.New(s)
			begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": v}, Store: d.Store()}), asks, "x")
			synctest.Wait()
			d.Only("Append")
			d.Slow(5 * time.Second) // the record comes while the second Answer looks for what took the address
			there := open(t, local(t, orchestrator.Config{Store: &slowly{s}, Fleet: orchestrator.Fleet{Observe: true}}), "x")
			require.NoError(t, there.Answer(t.Context(), "n", 7))
			require.Equal(t, 1, letters(t, s))
			require.NoError(t, there.Answer(t.Context(), "n", 7))
			require.ErrorIs(t, there.Answer(t.Context(), "n", 8), orchestrator.ErrAnswered)
			pause(5 * time.Second)
			assert.Zero(t, letters(t, s))
			require.NoError(t, there.Answer(t.Context(), "n", 7))
			close(v.open)
		})
	})
	everywhere(t, "N6 an early answer of the wrong type to a large question is dropped", func(t *testing.T, s runlog.Store) {
		f := flow("large", func(c *orchestrator.Context) (string, error) {
			if err := c.Sleep(time.Minute); err != nil {
				return "", err
			}
			return orchestrator.Await[string](c, orchestrator.Question{Key: "n", Text: strings.Repeat("x", 100<<10)})
		})
		r := begin(t, local(t, orchestrator.Config{Store: s}), f, "x")
		require.NoError(t, r.AnswerWith(t.Context(), "n", 7, early))
		pause(time.Hour)
		qs := infoOf(t, r).Questions
		require.Len(t, qs, 1)
		assert.NotEmpty(t, qs[0].Rejected)
		require.NoError(t, r.Answer(t.Context(), "n", "ann"))
		got, err := f.Result(t.Context(), r)
		require.NoError(t, err)
		assert.Equal(t, "ann", got)
	})
	everywhere(t, "a cancel with a long reason", func(t *testing.T, s runlog.Store) {
		why := strings.Repeat("x", 100<<10)
		r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": hang}, Store: s}), pair, "x")
		require.NoError(t, r.Cancel(t.Context(), why))
		_, err := pair.Result(t.Context(), r)
		require.ErrorIs(t, err, orchestrator.ErrCanceled)
		require.ErrorContains(t, err, why)
	})
	t.Run("N6 large questions and answers are read by other processes", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s, v := runlog.NewMemory(), newValve()
			large := strings.Repeat("x", 100<<10)
			f := flow("large", func(c *orchestrator.Context) (string, error) {
				text, err := orchestrator.Await[string](c, orchestrator.Question{Key: "n", Text: large})
				if err == nil {
					_, err = ask(c, "a", "")
				}
				return text, err
			})
			r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": v}, Store: s}), f, "x")
			synctest.Wait()
			there := open(t, local(t, orchestrator.Config{Store: s, Fleet: orchestrator.Fleet{Observe: true}}), "x")
			for _, r := range []*orchestrator.Run{r, there} {
				qs := infoOf(t, r).Questions
				require.Len(t, qs, 1)
				assert.Equal(t, large, qs[0].Text)
			}
			require.ErrorIs(t, there.Answer(t.Context(), "n", 7), orchestrator.ErrMalformed)
			require.NoError(t, there.Answer(t.Context(), "n", large))
			for _, ended := range []bool{false, true} {
				for _, r := range []*orchestrator.Run{r, there} {
					require.NoError(t, r.Answer(t.Context(), "n", large), "ended: %v", ended)
					require.ErrorIs(t, r.Answer(t.Context(), "n", large+"y"), orchestrator.ErrAnswered)
				}
				if !ended {
					close(v.open)
					require.NoError(t, r.Wait(t.Context()))
				}
			}
			got, err := f.Result(t.Context(), there)
			require.NoError(t, err)
			assert.Equal(t, large, got)
		})
	})
	t.Run("N6 from a process that only looks, all rows", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s, v := runlog.NewMemory(), newValve()
			r := begin(t, local(t, orchestrator.Config{Agents: agent.Roster{"a": v}, Store: s}), asks, "x")
			observer := local(t, orchestrator.Config{Store: s, Fleet: orchestrator.Fleet{Observe: true}})
			synctest.Wait()
			there := open(t, observer, "x")
			require.ErrorIs(t, there.Answer(t.Context(), "n", "seven"), orchestrator.ErrMalformed)
			require.NoError(t, there.Answer(t.Context(), "n", 7))
			require.NoError(t, there.Answer(t.Context(), "n", 7))
			require.ErrorIs(t, there.Answer(t.Context(), "n", 8), orchestrator.ErrAnswered)
			synctest.Wait()
			pause(time.Second)
			require.ErrorIs(t, r.Answer(t.Context(), "n", 8), orchestrator.ErrAnswered)
			require.NoError(t, there.Answer(t.Context(), "n", 7))
			close(v.open)
			require.NoError(t, there.Wait(t.Context()))
			require.NoError(t, there.Answer(t.Context(), "n", 7))
			require.ErrorIs(t, there.Answer(t.Context(), "n", 8), orchestrator.ErrAnswered)
			require.ErrorContains(t, there.Answer(t.Context(), "other", 8), "has ended")
			require.NoError(t, there.Cancel(t.Context(), ""))
			assert.Zero(t, letters(t, s))
			assert.Equal(t, 1, countOf(t, r, runlog.Answered))
		})
	})
	t.Run("an unknown run is ErrNoRun and keeps no letter", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := runlog.NewMemory()
			e := local(t, orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s})
			r := begin(t, e, pair, "x")
			require.NoError(t, r.Wait(t.Context()))
			require.NoError(t, e.Delete(t.Context(), "x"))
			require.ErrorIs(t, r.Answer(t.Context(), "n", 1), orchestrator.ErrNoRun)
			require.ErrorIs(t, r.Cancel(t.Context(), ""), orchestrator.ErrNoRun)
			assert.Zero(t, letters(t, s))
		})
	})
	t.Run("N6 a letter that came while the run was stopped is not taken before it is behind its log", func(t *testing.T) {
		flowtest.Bubble(t, func(t *testing.T) {
			t.Helper()
			s := runlog.NewMemory()
			c := orchestrator.Config{Agents: agent.Roster{"a": echo}, Store: s, Flows: []orchestrator.AnyFlow{asks}}
			first, err := orchestrator.NewLocal(c)
			require.NoError(t, err)
			begin(t, first, asks, "x")
			synctest.Wait()
			require.NoError(t, first.Close(t.Context()))
			require.NoError(t, open(t, local(t, orchestrator.Config{Store: s, Fleet: orchestrator.Fleet{Observe: true}}), "x").Answer(t.Context(), "n", 7))
			assert.Equal(t, 1, letters(t, s))
			n, err := asks.Result(t.Context(), open(t, local(t, c), "x"))
			require.NoError(t, err)
			assert.Equal(t, 7, n)
			assert.Zero(t, letters(t, s))
			assert.Equal(t, []string{
				runlog.Started, runlog.Asked, runlog.Resumed, runlog.Answered, runlog.Called, runlog.Ended,
			}, kinds(logOf(t, s, "x")))
		})
	})
}

// slowly is a store that takes a while to tell what was asked.
type slowly struct{ *runlog.Memory }

func (s *slowly) Asks(ctx context.Context, run, key string) iter.Seq2[runlog.Record, error] {
	return func(yield func(runlog.Record, error) bool) {
		s.Memory.Asks(ctx, run, key)(yield)
		if key != "" {
			pause(2 * time.Second)
		}
	}
}
