package research

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/orchestrator/agent"
)

// The schemas of answers. Scores carry their scale.
const (
	scale = `{"type":"number","minimum":0,"maximum":1}`
	texts = `{"type":"array","items":{"type":"string"}}`

	planWanted = `{"type":"object","required":["complexity","steps"],"properties":{"complexity":` + scale + `,` +
		`"steps":{"type":"array","items":{"type":"object","required":["category","workers","mode"],"properties":{` +
		`"id":{"type":"string"},"name":{"type":"string"},"category":{"type":"string"},"workers":` + texts + `,` +
		`"mode":{"type":"string"},"depends_on":` + texts + `}}},"notes":` + texts + `,"drop":` + texts + `}}`

	dropWanted = `{"type":"object","required":["drop"],"properties":{"drop":` + texts + `}}`

	marksWanted = `{"type":"object","required":["article","source","factual","writing"],"properties":{"article":` + scale + `,"source":` + scale + `,` +
		`"factual":` + scale + `,"writing":` + scale + `,"completeness":` + scale + `,"feedback":{"type":"string"},"issues":` + texts + `}}`

	findingsWanted = `{"type":"object","required":["sources"],"properties":{"sources":{"type":"array","items":{"type":"object","required":["title"],` +
		`"properties":{"title":{"type":"string"},"url":{"type":"string"},"kind":{"type":"string"},"relevance":` + scale + `,"excerpt":{"type":"string"}}}},` +
		`"summary":{"type":"string"}}}`

	draftWanted = `{"type":"object","required":["content"],"properties":{"title":{"type":"string"},"content":{"type":"string"}}}`
)

// wanted are the schemas of workers' requests. All others may answer in any form.
var wanted = map[Category]json.RawMessage{Researching: json.RawMessage(findingsWanted), Writing: json.RawMessage(draftWanted)}

var planIn, dropIn, marksIn, findingsIn, draftIn = shape(planWanted), shape(dropWanted), shape(marksWanted), shape(findingsWanted), shape(draftWanted)

// shape is how an answer is read. A list may be null: agents in Go encode an empty one
// so.
func shape(schema string) *answer.Shape {
	return answer.MustFromSchema(strings.ReplaceAll(schema, `"type":"array"`, `"type":["array","null"]`))
}

// read finds a value of that shape in an answer.
func read[T any](shape *answer.Shape) func(resp agent.Response) (T, error) {
	return func(resp agent.Response) (v T, err error) {
		found, err := shape.Find(resp.Data, resp.Text)
		if err == nil {
			err = json.Unmarshal(found, &v)
		}
		return v, err
	}
}

var errNothing = errors.New("the answer is empty")

// payload is the result of a worker, in the form in which others get it: findings, a
// draft, or any JSON. Other text becomes {"text": …}, or the content of a draft.
func payload(w Worker) func(resp agent.Response) (json.RawMessage, error) {
	return func(resp agent.Response) (json.RawMessage, error) {
		text := strings.TrimSpace(resp.Text)
		if text == "" && resp.Data == nil {
			return nil, errNothing
		}
		if w.Category == Researching {
			f, err := read[Findings](findingsIn)(resp)
			f.Sources = append([]Source{}, f.Sources...)
			return agent.JSON(f), err
		}
		if w.Category == Writing || w.Revises {
			d, ok := draftOf(resp)
			if !ok && w.Category == Writing {
				d.Content = resp.Text
			}
			if strings.TrimSpace(d.Content) != "" {
				return agent.JSON(d), nil
			}
			if w.Category == Writing {
				return nil, errNothing
			}
		}
		switch {
		case resp.Data != nil:
			return resp.Data, nil
		case json.Valid([]byte(text)):
			return json.RawMessage(text), nil
		}
		return agent.JSON(map[string]string{"text": resp.Text}), nil
	}
}

// draftOf returns the draft in an answer, if it is one: JSON without prose around it,
// except a line that leads in. An example in a text is no draft.
func draftOf(resp agent.Response) (d Draft, ok bool) {
	found, err := json.RawMessage(nil), errNothing
	if resp.Data != nil {
		found, err = draftIn.Find(resp.Data, "")
	} else if lead, _, any := strings.Cut(resp.Text, "{"); any && !strings.Contains(strings.TrimSpace(fence.Replace(lead)), "\n") {
		found, err = draftIn.Alone(strings.TrimRight(resp.Text[len(lead):], "`~ \t\r\n"))
	}
	if err == nil {
		err = json.Unmarshal(found, &d)
	}
	return d, err == nil
}

// fence removes the marks of a block of code.
var fence = strings.NewReplacer("```json", "", "```JSON", "", "```", "", "~~~json", "", "~~~", "")
