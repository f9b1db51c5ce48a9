package delivery_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/orchestrator/team"
)

func TestErrorsOfCallsReachNoModel(t *testing.T) {
	endless := delivery.Config{Limits: team.Limits{Time: orchestrator.None}, Policy: delivery.Policy{AcceptableFailures: 5}}
	for name, cast := range map[string]map[string][]any{
		"N15 the coder":             {"code": times(4, errBoom)},
		"N15 the coder, to the end": {"code": {always{errBoom}}, "subplan": {always{errBoom}}},
		"N15 the coder of a fix":    {"check": {failed}, "fix": times(4, errBoom)},
		"N15 the tester":            {"check": times(4, errBoom)},
		"N15 the tester of all":     {"integrate": times(4, errBoom)},
		"N15 the supervisor":        {"verify step": times(4, errBoom)},
		"N15 a sub-plan's planner":  {"code": {tooMuch}, "subplan": times(4, errBoom)},
	} {
		t.Run(name, func(t *testing.T) {
			p := project{cfg: endless, cast: cast}.play(t)
			require.NotEmpty(t, p.out.Warnings, "a host is told")
			assert.Contains(t, p.out.Warnings[0].Message, "boom")
			for kind, reqs := range p.asked {
				for _, req := range reqs {
					assert.NotContains(t, req.Prompt+string(req.Input), "boom", kind)
				}
			}
		})
	}
	t.Run("N15 the workspace", func(t *testing.T) {
		f := newFolder()
		f.fails[delivery.OpApply], f.most[delivery.OpApply] = errBoom, 4
		p := project{space: f, cfg: endless}.play(t)
		for kind, reqs := range p.asked {
			for _, req := range reqs {
				assert.NotContains(t, string(req.Input), "boom", kind)
			}
		}
		assert.Contains(t, p.out.Warnings[0].Message, "the workspace could not apply: boom")
	})
	t.Run("N15 the attempt is made with the request that it had", func(t *testing.T) {
		p := project{cfg: endless, cast: map[string][]any{
			"verify code": {marks(65)}, "code": append([]any{code()}, times(4, errBoom)...),
		}}.play(t)
		require.NoError(t, p.err)
		first, again := p.asked["code"][1], p.asked["code"][5]
		assert.Contains(t, first.Prompt, "reminder")
		assert.Equal(t, first.Prompt, again.Prompt)
		assert.Equal(t, string(first.Input), string(again.Input))
	})
	t.Run("N15 the Retrier is told", func(t *testing.T) {
		var told []orchestrator.Try
		p := project{cast: map[string][]any{"verify step": {marks(60)}, "code": append([]any{code()}, times(4, errBoom)...)}}
		p.cfg.Rules.Retrier = orchestrator.RetrierFunc(func(of orchestrator.Working, tries []orchestrator.Try) orchestrator.Again {
			if of.Role == "step" {
				told = tries
			}
			return delivery.Retries{}.Next(of, tries)
		})
		p.play(t)
		require.Len(t, told, 2)
		assert.InDelta(t, 60, *told[0].Score, 0)
		require.EqualError(t, told[1].Err, "boom")
		assert.Nil(t, told[1].Score, "it is not that of the try before")
	})
	t.Run("N16 an agent's own errors are not the run's", func(t *testing.T) {
		for _, own := range []error{orchestrator.ErrBudget, orchestrator.ErrCanceled, orchestrator.ErrFlow} {
			p := project{cast: map[string][]any{"plan": {always{own}}}}.play(t)
			require.ErrorIs(t, p.err, delivery.ErrPlanning)
			require.NotErrorIs(t, p.err, own)
			assert.Equal(t, orchestrator.Failed, p.out.Status)
		}
	})
}

func TestGuidanceWaitsForAnAnswer(t *testing.T) {
	t.Run("SC31 SC66 a coder that is not asked any more", func(t *testing.T) {
		cfg := limited(60)
		cfg.Policy = delivery.Policy{MonitorEvery: time.Minute, AcceptableFailures: 1} // a step has four minutes
		p := project{cfg: cfg, cast: map[string][]any{"plan": {steps(12)}, "code": {slow(230, blocked)}, "verify monitor": {slow(20, marks(45))}}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "step budget", p.step(t, "p1.s1").FailReason)
		require.NotNil(t, input[delivery.CodeInput](t, p.asked["code"][1]).Guidance)
		assert.Equal(t, "p1.s2", p.asked["code"][1].Task)
	})
	t.Run("SC31 SC65 a planner that gives no answer", func(t *testing.T) {
		cfg := revising(1)
		cfg.Policy.Thresholds.Plan = 60
		p := project{cfg: cfg, cast: map[string][]any{
			"verify plan": {marks(65)}, "verify code": {naming(90, 2)}, "revise": times(4, errBoom), "verify goal": {marks(75)},
		}}.play(t)
		require.NoError(t, p.err)
		require.NotNil(t, input[delivery.PlanInput](t, p.asked["plan"][1]).Guidance)
		assert.Contains(t, p.asked["plan"][1].Prompt, "reminder")
	})
}

