package hierarchy_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/hierarchy"
)

// essays is a department whose two specialists pass with 88 and 70, in texts of 400 and 900
// characters, and whose head answers so.
func essays(head ...any) theater {
	th := trio(60, 88, 70)
	th.cast["a"] = []any{said(strings.Repeat("a", 400), 88)}
	th.cast["b"] = []any{said(strings.Repeat("ü", 900), 70)}
	th.cast["head"] = head
	return th
}

func four(answer any) []any { return []any{answer, answer, answer, answer} }

func TestSynthesisThatIsNone(t *testing.T) {
	whole := strings.Repeat("w", 40)
	fallsBack := func(t *testing.T, th theater, why string) {
		t.Helper()
		p := th.play(t)
		require.NoError(t, p.err)
		r := p.report(t, "d")
		assert.Len(t, p.asked["head"], 4)
		assert.Equal(t, strings.Repeat("a", 400), hierarchy.Text(r.Output), "that of 88")
		assert.Equal(t, hierarchy.FallbackOutput, r.Basis)
		assert.Equal(t, hierarchy.DepartmentDone, r.Status)
		assert.InDelta(t, 91.6, r.RawQuality, 1e-9) // 60 + 79*.4
		assert.Equal(t, []string{"hierarchy/agent-failed", "hierarchy/fallback"}, p.codes())
		assert.Equal(t, "partial synthesis failure: failed 4 times, last: "+why, p.out.Warnings[1].Message)
		assert.Equal(t, []string{"d"}, p.out.Unverified)
		assert.Equal(t, orchestrator.Partial, p.out.Status)
	}
	for name, answer := range map[string]any{
		"empty": "", "blank": " \n", "not to be seen": "\u200b\u200b", "null": "null", "null and space": " null\n", "null in a fence": "```json\nnull\n```", "null as data": agent.Response{Data: json.RawMessage("null")},
	} {
		t.Run("HC48 it is "+name, func(t *testing.T) { fallsBack(t, essays(four(answer)...), "the answer is empty") })
	}
	t.Run("HC48 it is shorter than a tenth of the shortest that passed", func(t *testing.T) {
		fallsBack(t, essays(four("I'm sorry, but I can't help with that.")...), "the result has 38 characters, want 40 or more")
	})
	t.Run("HC48 space around it does not count", func(t *testing.T) {
		fallsBack(t, essays(four(whole[1:]+strings.Repeat(" ", 50))...), "the result has 39 characters, want 40 or more")
	})
	t.Run("HC48 it fits no schema", func(t *testing.T) {
		th := essays(four("no json")...)
		th.cfg.Departments[0].Agents = append(th.cfg.Departments[0].Agents, hierarchy.Agent{ID: "head", Schema: []byte(`{"type":"object"}`)})
		fallsBack(t, th, "malformed output: no JSON value in the answer")
	})
	t.Run("HC48 any mixture of failures", func(t *testing.T) {
		fallsBack(t, essays("null", errBoom, "short", ""), "the answer is empty")
	})
	t.Run("HC48 a tenth is enough, in characters", func(t *testing.T) {
		for _, text := range []string{whole, strings.Repeat("ü", 40)} {
			p := essays(text).play(t)
			assert.Equal(t, text, hierarchy.Text(p.report(t, "d").Output))
			assert.Equal(t, orchestrator.Completed, p.out.Status)
			assert.Empty(t, p.out.Warnings)
		}
	})
	t.Run("HC48 the head is told what is missing", func(t *testing.T) {
		p := essays("short", whole).play(t)
		assert.Contains(t, p.prompt("head", 1), "Attempt 1 failed: the result has 5 characters, want 40 or more.")
		assert.Equal(t, whole, hierarchy.Text(p.report(t, "d").Output))
		assert.Equal(t, orchestrator.Completed, p.out.Status)
	})
	t.Run("HC48 rejected results do not count", func(t *testing.T) {
		th := essays(strings.Repeat("w", 39)) // no tenth of 400
		th.cast["a"] = []any{said(strings.Repeat("a", 400), 88)}
		th.cast["b"] = []any{said("b", 10)}
		th.cast["head"] = []any{"short", whole}
		assert.Len(t, th.play(t).asked["head"], 2)
	})
	t.Run("HC48 the tenth is off, or another share", func(t *testing.T) {
		th := essays("x")
		th.cfg.Policy.MinSynthesis = orchestrator.None
		assert.Equal(t, orchestrator.Completed, th.play(t).out.Status)
		th = essays(strings.Repeat("w", 199), strings.Repeat("w", 200))
		th.cfg.Policy.MinSynthesis = 0.5
		assert.Len(t, th.play(t).asked["head"], 2)
	})
	t.Run("HC48 the tenth does not hold for a schema of the host", func(t *testing.T) {
		th := essays(`{"n":1}`)
		th.cfg.Departments[0].Agents = append(th.cfg.Departments[0].Agents, hierarchy.Agent{ID: "head", Schema: []byte(`{"type":"object"}`)})
		p := th.play(t)
		assert.JSONEq(t, `{"n":1}`, string(p.report(t, "d").Output))
		assert.Equal(t, orchestrator.Completed, p.out.Status)
	})
	t.Run("HC48 each further round, too", func(t *testing.T) {
		th := essays(append([]any{whole}, four("short")...)...)
		th.cfg.Policy.SynthesisRounds = 2
		p := th.play(t)
		assert.Equal(t, whole, hierarchy.Text(p.report(t, "d").Output))
		assert.Equal(t, []string{"hierarchy/agent-failed", "hierarchy/refinement"}, p.codes())
		assert.Empty(t, p.out.Unverified)
	})
	t.Run("HC48 an answer of the head alone may be short", func(t *testing.T) {
		th := trio(60, 10)
		th.cast["a"] = []any{said(strings.Repeat("a", 400), 10)}
		th.cast["head"] = []any{"No."}
		assert.Equal(t, "No.", hierarchy.Text(th.play(t).report(t, "d").Output))
	})
	t.Run("HC48 a Threshold that is NaN is a fault of the rule", func(t *testing.T) {
		th := essays()
		th.cast = nil
		th.cfg.Rules.Threshold = grading.ThresholdFunc(func(grading.Subject, []float64) float64 { return math.NaN() })
		p := th.play(t)
		require.ErrorIs(t, p.err, hierarchy.ErrRule)
		assert.Zero(t, p.calls(), "no head takes over")
		assert.Equal(t, orchestrator.Warning{Code: "hierarchy/rule", Who: "a", Message: "Rules.Threshold: it is NaN, want 0 to 100"}, p.out.Warnings[0])
		th = theater{cfg: one(), in: hierarchy.Input{Prompt: "a hat"}}
		th.cfg.Policy.GradeHeads, th.cfg.Rules.Threshold = true, grading.ThresholdFunc(func(grading.Subject, []float64) float64 { return math.NaN() })
		p = th.play(t)
		require.ErrorIs(t, p.err, hierarchy.ErrRule)
		assert.Equal(t, "head", p.out.Warnings[0].Who)
	})
}

