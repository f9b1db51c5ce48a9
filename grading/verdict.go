package grading

// Verdict is what follows from the score of an iteration.
type Verdict string

// The verdicts, by their names on record.
const (
	Complete      Verdict = "COMPLETE"       // good enough
	Continue      Verdict = "CONTINUE"       // try again
	ForceComplete Verdict = "FORCE_COMPLETE" // not good enough, and no iteration is left
)
