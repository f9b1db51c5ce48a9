package delivery_test

import (
	"context"
	"fmt"
	"log"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/delivery"
)

// answers is an agent that gives the same answer each time.
func answers(answer any) agent.Agent {
	return agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
		return agent.Response{Data: agent.JSON(answer)}, nil
	})
}

// A team whose members are functions: with agent.LLM they are models.
func Example() {
	flow, err := delivery.New(delivery.Config{
		Agents: delivery.Agents{Planner: "ann", Coder: "bob", Tester: "cleo", Supervisor: "dan"},
		Limits: delivery.Limits{Calls: 50},
	})
	if err != nil {
		log.Fatal(err)
	}
	engine, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{
		"ann": answers(map[string]any{"steps": []map[string]any{
			{"number": 1, "description": "parse a duration", "complexity": "medium"},
			{"number": 2, "description": "format it again", "complexity": "simple", "dependsOn": []int{1}},
		}}),
		"bob": answers(delivery.CodeOutput{
			Summary: "written", Files: []delivery.File{{Path: "duration.go", Content: "package duration"}},
			Tests: []delivery.File{{Path: "duration_test.go", Content: "package duration"}},
		}),
		"cleo": answers(map[string]any{"passed": true}),
		"dan":  answers(map[string]any{"approved": true, "score": 90, "evidence": []string{"the tests pass"}}),
	}})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	defer func() { _ = engine.Close(ctx) }()

	run, err := flow.Start(ctx, engine, delivery.Input{Goal: "a package for durations"}, orchestrator.StartOptions{})
	if err != nil {
		log.Fatal(err)
	}
	out, err := flow.Result(ctx, run)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Status, *out.Score)
	for _, step := range out.Report.Steps {
		fmt.Println(step.ID, step.Status, step.Description)
	}
	// Output:
	// completed 90
	// p1.s1 completed parse a duration
	// p1.s2 completed format it again
}
