package grading

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// MaxIdeaScore is the best mark of an idea; the worst is 0 (D24).
const MaxIdeaScore = 10

// Criteria are the five marks of an idea, 0 to 10 each (D24).
type Criteria struct {
	Feasibility  float64 `json:"feasibility"`
	Innovation   float64 `json:"innovation"`
	Impact       float64 `json:"impact"`
	Clarity      float64 `json:"clarity"`
	Completeness float64 `json:"completeness"`
}

// Mean returns the arithmetic mean of the marks, rounded to six decimals (DC12). A
// mark that is not within 0 to 10 is an error that names it: marks are not clamped
// (DX7).
func (c Criteria) Mean() (float64, error) {
	var errs []error
	sum := 0.0
	for _, mark := range []struct {
		name  string
		value float64
	}{
		{"feasibility", c.Feasibility},
		{"innovation", c.Innovation},
		{"impact", c.Impact},
		{"clarity", c.Clarity},
		{"completeness", c.Completeness},
	} {
		if !isMark(mark.value) {
			errs = append(errs, fmt.Errorf("%s is %v, want 0 to 10", mark.name, mark.value))
		}
		sum += mark.value
	}
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	return Round6(sum / 5), nil
}

var errNoScore = errors.New("there is neither a score within 0 to 10 nor all five marks")

// IdeaScore returns the score of an idea: the explicit one if it is within 0 to 10,
// else the mean of its marks (DC12). With neither it is an error.
func IdeaScore(explicit *float64, marks *Criteria) (float64, error) {
	if explicit != nil && isMark(*explicit) {
		return Round6(*explicit), nil
	}
	if marks == nil {
		return 0, errNoScore
	}
	return marks.Mean()
}

func isMark(x float64) bool { return x >= 0 && x <= MaxIdeaScore } // NaN is not

// Top returns the index of the highest valid score, of equals the first (DC13), or
// -1 if none is valid. A score of 0 can win (DC15). Scores are rounded to six
// decimals first; one that is not a number is not valid. The slices are of one
// length.
func Top(scores []float64, valid []bool) int {
	top := -1
	for i, score := range scores {
		if !valid[i] || math.IsNaN(score) {
			continue
		}
		if top < 0 || Round6(score) > Round6(scores[top]) {
			top = i
		}
	}
	return top
}

// Shortlist returns the indexes of the valid scores of at least least, the best
// first, equals in their order (DC2). It rounds like [Top].
func Shortlist(scores []float64, valid []bool, least float64) []int {
	list := []int{}
	for i, score := range scores {
		if valid[i] && Round6(score) >= Round6(least) {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(Round6(scores[b]), Round6(scores[a])) })
	return list
}
