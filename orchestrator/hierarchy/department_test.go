package hierarchy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/routing"
)

var errBoom = errors.New("boom")

func TestDirectOrSpawn(t *testing.T) {
	play := func(t *testing.T, in hierarchy.Input, specialists int) played {
		t.Helper()
		th := theater{cfg: one(specialist("a", 60), specialist("b", 60), specialist("c", 60), specialist("d4", 60)), in: in, cast: cast{"head": {"whole"}}}
		for _, id := range []string{"a", "b", "c", "d4"}[:specialists] {
			th.cast[id] = []any{said("work", 90)}
		}
		p := th.play(t)
		require.NoError(t, p.err)
		require.Equal(t, specialists, p.report(t, "d").Metadata.SpecialistsUsed)
		return p
	}
	ask := func(prompt string) hierarchy.Input { return hierarchy.Input{Prompt: prompt} }
	t.Run("HA35 simple brief", func(t *testing.T) {
		p := play(t, ask("a hat"), 0)
		r := p.report(t, "d")
		assert.Equal(t, 1, p.calls())
		assert.Equal(t, 85, r.QualityScore)
		assert.Equal(t, hierarchy.HeadOnly, r.Basis)
		assert.Empty(t, p.out.Warnings)
	})
	t.Run("H24 the head analyses first", func(t *testing.T) {
		p := play(t, ask("a hat"), 0)
		assert.Equal(t, []team.Kind{hierarchy.EventDepartmentStarted, hierarchy.EventDepartmentAnalyzed, hierarchy.EventHeadAsked, hierarchy.EventAttemptStarted, hierarchy.EventAttemptFinished, hierarchy.EventDepartmentFinished}, p.kinds("dept/d"))
	})
	t.Run("H25 49 words are simple", func(t *testing.T) { play(t, ask(brief("", 49)), 0) })
	t.Run("H27 more than 100 words are complex", func(t *testing.T) {
		play(t, ask(brief("", 100)), 2)
		play(t, ask(brief("", 101)), 4)
	})
	t.Run("H28 a complex term", func(t *testing.T) { play(t, ask("an elaborate hat"), 4) })
	t.Run("H29 several parts", func(t *testing.T) { play(t, ask("a hat, also a shoe"), 4) })
	t.Run("H30 specialists not required", func(t *testing.T) {
		play(t, hierarchy.Input{Prompt: brief("", 200), RequiresSpecialists: new(false)}, 0)
	})
	t.Run("H32 moderate and complex briefs go to specialists", func(t *testing.T) {
		play(t, ask(brief("", 50)), 2)
		play(t, ask("a complex hat"), 4)
	})
	t.Run("H31 simple is answered directly", func(t *testing.T) { play(t, ask("brand new hand"), 0) })
	t.Run("HA36 specialists required or not", func(t *testing.T) {
		play(t, hierarchy.Input{Prompt: brief("", 200), RequiresSpecialists: new(false)}, 0)
		play(t, hierarchy.Input{Prompt: brief("", 5), RequiresSpecialists: new(true)}, 1)
	})
	t.Run("HC35 three states", func(t *testing.T) { play(t, hierarchy.Input{Prompt: "a hat", RequiresSpecialists: new(true)}, 1) })
	t.Run("H65 a direct head gets the brief", func(t *testing.T) { assert.Equal(t, "a hat", play(t, ask("a hat"), 0).asked["head"][0].Prompt) })
	t.Run("H66 head-only is 85", func(t *testing.T) {
		assert.Equal(t, 85.0, play(t, ask("a hat"), 0).report(t, "d").RawQuality)
		cfg := one()
		cfg.Policy.HeadOnlyScore = new(70.0)
		assert.Equal(t, 70, theater{cfg: cfg, in: ask("a hat"), cast: cast{"head": {"x"}}}.play(t).report(t, "d").QualityScore)
	})
	t.Run("HC9 complexity is that of the brief", func(t *testing.T) {
		cfg := one(specialist("a", 60))
		cfg.Rules.Brief = func(_ *orchestrator.Context, in hierarchy.Input, _ hierarchy.Department, _ []hierarchy.Report) (string, error) {
			return brief(in.Prompt, 50), nil
		}
		p := theater{cfg: cfg, in: ask("Create a dramatic opening scene with Aladdin stealing bread"), cast: cast{"a": {said("x", 90)}, "head": {"y"}}}.play(t)
		assert.Equal(t, routing.Moderate, p.events(t, hierarchy.EventDepartmentAnalyzed)[0].Analysis.Complexity)
		assert.Len(t, strings.Fields(p.asked["a"][0].Prompt), 50)
		plain := theater{cfg: one(specialist("a", 60)), in: ask("Create a dramatic opening scene with Aladdin stealing bread"), cast: cast{"head": {"y"}}}.play(t)
		assert.Equal(t, hierarchy.HeadOnly, plain.report(t, "d").Basis)
	})
	t.Run("HC10 terms and markers can be set", func(t *testing.T) {
		cfg := one(specialist("a", 60))
		cfg.Rules.Analyzer = routing.Rules{ComplexTerms: []string{"fancy"}, Specialists: routing.SpecialistCount{Complex: 1}}
		th := theater{cfg: cfg, in: ask("a fancy hat"), cast: cast{"a": {said("x", 90)}, "head": {"y"}}}
		assert.Equal(t, 1, th.play(t).report(t, "d").Metadata.SpecialistsUsed)
		th.in, th.cast = ask("a detailed hat"), cast{"head": {"y"}}
		assert.Equal(t, 0, th.play(t).report(t, "d").Metadata.SpecialistsUsed)
	})
}

