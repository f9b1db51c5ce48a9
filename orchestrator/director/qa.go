package director

import (
	"fmt"

	"github.com/convene-go/convene/blackboard"
)

// The outcomes of a review.
const (
	outcomePass    = "PASS"
	outcomeFail    = "FAIL"
	outcomeNotes   = "PASS_WITH_NOTES"
	outcomePartial = "PARTIAL" // some criteria are met
)

// Review is what the strategist answers about an artifact. Whether it passes follows from
// all of it.
type Review struct {
	Passed   bool                      `json:"passed"`
	Criteria []CriterionAnswer         `json:"criteria"`
	Tests    []blackboard.TestAnalysis `json:"tests,omitempty" jsonschema:"failing tests, and whose fault it is: code_wrong, test_wrong or both"`
	Feedback string                    `json:"feedback,omitempty"`
	Focus    string                    `json:"focus,omitempty" jsonschema:"what the next attempt should look at first"`
	Notes    []string                  `json:"notes,omitempty" jsonschema:"of work that passes"`

	// Refined are the criteria that the placeholder in the input should have.
	Refined []string `json:"refined_test_criteria,omitempty"`

	PlanWrong bool `json:"plan_wrong,omitempty" jsonschema:"no attempt can pass: the tasks must be changed"`
}

// CriterionAnswer is about the criterion of that number, from 1.
type CriterionAnswer struct {
	Number      int    `json:"number"`
	Passed      bool   `json:"passed"`
	Reasoning   string `json:"reasoning"`
	Suggestions string `json:"suggestions,omitempty"`
}

// judge folds a review of work with these criteria into its result. It has passed if the
// strategist says so, every criterion has exactly one answer that says so, and no failing
// test is the code's fault. Problems say what in the review does not fit together. A review
// with an unknown fault for a failing test is malformed.
func judge(criteria []string, r Review) (qa blackboard.QA, problems []string, err error) {
	qa = blackboard.QA{Outcome: outcomeFail, Kind: blackboard.FailedReview, Feedback: r.Feedback, Focus: r.Focus, Tests: r.Tests, Notes: r.Notes, Refined: r.Refined, PlanWrong: r.PlanWrong}
	problem := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	met := 0
	for i, criterion := range criteria {
		result := criterionResult(criterion, i+1, r.Criteria)
		if result.Passed {
			met++
		}
		qa.Criteria = append(qa.Criteria, result)
	}
	for _, a := range r.Criteria {
		if a.Number < 1 || a.Number > len(criteria) {
			problem("criterion %d does not exist: there are %d", a.Number, len(criteria))
		}
	}
	var codeWrong bool
	if codeWrong, qa.TestsToRevise, err = faults(r.Tests); err != nil {
		return blackboard.QA{}, nil, err
	}
	all := len(criteria) > 0 && met == len(criteria) && !codeWrong
	switch {
	case all && r.Passed && len(r.Notes) > 0:
		qa.Passed, qa.Kind, qa.Outcome = true, "", outcomeNotes
	case all && r.Passed:
		qa.Passed, qa.Kind, qa.Outcome = true, "", outcomePass
	case r.Passed:
		problem("the model passed it, but %d of %d criteria are met and the code is at fault for a test: %t", met, len(criteria), codeWrong)
	}
	if !qa.Passed && met > 0 && met < len(criteria) && !codeWrong {
		qa.Outcome = outcomePartial
	}
	return qa, problems, nil
}

// faults says whether the code is at fault for a failing test, and which tests are wrong.
func faults(tests []blackboard.TestAnalysis) (codeWrong bool, wrong []string, err error) {
	for i, test := range tests {
		switch test.Fault {
		case blackboard.CodeWrong, blackboard.BothWrong, blackboard.TestWrong:
		default:
			return false, nil, fmt.Errorf("tests[%d]: fault is %q, want code_wrong, test_wrong or both", i, test.Fault)
		}
		codeWrong = codeWrong || test.Fault != blackboard.TestWrong
		if test.Fault != blackboard.CodeWrong {
			wrong = union(wrong, []string{test.Test})
		}
	}
	return codeWrong, wrong, nil
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
