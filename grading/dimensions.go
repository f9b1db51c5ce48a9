// Package grading says whether work is good enough: scores of graded outputs,
// thresholds, decisions, reviews and the quality of a department.
//
// All functions are pure: the same arguments give the same result, nothing is
// read and nothing is changed, so they may be called from any goroutine and
// from flow code. Scores and thresholds are percentages from 0 to 100. Figures
// are rounded to six decimals before they are compared with a bound, so that
// 75.99999999999999 meets a threshold of 76.
package grading

import (
	"errors"
	"fmt"
)

// Dimensions is what a grader says about one output. Each dimension has no
// unit and lies in [0, 1]: 0 is worthless, 1 is perfect. The zero value is the
// worst grade, not a missing one.
type Dimensions struct {
	Quality     float64 `json:"quality" min:"0" max:"1"`
	Relevance   float64 `json:"relevance" min:"0" max:"1"`
	Consistency float64 `json:"consistency" min:"0" max:"1"`
}

// Percent returns the overall score of d, from 0 to 100, rounded to six
// decimals: 40 parts quality, 30 parts relevance, 30 parts consistency.
//
// A dimension outside [0, 1], or one that is not a number, is an error and
// never clamped: a grade of 85 on a scale to 1 must not become a full score.
// The error names every such dimension.
func Percent(d Dimensions) (float64, error) {
	var faults []error
	for _, dim := range d.inOrder() {
		if !(dim.value >= 0 && dim.value <= 1) { // also refuses NaN
			faults = append(faults, fmt.Errorf("%s is %v, want 0 to 1", dim.name, dim.value))
		}
	}
	if len(faults) > 0 {
		return 0, fmt.Errorf("grading: %w", errors.Join(faults...))
	}
	return Round6(40*d.Quality + 30*d.Relevance + 30*d.Consistency), nil
}

// Weakest returns the names of the dimensions of d that lie below threshold, in
// the order quality, relevance, consistency, or all three if none does.
// They tell a retry what to improve; an ungraded attempt has Dimensions{}, for
// which all three are named.
//
// Each dimension counts as a percentage; threshold lies in 0..100. The caller
// owns the slice.
func Weakest(d Dimensions, threshold float64) []string {
	var below, all []string
	for _, dim := range d.inOrder() {
		all = append(all, dim.name)
		if Round6(100*dim.value) < Round6(threshold) {
			below = append(below, dim.name)
		}
	}
	if len(below) == 0 {
		return all
	}
	return below
}

type dimension struct {
	name  string
	value float64
}

func (d Dimensions) inOrder() [3]dimension {
	return [3]dimension{
		{"quality", d.Quality},
		{"relevance", d.Relevance},
		{"consistency", d.Consistency},
	}
}
