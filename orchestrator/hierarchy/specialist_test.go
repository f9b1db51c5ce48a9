package hierarchy_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/routing"
)

// workedExample is the character department of the studio: the appearance
// specialist needs 65 and scores 58, then 72; the personality specialist needs 60
// and scores 87.
func workedExample() theater {
	return theater{
		cfg: hierarchy.Config{Departments: hierarchy.MovieDepartments(), Rules: hierarchy.Rules{Grader: hierarchy.SelfGrader}},
		in:  hierarchy.Input{Prompt: brief("Create character Aladdin", 50), Only: []string{"character"}},
		cast: cast{
			"character-appearance-specialist":  {said("lean and quick", 58), said("lean, quick, torn vest", 72)},
			"character-personality-specialist": {said("cheeky and kind", 87)},
			"character-head":                   {"Aladdin, whole"},
		},
	}
}

func TestWorkedExample(t *testing.T) {
	p := workedExample().play(t)
	require.NoError(t, p.err)
	r := p.report(t, "character")
	look, mind := r.Specialists[0], r.Specialists[1]
	prompts := p.asked["character-appearance-specialist"]

	t.Run("HA30 worked example", func(t *testing.T) {
		assert.Len(t, prompts, 2)
		assert.Len(t, p.asked["character-personality-specialist"], 1)
		assert.Len(t, p.asked["character-head"], 1)
		assert.Equal(t, grading.RevisionNeeded, look.ReviewStatus)
		assert.Equal(t, grading.Approved, mind.ReviewStatus)
		assert.Len(t, look.Attempts, 2)
		synthesis := p.asked["character-head"][0].Prompt
		assert.Contains(t, synthesis, "lean, quick, torn vest")
		assert.Contains(t, synthesis, "cheeky and kind")
		assert.Equal(t, 91.8, r.RawQuality) // 100*.6 + 79.5*.4
		assert.Equal(t, 92, r.QualityScore)
	})
	t.Run("HA31 second prompt", func(t *testing.T) {
		for _, part := range []string{brief("Create character Aladdin", 50), "lean and quick", "58", "65"} {
			assert.Contains(t, prompts[1].Prompt, part)
		}
	})
	t.Run("H49 first prompt is the brief unmodified", func(t *testing.T) {
		assert.Equal(t, brief("Create character Aladdin", 50), prompts[0].Prompt)
	})
	t.Run("H26 50 and 100 words are moderate", func(t *testing.T) {
		for _, words := range []int{50, 100} {
			q := theater{cfg: one(), in: hierarchy.Input{Prompt: brief("", words)}, cast: cast{"head": {"x"}}}.play(t)
			assert.Equal(t, routing.Moderate, q.events(t, hierarchy.EventDepartmentAnalyzed)[0].Analysis.Complexity, words)
		}
	})
	t.Run("HC1 revision-needed passes", func(t *testing.T) {
		assert.Equal(t, 2, r.Metadata.SuccessfulSpecialists)
		strict := workedExample()
		strict.cfg.Policy.StrictReview = true
		q := strict.play(t).report(t, "character")
		assert.Equal(t, 61.8, q.RawQuality) // 50*.6 + 79.5*.4
		assert.Equal(t, 1, q.Metadata.SuccessfulSpecialists)
	})
	t.Run("HC4 each specialist's own threshold", func(t *testing.T) {
		assert.Equal(t, 65.0, look.Threshold)
		assert.Equal(t, 60.0, mind.Threshold)
		high := specialist("high", 80)
		high.Attempts = 1
		q := theater{cfg: one(high, specialist("low", 60)), in: request(), cast: cast{"high": {said("x", 72)}, "low": {said("y", 72)}, "head": {"whole"}}}.play(t)
		s := q.report(t, "d").Specialists
		assert.Equal(t, []grading.ReviewStatus{grading.Rejected, grading.Approved}, []grading.ReviewStatus{s[0].ReviewStatus, s[1].ReviewStatus})
	})
	t.Run("HC6 two scales", func(t *testing.T) {
		assert.EqualValues(t, "revise", look.Attempts[0].Decision)
		assert.EqualValues(t, "accept", look.Attempts[1].Decision)
		assert.EqualValues(t, "revision-needed", look.ReviewStatus)
	})
	t.Run("HC8 moderate is worth two", func(t *testing.T) {
		assert.Equal(t, 2, p.events(t, hierarchy.EventDepartmentAnalyzed)[0].Analysis.Estimate)
	})
	t.Run("HC11 both figures", func(t *testing.T) {
		assert.Equal(t, 91.8, r.RawQuality)
		assert.Equal(t, 92, r.QualityScore)
		assert.Equal(t, 91.8, *p.out.Score, "aggregation uses the raw one")
	})
	t.Run("H51 no attempt after success", func(t *testing.T) {
		assert.Len(t, mind.Attempts, 1)
		q := theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{"s": {said("x", 60)}, "head": {"whole"}}}.play(t)
		assert.Len(t, q.asked["s"], 1, "at the threshold")
	})
	t.Run("H62 inputs passed the review", func(t *testing.T) {
		synthesis := trio(60, 59, 60, 90).play(t).prompt("head", 0)
		assert.NotContains(t, synthesis, "output of a")
		assert.Contains(t, synthesis, "output of b")
		assert.Contains(t, synthesis, "output of c")
	})
	t.Run("HX14 specialists do not see each other", func(t *testing.T) {
		for _, req := range prompts {
			assert.NotContains(t, req.Prompt, "cheeky")
		}
		assert.NotContains(t, p.asked["character-personality-specialist"][0].Prompt, "lean")
	})
	t.Run("HA55 with the head as grader", func(t *testing.T) {
		th := workedExample()
		th.cfg.Rules.Grader = nil
		th.cast = cast{
			"character-appearance-specialist":  {"lean and quick", "lean, quick, torn vest"},
			"character-personality-specialist": {"cheeky and kind"},
			"character-head": {
				on{"Write one new result", "Aladdin, whole"},
				on{"lean and quick", marks(58)},
				on{"torn vest", marks(72)},
				on{"cheeky", marks(87)},
			},
		}
		g := th.play(t)
		require.NoError(t, g.err)
		assert.Len(t, g.asked["character-head"], 1+3)
		q := g.report(t, "character")
		assert.Equal(t, 91.8, q.RawQuality)
		assert.Equal(t, []grading.ReviewStatus{grading.RevisionNeeded, grading.Approved},
			[]grading.ReviewStatus{q.Specialists[0].ReviewStatus, q.Specialists[1].ReviewStatus})
	})
}

