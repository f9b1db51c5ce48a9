package director

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/blackboard"
)

var threeCriteria = []string{"404 is handled", "JSON", "rate limit"}

// answers passes the criteria of these numbers, and fails those below 0.
func answers(numbers ...int) []CriterionAnswer {
	var all []CriterionAnswer
	for _, n := range numbers {
		all = append(all, CriterionAnswer{Number: max(n, -n), Passed: n > 0, Reasoning: "because"})
	}
	return all
}

func test(name string, fault blackboard.TestFault) blackboard.TestAnalysis {
	return blackboard.TestAnalysis{Test: name, Fault: fault}
}

func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		name    string
		review  Review
		outcome string
		revise  []string
		problem string
	}{
		{"BA30 B69 B70 all pass", Review{Passed: true, Criteria: answers(1, 2, 3)}, "PASS", nil, ""},
		{"BA31 BC26 two of three", Review{Passed: true, Criteria: answers(1, 2, -3)}, "PARTIAL", nil, "the model passed it, but 2 of 3 criteria are met and the code is at fault for a test: false"},
		{"BA32 the model fails it", Review{Criteria: answers(1, 2, 3)}, "FAIL", nil, ""},
		{"BA33 BC26 one is missing", Review{Passed: true, Criteria: answers(1, 2)}, "PARTIAL", nil, "the model passed it, but 2 of 3 criteria are met and the code is at fault for a test: false"},
		{"BA34 one that does not exist", Review{Passed: true, Criteria: answers(1, 2, 3, 4)}, "PASS", nil, "criterion 4 does not exist: there are 3"},
		{"BA34 BC56 none has the number 0", Review{Passed: true, Criteria: answers(1, 2, 3, 0)}, "PASS", nil, "criterion 0 does not exist: there are 3"},
		{"BA35 B71 the code is wrong", Review{Passed: true, Criteria: answers(1, 2, 3), Tests: []blackboard.TestAnalysis{test("T1", blackboard.CodeWrong)}}, "FAIL", nil, "the model passed it, but 3 of 3 criteria are met and the code is at fault for a test: true"},
		{"BA36 B71 the test is wrong", Review{Passed: true, Criteria: answers(1, 2, 3), Tests: []blackboard.TestAnalysis{test("T1", blackboard.TestWrong), test("T1", blackboard.TestWrong)}}, "PASS", []string{"T1"}, ""},
		{"BA37 B71 both", Review{Criteria: answers(1, 2, 3), Tests: []blackboard.TestAnalysis{test("T1", blackboard.BothWrong), test("T2", blackboard.TestWrong)}}, "FAIL", []string{"T1", "T2"}, ""},
		{"B117 notes", Review{Passed: true, Criteria: answers(3, 2, 1), Notes: []string{"slow"}}, "PASS_WITH_NOTES", nil, ""},
		{"B117 some are met", Review{Criteria: answers(1, -2, -3)}, "PARTIAL", nil, ""},
		{"B117 none is met", Review{Criteria: answers(-1, -2, -3)}, "FAIL", nil, ""},
		{"B117 some are met, and the code is wrong", Review{Criteria: answers(1, -2), Tests: []blackboard.TestAnalysis{test("T", blackboard.BothWrong)}}, "FAIL", []string{"T"}, ""},
		{"BC56 two answers about one", Review{Passed: true, Criteria: answers(1, 2, 3, 3)}, "PARTIAL", nil, "the model passed it, but 2 of 3 criteria are met and the code is at fault for a test: false"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			qa, problems, err := judge(threeCriteria, tt.review, strictly)
			require.NoError(t, err)
			assert.Equal(t, tt.outcome, qa.Outcome)
			passed := tt.outcome == "PASS" || tt.outcome == "PASS_WITH_NOTES"
			assert.Equal(t, passed, qa.Passed)
			assert.Equal(t, passed, qa.Kind == "")
			assert.Equal(t, tt.revise, qa.TestsToRevise)
			if tt.problem == "" {
				assert.Empty(t, problems)
			} else {
				assert.Equal(t, []string{tt.problem}, problems)
			}
			assert.Len(t, qa.Criteria, 3)
		})
	}
	t.Run("BA33 what a missing answer says", func(t *testing.T) {
		qa, _, err := judge(threeCriteria, Review{Passed: true, Feedback: "f", Focus: "g", PlanWrong: true, Criteria: answers(1, 2)}, strictly)
		require.NoError(t, err)
		assert.Equal(t, blackboard.CriterionResult{Criterion: "rate limit", Reasoning: "not evaluated"}, qa.Criteria[2])
		assert.Equal(t, blackboard.CriterionResult{Criterion: "JSON", Passed: true, Reasoning: "because"}, qa.Criteria[1])
		assert.Equal(t, "fg", qa.Feedback+qa.Focus)
		assert.True(t, qa.PlanWrong)
	})
	t.Run("BC56 no criteria is a failure, unknown faults are malformed", func(t *testing.T) {
		qa, problems, err := judge(nil, Review{Passed: true}, strictly)
		require.NoError(t, err)
		assert.False(t, qa.Passed)
		assert.Len(t, problems, 1)
		require.EqualError(t, Review{Tests: []blackboard.TestAnalysis{test("T", "moon")}}.fault(), `tests[0]: fault is "moon", want code_wrong, test_wrong or both`)
	})
	t.Run("BC26 BC56 the order of answers does not matter, and nothing passes that lacks one", rapid.MakeCheck(func(t *rapid.T) {
		numbers := rapid.SliceOf(rapid.IntRange(-4, 4)).Draw(t, "answers")
		r := Review{Passed: rapid.Bool().Draw(t, "passed"), Criteria: answers(numbers...)}
		qa, _, err := judge(threeCriteria, r, strictly)
		require.NoError(t, err)
		want := r.Passed
		for n := 1; n <= 3; n++ {
			want = want && slices.Contains(numbers, n) && !slices.Contains(numbers, -n) && slices.Index(numbers, n) == len(numbers)-1-slices.Index(reversed(numbers), n)
		}
		assert.Equal(t, want, qa.Passed)
		r.Criteria = answers(reversed(numbers)...)
		again, _, err := judge(threeCriteria, r, strictly)
		require.NoError(t, err)
		assert.Equal(t, qa, again)
	}))
}

// strictly decides as Strict does.
func strictly(seen Reviewed) (ReviewOutcome, error) { return Strict{}.Decide(seen), nil }

func reversed(numbers []int) []int {
	back := slices.Clone(numbers)
	slices.Reverse(back)
	return back
}
