package main

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/director/portfolio"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

type (
	input   = portfolio.Input[director.Input]
	outcome = portfolio.Outcome[director.Outcome]
)

// The agents of the directors that work on the projects.
const (
	planner  = "director"
	reviewer = "strategist"
	worker   = "worker"
)

// newFlow returns the portfolio. price is the cost of a call of an agent, 0 if that is
// unknown.
func newFlow(rounds int, price func(agent string) providers.NanoUSD) (orchestrator.Flow[input, outcome], error) {
	cfg := director.Config{
		Name:   program + "-project",
		Agents: director.Agents{Director: planner, Strategist: reviewer},
		Profiles: []director.Profile{
			{ID: "researcher", Agent: worker, Phases: []string{"find_out"}, Estimate: price(worker), Does: "Find out what is true, and say how you know it."},
			{ID: "maker", Agent: worker, Phases: []string{"make"}, Estimate: price(worker), Does: "Make the thing itself: a plan, a price list, a page."},
		},
		Policy: director.Policy{Phases: []string{"find_out", "make"}, NoTestPlaceholders: true, GiveUp: true, Retry: director.Retry{Attempts: 2}},
		Limits: team.Limits{Estimate: price(planner)},
		Bounds: director.Bounds{Parallel: 2},
	}
	work, err := director.New(cfg)
	if err != nil {
		return orchestrator.Flow[input, outcome]{}, err
	}
	return portfolio.New(portfolio.Config[director.Input, director.Outcome]{
		Name: program, Work: work,
		Rules: portfolio.Rules[director.Input, director.Outcome]{
			Score:     func(_ portfolio.Project, out director.Outcome) *float64 { return promise(out.Board) },
			Brief:     brief,
			Allocator: portfolio.Shares{Promote: 0.7, Kill: 0.2, StaleAfter: month},
		},
		Bounds: portfolio.Bounds{Rounds: rounds},
	})
}

// promise is how promising a project is: the share of all acceptance criteria of its
// tasks that a review has found met. nil: there is no task.
func promise(b *blackboard.Board) *float64 {
	met, all := 0, 0
	if b != nil {
		for _, task := range b.Tasks {
			all += len(task.Criteria)
			if task.Status == blackboard.Complete {
				met += len(task.Criteria)
			} else if task.QA != nil {
				for _, c := range task.QA.Criteria {
					if c.Passed && slices.Contains(task.Criteria, c.Criterion) { // it may have others since
						met++
					}
				}
			}
		}
	}
	if all == 0 {
		return nil
	}
	share := float64(met) / float64(all)
	return &share
}

// brief is the input of a round's director: the stage, and the result of the last round.
func brief(p portfolio.Project, in director.Input, last *director.Outcome) director.Input {
	in.Spec = map[string]json.RawMessage{"project": agent.JSON(p.ID), "stage": agent.JSON(p.Stage)}
	if last != nil {
		in.Spec["made_so_far"] = agent.JSON(last.Files)
	}
	in.Objective = fmt.Sprintf("%s The project is at the stage %s: do what that stage needs, in few small tasks.", in.Objective, p.Stage)
	return in
}

// cast lets one model play all agents.
func cast(m providers.Model) agent.Roster {
	return agent.Roster{
		planner:  agent.LLM{Model: m, Instructions: "You direct small projects with little money. You plan as few tasks as will do, at most three."},
		reviewer: agent.LLM{Model: m, Instructions: "You review what others deliver, strictly, against each criterion."},
		worker:   agent.LLM{Model: m, Instructions: "You do one small task well. Put the text of your result under artifact, at most 300 words."},
	}
}
