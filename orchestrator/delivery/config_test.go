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

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/providers"
)

func TestConfig(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(c *delivery.Config)
		want   string // "": it is fine
	}{
		{"SA48 SX3 no planner", func(c *delivery.Config) { c.Agents.Planner = "" }, "Agents.Planner is empty, want the name of an agent"},
		{"SA48 SX3 no coder", func(c *delivery.Config) { c.Agents.Coder = "" }, "Agents.Coder is empty"},
		{"SA48 SX3 no tester", func(c *delivery.Config) { c.Agents.Tester = "" }, "Agents.Tester is empty"},
		{"SA48 SX3 no supervisor", func(c *delivery.Config) { c.Agents.Supervisor = "" }, "Agents.Supervisor is empty"},
		{"SX3 S7 one agent for all", func(c *delivery.Config) {
			c.Agents = delivery.Agents{Planner: "x", Coder: "x", Tester: "x", Supervisor: "x"}
		}, ""},
		{"S41 a gate", func(c *delivery.Config) { c.Policy.Gates.Plan = 101 }, "Policy.Gates.Plan is 101, want 0 to 100"},
		{"S35 a ladder", func(c *delivery.Config) { c.Policy.Ladder.Correct = 80 }, "Policy.Ladder.Correct is 80, want at most Policy.Ladder.Remind, 70"},
		{"SC24 acceptable failures", func(c *delivery.Config) { c.Policy.AcceptableFailures = -1 }, "Policy.AcceptableFailures is -1, want 0 or more"},
		{"N2 an assumed score", func(c *delivery.Config) { c.Policy.AssumeScore = new(math.NaN()) }, "Policy.AssumeScore is NaN, want 0 to 100"},
		{"S45 attempts", func(c *delivery.Config) { c.Retry.Attempts = -1 }, "Retry.Attempts is -1, want 0 or more"},
		{"SC14 fix cycles", func(c *delivery.Config) { c.Retry.FixCycles = -2 }, "Retry.FixCycles is -2, want -1 or more"},
		{"SC14 no fix cycles", func(c *delivery.Config) { c.Retry.FixCycles = orchestrator.None }, ""},
		{"SC16 plans", func(c *delivery.Config) { c.Retry.Plans = -1 }, "Retry.Plans is -1"},
		{"SC25 iterations", func(c *delivery.Config) { c.Retry.Iterations = -1 }, "Retry.Iterations is -1"},
		{"SC23 failed steps", func(c *delivery.Config) { c.Retry.FailedSteps = -1 }, "Retry.FailedSteps is -1"},
		{"S51 calls", func(c *delivery.Config) { c.Retry.Calls = -2 }, "Retry.Calls is -2"},
		{"SC28 a wait", func(c *delivery.Config) { c.Retry.Wait = -2 }, "Retry.Wait is -2ns, want -1ns or more"},
		{"SC28 a factor", func(c *delivery.Config) { c.Retry.Factor = 0.5 }, "Retry.Factor is 0.5, want 1 to 1000"},
		{"SC26 a time", func(c *delivery.Config) { c.Limits.Time = -2 }, "Limits.Time is -2ns"},
		{"SC5 a grace", func(c *delivery.Config) { c.Limits.Grace = -2 }, "Limits.Grace is -2ns"},
		{"S3 a depth", func(c *delivery.Config) { c.Limits.Depth = -2 }, "Limits.Depth is -2"},
		{"SC17 steps", func(c *delivery.Config) { c.Limits.MinSteps = -1 }, "Limits.MinSteps is -1"},
		{"SC17 most steps", func(c *delivery.Config) { c.Limits.MaxSteps = -1 }, "Limits.MaxSteps is -1"},
		{"SC17 more steps than fit", func(c *delivery.Config) { c.Limits.MinSteps = 16 }, "Limits.MinSteps is 16, want at most Limits.MaxSteps, 15"},
		{"SX14 a cost", func(c *delivery.Config) { c.Limits.Cost = -1 }, "Limits.Cost is -1"},
		{"SX14 calls of models", func(c *delivery.Config) { c.Limits.Calls = -1 }, "Limits.Calls is -1"},
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
		_, err := delivery.New(delivery.Config{Retry: delivery.Retry{Plans: -1}})
		require.ErrorContains(t, err, "Agents.Tester")
		require.ErrorContains(t, err, "Retry.Plans")
	})
}

func TestConfigJSON(t *testing.T) {
	whole := delivery.Config{
		Name: "factory", Agents: delivery.Agents{Planner: "p", Coder: "c", Tester: "t", Supervisor: "s", Workspace: "w"},
		Policy: delivery.Policy{
			Gates: delivery.Gates{Plan: 1, Code: 2, Test: 3, Step: 4, Goal: 5}, Ladder: delivery.Ladder{Remind: 60, AbortAt: orchestrator.None},
			AcceptableFailures: 1, AssumeScore: new(0.0), SkipTestReview: true, SubPlanOnTestFailure: true,
		},
		Retry:  delivery.Retry{Attempts: 1, FixCycles: 2, Plans: 3, Iterations: 4, FailedSteps: 5, Calls: orchestrator.None, Wait: time.Second, Factor: 1.5},
		Limits: delivery.Limits{Time: orchestrator.None, Grace: time.Minute, Depth: 1, MinSteps: 2, MaxSteps: 3, Cost: providers.Dollars(1.25), Calls: 9},
	}
	data, err := json.Marshal(whole)
	require.NoError(t, err)
	var again delivery.Config
	require.NoError(t, json.Unmarshal(data, &again))
	assert.Equal(t, whole, again)
	assert.Contains(t, string(data), `"limits":{"time":-1,"grace":"1m0s","depth":1,"minSteps":2,"maxSteps":3,"cost":1.25,"calls":9}`)

	data, err = json.Marshal(delivery.Config{Hooks: delivery.Hooks{Fallback: func(delivery.Failure) ([]byte, error) { return nil, nil }}, Prompts: fstest.MapFS{}})
	require.NoError(t, err)
	assert.JSONEq(t, `{}`, string(data), "hooks and prompts stay out")

	for text, fault := range map[string]string{
		`{"limits":{"time":300}}`:                  "",
		`{"limits":{"times":300}}`:                 "limits.times is unknown",
		`{"retry":{"wait":"soon"}}`:                `retry.wait is "soon", want a duration`,
		`{"policy":{"gates":{"plans":70}}}`:        "policy.gates.plans is unknown",
		`{"policy":{"ladder":{"abortAt":"five"}}}`: "policy.ladder.abortAt is a JSON string, want a whole number",
		`{"agents":{"planer":"x"}}`:                "agents.planer is unknown",
		`{"hooks":{}}`:                             "hooks is unknown",
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
		{"SX2 SA48 no goal", delivery.Input{}, delivery.ErrEmptyGoal, "goal is empty"},
		{"SX2 a goal of 256 KiB and a byte", delivery.Input{Goal: strings.Repeat("x", 256<<10+1)}, delivery.ErrGoalTooLarge, "goal has 262145 bytes, want at most 262144"},
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
