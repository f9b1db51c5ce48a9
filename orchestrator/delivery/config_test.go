package delivery_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

// retries changes the default Retrier.
func retries(change func(r *delivery.Retries)) func(c *delivery.Config) {
	return func(c *delivery.Config) {
		r, _ := delivery.DefaultRules().Retrier.(delivery.Retries)
		change(&r)
		c.Rules.Retrier = r
	}
}

func TestConfig(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(c *delivery.Config)
		want   string // "": it is fine
	}{
		{"SA48 SX3 no planner", func(c *delivery.Config) { c.Agents.Planner = "" }, "Agents.Planner is empty"},
		{"SA48 SX3 no coder", func(c *delivery.Config) { c.Agents.Coder = "" }, "Agents.Coder is empty"},
		{"SA48 SX3 no tester", func(c *delivery.Config) { c.Agents.Tester = "" }, "Agents.Tester is empty"},
		{"SA48 SX3 no supervisor", func(c *delivery.Config) { c.Agents.Supervisor = "" }, "Agents.Supervisor is empty"},
		{"SX3 S7 one agent for all", func(c *delivery.Config) {
			c.Agents = delivery.Agents{Planner: "x", Coder: "x", Tester: "x", Supervisor: "x"}
		}, ""},
		{"S41 a gate", func(c *delivery.Config) { c.Policy.Thresholds.Plan = 101 }, "Policy.Thresholds.Plan is 101, want 0 to 100"},
		{"S35 a ladder", func(c *delivery.Config) { c.Rules.Ladder = delivery.Ladder{Remind: 70, Correct: 80} }, "Rules.Ladder: Correct is 80, want at most Remind, 70"},
		{"SC24 acceptable failures", func(c *delivery.Config) { c.Policy.AcceptableFailures = -1 }, "Policy.AcceptableFailures is -1, want 0 or more"},
		{"N2 an assumed score", func(c *delivery.Config) { c.Policy.AssumeScore = new(math.NaN()) }, "Policy.AssumeScore is NaN, want 0 to 100"},
		{"S45 attempts", retries(func(r *delivery.Retries) { r.Step.Max = -1 }), "Rules.Retrier: step: Max is -1, want 0 to 100"},
		{"N21 none are no attempts", retries(func(r *delivery.Retries) { r.Fix = orchestrator.Attempts{Wait: 1} }), "Rules.Retrier: fix: Max is 0, want 1 or more"},
		{"SC14 no fixes", retries(func(r *delivery.Retries) { r.Fix.Max = 1 }), ""},
		{"SC16 plans", retries(func(r *delivery.Retries) { r.Plan.Max = -1 }), "Rules.Retrier: plan: Max is -1"},
		{"SC25 iterations", retries(func(r *delivery.Retries) { r.Iteration.Max = 101 }), "Rules.Retrier: iteration: Max is 101"},
		{"S51 calls", retries(func(r *delivery.Retries) { r.Call.Max = -1 }), "Rules.Retrier: call: Max is -1"},
		{"SC28 a wait", retries(func(r *delivery.Retries) { r.Call.Wait = -2 }), "Rules.Retrier: call: Wait is -2ns, want 0 or more"},
		{"SC28 a factor", retries(func(r *delivery.Retries) { r.Call.Factor = -0.5 }), "Rules.Retrier: call: Factor is -0.5, want 0 to 1000"},
		{"SC23 failed steps", func(c *delivery.Config) { c.Bounds.FailedSteps = -1 }, "Bounds.FailedSteps is -1"},
		{"SC26 a time", func(c *delivery.Config) { c.Limits.Time = -2 }, "Limits.Time is -2ns"},
		{"SC5 a grace", func(c *delivery.Config) { c.Bounds.Grace = -2 }, "Bounds.Grace is -2ns"},
		{"S3 a depth", func(c *delivery.Config) { c.Bounds.Depth = -2 }, "Bounds.Depth is -2"},
		{"SC17 steps", func(c *delivery.Config) { c.Bounds.MinSteps = -1 }, "Bounds.MinSteps is -1"},
		{"SC17 most steps", func(c *delivery.Config) { c.Bounds.MaxSteps = -1 }, "Bounds.MaxSteps is -1"},
		{"SC17 more steps than fit", func(c *delivery.Config) { c.Bounds.MinSteps = 16 }, "Bounds.MinSteps is 16, want at most Bounds.MaxSteps, 15"},
		{"SX14 a cost", func(c *delivery.Config) { c.Limits.Cost = -2 }, "Limits.Cost is -0.000000002"},
		{"SX14 calls of models", func(c *delivery.Config) { c.Limits.Calls = -2 }, "Limits.Calls is -2"},
		{"S29 shares", func(c *delivery.Config) { c.Rules.Allocator = delivery.Shares{Fix: 200} }, "Rules.Allocator: Fix is 200, want 0 to 100"},
		{"S54 an unknown prompt", func(c *delivery.Config) { c.Prompts = fstest.MapFS{"plans.tmpl": {}} }, "plans.tmpl is no template of the team"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := config()
			tt.change(&cfg)
			flow, err := delivery.New(cfg)
			if tt.want == "" {
				require.NoError(t, err)
				assert.NotEmpty(t, flow.Agents)
				return
			}
			require.ErrorContains(t, err, "delivery: ")
			require.ErrorContains(t, err, tt.want)
			assert.NotContains(t, err.Error(), "\n", "it is the only fault")
		})
	}
	t.Run("all faults are in one error", func(t *testing.T) {
		_, err := delivery.New(delivery.Config{Bounds: delivery.Bounds{Depth: -2}})
		require.ErrorContains(t, err, "Agents.Tester")
		require.ErrorContains(t, err, "Bounds.Depth")
	})
}