func TestExtraFields(t *testing.T) {
	t.Run("N14 extra fields cost nothing but one warning", func(t *testing.T) {
		extra := object{"confidence": 0.9}
		cast := map[string][]any{}
		for kind, answer := range good {
			if o, ok := answer.(object); ok && kind != "revise" && kind != "verify monitor" && kind != "fix" && kind != "subplan" {
				cast[kind] = []any{always{with(o, extra)}}
			}
		}
		p := project{cast: cast}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 15, p.asked.total())
		require.Len(t, p.out.Warnings, 1)
		assert.Equal(t, "answer/extra-fields", p.out.Warnings[0].Code)
		assert.Contains(t, p.out.Warnings[0].Message, "confidence")
	})
}

func TestWhatIsSaid(t *testing.T) {
	lenient := delivery.Config{Policy: delivery.Policy{AcceptableFailures: 2}}
	t.Run("SC19 S34 why a step was skipped stands in the report", func(t *testing.T) {
		p := project{cfg: lenient, cast: map[string][]any{"plan": {needing(nil, []int{1})}, "check": times(4, failed)}}.play(t)
		assert.Equal(t, []string{
			"p1.s1: its tests fail after 3 fixes: the tests failed", "p1.s2: it needs step 1, which was not completed",
		}, p.out.Report.FailReasons)
	})
	t.Run("S50 a step that failed is a record", func(t *testing.T) {
		p := project{cfg: lenient, cast: map[string][]any{"check": times(4, failed)}}.play(t)
		found := p.events(t, delivery.EventStepFailed)
		require.Len(t, found, 1)
		assert.Equal(t, "p1.s1", found[0].Target)
		assert.Equal(t, "its tests fail after 3 fixes: the tests failed", found[0].Text)
		assert.Equal(t, 50, *found[0].Percent)
	})
	t.Run("S30 the end of execution is a record", func(t *testing.T) {
		p := tight(map[string][]any{"code": {slow(94, code())}, "check": {slow(100, passed)}})
		p.cfg.Rules = iterations(1)
		found := p.play(t).events(t, delivery.EventBudgetExceeded)
		require.Len(t, found, 2)
		assert.Equal(t, "p1.s1 step budget", found[0].Target+" "+found[0].Text)
		assert.Equal(t, "p1 execution budget", found[1].Target+" "+found[1].Text)
	})
	t.Run("SC51 what is not graded is a warning", func(t *testing.T) {
		p := project{cast: map[string][]any{"verify step": times(4, errBoom)}}.play(t)
		require.Len(t, p.out.Warnings, 2)
		assert.Equal(t, orchestrator.Warning{Code: "delivery/ungraded", Who: "p1.s1", Message: "step: not graded: boom"}, p.out.Warnings[1])
	})
	t.Run("SC31 a correction has the findings", func(t *testing.T) {
		finding := object{"severity": "major", "category": "bug", "description": "no test of leap years", "location": "a.go:7"}
		p := project{cast: map[string][]any{"verify code": {with(marks(55), object{"findings": []object{finding}})}}}.play(t)
		assert.Contains(t, input[delivery.CodeInput](t, p.asked["code"][1]).Guidance.Text, "a.go:7: no test of leap years")
	})
	t.Run("SC33 N22 a fix that was rejected is not in the step's code", func(t *testing.T) {
		cfg := lenient
		cfg.Rules = fixes(10, 1)
		p := project{cfg: cfg, cast: map[string][]any{"check": {failed}, "fix": {writes("rejected", "1")}, "verify code": {marks(90), marks(50)}}}.play(t)
		assert.Equal(t, []delivery.File{{Path: "a.go", Content: "package a"}}, p.step(t, "p1.s1").Code.Files)
	})
	t.Run("N22 the tests of an attempt before do not stand beside new code", func(t *testing.T) {
		p := project{cfg: limited(2), cast: map[string][]any{"code": {code(), code()}, "verify step": {marks(60)}, "verify code": {marks(90), slow(123, marks(90))}}}.play(t)
		require.ErrorIs(t, p.err, delivery.ErrTimeExpired)
		assert.Nil(t, p.step(t, "p1.s1").Tests)
		assert.Nil(t, p.step(t, "p1.s1").Verification)
	})
}

