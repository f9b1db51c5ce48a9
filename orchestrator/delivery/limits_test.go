package delivery_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/internal/roundtest"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// slow is an answer that takes a number of seconds.
func slow(seconds int, answer any) any {
	return flowtest.Delay(time.Duration(seconds)*time.Second, answer)
}

func limited(minutes int) delivery.Config {
	return delivery.Config{Limits: team.Limits{Time: time.Duration(minutes) * time.Minute}}
}

// tight is a run of ten minutes whose plan takes 350 s, most of it a review that begins within
// the minute for planning: execution has the next 190 s.
func tight(more map[string][]any) project {
	p := project{cfg: limited(10), cast: map[string][]any{"plan": {slow(55, steps(2))}, "verify plan": {slow(295, marks(90))}}}
	maps.Copy(p.cast, more)
	return p
}

// late is tight with a verdict on step 1 that comes after the time is up.
func late() project {
	return tight(map[string][]any{"code": {slow(60, code())}, "verify step": {slow(195, marks(90))}})
}

func TestTime(t *testing.T) {
	t.Run("SA41 S6 S21 S34 SC40 SC53 SC55 expiry between two steps", func(t *testing.T) {
		p := late().play(t)
		require.ErrorIs(t, p.err, delivery.ErrTimeExpired)
		require.NotErrorIs(t, p.err, orchestrator.ErrBudget, "there is a result")
		assert.Equal(t, delivery.TimeExpired, p.out.State.Status)
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.Equal(t, delivery.StepCompleted, p.step(t, "p1.s1").Status, "the verdict counts")
		assert.Equal(t, []string{"p1.s2"}, p.out.Report.Unfinished)
		assert.Equal(t, 2+5, p.asked.total())
		assert.InDelta(t, 605, p.out.Elapsed.Seconds(), 1)
		assert.NotNil(t, p.out.State.EndTime)
		assert.Empty(t, p.events(t, delivery.EventBudgetExceeded), "that is for parts of a run")
	})
	t.Run("SA42 SC44 SC55 SC59 expiry during a call that ends soon", func(t *testing.T) {
		p := tight(map[string][]any{"code": {code(), slow(258, code())}}).play(t)
		require.ErrorIs(t, p.err, delivery.ErrTimeExpired)
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.NotNil(t, p.step(t, "p1.s2").Code, "the output is kept")
		assert.Len(t, p.asked["verify code"], 1)
		assert.InDelta(t, 608, p.out.Elapsed.Seconds(), 1)
	})
	t.Run("SC55 S51 a call that fails after the end is not tried again", func(t *testing.T) {
		p := tight(map[string][]any{"code": {code(), slow(258, errBoom)}}).play(t)
		require.ErrorIs(t, p.err, delivery.ErrTimeExpired)
		assert.Empty(t, p.slept(t))
		assert.Empty(t, p.out.Warnings)
		assert.InDelta(t, 608, p.out.Elapsed.Seconds(), 1)
	})
	t.Run("SA43 SC44 expiry during a call that hangs", func(t *testing.T) {
		p := tight(map[string][]any{"code": {flowtest.Hang()}}).play(t)
		require.ErrorIs(t, p.err, delivery.ErrTimeExpired)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget, "SC53")
		assert.Equal(t, orchestrator.OutOfBudget, p.out.Status)
		assert.InDelta(t, 630, p.out.Elapsed.Seconds(), 1)
		assert.Len(t, p.asked["code"], 1, "a call cut by the run's end is no failure of the agent")
		assert.Empty(t, p.out.Warnings)
	})
	t.Run("SA44 S32 SC3 a step's time is shared out anew", func(t *testing.T) {
		p := project{cfg: limited(120), cast: map[string][]any{"plan": {steps(8)}, "code": {slow(299, code())}, "check": {slow(1, passed)}}}.play(t)
		require.NoError(t, p.err)
		started := p.events(t, delivery.EventStepStarted)
		require.Len(t, started, 8)
		assert.InDelta(t, 12, started[0].Left.Minutes(), 0.01)
		assert.InDelta(t, 13, started[1].Left.Minutes(), 0.01)
	})
	t.Run("SA45 SC5 SC55 a slow plan that is approved", func(t *testing.T) {
		p := project{cfg: limited(60), cast: map[string][]any{"plan": {slow(290, steps(2))}, "verify plan": {slow(130, marks(90))}}}.play(t)
		require.NoError(t, p.err)
		assert.InDelta(t, 23.5, p.events(t, delivery.EventStepStarted)[0].Left.Minutes(), 0.01, "47 minutes for two steps")
	})
	t.Run("SA45 SC5 a slow plan that is rejected", func(t *testing.T) {
		p := project{cfg: limited(60), cast: map[string][]any{"plan": {slow(290, steps(2))}, "verify plan": {slow(130, marks(60))}}}.play(t)
		require.ErrorIs(t, p.err, delivery.ErrPlanning)
		require.EqualError(t, p.err, "delivery: planning: planning budget")
		assert.Equal(t, delivery.Failed, p.out.State.Status)
		assert.Equal(t, 2, p.asked.total())
	})
	t.Run("SC3 SC55 what there is to divide", func(t *testing.T) {
		var seen []string
		cfg := limited(60)
		cfg.Rules.Allocator = delivery.AllocatorFunc(func(of delivery.Timing) delivery.Allocation {
			seen = append(seen, fmt.Sprint(of.Total.Round(time.Second), " ", of.Execution.Round(time.Second), " ", of.Steps))
			return delivery.Shares{Planning: 10, Execution: 80, Verification: 10}.Allocate(of)
		})
		p := project{cfg: cfg, cast: map[string][]any{"plan": {slow(60, steps(2)), steps(2)}, "code": {slow(120, code())}, "verify goal": {marks(75)}}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, []string{
			"1h0m0s 0s 0", "1h0m0s 48m0s 2", "1h0m0s 46m0s 1", // of the first plan; it took a minute of planning and two of execution
			"57m0s 0s 0", "57m0s 45m36s 2", "57m0s 45m36s 1",
		}, seen)
	})
	t.Run("SC5 a sub-plan has the time of its step", func(t *testing.T) {
		cfg := limited(60)
		cfg.Rules = iterations(1) // a step has four minutes
		p := project{cfg: cfg, cast: map[string][]any{
			"plan": {steps(12)}, "code": {tooMuch}, "subplan": {slow(230, steps(1))}, "verify plan": {marks(90), slow(20, marks(60))},
		}}.play(t)
		assert.Equal(t, "planning: step budget", p.step(t, "p1.s1").FailReason)
		require.Len(t, p.asked["subplan"], 1)
		assert.Equal(t, "step budget", p.events(t, delivery.EventBudgetExceeded)[0].Text)
		assert.Equal(t, "p1.s1", p.events(t, delivery.EventBudgetExceeded)[0].Target)
	})
	t.Run("SA46 S33 SC4 the time for fixes is up", func(t *testing.T) {
		cfg := limited(60)
		cfg.Rules = iterations(1)
		p := project{cfg: cfg, cast: map[string][]any{
			"plan": {steps(12)}, "check": {failed, failed}, "fix": {slow(75, code())}, // 48 minutes for 12 steps; 72 s of 4 minutes for fixes
		}}.play(t)
		assert.Equal(t, 1, p.out.State.Metrics.FixCycles)
		assert.Equal(t, "step budget", p.step(t, "p1.s1").FailReason)
		assert.Equal(t, delivery.StepCompleted, p.step(t, "p1.s2").Status)
		require.ErrorIs(t, p.err, delivery.ErrGoalNotReached)
	})
	t.Run("SA46 S33 the time for fixes is not up", func(t *testing.T) {
		p := project{cfg: limited(60), cast: map[string][]any{"plan": {steps(12)}, "check": {failed, failed}, "fix": {slow(70, code())}}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 2, p.out.State.Metrics.FixCycles)
	})
	t.Run("SC5 S28 the time of a step is up", func(t *testing.T) {
		cfg := limited(60)
		cfg.Rules = iterations(1)
		p := project{cfg: cfg, cast: map[string][]any{"plan": {steps(12)}, "code": {slow(245, code())}}}.play(t)
		assert.Equal(t, "step budget", p.step(t, "p1.s1").FailReason)
		assert.Len(t, p.asked["verify code"], 11)
	})
	t.Run("SC5 SA46 no fix begins after the time of a step", func(t *testing.T) {
		cfg := limited(60)
		cfg.Rules = iterations(1) // a step has four minutes
		p := project{cfg: cfg, cast: map[string][]any{"plan": {steps(12)}, "code": {slow(230, code())}, "check": {failed}, "verify test": {slow(20, marks(90))}}}.play(t)
		assert.Equal(t, "step budget", p.step(t, "p1.s1").FailReason)
		assert.Zero(t, p.out.State.Metrics.FixCycles)
		assert.Zero(t, p.sent(delivery.FixPlanMessage))
	})
	t.Run("SC5 no attempt begins after the time of a step", func(t *testing.T) {
		cfg := limited(60)
		cfg.Rules = iterations(1)
		p := project{cfg: cfg, cast: map[string][]any{"plan": {steps(12)}, "code": {slow(230, code())}, "verify step": {slow(20, marks(60))}}}.play(t)
		assert.Equal(t, "step budget", p.step(t, "p1.s1").FailReason)
		assert.Equal(t, 1, p.step(t, "p1.s1").Attempts)
		assert.NotContains(t, p.trace(t), "step_retried")
		assert.Len(t, p.events(t, delivery.EventBudgetExceeded), 1)
	})
	t.Run("SC5 SC55 a step that the run's end cuts has not failed", func(t *testing.T) {
		for what, more := range map[string]map[string][]any{
			"after a rejection":     {"code": {slow(60, code())}, "verify step": {slow(195, marks(60))}},
			"after tests that fail": {"code": {slow(60, code())}, "check": {failed}, "verify test": {slow(195, marks(90))}},
		} {
			p := tight(more).play(t)
			require.ErrorIs(t, p.err, delivery.ErrTimeExpired, what)
			assert.EqualValues(t, "in_progress", p.step(t, "p1.s1").Status, what)
			assert.InDelta(t, 605, p.out.Elapsed.Seconds(), 1, what)
		}
	})
	t.Run("SC5 the time of execution is up", func(t *testing.T) {
		p := tight(map[string][]any{"code": {slow(94, code())}, "check": {slow(100, passed)}})
		p.cfg.Rules = iterations(1)
		got := p.play(t)
		require.ErrorIs(t, got.err, delivery.ErrGoalNotReached)
		require.ErrorContains(t, got.err, "not finished: steps 2")
		assert.Equal(t, "step budget", got.step(t, "p1.s1").FailReason)
		assert.EqualValues(t, "pending", got.step(t, "p1.s2").Status)
		assert.Len(t, got.asked["code"], 1)
	})
	t.Run("SA47 SC58 continuing", func(t *testing.T) {
		first := late().play(t)
		p := project{in: delivery.Input{From: &first.out.State}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		assert.Empty(t, p.asked["plan"])
		assert.Len(t, p.asked["code"], 1)
		assert.Equal(t, 5+3, p.asked.total())
		assert.Contains(t, p.trace(t), "continue")
	})
	t.Run("SC58 SC51 what was unverified stays so", func(t *testing.T) {
		unsure := late()
		unsure.cast["verify code"] = times(4, errBoom)
		first := unsure.play(t)
		require.Equal(t, []string{"p1.s1"}, first.out.Unverified)
		p := project{in: delivery.Input{From: &first.out.State}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.Equal(t, []string{"p1.s1"}, p.out.Unverified)
	})
	t.Run("SC58 SC35 the next plan is one after the first", func(t *testing.T) {
		first := late().play(t)
		p := project{in: delivery.Input{From: &first.out.State}, cast: map[string][]any{"verify goal": {marks(75)}}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 1, p.out.State.Metrics.ReplanCount)
	})
	t.Run("SC58 the interrupted step keeps its attempts", func(t *testing.T) {
		first := tight(map[string][]any{"verify code": {marks(59)}, "code": {code(), flowtest.Hang()}}).play(t)
		require.ErrorIs(t, first.err, delivery.ErrTimeExpired)
		assert.Equal(t, 2, first.step(t, "p1.s1").Attempts)
		p := project{in: delivery.Input{From: &first.out.State}, cast: map[string][]any{"verify code": times(2, marks(59))}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 3, p.step(t, "p1.s1").Attempts, "and has three in all")
		assert.Equal(t, 1, p.asked.of("subplan"))
		assert.Equal(t, 3, p.out.State.Metrics.VerificationsFailed)
	})
	t.Run("SC26 SC48 no limit of time", func(t *testing.T) {
		p := project{cfg: delivery.Config{Limits: team.Limits{Time: orchestrator.None}}, cast: map[string][]any{"code": {slow(299, code()), slow(299, code())}}}.play(t)
		require.NoError(t, p.err)
		assert.Empty(t, input[delivery.PlanInput](t, p.asked["plan"][0]).TimeLeft)
		assert.EqualValues(t, orchestrator.None, p.out.State.TimeLimit)
		assert.Zero(t, p.events(t, delivery.EventStepStarted)[0].Left)
	})
	t.Run("SX15 SC55 a call has five minutes", func(t *testing.T) {
		p := project{cfg: delivery.Config{Limits: team.Limits{Time: orchestrator.None}}, cast: map[string][]any{"code": {flowtest.Hang()}}}.play(t)
		require.NoError(t, p.err)
		assert.InDelta(t, 301, p.out.Elapsed.Seconds(), 1, "and is tried again a second later")
	})
	t.Run("SC55 SC28 the vendor's wait", func(t *testing.T) {
		p := project{cast: map[string][]any{"code": {&agent.Error{Message: "slow down", RetryAfter: 3 * time.Second}}}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, []float64{3}, p.slept(t))
	})
}

func costs(usd float64, answer any) agent.Response {
	return agent.Response{Data: agent.JSON(answer), Usage: providers.Usage{Calls: 1, Cost: providers.Dollars(usd)}}
}

func TestBudgets(t *testing.T) {
	t.Run("SX14 SC53 calls are used up, with a result", func(t *testing.T) {
		p := project{cfg: delivery.Config{Limits: team.Limits{Calls: 8}}}.play(t)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.Equal(t, delivery.Aborted, p.out.State.Status)
		assert.Equal(t, 8, p.asked.total())
	})
	t.Run("SX14 SC53 calls are used up, without one", func(t *testing.T) {
		p := project{cfg: delivery.Config{Limits: team.Limits{Calls: 3}}}.play(t)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		assert.Equal(t, orchestrator.OutOfBudget, p.out.Status)
	})
	t.Run("SX14 SC53 N1 money is used up", func(t *testing.T) {
		p := project{cfg: delivery.Config{Limits: team.Limits{Cost: providers.Dollars(1)}}, cast: map[string][]any{"plan": {costs(1, steps(2))}}}.play(t)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		assert.Equal(t, orchestrator.OutOfBudget, p.out.Status)
		assert.Equal(t, providers.Dollars(1), p.out.State.Agents[delivery.Planner].Usage.Cost, "S24")
		assert.Equal(t, 1, p.out.State.Agents[delivery.Planner].Requests)
	})
	t.Run("SX14 N9 models without a price, and the estimate of a call", func(t *testing.T) {
		unpriced := costs(0, steps(2))
		unpriced.Usage.Unpriced = 1
		p := project{cfg: delivery.Config{Limits: team.Limits{Cost: providers.Dollars(1), Estimate: 3}}, cast: map[string][]any{"plan": {unpriced}}}
		require.ErrorIs(t, p.play(t).err, orchestrator.ErrBudget)
		c, scripts := p.open(t)
		c.Options.Budget = orchestrator.Budget{AllowUnpriced: true}
		out, _, err := c.Run(t)
		require.NoError(t, err, "the run's budget allows them")
		assert.EqualValues(t, 1, out.Spent.Unpriced)
		assert.EqualValues(t, 3, scripts["code"].Requests()[0].Limits.Estimate)
	})
	t.Run("N1 SC56 an agent's own budget is its failure", func(t *testing.T) {
		p := project{cast: map[string][]any{"plan": {orchestrator.ErrBudget}}}.play(t)
		require.ErrorIs(t, p.err, delivery.ErrPlanning)
		assert.Equal(t, orchestrator.Failed, p.out.Status)
	})
	t.Run("SA49 SX1 SC38 a cancel", func(t *testing.T) {
		cfg := config()
		flow, err := delivery.New(cfg)
		require.NoError(t, err)
		synctest.Test(t, func(t *testing.T) {
			role := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
				if req.Op == delivery.OpCode {
					<-ctx.Done()
					return agent.Response{}, ctx.Err()
				}
				return agent.Response{Data: agent.JSON(good[kindOf(req)])}, nil
			})
			e, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"planner": role, "coder": role, "tester": role, "supervisor": role}})
			require.NoError(t, err)
			defer func() { require.NoError(t, e.Close(context.WithoutCancel(t.Context()))) }()
			run, err := flow.Start(t.Context(), e, delivery.Input{Goal: "x"}, orchestrator.StartOptions{})
			require.NoError(t, err)
			synctest.Wait()
			require.NoError(t, run.Cancel(t.Context(), "enough"))
			out, err := flow.Result(t.Context(), run)
			require.ErrorIs(t, err, context.Canceled)
			assert.Equal(t, orchestrator.Canceled, out.Status)
			assert.Equal(t, delivery.Aborted, out.State.Status)
			assert.Equal(t, []string{"p1.s1", "p1.s2"}, out.Report.Unfinished)
		})
	})
}

