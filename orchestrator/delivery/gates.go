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

// The gates.
const (
	gatePlan = "plan" // a plan, before it is executed
	gateCode = "code" // code, before it is tested
	gateTest = "test" // a report of tests
	gateStep = "step" // a step whose tests pass
	gateGoal = "goal" // the whole
)

// byGate returns the value of a gate, of those of all gates in their order.
func byGate[T any](kind string, of ...T) T {
	return of[slices.Index([]string{gatePlan, gateCode, gateTest, gateStep, gateGoal}, kind)]
}

// of is the score at or above which work of the kind passes; 0: any.
func (t Thresholds) of(kind string) float64 {
	return max(0, byGate(kind, t.Plan, t.Code, t.Test, t.Step, t.Goal))
}

// Verdict is the supervisor's judgement of work.
type Verdict struct {
	Kind           string   `json:"kind"`                     // gate that it is of
	Target         string   `json:"target"`                   // ID of the plan or step; "goal": the whole
	Approved       bool     `json:"approved"`                 // true: the work is good enough
	Score          float64  `json:"score"`                    // score, 0 to 100; 0 if Local
	Threshold      float64  `json:"threshold,omitempty"`      // score that passes; 0: any
	Findings       []Issue  `json:"findings,omitempty"`       // issues of the work
	Evidence       []string `json:"evidence,omitempty"`       // proofs that it is done; a step without one is rejected
	Progress       string   `json:"progress,omitempty"`       // how far the work is
	GoalAlignment  string   `json:"goalAlignment,omitempty"`  // relation to the goal, in words
	Reason         string   `json:"reason,omitempty"`         // why it is judged so
	Recommendation string   `json:"recommendation,omitempty"` // advice for the next try
	Revise         []int    `json:"revise,omitempty"`         // numbers of later steps of the plan that should change, see Policy.Revisions
	Local          bool     `json:"local,omitempty"`          // true: rejected by a rule, without a model
	Level          Level    `json:"level,omitempty"`          // level to which it led
}

// refusal says why work with the verdict does not pass whatever its score is; "": it may.
func (v Verdict) refusal() string {
	switch {
	case v.Kind == gateCode && slices.ContainsFunc(v.Findings, Issue.insecure):
		return "there is a critical security issue"
	case v.Kind == gateStep && !slices.ContainsFunc(v.Evidence, func(e string) bool { return strings.TrimSpace(e) != "" }):
		return "there is no evidence of completion"
	case !v.Approved:
		return cmp.Or(strings.TrimSpace(v.Reason), "the supervisor does not approve it")
	}
	return ""
}

// assumes reports whether the score that the host assumes for work that was not graded
// passes its gate. The goal is never assumed to be met.
func (p Policy) assumes(kind string) bool {
	return p.AssumeScore != nil && kind != gateGoal && grading.Passes(*p.AssumeScore, p.Thresholds.of(kind))
}

// gate asks the host's gate about work with a verdict, and returns why it is rejected; "":
// it passes.
func (r *run) gate(c *orchestrator.Context, w review, v *Verdict) (why string, d grading.Decision, err error) {
	if why = v.refusal(); why != "" {
		return why, grading.Discard, nil
	}
	piece := fmt.Sprint(w.gate, " ", cmp.Or(w.piece, w.target))
	s := grading.Standing{
		Of: grading.Subject{ID: w.target, Group: r.state.CurrentPlan}, Score: v.Score, Threshold: r.Policy.Thresholds.of(w.gate),
		Before: slices.Clone(r.scores[piece]), Try: len(r.scores[piece]) + 1,
	}
	r.scores[piece] = append(r.scores[piece], v.Score)
	own := r.Rules.Gates.of(w.gate)
	d, err = team.Decide(r.kernel, c, w.target, "Rules.Gates."+w.gate, own, s, grading.Accept, grading.Revise, grading.Discard)
	switch err = r.part(err); {
	case err != nil || d == grading.Accept:
		return "", d, err
	case grading.Passes(s.Score, s.Threshold):
		return fmt.Sprintf("its score of %v does not pass the gate", v.Score), d, nil
	}
	return fmt.Sprintf("its score is %v of 100, and %v are needed", v.Score, s.Threshold), d, nil
}

// fails says why tests with the result have not passed; "": they have.
func (t TestResult) fails() string {
	switch {
	case !t.Passed:
		return cmp.Or(t.Reason, "the tests failed")
	case slices.ContainsFunc(t.Issues, func(i Issue) bool { return i.Severity == critical }):
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
	t.Coverage = cmp.Or(run.Coverage, t.Coverage)
	return t
}

// covering is a report that has not passed if the coverage of the real run is below least, or
// its own where run is nil. 0: any is enough.
func (t TestResult) covering(least float64, run *TestResult) TestResult {
	coverage := t.Coverage
	if run != nil {
		coverage = run.Coverage
	}
	if least <= 0 || coverage != nil && *coverage >= least {
		return t
	}
	lacks := fmt.Sprintf("the coverage is not known, and %v percent are needed", least)
	if coverage != nil {
		lacks = fmt.Sprintf("the coverage is %v percent, and %v are needed", *coverage, least)
	}
	t.Issues = append(slices.Clone(t.Issues), Issue{Severity: "major", Category: "other", Description: lacks})
	if t.FixPlan != nil && len(t.FixPlan.Items) > 0 {
		t.FixPlan = &FixPlan{Items: append(slices.Clone(t.FixPlan.Items), lacks)}
	}
	if t.Passed {
		t.Passed, t.Reason = false, lacks
	}
	return t
}
