package orchestrator

import (
	"fmt"
	"math"

	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/orchestrator/agent"
)

// Verdict is what grading says of one piece of work. A model may be asked for one:
// whether it passes is not in it. Ask[Verdict] wants a score of 0 to 100, AskVerdict
// one on another scale.
type Verdict struct {
	Score    float64 `json:"score" min:"0" max:"100"`
	Feedback string  `json:"feedback,omitempty"` // for the next try
}

// Scale is the range of scores, Min and Max included. The zero Scale is 0 to 100.
type Scale struct {
	Min float64 `json:"min"`
	Max float64 `json:"max"`
}

// AskVerdict is [Ask] for a Verdict on a scale: its bounds are in the schema that
// the agent gets, and a score outside of them does not fit. It is never clamped.
func AskVerdict(c *Context, name string, req agent.Request, s Scale) (Verdict, agent.Response, error) {
	s = s.orDefault()
	if s == (Scale{}).orDefault() {
		return Ask[Verdict](c, name, req)
	}
	if !s.valid() {
		return Verdict{}, agent.Response{}, agent.ErrorOf(fmt.Errorf("%w: ask %q for a verdict on a scale of %v to %v: want one from less to more", ErrFlow, name, s.Min, s.Max))
	}
	shape := answer.MustFromSchema(fmt.Sprintf(`{"type":"object","properties":{"score":{"type":"number","minimum":%v,"maximum":%v},`+
		`"feedback":{"type":"string"}},"required":["score"],"additionalProperties":false}`, s.Min, s.Max))
	return askFor[Verdict](c, name, req, shape)
}

func (s Scale) orDefault() Scale {
	if s == (Scale{}) {
		s.Max = 100
	}
	return s
}

func (s Scale) valid() bool {
	return s.Min < s.Max && !math.IsInf(s.Min, 0) && !math.IsInf(s.Max, 0) // false for NaN, too
}

// check returns ErrMalformed for a score outside of s.
func (s Scale) check(score float64) error {
	if score >= s.Min && score <= s.Max { // false for NaN
		return nil
	}
	return agent.ErrorOf(fmt.Errorf("%w: the score is %v, want %v to %v", ErrMalformed, score, s.Min, s.Max))
}
