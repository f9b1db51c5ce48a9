package research

import (
	"encoding/json"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator/agent"
)

// Brief is the part of an Input that agents read. What agents read and write has the names
// of the team's documents, such as "min_sources".
type Brief struct {
	Topic            string   `json:"topic"`
	ContentType      string   `json:"content_type,omitempty"`
	Length           int      `json:"length,omitempty"` // words
	Tone             string   `json:"tone,omitempty"`
	Depth            string   `json:"depth,omitempty"`
	MinSources       int      `json:"min_sources,omitempty"`
	PreferredSources []string `json:"preferred_sources,omitempty"`
	MinQuality       *float64 `json:"min_quality,omitempty"` // 0 to 1
}

func (in Input) brief() Brief {
	return Brief{in.Topic, in.ContentType, in.Length, in.Tone, in.Depth, in.MinSources, in.PreferredSources, in.MinQuality}
}

// WorkerInput is the input of a worker, as the JSON of Request.Input.
type WorkerInput struct {
	TaskID    string                     `json:"task_id"`
	WorkerID  string                     `json:"worker_id"`
	Brief     Brief                      `json:"brief"`
	Inputs    map[string]json.RawMessage `json:"inputs"`             // results that the worker needs, by the IDs of their workers
	Feedback  string                     `json:"feedback,omitempty"` // what the last iteration lacked; "": this is the first
	Iteration int                        `json:"iteration"`          // from 1

	// LastDraft is a writer's last text, as revised by checkers. nil: this is the first
	// iteration, or the worker is no writer.
	LastDraft *Draft                     `json:"last_draft,omitempty"`
	Checks    map[string]json.RawMessage `json:"checks,omitempty"` // results of the checkers of LastDraft, by their IDs
}

// Findings is the answer of research workers.
type Findings struct {
	Sources []Source `json:"sources"`
	Summary string   `json:"summary,omitempty"`
}

// Source is the origin of a finding.
type Source struct {
	Title     string  `json:"title"`
	URL       string  `json:"url,omitempty"`       // address with http or https; another one is dropped
	Kind      string  `json:"kind,omitempty"`      // such as "academic"; "": not said
	Relevance float64 `json:"relevance,omitempty"` // 0 to 1; 0: not given
	Excerpt   string  `json:"excerpt,omitempty"`
}

// Draft is the answer of writing workers. Text that is not JSON is its Content.
type Draft struct {
	Title   string `json:"title,omitempty"`
	Content string `json:"content"`
}

// marks is the answer of a supervisor, each 0 to 1.
type marks struct {
	grading.Facets
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

type wireStep struct {
	ID        string   `json:"id"`
	Name      string   `json:"name,omitempty"`
	Category  Category `json:"category"`
	Workers   []string `json:"workers"`
	Mode      Mode     `json:"mode"`
	DependsOn []string `json:"depends_on,omitempty"`
}

// readPlan reads a planner's plan.
func readPlan(resp agent.Response) (Plan, error) {
	w, err := read[wirePlan](planIn)(resp)
	p := Plan{Complexity: w.Complexity, Notes: w.Notes, Drop: w.Drop}
	for _, s := range w.Steps {
		p.Steps = append(p.Steps, Step{ID: s.ID, Name: s.Name, Category: s.Category, Workers: s.Workers, Mode: s.Mode, DependsOn: s.DependsOn})
	}
	return p, err
}

// shown returns p as agents read it.
func (p Plan) shown() *wirePlan {
	w := &wirePlan{p.Complexity, make([]wireStep, len(p.Steps)), p.Notes, p.Drop}
	for i, s := range p.Steps {
		w.Steps[i] = wireStep{s.ID, s.Name, s.Category, s.Workers, s.Mode, s.DependsOn}
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
