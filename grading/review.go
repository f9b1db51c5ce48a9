package grading

// ReviewStatus is the head's verdict on a specialist's result, given once, after
// its attempts. It drives synthesis and scoring.
type ReviewStatus string

// The verdicts on a result with a threshold T.
const (
	Approved       ReviewStatus = "approved"        // the score is T+10 or more, 100, or T is 0
	Rejected       ReviewStatus = "rejected"        // the score is below T
	RevisionNeeded ReviewStatus = "revision-needed" // in between: it passes and could be better
)

// reviewMargin is how far above the threshold, in percent, a result needs no
// further improvement.
const reviewMargin = 10

// Review returns the verdict on a result that has an output. Bounds are inclusive:
// a score of T needs revision, one of T+10 is approved. Above a threshold of 90,
// where T+10 cannot be reached, 100 is approved.
//
// Score and threshold lie in 0..100 and are rounded to six decimals first. A
// score that is not a number is never approved unless the threshold is 0.
func Review(score, threshold float64) ReviewStatus {
	t := Round6(threshold)
	switch {
	case !Passes(score, threshold):
		return Rejected
	case t == 0, Round6(score) >= min(Round6(t+reviewMargin), 100):
		return Approved
	default:
		return RevisionNeeded
	}
}
