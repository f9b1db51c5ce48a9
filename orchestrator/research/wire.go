package research

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// Brief is the part of an Input that agents read. What agents read and write has the names
// of the team's documents, such as "min_sources".
type Brief struct {
	Topic            string   `json:"topic"`                       // subject of the article
	ContentType      string   `json:"content_type,omitempty"`      // such as "article"
	Length           int      `json:"length,omitempty"`            // words
	Tone             string   `json:"tone,omitempty"`              // such as "professional"
	Depth            string   `json:"depth,omitempty"`             // light, standard or deep
	MinSources       int      `json:"min_sources,omitempty"`       // number of sources
	PreferredSources []string `json:"preferred_sources,omitempty"` // kinds such as "academic"; nil: none
	MinQuality       *float64 `json:"min_quality,omitempty"`       // 0 to 1
}

func (in Input) brief() Brief {
	return Brief{in.Topic, in.ContentType, in.Length, in.Tone, in.Depth, in.MinSources, in.PreferredSources, in.MinQuality}
}

// WorkerInput is the input of a worker, as the JSON of Request.Input.
type WorkerInput struct {
	TaskID    string                     `json:"task_id"`            // ID of the task
	WorkerID  string                     `json:"worker_id"`          // ID of the worker
	Brief     Brief                      `json:"brief"`              // the request
	Inputs    map[string]json.RawMessage `json:"inputs"`             // results that the worker needs, by the IDs of their workers
	Feedback  string                     `json:"feedback,omitempty"` // shortfalls of the last iteration; "": this is the first
	Iteration int                        `json:"iteration"`          // from 1

	// LastDraft is a writer's last text, as revised by checkers. nil: this is the first
	// iteration, or the worker is no writer.
	LastDraft *Draft                     `json:"last_draft,omitempty"`
	Checks    map[string]json.RawMessage `json:"checks,omitempty"` // results of the checkers of LastDraft, by their IDs
}

// Findings is the answer of research workers.
type Findings struct {
	Sources []Source `json:"sources"`           // empty: nothing was found
	Summary string   `json:"summary,omitempty"` // statement of them all; "": none
	Unread  []Unread `json:"unread,omitempty"`  // pages that could not be read: each is a warning of the run; nil: none
}

// Unread is a page that a worker could not read. If it is a source, it stands behind those
// that were read.
type Unread struct {
	URL    string `json:"url"`    // address of the page
	Reason string `json:"reason"` // why, such as "status 404 Not Found"
}

// Source is the origin of a finding.
type Source struct {
	Title     string  `json:"title"`               // title of the page or paper
	URL       string  `json:"url,omitempty"`       // address with http or https; another one is dropped
	Kind      string  `json:"kind,omitempty"`      // such as "academic"; "": not said
	Relevance float64 `json:"relevance,omitempty"` // 0 to 1; 0: not given
	Excerpt   string  `json:"excerpt,omitempty"`   // part of its text; "": none
}

// Draft is the answer of writing workers. Text that is not JSON is its Content.
type Draft struct {
	Title   string `json:"title,omitempty"` // "": none
	Content string `json:"content"`         // text in Markdown
}

// marks is the answer of a supervisor, each 0 to 1.
type marks struct {
	Article      float64  `json:"article"`                // completeness, structure, length
	Source       float64  `json:"source"`                 // number against the minimum, diversity, citations
	Factual      float64  `json:"factual"`                // claims that were verified, no contradictions
	Writing      float64  `json:"writing"`                // grammar, readability, tone
	Completeness *float64 `json:"completeness,omitempty"` // nil: as Article
	Feedback     string   `json:"feedback,omitempty"`
	Issues       []string `json:"issues,omitempty"`
}

func (m marks) grade() Grade {
	all := grading.Marks{{Name: "article", Value: m.Article}, {Name: "source", Value: m.Source}, {Name: "factual", Value: m.Factual}, {Name: "writing", Value: m.Writing}}
	return Grade{all, m.Completeness, m.Feedback, m.Issues}
}

// wirePlan is a plan as agents read and write it: without estimates, which are computed.
type wirePlan struct {
	Complexity float64    `json:"complexity"`
	Steps      []wireStep `json:"steps"`
	Notes      []string   `json:"notes,omitempty"`
	Drop       []string   `json:"drop,omitempty"`
}

// wireStep has the fields of a Step.
type wireStep struct {
	ID        string            `json:"id"`
	Name      string            `json:"name,omitempty"`
	Category  Category          `json:"category"`
	Workers   []string          `json:"workers"`
	Mode      string            `json:"mode"`
	DependsOn []string          `json:"depends_on,omitempty"`
	EstTime   time.Duration     `json:"-"`
	EstCost   providers.NanoUSD `json:"-"`
}

// reader reads an answer, and adds the names of fields that it dropped.
type reader[T any] func(resp agent.Response, dropped *[]string) (T, error)

// readPlan reads a planner's plan.
func readPlan(resp agent.Response, dropped *[]string) (Plan, error) {
	w, err := read[wirePlan](planIn)(resp, dropped)
	p := Plan{Complexity: w.Complexity, Notes: w.Notes, Drop: w.Drop}
	for _, s := range w.Steps {
		p.Steps = append(p.Steps, Step(s))
	}
	return p, err
}

// shown returns p as agents read it.
func (p Plan) shown() *wirePlan {
	w := &wirePlan{p.Complexity, make([]wireStep, len(p.Steps)), p.Notes, p.Drop}
	for i, s := range p.Steps {
		w.Steps[i] = wireStep(s)
	}
	return w
}

// wireOutput is a WorkerOutput as agents read it.
type wireOutput struct {
	Worker    string          `json:"worker"`
	Iteration int             `json:"iteration"`
	Payload   json.RawMessage `json:"payload"`
	RevisedBy string          `json:"revised_by,omitempty"`
}

func shown(outputs []WorkerOutput) []wireOutput {
	all := make([]wireOutput, len(outputs))
	for i, o := range outputs {
		all[i] = wireOutput(o)
	}
	return all
}

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
		`"summary":{"type":"string"},"unread":{"type":"array","items":{"type":"object","required":["url","reason"],` +
		`"properties":{"url":{"type":"string"},"reason":{"type":"string"}}}}}}`

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
func read[T any](shape *answer.Shape) reader[T] {
	return func(resp agent.Response, dropped *[]string) (T, error) {
		v, names, err := answer.ReadLoose[T](shape, resp.Data, resp.Text)
		*dropped = append(*dropped, names...)
		return v, err
	}
}

var errNothing = errors.New("the answer is empty")

// payload is the result of a worker, in the form in which others get it: findings, a
// draft, or any JSON. Other text becomes {"text": …}, or the content of a draft.
func payload(w Worker) reader[json.RawMessage] {
	return func(resp agent.Response, dropped *[]string) (json.RawMessage, error) {
		text := strings.TrimSpace(resp.Text)
		if text == "" && resp.Data == nil {
			return nil, errNothing
		}
		if w.Category == Researching {
			f, err := read[Findings](findingsIn)(resp, dropped)
			f.Sources = append([]Source{}, f.Sources...)
			return agent.JSON(f), err
		}
		if w.Category == Writing || w.Revises {
			d, ok := draftOf(resp, dropped)
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
func draftOf(resp agent.Response, dropped *[]string) (d Draft, ok bool) {
	found, err, data := json.RawMessage(nil), errNothing, resp.Data
	if text := []byte(strings.TrimSpace(resp.Text)); data == nil && json.Valid(text) {
		data = text
	}
	if data != nil {
		found, *dropped, err = draftIn.Loose(data, "")
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