// selfish is a specialist that gives itself 101 of 100, once an error is over.
func selfish() theater {
	return theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{"s": {errBoom, `{"text": "work", "qualityScore": 101}`}, "head": {"the head's own"}}}
}

func TestOwnFigure(t *testing.T) {
	play := func(t *testing.T, figure string, change func(*hierarchy.Config)) played {
		t.Helper()
		th := theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{"s": {`{"text": "work", "qualityScore": ` + figure + `}`}, "head": {"the head's own"}}}
		if change != nil {
			change(&th.cfg)
		}
		return th.play(t)
	}
	for _, figure := range []string{"1e9", "1e999", "NaN", "-Infinity", "-1", "101", "100.5", `"many"`, `"8/10"`, "true", "[5]", `{"of": 5}`, `""`} {
		t.Run("N17 off the scale: "+figure, func(t *testing.T) {
			p := play(t, figure, nil)
			s := p.report(t, "d").Specialists[0]
			assert.Len(t, s.Attempts, 1, "the work is not made again for want of a figure")
			assert.Contains(t, s.Ungraded, "its own score: ")
			assert.False(t, s.ScoreDefaulted)
			assert.Equal(t, grading.Rejected, s.ReviewStatus)
			assert.Equal(t, hierarchy.HeadAfterFailure, p.report(t, "d").Basis)
			assert.Equal(t, []string{"d"}, p.out.Unverified)
			assert.Equal(t, []string{"hierarchy/ungraded", "hierarchy/specialists-rejected"}, p.codes())
		})
	}
	t.Run("N14 a figure in other words is read", func(t *testing.T) {
		for figure, want := range map[string]float64{`"85%"`: 85, `"85 %"`: 85, `"85/100"`: 85, `"85"`: 85, "0": 0} {
			s := play(t, figure, func(c *hierarchy.Config) { c.Departments[0].Agents[0].Attempts = 1 }).report(t, "d").Specialists[0]
			assert.Equal(t, want, s.Score, figure)
			assert.False(t, s.ScoreDefaulted, figure)
		}
	})
	t.Run("HC42 no figure is 75", func(t *testing.T) {
		s := play(t, "null", nil).report(t, "d").Specialists[0]
		assert.Equal(t, 75.0, s.Score)
		assert.True(t, s.ScoreDefaulted)
		for _, text := range []string{`{"text": "work"}`, `{"parts": [{"qualityScore": 101}]}`, "{braces}", "words", "```\nqualityScore\n```"} {
			s := theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{"s": {text}, "head": {"whole"}}}.play(t).report(t, "d").Specialists[0]
			assert.True(t, s.ScoreDefaulted, text)
		}
	})
	t.Run("N17 a figure that nobody asks for does not matter", func(t *testing.T) {
		p := play(t, "101", func(c *hierarchy.Config) {
			c.Rules.Grader = orchestrator.GradeWith(func(*orchestrator.Context, hierarchy.Work) (hierarchy.Grade, error) {
				return hierarchy.Grade{Score: new(90.0)}, nil
			})
		})
		assert.Equal(t, 90.0, p.report(t, "d").Specialists[0].Score)
		assert.Empty(t, p.out.Warnings)
	})
	t.Run("N17 without a gate it is approved without a score", func(t *testing.T) {
		p := play(t, "101", func(c *hierarchy.Config) { c.Departments[0].Agents[0].PassingThreshold = new(0.0) })
		assert.Equal(t, grading.Approved, p.report(t, "d").Specialists[0].ReviewStatus)
		assert.Equal(t, []string{"hierarchy/ungraded"}, p.codes())
	})
	t.Run("N17 a score may be assumed", func(t *testing.T) {
		p := play(t, "101", func(c *hierarchy.Config) { c.Policy.AssumeScore = new(70.0) })
		assert.Equal(t, 70.0, p.report(t, "d").Specialists[0].Score)
		assert.Equal(t, []string{"hierarchy/assumed-score"}, p.codes())
	})
	t.Run("N17 history off the scale is a fault of the input", func(t *testing.T) {
		p := theater{cfg: one(), in: hierarchy.Input{Prompt: "a hat", History: map[string][]float64{"s": {50, 101}}}}.play(t)
		require.ErrorIs(t, p.err, hierarchy.ErrInput)
		require.ErrorContains(t, p.err, `History["s"][1] is 101, want 0 to 100`)
	})
}

