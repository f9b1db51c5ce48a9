package hierarchy_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

// gradedPair is a department with the specialists A and B, which need 60, and a head
// that grades: A as a says, B as b does.
func gradedPair(a, b any) theater {
	th := theater{cfg: one(specialist("A", 60), specialist("B", 60)), in: request(), cast: cast{
		"A": {on{"", "work of A"}}, "B": {on{"", "work of B"}},
		"head": {
			on{"Write one new result", "whole"},
			on{"work of A", a},
			on{"work of B", b},
			on{"Your answer cannot be used", "still no idea"},
			on{"draw a detailed hat", "the head's own"},
		},
	}}
	th.cfg.Rules.Grader = nil
	return th
}

// fallbackOnly is HA57: no work is graded, so that the head answers.
func fallbackOnly() theater { return gradedPair("no idea", "no idea") }

// unpaid is HA58: two calls are paid for, and no grade.
func unpaid() theater {
	th := gradedPair(marks(30), marks(30))
	th.cfg.Limits.Calls = 2
	return th
}

func TestUngraded(t *testing.T) {
	t.Run("HA56 one of two is never graded", func(t *testing.T) {
		p := gradedPair(marks(80), "no idea").play(t)
		require.NoError(t, p.err)
		r := p.report(t, "d")
		assert.Len(t, p.asked["B"], 1)
		assert.Len(t, p.asked["head"], 1+4+1, "a grade of A, four attempts at one of B, the synthesis")
		assert.Equal(t, 62.0, r.RawQuality) // 50*.6 + 80*.4
		assert.Equal(t, 62, r.QualityScore)
		synthesis := p.promptWith("head", "Write one new result")
		assert.Contains(t, synthesis, "work of A")
		assert.NotContains(t, synthesis, "work of B")
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		require.Equal(t, []string{"hierarchy/ungraded"}, p.codes())
		assert.Equal(t, "B", p.out.Warnings[0].Who)
		assert.Equal(t, []int{1, 1, 2}, []int{r.Metadata.SuccessfulSpecialists, r.Metadata.FailedSpecialists, r.Metadata.SpecialistsUsed})
	})
	t.Run("HA57 none is graded", func(t *testing.T) {
		p := fallbackOnly().play(t)
		require.NoError(t, p.err)
		r := p.report(t, "d")
		assert.Equal(t, 2+8+1, p.calls())
		assert.Equal(t, hierarchy.HeadAfterFailure, r.Basis)
		assert.Equal(t, 85, r.QualityScore)
		require.NotNil(t, r.SpecialistQuality)
		assert.Zero(t, *r.SpecialistQuality)
		assert.Equal(t, "the head's own", hierarchy.Text(r.Output))
		assert.Equal(t, []string{"d"}, p.out.Unverified)
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.Equal(t, []string{"hierarchy/ungraded", "hierarchy/ungraded", "hierarchy/specialists-rejected"}, p.codes())
	})
	t.Run("HC42 one ungraded specialist is enough when none passed", func(t *testing.T) {
		th := gradedPair(marks(10), "no idea")
		th.cfg.Policy.Attempts = 1
		p := th.play(t)
		assert.Equal(t, []string{"d"}, p.out.Unverified)
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		require.NotNil(t, p.report(t, "d").SpecialistQuality)
		assert.Equal(t, 4.0, *p.report(t, "d").SpecialistQuality) // 0 + 10*.4
	})
	t.Run("HC42 graded and rejected ones are enough to see", func(t *testing.T) {
		th := gradedPair(marks(10), marks(10))
		th.cfg.Policy.Attempts = 1
		p := th.play(t)
		assert.Empty(t, p.out.Unverified)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
	})
	t.Run("HA58 money ends before grades", func(t *testing.T) {
		p := unpaid().play(t)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		assert.Equal(t, orchestrator.OutOfBudget, p.out.Status)
		assert.Equal(t, 2, p.calls())
		r := p.report(t, "d")
		assert.Equal(t, hierarchy.DepartmentFailed, r.Status)
		for i, want := range []string{"work of A", "work of B"} {
			assert.Equal(t, want, hierarchy.Text(r.Specialists[i].Output))
			assert.Equal(t, grading.Rejected, r.Specialists[i].ReviewStatus)
			assert.Equal(t, "not graded: budget: the limit of 2 calls is reached", r.Specialists[i].ReviewNotes)
		}
		assert.Nil(t, p.out.Score)
	})
	t.Run("HC42 no gate", func(t *testing.T) {
		th := gradedPair(marks(90), "no idea")
		th.cfg.Departments[0].Agents[1].PassingThreshold = new(0.0)
		p := th.play(t)
		s := p.report(t, "d").Specialists[1]
		assert.Equal(t, grading.Approved, s.ReviewStatus)
		assert.True(t, strings.HasPrefix(s.ReviewNotes, "auto-approved, no threshold is set; not graded: "), s.ReviewNotes)
		assert.Equal(t, grading.Accept, s.Attempts[0].Decision)
		assert.Equal(t, 96.0, p.report(t, "d").RawQuality, "approved, and not in the mean") // 60 + 90*.4
		assert.Equal(t, []string{"hierarchy/ungraded"}, p.codes())
		assert.Contains(t, p.promptWith("head", "Write one new result"), "Score: not graded\n")
		assert.Equal(t, orchestrator.Completed, p.out.Status)
	})
	t.Run("HC42 a grade that comes the second time counts", func(t *testing.T) {
		th := gradedPair(marks(80), nil)
		th.cfg.Departments[0].Agents = th.cfg.Departments[0].Agents[:1]
		th.cast["head"] = []any{errors.New("down"), marks(80), "whole"}
		p := th.play(t)
		assert.Equal(t, 80.0, p.report(t, "d").Specialists[0].Score)
		assert.Empty(t, p.out.Warnings)
	})
	t.Run("HC42 an earlier grade stands beside an ungraded attempt", func(t *testing.T) {
		th := theater{cfg: one(specialist("A", 60)), in: request(), cast: cast{
			"A": {"first", "second"}, "head": {marks(30), "?", "?", "?", "?", "the head's own"},
		}}
		th.cfg.Rules.Grader = nil
		p := th.play(t)
		s := p.report(t, "d").Specialists[0]
		assert.Equal(t, 30.0, s.Score)
		assert.Equal(t, "first", hierarchy.Text(s.Output))
		assert.Empty(t, s.Ungraded)
		assert.Equal(t, "score 30 is below the threshold of 60", s.ReviewNotes)
		assert.Len(t, s.Attempts, 2)
		assert.Equal(t, []string{"hierarchy/ungraded", "hierarchy/specialists-rejected"}, p.codes())
		assert.Empty(t, p.out.Unverified)
	})
	t.Run("HC42 an ungraded output stands for an attempt that failed", func(t *testing.T) {
		th := theater{cfg: one(specialist("A", 60)), in: request(), cast: cast{"A": {errBoom, "second"}, "head": {"?", "?", "?", "?", "the head's own"}}}
		th.cfg.Rules.Grader = nil
		s := th.play(t).report(t, "d").Specialists[0]
		assert.Equal(t, "second", hierarchy.Text(s.Output))
		assert.NotEmpty(t, s.Ungraded)
	})
	t.Run("HC24 an output that scored 0 stands for one that is missing", func(t *testing.T) {
		a := specialist("s", 60)
		a.Attempts = 2
		s := theater{cfg: one(a), in: request(), cast: cast{"s": {said("poor", 0), errBoom}, "head": {"x"}}}.play(t).report(t, "d").Specialists[0]
		assert.Equal(t, "poor", hierarchy.Text(s.Output))
	})
	t.Run("N2 an assumed score is marked", func(t *testing.T) {
		th := gradedPair(marks(80), "no idea")
		th.cfg.Policy.AssumeScore = new(70.0)
		p := th.play(t)
		s := p.report(t, "d").Specialists[1]
		assert.Equal(t, 70.0, s.Score)
		assert.NotEmpty(t, s.Assumed)
		assert.Empty(t, s.Ungraded)
		assert.Equal(t, grading.Approved, s.ReviewStatus)
		assert.Equal(t, []string{"hierarchy/assumed-score"}, p.codes())
		assert.True(t, strings.HasPrefix(p.out.Warnings[0].Message, "score 70 in place of a grade: "), p.out.Warnings[0].Message)
		assert.Equal(t, 90.0, p.report(t, "d").RawQuality) // 60 + 75*.4
	})
	t.Run("N2 work is not made again for want of a grade, assumed or not", func(t *testing.T) {
		th := gradedPair(marks(80), "no idea")
		th.cfg.Policy.AssumeScore = new(50.0)
		p := th.play(t)
		assert.Len(t, p.asked["B"], 1)
		assert.Equal(t, grading.Rejected, p.report(t, "d").Specialists[1].ReviewStatus)
		assert.EqualValues(t, "failed", p.events(t, hierarchy.EventSpecialistFinished)[1].Status)
	})
	t.Run("N8 the scale of grades is in the schema and the prompt", func(t *testing.T) {
		p := gradedPair(marks(80), marks(80)).play(t)
		i := slices.IndexFunc(p.asked["head"], func(req agent.Request) bool { return strings.Contains(req.Prompt, "work of A") && req.Output != nil })
		require.GreaterOrEqual(t, i, 0)
		req := p.asked["head"][i]
		for _, field := range []string{"quality", "relevance", "consistency"} {
			assert.Contains(t, string(req.Output), fmt.Sprintf(`"%s":{"type":"number","minimum":0,"maximum":1}`, field))
		}
		assert.Contains(t, req.Prompt, "from 0 to 1")
	})
	t.Run("N8 a head that grades on another scale passes nothing", func(t *testing.T) {
		for _, percent := range []float64{9000, 150} {
			p := gradedPair(marks(percent), marks(percent)).play(t)
			assert.Equal(t, []string{"hierarchy/ungraded", "hierarchy/ungraded", "hierarchy/specialists-rejected"}, p.codes())
		}
	})
}

