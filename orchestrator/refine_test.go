package orchestrator_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// try is what one try of a scripted refinement comes to.
type try struct {
	value string
	score float64
	err   error // of the try
	grade error // of its grading
}

func TestRefine(t *testing.T) {
	oops, bad := errors.New("oops"), agent.Code("acme/bad")
	type refined = orchestrator.Refined[string]
	graded := func(value string, score float64, tries int) refined {
		return refined{Value: value, Verdict: orchestrator.Verdict{Score: score, Feedback: "about " + value}, Tries: tries}
	}
	passed := func(value string, score float64, tries int) refined {
		r := graded(value, score, tries)
		r.Pass = true
		return r
	}
	tests := []struct {
		name     string
		attempts int
		gate     float64
		tries    []try
		want     refined
		err      error
	}{
		{"the first try passes", 3, 5, []try{{value: "a", score: 5}}, passed("a", 5, 1), nil},
		{"a later one passes", 3, 5, []try{{value: "a", score: 4}, {value: "b", score: 6}}, passed("b", 6, 2), nil},
		{"none passes: the best", 3, 5, []try{{value: "a", score: 1}, {value: "b", score: 4}, {value: "c", score: 2}}, graded("b", 4, 3), nil},
		{"none passes: the later of equals", 3, 5, []try{{value: "a", score: 4}, {value: "b", score: 4}, {value: "c", score: 1}}, graded("b", 4, 3), nil},
		{"below zero is better than nothing", 2, 5, []try{{value: "a", score: -7}, {value: "b", score: -8}}, graded("a", -7, 2), nil},
		{"less than one attempt is one", -2, 5, []try{{value: "a", score: 4}}, graded("a", 4, 1), nil},
		{"a gate of 0 is none", 3, 0, []try{{value: "a", score: -1}}, passed("a", -1, 1), nil},
		{"scores are rounded to 6 decimals", 3, 0.7, []try{{value: "a", score: 0.69999999}}, passed("a", 0.69999999, 1), nil},
		{"and not to fewer", 1, 0.7, []try{{value: "a", score: 0.699999}}, graded("a", 0.699999, 1), nil},
		{"a try that failed is one that did not pass", 3, 5, []try{{err: oops}, {value: "b", score: 5}}, passed("b", 5, 2), nil},
		{"the best behind failures", 3, 5, []try{{value: "a", score: 3}, {err: oops}, {err: bad}}, graded("a", 3, 3), nil},
		{"none was graded: the last error", 2, 5, []try{{err: oops}, {err: bad}}, refined{Tries: 2}, bad},
		{"an error of the grading ends it", 3, 5, []try{{value: "a", score: 3}, {value: "b", grade: bad}}, graded("a", 3, 2), bad},
		{"NaN is malformed", 3, 5, []try{{value: "a", score: 3}, {value: "b", score: math.NaN()}}, graded("a", 3, 2), orchestrator.ErrMalformed},
		{"a cancel ends it", 3, 5, []try{{value: "a", score: 3}, {err: orchestrator.ErrCanceled}}, graded("a", 3, 2), orchestrator.ErrCanceled},
		{"a budget ends it", 3, 5, []try{{value: "a", score: 3}, {err: fmt.Errorf("so: %w", orchestrator.ErrBudget)}}, graded("a", 3, 2), orchestrator.ErrBudget},
		{"a broken rule ends it", 3, 5, []try{{err: orchestrator.ErrFlow}}, refined{Tries: 1}, orchestrator.ErrFlow},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := 0
			got, err := orchestrator.Refine(nil, orchestrator.Refinement[string]{
				Attempts: tt.attempts, Gate: tt.gate,
				Try: func(_ *orchestrator.Context, last orchestrator.Refined[string]) (string, error) {
					require.Less(t, n, len(tt.tries), "one try too many")
					assert.Equal(t, n, last.Tries)
					n++
					return tt.tries[n-1].value, tt.tries[n-1].err
				},
				Grade: func(_ *orchestrator.Context, v string) (orchestrator.Verdict, error) {
					return orchestrator.Verdict{Score: tt.tries[n-1].score, Feedback: "about " + v}, tt.tries[n-1].grade
				},
			})
			require.ErrorIs(t, err, tt.err)
			assert.Equal(t, tt.want, got)
			assert.Len(t, tt.tries, n)
		})
	}
}

func TestRefineTellsOfTheLastTry(t *testing.T) {
	var lasts []orchestrator.Refined[int]
	_, err := orchestrator.Refine(nil, orchestrator.Refinement[int]{
		Attempts: 4, Gate: 100,
		Try: func(_ *orchestrator.Context, last orchestrator.Refined[int]) (int, error) {
			lasts = append(lasts, last)
			if last.Tries == 1 {
				return 0, errors.New("not today")
			}
			return 10 * (last.Tries + 1), nil
		},
		Grade: func(_ *orchestrator.Context, v int) (orchestrator.Verdict, error) {
			return orchestrator.Verdict{Score: float64(v), Feedback: "more"}, nil
		},
	})
	require.NoError(t, err)
	more := func(v, tries int) orchestrator.Refined[int] {
		return orchestrator.Refined[int]{Value: v, Verdict: orchestrator.Verdict{Score: float64(v), Feedback: "more"}, Tries: tries}
	}
	assert.Equal(t, []orchestrator.Refined[int]{
		{}, more(10, 1), {Verdict: orchestrator.Verdict{Feedback: "not today"}, Tries: 2}, more(30, 3),
	}, lasts, "the text of an error is feedback, too")
}

// What a refinement has when the time of its budget is up is handed out.
func TestRefineUnderABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := flow("refine", func(c *orchestrator.Context) (orchestrator.Refined[string], error) {
			return orchestrator.Refine(c.WithBudget(orchestrator.Budget{Wall: 150 * time.Minute}), orchestrator.Refinement[string]{
				Attempts: 9, Gate: 9,
				Try: func(c *orchestrator.Context, last orchestrator.Refined[string]) (string, error) {
					return fmt.Sprint("draft ", last.Tries+1), c.Sleep(time.Hour)
				},
				Grade: func(*orchestrator.Context, string) (orchestrator.Verdict, error) {
					return orchestrator.Verdict{Score: 1}, nil
				},
			})
		})
		got, err := f.Run(t.Context(), local(t, orchestrator.Config{}), none{})
		require.ErrorIs(t, err, orchestrator.ErrBudget)
		assert.Equal(t, "draft 2", got.Value)
		assert.Equal(t, 3, got.Tries)
	})
}