func TestGraderIsNotAskedLate(t *testing.T) {
	t.Run("SC5 a host's Grader is not asked after the time of a step", func(t *testing.T) {
		cfg, asked := limited(60), []string{}
		cfg.Policy.SkipTestReview, cfg.Rules = true, iterations(1) // a step has four minutes
		cfg.Rules.Graders.Step = orchestrator.GraderFunc[delivery.VerifyInput, delivery.Verdict](
			func(_ *orchestrator.Context, in delivery.VerifyInput) (delivery.Verdict, error) {
				asked = append(asked, in.Step.ID)
				return delivery.Verdict{Approved: true, Score: 90, Evidence: []string{"seen"}}, nil
			})
		p := project{cfg: cfg, cast: map[string][]any{"plan": {steps(12)}, "code": {slow(230, code())}, "check": {slow(20, passed)}}}.play(t)
		assert.Equal(t, "step budget", p.step(t, "p1.s1").FailReason)
		assert.Len(t, asked, 11)
		assert.NotContains(t, asked, "p1.s1")
	})
}

// long is a team for plans of many steps, with answers at once; ask hears each request.
func long(tb testing.TB, n int, ask func(agent.Request)) (orchestrator.Flow[delivery.Input, delivery.Outcome], *orchestrator.Engine) {
	tb.Helper()
	cfg := config()
	cfg.Limits.Time, cfg.Bounds.MaxSteps = orchestrator.None, n
	flow, err := delivery.New(cfg)
	require.NoError(tb, err)
	needs := make([][]int, n)
	for i := 1; i < n; i++ {
		needs[i] = []int{i}
	}
	plan := agent.JSON(needing(needs...))
	answers := map[string]json.RawMessage{}
	for kind, answer := range good {
		answers[kind] = agent.JSON(answer)
	}
	role := agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
		ask(req)
		if req.Op == delivery.OpPlan {
			return agent.Response{Data: plan}, nil
		}
		return agent.Response{Data: answers[kindOf(req)]}, nil
	})
	e, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"planner": role, "coder": role, "tester": role, "supervisor": role}})
	require.NoError(tb, err)
	return flow, e
}

func TestCostOfLongRuns(t *testing.T) {
	t.Run("ten times the steps are at most eleven times the words", func(t *testing.T) {
		words := func(n int) (bytes int) {
			flow, e := long(t, n, func(req agent.Request) { bytes += len(req.Prompt) + len(req.Input) })
			out, err := flow.Run(t.Context(), e, delivery.Input{Goal: "x"})
			require.NoError(t, err)
			require.Equal(t, n, out.State.Metrics.CompletedSteps)
			require.NoError(t, e.Close(context.WithoutCancel(t.Context())))
			return bytes
		}
		few, many := words(20), words(200)
		assert.LessOrEqual(t, many, 11*few, "%d and %d bytes", few, many)
	})
	t.Run("a verdict is told of twenty steps, and how many there are", func(t *testing.T) {
		var seen []delivery.VerifyInput
		flow, e := long(t, 50, func(req agent.Request) {
			if kindOf(req) == "verify step" {
				seen = append(seen, input[delivery.VerifyInput](t, req))
			}
		})
		_, err := flow.Run(t.Context(), e, delivery.Input{Goal: "x"})
		require.NoError(t, err)
		require.NoError(t, e.Close(context.WithoutCancel(t.Context())))
		in := seen[29] // of step 30
		require.Len(t, in.Steps, 20)
		assert.Equal(t, 30, in.StepsLeft)
		assert.Equal(t, "p1.s21", in.Steps[0].ID)
		assert.Equal(t, "p1.s30", in.Steps[9].ID, "ten that have begun")
		assert.Equal(t, "p1.s40", in.Steps[19].ID, "and ten that come")
		assert.Len(t, seen[49].Steps, 20, "the last twenty")
	})
}

// BenchmarkSteps reports how many times as long as 20 steps 200 take (at most 11): ten runs of
// 20 are beside each of 200.
func BenchmarkSteps(b *testing.B) {
	took := func(n int) time.Duration {
		flow, e := long(b, n, func(agent.Request) {})
		runtime.GC()
		began := time.Now()
		_, err := flow.Run(b.Context(), e, delivery.Input{Goal: strings.Repeat("x", 10)})
		spent := time.Since(began)
		require.NoError(b, err)
		require.NoError(b, e.Close(context.WithoutCancel(b.Context())))
		return spent
	}
	var few, many time.Duration
	for b.Loop() {
		for range 10 {
			few += took(20) / 10
		}
		many += took(200)
	}
	b.ReportMetric(float64(many)/float64(few), "times")
	b.ReportMetric(0, "ns/op")
	b.Log(fmt.Sprint(few/time.Duration(b.N), " for 20 steps, ", many/time.Duration(b.N), " for 200"))
}
