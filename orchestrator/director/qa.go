package director

import (
	"fmt"
	"slices"

	"github.com/convene-go/convene/blackboard"
)

// ReviewOutcome is what a gate decides about a review.
type ReviewOutcome string

// The outcomes. With the first two the work is merged; a Partial one passes with
// Policy.AllowPartial.
const (
	OutcomePass    ReviewOutcome = "PASS"
	OutcomeNotes   ReviewOutcome = "PASS_WITH_NOTES"
	OutcomeFail    ReviewOutcome = "FAIL"
	OutcomePartial ReviewOutcome = "PARTIAL" // some criteria are met
)

// Reviewed is the argument of a gate of reviews.
type Reviewed struct {
	Passed    bool // the reviewer says that the work passes
	Criteria  int  // number of acceptance criteria
	Met       int  // criteria with exactly one answer, which says that they are met
	CodeWrong bool // the code is at fault for a failing test
	Notes     int  // remarks about work that passes
}

// Strict is the gate of reviews of teams that are given none. Work passes if the reviewer
// says so, every criterion is met, and no failing test is the code's fault.
type Strict struct{}

// Decide returns the outcome.
func (Strict) Decide(r Reviewed) ReviewOutcome {
	switch all := r.Criteria > 0 && r.Met == r.Criteria && !r.CodeWrong; {
	case all && r.Passed && r.Notes > 0:
		return OutcomeNotes
	case all && r.Passed:
		return OutcomePass
	case r.Met > 0 && r.Met < r.Criteria && !r.CodeWrong:
		return OutcomePartial
	}
	return OutcomeFail
}

// Review is what the strategist answers about an artifact. Whether it passes follows from
// all of it.
type Review struct {
	Passed   bool                      `json:"passed"`                                                                                            // the work passes, in the reviewer's words
	Criteria []CriterionAnswer         `json:"criteria"`                                                                                          // an answer about each criterion
	Tests    []blackboard.TestAnalysis `json:"tests,omitempty" jsonschema:"failing tests, and whose fault it is: code_wrong, test_wrong or both"` // failing tests
	Feedback string                    `json:"feedback,omitempty"`                                                                                // reason in words; "": none
	Focus    string                    `json:"focus,omitempty" jsonschema:"what the next attempt should look at first"`                           // thing to look at first; "": none
	Notes    []string                  `json:"notes,omitempty" jsonschema:"of work that passes"`                                                  // remarks about work that passes

	// Refined are the criteria that the placeholder in the input should have.
	Refined []string `json:"refined_test_criteria,omitempty"`

	PlanWrong bool `json:"plan_wrong,omitempty" jsonschema:"no attempt can pass: the tasks must be changed"` // no attempt can pass
}

// CriterionAnswer is about one criterion.
type CriterionAnswer struct {
	Number      int    `json:"number"`                // number of the criterion, from 1
	Passed      bool   `json:"passed"`                // the criterion is met
	Reasoning   string `json:"reasoning"`             // reason in words
	Suggestions string `json:"suggestions,omitempty"` // advice for the next attempt; "": none
}

// tally returns a review of work with these criteria as the argument of a gate, and as a result
// without an outcome.
func tally(criteria []string, v Review) (seen Reviewed, qa blackboard.QA) {
	qa = blackboard.QA{Feedback: v.Feedback, Focus: v.Focus, Tests: v.Tests, Notes: v.Notes, Refined: v.Refined, PlanWrong: v.PlanWrong}
	seen = Reviewed{Passed: v.Passed, Criteria: len(criteria), Notes: len(v.Notes)}
	for i, criterion := range criteria {
		result := criterionResult(criterion, i+1, v.Criteria)
		if result.Passed {
			seen.Met++
		}
		qa.Criteria = append(qa.Criteria, result)
	}
	for _, test := range v.Tests {
		seen.CodeWrong = seen.CodeWrong || test.Fault != blackboard.TestWrong
		if test.Fault != blackboard.CodeWrong {
			qa.TestsToRevise = union(qa.TestsToRevise, []string{test.Test})
		}
	}
	return seen, qa
}

// judge has a gate decide about a review. Problems say what in the review does not fit together.
func judge(criteria []string, v Review, gate func(Reviewed) (ReviewOutcome, error)) (qa blackboard.QA, problems []string, err error) {
	seen, qa := tally(criteria, v)
	for _, a := range v.Criteria {
		if a.Number < 1 || a.Number > len(criteria) {
			problems = append(problems, fmt.Sprintf("criterion %d does not exist: there are %d", a.Number, len(criteria)))
		}
	}
	outcome, err := gate(seen)
	qa.Outcome, qa.Passed = string(outcome), outcome == OutcomePass || outcome == OutcomeNotes
	if !qa.Passed {
		qa.Kind = blackboard.FailedReview
	}
	if v.Passed && !qa.Passed {
		problems = append(problems, fmt.Sprintf("the model passed it, but %d of %d criteria are met and the code is at fault for a test: %t", seen.Met, seen.Criteria, seen.CodeWrong))
	}
	return qa, problems, err
}

// fault returns what is wrong with a review, whatever it is of; nil: nothing.
func (v Review) fault() error {
	for i, test := range v.Tests {
		if !slices.Contains([]blackboard.TestFault{blackboard.CodeWrong, blackboard.BothWrong, blackboard.TestWrong}, test.Fault) {
			return fmt.Errorf("tests[%d]: fault is %q, want code_wrong, test_wrong or both", i, test.Fault)
		}
	}
	return nil
}

// criterionResult returns the one answer about a criterion, or a failure.
func criterionResult(criterion string, number int, answers []CriterionAnswer) blackboard.CriterionResult {
	result := blackboard.CriterionResult{Criterion: criterion, Reasoning: "not evaluated"}
	found := 0
	for _, a := range answers {
		if a.Number == number {
			found++
			result.Passed, result.Reasoning, result.Suggestions = a.Passed, a.Reasoning, a.Suggestions
		}
	}
	if found > 1 {
		return blackboard.CriterionResult{Criterion: criterion, Reasoning: fmt.Sprintf("%d answers about it", found)}
	}
	return result
}