func TestUngradedNeverWins(t *testing.T) {
	t.Run("N18 a graded output comes before one whose score is assumed", func(t *testing.T) {
		th := gradedPair("no idea", marks(70))
		th.cfg.Policy.AssumeScore = new(95.0)
		th.cast["head"] = append([]any{on{"Write one new result", errBoom}}, th.cast["head"][1:]...)
		r := th.play(t).report(t, "d")
		assert.Equal(t, hierarchy.FallbackOutput, r.Basis)
		assert.Equal(t, "work of B", hierarchy.Text(r.Output))
		th.cfg.Departments[0].Agents = th.cfg.Departments[0].Agents[:1]
		delete(th.cast, "B")
		assert.Equal(t, "work of A", hierarchy.Text(th.play(t).report(t, "d").Output), "if there is no other")
	})
	t.Run("N18 and before one without a gate and a score", func(t *testing.T) {
		th := gradedPair("no idea", marks(0))
		for i := range th.cfg.Departments[0].Agents {
			th.cfg.Departments[0].Agents[i].PassingThreshold = new(0.0)
		}
		th.cast["head"] = append([]any{on{"Write one new result", errBoom}}, th.cast["head"][1:]...)
		assert.Equal(t, "work of B", hierarchy.Text(th.play(t).report(t, "d").Output))
	})
	t.Run("N18 a round without a grade does not replace a graded draft", func(t *testing.T) {
		for assumed, want := range map[float64]string{100: "the graded draft", orchestrator.None: "the graded draft"} {
			th := trio(60, 90)
			th.cfg.Policy.GradeHeads, th.cfg.Policy.SynthesisRounds = true, 2
			if assumed > 0 {
				th.cfg.Policy.AssumeScore = &assumed
			}
			th.cfg.Rules.Grader = orchestrator.GradeWith(func(_ *orchestrator.Context, w hierarchy.Work) (hierarchy.Grade, error) {
				if hierarchy.Text(w.Output) == "the second draft" {
					return hierarchy.Grade{}, errBoom
				}
				return hierarchy.Grade{Score: new(85.0)}, nil
			})
			th.cast["head"] = []any{"the graded draft", "the second draft"}
			p := th.play(t)
			assert.Equal(t, want, hierarchy.Text(p.report(t, "d").Output))
			assert.Empty(t, p.out.Unverified)
			assert.Equal(t, "the second draft", hierarchy.Text(p.report(t, "d").HeadAttempts[1].Output), "it is kept")
		}
	})
}

