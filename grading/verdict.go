package grading

// Verdict is what follows from the score of an iteration.
type Verdict string

// The verdicts, by their names on record.
const (
	Complete      Verdict = "COMPLETE"       // good enough
	Continue      Verdict = "CONTINUE"       // try again
	ForceComplete Verdict = "FORCE_COMPLETE" // not good enough, and no iteration is left
)

// Next returns the verdict on the score of an iteration, counted from 1; most is the
// last one. A score that is good enough in the last iteration is Complete. Score and
// threshold, 0 to 1, are rounded to six decimals and the bound is included; a score that
// is not a number is never good enough.
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