// endings are runs that end in every way but a cancel, which comes from outside.
func endings() map[string]project {
	cost := func(usd float64) delivery.Config {
		return delivery.Config{Limits: team.Limits{Cost: providers.Dollars(usd)}}
	}
	once := delivery.Config{Rules: iterations(1)}
	rough := delivery.Config{Rules: iterations(2)}
	lenient := delivery.Config{Policy: delivery.Policy{AcceptableFailures: 1}}
	first := delivery.State{PrimaryGoal: "x", Plans: []delivery.Plan{{ID: "", Approved: true}}}
	watched := delivery.Config{
		Policy: delivery.Policy{Revisions: 1, AcceptableFailures: 1, MonitorEvery: 1}, Rules: fixes(1, 0),
	}
	all := map[string]project{
		"SC65 partial, revised and watched": {cfg: watched, cast: map[string][]any{
			"plan": {needing(nil, []int{1})}, "code": {slow(70, blocked)}, "check": {failed}, "revise": {numbered(nil, 2)},
		}},
		"SA1 completed":                            {},
		"SA12 completed, tests fail once":          {cast: map[string][]any{"check": {failed}}},
		"SA20 completed, with a sub-plan":          {cast: map[string][]any{"code": times(3, blocked), "subplan": {steps(2)}}},
		"SX11 completed, a run with everything":    {cfg: rough, cast: map[string][]any{"check": {failed}, "code": {tooMuch, errBoom}, "verify goal": {marks(70)}}},
		"SA53 partial, a step is never graded":     {cast: map[string][]any{"verify step": times(4, errBoom)}},
		"SC59 partial, a step has failed":          {cfg: lenient, cast: map[string][]any{"check": times(4, failed)}},
		"SA43 partial, the time is up":             {cfg: limited(2), cast: map[string][]any{"code": {code(), flowtest.Hang()}}},
		"SA52 partial, the goal is never graded":   {cast: map[string][]any{"verify goal": times(4, errBoom)}},
		"SX14 partial, the money is used up":       {cfg: cost(1), cast: map[string][]any{"verify step": {costs(1, marks(90))}}},
		"SA43 out-of-budget, the time is up":       {cfg: limited(2), cast: map[string][]any{"code": {flowtest.Hang()}}},
		"SX14 out-of-budget, the money is used up": {cfg: cost(1), cast: map[string][]any{"plan": {costs(1, steps(2))}}},
		"SA30 failed, the planner":                 {cast: map[string][]any{"plan": {agent.ErrRefused}}},
		"SA24 failed, the goal is not reached":     {cfg: once, cast: map[string][]any{"check": {always{failed}}}},
		"S38 failed, the supervisor ends the run":  {cast: map[string][]any{"verify plan": {always{marks(10)}}}},
		"SA48 failed, a blank goal":                {in: delivery.Input{Goal: " "}},
		"SC58 failed, what cannot be continued":    {in: delivery.Input{Goal: "x", From: &first}},
	}
	for name, p := range all {
		if p.cast == nil || p.cast["plan"] != nil || name == "SA43 partial, the time is up" {
			continue
		}
		p.cfg.Bounds.MinSteps, p.cast["plan"] = 1, []any{always{steps(1)}} // a step is enough to see it
		all[name] = p
	}
	return all
}

