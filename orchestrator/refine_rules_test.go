package orchestrator_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

// work is a refinement by the agents writer and strong, whose works are the numbers that
// they say. What each try was told is in told.
func work(r orchestrator.Refinement[float64], told *[]string) orchestrator.Refinement[float64] {
	r.Try = func(c *orchestrator.Context, last orchestrator.Refined[float64]) (float64, error) {
		name := last.Agent
		if name == "" {
			name = "writer"
		}
		*told = append(*told, fmt.Sprintf("%s after %d: %v %q", name, last.Tries, last.Value, last.Feedback))
		v, _, err := orchestrator.Ask[float64](c, name, agent.Request{Prompt: fmt.Sprint(last.Tries, last.Feedback)})
		return v, err
	}
	r.Grader = orchestrator.GradeWith(func(_ *orchestrator.Context, v float64) (orchestrator.Verdict, error) {
		return orchestrator.Verdict{Score: v, Feedback: fmt.Sprint("more than ", v)}, nil
	})
	return r
}

// refinement is what came of a refinement: its result, what its writer was told, and its time.
type refinement struct {
	orchestrator.Refined[float64]
	told []string
	took time.Duration
}

// refineWith runs a refinement, stops it after every record, and returns the result.
func refineWith(t *testing.T, r orchestrator.Refinement[float64], writer, strong []any) (refinement, error) {
	t.Helper()
	var told []string
	var took time.Duration
	f := flow("refine", func(c *orchestrator.Context) (orchestrator.Refined[float64], error) {
		told = nil
		out, err := orchestrator.Refine(c, work(r, &told))
		took = c.Elapsed()
		return out, err
	})
	c := flowtest.New(f, none{}, func(t testing.TB) agent.Roster {
		return agent.Roster{"writer": flowtest.NewScript(t, writer...), "strong": flowtest.NewScript(t, strong...)}
	})
	out, _, err := c.Run(t)
	first := refinement{out, told, took}
	c.Sweep(t)
	c.Determinism(t)
	return first, err
}

