package grading_test

import (
	"fmt"

	"github.com/convene-go/convene/grading"
)

// A grade becomes a score, and a gate decides what becomes of the work.
func ExampleGate() {
	score, err := grading.DefaultDimensions.Score(grading.Marks{
		{Name: "quality", Value: 50}, {Name: "relevance", Value: 90}, {Name: "consistency", Value: 55},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	writer := grading.Subject{ID: "writer", Shared: new(70.0)}
	s := grading.Standing{Of: writer, Score: score, Threshold: grading.DefaultFixed.Threshold(writer, nil), Try: 1}
	strict := grading.GateWith(func(s grading.Standing) grading.Decision {
		if s.Try == 1 {
			return grading.Discard // the first draft never counts
		}
		return grading.DefaultBands.Decide(s)
	})
	fmt.Println(score, grading.DefaultBands.Decide(s), strict.Decide(s))
	// Output: 63.5 revise discard
}

// Two specialists of one department: one passes and could be better, the other is good.
func ExampleApproval() {
	thresholds := map[string]float64{"appearance": 65, "personality": 60}
	scores := map[string]float64{"appearance": 72, "personality": 87}
	var results grading.Marks
	for _, id := range []string{"appearance", "personality"} {
		fmt.Println(id, grading.DefaultReserve.Decide(grading.Standing{Score: scores[id], Threshold: thresholds[id]}))
		results = append(results, grading.Mark{Name: id, Value: scores[id], Passed: grading.Passes(scores[id], thresholds[id])})
	}
	fmt.Println(grading.DefaultApproval.Score(results))
	// Output:
	// appearance revision-needed
	// personality approved
	// 91.8 <nil>
}
