// Service is a team behind HTTP: start, stream, answer, cancel, look, resume.
package main

import (
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/orchestrator/team"
)

// Outcome is what the team made and whether a person wants it published.
type Outcome struct {
	hierarchy.Outcome
	Published bool `json:"published"`
}

// MarshalJSON writes all of o: the method of the Outcome inside knows only that.
func (o Outcome) MarshalJSON() ([]byte, error) { return team.Encode(o) }

// UnmarshalJSON reads what MarshalJSON has written.
func (o *Outcome) UnmarshalJSON(data []byte) error { return team.DecodeLenient(data, o) }

// question is the key of the question to the person.
const question = "publish"

// newFlow lets a person decide whether the result of cfg's team is published. Its agents
// are the team's.
func newFlow(cfg hierarchy.Config) (orchestrator.Flow[hierarchy.Input, Outcome], error) {
	made, err := hierarchy.New(cfg)
	if err != nil {
		return orchestrator.Flow[hierarchy.Input, Outcome]{}, err
	}
	return orchestrator.Flow[hierarchy.Input, Outcome]{
		Name: "approved", Version: 1, Agents: made.Agents,
		Do: func(c *orchestrator.Context, in hierarchy.Input) (Outcome, error) {
			result, err := made.Do(c, in) // in the same run: one log, one budget
			out := Outcome{Outcome: result}
			if err != nil {
				return out, err
			}
			out.Published, err = orchestrator.Await[bool](c, orchestrator.Question{
				Key: question, Text: "Publish the result?", Timeout: 7 * 24 * time.Hour,
			})
			return out, err
		},
	}, nil
}
