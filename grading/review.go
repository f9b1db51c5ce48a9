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