func TestConfigJSON(t *testing.T) {
	own, _ := delivery.DefaultRules().Retrier.(delivery.Retries)
	own.Step.Max, own.Call.Factor = 1, 1.5
	whole := delivery.Config{
		Name: "factory", Agents: delivery.Agents{Planner: "p", Coder: "c", Tester: "t", Supervisor: "s", Workspace: "w"},
		Rules: delivery.Rules{
			Scheduler: routing.Preference{Phases: []string{"complex"}}, Allocator: delivery.Shares{Planning: 20, MostPlanning: time.Minute},
			Gates: delivery.Gates{Code: delivery.Passing{}}, Ladder: delivery.Ladder{Remind: 60, AbortAt: 9},
			Retrier: own,
		},
		Policy: delivery.Policy{
			Thresholds: delivery.Thresholds{Plan: 1, Code: 2, Test: 3, Step: 4, Goal: 5}, AcceptableFailures: 1, AssumeScore: new(0.0),
			SkipTestReview: true, SubPlanOnTestFailure: true,
		},
		Limits: team.Limits{Time: orchestrator.None, Cost: providers.Dollars(1.25), Calls: 9},
		Bounds: delivery.Bounds{Grace: time.Minute, Depth: 1, MinSteps: 2, MaxSteps: 3, FailedSteps: 5},
	}
	data, err := json.Marshal(whole)
	require.NoError(t, err)
	var again delivery.Config
	require.NoError(t, json.Unmarshal(data, &again))
	assert.Equal(t, whole, again)
	assert.Contains(t, string(data), `"limits":{"cost":1.25,"calls":9,"time":-1},"bounds":{"grace":"1m0s","depth":1,"minSteps":2,"maxSteps":3,"failedSteps":5}`)

	data, err = json.Marshal(delivery.Config{Rules: delivery.Rules{Fallback: func(delivery.Failure) ([]byte, error) { return nil, nil }}, Prompts: fstest.MapFS{}})
	require.NoError(t, err)
	assert.JSONEq(t, `{"rules":{}}`, string(data), "functions and prompts stay out")
	_, err = json.Marshal(delivery.Config{Rules: delivery.Rules{Gates: delivery.Gates{Code: grading.AtLeast(1)}}})
	require.ErrorContains(t, err, "Rules.Gates.Code is the program's own and has no JSON")

	for text, fault := range map[string]string{
		`{"limits":{"time":300}}`:                        "",
		`{"limits":{"times":300}}`:                       "limits.times is unknown",
		`{"rules":{"retrier":{"call":{"wait":"soon"}}}}`: `rules.retrier.call.wait is "soon", want a duration`,
		`{"rules":{"ladder":{"abortAt":"five"}}}`:        "rules.ladder.abortAt is a JSON string, want a whole number",
		`{"rules":{"grader":{}}}`:                        "rules.grader is unknown",
		`{"policy":{"thresholds":{"plans":70}}}`:         "policy.thresholds.plans is unknown",
		`{"agents":{"planer":"x"}}`:                      "agents.planer is unknown",
		`{"hooks":{}}`:                                   "hooks is unknown",
	} {
		err := json.Unmarshal([]byte(text), &again)
		if fault == "" {
			require.NoError(t, err)
			assert.Equal(t, 5*time.Minute, again.Limits.Time)
			continue
		}
		require.ErrorContains(t, err, fault, text)
	}
}

