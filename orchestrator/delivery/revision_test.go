package delivery_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/delivery"
)

// revising is a team that may revise a plan n times, and reaches its goal with three lost steps.
func revising(n int) delivery.Config {
	return delivery.Config{Policy: delivery.Policy{Revisions: n, AcceptableFailures: 3}}
}

// naming is a verdict that names later steps.
func naming(score float64, numbers ...int) object {
	return with(marks(score), object{"revise": numbers})
}

func TestRevisions(t *testing.T) {
	two, four := numbered(nil, 2), numbered(map[int][]int{3: {1}, 4: {3}}, 3, 4)
	chain := needing(nil, []int{1}, []int{2})
	backed := revising(1)
	backed.Rules.Fallback = func(delivery.Failure) ([]byte, error) { return agent.JSON(two), nil }
	for name, tt := range map[string]struct {
		cfg     delivery.Config
		cast    map[string][]any
		asked   int      // requests for a revision
		judged  int      // verdicts on plans and revisions
		changed []string // differences
		coded   []string // steps that were coded, in order
		then    func(t *testing.T, p played)
	}{
		"SC65 after a failed step": {revising(1), map[string][]any{"plan": {chain}, "check": times(4, failed), "revise": {numbered(nil, 2, 3)}}, 1, 2, []string{
			"- 2 do part 2 of 3 (medium, after 1)\n- 3 do part 3 of 3 (medium, after 2)\n+ 2 part 2 (medium)\n+ 3 part 3 (medium)",
		}, []string{"p1.s1", "p1.s2", "p1.s3"}, func(t *testing.T, p played) {
			t.Helper()
			in := input[delivery.PlanInput](t, p.asked["revise"][0])
			assert.Contains(t, in.Revise.Why, "step 1 failed: its tests fail after 3 fixes")
			assert.Len(t, in.Revise.Plan.Steps, 3)
			assert.Contains(t, p.asked["revise"][0].Prompt, "2 to 15 steps")
			assert.Equal(t, 1, p.out.State.Metrics.ReplanCount, "SC35")
			assert.Equal(t, 3, p.out.State.Metrics.TotalSteps, "SC34")
			assert.Equal(t, 0, p.out.State.Metrics.BlockedSteps)
			assert.Equal(t, 1, p.out.State.Plans[0].Revisions)
			assert.Equal(t, 2, p.sent(delivery.PlanRequest), "SC43")
			assert.Equal(t, 2, p.sent(delivery.PlanResponse), "SC43")
		}},
		"SC65 after a skipped step": {revising(3), map[string][]any{
			"plan": {chain}, "check": times(4, failed), "revise": {numbered(map[int][]int{2: {1}, 3: {2}}, 2, 3), numbered(nil, 3)},
		}, 2, 3, []string{
			"- 2 do part 2 of 3 (medium, after 1)\n- 3 do part 3 of 3 (medium, after 2)\n+ 2 part 2 (medium, after 1)\n+ 3 part 3 (medium, after 2)",
			"- 3 part 3 (medium, after 2)\n+ 3 part 3 (medium)",
		}, []string{"p1.s1", "p1.s3"}, func(t *testing.T, p played) {
			t.Helper()
			assert.Contains(t, input[delivery.PlanInput](t, p.asked["revise"][1]).Revise.Why, "step 2 was skipped: it needs step 1")
		}},
		"SC65 at most so often": {revising(1), map[string][]any{"plan": {chain}, "check": times(4, failed), "revise": {chain}}, 1, 1, nil, []string{"p1.s1"}, nil},
		"SC65 off by default":   {revising(0), map[string][]any{"plan": {chain}, "check": times(4, failed), "verify code": {naming(90, 2)}}, 0, 1, nil, []string{"p1.s1"}, nil},
		"SC65 a verdict names a later step": {revising(1), map[string][]any{"verify code": {naming(90, 2)}, "revise": {four}}, 1, 2, []string{
			"- 2 do part 2 of 2 (medium)\n+ 2 part 3 (medium, after 1)\n+ 3 part 4 (medium, after 2)",
		}, []string{"p1.s1", "p1.s2", "p1.s3"}, func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, "a verdict on step 1 names steps 2: name the units", input[delivery.PlanInput](t, p.asked["revise"][0]).Revise.Why)
			assert.Equal(t, []int{2}, p.out.Report.Verdicts[1].Revise)
			assert.Contains(t, p.asked["verify code"][0].Prompt, `under "revise"`)
			assert.NotContains(t, p.asked["verify plan"][0].Prompt, `under "revise"`)
		}},
		"SC65 two verdicts name steps": {revising(1), map[string][]any{"plan": {steps(3)}, "verify code": {naming(90, 2)}, "verify step": {naming(90, 3)}}, 1, 1, nil, []string{"p1.s1", "p1.s2", "p1.s3"}, func(t *testing.T, p played) {
			t.Helper()
			assert.Contains(t, input[delivery.PlanInput](t, p.asked["revise"][0]).Revise.Why, "names steps 2, 3:")
		}},
		"SC65 SC17 too many steps": {revising(1), map[string][]any{"verify code": {naming(90, 2)}, "revise": {numbered(nil, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)}}, 1, 1, nil, []string{"p1.s1", "p1.s2"}, nil},
		"SC65 a verdict that rejects names one": {revising(1), map[string][]any{"verify step": {naming(60, 2)}, "revise": {two}}, 1, 2, []string{
			"- 2 do part 2 of 2 (medium)\n+ 2 part 2 (medium)",
		}, []string{"p1.s1", "p1.s1", "p1.s2"}, nil},
		"SC65 a verdict names an earlier step": {revising(1), map[string][]any{"verify code": {marks(90), naming(90, 1)}}, 0, 1, nil, []string{"p1.s1", "p1.s2"}, nil},
		"SC65 a step that is not there":        {revising(1), map[string][]any{"verify test": {naming(90, 9)}}, 0, 1, nil, []string{"p1.s1", "p1.s2"}, nil},
		"SC65 nothing is left to revise":       {revising(1), map[string][]any{"check": append(times(1, passed), times(4, failed)...)}, 0, 1, nil, []string{"p1.s1", "p1.s2"}, nil},
		"SC65 nothing changes":                 {revising(1), map[string][]any{"verify code": {naming(90, 2)}, "revise": {object{"steps": steps(2)["steps"].([]object)[1:]}}}, 1, 1, nil, []string{"p1.s1", "p1.s2"}, nil},
		"SC65 a revision that the gate rejects": {revising(1), map[string][]any{"verify code": {naming(90, 2)}, "revise": {four}, "verify plan": {marks(90), marks(69)}}, 1, 2, nil, []string{"p1.s1", "p1.s2"}, func(t *testing.T, p played) {
			t.Helper()
			for _, h := range p.out.State.EventLog {
				assert.True(t, h.Message != delivery.Correction || h.To == delivery.Planner, "SC31")
			}
			assert.Equal(t, 1, p.sent(delivery.Correction))
		}},
		"SC65 a revision against the rules": {revising(1), map[string][]any{"verify code": {naming(90, 2)}, "revise": {numbered(map[int][]int{2: {7}}, 2)}}, 1, 1, nil, []string{"p1.s1", "p1.s2"}, func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, 1, p.out.State.Metrics.VerificationsFailed)
		}},
		"SC65 too few steps are left":         {revising(1), map[string][]any{"verify code": {naming(90, 2)}, "revise": {object{"steps": []object{}}}}, 1, 1, nil, []string{"p1.s1", "p1.s2"}, nil},
		"SC65 a number that a begun step has": {revising(1), map[string][]any{"verify code": {naming(90, 2)}, "revise": {numbered(nil, 1, 2)}}, 1, 1, nil, []string{"p1.s1", "p1.s2"}, nil},
		"SC65 the planner gives no answer":    {revising(1), map[string][]any{"verify code": {naming(90, 2)}, "revise": times(4, errBoom)}, 4, 1, nil, []string{"p1.s1", "p1.s2"}, nil},
		"SC65 SC51 the host answers for the planner": {backed, map[string][]any{"verify code": {naming(90, 2)}, "revise": times(4, errBoom)}, 4, 2, []string{
			"- 2 do part 2 of 2 (medium)\n+ 2 part 2 (medium)",
		}, []string{"p1.s1", "p1.s2"}, func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, []string{"p1"}, p.out.Unverified)
		}},
		"SC65 a step of a sub-plan": {revising(2), map[string][]any{"code": {tooMuch}, "subplan": {steps(2)}, "verify code": {naming(90, 2)}}, 0, 2, nil, []string{"p1.s1", "p2.s1", "p2.s2", "p1.s2"}, func(t *testing.T, p played) {
			t.Helper()
			for _, kind := range []string{"verify code", "verify test", "verify step"} {
				assert.NotContains(t, p.asked[kind][0].Prompt, `under "revise"`, kind)
				assert.Contains(t, p.asked[kind][len(p.asked["verify code"])-1].Prompt, `under "revise"`, kind)
			}
		}},
		"SC65 SC23 no revision of an abandoned plan": {delivery.Config{
			Policy: delivery.Policy{Revisions: 1, AcceptableFailures: 2}, Bounds: delivery.Bounds{FailedSteps: 1}, Rules: iterations(1),
		}, map[string][]any{"check": times(4, failed)}, 0, 1, nil, []string{"p1.s1"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := project{cfg: tt.cfg, cast: tt.cast}.play(t)
			if tt.cfg.Bounds.FailedSteps == 0 {
				require.NoError(t, p.err)
			}
			assert.Equal(t, tt.asked, p.asked.of("revise"))
			assert.Equal(t, tt.judged, p.asked.of("verify plan"))
			var changed, coded []string
			for _, e := range p.events(t, delivery.EventPlanRevised) {
				assert.Equal(t, "p1", e.Target)
				assert.NotNil(t, e.Percent)
				changed = append(changed, e.Text)
			}
			for _, req := range p.asked["code"] {
				coded = append(coded, req.Task)
			}
			assert.Equal(t, tt.changed, changed)
			assert.Equal(t, tt.coded, coded)
			if tt.then != nil {
				tt.then(t, p)
			}
		})
	}
	t.Run("SC65 no revision after the end of execution", func(t *testing.T) {
		p := tight(map[string][]any{"code": {slow(94, code())}, "check": {slow(100, passed)}})
		p.cfg.Policy = delivery.Policy{Revisions: 1, AcceptableFailures: 2}
		p.cfg.Rules = iterations(1)
		got := p.play(t)
		assert.Empty(t, got.asked["revise"])
		assert.Zero(t, got.out.State.Metrics.ReplanCount, "SC35")
		assert.Equal(t, delivery.StepFailed, got.step(t, "p1.s1").Status)
	})
	t.Run("SC65 SC63 no review of a revision after the end of execution", func(t *testing.T) {
		p := tight(map[string][]any{"code": {slow(60, code())}, "verify code": {naming(90, 2)}, "revise": {slow(140, two)}})
		p.cfg.Policy.Revisions, p.cfg.Rules = 1, iterations(1)
		got := p.play(t)
		assert.Equal(t, 1, got.asked.of("verify plan"))
		require.Len(t, got.events(t, delivery.EventBudgetExceeded), 1)
	})
	t.Run("SC65 a revision counts from its own planner's answer on, also in a second iteration", func(t *testing.T) {
		p := project{cfg: revising(1), cast: map[string][]any{
			"verify code": {naming(90, 2), marks(90), naming(90, 2)}, "revise": {two, two}, "verify goal": {marks(75)},
		}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 2, p.asked.of("revise"), "once a root plan")
		assert.NotContains(t, p.asked["revise"][1].Prompt, `under "last"`)
	})
	t.Run("SC65 more revisions than plans", func(t *testing.T) {
		cfg := revising(4)
		cfg.Agents = config().Agents
		_, err := delivery.New(cfg)
		require.EqualError(t, err, "delivery: Policy.Revisions is 4, want at most Rules.Retrier.Plan.Max, 3")
		for _, own := range []orchestrator.Retrier{delivery.Retries{Plan: orchestrator.Attempts{Max: 4}}, others{}} { // which may allow any
			cfg.Rules.Retrier = own
			_, err = delivery.New(cfg)
			require.NoError(t, err)
		}
	})
}

