package grading_test

import (
	"fmt"

	"github.com/convene-go/convene/grading"
)

// A grade becomes a score, a decision and, if the attempt has to be repeated, a
// hint what to improve.
func ExampleDecide() {
	grade := grading.Dimensions{Quality: 0.5, Relevance: 0.9, Consistency: 0.55}
	score, err := grading.Percent(grade)
	if err != nil {
		fmt.Println(err)
		return
	}
	threshold := grading.ResolveThreshold(nil, new(70.0))
	fmt.Println(score, grading.Decide(score, threshold), grading.Weakest(grade, threshold))
	// Output: 63.5 revise [quality consistency]
}

// Two specialists of one department: one passes and could be better, the other
// is good.
func ExampleDepartmentQuality() {
	thresholds := map[string]float64{"appearance": 65, "personality": 60}
	scores := map[string]float64{"appearance": 72, "personality": 87}
	var results []grading.Scored
	for _, id := range []string{"appearance", "personality"} {
		fmt.Println(id, grading.Review(scores[id], thresholds[id]))
		results = append(results, grading.Scored{Score: scores[id], Passed: grading.Passes(scores[id], thresholds[id])})
	}
	fmt.Println(grading.DepartmentQuality(results))
	// Output:
	// appearance revision-needed
	// personality approved
	// 91.8 92
}