func TestSelection(t *testing.T) {
	rated := func(id string, rate float64, skills ...string) hierarchy.Agent {
		a := specialist(id, 60)
		a.SuccessRate, a.Skills = &rate, skills
		return a
	}
	chosen := func(t *testing.T, cfg hierarchy.Config, in hierarchy.Input, want ...string) {
		t.Helper()
		th := theater{cfg: cfg, in: in, cast: cast{"head": {"whole"}}}
		for _, id := range want {
			th.cast[id] = []any{said("x", 90)}
		}
		p := th.play(t)
		require.NoError(t, p.err)
		if len(want) > 0 {
			assert.Equal(t, want, p.events(t, hierarchy.EventSpecialistsSelected)[0].Agents)
		} else {
			assert.Empty(t, p.events(t, hierarchy.EventSpecialistsSelected))
		}
	}
	two := hierarchy.Input{Prompt: brief("hat", 50)}
	t.Run("H33 own department", func(t *testing.T) {
		cfg := one(rated("a", 1))
		cfg.Departments = append(cfg.Departments, hierarchy.NewDepartment("e", "e-head", rated("better", 99)))
		chosen(t, cfg, two, "a")
	})
	t.Run("H34 never the head", func(t *testing.T) { chosen(t, one(rated("head", 100), rated("a", 1)), two, "a") })
	t.Run("H35 active ones", func(t *testing.T) {
		w := rated("w", 99)
		w.Inactive = true
		chosen(t, one(rated("x", 90), rated("y", 95), rated("z", 95), w), two, "y", "z")
	})
	t.Run("H36 skills named in the brief", func(t *testing.T) {
		cfg := one(rated("x", 50, "plot"), rated("y", 99, "theme"))
		chosen(t, cfg, hierarchy.Input{Prompt: brief("the plot", 50)}, "x")
		chosen(t, cfg, two, "y", "x")
	})
	t.Run("H37 by success rate", func(t *testing.T) { chosen(t, one(rated("x", 10), rated("y", 20)), two, "y", "x") })
	t.Run("H38 at most the estimate", func(t *testing.T) { chosen(t, one(rated("x", 10), rated("y", 20), rated("z", 30)), two, "z", "y") })
	t.Run("HC18 ties", func(t *testing.T) { chosen(t, one(specialist("c", 60), rated("b", 0), rated("a", 0)), two, "a", "b") })
	t.Run("HC36 skills are whole words, with synonyms", func(t *testing.T) {
		cfg := one(rated("x", 50, "art"), rated("y", 99, "theme"))
		cfg.Rules.Analyzer = routing.Rules{Synonyms: map[string][]string{"art": {"drawing"}}}
		chosen(t, cfg, hierarchy.Input{Prompt: brief("a drawing", 50)}, "x")
		chosen(t, cfg, hierarchy.Input{Prompt: brief("a party", 50)}, "y", "x")
	})
	t.Run("HC28 no candidate", func(t *testing.T) {
		p := theater{cfg: one(), in: request(), cast: cast{"head": {"x"}}}.play(t)
		r := p.report(t, "d")
		assert.Equal(t, hierarchy.HeadOnly, r.Basis)
		assert.Equal(t, []string{"hierarchy/no-specialists"}, p.codes())
	})
	t.Run("H2 a hook cannot reach beyond the department", func(t *testing.T) {
		gone := specialist("gone", 60)
		gone.Inactive = true
		cfg := one(specialist("a", 60), gone)
		for _, id := range []string{"head", "stranger", "gone"} {
			cfg.Rules.Selector = routing.SelectorFunc(func([]routing.Candidate, routing.Need) []routing.Candidate { return []routing.Candidate{{ID: id}} })
			p := theater{cfg: cfg, in: request()}.play(t)
			assert.Contains(t, p.err.Error(), "no active candidate")
			assert.Zero(t, p.calls())
		}
		cfg.Rules.Selector = routing.SelectorFunc(func([]routing.Candidate, routing.Need) []routing.Candidate {
			return []routing.Candidate{{ID: "a"}, {ID: "a"}}
		})
		assert.Contains(t, theater{cfg: cfg, in: request()}.play(t).err.Error(), `"a" is chosen twice`)
	})
}