func TestAttempts(t *testing.T) {
	hopeless := func() theater {
		return theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{"s": {on{"", said("x", 10)}}, "head": {on{"", "whole"}}}}
	}
	t.Run("H6 default is three retries", func(t *testing.T) { assert.Len(t, hopeless().play(t).asked["s"], 1+3) })
	t.Run("H48 numbered from 0", func(t *testing.T) {
		var numbers []int
		for _, a := range hopeless().play(t).report(t, "d").Specialists[0].Attempts {
			numbers = append(numbers, a.Number)
		}
		assert.Equal(t, []int{0, 1, 2, 3}, numbers)
	})
	t.Run("H64 the head writes the synthesis", func(t *testing.T) {
		th := hopeless()
		th.cast = cast{"s": {on{"", said("work", 90)}}, "head": {on{"Write one new result", "whole"}}}
		p := th.play(t)
		assert.Len(t, p.asked["s"], 1)
		assert.Len(t, p.asked["head"], 1)
		assert.Equal(t, "whole", hierarchy.Text(p.report(t, "d").Output))
	})
	t.Run("H93 each attempt is a record", func(t *testing.T) {
		th := hopeless()
		th.cfg.Departments[0].Agents[0].Attempts = 2
		assert.Equal(t, []team.Kind{
			hierarchy.EventAttemptStarted, hierarchy.EventAttemptFinished, hierarchy.EventAttemptStarted, hierarchy.EventAttemptFinished, hierarchy.EventSpecialistFinished,
		}, th.play(t).kinds("dept/d/spec/s"))
	})
	t.Run("HC37 each is graded once", func(t *testing.T) {
		th, grades := hopeless(), 0
		th.cfg.Rules.Grader = orchestrator.GradeWith(func(_ *orchestrator.Context, w hierarchy.Work) (hierarchy.Grade, error) {
			assert.Equal(t, grades, w.Attempt)
			grades++
			return hierarchy.Grade{Score: new(20.0)}, nil
		})
		assert.Equal(t, 20.0, th.play(t).report(t, "d").Specialists[0].Score)
		assert.Equal(t, 4, grades)
	})
}

