package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

// texts is a director who begins with the cheapest task, and whose merge of task b is
// permitted by a person.
func texts() director.Config {
	return director.Config{
		Name:   "texts",
		Agents: director.Agents{Director: "director", Strategist: "strategist"},
		Profiles: []director.Profile{
			{ID: "dear", Agent: "worker", Estimate: providers.Dollars(5)},
			{ID: "fair", Agent: "worker", Estimate: providers.Dollars(2)},
			{ID: "cheap", Agent: "worker", Estimate: providers.Dollars(1)},
		},
		Policy: director.Policy{NoTestPlaceholders: true, Phases: []string{"build"}},
		Bounds: director.Bounds{Parallel: 1},
		Rules: director.Rules{
			Scheduler: routing.SchedulerFunc(cheapest),
			Permit:    orchestrator.AskFirst{Moves: func(m orchestrator.Move) bool { return m.Path == "task/b" && m.Event == "pass" }},
		},
	}
}

// cheapest orders ready tasks by what they are expected to cost.
func cheapest(ready []routing.Node, _ routing.Moment) []routing.Node {
	ready = slices.Clone(ready)
	slices.SortFunc(ready, func(a, b routing.Node) int {
		return cmp.Or(cmp.Compare(a.Estimate, b.Estimate), cmp.Compare(a.Number, b.Number), cmp.Compare(a.ID, b.ID))
	})
	return ready
}

// threeTexts are three tasks that do not need each other, the dearest first.
func threeTexts() director.Input {
	task := func(id, profile string) blackboard.Definition {
		return blackboard.Definition{ID: id, Component: "texts", Phase: "build", Profile: profile, Criteria: []string{"it is there"}}
	}
	return director.Input{Objective: "three texts", Tasks: []blackboard.Definition{task("a", "dear"), task("b", "fair"), task("c", "cheap")}}
}

// writers are the agents of the director: scripts.
var writers = agent.Roster{
	"director": always(struct{}{}),
	"strategist": always(director.Review{
		Passed: true, Criteria: []director.CriterionAnswer{{Number: 1, Passed: true, Reasoning: "it is there"}},
	}),
	"worker": agent.Func(func(_ context.Context, r agent.Request) (agent.Response, error) {
		return agent.Response{Data: agent.JSON(director.WorkerResult{Status: "complete", ResultPath: r.Task + ".md", Artifact: "Text " + r.Task})}, nil
	}),
}

// always is an agent that gives the same answer each time.
func always(answer any) agent.Agent {
	return agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
		return agent.Response{Data: agent.JSON(answer)}, nil
	})
}

// write runs the director. It answers the question about task b when the other two tasks are
// merged: a merge that waits holds up no other.
func write(ctx context.Context) error {
	flow, err := director.New(texts())
	if err != nil {
		return err
	}
	eng, err := orchestrator.NewLocal(orchestrator.Config{Agents: writers})
	if err != nil {
		return err
	}
	defer func() { _ = eng.Close(ctx) }() // no error: its runs have ended
	run, err := flow.Start(ctx, eng, threeTexts(), orchestrator.StartOptions{})
	if err != nil {
		return err
	}
	merged := 0
	for rec, err := range run.Events(ctx, 0) {
		if err != nil {
			return err
		}
		var e director.Event
		switch rec.Kind {
		case runlog.Asked:
			fmt.Println("asked:", rec.Name)
		case string(director.EventTaskDispatched), string(director.EventCommitMerged):
			if err := json.Unmarshal(rec.Data, &e); err != nil {
				return err
			}
			fmt.Println(rec.Kind, e.Task)
			if rec.Kind == string(director.EventCommitMerged) {
				merged++
			}
		}
		if merged == 2 {
			merged++
			fmt.Println("answer: true")
			if err := run.Answer(ctx, "permit/task/b/pass", true); err != nil {
				return err
			}
		}
	}
	out, err := flow.Result(ctx, run)
	fmt.Println(out.Status, len(out.Files), "files")
	return err
}
