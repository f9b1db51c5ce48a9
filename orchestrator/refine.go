package orchestrator

import (
	"fmt"
	"math"

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

// Refinement says how to make a T that is good enough.
type Refinement[T any] struct {
	Attempts int     // number of tries at most; less than 1 counts as 1
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
}

// Refined is one try with its verdict.
type Refined[T any] struct {
	Value    T        `json:"value"` // work that the try made
	Verdict           // grade of Value; zero: it has none
	Pass     bool     `json:"pass"`               // result of the gate, never a model's word
	Tries    int      `json:"tries"`              // number of tries made so far
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
func Refine[T any](c *Context, r Refinement[T]) (best Refined[T], err error) {
	s, err := r.scale()
	if err != nil {
		return best, err
	}
	fail := func(how string) {
		best.Failures = append(best.Failures, fmt.Sprintf("try %d %s: %v", best.Tries, how, err))
	}
	var last Refined[T]
	graded := false
	for n := 1; n <= max(r.Attempts, 1); n++ {
		try := Refined[T]{Tries: n}
		try.Value, err = r.Try(c, last)
		best.Tries, last.Tries = n, n
		if ends(err) {
			return best, err
		}
		if err != nil {
			fail("failed")
			continue
		}
		if try.Verdict, err = r.grade(c, try.Value, s); err != nil {
			if graded {
				fail("was not graded")
			} else {
				best.Value, best.Ungraded = try.Value, err.Error()
			}
			return best, ending(err)
		}
		try.Pass = r.Gate == 0 || grading.Round6(try.Score) >= grading.Round6(r.Gate)
		last = try
		if try.Pass || !graded || try.Score >= best.Score {
			try.Failures = best.Failures
			best = try
		}
		if graded = true; try.Pass {
			return best, nil
		}
	}
	if graded {
		err = nil
	}
	return best, err
}

// scale is the Scale of r; ErrFlow if the Gate is not on it.
func (r Refinement[T]) scale() (Scale, error) {
	s, err := r.Scale.orDefault()
	if err == nil && r.Gate != 0 && s.check(r.Gate) != nil {
		err = brokenRule("Refinement.Gate is %v, which is not on the Scale of %v to %v", r.Gate, s.Min, s.Max)
	}
	return s, err
}

// grade asks for a verdict, and once more if none comes that is on the scale.
func (r Refinement[T]) grade(c *Context, v T, s Scale) (verdict Verdict, err error) {
	for range 2 {
		if verdict, err = r.Grade(c, v); err == nil {
			err = s.check(verdict.Score)
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