func TestReview(t *testing.T) {
	note := func(t *testing.T, score float64) hierarchy.SpecialistResult {
		t.Helper()
		a := specialist("s", 65)
		a.Attempts = 1
		return theater{cfg: one(a), in: request(), cast: cast{"s": {said("x", score)}, "head": {"y"}}}.play(t).report(t, "d").Specialists[0]
	}
	t.Run("H57 no threshold", func(t *testing.T) {
		p := theater{cfg: one(specialist("s", 0)), in: request(), cast: cast{"s": {said("x", 3)}, "head": {"y"}}}.play(t)
		assert.Contains(t, p.report(t, "d").Specialists[0].ReviewNotes, "auto-approved, no threshold is set")
	})
	t.Run("H58 below", func(t *testing.T) {
		assert.Equal(t, grading.Rejected, note(t, 64.99).ReviewStatus)
		assert.Equal(t, "score 64.99 is below the threshold of 65", note(t, 64.99).ReviewNotes)
	})
	t.Run("H59 close", func(t *testing.T) {
		for _, score := range []float64{65, 72, 74.99} {
			assert.Equal(t, grading.RevisionNeeded, note(t, score).ReviewStatus)
		}
		assert.Equal(t, "score 72 is acceptable but could be improved", note(t, 72).ReviewNotes)
	})
	t.Run("H60 approved from ten above", func(t *testing.T) {
		assert.Equal(t, grading.Approved, note(t, 75).ReviewStatus)
		assert.NotEqual(t, grading.Approved, note(t, 74.99).ReviewStatus)
	})
	t.Run("H55 each by itself", func(t *testing.T) {
		reviews := trio(60, 59, 65, 90).play(t).events(t, hierarchy.EventDepartmentReviewed)[0].Reviews
		assert.Equal(t, []grading.ReviewStatus{grading.Rejected, grading.RevisionNeeded, grading.Approved}, reviews)
	})
	t.Run("H55 after all have finished", func(t *testing.T) {
		kinds := workedExample().play(t).kinds("dept/character")
		assert.Equal(t, []team.Kind{
			hierarchy.EventDepartmentStarted, hierarchy.EventDepartmentAnalyzed, hierarchy.EventSpecialistsSelected, hierarchy.EventDepartmentReviewed, hierarchy.EventAttemptStarted, hierarchy.EventAttemptFinished, hierarchy.EventDepartmentFinished,
		}, kinds)
		p := workedExample().play(t)
		var at, reviewed int
		for i, rec := range p.log {
			switch team.Kind(rec.Kind) {
			case hierarchy.EventSpecialistFinished:
				at = i
			case hierarchy.EventDepartmentReviewed:
				reviewed = i
			}
		}
		assert.Greater(t, reviewed, at)
		assert.Len(t, p.events(t, hierarchy.EventDepartmentReviewed)[0].Reviews, 2)
	})
	t.Run("H78 statuses", func(t *testing.T) {
		assert.Equal(t, []string{"rejected", "revision-needed", "approved"},
			[]string{string(note(t, 1).ReviewStatus), string(note(t, 70).ReviewStatus), string(note(t, 99).ReviewStatus)})
	})
	t.Run("HC19 thresholds above 90", func(t *testing.T) {
		a := specialist("s", 95)
		p := theater{cfg: one(a), in: request(), cast: cast{"s": {said("x", 100)}, "head": {"y"}}}.play(t)
		assert.Equal(t, grading.Approved, p.report(t, "d").Specialists[0].ReviewStatus)
	})
	t.Run("HC20 thresholds below 20 discard nothing", func(t *testing.T) {
		p := theater{cfg: one(specialist("s", 15)), in: request(), cast: cast{"s": {said("x", 0), said("y", 50)}, "head": {"y"}}}.play(t)
		assert.Equal(t, grading.Revise, p.report(t, "d").Specialists[0].Attempts[0].Decision)
	})
}

