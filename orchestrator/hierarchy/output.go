package hierarchy

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/orchestrator/agent"
)

// Text returns an output for people and prompts: that of an agent that answered
// in words as these words, any other as its JSON. No output is "".
func Text(output json.RawMessage) string {
	var s string
	if json.Unmarshal(output, &s) == nil {
		return s
	}
	return string(output)
}

var errNoOutput = errors.New("the answer is empty")

// outputOf returns what an agent answered in the form in which reports keep it:
// words as a JSON string, data as it is. It is an error if there is nothing, or
// something that does not fit the agent's schema.
func outputOf(resp agent.Response, s *schema) (json.RawMessage, error) {
	words := strings.TrimSpace(resp.Text) != ""
	switch {
	case !words && blank(resp.Data):
		return nil, errNoOutput
	case s != nil:
		return s.output(resp)
	case words:
		return agent.JSON(resp.Text), nil
	default:
		return resp.Data, nil
	}
}

// blank reports whether data says nothing: it is missing, null or a blank string.
func blank(data json.RawMessage) bool { return strings.TrimSpace(Text(data)) == "" }

// schema is what an agent declared that its output fits; nil: anything.
type schema struct {
	raw   json.RawMessage
	shape *answer.Shape
}

// schemas are those of all agents that declared one, by agent ID.
func (c Config) schemas() (map[string]*schema, error) {
	schemas := map[string]*schema{}
	var errs []error
	for _, d := range c.Departments {
		for _, a := range d.Agents {
			if len(a.Schema) == 0 {
				continue
			}
			shape, err := answer.FromSchema(a.Schema)
			if err != nil {
				errs = append(errs, fmt.Errorf("department %q: agent %q: Schema: %w", d.ID, a.ID, err))
			}
			schemas[a.ID] = &schema{a.Schema, shape}
		}
	}
	return schemas, errors.Join(errs...)
}

// request is the schema as an agent sees it.
func (s *schema) request() json.RawMessage {
	if s == nil {
		return nil
	}
	return s.raw
}

// output is the JSON of an answer, as the schema wants it.
func (s *schema) output(resp agent.Response) (json.RawMessage, error) {
	found, err := s.shape.Find(resp.Data, resp.Text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("malformed output: %w", err)
	case blank(found):
		return nil, errNoOutput
	default:
		return found, nil
	}
}

// ownFigure is an answer that has a figure of its own among whatever else.
var ownFigure = answer.MustFromSchema(
	`{"type":"object","required":["qualityScore"],"properties":{"qualityScore":{"type":"number","minimum":0,"maximum":100}}}`)

// selfScore is the figure that a specialist reports of its own work: the member
// qualityScore, 0 to 100, of an answer that is a JSON object, also in quotes. nil:
// there is none that can be used (HC5, HC37). JSON in the midst of words is no
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
	var own struct {
		QualityScore float64 `json:"qualityScore"`
	}
	if json.Unmarshal(found, &own) != nil {
		return nil
	}
	return new(grading.Round6(own.QualityScore))
}

func validScore(x float64) bool { return x >= 0 && x <= 100 } // also refuses NaN

// number writes a figure for prompts and notes.
func number(x float64) string { return strconv.FormatFloat(grading.Round6(x), 'f', -1, 64) }
