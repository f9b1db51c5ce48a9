package orchestrator_test

import (
	"context"
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
	"github.com/convene-go/convene/orchestrator/flowtest"
)

type (
	refined = orchestrator.Refined[string]
	verdict = orchestrator.Verdict
	scale   = orchestrator.Scale
)

// try is what one try of a scripted refinement comes to.
type try struct {
	value  string
	err    error   // of the try
	grades []grade // in the order in which they are asked for
}

// grade is one answer of the critic.
type grade struct {
	score float64
	err   error
}

// scored is a try with a score.
func scored(value string, score float64) try {
	return try{value: value, grades: []grade{{score: score}}}
}

// refusal is what the engine returns when a run is over, with the code of why.
func refusal(why error) error { return errors.Join(agent.Code("over"), why) }

// graded and passed are what Refine makes of a try with a score.
func graded(value string, score float64, tries int, failures ...string) refined {
	return refined{Value: value, Verdict: verdict{Score: score, Feedback: "about " + value}, Tries: tries, Failures: failures}
}

func passed(value string, score float64, tries int, failures ...string) refined {
	r := graded(value, score, tries, failures...)
	r.Pass = true
	return r
}

func ungraded(value, why string, tries int) refined {
	return refined{Value: value, Ungraded: why, Tries: tries}
}

