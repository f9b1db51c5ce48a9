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

// outputOf returns what an agent answered in the form in which reports keep it: words
// as a JSON string, data as it is. It is an error if there is nothing, or something that
// does not fit the agent's shape, if it has one.
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

// ownFigure is an answer that has a figure of its own among whatever else.
var ownFigure = answer.MustFromSchema(
	`{"type":"object","required":["qualityScore"],"properties":{"qualityScore":{"type":"number","minimum":0,"maximum":100}}}`)

// selfScore is the figure that a specialist reports of its own work: the member
// qualityScore, 0 to 100, of an answer that is a JSON object, also in quotes. nil:
// there is none that can be used. JSON in the midst of words is no
// figure of the agent's.
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
