package grading

import "math"

// Verdict is what follows from the score of an iteration.
type Verdict string

// The verdicts, by their names on record (R80).
const (
	Complete      Verdict = "COMPLETE"       // good enough
	Continue      Verdict = "CONTINUE"       // try again
	ForceComplete Verdict = "FORCE_COMPLETE" // not good enough, and no iteration is left
)

// Next returns the verdict on the score of an iteration, counted from 1, of at most
// most. Quality is looked at before the limit: what is good enough in the last
// iteration is complete like any other (R78, R79). Score and threshold, 0 to 1, are
// rounded to six decimals and the bound is included (RC39); a score that is not a
// number is never good enough.
func Next(score, threshold float64, iteration, most int) Verdict {
	switch {
	case Round6(score) >= Round6(threshold):
		return Complete
	case iteration < most:
		return Continue
	default:
		return ForceComplete
	}
}

// Best returns the index of the highest score, of equals the last (RC29), or -1 if
// there is none. Scores are rounded to six decimals first; one that is not a number
// counts as less than any other.
func Best(scores []float64) int {
	best := -1
	for i, score := range scores {
		if best < 0 || !(Round6(score) < Round6(scores[best])) && !math.IsNaN(score) || math.IsNaN(scores[best]) {
			best = i
		}
	}
	return best
}

// ImprovementPoints is how much last is above first, both 0 to 1, in whole percentage
// points, halves away from zero (RC16). It is negative for a loss.
func ImprovementPoints(first, last float64) int {
	return int(math.Round(Round6(100*last - 100*first)))
}