func TestGradedWorkStays(t *testing.T) {
	graded := func(head ...any) theater {
		th := trio(60, 90)
		th.cfg.Policy.GradeHeads = true
		th.cfg.Rules.Grader = orchestrator.GradeWith(func(_ *orchestrator.Context, w hierarchy.Work) (hierarchy.Grade, error) {
			return hierarchy.Grade{Score: new(map[string]float64{"weak synthesis": 50, "a synthesis": 85, "output of a": 90}[hierarchy.Text(w.Output)])}, nil
		})
		th.cast["head"] = head
		return th
	}
	t.Run("N22 each graded try of the head is in the report", func(t *testing.T) {
		tries := graded("weak synthesis", errBoom, "a synthesis").play(t).report(t, "d").HeadAttempts
		require.Len(t, tries, 3)
		assert.Equal(t, []string{"weak synthesis", "", "a synthesis"}, []string{hierarchy.Text(tries[0].Output), hierarchy.Text(tries[1].Output), hierarchy.Text(tries[2].Output)})
		assert.Equal(t, []float64{50, 0, 85}, []float64{tries[0].Score, tries[1].Score, tries[2].Score})
		assert.Equal(t, "boom", tries[1].Error)
	})
	t.Run("N22 those of each round and of a direct answer", func(t *testing.T) {
		th := graded("a synthesis", "weak synthesis", "weak synthesis")
		th.cfg.Policy.SynthesisRounds, th.cfg.Departments[0].Attempts = 2, 2
		p := th.play(t)
		assert.Equal(t, "a synthesis", hierarchy.Text(p.report(t, "d").Output))
		require.Len(t, p.report(t, "d").HeadAttempts, 3)
		th = theater{cfg: th.cfg, in: hierarchy.Input{Prompt: "a hat"}, cast: cast{"head": {"weak synthesis", "a synthesis"}}}
		assert.Len(t, th.play(t).report(t, "d").HeadAttempts, 2)
	})
	t.Run("N22 what is not graded is not kept twice", func(t *testing.T) {
		th := graded("a synthesis")
		th.cfg.Policy.GradeHeads = false
		assert.Empty(t, th.play(t).report(t, "d").HeadAttempts)
	})
	t.Run("N22 the departments' outputs stay beside the master's", func(t *testing.T) {
		th := graded("a synthesis")
		th.cfg.Master.Agent, th.cast["director"] = "director", []any{"all"}
		out := th.play(t).out
		assert.Equal(t, "all", hierarchy.Text(out.Output["result"]))
		assert.Equal(t, "a synthesis", hierarchy.Text(out.Output["d"]))
		assert.Equal(t, "output of a", hierarchy.Text(out.Reports[0].Specialists[0].Output))
	})
}