// trio is three specialists with those scores at a threshold, without retries.
func trio(threshold float64, scores ...float64) theater {
	th := theater{in: request(), cast: cast{"head": {"whole"}}}
	var agents []hierarchy.Agent
	for i, score := range scores {
		a := specialist(string(rune('a'+i)), threshold)
		a.Attempts = 1
		agents = append(agents, a)
		th.cast[a.ID] = []any{said("output of "+a.ID, score)}
	}
	th.cfg = one(agents...)
	return th
}

func TestQuality(t *testing.T) {
	t.Run("H67 approval rate", func(t *testing.T) {
		assert.Equal(t, 96.666667, trio(60, 95, 88, 92).play(t).report(t, "d").RawQuality) // 60 + 91.6667*.4
	})
	t.Run("H68 the mean counts the rejected", func(t *testing.T) {
		assert.Equal(t, 67.333333, trio(60, 45, 78, 82).play(t).report(t, "d").RawQuality) // 66.6667*.6 + 68.3333*.4
	})
	t.Run("H69 rounded half up", func(t *testing.T) {
		assert.Equal(t, 97, trio(60, 95, 88, 92).play(t).report(t, "d").QualityScore)
		assert.Equal(t, 67, trio(60, 45, 78, 82).play(t).report(t, "d").QualityScore)
	})
	p := trio(60, 35, 42, 38).play(t)
	r := p.report(t, "d")
	t.Run("HA34 all specialists rejected", func(t *testing.T) {
		require.Len(t, p.asked["head"], 1)
		assert.Equal(t, "draw a detailed hat", p.asked["head"][0].Prompt)
		assert.Equal(t, 85, r.QualityScore)
		assert.Equal(t, hierarchy.HeadAfterFailure, r.Basis)
		require.NotNil(t, r.SpecialistQuality)
		assert.Equal(t, 15.333333, *r.SpecialistQuality) // 0 + 38.3333*.4
		assert.Len(t, r.Specialists, 3)
		assert.Equal(t, 3, r.Metadata.FailedSpecialists)
	})
	t.Run("H71 the head answers when all fail", func(t *testing.T) { assert.Equal(t, "whole", hierarchy.Text(r.Output)) })
	t.Run("HC27 flag and results stay", func(t *testing.T) {
		assert.Equal(t, []orchestrator.Warning{{Code: "hierarchy/specialists-rejected", Who: "d", Message: "none of 3 specialists passed"}}, p.out.Warnings)
		assert.Equal(t, hierarchy.HeadAfterFailure, r.Basis)
		require.NotNil(t, r.SpecialistQuality)
		assert.Equal(t, 15.333333, *r.SpecialistQuality)
		assert.Equal(t, "output of a", hierarchy.Text(r.Specialists[0].Output))
	})
	t.Run("HA53 metadata", func(t *testing.T) {
		r := trio(60, 95, 62, 30).play(t).report(t, "d")
		assert.Equal(t, []int{2, 1, 3}, []int{r.Metadata.SuccessfulSpecialists, r.Metadata.FailedSpecialists, r.Metadata.SpecialistsUsed})
		assert.Equal(t, 64.933333, r.RawQuality)
		assert.Equal(t, 65, r.QualityScore)
	})
	t.Run("H75 rejected ones are in the report", func(t *testing.T) {
		r := trio(60, 95, 62, 30).play(t).report(t, "d")
		assert.Equal(t, grading.Rejected, r.Specialists[2].ReviewStatus)
	})
	t.Run("HC12 successful and failed add up", func(t *testing.T) {
		m := trio(60, 95, 62, 30).play(t).report(t, "d").Metadata
		assert.Equal(t, m.SpecialistsUsed, m.SuccessfulSpecialists+m.FailedSpecialists)
	})
	t.Run("HA16 strict review", func(t *testing.T) {
		assert.Equal(t, 86, trio(60, 65, 65, 65).play(t).report(t, "d").QualityScore) // 60 + 26
		strict := trio(60, 65, 65, 65)
		strict.cfg.Policy.StrictReview = true
		r := strict.play(t).report(t, "d")
		assert.Equal(t, 85, r.QualityScore)
		require.NotNil(t, r.SpecialistQuality)
		assert.Equal(t, 26.0, *r.SpecialistQuality)
	})
	t.Run("HC34 gate informs", func(t *testing.T) {
		th := trio(60, 45, 78, 82)
		assert.True(t, th.play(t).report(t, "d").PassedGate, "67.33 >= 60")
		th.cfg.Departments[0].Gate = new(67.34)
		q := th.play(t)
		assert.False(t, q.report(t, "d").PassedGate)
		assert.Equal(t, orchestrator.Completed, q.out.Status)
		th.cfg.Departments[0].Gate = new(67.3333333) // more decimals than a figure has
		assert.True(t, th.play(t).report(t, "d").PassedGate)
		th.cfg.Departments[0].Gate = nil
		assert.Equal(t, 60.0, th.play(t).report(t, "d").Gate)
	})
}