func TestRetryLoop(t *testing.T) {
	four := theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{
		"s":    {said("one", 10), said("two", 20), said("three", 30), said("four", 40)},
		"head": {"the head's"},
	}}
	p := four.play(t)
	require.NoError(t, p.err)
	s := p.report(t, "d").Specialists[0]
	last := p.prompt("s", 3)

	t.Run("HA32 all attempts fail", func(t *testing.T) {
		assert.Len(t, p.asked["s"], 4)
		assert.Equal(t, grading.Rejected, s.ReviewStatus)
		assert.Equal(t, 40.0, s.Score)
		lines := []string{"Attempt 1 scored 10", "Attempt 2 scored 20", "Attempt 3 scored 30"}
		at := -1
		for _, line := range lines {
			i := strings.Index(last, line)
			assert.Greater(t, i, at, line)
			at = i
		}
		assert.NotContains(t, last, "Attempt 4 scored")
	})
	t.Run("H50 what a later prompt holds", func(t *testing.T) {
		assert.True(t, strings.HasPrefix(last, "The request:\ndraw a detailed hat\n\n"), "the request unmodified: %s", last)
		assert.Contains(t, last, "<data name=\"previous attempt\">\nthree\n</data>")
		assert.NotContains(t, last, "\ntwo\n", "only the preceding output")
		assert.Contains(t, last, "Try again. Answer the request anew with better quality, relevance and consistency.")
		assert.Contains(t, last, strings.Join([]string{s.Attempts[0].Feedback, s.Attempts[1].Feedback, s.Attempts[2].Feedback}, "\n"))
	})
	t.Run("H52 a line has score, threshold and what to improve", func(t *testing.T) {
		assert.Equal(t, "Attempt 1 scored 10 of 100, below the threshold of 60. Improve quality, relevance, consistency.", s.Attempts[0].Feedback)
	})
	t.Run("H53 a rejected specialist is no error of the department", func(t *testing.T) {
		assert.Equal(t, hierarchy.DepartmentDone, p.report(t, "d").Status)
		assert.Equal(t, []string{"hierarchy/specialists-rejected"}, p.codes())
	})
	t.Run("HA33 no retries", func(t *testing.T) {
		a := specialist("s", 60)
		a.Attempts = 1
		q := theater{cfg: one(a), in: request(), cast: cast{"s": {said("one", 10)}, "head": {"x"}}}.play(t)
		assert.Len(t, q.asked["s"], 1)
		assert.Equal(t, grading.Rejected, q.report(t, "d").Specialists[0].ReviewStatus)
	})
	t.Run("H54 retries are the agent's", func(t *testing.T) {
		a := specialist("s", 60)
		a.Attempts = 2
		q := theater{cfg: one(a), in: request(), cast: cast{"s": {said("one", 10), said("two", 20)}, "head": {"x"}}}.play(t)
		assert.Len(t, q.asked["s"], 2)
	})
	t.Run("HC22 what to improve and suggestions", func(t *testing.T) {
		cfg := one(specialist("s", 60))
		cfg.Rules.Grader = nil
		q := theater{cfg: cfg, in: request(), cast: cast{"s": {"a", "b"}, "head": {
			map[string]any{"quality": .9, "relevance": .3, "consistency": .4, "suggestions": []string{"name the\nhat", "be brief"}}, // 36+9+12 = 57
			marks(90), "whole",
		}}}.play(t)
		require.NoError(t, q.err)
		assert.Equal(t, "Attempt 1 scored 57 of 100, below the threshold of 60. Improve relevance, consistency. Suggestions: name the hat; be brief",
			q.report(t, "d").Specialists[0].Attempts[0].Feedback)
	})
	t.Run("HC24 the best attempt counts, the later of equals", func(t *testing.T) {
		q := theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{
			"s": {said("one", 30), said("two", 50), said("three", 50), said("four", 20)}, "head": {"x"},
		}}.play(t)
		s := q.report(t, "d").Specialists[0]
		assert.Equal(t, "three", hierarchy.Text(s.Output))
		assert.Equal(t, 50.0, s.Score)
		assert.Len(t, s.Attempts, 4)
	})
	t.Run("HX17 what statistics need is emitted", func(t *testing.T) {
		events := p.events(t, hierarchy.EventSpecialistFinished)
		require.Len(t, events, 1)
		e := events[0]
		assert.Equal(t, "dept/d/spec/s", e.Path)
		assert.EqualValues(t, "failed", e.Status)
		assert.Equal(t, 40.0, e.Result.Score)
	})
	t.Run("H44 missing threshold is 60", func(t *testing.T) {
		a := specialist("s", 0)
		a.PassingThreshold = nil
		cfg := one(a)
		cfg.Departments[0].MinQuality = nil
		q := theater{cfg: cfg, in: request(), cast: cast{"s": {said("x", 59.9), said("y", 60)}, "head": {"x"}}}.play(t)
		assert.Equal(t, 60.0, q.report(t, "d").Specialists[0].Threshold)
		assert.Len(t, q.asked["s"], 2)
	})
	t.Run("H45 agent, then department, then 60", func(t *testing.T) {
		own, none := specialist("own", 70), specialist("none", 0)
		none.PassingThreshold = nil
		q := theater{cfg: one(none, own), in: request(), cast: cast{"own": {said("x", 90)}, "none": {said("y", 90)}, "head": {"x"}}}.play(t)
		s := q.report(t, "d").Specialists
		assert.Equal(t, []float64{80, 70}, []float64{s[0].Threshold, s[1].Threshold})
	})
	t.Run("HC2 0 is no gate and nil is missing", func(t *testing.T) {
		none := specialist("none", 0)
		none.PassingThreshold = nil
		q := theater{cfg: one(none, specialist("zero", 0)), in: request(), cast: cast{"zero": {said("x", 1)}, "none": {said("y", 90)}, "head": {"x"}}}.play(t)
		s := q.report(t, "d").Specialists
		assert.Equal(t, []float64{80, 0}, []float64{s[0].Threshold, s[1].Threshold})
	})
}

