package main

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"time"

	"github.com/convene-go/convene/examples/internal/cli/rehearsal"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/research"
)

// scripted is the topic that the script is about.
const scripted = "AI in healthcare"

//go:embed script/*.txt
var scriptFiles embed.FS

// stage is shared by the workers of the rehearsal.
type stage struct {
	script rehearsal.Script
	words  []string // of the topic
}

// player is an agent of the rehearsal: it reads its input as a model would, and answers
// by the script or by rule.
type player struct {
	pace time.Duration
	play func(input json.RawMessage) (any, error)
}

// Call implements agent.Agent.
func (p player) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	if err := rehearsal.Wait(ctx, p.pace); err != nil {
		return agent.Response{}, err
	}
	answer, err := p.play(req.Input)
	if err != nil {
		return agent.Response{}, fmt.Errorf("the rehearsal cannot answer: %w", err)
	}
	if d, ok := answer.(research.Draft); ok {
		agent.Report(ctx, agent.Progress{Kind: agent.ProgressText, Text: d.Content})
	}
	return agent.Response{Data: agent.JSON(answer)}, nil
}

// reading makes a play from a function of the decoded input.
func reading[In any](f func(In) (any, error)) func(json.RawMessage) (any, error) {
	return func(input json.RawMessage) (any, error) {
		var in In
		if err := json.Unmarshal(input, &in); err != nil {
			return nil, err
		}
		return f(in)
	}
}

func newStage() stage {
	files, err := fs.Sub(scriptFiles, "script")
	if err != nil {
		panic(err) // it is a folder of this package
	}
	return stage{rehearsal.Script{Files: files}, rehearsal.Words(scripted, 6)}
}

// rehearse returns players for planner, supervisor and all workers.
func rehearse(pace time.Duration) agent.Roster {
	s := newStage()
	roster := agent.Roster{
		planner:    player{pace, reading(plan)},
		supervisor: player{pace, reading(func(r result) (any, error) { return judge(r, s.words), nil })},
	}
	for _, w := range research.Catalogue() {
		work := s.check
		switch w.Category {
		case research.Researching:
			work = s.find
		case research.Analysing:
			work = s.analyse
		case research.Writing:
			work = s.write
		case research.Checking:
		}
		roster[w.ID] = player{pace, reading(work)}
	}
	return roster
}

// order is the input of a planner.
type order struct {
	Brief     research.Brief `json:"brief"`
	Iteration int            `json:"iteration"`
	Research  int            `json:"research_workers"` // how many the sources require
	Workers   []struct {
		ID       string            `json:"id"`
		Category research.Category `json:"category"`
	} `json:"workers"`
}

// proposal is a plan, as planners write it.
type proposal struct {
	Complexity float64  `json:"complexity"`
	Steps      []step   `json:"steps"`
	Notes      []string `json:"notes"`
}

type step struct {
	ID       research.Category `json:"id"`
	Category research.Category `json:"category"`
	Workers  []string          `json:"workers"`
	Mode     string            `json:"mode"`
}

// plan is the rule of the planner: the first plan has a single research worker, the
// second has one more than the sources require, and so on. The depth decides the number
// of checks.
func plan(o order) (any, error) {
	complexity := map[string]float64{"light": 0.3, "standard": 0.5, "deep": 0.8}[o.Brief.Depth]
	limit := map[research.Category]int{research.Researching: 1, research.Analysing: 1, research.Writing: 1, research.Checking: 3}
	switch o.Brief.Depth {
	case "light":
		limit[research.Checking] = 1
	case "deep":
		limit[research.Checking] = 4
	}
	note := "one research worker will do for a start"
	if o.Iteration > 1 {
		limit[research.Researching] = o.Research + o.Iteration - 1
		note = "more research workers, as the feedback wants"
	}
	var steps []step
	for _, category := range []research.Category{research.Researching, research.Analysing, research.Writing, research.Checking} {
		s := step{ID: category, Category: category, Mode: "PARALLEL"}
		for _, w := range o.Workers {
			if w.Category == category && len(s.Workers) < limit[category] {
				s.Workers = append(s.Workers, w.ID)
			}
		}
		steps = append(steps, s)
	}
	return proposal{complexity, steps, []string{rehearsal.Label + " " + note}}, nil
}