// writtenBy is a department whose head writes what it is cast to, and is graded by
// what its texts are worth.
func writtenBy(worth map[string]float64, head ...any) theater {
	th := trio(60, 90)
	th.cast["head"] = head
	th.cfg.Policy.GradeHeads = true
	th.cfg.Departments[0].MinQuality = new(60.0)
	th.cfg.Rules.Grader = orchestrator.GradeWith(func(_ *orchestrator.Context, w hierarchy.Work) (hierarchy.Grade, error) {
		if score, ok := worth[hierarchy.Text(w.Output)]; ok {
			return hierarchy.Grade{Score: &score}, nil
		}
		if w.Agent.ID != "head" {
			return hierarchy.Grade{}, nil
		}
		return hierarchy.Grade{}, errors.New("no words")
	})
	return th
}

func TestGradedSynthesis(t *testing.T) {
	worth := map[string]float64{"weak": 40, "fair": 50, "good": 60, "fine": 80}
	t.Run("HC43 tried again with feedback", func(t *testing.T) {
		p := writtenBy(worth, "weak", "good").play(t)
		require.NoError(t, p.err)
		r := p.report(t, "d")
		assert.Equal(t, "good", hierarchy.Text(r.Output))
		assert.Contains(t, p.prompt("head", 1), "Attempt 1 scored 40 of 100, below the threshold of 60.")
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		assert.Empty(t, p.out.Warnings)
		assert.Equal(t, 96.0, r.RawQuality, "the quality is that of the specialists") // 60 + 90*.4
	})
	t.Run("HC43 the best is used and is unverified", func(t *testing.T) {
		p := writtenBy(worth, "weak", "fair", "weak", "weak").play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.asked["head"], 4)
		assert.Equal(t, "fair", hierarchy.Text(p.report(t, "d").Output))
		assert.Equal(t, hierarchy.FromSpecialists, p.report(t, "d").Basis)
		assert.Equal(t, []string{"d"}, p.out.Unverified)
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.Equal(t, []orchestrator.Warning{{Code: "hierarchy/below-gate", Who: "d", Message: "the best synthesis scored 50, below the head's threshold"}}, p.out.Warnings)
	})
	t.Run("HC43 by the retries of the department", func(t *testing.T) {
		th := writtenBy(worth, "weak")
		th.cfg.Departments[0].Attempts = 1
		p := th.play(t)
		assert.Len(t, p.asked["head"], 1)
	})
	t.Run("HC43 one that is not graded is unverified and not written again", func(t *testing.T) {
		p := writtenBy(worth, "unheard of").play(t)
		assert.Len(t, p.asked["head"], 1)
		assert.Equal(t, "unheard of", hierarchy.Text(p.report(t, "d").Output))
		assert.Equal(t, []string{"d"}, p.out.Unverified)
		assert.Equal(t, []orchestrator.Warning{{Code: "hierarchy/ungraded", Who: "head", Message: "no words"}}, p.out.Warnings)
	})
	t.Run("HC43 what was written before money ended is used", func(t *testing.T) {
		th := writtenBy(worth, "weak")
		th.cfg.Limits.Calls = 2
		p := th.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "weak", hierarchy.Text(p.report(t, "d").Output))
		assert.Equal(t, []string{"d"}, p.out.Unverified)
		assert.Equal(t, []string{"hierarchy/below-gate", "hierarchy/budget"}, p.codes())
	})
	t.Run("HC43 a later round replaces a draft only if it is as good", func(t *testing.T) {
		th := writtenBy(worth, "fine", "good")
		th.cfg.Policy.SynthesisRounds = 2
		assert.Equal(t, "fine", hierarchy.Text(th.play(t).report(t, "d").Output))
		th.cast["head"] = []any{"good", "fine"}
		p := th.play(t)
		assert.Equal(t, "fine", hierarchy.Text(p.report(t, "d").Output))
		assert.Empty(t, p.out.Unverified)
	})
	t.Run("HC42 a direct answer that is not graded is used and unverified", func(t *testing.T) {
		th := writtenBy(worth, "unheard of")
		th.cfg.Departments[0].Agents, th.in = nil, hierarchy.Input{Prompt: "a hat"}
		delete(th.cast, "a")
		p := th.play(t)
		require.NoError(t, p.err)
		r := p.report(t, "d")
		assert.Equal(t, "unheard of", hierarchy.Text(r.Output))
		assert.Equal(t, "no words", r.Ungraded)
		assert.Zero(t, r.QualityScore)
		assert.False(t, r.PassedGate)
		assert.Nil(t, p.out.Score, "no department has one")
		assert.Equal(t, []string{"d"}, p.out.Unverified)
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.Nil(t, p.events(t, hierarchy.EventDepartmentFinished)[0].Score)
	})
	t.Run("HC42 a head that was graded and passed is verified", func(t *testing.T) {
		th := writtenBy(map[string]float64{"good": 60}, "good")
		th.cfg.Rules.Grader = orchestrator.GradeWith(func(_ *orchestrator.Context, w hierarchy.Work) (hierarchy.Grade, error) {
			if w.Agent.ID == "head" {
				return hierarchy.Grade{Score: new(60.0)}, nil
			}
			return hierarchy.Grade{}, errBoom
		})
		p := th.play(t)
		assert.Equal(t, hierarchy.HeadAfterFailure, p.report(t, "d").Basis)
		assert.Equal(t, 60.0, p.report(t, "d").RawQuality)
		assert.Empty(t, p.out.Unverified)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
	})
	t.Run("HC13 an ungraded department is not in the overall quality", func(t *testing.T) {
		cfg := heads("a", "b")
		cfg.Policy.GradeHeads = true
		cfg.Rules.Grader = orchestrator.GradeWith(func(_ *orchestrator.Context, w hierarchy.Work) (hierarchy.Grade, error) {
			if w.Department.ID == "a" {
				return hierarchy.Grade{}, errBoom
			}
			return hierarchy.Grade{Score: new(90.0)}, nil
		})
		p := theater{cfg: cfg, in: hierarchy.Input{Prompt: "go"}, cast: cast{"a-head": {"x"}, "b-head": {"y"}}}.play(t)
		require.NotNil(t, p.out.Score)
		assert.Equal(t, 90.0, *p.out.Score)
		assert.Len(t, p.out.Output, 2)
		assert.Equal(t, []string{"a"}, p.out.Unverified)
	})
}