func TestNoGate(t *testing.T) {
	t.Run("HA43 no gate, score 0", func(t *testing.T) {
		p := theater{cfg: one(specialist("s", 0)), in: request(), cast: cast{"s": {said("x", 0)}, "head": {"whole"}}}.play(t)
		s := p.report(t, "d").Specialists[0]
		assert.Len(t, p.asked["s"], 1)
		assert.Equal(t, grading.Approved, s.ReviewStatus)
		assert.Equal(t, "auto-approved, no threshold is set", s.ReviewNotes)
	})
	t.Run("H46 every output is accepted", func(t *testing.T) {
		p := theater{cfg: one(specialist("s", 0)), in: request(), cast: cast{"s": {said("x", 0)}, "head": {"whole"}}}.play(t)
		assert.Equal(t, grading.Accept, p.report(t, "d").Specialists[0].Attempts[0].Decision)
	})
	t.Run("HC3 an explicit 0 of the department", func(t *testing.T) {
		a := specialist("s", 0)
		a.PassingThreshold = nil
		cfg := one(a)
		cfg.Departments[0].MinQuality = new(0.0)
		p := theater{cfg: cfg, in: request(), cast: cast{"s": {said("x", 0)}, "head": {"whole"}}}.play(t)
		assert.Equal(t, grading.Approved, p.report(t, "d").Specialists[0].ReviewStatus)
	})
	t.Run("HA54 no gate and errors", func(t *testing.T) {
		boom := errors.New("boom")
		p := theater{cfg: one(specialist("s", 0)), in: request(), cast: cast{"s": {boom, said("x", 3)}, "head": {"whole"}}}.play(t)
		assert.Len(t, p.asked["s"], 2)
		assert.Equal(t, grading.Approved, p.report(t, "d").Specialists[0].ReviewStatus)
		assert.Equal(t, "auto-approved after 1 retry, no threshold is set", p.report(t, "d").Specialists[0].ReviewNotes)

		p = theater{cfg: one(specialist("s", 0), specialist("z", 0)), in: request(), cast: cast{"s": {boom, boom, boom, boom}, "z": {said("good", 90)}, "head": {"whole"}}}.play(t)
		assert.Len(t, p.asked["s"], 4)
		s := p.report(t, "d").Specialists[0]
		assert.Equal(t, grading.Rejected, s.ReviewStatus)
		assert.NotContains(t, p.asked["head"][0].Prompt, "Name of s")
	})
	t.Run("HC41 an attempt without output never passes", func(t *testing.T) {
		nothing := agent.Response{Data: []byte(`" "`)}
		p := theater{cfg: one(specialist("s", 0)), in: request(), cast: cast{"s": {"", " ", nothing, agent.Response{}}, "head": {"whole"}}}.play(t)
		s := p.report(t, "d").Specialists[0]
		assert.Equal(t, grading.Rejected, s.ReviewStatus)
		assert.Equal(t, 0.0, s.Score)
		assert.False(t, s.ScoreDefaulted)
		assert.Equal(t, "no output: the answer is empty", s.ReviewNotes)
	})
}