func TestSynthesis(t *testing.T) {
	two := func(head ...any) theater {
		th := trio(60, 70, 88)
		th.cast["head"] = head
		return th
	}
	p := two("whole").play(t)
	prompt := p.asked["head"][0].Prompt
	t.Run("H63 ingredients in order", func(t *testing.T) {
		at := -1
		for _, part := range []string{
			"draw a detailed hat", "You lead the department \"d\"",
			"## Specialist 1: Name of a (art of a)", "Score: 70", "output of a",
			"## Specialist 2: Name of b (art of b)", "Score: 88", "output of b",
			"one cohesive result that answers the original request",
		} {
			i := strings.Index(prompt, part)
			assert.Greater(t, i, at, part)
			at = i
		}
	})
	t.Run("H8 never a concatenation", func(t *testing.T) {
		assert.NotContains(t, hierarchy.Text(p.report(t, "d").Output), "output of")
		assert.Contains(t, prompt, "do not join their texts together and do not pick one")
		assert.Equal(t, hierarchy.FromSpecialists, p.report(t, "d").Basis)
	})
	t.Run("HA37 synthesis fails four times", func(t *testing.T) {
		p := two(errBoom, errBoom, errBoom, errBoom).play(t)
		require.NoError(t, p.err)
		r := p.report(t, "d")
		assert.Len(t, p.asked["head"], 4)
		assert.Equal(t, "output of b", hierarchy.Text(r.Output))
		assert.Equal(t, orchestrator.Warning{Code: "hierarchy/fallback", Who: "d", Message: "partial synthesis failure: failed 4 times, last: boom"}, p.out.Warnings[1])
		assert.InDelta(t, 91.6, r.RawQuality, 1e-9) // 60 + 79*.4
		assert.Equal(t, 92, r.QualityScore)
		assert.Equal(t, hierarchy.DepartmentDone, r.Status)
		assert.Equal(t, hierarchy.FallbackOutput, r.Basis)
		assert.Equal(t, "failed 4 times, last: boom", p.events(t, hierarchy.EventSynthesisReplaced)[0].Text)
	})
	t.Run("H72 up to three retries", func(t *testing.T) {
		p := two(errBoom, "", errBoom, "late").play(t)
		assert.Equal(t, "late", hierarchy.Text(p.report(t, "d").Output))
		assert.Empty(t, p.out.Warnings)
		assert.Len(t, p.events(t, hierarchy.EventAttemptStarted), 2+4)
	})
	t.Run("H72 then the best specialist's output", func(t *testing.T) {
		p := two(errBoom, errBoom, errBoom, errBoom).play(t)
		assert.Equal(t, "output of b", hierarchy.Text(p.report(t, "d").Output))
		assert.Equal(t, []string{"hierarchy/agent-failed", "hierarchy/fallback"}, p.codes())
	})
	t.Run("HA38 synthesis fails once", func(t *testing.T) {
		p := two(errBoom, "whole").play(t)
		assert.Len(t, p.asked["head"], 2)
		assert.Empty(t, p.out.Warnings)
	})
	t.Run("HC30 never fails the department", func(t *testing.T) {
		p := two(errBoom, errBoom, errBoom, errBoom).play(t)
		require.NoError(t, p.err)
		assert.Equal(t, hierarchy.DepartmentDone, p.report(t, "d").Status)
	})
	t.Run("HC31 the first of equals", func(t *testing.T) {
		th := trio(60, 80, 80)
		th.cast["head"] = []any{errBoom, errBoom, errBoom, errBoom}
		assert.Equal(t, "output of a", hierarchy.Text(th.play(t).report(t, "d").Output))
	})
	t.Run("HX3 oversized outputs are cut in prompts only", func(t *testing.T) {
		th := trio(60, 80)
		th.cfg.Bounds.QuoteBytes = 10
		long := "äöüäöüäöü"
		th.cast["a"] = []any{said(long, 80)}
		p := th.play(t)
		assert.Contains(t, p.asked["head"][0].Prompt, "äöüäö\n[cut: the first 10 of 18 bytes]")
		assert.Equal(t, long, hierarchy.Text(p.report(t, "d").Specialists[0].Output))
		th.cfg.Bounds.QuoteBytes = 9
		assert.Contains(t, th.play(t).asked["head"][0].Prompt, "äöüä\n[cut: the first 8 of 18 bytes]")
	})
	t.Run("HX3 64 KiB unless set", func(t *testing.T) {
		th := trio(60, 80)
		th.cfg.Policy.MinSynthesis = orchestrator.None
		th.cast["a"] = []any{said(strings.Repeat("x", 64<<10), 80)}
		assert.NotContains(t, th.play(t).prompt("head", 0), "[cut:")
		th.cast["a"] = []any{said(strings.Repeat("x", 64<<10+1), 80)}
		assert.Contains(t, th.play(t).prompt("head", 0), "[cut: the first 65536 of 65537 bytes]")
	})
	t.Run("HX7 data is kept as it is", func(t *testing.T) {
		th := trio(60, 80)
		th.cast["a"] = []any{agent.Response{Data: json.RawMessage(`{"n": 12345678901234567890, "qualityScore": 80}`)}}
		assert.JSONEq(t, `{"n":12345678901234567890,"qualityScore":80}`, string(th.play(t).report(t, "d").Specialists[0].Output))
	})
	t.Run("H91 several rounds", func(t *testing.T) {
		th := two("draft", "better", errBoom, "best")
		th.cfg.Policy.SynthesisRounds = 3
		p := th.play(t)
		assert.Equal(t, "best", hierarchy.Text(p.report(t, "d").Output))
		assert.Contains(t, p.asked["head"][1].Prompt, "<data name=\"draft\">\ndraft\n</data>")
		th = two("draft", errBoom, errBoom, errBoom, errBoom)
		th.cfg.Policy.SynthesisRounds = 9 // the first round that fails is the last
		p = th.play(t)
		assert.Equal(t, "draft", hierarchy.Text(p.report(t, "d").Output))
		assert.Equal(t, []string{"hierarchy/agent-failed", "hierarchy/refinement"}, p.codes())
	})
	t.Run("H92 contradictions", func(t *testing.T) {
		th := two("the hat is red", "whole")
		th.cfg.Policy.ResolveConflicts = true
		p := th.play(t)
		assert.Contains(t, p.asked["head"][0].Prompt, "contradict each other")
		assert.Contains(t, p.asked["head"][1].Prompt, "<data name=\"settled contradictions\">\nthe hat is red\n</data>")
		th = two(errBoom, "whole")
		th.cfg.Policy.ResolveConflicts = true
		assert.Equal(t, []string{"hierarchy/conflicts"}, th.play(t).codes())
	})
	t.Run("H92 by a hook", func(t *testing.T) {
		th := two("whole")
		th.cfg.Rules.Resolve = func(_ *orchestrator.Context, d hierarchy.Department, brief string, passing []hierarchy.SpecialistResult) (string, error) {
			return fmt.Sprintf("%s: %s: %d agree", d.ID, brief, len(passing)), nil
		}
		assert.Contains(t, th.play(t).prompt("head", 0), "d: draw a detailed hat: 2 agree")
		th.cfg.Rules.Resolve = func(*orchestrator.Context, hierarchy.Department, string, []hierarchy.SpecialistResult) (string, error) {
			panic("ouch")
		}
		p := th.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, []orchestrator.Warning{{Code: "hierarchy/rule", Who: "d", Message: "Rules.Resolve panicked: ouch"}}, p.out.Warnings)
		th.cast = trio(60, 70).cast
		th.cfg.Departments[0].Agents = th.cfg.Departments[0].Agents[:1]
		assert.Empty(t, th.play(t).out.Warnings, "there is no other result")
	})
}