func TestWhatIsTold(t *testing.T) {
	t.Run("H91 a round is told its number and how many there are", func(t *testing.T) {
		th := trio(60, 90)
		th.cfg.Policy.SynthesisRounds = 3
		th.cast["head"] = []any{"first draft", "second draft", "third draft"}
		p := th.play(t)
		assert.Contains(t, p.prompt("head", 1), "round 2 of 3")
		assert.Contains(t, p.prompt("head", 2), "round 3 of 3")
	})
	t.Run("H88 the overall score is made of quality, relevance and gate", func(t *testing.T) {
		th := theater{cfg: heads("a", "b"), in: hierarchy.Input{Prompt: "go"}, cast: cast{"a-head": {"x"}, "b-head": {"y"}}}
		th.cfg.Departments[1].Gate = new(90.0)
		var marks grading.Marks
		th.cfg.Rules.Scores.Overall = grading.ScorerFunc(func(m grading.Marks) (float64, error) {
			marks = m
			return 50, nil
		})
		assert.Equal(t, new(50.0), th.play(t).out.Score)
		assert.Equal(t, grading.Marks{{Name: "a", Value: 85, Weight: .8, Passed: true}, {Name: "b", Value: 85, Weight: .8}}, marks)
	})
	t.Run("H87 the agent that checks has the settings of an agent", func(t *testing.T) {
		th := theater{cfg: heads("a"), in: hierarchy.Input{Prompt: "go"}, cast: cast{"a-head": {"x"}, "brain": {map[string]any{"issues": []any{}}}}}
		th.cfg.Master.Consistency = "brain"
		asked := th.play(t).asked["brain"][0]
		assert.EqualValues(t, 300e9, asked.Limits.Total)
		assert.Equal(t, new(0.7), asked.Temperature)
	})
	t.Run("HC42 a department without a score tells none", func(t *testing.T) {
		th := theater{cfg: one(), in: hierarchy.Input{Prompt: "a hat"}, cast: cast{"head": {"work"}}}
		th.cfg.Departments[0].MinQuality, th.cfg.Policy.GradeHeads = new(0.0), true
		th.cfg.Rules.Grader = orchestrator.GradeWith(func(*orchestrator.Context, hierarchy.Work) (hierarchy.Grade, error) {
			return hierarchy.Grade{}, errBoom
		})
		p := th.play(t)
		finished := p.events(t, hierarchy.EventDepartmentFinished)
		require.Len(t, finished, 1)
		assert.Nil(t, finished[0].Score)
		assert.Equal(t, "boom", p.report(t, "d").Ungraded)
	})
}

func TestAgentsOfSteps(t *testing.T) {
	cfg := one()
	cfg.Rules.Agents = []string{"archive"}
	flow, err := hierarchy.New(cfg)
	require.NoError(t, err)
	assert.Equal(t, []string{"archive", "head"}, flow.Agents)
}