func TestFamily(t *testing.T) {
	t.Run("HC44 skills of inactive specialists do not filter", func(t *testing.T) {
		gone, x := specialist("gone", 60), specialist("x", 60)
		gone.Skills, gone.Inactive, x.Skills = []string{"hat"}, true, []string{"shoes"}
		p := theater{cfg: one(gone, x), in: request(), cast: cast{"x": {said("y", 90)}, "head": {"whole"}}}.play(t)
		assert.Equal(t, []string{"x"}, p.events(t, hierarchy.EventSpecialistsSelected)[0].Agents)
	})
	t.Run("HC46 temperature 0.7, as set, or none", func(t *testing.T) {
		sent := func(x *float64) map[string]*float64 {
			cfg := one(specialist("s", 60), hierarchy.Agent{ID: "head", Temperature: x})
			cfg.Departments[0].Agents[0].Temperature = x
			cfg.Rules.Grader, cfg.Master.Agent = nil, "director"
			p := theater{cfg: cfg, in: request(), cast: cast{"s": {"work"}, "head": {marks(90), "whole"}, "director": {"all"}}}.play(t)
			return map[string]*float64{
				"specialist": p.asked["s"][0].Temperature, "grade": p.asked["head"][0].Temperature,
				"synthesis": p.asked["head"][1].Temperature, "master": p.asked["director"][0].Temperature,
			}
		}
		for set, want := range map[*float64]*float64{nil: new(0.7), new(0.2): new(0.2), new(float64(orchestrator.None)): nil} {
			got := sent(set)
			assert.Equal(t, new(0.7), got["master"])
			delete(got, "master")
			assert.Equal(t, map[string]*float64{"specialist": want, "grade": want, "synthesis": want}, got)
		}
	})
	t.Run("N1 an agent's own cancellation and ErrBudget are failures of that agent", func(t *testing.T) {
		for _, own := range []error{context.Canceled, orchestrator.ErrCanceled, orchestrator.ErrBudget} {
			for role, head := range map[string][]any{"a grade": {own, own, "x"}, "a synthesis": {marks(90), own, "whole"}} {
				th := theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{"s": {"work"}, "head": head}}
				th.cfg.Rules.Grader, th.cfg.Limits.Cost = nil, providers.USD
				p := th.play(t)
				require.NoError(t, p.err, role)
				assert.NotContains(t, p.codes(), "hierarchy/budget", role)
			}
		}
		th := theater{cfg: heads("a"), in: hierarchy.Input{Prompt: "go"}, cast: cast{"a-head": {"x"}, "director": {orchestrator.ErrBudget}}}
		th.cfg.Master.Agent = "director"
		p := th.play(t)
		assert.Equal(t, orchestrator.Failed, p.out.Status)
		require.ErrorIs(t, p.err, hierarchy.ErrUnable)
		assert.Len(t, p.out.Output, 1, "what was finished is there")
	})
	t.Run("H4 the error says why, once", func(t *testing.T) {
		key := &providers.Error{Kind: providers.Permanent, Model: "openai:gpt", Status: 401, Message: "bad key"}
		p := theater{cfg: one(), in: hierarchy.Input{Prompt: "a"}, cast: cast{"head": {on{"", key}}}}.play(t)
		require.ErrorContains(t, p.err, "openai:gpt")
		require.ErrorContains(t, p.err, "bad key")
		assert.Equal(t, 1, strings.Count(p.err.Error(), "hierarchy"), p.err.Error())
		assert.NotContains(t, p.err.Error(), "unable", "the code is not in the text")
	})
	t.Run("H54 as many retries as there are numbers", func(t *testing.T) {
		a := specialist("s", 60)
		a.Attempts = math.MaxInt
		p := theater{cfg: one(a), in: request(), cast: cast{"s": {said("x", 1), said("x", 2), said("x", 90)}, "head": {"whole"}}}.play(t)
		assert.Len(t, p.asked["s"], 3)
	})
	t.Run("H5 the team's retries are the default", func(t *testing.T) {
		cfg := one(specialist("s", 60), specialist("z", 60))
		cfg.Policy, cfg.Departments[0].Agents[1].Attempts = hierarchy.Policy{Attempts: 2, HeadAttempts: 1}, 3
		p := theater{cfg: cfg, in: request(), cast: cast{"s": {on{"", said("x", 1)}}, "z": {on{"", said("x", 1)}}, "head": {errBoom}}}.play(t)
		assert.Equal(t, []int{2, 3, 1}, []int{len(p.asked["s"]), len(p.asked["z"]), len(p.asked["head"])})
	})
	t.Run("HC42 a grade is asked for without the schema of the head's work", func(t *testing.T) {
		cfg := one(specialist("s", 60), hierarchy.Agent{ID: "head", Schema: []byte(`{"type":"object","required":["hat"]}`)})
		cfg.Rules.Grader = nil
		p := theater{cfg: cfg, in: request(), cast: cast{"s": {"work"}, "head": {marks(90), `{"hat":1}`}}}.play(t)
		require.NoError(t, p.err)
		for _, req := range p.asked["head"] {
			grades := strings.Contains(req.Prompt, "Give three figures")
			assert.Equal(t, grades, strings.Contains(string(req.Output), "consistency"))
			assert.Equal(t, !grades, strings.Contains(string(req.Output), "hat"))
		}
	})
	t.Run("HC47 estimates and limits reach every call", func(t *testing.T) {
		cfg := one(specialist("s", 60), specialist("z", 60))
		cfg.Departments[0].Agents[1].Estimate = 7
		cfg.Limits = team.Limits{Cost: 100, Estimate: 3, AllowUnpriced: true}
		cfg.Rules.Grader, cfg.Policy.ResolveConflicts, cfg.Policy.SynthesisRounds = nil, true, 2
		cfg.Master = hierarchy.Master{Agent: "director", Consistency: "brain"}
		p := theater{cfg: cfg, in: request(), cast: cast{
			"s": {"work"}, "z": {"other work"}, "director": {"all"}, "brain": {map[string]any{"issues": []any{}}},
			"head": {on{"Give three figures", marks(90)}, on{"contradict each other", "they agree"}, on{"", "whole"}},
		}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 2+2+1+1+1+2, p.calls())
		for name, reqs := range p.asked {
			for _, req := range reqs {
				want := providers.NanoUSD(3)
				if name == "z" {
					want = 7
				}
				assert.Equal(t, want, req.Limits.Estimate, name)
				assert.LessOrEqual(t, req.Limits.Cost, providers.NanoUSD(100), name)
				assert.NotZero(t, req.Limits.Cost, name)
				assert.True(t, req.Limits.AllowUnpriced, name)
				assert.NotZero(t, req.Limits.Total, name)
			}
		}
	})
	t.Run("N4 an estimate that does not fit is refused before the call", func(t *testing.T) {
		th := theater{cfg: heads("a"), in: hierarchy.Input{Prompt: "go"}}
		th.cfg.Limits = team.Limits{Cost: 100, Estimate: 101}
		p := th.play(t)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		assert.Zero(t, p.calls())
	})
	t.Run("HC42 H57 an answer of the head that is not graded is approved without a gate", func(t *testing.T) {
		th := writtenBy(nil, "plain")
		th.in, th.cfg.Departments[0].Agents = hierarchy.Input{Prompt: "a hat"}, []hierarchy.Agent{specialist("head", 0)}
		delete(th.cast, "a")
		p := th.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		assert.Empty(t, p.out.Unverified)
		assert.Nil(t, p.out.Score)
		assert.Equal(t, []string{"hierarchy/ungraded"}, p.codes())
	})
	t.Run("HC42 an ungraded attempt ranks below one that is graded 0", func(t *testing.T) {
		th := gradedPair(nil, nil)
		th.cfg.Departments[0].Agents = th.cfg.Departments[0].Agents[:1]
		th.cast["A"] = []any{"a bad one", "a later one"}
		th.cast["head"] = []any{on{"a bad one", marks(0)}, on{"a later one", "no idea"}, on{"Your answer cannot be used", "still none"}, on{"draw a detailed hat", "the head's own"}}
		s := th.play(t).report(t, "d").Specialists[0]
		require.Len(t, s.Attempts, 2)
		assert.Equal(t, "a bad one", hierarchy.Text(s.Output))
	})
	t.Run("HX6 what is compared is rounded to six decimals, and a pass has no feedback", func(t *testing.T) {
		th := theater{cfg: one(specialist("s", 79.99999999)), in: request(), cast: cast{"s": {"work"}, "head": {"whole"}}}
		th.cfg.Rules.Grader = orchestrator.GradeWith(func(*orchestrator.Context, hierarchy.Work) (hierarchy.Grade, error) {
			return hierarchy.Grade{Score: new(89.99999999)}, nil
		})
		s := th.play(t).report(t, "d").Specialists[0]
		assert.Equal(t, []float64{80, 90}, []float64{s.Threshold, s.Score})
		assert.Empty(t, s.Attempts[0].Feedback)
		th.cfg.Rules.Threshold = grading.ThresholdFunc(func(grading.Subject, []float64) float64 { return 69.99999999 })
		assert.Equal(t, 70.0, th.play(t).report(t, "d").Specialists[0].Threshold)
	})
	t.Run("HC47 the first refusal is told", func(t *testing.T) {
		th := theater{cfg: heads("a", "b"), in: hierarchy.Input{Prompt: "go"}}
		th.cfg.Limits.Cost = providers.USD
		for i, usd := range []providers.NanoUSD{7, 9} {
			d := &th.cfg.Departments[i]
			d.Agents = []hierarchy.Agent{{ID: d.Head, Estimate: usd * providers.USD}}
		}
		p := th.play(t)
		require.ErrorContains(t, p.err, "no department finished: budget: 1 of 1 USD are left, and the call to \"a-head\" wants 7, its Limits.Estimate")
		last := p.out.Warnings[len(p.out.Warnings)-1]
		assert.Equal(t, "hierarchy/budget", last.Code)
		assert.Contains(t, last.Message, "wants 7,")
	})
	t.Run("H4 a master that fails after a refusal has failed", func(t *testing.T) {
		th := theater{cfg: heads("a", "b"), in: hierarchy.Input{Prompt: "go"}, cast: cast{"a-head": {"x"}, "director": {errBoom}}}
		th.cfg.Limits.Cost, th.cfg.Master.Agent = providers.USD, "director"
		th.cfg.Departments[1].Agents = []hierarchy.Agent{{ID: "b-head", Estimate: 9 * providers.USD}}
		p := th.play(t)
		assert.Equal(t, orchestrator.Failed, p.out.Status)
		require.ErrorIs(t, p.err, hierarchy.ErrUnable)
		require.ErrorContains(t, p.err, `master "director": boom`)
		assert.Contains(t, p.codes(), "hierarchy/budget")
	})
	t.Run("HX16 what the host does with its Config after New changes nothing", func(t *testing.T) {
		assumed := gradedPair(marks(80), "no idea")
		assumed.cfg.Policy.AssumeScore = new(70.0)
		assumed.after = func(cfg *hierarchy.Config) { *cfg.Policy.AssumeScore = 0 }
		assert.Equal(t, 70.0, assumed.play(t).report(t, "d").Specialists[1].Score)

		th := theater{cfg: one(specialist("s", 60)), in: hierarchy.Input{Prompt: "a fancy hat"}, cast: cast{"s": {said("{}", 70)}, "head": {"whole"}}}
		s := &th.cfg.Departments[0].Agents[0]
		s.PassingThreshold, s.Schema, s.SuccessRate, s.Skills = nil, []byte(`{"type":"object"}`), new(9.0), []string{"hat"}
		s.Attempts = 1
		th.cfg.Departments[0].MinQuality, th.cfg.Departments[0].DependsOn = new(70.0), []string{}
		terms := []string{"fancy"}
		th.cfg.Rules.Analyzer, th.cfg.Rules.Router = routing.Rules{ComplexTerms: terms}, orchestrator.ByKeywords{Cut: .5}
		th.cfg.Policy.HeadOnlyScore = new(10.0)
		th.cfg.Rules.Agents = []string{"s"}
		th.cfg.Rules.Validate = []hierarchy.Check{func(*orchestrator.Context, []hierarchy.Report) ([]hierarchy.Issue, error) { return nil, nil }}
		th.after = func(cfg *hierarchy.Config) {
			a := &cfg.Departments[0].Agents[0]
			copy(a.Schema, `{"type":"string"}`)
			*a.SuccessRate, a.Skills[0] = 101, "shoe"
			*cfg.Departments[0].MinQuality, terms[0] = 100, "plain"
			*cfg.Policy.HeadOnlyScore, cfg.Rules.Agents[0] = 99, "gone"
			cfg.Rules.Validate[0] = nil
		}
		p := th.play(t)
		require.NoError(t, p.err)
		assert.JSONEq(t, `{"type":"object"}`, string(p.asked["s"][0].Output))
		assert.Equal(t, []int{1, 0}, []int{p.report(t, "d").Metadata.SuccessfulSpecialists, p.report(t, "d").Metadata.FailedSpecialists})
		assert.EqualValues(t, "passed", p.out.Checks.CrossDepartment)
	})
	t.Run("H92 contradictions are asked about without the schema of the head's work", func(t *testing.T) {
		th := trio(60, 90, 90)
		th.cfg.Policy.ResolveConflicts = true
		th.cfg.Departments[0].Agents = append(th.cfg.Departments[0].Agents, hierarchy.Agent{ID: "head", Schema: []byte(`{"type":"object"}`)})
		th.cast["head"] = []any{"they agree", `{"hat":1}`}
		p := th.play(t)
		require.NoError(t, p.err)
		assert.Empty(t, p.asked["head"][0].Output)
		assert.NotEmpty(t, p.asked["head"][1].Output)
	})
	t.Run("HC47 money ends between two answers of a graded head", func(t *testing.T) {
		th := writtenBy(map[string]float64{"weak": 40}, "weak")
		th.cfg.Departments[0].Agents, th.in = nil, hierarchy.Input{Prompt: "a hat"}
		delete(th.cast, "a")
		th.cfg.Limits.Calls = 1
		p := th.play(t)
		assert.Equal(t, orchestrator.OutOfBudget, p.out.Status)
		assert.Equal(t, "weak", hierarchy.Text(p.report(t, "d").Output), "what was written is in the report")
		assert.Equal(t, orchestrator.Warning{Code: "hierarchy/department-failed", Who: "d", Message: "budget: the limit of 1 calls is reached"}, p.out.Warnings[0])
	})
	t.Run("N2 no score is assumed for a grade that a cancel cut", func(t *testing.T) {
		th := gradedPair(nil, nil)
		th.cfg.Departments[0].Agents = th.cfg.Departments[0].Agents[:1]
		th.cfg.Policy.AssumeScore = new(90.0)
		flow, err := hierarchy.New(th.cfg)
		require.NoError(t, err)
		synctest.Test(t, func(t *testing.T) {
			roster := agent.Roster{
				"A": agent.Func(func(context.Context, agent.Request) (agent.Response, error) { return agent.Response{Text: "work"}, nil }),
				"head": agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
					<-ctx.Done()
					return agent.Response{}, ctx.Err()
				}),
			}
			eng, err := orchestrator.NewLocal(orchestrator.Config{Agents: roster})
			require.NoError(t, err)
			run, err := flow.Start(t.Context(), eng, request(), orchestrator.StartOptions{})
			require.NoError(t, err)
			synctest.Wait()
			require.NoError(t, run.Cancel(t.Context(), "enough"))
			out, err := flow.Result(t.Context(), run)
			require.ErrorIs(t, err, orchestrator.ErrCanceled)
			s := out.Reports[0].Specialists[0]
			assert.Equal(t, "work", hierarchy.Text(s.Output))
			assert.Empty(t, s.Assumed)
			assert.NotEmpty(t, s.Ungraded)
			require.NoError(t, eng.Close(t.Context()))
		})
	})
	t.Run("HX1 a head that had failed before the cancel has failed", func(t *testing.T) {
		cfg := heads("a", "b")
		cfg.Policy.HeadAttempts = 1
		flow, err := hierarchy.New(cfg)
		require.NoError(t, err)
		synctest.Test(t, func(t *testing.T) {
			var failed atomic.Bool
			roster := agent.Roster{
				"a-head": agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
					failed.Store(true)
					return agent.Response{}, errBoom
				}),
				"b-head": agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
					<-ctx.Done()
					return agent.Response{}, ctx.Err()
				}),
			}
			eng, err := orchestrator.NewLocal(orchestrator.Config{Agents: roster})
			require.NoError(t, err)
			run, err := flow.Start(t.Context(), eng, hierarchy.Input{Prompt: "go"}, orchestrator.StartOptions{})
			require.NoError(t, err)
			synctest.Wait()
			require.True(t, failed.Load())
			require.NoError(t, run.Cancel(t.Context(), "enough"))
			out, err := flow.Result(t.Context(), run)
			require.ErrorIs(t, err, orchestrator.ErrCanceled)
			assert.Equal(t, orchestrator.Canceled, out.Status)
			assert.Equal(t, hierarchy.DepartmentFailed, out.Reports[0].Status)
			assert.Equal(t, hierarchy.DepartmentCanceled, out.Reports[1].Status)
			assert.Equal(t, []orchestrator.Warning{
				{Code: "hierarchy/agent-failed", Who: "a-head", Message: "failed 1 times, last: boom"},
				{Code: "hierarchy/department-failed", Who: "a", Message: "a-head failed 1 times, last: boom"},
			}, out.Warnings)
			assert.Empty(t, out.Message)
			require.NoError(t, eng.Close(t.Context()))
		})
	})
	t.Run("HX8 warnings are in the order of the route and of selection", func(t *testing.T) {
		cfg := heads("a", "b")
		th := theater{in: hierarchy.Input{Prompt: "go for a detailed hat"}, cast: cast{"a-head": {on{"", "x"}}, "b-head": {on{"", "y"}}}}
		for i, ids := range [][]string{{"a1", "a2"}, {"b1", "b2"}} {
			for j, id := range ids {
				a := specialist(id, 60)
				a.Attempts = 1
				cfg.Departments[i].Agents = append(cfg.Departments[i].Agents, a)
				th.cast[id] = []any{delay(9-4*i-2*j, errBoom)} // the last one fails first
			}
		}
		th.cfg = cfg
		var who []string
		for _, w := range th.play(t).out.Warnings {
			who = append(who, w.Who)
		}
		assert.Equal(t, []string{"a1", "a2", "a", "b1", "b2", "b"}, who)
	})
	t.Run("HC47 a specialist that made no try is told", func(t *testing.T) {
		th := trio(60, 90)
		th.cfg.Departments[0].Agents = append(th.cfg.Departments[0].Agents, specialist("b", 60))
		th.cfg.Departments[0].Serial, th.cfg.Limits.Calls = true, 1
		delete(th.cast, "head")
		p := th.play(t)
		assert.Contains(t, p.out.Warnings, orchestrator.Warning{
			Code: "hierarchy/agent-failed", Who: "b", Message: "stopped: budget: the limit of 1 calls is reached",
		})
		assert.Empty(t, p.report(t, "d").Specialists[1].Attempts)
	})
	t.Run("H93 each attempt that starts finishes", func(t *testing.T) {
		for name, th := range ends() {
			p := th.play(t)
			started, finished := map[string]int{}, map[string]int{}
			for _, e := range p.events(t, hierarchy.EventAttemptStarted) {
				started[fmt.Sprint(e.Path, *e.Attempt)]++
			}
			for _, e := range p.events(t, hierarchy.EventAttemptFinished) {
				finished[fmt.Sprint(e.Path, *e.Attempt)]++
			}
			assert.Equal(t, started, finished, name)
			assert.Len(t, p.events(t, "hierarchy.run.started"), 1, name)
			assert.Len(t, p.events(t, "hierarchy.run.finished"), 1, name)
			last := 0
			for _, kind := range []team.Kind{
				hierarchy.EventDepartmentFinished, hierarchy.EventDepartmentFailed, hierarchy.EventDepartmentSkipped, hierarchy.EventDepartmentCanceled,
			} {
				last += len(p.events(t, kind))
			}
			assert.Len(t, p.out.Reports, last, name)
		}
	})
}