func TestRefine(t *testing.T) {
	oops, bad := errors.New("oops"), agent.Code("acme/bad")
	tens := scale{Min: -10, Max: 10}
	failed := func(err error) try { return try{err: err} }
	critic := func(value string, grades ...grade) try { return try{value: value, grades: grades} }
	tests := []struct {
		name     string
		attempts int
		gate     float64
		scale    scale
		tries    []try
		want     refined
		err      error
	}{
		{"the first try passes", 3, 5, scale{}, []try{scored("a", 5)}, passed("a", 5, 1), nil},
		{"a later one passes", 3, 5, scale{}, []try{scored("a", 4), scored("b", 6)}, passed("b", 6, 2), nil},
		{"none passes: the best", 3, 5, scale{}, []try{scored("a", 1), scored("b", 4), scored("c", 2)}, graded("b", 4, 3), nil},
		{"none passes: the later of equals", 3, 5, scale{}, []try{scored("a", 4), scored("b", 4), scored("c", 1)}, graded("b", 4, 3), nil},
		{"below zero is better than nothing", 2, 5, tens, []try{scored("a", -7), scored("b", -8)}, graded("a", -7, 2), nil},
		{"less than one attempt is one", -2, 5, scale{}, []try{scored("a", 4)}, graded("a", 4, 1), nil},
		{"a gate of 0 is none", 3, 0, tens, []try{scored("a", -1)}, passed("a", -1, 1), nil},
		{"scores are rounded to 6 decimals", 3, 0.7, scale{}, []try{scored("a", 0.69999999)}, passed("a", 0.69999999, 1), nil},
		{"and not to fewer", 1, 0.7, scale{}, []try{scored("a", 0.699999)}, graded("a", 0.699999, 1), nil},
		{"a broken rule ends it", 3, 5, scale{}, []try{failed(orchestrator.ErrFlow)}, refined{Tries: 1}, orchestrator.ErrFlow},
		{"a broken rule of the grading ends it", 3, 5, scale{}, []try{critic("a", grade{err: orchestrator.ErrFlow})}, ungraded("a", "flow", 1), orchestrator.ErrFlow},

		{"N8 0.9 is a legal score on 0 to 100", 1, 80, scale{}, []try{scored("a", 0.9)}, graded("a", 0.9, 1), nil},
		{"N8 both ends are on the scale", 2, 100, scale{}, []try{scored("a", 0), scored("b", 100)}, passed("b", 100, 2), nil},
		{"N8 a score above the scale is malformed", 3, 80, scale{}, []try{critic("a", grade{score: 1000}, grade{score: 90})}, passed("a", 90, 1), nil},
		{"N8 a score below it, too", 3, 80, scale{}, []try{critic("a", grade{score: -5}, grade{score: -5})}, ungraded("a", "malformed: the score is -5, want 0 to 100", 1), nil},
		{"N8 one of another scale, too", 3, 0.8, scale{Max: 1}, []try{critic("a", grade{score: 90}, grade{score: 90})}, ungraded("a", "malformed: the score is 90, want 0 to 1", 1), nil},
		{"N8 NaN is malformed", 3, 80, scale{}, []try{critic("a", grade{score: math.NaN()}, grade{score: math.NaN()})}, ungraded("a", "malformed: the score is NaN, want 0 to 100", 1), nil},
		{"N8 infinity is malformed", 3, 80, scale{}, []try{critic("a", grade{score: math.Inf(1)}, grade{score: 80})}, passed("a", 80, 1), nil},
		{"N8 a gate outside of the scale is a broken rule", 3, 101, scale{}, nil, refined{}, orchestrator.ErrFlow},
		{"N8 a gate that is not a number, too", 3, math.NaN(), scale{}, nil, refined{}, orchestrator.ErrFlow},
		{"N8 a scale of nothing, too", 3, 0, scale{Min: 1, Max: 1}, nil, refined{}, orchestrator.ErrFlow},
		{"N8 a scale without an end, too", 3, 0, scale{Max: math.Inf(1)}, nil, refined{}, orchestrator.ErrFlow},

		{"N2 a grade that does not come is asked for once more", 3, 80, scale{}, []try{critic("a", grade{err: bad}, grade{score: 80})}, passed("a", 80, 1), nil},
		{"N2 then the work is ungraded and not made again", 3, 80, scale{}, []try{critic("a", grade{err: bad}, grade{err: oops})}, ungraded("a", "oops", 1), nil},
		{"N2 also at a gate of 0", 3, 0, scale{}, []try{critic("a", grade{err: bad}, grade{err: bad})}, ungraded("a", "acme/bad", 1), nil},
		{"N2 what was graded before is better", 3, 80, scale{}, []try{scored("a", 30), critic("b", grade{err: bad}, grade{err: bad})}, graded("a", 30, 2, "try 2 was not graded: acme/bad"), nil},
		{"N2 a timeout is a grade that does not come", 3, 80, scale{}, []try{critic("a", grade{err: orchestrator.ErrTimeout}, grade{score: 81})}, passed("a", 81, 1), nil},
		{"N2 the critic's own budget is a grade that does not come", 3, 80, scale{}, []try{critic("a", grade{err: orchestrator.ErrBudget}, grade{score: 81})}, passed("a", 81, 1), nil},
		{"N2 the engine's refusal is not asked again", 3, 80, scale{}, []try{critic("a", grade{err: refusal(orchestrator.ErrBudget)})}, ungraded("a", "over\nbudget", 1), orchestrator.ErrBudget},
		{"N2 a cancel is not asked again, and keeps the best", 3, 80, scale{}, []try{scored("a", 30), critic("b", grade{err: refusal(orchestrator.ErrCanceled)})}, graded("a", 30, 2, "try 2 was not graded: over\ncanceled"), orchestrator.ErrCanceled},

		{"a try that failed is tried again", 3, 5, scale{}, []try{failed(oops), scored("b", 5)}, passed("b", 5, 2, "try 1 failed: oops"), nil},
		{"the best behind failures", 3, 5, scale{}, []try{scored("a", 3), failed(oops), failed(bad)}, graded("a", 3, 3, "try 2 failed: oops", "try 3 failed: acme/bad"), nil},
		{"none was graded: the last error", 2, 5, scale{}, []try{failed(oops), failed(bad)}, refined{Tries: 2, Failures: []string{"try 1 failed: oops", "try 2 failed: acme/bad"}}, bad},
		{"an agent's own context.Canceled is a failure", 3, 5, scale{}, []try{failed(context.Canceled), scored("b", 5)}, passed("b", 5, 2, "try 1 failed: context canceled"), nil},
		{"an agent's own code canceled is a failure", 3, 5, scale{}, []try{failed(orchestrator.ErrCanceled), scored("b", 5)}, passed("b", 5, 2, "try 1 failed: canceled"), nil},
		{"an agent's own ErrBudget is a failure", 3, 5, scale{}, []try{failed(orchestrator.ErrBudget), scored("b", 5)}, passed("b", 5, 2, "try 1 failed: budget"), nil},
		{"a cancel by the engine ends it", 3, 5, scale{}, []try{scored("a", 3), failed(refusal(orchestrator.ErrCanceled))}, graded("a", 3, 2), orchestrator.ErrCanceled},
		{"a refusal by the engine ends it", 3, 5, scale{}, []try{scored("a", 3), failed(refusal(orchestrator.ErrBudget))}, graded("a", 3, 2), orchestrator.ErrBudget},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n, asked := 0, 0
			got, err := orchestrator.Refine(nil, orchestrator.Refinement[string]{
				Attempts: tt.attempts, Gate: tt.gate, Scale: tt.scale,
				Try: func(_ *orchestrator.Context, last refined) (string, error) {
					require.Less(t, n, len(tt.tries), "one try too many")
					assert.Equal(t, n, last.Tries)
					n, asked = n+1, 0
					return tt.tries[n-1].value, tt.tries[n-1].err
				},
				Grade: func(_ *orchestrator.Context, v string) (verdict, error) {
					require.Less(t, asked, len(tt.tries[n-1].grades), "one grade too many")
					asked++
					g := tt.tries[n-1].grades[asked-1]
					return verdict{Score: g.score, Feedback: "about " + v}, g.err
				},
			})
			require.ErrorIs(t, err, tt.err)
			assert.Equal(t, tt.want, got)
			require.Len(t, tt.tries, n)
			if n > 0 {
				assert.Len(t, tt.tries[n-1].grades, asked)
			}
		})
	}
}