// A rule in JSON is the fields of its default: what is not mentioned is the default's.
func TestRulesJSON(t *testing.T) {
	var cfg delivery.Config
	require.NoError(t, json.Unmarshal([]byte(`{"rules":{"ladder":{"abortAt":0},"retrier":{"step":{"max":2}},"allocator":{"planning":5}}}`), &cfg))
	ladder, _ := delivery.DefaultRules().Ladder.(delivery.Ladder)
	ladder.AbortAt = 0
	assert.Equal(t, ladder, cfg.Rules.Ladder)
	retries, _ := delivery.DefaultRules().Retrier.(delivery.Retries)
	retries.Step.Max = 2
	assert.Equal(t, retries, cfg.Rules.Retrier)
	assert.Equal(t, delivery.Shares{Planning: 5, Execution: 80, Verification: 10, Fix: 30, MostPlanning: 15 * time.Minute, MostVerification: 10 * time.Minute}, cfg.Rules.Allocator)
	assert.Nil(t, cfg.Rules.Scheduler)
	assert.Nil(t, cfg.Rules.Gates.Plan)
}

func TestInput(t *testing.T) {
	plan := delivery.Plan{ID: "p1", Approved: true, Status: "in_progress", Steps: []delivery.Step{
		{ID: "p1.s1", Number: 1, Description: "x", Status: delivery.StepCompleted},
	}}
	from := func(change func(s *delivery.State)) *delivery.State {
		p := plan
		p.Steps = append([]delivery.Step{}, plan.Steps...)
		s := &delivery.State{PrimaryGoal: "x", Plans: []delivery.Plan{p}, Iteration: 1}
		change(s)
		return s
	}
	for _, tt := range []struct {
		name string
		in   delivery.Input
		err  error
		want string
	}{
		{"N20 a goal with a control character", delivery.Input{Goal: "x\x1b"}, delivery.ErrGoal, "goal: line 1, character 2 is U+001B, a control character"},
		{"N20 a goal that shows nothing", delivery.Input{Goal: "\u200b"}, delivery.ErrGoal, "goal: it has 1 characters, and none that can be seen"},
		{"SX2 SA48 no goal", delivery.Input{}, delivery.ErrEmptyGoal, "goal is empty"},
		{"SX2 a goal of 256 KiB and a byte", delivery.Input{Goal: strings.Repeat("x", 256<<10+1)}, delivery.ErrGoalTooLarge, "goal has 262145 bytes, want at most 262144"},
		{"limits that are none", delivery.Input{Goal: "x", Limits: team.Limits{Calls: -2}}, delivery.ErrLimits, "limits.Calls is -2"},
		{"SC58 another goal", delivery.Input{Goal: "y", From: from(func(*delivery.State) {})}, delivery.ErrState, "from: primaryGoal is another one than goal"},
		{"SC58 two plans of one ID", delivery.Input{From: from(func(s *delivery.State) { s.Plans = append(s.Plans, s.Plans[0]) })}, delivery.ErrState, `plans[1].id is "p1", want one that no other plan has`},
		{"SC58 a status that is none", delivery.Input{From: from(func(s *delivery.State) { s.Plans[0].Steps[0].Status = "done" })}, delivery.ErrState, `plans[0].steps[0].status is "done"`},
		{"SC58 steps in a circle", delivery.Input{From: from(func(s *delivery.State) { s.Plans[0].Steps[0].DependsOn = []int{1} })}, delivery.ErrState, "plans[0]: step 1 depends on itself"},
		{"SC58 attempts below zero", delivery.Input{From: from(func(s *delivery.State) { s.Plans[0].Steps[0].Attempts = -1 })}, delivery.ErrState, "attempts is -1"},
		{"SC58 an iteration below zero", delivery.Input{From: from(func(s *delivery.State) { s.Iteration = -1 })}, delivery.ErrState, "iteration is -1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			flow, err := delivery.New(config())
			require.NoError(t, err)
			out, log, err := flowtest.New(flow, tt.in, func(tb testing.TB) agent.Roster {
				tb.Helper()
				uncalled := flowtest.NewScript(tb) // a call fails the test
				return agent.Roster{"planner": uncalled, "coder": uncalled, "tester": uncalled, "supervisor": uncalled}
			}).Run(t)
			assert.NotEmpty(t, log)
			require.ErrorIs(t, err, tt.err)
			require.ErrorContains(t, err, tt.want)
			assert.Equal(t, orchestrator.Failed, out.Status)
			assert.Equal(t, delivery.Failed, out.State.Status)
		})
	}
}
