package orchestrator

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// Verdict is what grading says of one piece of work. A model may be asked for one:
// whether it passes is not in it. Ask[Verdict] wants a score of 0 to 100, AskVerdict
// one on another scale.
type Verdict struct {
	Score    float64 `json:"score" min:"0" max:"100"` // score on the Scale
	Feedback string  `json:"feedback,omitempty"`      // advice for the next try; "": none
}

// Scale is the range of scores, Min and Max included. The zero Scale is 0 to 100.
type Scale struct {
	Min float64 `json:"min"` // worst score
	Max float64 `json:"max"` // best score
}

// AskVerdict is [Ask] for a Verdict on a scale: its bounds are in the schema that
// the agent gets, and a score outside of them does not fit. It is never clamped.
func AskVerdict(c *Context, name string, req agent.Request, s Scale) (Verdict, agent.Response, error) {
	s, err := s.orDefault()
	if err != nil {
		return Verdict{}, agent.Response{}, err
	}
	if s == (Scale{Max: 100}) {
		return Ask[Verdict](c, name, req)
	}
	shape := answer.MustFromSchema(fmt.Sprintf(`{"type":"object","properties":{"score":{"type":"number","minimum":%v,"maximum":%v},`+
		`"feedback":{"type":"string"}},"required":["score"],"additionalProperties":false}`, s.Min, s.Max))
	return askFor[Verdict](c, name, req, shape)
}

// orDefault is s, or the default for the zero Scale; ErrFlow if it has no room.
func (s Scale) orDefault() (Scale, error) {
	if s == (Scale{}) {
		s.Max = 100
	}
	if s.Min < s.Max && !math.IsInf(s.Min, 0) && !math.IsInf(s.Max, 0) { // false for NaN, too
		return s, nil
	}
	return s, brokenRule("the Scale is %v to %v: want one from less to more", s.Min, s.Max)
}

// check returns ErrMalformed for a score outside of s.
func (s Scale) check(score float64) error {
	if score >= s.Min && score <= s.Max { // false for NaN
		return nil
	}
	return agent.ErrorOf(fmt.Errorf("%w: the score is %v, want %v to %v", ErrMalformed, score, s.Min, s.Max))
}

// Refinement says how to make a T that is good enough. Attempts, Gate and Grade are the
// short form of Retrier, GateBy and Grader; to set both forms of one is ErrFlow.
type Refinement[T any] struct {
	Attempts int     // number of tries at most, up to MaxTries; less than 1 counts as 1
	Gate     float64 // least score of a try that passes; 0: every graded try passes
	Scale    Scale   // range of Gate and scores; zero: 0 to 100

	// Try makes one. last is the last graded try, with its Value and Feedback; they
	// are empty if there is none. last.Tries counts all tries before this one.
	// An error is a failed try: the next one is not told of it.
	Try func(c *Context, last Refined[T]) (T, error)

	// Grade judges it. AskVerdict asks a model for a verdict on the Scale. After an
	// error, or a score outside of the Scale, Grade is called once more; then the try
	// is ungraded.
	Grade func(c *Context, v T) (Verdict, error)

	// Retrier decides after each try that did not pass, or failed. It is asked for
	// Working{Role: "refine"}. Nil: Attempts. Its Again.Agent, Feedback and Fresh are in
	// what Try gets as last; After is waited for.
	Retrier Retrier

	// GateBy decides about each graded try: grading.Accept passes. Its Standing has no
	// Threshold: see grading.AtLeast and grading.At. Nil: Gate.
	GateBy grading.Gate[grading.Standing, grading.Decision]

	// Grader judges in the place of Grade. Nil: Grade.
	Grader Grader[T, Verdict]
}

// Refined is one try with its verdict.
type Refined[T any] struct {
	Value    T        `json:"value"` // work that the try made
	Verdict           // grade of Value; zero: it has none
	Pass     bool     `json:"pass"`               // result of the gate, never a model's word
	Tries    int      `json:"tries"`              // number of tries made so far
	Agent    string   `json:"agent,omitempty"`    // agent that a Retrier wants for the next try; "": the usual one
	Ungraded string   `json:"ungraded,omitempty"` // reason why Value has no score; "": it has one
	Failures []string `json:"failures,omitempty"` // failures of tries and grades, oldest first: the host sees them, the writer does not
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
	w := refining[T]{Refinement: r}
	if err := w.complete(); err != nil {
		return w.best, err
	}
	for {
		if over, err := w.try(c); over {
			return w.best, err
		}
		if again, err := w.again(c); err != nil || !again {
			return w.best, err
		}
	}
}

// refining is a refinement under way.
type refining[T any] struct {
	Refinement[T] // in its long form, with a Scale

	best   Refined[T]
	last   Refined[T] // last graded try
	told   Refined[T] // last, as the next try is told of it
	tries  []Try
	scores []float64 // scores of graded tries
}

