package grading

import "math"

// Round6 returns x rounded to six decimals, halves away from zero. Every figure
// that is compared with a bound is rounded with it first.
//
// The result is never negative zero. NaN, infinities and figures beyond 2^30,
// which no score comes near, are returned as they are.
func Round6(x float64) float64 {
	if !(math.Abs(x) < 1<<30) { // also keeps NaN
		return x
	}
	if r := math.Round(x*1e6) / 1e6; r != 0 {
		return r
	}
	return 0
}

// Round returns x as a whole number, halves up: 91.5 is 92 and -0.5 is 0. x is rounded to six decimals first, so that 91.49999999999999 is 92
// too. x is a finite figure below 2^53; the result is unspecified for others.
func Round(x float64) int {
	return int(math.Floor(Round6(x) + 0.5))
}
