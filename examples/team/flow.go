// Team is a custom team: a planner splits the work, writers work in parallel under
// budgets, reviewers race, and a person decides about publishing.
package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// Brief is the input of the team.
type Brief struct {
	Goal     string `json:"goal"`
	Sections int    `json:"sections"` // at most
}

// Report is its result. Unverified are the titles that were not fully graded.
type Report struct {
	orchestrator.Outcome
	Sections []Section `json:"sections"`
	Reviews  []string  `json:"reviews"`
}

// Section is one part of a report. Score is 0 to 100.
type Section struct {
	Title string  `json:"title"`
	Text  string  `json:"text"`
	Score float64 `json:"score"`
}

// State is what the host sees while the team works.
type State struct {
	Goal    string   `json:"goal"`
	Phase   string   `json:"phase"`
	Planned []string `json:"planned"`
	Written []string `json:"written"`
}

// plan is what the planner answers.
type plan struct {
	Titles []string `json:"titles"`
}

const publish = "publish" // the question to a person

var errNothing = errors.New("there is no section to write")

var report = orchestrator.Flow[Brief, Report]{
	Name: "report", Version: 1,
	Agents: slices.Concat([]string{"planner", "writer", "critic"}, review.Agents),
	Do:     do,
}

// do follows the work of the team: plan, write, review, ask.
func do(c *orchestrator.Context, in Brief) (Report, error) {
	var out Report
	state := State{Goal: in.Goal, Phase: "plan"}
	c.Expose(func() any { return state })
	p, _, err := orchestrator.Ask[plan](c, "planner", agent.Request{Prompt: "Split into titles: " + in.Goal})
	if err != nil {
		return out, fmt.Errorf("plan: %w", err)
	}
	state.Planned = p.Titles[:min(len(p.Titles), max(in.Sections, 0))]
	if len(state.Planned) == 0 {
		return out, errNothing
	}

	state.Phase = "write"
	share := c.Left().Split(len(state.Planned) + 1) // one is for the reviews
	share.Wall = 10 * time.Minute
	for _, d := range orchestrator.Map(c, state.Planned, 4, func(c *orchestrator.Context, title string) (Section, error) {
		s, err := write(c.WithBudget(share), title)
		state.Written = append(state.Written, title) // one branch executes at a time: no lock
		return s, err
	}) {
		switch {
		case errors.Is(d.Err, orchestrator.ErrBudget):
			out.Unverified = append(out.Unverified, d.Value.Title)
		case d.Err != nil:
			return out, d.Err
		}
		out.Sections = append(out.Sections, d.Value)
	}

	state.Phase = "review"
	if out.Reviews, err = firstReviews(c, out.Sections, 2); err != nil {
		return out, err
	}

	state.Phase = publish
	yes, err := orchestrator.Await[bool](c, orchestrator.Question{Key: publish, Text: "Publish this report?", Timeout: 24 * time.Hour})
	state.Phase, out.Spent = "end", c.Spent()
	switch {
	case errors.Is(err, orchestrator.ErrTimeout), err == nil && !yes:
		out.Status = orchestrator.Partial
	case err != nil:
		return out, err
	default:
		out.Status = orchestrator.Completed
	}
	return out, nil
}