// complete brings w into its long form; ErrFlow if that cannot be done.
func (w *refining[T]) complete() (err error) {
	if w.Scale, err = w.Scale.orDefault(); err != nil {
		return err
	}
	if w.Attempts != 0 && w.Retrier != nil || w.Gate != 0 && w.GateBy != nil || w.Grade != nil && w.Grader != nil {
		return brokenRule("a Refinement has two forms of one rule, want one of Attempts and Retrier, Gate and GateBy, Grade and Grader")
	}
	if w.Retrier == nil {
		w.Retrier = Attempts{Max: max(w.Attempts, 1)}
	}
	if w.GateBy == nil {
		w.GateBy = grading.AtLeast(w.Gate)
	}
	if w.Grader == nil {
		w.Grader = GradeWith(w.Grade)
	}
	if least, ok := w.GateBy.(grading.AtLeast); ok && least != 0 && w.Scale.check(float64(least)) != nil {
		return brokenRule("the Gate of a Refinement is %v, which is not on the Scale of %v to %v", float64(least), w.Scale.Min, w.Scale.Max)
	}
	return nil
}

// try makes one try. over: the refinement is over with it.
func (w *refining[T]) try(c *Context) (over bool, err error) {
	try := Refined[T]{Tries: len(w.tries) + 1}
	try.Value, err = w.Try(c, w.told)
	w.best.Tries, w.last.Tries = try.Tries, try.Tries
	made := Try{Agent: w.told.Agent, Err: err}
	if err != nil {
		w.tries = append(w.tries, made)
		if !ends(err) {
			w.fail("failed", err)
			return false, nil
		}
		return true, err
	}
	if try.Verdict, err = w.grade(c, try.Value); err != nil {
		if len(w.scores) > 0 {
			w.fail("was not graded", err)
		} else {
			w.best.Value, w.best.Ungraded = try.Value, err.Error()
		}
		return true, ending(err)
	}
	decision := w.GateBy.Decide(grading.Standing{Score: try.Score, Before: slices.Clone(w.scores), Try: try.Tries})
	if !slices.Contains([]grading.Decision{grading.Accept, grading.Revise, grading.Discard}, decision) {
		return true, brokenRule("the gate of a Refinement decided %q, want accept, revise or discard", decision)
	}
	try.Pass = decision == grading.Accept
	w.keep(try)
	made.Score, made.Decision, made.Feedback = &try.Score, string(decision), try.Feedback
	w.tries = append(w.tries, made)
	return try.Pass, nil
}

// keep makes a graded try the last one, and the best if it is.
func (w *refining[T]) keep(try Refined[T]) {
	w.last = try
	if try.Pass || len(w.scores) == 0 || try.Score >= w.best.Score {
		try.Failures = w.best.Failures
		w.best = try
	}
	w.scores = append(w.scores, try.Score)
}

// fail keeps a failure for the host.
func (w *refining[T]) fail(how string, err error) {
	w.best.Failures = append(w.best.Failures, fmt.Sprintf("try %d %s: %v", w.best.Tries, how, err))
}

// again reports whether there is another try, and waits for it. Without one, the error is
// that of the last try if none was graded.
func (w *refining[T]) again(c *Context) (bool, error) {
	var again Again
	if len(w.tries) < MaxTries {
		again = w.Retrier.Next(Working{Role: "refine"}, slices.Clone(w.tries))
	}
	if !again.Retry {
		if len(w.scores) > 0 {
			return false, nil
		}
		return false, w.tries[len(w.tries)-1].Err
	}
	if again.After > 0 {
		if err := c.Sleep(again.After); err != nil {
			return false, err
		}
	}
	w.told = w.last
	if again.Fresh {
		w.told = Refined[T]{Tries: w.last.Tries}
	}
	w.told.Agent, w.told.Feedback = again.Agent, cmp.Or(again.Feedback, w.told.Feedback)
	return true, nil
}

// grade asks for a verdict, and once more if none comes that is on the scale.
func (w *refining[T]) grade(c *Context, v T) (verdict Verdict, err error) {
	for range 2 {
		if verdict, err = w.Grader.Grade(c, v); err == nil {
			err = w.Scale.check(verdict.Score)
		}
		if err == nil || ends(err) {
			break
		}
	}
	return verdict, err
}

// brokenRule returns the error of a flow that breaks a rule.
func brokenRule(format string, args ...any) error {
	e := agent.ErrorOf(fmt.Errorf("%w: %s", ErrFlow, fmt.Sprintf(format, args...)))
	e.Codes = append(e.Codes, engine.ErrRule)
	return e
}

// ends reports whether err ends a refinement.
func ends(err error) bool { return IsOver(err) || IsBroken(err) }

// ending returns err if it ends a refinement, else nil.
func ending(err error) error {
	if ends(err) {
		return err
	}
	return nil
}
