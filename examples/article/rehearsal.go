package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/convene-go/convene/examples/internal/cli/rehearsal"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/research"
)

const mostWords = 6 // of a topic that the rehearsal takes up: a section each

// player is an agent of the rehearsal. It reads its input as a model would, and answers
// by rule.
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
		return agent.Response{}, fmt.Errorf("the rehearsal cannot read its input: %w", err)
	}
	return agent.Response{Data: agent.JSON(answer)}, nil
}

// reading makes a play of a function of what the input holds.
func reading[In any](f func(In) any) func(json.RawMessage) (any, error) {
	return func(input json.RawMessage) (any, error) {
		var in In
		if err := json.Unmarshal(input, &in); err != nil {
			return nil, err
		}
		return f(in), nil
	}
}

// rehearse returns players for planner, supervisor and all workers.
func rehearse(topic string, pace time.Duration) agent.Roster {
	words := rehearsal.Words(topic, mostWords)
	roster := agent.Roster{
		planner:    player{pace, reading(plan)},
		supervisor: player{pace, reading(func(r result) any { return judge(r, words) })},
	}
	work := func(f func(in research.WorkerInput, words []string) any) func(json.RawMessage) (any, error) {
		return reading(func(in research.WorkerInput) any { return f(in, words) })
	}
	for _, w := range research.Catalogue() {
		f := check
		switch w.Category {
		case research.Researching:
			f = find
		case research.Analysing:
			f = analyse
		case research.Writing:
			f = write
		case research.Checking:
		}
		roster[w.ID] = player{pace, work(f)}
	}
	return roster
}

// order is what a planner gets.
type order struct {
	Brief     research.Brief `json:"brief"`
	Iteration int            `json:"iteration"`
	Research  int            `json:"research_workers"` // how many the sources are worth
	Workers   []struct {
		ID       string            `json:"id"`
		Category research.Category `json:"category"`
	} `json:"workers"`
}

// plan is the rule of the planner: the first plan tries it with a single research
// worker, the second has one more than the sources are worth, and so on. How many
// checks there are depends on the depth.
func plan(o order) any {
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
	var steps []research.Step
	for _, category := range []research.Category{research.Researching, research.Analysing, research.Writing, research.Checking} {
		step := research.Step{ID: string(category), Category: category, Mode: research.Parallel}
		for _, w := range o.Workers {
			if w.Category == category && len(step.Workers) < limit[category] {
				step.Workers = append(step.Workers, w.ID)
			}
		}
		steps = append(steps, step)
	}
	return research.Plan{Complexity: complexity, Steps: steps, Notes: []string{rehearsal.Label + " " + note}}
}