func TestRefineByRules(t *testing.T) {
	upgrade := orchestrator.RetrierFunc(func(of orchestrator.Working, tries []orchestrator.Try) orchestrator.Again {
		again := orchestrator.Attempts{Max: 4, Wait: time.Hour}.Next(of, tries)
		if len(tries) == 2 {
			again.Agent, again.Fresh, again.Feedback = "strong", true, "Two tries were poor."
		}
		return again
	})
	t.Run("a Retrier changes the agent, waits, and starts afresh", func(t *testing.T) {
		out, err := refineWith(t, orchestrator.Refinement[float64]{Retrier: upgrade, Gate: 80}, []any{"50", "60", "70"}, []any{"65"})
		require.NoError(t, err)
		assert.Equal(t, []string{
			`writer after 0: 0 ""`, `writer after 1: 50 "more than 50"`, `strong after 2: 0 "Two tries were poor."`, `writer after 3: 65 "more than 65"`,
		}, out.told)
		assert.InDelta(t, 70.0, out.Value, 0)
		assert.False(t, out.Pass)
		assert.Equal(t, 4, out.Tries)
		assert.GreaterOrEqual(t, out.took, 3*time.Hour)
	})
	t.Run("a gate that wants more after a refusal", func(t *testing.T) {
		gate := grading.At(60, grading.Gate[grading.Standing, grading.Decision](grading.Hysteresis{Bands: grading.DefaultBands, Extra: 15}))
		out, err := refineWith(t, orchestrator.Refinement[float64]{Attempts: 3, GateBy: gate}, []any{"50", "70", "75"}, nil)
		require.NoError(t, err)
		assert.Equal(t, 3, out.Tries, "70 meets 60, but not 75")
		assert.True(t, out.Pass)
	})
	t.Run("errors reach the Retrier with their wait", func(t *testing.T) {
		r := orchestrator.Refinement[float64]{Retrier: orchestrator.Attempts{Max: 3, Longest: time.Hour, Final: true}, Gate: 80}
		out, err := refineWith(t, r, []any{agent.ErrRefused}, nil)
		require.ErrorIs(t, err, agent.ErrRefused, "it is final")
		assert.Equal(t, 1, out.Tries)
	})
	t.Run("rules see each try, and what passes wins over what has the higher score", func(t *testing.T) {
		works := []float64{70, 0, 60, 50}
		var before [][]float64
		var numbers []int
		var told []orchestrator.Try
		out, err := orchestrator.Refine(nil, orchestrator.Refinement[float64]{
			Try: func(_ *orchestrator.Context, last orchestrator.Refined[float64]) (float64, error) {
				if works[last.Tries] == 0 {
					return 0, errors.New("oops")
				}
				return works[last.Tries], nil
			},
			Grade: func(_ *orchestrator.Context, v float64) (verdict, error) {
				return verdict{Score: v, Feedback: fmt.Sprint("more than ", v)}, nil
			},
			GateBy: grading.GateWith(func(s grading.Standing) grading.Decision {
				numbers, before = append(numbers, s.Try), append(before, slices.Clone(s.Before))
				clear(s.Before) // it gets a copy
				if s.Try == 4 {
					return grading.Accept
				}
				return grading.Discard
			}),
			Retrier: orchestrator.RetrierFunc(func(of orchestrator.Working, tries []orchestrator.Try) orchestrator.Again {
				assert.Equal(t, orchestrator.Working{Role: "refine"}, of)
				told = tries
				return orchestrator.Again{Retry: true, Agent: fmt.Sprint("agent", len(tries))}
			}),
		})
		require.NoError(t, err)
		assert.InDelta(t, 50, out.Value, 0)
		assert.True(t, out.Pass)
		assert.Equal(t, []int{1, 3, 4}, numbers)
		assert.Equal(t, [][]float64{nil, {70}, {70, 60}}, before)
		assert.Equal(t, []orchestrator.Try{
			{Score: new(70.0), Decision: "discard", Feedback: "more than 70"},
			{Agent: "agent1", Err: errors.New("oops")},
			{Agent: "agent2", Score: new(60.0), Decision: "discard", Feedback: "more than 60"},
		}, told)
	})
	t.Run("a Retrier that never says no ends after 100 tries", func(t *testing.T) {
		n, asked := 0, 0
		out, err := orchestrator.Refine(nil, orchestrator.Refinement[int]{
			Gate: 100,
			Retrier: orchestrator.RetrierFunc(func(_ orchestrator.Working, tries []orchestrator.Try) orchestrator.Again {
				asked++
				assert.Len(t, tries, asked)
				assert.InDelta(t, 1.0, *tries[0].Score, 0)
				assert.Equal(t, "revise", tries[asked-1].Decision)
				tries[0] = orchestrator.Try{} // it may keep and change what it gets
				return orchestrator.Again{Retry: true}
			}),
			Try:   func(*orchestrator.Context, orchestrator.Refined[int]) (int, error) { n++; return n, nil },
			Grade: func(_ *orchestrator.Context, v int) (verdict, error) { return verdict{Score: float64(min(v, 99))}, nil },
		})
		require.NoError(t, err)
		assert.Equal(t, orchestrator.MaxTries, out.Tries)
		assert.Equal(t, orchestrator.MaxTries, n)
		assert.Equal(t, orchestrator.MaxTries-1, asked)
	})
}

func TestRefineWantsOneForm(t *testing.T) {
	grade := func(*orchestrator.Context, int) (verdict, error) { return verdict{}, nil }
	try := func(*orchestrator.Context, orchestrator.Refined[int]) (int, error) {
		return 0, errors.New("it is not reached")
	}
	var always grading.Gate[grading.Standing, grading.Decision] = grading.AtLeast(0)
	maybe := grading.GateWith(func(grading.Standing) grading.Decision { return "maybe" })
	for want, r := range map[string]orchestrator.Refinement[int]{
		"has two forms of one rule, want one of Attempts and Retrier, Gate and GateBy, Grade and Grader": {Attempts: 1, Retrier: orchestrator.Attempts{Max: 1}, Grade: grade},
		"has two forms of one rule":                {Gate: 1, GateBy: always, Grade: grade},
		"has two forms of one rule, want one of":   {Grade: grade, Grader: orchestrator.GradeWith(grade)},
		"the Gate of a Refinement is 101, which":   {GateBy: grading.AtLeast(101), Grade: grade},
		"the Gate of a Refinement is -1, which is": {Gate: -1, Grade: grade},
	} {
		r.Try = try
		_, err := orchestrator.Refine(nil, r)
		require.ErrorIs(t, err, orchestrator.ErrFlow)
		require.ErrorContains(t, err, want)
	}
	_, err := orchestrator.Refine(nil, orchestrator.Refinement[int]{
		Try: func(*orchestrator.Context, orchestrator.Refined[int]) (int, error) { return 1, nil }, Grade: grade, GateBy: maybe,
	})
	require.ErrorIs(t, err, orchestrator.ErrFlow)
	require.ErrorContains(t, err, `the gate of a Refinement decided "maybe", want accept, revise or discard`)
}
