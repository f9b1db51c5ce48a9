package discussion

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/internal/answer"
)

// What an answer must hold. The shapes are loose on purpose: one bad entry shall not
// cost the others.
var (
	ideasIn       = answer.MustFromSchema(`{"type":"object","required":["ideas"],"properties":{"ideas":{"type":"array","items":{"type":"object"}}}}`)
	evaluationsIn = answer.MustFromSchema(`{"type":"object","required":["evaluations"],"properties":{"evaluations":{"type":"array","items":{"type":"object"}}}}`)
	listIn        = answer.MustFromSchema(`{"type":"array","minItems":1,"items":{"type":"object"}}`)
	choiceIn      = answer.MustFromSchema(`{"type":"object","required":["idea_id"],"properties":{"idea_id":{"type":"string"}}}`)
)

// What agents are told to answer with.
var (
	ideasWanted = json.RawMessage(`{"type":"object","required":["ideas"],"additionalProperties":false,"properties":{"ideas":{"type":"array","items":{"type":"object","required":["title","description"],"additionalProperties":false,"properties":{"title":{"type":"string"},"description":{"type":"string"},"category":{"type":"string"}}}}}}`)

	evaluationsWanted = json.RawMessage(`{"type":"object","required":["evaluations"],"additionalProperties":false,"properties":{"evaluations":{"type":"array","items":{"type":"object","required":["idea_id","criteria"],"additionalProperties":false,"properties":{` +
		`"idea_id":{"type":"string"},"score":{"type":"number","minimum":0,"maximum":10},` +
		`"criteria":{"type":"object","required":["feasibility","innovation","impact","clarity","completeness"],"additionalProperties":false,"properties":{` +
		`"feasibility":{"type":"number","minimum":0,"maximum":10},"innovation":{"type":"number","minimum":0,"maximum":10},"impact":{"type":"number","minimum":0,"maximum":10},"clarity":{"type":"number","minimum":0,"maximum":10},"completeness":{"type":"number","minimum":0,"maximum":10}}},` +
		`"pros":{"type":"array","items":{"type":"string"}},"cons":{"type":"array","items":{"type":"string"}},"feedback":{"type":"string"}}}}}}`)
)

var errNoIdeas = errors.New(`there is no JSON object with "ideas", each with a "title"`)

// ParseIdeas reads the ideas in an answer: a JSON object with "ideas", or a bare list,
// also in a fence or inside of prose (DX5). Only Title, Description and Category are
// set. An idea without a title is among them (DX6); that none has one is an error.
func ParseIdeas(text string) ([]Idea, error) {
	items, err := entries(text, "ideas", ideasIn)
	if err != nil {
		return nil, err
	}
	ideas, titled := make([]Idea, len(items)), false
	for i, item := range items {
		ideas[i] = Idea{Title: textOf(item["title"]), Description: textOf(item["description"]), Category: textOf(item["category"])}
		titled = titled || ideas[i].Title != ""
	}
	if !titled {
		return nil, errNoIdeas
	}
	return ideas, nil
}

// Evaluation is what a moderator says of one idea.
type Evaluation struct {
	IdeaID   string            // or
	Title    string            // of the idea, in any case
	Score    *float64          // as it was given, valid or not; nil: none
	Criteria *grading.Criteria // nil: not all five were given
	Pros     []string
	Cons     []string
	Feedback string
}

var errNoEvaluations = errors.New(`there is no JSON object with "evaluations", of which one has a "score" within 0 to 10 or all five "criteria"`)

// ParseEvaluations reads the evaluations in an answer: a JSON object with
// "evaluations", or a bare list, also in a fence or inside of prose (D25, DX5). Whether
// one is of use, grading.IdeaScore tells; that none is, is an error (DX7).
func ParseEvaluations(text string) ([]Evaluation, error) {
	items, err := entries(text, "evaluations", evaluationsIn)
	if err != nil {
		return nil, err
	}
	all, usable := make([]Evaluation, len(items)), false
	for i, item := range items {
		e := Evaluation{
			IdeaID: textOf(either(item, "idea_id", "id")), Title: textOf(item["title"]),
			Score: numberOf(item["score"]), Criteria: criteriaOf(item),
			Pros: listOf(item["pros"]), Cons: listOf(item["cons"]), Feedback: textOf(item["feedback"]),
		}
		_, err := grading.IdeaScore(e.Score, e.Criteria)
		usable = usable || err == nil
		all[i] = e
	}
	if !usable {
		return nil, errNoEvaluations
	}
	return all, nil
}

// entries are the objects listed in an answer, under a name or alone.
func entries(text, name string, shape *answer.Shape) ([]map[string]any, error) {
	found, err := shape.Find(nil, text)
	if err == nil {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(found, &object); err != nil {
			return nil, err
		}
		return decodeList(object[name])
	}
	list, lerr := listIn.Find(nil, text)
	if lerr != nil {
		return nil, fmt.Errorf("want a JSON object with %q: %w", name, err)
	}
	return decodeList(list)
}

// decodeList keeps numbers as they were written.
func decodeList(data json.RawMessage) ([]map[string]any, error) {
	var items []map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return items, d.Decode(&items)
}

func either(item map[string]any, names ...string) any {
	for _, name := range names {
		if v, ok := item[name]; ok {
			return v
		}
	}
	return nil
}

// textOf is a text or a number as text; "" for anything else.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case json.Number:
		return v.String()
	}
	return ""
}

// numberOf is a number, also one in quotes (DX7); nil for anything else.
func numberOf(v any) *float64 {
	x, err := strconv.ParseFloat(textOf(v), 64)
	if err != nil {
		return nil
	}
	return &x
}

// listOf is a list of texts, or one text alone.
func listOf(v any) []string {
	items, ok := v.([]any)
	if !ok {
		items = []any{v}
	}
	var list []string
	for _, item := range items {
		if text := textOf(item); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// criteriaOf are the five marks, under "criteria" or beside the score; nil unless all
// are there (DC12).
func criteriaOf(item map[string]any) *grading.Criteria {
	if inner, ok := item["criteria"].(map[string]any); ok {
		item = inner
	}
	var c grading.Criteria
	for name, to := range map[string]*float64{
		"feasibility": &c.Feasibility, "innovation": &c.Innovation, "impact": &c.Impact,
		"clarity": &c.Clarity, "completeness": &c.Completeness,
	} {
		mark := numberOf(item[name])
		if mark == nil {
			return nil
		}
		*to = *mark
	}
	return &c
}