func TestRefineShowsTheWriterNoFailure(t *testing.T) {
	var lasts []orchestrator.Refined[int]
	more := func(v, tries int) orchestrator.Refined[int] {
		return orchestrator.Refined[int]{Value: v, Verdict: verdict{Score: float64(v), Feedback: fmt.Sprint("more than ", v)}, Tries: tries}
	}
	failure := "POST https://models.example: 500, request id 7"
	got, err := orchestrator.Refine(nil, orchestrator.Refinement[int]{
		Attempts: 5, Gate: 100,
		Try: func(_ *orchestrator.Context, last orchestrator.Refined[int]) (int, error) {
			lasts = append(lasts, last)
			if last.Tries == 0 || last.Tries == 2 {
				return 0, errors.New(failure)
			}
			return 10 * (last.Tries + 1), nil
		},
		Grade: func(_ *orchestrator.Context, v int) (verdict, error) { return more(v, 0).Verdict, nil },
	})
	require.NoError(t, err)
	t.Run("N15 the writer gets the last graded try and its feedback", func(t *testing.T) {
		assert.Equal(t, []orchestrator.Refined[int]{{}, {Tries: 1}, more(20, 2), more(20, 3), more(40, 4)}, lasts)
	})
	t.Run("the host gets the failures", func(t *testing.T) {
		want := more(50, 5)
		want.Failures = []string{"try 1 failed: " + failure, "try 3 failed: " + failure}
		assert.Equal(t, want, got)
	})
}

// What a refinement has when the time of its budget is up is handed out.
func TestRefineUnderABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := flow("refine", func(c *orchestrator.Context) (refined, error) {
			return orchestrator.Refine(c.WithBudget(orchestrator.Budget{Wall: 150 * time.Minute}), orchestrator.Refinement[string]{
				Attempts: 9, Gate: 9,
				Try: func(c *orchestrator.Context, last refined) (string, error) {
					return fmt.Sprint("draft ", last.Tries+1), c.Sleep(time.Hour)
				},
				Grade: func(*orchestrator.Context, string) (verdict, error) { return verdict{Score: 1}, nil },
			})
		})
		got, err := f.Run(t.Context(), local(t, orchestrator.Config{}), none{})
		require.ErrorIs(t, err, orchestrator.ErrBudget)
		assert.Equal(t, "draft 2", got.Value)
		assert.Equal(t, 3, got.Tries)
	})
}