func TestCoverage(t *testing.T) {
	cover := func(percent float64) object { return object{"passed": true, "coverage": percent} }
	cfg := delivery.Config{Policy: delivery.Policy{Thresholds: delivery.Thresholds{Coverage: 80}}}
	for name, tt := range map[string]struct {
		cfg   delivery.Config
		check object
		fixes []string // items of the fix plan; nil: the tests pass
	}{
		"SC65 off by default":       {delivery.Config{}, passed, nil},
		"SC65 at the bound":         {cfg, cover(80), nil},
		"SC65 below it":             {cfg, cover(79.9), []string{"the coverage is 79.9 percent, and 80 are needed"}},
		"SC65 none":                 {cfg, passed, []string{"the coverage is not known, and 80 percent are needed"}},
		"SC65 beside a plan of fix": {cfg, with(cover(10), object{"fixPlan": object{"items": []string{"x"}}}), []string{"x", "the coverage is 10 percent, and 80 are needed"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := project{cfg: tt.cfg, cast: map[string][]any{"check": {tt.check, always{cover(80)}}, "integrate": {cover(80)}}}.play(t)
			require.NoError(t, p.err)
			if tt.fixes == nil {
				assert.Empty(t, p.asked["fix"])
				return
			}
			require.Len(t, p.asked["fix"], 1)
			assert.Equal(t, tt.fixes, input[delivery.CodeInput](t, p.asked["fix"][0]).Fix.Items)
			shown := input[delivery.VerifyInput](t, p.asked["verify test"][0]).Tests
			assert.False(t, shown.Passed)
		})
	}
	t.Run("SC65 SX9 a real run overrides what the tester claims", func(t *testing.T) {
		for claimed, measured := range map[float64]float64{95: 60, 60: 95} {
			f := newFolder()
			f.coverage = measured
			p := project{space: f, cfg: cfg, cast: map[string][]any{"check": {always{cover(claimed)}}, "integrate": {always{cover(claimed)}}}}
			p.cfg.Rules = fixes(1, 0)
			got := p.play(t)
			assert.Equal(t, measured >= 80, got.step(t, "p1.s1").Status == delivery.StepCompleted)
			assert.InDelta(t, measured, *got.step(t, "p1.s1").Tests.Coverage, 0)
		}
	})
	t.Run("SC65 N15 a tester that gives no report", func(t *testing.T) {
		p := project{cfg: cfg, cast: map[string][]any{"check": append(times(4, errBoom), always{cover(80)}), "integrate": {cover(80)}}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, []string{"Make the tests pass. the tester gave no answer"}, input[delivery.CodeInput](t, p.asked["fix"][0]).Fix.Items)
	})
	t.Run("SC65 a real run without a figure", func(t *testing.T) {
		p := project{space: newFolder(), cfg: cfg, cast: map[string][]any{"check": {always{cover(95)}}}}
		p.cfg.Rules = fixes(1, 0)
		got := p.play(t)
		assert.Equal(t, delivery.StepFailed, got.step(t, "p1.s1").Status, "what a model claims is no figure of a run")
		assert.Contains(t, got.step(t, "p1.s1").FailReason, "the coverage is not known")
	})
	t.Run("SC65 the whole", func(t *testing.T) {
		p := project{cfg: cfg, cast: map[string][]any{"check": {always{cover(80)}}, "integrate": {cover(79), cover(80)}}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 2, p.out.State.Iteration)
		assert.Contains(t, input[delivery.PlanInput](t, p.asked["plan"][1]).Last.Reason, "the coverage is 79 percent")
	})
}