// oneStep is a run of ten calls, which has so many: the plan, its review, code, its
// review, the tests, their review, the step, the whole, its review, the goal.
func oneStep(calls int64) project {
	return project{cfg: delivery.Config{Limits: team.Limits{Calls: calls}, Bounds: delivery.Bounds{MinSteps: 1}}, cast: map[string][]any{"plan": {steps(1)}}}
}

// TestEnds has every end come out the same, wherever the run was killed. All but the quick
// tests kill it in the middle of what it writes, too, and have calls come back in another order.
func TestEnds(t *testing.T) {
	check := func(t *testing.T, p project, status string) {
		t.Helper()
		t.Parallel()
		c, _ := p.open(t)
		out, _, err := c.Run(t)
		assert.Equal(t, orchestrator.Status(status), out.Status, "%v", err)
		c.Quick = !roundtest.All()
		c.Sweep(t)
		if roundtest.All() {
			c.Determinism(t)
		}
	}
	for name, p := range endings() {
		t.Run(name, func(t *testing.T) {
			_, status, _ := strings.Cut(name, " ")
			status, _, _ = strings.Cut(status, ",")
			check(t, p, status)
		})
	}
	for n, status := range []string{
		1: "out-of-budget", "out-of-budget", "out-of-budget", "out-of-budget", "out-of-budget", "out-of-budget",
		"partial", "partial", "partial", // the step is completed, the goal is not judged
		"completed",
	} {
		if n > 0 {
			t.Run(fmt.Sprintf("SX14 N4 of 10 calls there are %d", n), func(t *testing.T) { check(t, oneStep(int64(n)), status) })
		}
	}
}
