package grading

// DefaultScore is the score, in percent, of an ungraded output.
const DefaultScore = 75

// Effective returns the one score of an attempt that the retry loop, the review
// and the department's mean all use: the graded score, else the specialist's
// own score, else DefaultScore, in which case defaulted is true.
//
// Nil means missing; a real 0 stays 0. Both figures lie in 0..100: the caller
// has refused others as malformed. Call Effective only for attempts that have an
// output: one without scores 0 and is never defaulted.
func Effective(graded, self *float64) (score float64, defaulted bool) {
	switch {
	case graded != nil:
		return *graded, false
	case self != nil:
		return *self, false
	default:
		return DefaultScore, true
	}
}