func TestFailedAttempts(t *testing.T) {
	p := theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{"s": {errors.New("line one\nline two"), said("x", 90)}, "head": {"whole"}}}.play(t)
	s := p.report(t, "d").Specialists[0]
	t.Run("HA44 error, then 90", func(t *testing.T) {
		assert.Len(t, p.asked["s"], 2)
		assert.Equal(t, p.asked["s"][0].Prompt, p.asked["s"][1].Prompt)
		assert.Equal(t, grading.Approved, s.ReviewStatus)
		assert.Equal(t, "approved after 1 retry", s.ReviewNotes)
	})
	t.Run("HC23 an attempt that failed counts and says why", func(t *testing.T) {
		assert.Len(t, s.Attempts, 2)
		assert.Equal(t, "line one line two", s.Attempts[0].Error)
		assert.Empty(t, s.Attempts[0].Feedback)
	})
	t.Run("N15 a try that failed technically is repeated with the prompt it had", func(t *testing.T) {
		refused := errors.New("corp:small: transient: dial tcp 10.1.2.3:443: connect: connection refused (request id 77)")
		q := theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{"s": {said("weak", 10), refused, said("weaker", 5), said("x", 90)}, "head": {refused, "whole"}}}.play(t)
		require.NoError(t, q.err)
		assert.Equal(t, q.prompt("s", 1), q.prompt("s", 2))
		assert.Contains(t, q.prompt("s", 1), "Attempt 1 scored 10 of 100")
		assert.Contains(t, q.prompt("s", 3), "Attempt 1 scored 10 of 100")
		assert.Contains(t, q.prompt("s", 3), "Attempt 3 scored 5 of 100")
		assert.Contains(t, q.prompt("s", 3), "<data name=\"previous attempt\">\nweaker\n</data>")
		assert.Equal(t, q.prompt("head", 0), q.prompt("head", 1))
		for name, requests := range q.asked {
			for _, req := range requests {
				assert.NotContains(t, req.Prompt, "10.1.2.3", name)
			}
		}
		assert.Contains(t, q.report(t, "d").Specialists[0].Attempts[1].Error, "10.1.2.3", "people see why")
		assert.Equal(t, "approved after 3 retries", q.report(t, "d").Specialists[0].ReviewNotes)
	})
	t.Run("N15 a Retrier may say something in its own words", func(t *testing.T) {
		th := theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{"s": {said("weak", 10), errBoom, said("x", 90)}, "head": {"whole"}}}
		th.cfg.Rules.Retrier = orchestrator.RetrierFunc(func(_ orchestrator.Working, tries []orchestrator.Try) orchestrator.Again {
			if tries[len(tries)-1].Err != nil {
				return orchestrator.Again{Retry: true, Agent: "s", Feedback: "Be quick."}
			}
			return orchestrator.Again{Retry: true}
		})
		q := th.play(t)
		assert.Contains(t, q.prompt("s", 2), "Be quick.")
		assert.Contains(t, q.prompt("s", 2), "weak", "the last work that there is")
		assert.NotContains(t, q.prompt("s", 2), "boom")
		assert.Empty(t, q.report(t, "d").Specialists[0].Attempts[2].Agent, "it named the usual one")
	})
	t.Run("N15 fresh tries after a failed call get the first prompt", func(t *testing.T) {
		th := theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{"s": {said("weak", 10), errBoom, said("x", 90)}, "head": {"whole"}}}
		th.cfg.Rules.Retrier = orchestrator.RetrierFunc(func(_ orchestrator.Working, tries []orchestrator.Try) orchestrator.Again {
			return orchestrator.Again{Retry: true, Fresh: len(tries) > 1}
		})
		q := th.play(t)
		assert.Equal(t, q.prompt("s", 0), q.prompt("s", 2))
		assert.NotEqual(t, q.prompt("s", 0), q.prompt("s", 1))
	})
	t.Run("N15 work that cannot be used is told of, as work", func(t *testing.T) {
		a := specialist("s", 60)
		a.Schema = []byte(`{"type":"object","required":["hat"]}`)
		q := theater{cfg: one(a), in: request(), cast: cast{"s": {"no json", errBoom, "null", `{"hat":"red"}`}, "head": {"whole"}}}.play(t)
		assert.Contains(t, q.prompt("s", 1), "Attempt 1 failed: malformed output")
		assert.Contains(t, q.prompt("s", 1), "The previous attempt gave no output that can be used.")
		assert.Equal(t, q.prompt("s", 1), q.prompt("s", 2))
		assert.Contains(t, q.prompt("s", 3), "Attempt 3 failed: the answer is empty")
	})
	t.Run("H61 the note has the retries", func(t *testing.T) {
		q := theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{"s": {said("a", 1), said("b", 2), said("c", 90)}, "head": {"whole"}}}.play(t)
		assert.Equal(t, "approved after 2 retries", q.report(t, "d").Specialists[0].ReviewNotes)
	})
	t.Run("HC26 the note without retries", func(t *testing.T) {
		q := theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{"s": {said("c", 90)}, "head": {"whole"}}}.play(t)
		assert.Equal(t, "approved by head", q.report(t, "d").Specialists[0].ReviewNotes)
	})
	t.Run("HX7 output against the agent's schema", func(t *testing.T) {
		a := specialist("s", 60)
		a.Schema = []byte(`{"type":"object","required":["hat"],"properties":{"hat":{"type":"string"},"qualityScore":{"type":"number"}}}`)
		q := theater{cfg: one(a), in: request(), cast: cast{"s": {"no json", `{"hat": "red", "qualityScore": 90}`}, "head": {"whole"}}}.play(t)
		s := q.report(t, "d").Specialists[0]
		assert.Contains(t, s.Attempts[0].Error, "malformed output")
		assert.Contains(t, q.asked["s"][1].Prompt, "Attempt 1 failed: malformed output")
		assert.JSONEq(t, `{"hat":"red","qualityScore":90}`, string(s.Output))
		assert.Equal(t, 90.0, s.Score)

		a.Schema, a.Attempts = []byte(`{"type":"string"}`), 1
		empty := theater{cfg: one(a), in: request(), cast: cast{"s": {agent.Response{Text: "here", Data: []byte(`""`)}}, "head": {"whole"}}}.play(t)
		assert.Equal(t, "the answer is empty", empty.report(t, "d").Specialists[0].Attempts[0].Error, "it fits, but there is nothing")

		opaque := theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{"s": {agent.Response{Text: `{"hat": `}}, "head": {"whole"}}}.play(t)
		assert.Equal(t, `{"hat": `, hierarchy.Text(opaque.report(t, "d").Specialists[0].Output), "without a schema any text is an output")
	})
	t.Run("HX10 a timeout is a failed attempt", func(t *testing.T) {
		assert.EqualValues(t, 300e9, p.asked["s"][0].Limits.Total)
		q := theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{"s": {hang(), said("x", 90)}, "head": {"whole"}}}.play(t)
		require.NoError(t, q.err)
		s := q.report(t, "d").Specialists[0]
		assert.Contains(t, s.Attempts[0].Error, "timeout")
		assert.Equal(t, 300*time.Second, s.Attempts[0].Duration)
		assert.Equal(t, grading.Approved, s.ReviewStatus)
	})
	t.Run("HC25 execution time is that of all attempts", func(t *testing.T) {
		cfg := one(specialist("s", 60))
		cfg.Rules.Grader = nil
		q := theater{cfg: cfg, in: request(), cast: cast{
			"s":    {delay(2, said("a", 0)), delay(3, said("b", 0))},
			"head": {delay(7, marks(10)), marks(90), "whole"},
		}}.play(t)
		require.NoError(t, q.err)
		assert.InDelta(t, 5, q.report(t, "d").Specialists[0].ExecutionTime.Seconds(), .005, "grading is not in it")
		assert.InDelta(t, 12, q.report(t, "d").Metadata.TotalExecutionTime.Seconds(), .01)
	})
	t.Run("HC40 temperature", func(t *testing.T) {
		assert.Equal(t, 0.7, *p.asked["s"][0].Temperature)
		a := specialist("s", 60)
		a.Temperature = new(0.0)
		q := theater{cfg: one(a), in: request(), cast: cast{"s": {said("x", 90)}, "head": {"whole"}}}.play(t)
		assert.Equal(t, 0.0, *q.asked["s"][0].Temperature)
	})
}