// end is a run and the status in which it ends.
type end struct {
	theater
	status orchestrator.Status
}

// ends are runs that end in every way but a cancel, which comes from outside.
func ends() map[string]end {
	paid := func(text string, score float64, cost providers.NanoUSD) agent.Response {
		resp := said(text, score)
		resp.Usage = providers.Usage{Calls: 1, Cost: cost}
		return resp
	}
	broke := gradedPair(marks(30), marks(30))
	broke.cfg.Limits.Cost, broke.cast["A"] = 5, []any{paid("work of A", 90, 5)}
	late := writtenBy(map[string]float64{"weak": 40}, paid("weak", 0, 4))
	late.cfg.Limits.Cost, late.cast["a"] = 5, []any{paid("work", 90, 1)}
	skipped := theater{cfg: heads("a"), in: hierarchy.Input{Prompt: "go"}, cast: cast{"a-head": {paid("x", 0, 5)}}}
	skipped.cfg.Master, skipped.cfg.Limits.Cost = hierarchy.Master{Agent: "director", Consistency: "brain"}, 5
	masterless := theater{cfg: heads("a"), in: hierarchy.Input{Prompt: "go"}, cast: cast{"a-head": {"x"}, "director": {errBoom}}}
	masterless.cfg.Master.Agent = "director"
	slow := theater{cfg: heads("a", "b"), in: hierarchy.Input{Prompt: "go"}, cast: cast{"a-head": {delay(50, "x")}, "b-head": {hang()}}}
	slow.cfg.Limits.Time = time.Minute
	idle := theater{cfg: heads("a"), in: hierarchy.Input{Prompt: "go"}, cast: cast{"a-head": {hang()}}}
	idle.cfg.Limits.Time = time.Minute
	strict := fallbackOnly()
	strict.cfg.Policy.FailOnPartial = true
	assumed := gradedPair(marks(80), "no idea")
	assumed.cfg.Policy.AssumeScore = new(70.0)
	few := theater{cfg: heads("a", "b"), in: hierarchy.Input{Prompt: "go"}, cast: cast{"a-head": {on{"", "x"}}, "b-head": {on{"", "y"}}}}
	few.cfg.Limits.Calls, few.cfg.Bounds.ParallelDepartments = 1, 1

	all := map[string]end{
		"completed":                       {premiere(), orchestrator.Completed},
		"completed, a score is assumed":   {assumed, orchestrator.Completed},
		"partial":                         {shaken(), orchestrator.Partial},
		"unverified":                      {fallbackOnly(), orchestrator.Partial},
		"unverified, and an error":        {strict, orchestrator.Partial},
		"out of money":                    {broke, orchestrator.OutOfBudget},
		"below the gate and out of money": {late, orchestrator.Partial},
		"master skipped":                  {skipped, orchestrator.Partial},
		"master failed":                   {masterless, orchestrator.Failed},
		"no synthesis":                    {essays(four("Sorry.")...), orchestrator.Partial},
		"a figure off its scale":          {selfish(), orchestrator.Partial},
		"refused prompt":                  {theater{cfg: one(), in: hierarchy.Input{Prompt: " "}}, orchestrator.Failed},
		"no such department":              {theater{cfg: one(), in: hierarchy.Input{Prompt: "a hat", Only: []string{"x"}}}, orchestrator.Failed},
		"failed":                          {theater{cfg: one(), in: hierarchy.Input{Prompt: "a hat"}, cast: cast{"head": {errBoom, "", errBoom, errBoom}}}, orchestrator.Failed},
		"out of time":                     {slow, orchestrator.Partial},
		"out of time, nothing is done":    {idle, orchestrator.OutOfBudget},
		"out of calls, one is done":       {few, orchestrator.Partial},
	}
	for n, status := range []orchestrator.Status{
		1: orchestrator.OutOfBudget, orchestrator.OutOfBudget, // between the specialists, and before their grades
		orchestrator.Partial, // between the grades: one specialist has passed
		orchestrator.Partial, // before the contradictions
		orchestrator.Partial, // before the synthesis
		orchestrator.Partial, // before the master
		orchestrator.Partial, // before the consistency
		orchestrator.Completed,
	} {
		if n > 0 {
			all[fmt.Sprintf("of 8 calls there are %d", n)] = end{wholeTeam(int64(n)), status}
		}
	}
	return all
}

// wholeTeam is a run of 8 calls: two specialists, their grades, the contradictions, the
// synthesis, the master, the consistency. It has so many.
func wholeTeam(calls int64) theater {
	th := gradedPair(marks(80), marks(80))
	th.cfg.Limits.Calls = calls
	th.cfg.Policy.ResolveConflicts = true
	th.cfg.Master = hierarchy.Master{Agent: "director", Consistency: "brain"}
	th.cast["head"] = append([]any{on{"contradict each other", "they agree"}}, th.cast["head"]...)
	th.cast["director"], th.cast["brain"] = []any{on{"", "all"}}, []any{on{"", map[string]any{"issues": []any{}}}}
	return th
}

// TestEnds has every end come out the same, wherever the run was killed and in whatever
// order its calls came back.
func TestEnds(t *testing.T) {
	for name, end := range ends() {
		t.Run("HX8 HX13 N4 "+name, func(t *testing.T) {
			assert.Equal(t, end.status, end.play(t).out.Status)
			c, _ := end.open(t)
			c.Sweep(t)
			c.Determinism(t)
		})
	}
}
