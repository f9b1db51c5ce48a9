package delivery

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
)

// defaulted returns a Config as a run has it.
func defaulted(c Config) Config {
	definition.Defaults(&c)
	c.Rules = team.FillRules(c.Rules, DefaultRules())
	return c
}

func TestGates(t *testing.T) {
	seen := []string{" ", "go test passes"}
	critical := []Issue{{Severity: "critical", Category: "security"}}
	for _, tt := range []struct {
		name string
		v    Verdict
		want string
	}{
		{"S41 SA4 a plan at the bound", Verdict{Kind: gatePlan, Approved: true, Score: 70}, ""},
		{"S41 SA4 below it", Verdict{Kind: gatePlan, Approved: true, Score: 69}, "its score is 69 of 100, and 70 are needed"},
		{"S42 SA8 code at the bound", Verdict{Kind: gateCode, Approved: true, Score: 60}, ""},
		{"S42 SA8 below it", Verdict{Kind: gateCode, Approved: true, Score: 59}, "its score is 59 of 100, and 60 are needed"},
		{"S42 SA11 a critical security issue", Verdict{Kind: gateCode, Approved: true, Score: 90, Findings: critical}, "there is a critical security issue"},
		{"S42 a major one", Verdict{Kind: gateCode, Approved: true, Score: 90, Findings: []Issue{{Severity: "major", Category: "security"}, {Severity: "critical", Category: "bug"}}}, ""},
		{"SC52 elsewhere it is no gate's", Verdict{Kind: gateGoal, Approved: true, Score: 90, Findings: critical}, ""},
		{"SC12 a report with any score", Verdict{Kind: gateTest, Approved: true}, ""},
		{"SC12 SA33 disapproved", Verdict{Kind: gateTest, Score: 100, Reason: " untested "}, "untested"},
		{"S43 SA16 a step at the bound", Verdict{Kind: gateStep, Approved: true, Score: 70, Evidence: seen}, ""},
		{"S43 SA16 below it", Verdict{Kind: gateStep, Approved: true, Score: 69, Evidence: seen}, "its score is 69 of 100, and 70 are needed"},
		{"SC39 SA34 no evidence", Verdict{Kind: gateStep, Approved: true, Score: 90}, "there is no evidence of completion"},
		{"SC52 blank evidence", Verdict{Kind: gateStep, Approved: true, Score: 90, Evidence: []string{"", " \n"}}, "there is no evidence of completion"},
		{"S44 SA17 the goal at the bound", Verdict{Kind: gateGoal, Approved: true, Score: 80}, ""},
		{"S44 SA17 below it", Verdict{Kind: gateGoal, Approved: true, Score: 79}, "its score is 79 of 100, and 80 are needed"},
		{"SC11 SA32 disapproved", Verdict{Kind: gateCode, Score: 95}, "the supervisor does not approve it"},
		{"six decimals", Verdict{Kind: gatePlan, Approved: true, Score: 69.9999999}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, rejects(Thresholds{}, tt.v))
		})
	}
}

// rejects says why work with a verdict is rejected under some thresholds; "": it passes.
func rejects(t Thresholds, v Verdict) string {
	r := &run{Config: defaulted(Config{Policy: Policy{Thresholds: t}}), scores: map[string][]float64{}}
	why, _, err := r.gate(nil, review{gate: v.Kind}, &v)
	if err != nil {
		panic(err)
	}
	return why
}

func TestThresholdsOfTheHost(t *testing.T) {
	own := Thresholds{Plan: orchestrator.None, Code: 95.5, Test: 50}
	assert.Empty(t, rejects(own, Verdict{Kind: gatePlan, Approved: true}))
	assert.NotEmpty(t, rejects(own, Verdict{Kind: gatePlan}), "S2 the supervisor still decides")
	assert.NotEmpty(t, rejects(own, Verdict{Kind: gateCode, Approved: true, Score: 95.4}))
	assert.NotEmpty(t, rejects(own, Verdict{Kind: gateTest, Approved: true, Score: 49}))
	agents := Agents{Planner: "x", Coder: "x", Tester: "x", Supervisor: "x"}
	require.NoError(t, team.Check(Config{Agents: agents, Policy: Policy{Thresholds: own}}))
	require.EqualError(t, team.Check(Config{Agents: agents, Policy: Policy{Thresholds: Thresholds{Plan: 101, Code: -2, Step: math.Inf(1), Goal: math.NaN()}}}),
		`Policy.Thresholds.Plan is 101, want 0 to 100
Policy.Thresholds.Code is -2, want 0 to 100
Policy.Thresholds.Step is +Inf, want 0 to 100
Policy.Thresholds.Goal is NaN, want 0 to 100`)
}

func TestAssumedScore(t *testing.T) {
	assumes := func(kind string, score *float64) bool {
		return Policy{AssumeScore: score, Thresholds: defaulted(Config{}).Policy.Thresholds}.assumes(kind)
	}
	assert.False(t, assumes(gatePlan, nil), "SC51 the host says so, or nothing is assumed")
	assert.True(t, assumes(gatePlan, new(70.0)), "SC51 where it reaches the gate")
	assert.False(t, assumes(gatePlan, new(69.0)), "SC51 below it, as nil")
	assert.True(t, assumes(gateTest, new(0.0)))
	assert.False(t, assumes(gateGoal, new(100.0)), "SC51 never the goal")
}

func TestResults(t *testing.T) {
	critical := []Issue{{Severity: "minor"}, {Severity: "critical"}}
	assert.Empty(t, TestResult{Passed: true, Issues: critical[:1]}.fails())
	assert.Equal(t, "the tests failed", TestResult{}.fails())
	assert.Equal(t, "no test ran", TestResult{Reason: "no test ran"}.fails())
	assert.Equal(t, "there is a critical issue", TestResult{Passed: true, Issues: critical}.fails(), "SC52")

	report := TestResult{Kind: "report", Passed: true, Reason: "claimed", Issues: critical[:1], Suggestions: []string{"more"}}
	for _, tt := range []struct{ report, run bool }{{true, true}, {true, false}, {false, true}, {false, false}} {
		report.Passed = tt.report
		both := report.with(TestResult{Kind: "run", Passed: tt.run, Reason: "why", Ran: 3, Output: "out", Issues: critical[1:]})
		assert.Equal(t, tt.report && tt.run, both.Passed, "SX9 both must say so")
		assert.Equal(t, TestResult{
			Kind: "report", Passed: both.Passed, Reason: "why", Ran: 3, Output: "out",
			Issues: []Issue{{Severity: "critical"}, {Severity: "minor"}}, Suggestions: []string{"more"},
		}, both)
	}
}
