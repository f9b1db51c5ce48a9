package grading

import "math"

// Scored is one specialist's result as the quality of its department counts it.
type Scored struct {
	// Score is the effective score, from 0 to 100.
	Score float64 `json:"score"`

	// Passed says that the result counts towards the approval rate: as a rule
	// when Passes holds for it, under a strict review only when its ReviewStatus
	// is Approved.
	Passed bool `json:"passed"`

	// Ungraded says that the result has no Score: it counts in the approval rate and
	// not in the mean.
	Ungraded bool `json:"ungraded,omitempty"`
}

// DepartmentQuality returns the quality of a department's specialist work, from
// 0 to 100: 60 parts the share of results that passed, 40 parts the mean score
// of all results that have one, the rejected ones included; 0 if none has one.
//
// Raw is rounded to six decimals and rounded is Round(raw); the order of results
// does not matter. Results has one entry for each specialist that ran, also for
// those without an output, whose score is 0. Without results both figures
// are 0: a head that worked alone has no specialist quality. The scores are those
// that Effective returns; both figures are unspecified if one is not a number.
func DepartmentQuality(results []Scored) (raw float64, rounded int) {
	if len(results) == 0 {
		return 0, 0
	}
	var passed, scored, micros int64 // whole numbers, so that the order cannot matter
	for _, r := range results {
		if r.Passed {
			passed++
		}
		if !r.Ungraded {
			scored++
			micros += int64(math.Round(r.Score * 1e6))
		}
	}
	raw = Round6(60*float64(passed)/float64(len(results)) + 40*float64(micros)/(100*1e6*float64(max(scored, 1))))
	return raw, Round(raw)
}

// WeightedMean returns the mean of values in which values[i] weighs weights[i],
// rounded to six decimals. The unit and range are those of the values.
//
// If the weights add up to 0, or are nil, it is the plain mean; without values it
// is 0. A value without a weight, or with one that is negative or not a number,
// weighs nothing; weights beyond the last value are not read.
func WeightedMean(values, weights []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	var sum, total, plain float64
	for i, v := range values {
		plain += v
		if i < len(weights) && weights[i] > 0 {
			sum += v * weights[i]
			total += weights[i]
		}
	}
	if total == 0 {
		return Round6(plain / float64(len(values)))
	}
	return Round6(sum / total)
}