func TestMonitor(t *testing.T) {
	watched := func(every time.Duration) delivery.Config {
		return delivery.Config{Policy: delivery.Policy{MonitorEvery: every}}
	}
	silent := watched(time.Minute)
	silent.Rules.Fallback = func(delivery.Failure) ([]byte, error) { return agent.JSON(marks(10)), nil } // which has no say here
	blockedFor := func(seconds int) any { return slow(seconds, blocked) }
	for name, tt := range map[string]struct {
		cfg   delivery.Config
		cast  map[string][]any
		looks int
		then  func(t *testing.T, p played)
	}{
		"SC66 off by default": {delivery.Config{}, map[string][]any{"code": {blockedFor(290), blockedFor(290)}}, 0, nil},
		"SC66 after so long": {watched(5 * time.Minute), map[string][]any{"code": {blockedFor(290), blockedFor(20)}}, 1, func(t *testing.T, p played) {
			t.Helper()
			in := input[delivery.VerifyInput](t, p.asked["verify monitor"][0])
			assert.Equal(t, delivery.GateMonitor, in.Gate)
			assert.Len(t, in.Steps, 2)
			assert.Len(t, in.Changes, 2, "what was said since the last verdict")
			assert.Contains(t, in.Changes[0], "Coder, blocked: the format is not known")
			assert.Equal(t, 9, p.out.State.Metrics.VerificationsPassed, "a look is no verification")
			assert.Equal(t, delivery.GateMonitor, p.out.Report.Verdicts[1].Kind)
			assert.Equal(t, delivery.Escalation{Level: none}, p.out.State.Escalation)
		}},
		"SC66 not before":               {watched(5 * time.Minute), map[string][]any{"code": {blockedFor(290)}}, 0, nil},
		"SC66 at most once in the time": {watched(5 * time.Minute), map[string][]any{"code": {blockedFor(299), slow(299, tooMuch), blockedFor(299), slow(2, tooMuch)}}, 2, nil},
		"SC66 a verdict is a look":      {watched(8 * time.Minute), map[string][]any{"code": {slow(290, code())}, "check": {slow(290, passed)}}, 0, nil},
		"SC66 nothing was said":         {watched(time.Minute), map[string][]any{"plan": {slow(120, errBoom)}}, 0, nil},
		"SC66 its score moves the level": {watched(time.Minute), map[string][]any{
			"code": {blockedFor(70)}, "verify monitor": {with(marks(45), object{"approved": false})},
		}, 1, func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, []delivery.Level{none, correct, none}, p.levels()[:3])
			g := input[delivery.CodeInput](t, p.asked["code"][1]).Guidance
			require.NotNil(t, g, "the coder, who is asked next, is told")
			assert.Equal(t, correct, g.Level)
			assert.Contains(t, g.Text, "name the units")
			assert.Zero(t, p.out.State.Metrics.VerificationsFailed)
			assert.Equal(t, 1, p.sent(delivery.Correction))
			assert.Equal(t, 1, p.sent(delivery.EscalationSent))
			assert.Equal(t, 2, p.step(t, "p1.s1").Attempts, "nothing is rejected")
		}},
		"SC66 it counts no issue, nor takes one back": {watched(time.Minute), map[string][]any{
			"verify code": {marks(55), marks(55)}, "code": {code(), blockedFor(70)}, "verify monitor": {marks(10)},
		}, 1, func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, []delivery.Level{none, remind, refocus, correct}, p.levels()[:4], "two rejections in a row are CORRECT")
		}},
		"SC66 an own Ladder sees it": {delivery.Config{
			Policy: delivery.Policy{MonitorEvery: time.Minute}, Rules: delivery.Rules{Ladder: ladderFunc(func(e delivery.Escalating) delivery.Level {
				if e.Gate == delivery.GateMonitor && e.Passed && e.Issues == 0 {
					return critical
				}
				return none
			})},
		}, map[string][]any{"code": {blockedFor(70)}}, 1, func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, critical, p.levels()[1])
		}},
		"SC66 SC51 without an answer nothing changes, and it is not asked again at once": {silent, map[string][]any{"code": {blockedFor(70), blocked}, "verify monitor": times(4, errBoom)}, 4, func(t *testing.T, p played) {
			t.Helper()
			assert.Empty(t, p.out.Unverified)
			assert.Equal(t, orchestrator.Completed, p.out.Status)
			assert.Len(t, p.out.Report.Verdicts, 9)
		}},
		"SC66 before a fix, a test and a plan": {watched(time.Minute), map[string][]any{
			"code": {slow(70, tooMuch), code(), slow(70, code())}, "check": {passed, passed, slow(70, failed)}, "verify test": {marks(90), marks(90), slow(70, marks(90))}, "verify monitor": {marks(45)},
		}, 1, func(t *testing.T, p played) {
			t.Helper()
			assert.NotNil(t, input[delivery.PlanInput](t, p.asked["subplan"][0]).Guidance, "who is asked next is told")
			assert.Equal(t, "p1.s1", p.asked["verify monitor"][0].Task)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := project{cfg: tt.cfg, cast: tt.cast}.play(t)
			require.NoError(t, p.err)
			assert.Equal(t, tt.looks, p.asked.of("verify monitor"))
			if tt.then != nil {
				tt.then(t, p)
			}
		})
	}
}

func TestLookIsInTime(t *testing.T) {
	t.Run("SC66 SC5 no try of a look begins after the time of a step", func(t *testing.T) {
		cfg := limited(60)
		cfg.Policy = delivery.Policy{MonitorEvery: time.Minute, AcceptableFailures: 1} // a step has four minutes
		p := project{cfg: cfg, cast: map[string][]any{"plan": {steps(12)}, "code": {slow(230, blocked)}, "verify monitor": {slow(20, errBoom)}}}.play(t)
		assert.Equal(t, 1, p.asked.of("verify monitor"))
		assert.Equal(t, "step budget", p.step(t, "p1.s1").FailReason)
	})
}

type ladderFunc func(delivery.Escalating) delivery.Level

func (f ladderFunc) Decide(e delivery.Escalating) delivery.Level { return f(e) }