func TestHeadFailure(t *testing.T) {
	play := func(head ...any) theater {
		return theater{cfg: one(), in: hierarchy.Input{Prompt: "a hat"}, cast: cast{"head": head}}
	}
	t.Run("H5 three retries with feedback", func(t *testing.T) {
		p := play("", errBoom, "null", "late").play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.asked["head"], 4)
		assert.Contains(t, p.asked["head"][3].Prompt, "Attempt 1 failed: the answer is empty")
		assert.Contains(t, p.asked["head"][3].Prompt, "Attempt 3 failed: the answer is empty")
		assert.Contains(t, p.asked["head"][3].Prompt, "a hat")
	})
	t.Run("HC29 no output is a head failure", func(t *testing.T) {
		p := play("", " \n", agent.Response{Data: json.RawMessage("null")}, "late").play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "late", hierarchy.Text(p.report(t, "d").Output))
	})
	t.Run("HC29 what a head failure is", func(t *testing.T) {
		cfg := one(hierarchy.Agent{ID: "head", Schema: []byte(`{"type":"object"}`)})
		p := theater{cfg: cfg, in: hierarchy.Input{Prompt: "a hat"}, cast: cast{"head": {"", errBoom, "no json", `{"hat":1}`}}}.play(t)
		require.NoError(t, p.err)
		assert.JSONEq(t, `{"hat":1}`, string(p.report(t, "d").Output))

		graded := play("weak", "strong")
		graded.cfg.Policy.GradeHeads = true
		graded.cfg.Rules.Grader = orchestrator.GradeWith(func(_ *orchestrator.Context, w hierarchy.Work) (hierarchy.Grade, error) {
			return hierarchy.Grade{Score: new(map[string]float64{"weak": 50, "strong": 90}[hierarchy.Text(w.Output)])}, nil
		})
		p = graded.play(t)
		assert.Equal(t, 90, p.report(t, "d").QualityScore)
		graded.cast["head"] = []any{"weak", "weak", "weak", "weak"}
		p = graded.play(t)
		assert.Equal(t, hierarchy.DepartmentFailed, p.report(t, "d").Status)
		require.EqualError(t, p.err, "hierarchy: no department finished: head: the best of 4 attempts scored 50, below its threshold")
		assert.Equal(t, "weak", hierarchy.Text(p.report(t, "d").Output))
	})
	t.Run("HC7 one loop for both", func(t *testing.T) {
		cfg := one()
		cfg.Departments[0].Attempts = 2
		p := theater{cfg: cfg, in: hierarchy.Input{Prompt: "a hat"}, cast: cast{"head": {" ", "late"}}}.play(t)
		assert.Contains(t, p.asked["head"][1].Prompt, "Your earlier work on it did not pass.")
	})
}

