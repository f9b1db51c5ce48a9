package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

// payment asks twice, and then may be paid.
var payment = orchestrator.Flow[int, bool]{Name: "payment", Do: func(c *orchestrator.Context, amount int) (bool, error) {
	for _, who := range []string{"first", "second"} {
		q := orchestrator.Question{Key: who, Text: fmt.Sprintf("Pay %d to Bob?", amount), Options: []string{"true", "false"}}
		if ok, err := orchestrator.Await[bool](c, q); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}}

// pay starts payments of 0 to n-1 in turn, an hour apart, on engines in turn.
func pay(t *testing.T, n int, engines ...*orchestrator.Engine) {
	t.Helper()
	for i := range n {
		_, err := payment.Start(t.Context(), engines[i%len(engines)], i, orchestrator.StartOptions{
			ID: fmt.Sprint("pay-", i), Labels: map[string]string{"team": []string{"red", "blue"}[i%2]},
		})
		require.NoError(t, err)
		synctest.Wait()
		pause(time.Hour)
	}
}

// waiting are the questions that e finds, each as run and key.
func waiting(t *testing.T, e *orchestrator.Engine, q orchestrator.QuestionQuery) (found []string) {
	t.Helper()
	for open, err := range e.Questions(t.Context(), q) {
		require.NoError(t, err)
		found = append(found, open.Run+" "+open.Question.Key)
	}
	return found
}

// wantQuestions checks what e finds of six payments, begun an hour apart.
func wantQuestions(t *testing.T, e *orchestrator.Engine, began time.Time) {
	t.Helper()
	all := []string{"pay-0 first", "pay-1 first", "pay-2 first", "pay-3 first", "pay-4 first", "pay-5 first"}
	for _, tt := range []struct {
		q    orchestrator.QuestionQuery
		want []string
	}{
		{orchestrator.QuestionQuery{}, all},
		{orchestrator.QuestionQuery{Run: "pay-3"}, all[3:4]},
		{orchestrator.QuestionQuery{Flow: "payment", Limit: 2}, all[:2]},
		{orchestrator.QuestionQuery{Flow: "other"}, nil},
		{orchestrator.QuestionQuery{Label: "team=blue"}, []string{all[1], all[3], all[5]}},
		{orchestrator.QuestionQuery{Label: "team"}, all},
		{orchestrator.QuestionQuery{Text: "PAY 4"}, all[4:5]},
		{orchestrator.QuestionQuery{Before: began.Add(3 * time.Hour)}, all[:3]},
	} {
		assert.Equal(t, tt.want, waiting(t, e, tt.q), "%+v", tt.q)
	}
	var paged []string
	q := orchestrator.QuestionQuery{Limit: 4}
	for range 3 {
		for open, err := range e.Questions(t.Context(), q) {
			require.NoError(t, err)
			paged, q.After = append(paged, open.Run+" "+open.Question.Key), open.Cursor
		}
	}
	assert.Equal(t, all, paged)
	for found, err := range e.Questions(t.Context(), orchestrator.QuestionQuery{Run: "pay-2"}) {
		require.NoError(t, err)
		assert.Equal(t, "payment", found.Flow)
		assert.Equal(t, map[string]string{"team": "red"}, found.Labels)
		assert.Equal(t, began.Add(2*time.Hour).UTC(), found.Asked)
		assert.Equal(t, infoOf(t, open(t, e, "pay-2")).Questions, []orchestrator.Question{found.Question})
	}
}

// TestQuestions has an approvals page beside two workers, with a store that has an index
// of open questions and with one that has only logs.
func TestQuestions(t *testing.T) {
	for name, hide := range map[string]func(s *runlog.Memory) runlog.Store{
		"an index": func(s *runlog.Memory) runlog.Store { return s },
		"only logs": func(s *runlog.Memory) runlog.Store {
			return struct {
				runlog.Store
				runlog.Owners
				runlog.Inbox
			}{s, s, s}
		},
	} {
		t.Run("an observer finds the questions of all runs, with "+name, func(t *testing.T) {
			flowtest.Bubble(t, func(t *testing.T) {
				t.Helper()
				s := hide(runlog.NewMemory())
				worker := func() *orchestrator.Engine {
					return local(t, orchestrator.Config{Store: s, Fleet: lease, Flows: []orchestrator.AnyFlow{payment}})
				}
				one, two := worker(), worker()
				page := local(t, orchestrator.Config{Store: s, Fleet: observing})
				began := time.Now()
				pay(t, 6, one, two)
				wantQuestions(t, page, began)
				wantQuestions(t, one, began)
				require.NoError(t, open(t, page, "pay-0").Answer(t.Context(), "first", true))
				require.NoError(t, open(t, page, "pay-1").Answer(t.Context(), "first", false))
				require.NoError(t, open(t, page, "pay-2").Cancel(t.Context(), "not wanted"))
				pause(time.Minute)
				left := []string{"pay-3 first", "pay-4 first", "pay-5 first", "pay-0 second"}
				assert.Equal(t, left, waiting(t, page, orchestrator.QuestionQuery{}))
				require.NoError(t, one.Close(t.Context()))
				require.NoError(t, two.Close(t.Context()))
				assert.Equal(t, left, waiting(t, page, orchestrator.QuestionQuery{}), "no engine works on the runs")
			})
		})
	}
}

// TestQuestionsWithoutAStore has the engine's own memory.
func TestQuestionsWithoutAStore(t *testing.T) {
	flowtest.Bubble(t, func(t *testing.T) {
		e := local(t, orchestrator.Config{})
		began := time.Now()
		pay(t, 6, e)
		wantQuestions(t, e, began)
		require.NoError(t, open(t, e, "pay-3").Answer(t.Context(), "first", true))
		synctest.Wait()
		assert.Equal(t, []string{"pay-3 second"}, waiting(t, e, orchestrator.QuestionQuery{Run: "pay-3"}))
	})
}

func TestQuestionsFaults(t *testing.T) {
	first := func(e *orchestrator.Engine, q orchestrator.QuestionQuery) error {
		for open, err := range e.Questions(t.Context(), q) {
			assert.Zero(t, open)
			return err
		}
		return nil
	}
	e := local(t, orchestrator.Config{})
	for _, cursor := range []string{"x", "/", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z/1", "2026-01-02T03:04:05Z/a/run", "7/1/run"} {
		err := first(e, orchestrator.QuestionQuery{After: cursor})
		require.ErrorIs(t, err, orchestrator.ErrMalformed, cursor)
		require.ErrorContains(t, err, fmt.Sprintf("QuestionQuery.After is %q, want the Cursor of a question", cursor))
	}
	require.NoError(t, first(e, orchestrator.QuestionQuery{After: "2026-01-02T03:04:05Z/1/a/b"}))
	err := first(orchestrator.NewEngine(struct{ engine.Driver }{newDriver(t)}), orchestrator.QuestionQuery{})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorContains(t, err, "engine.Surveyor")

	s := runlog.NewMemory()
	require.NoError(t, s.Append(t.Context(), []runlog.Record{{Run: "r", Kind: runlog.Started}, {Run: "r", Seq: 1, Kind: runlog.Asked, Name: "q", Data: []byte(`[1]`)}}))
	err = first(local(t, orchestrator.Config{Store: s}), orchestrator.QuestionQuery{})
	require.ErrorIs(t, err, runlog.ErrDamaged)
	require.ErrorContains(t, err, `question "q" of run "r"`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range e.Questions(ctx, orchestrator.QuestionQuery{}) {
		require.ErrorIs(t, err, context.Canceled)
	}
}

// TestQuestionsOfOneTime pages through questions that were asked at once.
func TestQuestionsOfOneTime(t *testing.T) {
	flowtest.Bubble(t, func(t *testing.T) {
		e := local(t, orchestrator.Config{Store: runlog.NewMemory()})
		for i := range 5 {
			_, err := payment.Start(t.Context(), e, i, orchestrator.StartOptions{ID: fmt.Sprint("p", i)})
			require.NoError(t, err)
		}
		synctest.Wait()
		var paged []string
		q := orchestrator.QuestionQuery{Limit: 2}
		for range 3 {
			for open, err := range e.Questions(t.Context(), q) {
				require.NoError(t, err)
				paged, q.After = append(paged, open.Run), open.Cursor
			}
		}
		assert.True(t, slices.Equal(paged, []string{"p0", "p1", "p2", "p3", "p4"}), paged)
	})
}
