// Service is a team behind HTTP: start, stream, answer, cancel, look, resume.
package main

import (
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/hierarchy"
)

// Outcome is what the team made and whether a person wants it published.
type Outcome struct {
	hierarchy.Outcome
	Published bool `json:"published"`
}

// question is the key of the question to the person.
const question = "publish"

// newFlow lets a person decide whether the result of cfg's team is published. Its agents
// are the team's.
func newFlow(cfg hierarchy.Config) (orchestrator.Flow[hierarchy.Input, Outcome], error) {
	team, err := hierarchy.New(cfg)
	if err != nil {
		return orchestrator.Flow[hierarchy.Input, Outcome]{}, err
	}
	return orchestrator.Flow[hierarchy.Input, Outcome]{
		Name: "approved", Version: 1, Agents: team.Agents,
		Do: func(c *orchestrator.Context, in hierarchy.Input) (Outcome, error) {
			made, err := team.Do(c, in) // in the same run: one log, one budget
			out := Outcome{Outcome: made}
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