// A critic that is a model: one repair, once more afresh, then ungraded.
func TestAskVerdict(t *testing.T) {
	grades := func(t *testing.T, s scale, answers ...any) (refined, *flowtest.Script, error) {
		t.Helper()
		critic := flowtest.NewScript(t, answers...)
		f := flow("refine", func(c *orchestrator.Context) (refined, error) {
			return orchestrator.Refine(c, orchestrator.Refinement[string]{
				Attempts: 3, Gate: s.Max / 2, Scale: s,
				Try: func(*orchestrator.Context, refined) (string, error) { return "text", nil },
				Grade: func(c *orchestrator.Context, text string) (verdict, error) {
					v, _, err := orchestrator.AskVerdict(c, "critic", agent.Request{Prompt: "Grade " + text}, s)
					return v, err
				},
			})
		})
		got, err := f.Run(t.Context(), local(t, orchestrator.Config{Agents: agent.Roster{"critic": critic}}), none{})
		return got, critic, err
	}
	tens := scale{Max: 10}
	tests := []struct {
		name    string
		answers []any
		calls   int
		want    refined
	}{
		{"N8 on the scale", []any{`{"score": 7, "feedback": "good"}`}, 1, refined{Value: "text", Verdict: verdict{Score: 7, Feedback: "good"}, Pass: true, Tries: 1}},
		{"N8 in quotes", []any{verdictText(`"7"`)}, 1, refined{Value: "text", Verdict: verdict{Score: 7}, Pass: true, Tries: 1}},
		{"N8 outside of it, then repaired", []any{verdictText("70"), verdictText("7")}, 2, refined{Value: "text", Verdict: verdict{Score: 7}, Pass: true, Tries: 1}},
		{"N2 malformed twice, then a grade", []any{verdictText("70"), "seventy", verdictText("8")}, 3, refined{Value: "text", Verdict: verdict{Score: 8}, Pass: true, Tries: 1}},
		{
			"N2 malformed four times",
			[]any{verdictText("70"), "x", verdictText("-1"), verdictText("70")},
			4,
			ungraded("text", `ask "critic": malformed: /score: want {"type":"number","minimum":0,"maximum":10}, got 70`, 1),
		},
		{"N2 refused by the model twice", []any{agent.ErrRefused, agent.ErrRefused}, 2, ungraded("text", "refused", 1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, critic, err := grades(t, tens, tt.answers...)
				require.NoError(t, err)
				assert.Equal(t, tt.want, got)
				asked := critic.Requests()
				require.Len(t, asked, tt.calls)
				if tt.calls == 4 {
					assert.NotEmpty(t, asked[1].History, "a repair")
					assert.Empty(t, asked[2].History, "afresh")
				}
				assert.JSONEq(t, `{"type":"object","properties":{"score":{"type":"number","minimum":0,"maximum":10},"feedback":{"type":"string"}},
					"required":["score"],"additionalProperties":false}`, string(asked[0].Output))
			})
		})
	}
	t.Run("N8 the scale that Ask[Verdict] shows is 0 to 100", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			critic := flowtest.NewScript(t, verdictText("101"), verdictText("100"))
			f := flow("ask", func(c *orchestrator.Context) (verdict, error) {
				v, _, err := orchestrator.Ask[verdict](c, "critic", agent.Request{Prompt: "Grade."})
				return v, err
			})
			got, err := f.Run(t.Context(), local(t, orchestrator.Config{Agents: agent.Roster{"critic": critic}}), none{})
			require.NoError(t, err)
			assert.Equal(t, verdict{Score: 100}, got)
		})
	})
	t.Run("N8 a scale of nothing is a broken rule", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := flow("ask", func(c *orchestrator.Context) (verdict, error) {
				v, _, err := orchestrator.AskVerdict(c, "critic", agent.Request{Prompt: "Grade."}, scale{Min: 2, Max: 1})
				return v, err
			})
			_, err := f.Run(t.Context(), local(t, orchestrator.Config{}), none{})
			require.ErrorIs(t, err, orchestrator.ErrFlow)
		})
	})
}

func verdictText(score string) string { return `{"score": ` + score + `}` }
