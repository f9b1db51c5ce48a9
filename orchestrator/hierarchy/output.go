package hierarchy

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/orchestrator/agent"
)

// outputOf returns an answer as reports store it: words as a JSON string, data
// unchanged. It is an error if there is nothing, or if the answer does not fit the
// agent's shape, if it has one.
func outputOf(resp agent.Response, shape *answer.Shape) (output json.RawMessage, err error) {
	output = resp.Data
	if !blank(resp.Text) {
		output = agent.JSON(resp.Text)
	}
	if shape != nil && !blank(Text(output)) {
		if output, err = shape.Find(resp.Data, resp.Text); err != nil {
			return nil, fmt.Errorf("malformed output: %w", err)
		}
	}
	if blank(Text(output)) {
		return nil, errors.New("the answer is empty")
	}
	return output, nil
}

// shapes are those of the outputs of all agents that have a schema, by agent ID. c is
// valid.
func (c Config) shapes() map[string]*answer.Shape {
	shapes := map[string]*answer.Shape{}
	for _, d := range c.Departments {
		for _, a := range d.Agents {
			if len(a.Schema) > 0 {
				shapes[a.ID] = answer.MustFromSchema(string(a.Schema))
			}
		}
	}
	return shapes
}

// ownFigure is the shape of an answer with the agent's own score among other members.
var ownFigure = answer.MustFromSchema(
	`{"type":"object","required":["qualityScore"],"properties":{"qualityScore":{"type":"number","minimum":0,"maximum":100}}}`)

// selfScore is the score that a specialist reports for its own work: the member
// qualityScore, 0 to 100, of an answer that is a JSON object, also in quotes. nil:
// there is none that can be used. JSON in the midst of words does not count.
func selfScore(resp agent.Response) *float64 {
	text := strings.TrimSpace(resp.Text)
	if len(resp.Data) == 0 && !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "```") {
		return nil
	}
	found, err := ownFigure.Find(resp.Data, resp.Text)
	if err != nil {
		return nil
	}
	own, err := answer.Decode[struct {
		QualityScore float64 `json:"qualityScore"`
	}](found)
	if err != nil {
		return nil
	}
	return new(grading.Round6(own.QualityScore))
}