func TestReportFormat(t *testing.T) {
	th := workedExample()
	p := th.play(t)
	raw, err := json.Marshal(p.report(t, "character"))
	require.NoError(t, err)
	var r map[string]any
	require.NoError(t, json.Unmarshal(raw, &r))
	s := r["specialists"].([]any)[0].(map[string]any)
	has := func(t *testing.T, m map[string]any, names ...string) {
		t.Helper()
		for _, name := range names {
			assert.Contains(t, m, name)
		}
	}
	t.Run("H74 fields of the report", func(t *testing.T) {
		has(t, r, "departmentId", "departmentName", "headExecutionId", "output", "qualityScore", "specialists", "metadata")
		assert.Equal(t, "case/dept/character", r["headExecutionId"])
	})
	t.Run("H76 fields of a specialist", func(t *testing.T) {
		has(t, s, "agentId", "agentName", "specialization", "output", "score", "executionTime", "reviewStatus", "reviewNotes")
		assert.Equal(t, "Appearance Specialist", s["agentName"])
	})
	t.Run("H77 metadata", func(t *testing.T) {
		has(t, r["metadata"].(map[string]any), "analysisTime", "specialistsUsed", "totalExecutionTime", "successfulSpecialists", "failedSpecialists")
		cfg := one()
		slow := theater{cfg: cfg, in: hierarchy.Input{Prompt: "a hat"}, cast: cast{"head": {delay(3, "x")}}}.play(t)
		assert.InDelta(t, 3, slow.report(t, "d").Metadata.TotalExecutionTime.Seconds(), .005)
	})
	t.Run("HX12 usage of one department is not that of another", func(t *testing.T) {
		cfg := heads("a", "b")
		cfg.Departments[0].Attempts = 2
		two := theater{cfg: cfg, in: hierarchy.Input{Prompt: "go"}, cast: cast{"a-head": {errBoom, "x"}, "b-head": {"y"}}}.play(t)
		assert.EqualValues(t, []int64{2, 1, 3}, []int64{two.report(t, "a").Usage.Calls, two.report(t, "b").Usage.Calls, two.out.Spent.Calls})
	})
	t.Run("HX12 usage of calls, specialists, departments and the run", func(t *testing.T) {
		spec := p.report(t, "character").Specialists
		assert.EqualValues(t, []int64{2, 1, 4, 4}, []int64{spec[0].Usage.Calls, spec[1].Usage.Calls, p.report(t, "character").Usage.Calls, p.out.Spent.Calls})
	})
}
