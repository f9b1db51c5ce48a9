package grading

// Decision says what to do with one attempt. It drives the retry loop: accept
// ends it; revise and discard ask for another attempt while some are left.
// A Decision is never mapped onto a ReviewStatus: revise fails, while
// revision-needed passes.
type Decision string

// The decisions on an attempt with a threshold T.
const (
	Accept  Decision = "accept"  // the score is T or more, or T is 0
	Revise  Decision = "revise"  // the score is below T by at most 20
	Discard Decision = "discard" // the score is below T by more than 20
)

// reviseSpan is how far below the threshold, in percent, work is still worth
// revising.
const reviseSpan = 20

// Passes reports whether a score meets its threshold: it is T or more, or T is 0,
// which means no gate.
//
// Score and threshold lie in 0..100 and are rounded to six decimals first.
// Call Passes only for attempts that have an output: one without never passes,
// whatever the threshold.
func Passes(score, threshold float64) bool {
	t := Round6(threshold)
	return t == 0 || Round6(score) >= t
}
