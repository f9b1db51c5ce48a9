package hierarchy

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
)

// outputOf returns an answer as reports store it: words as a JSON string, data
// unchanged. It is an error if there is nothing, or if the answer does not fit the schema,
// if there is one.
func outputOf(resp agent.Response, schema json.RawMessage) (json.RawMessage, error) {
	output := resp.Data
	if text := withoutFence(resp.Text); text != "" && text != "null" {
		output = agent.JSON(resp.Text)
	}
	if len(schema) > 0 && !text.IsBlank(Text(output)) {
		shape, err := answer.FromSchema(schema)
		if err == nil {
			output, err = shape.Find(resp.Data, resp.Text)
		}
		if err != nil {
			return nil, fmt.Errorf("malformed output: %w", err)
		}
	}
	if text.IsBlank(Text(output)) {
		return nil, errors.New("the answer is empty")
	}
	return output, nil
}

// withoutFence returns a text without the space and the code fence around it.
func withoutFence(text string) string {
	text = strings.TrimSpace(text)
	if inside, fenced := strings.CutPrefix(text, "```"); fenced {
		text = strings.TrimSpace(strings.TrimPrefix(strings.TrimSuffix(inside, "```"), "json"))
	}
	return text
}

// length is the number of characters of an output, without the space around it.
func length(output json.RawMessage) int {
	return utf8.RuneCountInString(strings.TrimSpace(Text(output)))
}

const member = "qualityScore" // where an agent reports its own score

// The shapes of an answer with the agent's own score among other members, and of any.
var (
	ownFigure = answer.MustFromSchema(`{"type":"object","required":["` + member + `"],"properties":{"` + member + `":{"type":"number","minimum":0,"maximum":100}}}`)
	anyObject = answer.MustFromSchema(`{"type":"object"}`)
)

// selfScore is the score that a specialist reports for its own work: the member
// qualityScore, 0 to 100, of an answer that is a JSON object, also in quotes. nil, nil: there
// is none. A score off the scale is an error. JSON in the midst of words does not count.
func selfScore(resp agent.Response) (*float64, error) {
	text := strings.TrimSpace(resp.Text)
	if len(resp.Data) == 0 && !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "```") {
		return nil, nil //nolint:nilnil // no score is no fault
	}
	own, _, err := answer.ReadLoose[struct {
		QualityScore float64 `json:"qualityScore"`
	}](ownFigure, resp.Data, resp.Text)
	if err == nil {
		return new(grading.Round6(own.QualityScore)), nil
	}
	given, noObject := answer.Read[map[string]json.RawMessage](anyObject, resp.Data, resp.Text)
	if raw := string(given[member]); raw == "null" || raw == "" && (noObject == nil || !strings.Contains(text, `"`+member+`"`)) {
		return nil, nil //nolint:nilnil // no score is no fault
	}
	return nil, fmt.Errorf("its own score: %w", err)
}

// Experience is what outcomes show about specialists, by agent ID.
type Experience struct {
	History      map[string][]float64 `json:"history"`      // History has the scores of their results, 0 to 100, oldest first: for Input.History
	SuccessRates map[string]float64   `json:"successRates"` // SuccessRates has the share, 0 to 100, of their results that were approved or needed revision only: see Rate
}

// Learn computes experience from outcomes, given from the oldest to the newest. Results
// without an attempt, a review or a grade do not count. A result without an output counts
// as no success and has no score; 75 and Policy.AssumeScore do not count as scores.
func Learn(outcomes ...Outcome) Experience {
	e := Experience{History: map[string][]float64{}, SuccessRates: map[string]float64{}}
	successes, all := map[string]int{}, map[string]int{}
	for _, out := range outcomes {
		for _, report := range out.Reports {
			for _, s := range report.Specialists {
				if len(s.Attempts) == 0 || s.ReviewStatus == "" || s.Ungraded+s.Assumed != "" || s.ScoreDefaulted {
					continue
				}
				if all[s.AgentID]++; s.passed(false) {
					successes[s.AgentID]++
				}
				if s.Output != nil {
					e.History[s.AgentID] = append(e.History[s.AgentID], s.Score)
				}
			}
		}
	}
	for id, n := range all {
		e.SuccessRates[id] = grading.Round6(100 * float64(successes[id]) / float64(n))
	}
	return e
}

// Rate returns a copy of departments whose agents have the success rates of e; agents
// without one in e keep theirs.
func (e Experience) Rate(departments []Department) []Department {
	departments = team.Clone(departments)
	for _, d := range departments {
		for i, a := range d.Agents {
			if rate, ok := e.SuccessRates[a.ID]; ok {
				d.Agents[i].SuccessRate = &rate
			}
		}
	}
	return departments
}
