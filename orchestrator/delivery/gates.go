package delivery

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
)

// off is orchestrator.None: disabled.
const off = orchestrator.None

// GateKind says what is judged.
type GateKind string

// The kinds of gates.
const (
	GatePlan GateKind = "plan"
	GateCode GateKind = "code"
	GateTest GateKind = "test"
	GateStep GateKind = "step"
	GateGoal GateKind = "goal"
)

// Gates are the scores, 0 to 100, at or above which work passes. Zero is the default;
// with orchestrator.None the supervisor's approval and the other conditions of the gate
// decide.
type Gates struct {
	Plan float64 `json:"plan,omitempty"` // 0: 70
	Code float64 `json:"code,omitempty"` // 0: 60
	Test float64 `json:"test,omitempty"` // 0: none
	Step float64 `json:"step,omitempty"` // 0: 70
	Goal float64 `json:"goal,omitempty"` // 0: 80
}

func (g Gates) withDefaults() Gates {
	g.Plan, g.Code, g.Test = cmp.Or(g.Plan, 70), cmp.Or(g.Code, 60), cmp.Or(g.Test, off)
	g.Step, g.Goal = cmp.Or(g.Step, 70), cmp.Or(g.Goal, 80)
	return g
}

// validate adds what is wrong with gates that have their defaults.
func (g Gates) validate(f *team.Faults) {
	for _, gate := range []struct {
		field string
		score float64
	}{{"Plan", g.Plan}, {"Code", g.Code}, {"Test", g.Test}, {"Step", g.Step}, {"Goal", g.Goal}} {
		if gate.score != off {
			f.Within("Policy.Gates."+gate.field, gate.score, 0, 100)
		}
	}
}

// threshold is the score at or above which work of the kind passes.
func (g Gates) threshold(kind GateKind) float64 {
	scores := map[GateKind]float64{GatePlan: g.Plan, GateCode: g.Code, GateTest: g.Test, GateStep: g.Step, GateGoal: g.Goal}
	return max(0, scores[kind])
}

// Verdict is the supervisor's judgement of work.
type Verdict struct {
	Kind           GateKind `json:"kind"`
	Target         string   `json:"target"` // the ID of the plan or step; "goal"
	Approved       bool     `json:"approved"`
	Score          float64  `json:"score"`               // 0 to 100
	Threshold      float64  `json:"threshold,omitempty"` // the least score that passes; 0: any
	Findings       []Issue  `json:"findings,omitempty"`
	Evidence       []string `json:"evidence,omitempty"`
	Progress       string   `json:"progress,omitempty"`
	GoalAlignment  string   `json:"goalAlignment,omitempty"`
	Reason         string   `json:"reason,omitempty"`
	Recommendation string   `json:"recommendation,omitempty"`
	Local          bool     `json:"local,omitempty"` // rejected by a rule, without a model: there is no score
	Level          Level    `json:"level,omitempty"` // to which it led
}

// rejects says why work with the verdict does not pass; "": it passes.
func (g Gates) rejects(v Verdict) string {
	least := g.threshold(v.Kind)
	switch {
	case v.Kind == GateCode && slices.ContainsFunc(v.Findings, func(i Issue) bool { return i.Severity == Critical && i.Category == Security }):
		return "there is a critical security issue"
	case v.Kind == GateStep && !slices.ContainsFunc(v.Evidence, func(e string) bool { return strings.TrimSpace(e) != "" }):
		return "there is no evidence of completion"
	case !v.Approved:
		return cmp.Or(strings.TrimSpace(v.Reason), "the supervisor does not approve it")
	case !(grading.Round6(v.Score) >= least): // also NaN
		return fmt.Sprintf("its score is %v of 100, and %v are needed", v.Score, least)
	}
	return ""
}

// assumes reports whether the score that the host assumes for work that was not graded
// passes its gate. The goal is never assumed to be met.
func (g Gates) assumes(kind GateKind, score *float64) bool {
	return score != nil && kind != GateGoal && grading.Round6(*score) >= g.threshold(kind)
}

// fails says why tests with the result have not passed; "": they have.
func (t TestResult) fails() string {
	switch {
	case !t.Passed:
		return cmp.Or(t.Reason, "the tests failed")
	case slices.ContainsFunc(t.Issues, func(i Issue) bool { return i.Severity == Critical }):
		return "there is a critical issue"
	}
	return ""
}

// with combines a tester's report with a real run: both must have passed.
func (t TestResult) with(run TestResult) TestResult {
	t.Passed = t.Passed && run.Passed
	t.Reason = cmp.Or(run.Reason, t.Reason)
	t.Ran, t.Output = run.Ran, run.Output
	t.Issues = slices.Concat(run.Issues, t.Issues)
	return t
}
