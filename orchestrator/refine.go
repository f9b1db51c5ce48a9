package orchestrator

import (
	"errors"
	"fmt"
	"math"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator/agent"
)

// Refinement says how to make a T that is good enough.
type Refinement[T any] struct {
	Attempts int     // how many tries at most; less than 1 counts as 1
	Gate     float64 // a try passes with a score of at least Gate; 0: every graded try passes
	Scale    Scale   // of Gate and scores; zero: 0 to 100

	// Try makes one. last is the last graded try, with its Value and Feedback; they
	// are empty if there is none. last.Tries counts all tries before this one.
	// An error is a failed try: the next one is not told of it.
	Try func(c *Context, last Refined[T]) (T, error)

	// Grade judges it. AskVerdict asks a model for a verdict on the Scale. After an
	// error, or a score outside of the Scale, Grade is called once more; then the try
	// is ungraded.
	Grade func(c *Context, v T) (Verdict, error)
}

// Refined is one try with its verdict.
type Refined[T any] struct {
	Value T `json:"value"`
	Verdict
	Pass     bool     `json:"pass"`               // decided by the gate, never by a model
	Tries    int      `json:"tries"`              // made so far
	Ungraded string   `json:"ungraded,omitempty"` // why Value has no score; "": it has one
	Failures []string `json:"failures,omitempty"` // of tries and grades, oldest first: for the host, not for the writer
}

// Refine tries, grades, and tries again with the feedback until a try passes.
// It returns that one, or the best scored (the later of equals) with Pass false and
// no error.
//
// A try that cannot be graded ends Refine without an error: more tries would not be
// graded either. It is returned, with Ungraded and without Pass, if none was graded
// before. If all tries failed, the error is that of the last.
//
// When the run is over (canceled, or refused by a budget), or the flow broke a rule
// (ErrFlow, also for a Gate outside of the Scale), Refine returns that error, and
// beside it the best so far. An agent's own error of the same name is a failure.
func Refine[T any](c *Context, r Refinement[T]) (Refined[T], error) {
	if err := r.check(); err != nil {
		return Refined[T]{}, err
	}
	var best, last Refined[T]
	var failed error // of the last try
	graded := false
	for n := 1; n <= max(r.Attempts, 1); n++ {
		try := Refined[T]{Tries: n, Failures: best.Failures}
		try.Value, failed = r.Try(c, last)
		best.Tries, last.Tries = n, n
		if ends(failed) {
			return best, failed
		}
		if failed != nil {
			best.fail(n, "failed", failed)
			continue
		}
		var err error
		if try.Verdict, err = r.grade(c, try.Value); err != nil {
			if graded {
				best.fail(n, "was not graded", err)
			} else {
				try.Verdict, try.Ungraded = Verdict{}, err.Error()
				best = try
			}
			if ends(err) {
				return best, err
			}
			return best, nil
		}
		try.Pass = r.Gate == 0 || grading.Round6(try.Score) >= grading.Round6(r.Gate)
		if try.Pass || !graded || try.Score >= best.Score {
			best = try
		}
		if try.Pass {
			return best, nil
		}
		graded = true
		last = try
		last.Failures = nil
	}
	if !graded {
		return best, failed
	}
	return best, nil
}

// check reports what is wrong with the figures of r.
func (r Refinement[T]) check() error {
	s := r.Scale.orDefault()
	if !s.valid() || math.IsNaN(r.Gate) || r.Gate != 0 && s.check(r.Gate) != nil {
		return agent.ErrorOf(fmt.Errorf("%w: Refinement.Gate is %v on a Scale of %v to %v: want a gate on a scale from less to more", ErrFlow, r.Gate, s.Min, s.Max))
	}
	return nil
}

// grade asks for a verdict, and once more if none comes that is on the scale.
func (r Refinement[T]) grade(c *Context, v T) (Verdict, error) {
	verdict, err := r.gradeOnce(c, v)
	if err != nil && !ends(err) {
		verdict, err = r.gradeOnce(c, v)
	}
	return verdict, err
}

func (r Refinement[T]) gradeOnce(c *Context, v T) (Verdict, error) {
	verdict, err := r.Grade(c, v)
	if err == nil {
		err = r.Scale.orDefault().check(verdict.Score)
	}
	return verdict, err
}

func (r *Refined[T]) fail(n int, how string, err error) {
	r.Failures = append(r.Failures, fmt.Sprintf("try %d %s: %v", n, how, err))
}

// ends reports whether err ends a refinement.
func ends(err error) bool { return IsOver(err) || errors.Is(err, ErrFlow) }