func TestGrading(t *testing.T) {
	graded := func(answers ...any) theater {
		cfg := one(specialist("s", 60))
		cfg.Rules.Grader = nil
		return theater{cfg: cfg, in: request(), cast: cast{"s": {"work"}, "head": append(answers, "whole")}}
	}
	t.Run("HA45 malformed twice, then a grade", func(t *testing.T) {
		p := graded("great!", "really great!", marks(80)).play(t)
		s := p.report(t, "d").Specialists[0]
		assert.Len(t, p.asked["head"], 3+1)
		assert.Equal(t, 80.0, s.Score)
		assert.Equal(t, grading.Approved, s.ReviewStatus)
		assert.Empty(t, p.out.Warnings)
		assert.NotContains(t, p.prompt("head", 2), "great!", "asked afresh")
	})
	t.Run("HA45 malformed four times is ungraded", func(t *testing.T) {
		p := graded("great!", "really!", "so good", "the best").play(t)
		s := p.report(t, "d").Specialists[0]
		assert.Len(t, p.asked["head"], 4+1, "and the head answers in its place")
		assert.Len(t, p.asked["s"], 1, "it is not made again for want of a grade")
		assert.Zero(t, s.Score)
		assert.False(t, s.ScoreDefaulted)
		assert.Equal(t, grading.Rejected, s.ReviewStatus)
		assert.True(t, strings.HasPrefix(s.ReviewNotes, "not graded: "), s.ReviewNotes)
		assert.Equal(t, "work", hierarchy.Text(s.Output))
	})
	t.Run("HX6 what a grader may not answer", func(t *testing.T) {
		for name, fault := range map[string]any{
			"scale": map[string]any{"quality": 85, "relevance": .5, "consistency": .5},
			"below": map[string]any{"quality": -.1, "relevance": .5, "consistency": .5},
			"NaN":   `{"quality": NaN, "relevance": 0.5, "consistency": 0.5}`,
			"word":  map[string]any{"quality": "abc", "relevance": .5, "consistency": .5},
			"ratio": map[string]any{"quality": "8/10", "relevance": .5, "consistency": .5},
		} {
			p := graded(fault, marks(80)).play(t)
			assert.Equal(t, 80.0, p.report(t, "d").Specialists[0].Score, name)
			assert.Len(t, p.asked["head"], 3, name)
		}
		quoted := graded(map[string]any{"quality": "0.85", "relevance": "0.85", "consistency": "0.85"}).play(t)
		assert.Equal(t, 85.0, quoted.report(t, "d").Specialists[0].Score)
		failed := graded(errors.New("down"), errors.New("still down")).play(t)
		assert.Equal(t, "still down", failed.report(t, "d").Specialists[0].Ungraded)
	})
	t.Run("N14 what a grader may answer in other words", func(t *testing.T) {
		p := graded(map[string]any{"grade": map[string]any{"quality": "85%", "relevance": "85 %", "consistency": 0.85, "suggestions": []string{}}}).play(t)
		assert.Equal(t, 85.0, p.report(t, "d").Specialists[0].Score)
		p = graded(map[string]any{"quality": .9, "relevance": .9, "consistency": .9, "suggestions": []string{}, "confidence": 1}).play(t)
		assert.Equal(t, 90.0, p.report(t, "d").Specialists[0].Score)
		assert.Equal(t, []orchestrator.Warning{{Code: "answer/extra-fields", Who: "head", Message: "extra fields were left out: confidence"}}, p.out.Warnings)
	})
	t.Run("HC5 graded, else own figure, else 75", func(t *testing.T) {
		th := graded(marks(0), marks(90)) // a real 0 stays 0
		th.cast["s"] = []any{said("work", 99), said("work", 99)}
		s := th.play(t).report(t, "d").Specialists[0]
		assert.Equal(t, 0.0, s.Attempts[0].Score)
		own := theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{"s": {said("work", 66)}, "head": {"whole"}}}
		s = own.play(t).report(t, "d").Specialists[0]
		assert.Equal(t, 66.0, s.Score)
		assert.False(t, s.ScoreDefaulted)
		asked := graded("?", "?", "?", "?")
		asked.cast["s"] = []any{said("work", 66)}
		assert.Zero(t, asked.play(t).report(t, "d").Specialists[0].Score, "its own figure is no grade where one was asked for")
	})
	t.Run("H56 no score is 75", func(t *testing.T) {
		p := theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{"s": {"work"}, "head": {"whole"}}}.play(t)
		assert.Equal(t, 75.0, p.report(t, "d").Specialists[0].Score)
	})
	t.Run("H39 weights", func(t *testing.T) {
		p := graded(map[string]any{"quality": .9, "relevance": .8, "consistency": .7}).play(t)
		assert.Equal(t, 81.0, p.report(t, "d").Specialists[0].Score) // 36+24+21
	})
	decided := func(t *testing.T, percent, threshold float64) grading.Decision {
		t.Helper()
		th := graded(marks(percent))
		a := &th.cfg.Departments[0].Agents[0]
		a.PassingThreshold, a.Attempts = &threshold, 1
		return th.play(t).report(t, "d").Specialists[0].Attempts[0].Decision
	}
	t.Run("H40 percentage", func(t *testing.T) {
		assert.Equal(t, 60.0, graded(marks(60)).play(t).report(t, "d").Specialists[0].Score)
	})
	t.Run("H41 accept from the threshold", func(t *testing.T) {
		assert.Equal(t, grading.Accept, decided(t, 60, 60))
		assert.Equal(t, grading.Revise, decided(t, 59.96, 60))
	})
	t.Run("H42 revise from twenty below", func(t *testing.T) { assert.Equal(t, grading.Revise, decided(t, 40, 60)) })
	t.Run("H43 discard below that", func(t *testing.T) { assert.Equal(t, grading.Discard, decided(t, 39.6, 60)) })
	t.Run("HC21 rounded before it is compared", func(t *testing.T) {
		th := graded(map[string]any{"quality": .7, "relevance": .85, "consistency": .75})
		th.cfg.Departments[0].Agents[0].PassingThreshold = new(76.0)
		assert.Equal(t, grading.RevisionNeeded, th.play(t).report(t, "d").Specialists[0].ReviewStatus)
	})
	t.Run("HC37 the head grades once per attempt and review reuses it", func(t *testing.T) {
		p := graded(marks(80)).play(t)
		assert.Len(t, p.asked["head"], 1+1)
		assert.Contains(t, p.asked["head"][1].Prompt, "<data name=\"output\">\nwork\n</data>")
		for score, want := range map[string]float64{`{"qualityScore": "82"}`: 82, `{"qualityScore": null}`: 75, `{"score": 10}`: 75, `words {"qualityScore": 10}`: 75} {
			q := theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{"s": {score}, "head": {"whole"}}}.play(t)
			assert.Equal(t, want, q.report(t, "d").Specialists[0].Score, score)
		}
	})
	t.Run("HX11 a panicking hook", func(t *testing.T) {
		th := graded()
		delete(th.cast, "head")
		th.cfg.Rules.Grader = orchestrator.GradeWith(func(*orchestrator.Context, hierarchy.Work) (hierarchy.Grade, error) { panic("ouch") })
		p := th.play(t)
		require.ErrorIs(t, p.err, hierarchy.ErrRule)
		assert.Equal(t, "Rules.Grader panicked: ouch", p.report(t, "d").Specialists[0].Ungraded)
		assert.Equal(t, orchestrator.Warning{Code: "hierarchy/rule", Who: "s", Message: "Rules.Grader panicked: ouch"}, p.out.Warnings[0])

		th = theater{cfg: one(specialist("s", 60)), in: request()}
		th.cfg.Rules.Selector = routing.SelectorFunc(func([]routing.Candidate, routing.Need) []routing.Candidate { panic("ouch") })
		p = th.play(t)
		assert.Equal(t, hierarchy.DepartmentFailed, p.report(t, "d").Status)
		require.ErrorContains(t, p.err, "Rules.Selector panicked: ouch")

		th = theater{cfg: one(specialist("s", 60)), in: request()}
		th.cfg.Rules.Threshold = grading.ThresholdFunc(func(grading.Subject, []float64) float64 { panic("ouch") })
		p = th.play(t)
		require.ErrorIs(t, p.err, hierarchy.ErrRule)
		assert.Contains(t, p.report(t, "d").Specialists[0].ReviewNotes, "Rules.Threshold panicked: ouch")
	})
}
