package orchestrator

import (
	"errors"
	"fmt"
	"math"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator/agent"
)

// Verdict is what grading says of one piece of work. It is safe to Ask a model
// for one: whether it passes is not in it.
type Verdict struct {
	Score    float64 `json:"score"`              // on the flow's scale; NaN is ErrMalformed
	Feedback string  `json:"feedback,omitempty"` // for the next try
}

// Refinement says how to make a T that is good enough.
type Refinement[T any] struct {
	Attempts int     // at most; less than 1 counts as 1
	Gate     float64 // a try passes with a score of at least Gate; 0: every graded try passes

	// Try makes one. last is the try before, its feedback included; the first
	// has last.Tries == 0. An error counts as a try that did not pass, with the
	// error's text as feedback.
	Try func(c *Context, last Refined[T]) (T, error)

	// Grade judges it. Its error ends Refine.
	Grade func(c *Context, v T) (Verdict, error)
}

// Refined is one try with its verdict.
type Refined[T any] struct {
	Value T `json:"value"`
	Verdict
	Pass  bool `json:"pass"`  // decided by the gate, never by a model
	Tries int  `json:"tries"` // made so far
}

// Refine tries, grades, and tries again with the feedback until a try passes.
// It returns that one, or the best scored (the later of equals) with Pass false
// and no error; Tries is how many were made. The error is of a cancel, a budget,
// Grade, or the last try if none was graded; the best so far comes beside it.
func Refine[T any](c *Context, r Refinement[T]) (Refined[T], error) {
	var best, last Refined[T]
	var failed error // of the last try
	graded := false
	for n := 1; n <= max(r.Attempts, 1); n++ {
		try := Refined[T]{Tries: n}
		best.Tries = n
		try.Value, failed = r.Try(c, last)
		if ends(failed) {
			return best, failed
		}
		if failed != nil {
			try.Feedback = failed.Error()
			last = try
			continue
		}
		var err error
		if try.Verdict, err = r.Grade(c, try.Value); err != nil {
			return best, err
		}
		if math.IsNaN(try.Score) {
			return best, agent.ErrorOf(fmt.Errorf("%w: the score of try %d is not a number", ErrMalformed, n))
		}
		try.Pass = r.Gate == 0 || grading.Round6(try.Score) >= grading.Round6(r.Gate)
		if try.Pass || !graded || try.Score >= best.Score {
			best, graded = try, true
		}
		if try.Pass {
			return best, nil
		}
		last = try
	}
	if !graded {
		return best, failed
	}
	return best, nil
}

// ends tells whether an error of a try ends the whole refinement.
func ends(err error) bool {
	return errors.Is(err, ErrCanceled) || errors.Is(err, ErrBudget) || errors.Is(err, ErrFlow)
}
