package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"testing/fstest"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/orchestrator/team"
)

// answers is an agent that gives the same answer each time.
func answers(answer any) agent.Agent {
	return agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
		return agent.Response{Data: agent.JSON(answer)}, nil
	})
}

// crew is a team whose members are functions: with agent.LLM they are models.
func crew() agent.Roster {
	return agent.Roster{
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
	}
}

// deliver runs a team and returns the outcome, also beside an error.
func deliver(cfg delivery.Config, agents agent.Roster) (delivery.Outcome, error) {
	cfg.Agents = delivery.Agents{Planner: "ann", Coder: "bob", Tester: "cleo", Supervisor: "dan"}
	flow, err := delivery.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	engine, err := orchestrator.NewLocal(orchestrator.Config{Agents: agents})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close(context.Background()) //nolint:errcheck // nothing is left to close
	return flow.Run(context.Background(), engine, delivery.Input{Goal: "a package for durations"})
}

func Example() {
	out, err := deliver(delivery.Config{Limits: team.Limits{Calls: 50}}, crew())
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

// One prompt is the host's own; the others are the package's.
func ExampleConfig_prompts() {
	agents := crew()
	planner := agents["ann"]
	agents["ann"] = agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
		fmt.Println(req.Prompt)
		return planner.Call(ctx, req)
	})
	_, err := deliver(delivery.Config{Prompts: fstest.MapFS{
		"plan.tmpl": {Data: []byte("Plan {{.MinSteps}} to {{.MaxSteps}} steps, the riskiest first. Answer with JSON as always.")},
	}}, agents)
	fmt.Println(err)
	// Output:
	// Plan 2 to 15 steps, the riskiest first. Answer with JSON as always.
	// <nil>
}

// A hook of the host answers where a role does not. What it gives is used and stays
// unverified, so the run is partial at most.
func ExampleRules_fallback() {
	agents := crew()
	agents["cleo"] = agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
		return agent.Response{}, errors.New("the tester's account is locked")
	})
	out, err := deliver(delivery.Config{
		Rules: delivery.Rules{Retrier: delivery.Retries{Call: orchestrator.Attempts{Max: 2, Wait: time.Millisecond}}, Fallback: func(f delivery.Failure) ([]byte, error) {
			if f.Role != delivery.Tester {
				return nil, nil // nothing is done in its place
			}
			return []byte(`{"passed": true}`), nil
		}},
	}, agents)
	fmt.Println(out.Status, err)
	fmt.Println("unverified:", out.Unverified)
	fmt.Println(out.Warnings[0].Code, out.Warnings[0].Message)
	// Output:
	// partial <nil>
	// unverified: [p1.s1 p1.s2 goal]
	// delivery/agent-failed p1.s1: the tester's account is locked
}

// A run whose time is up hands out its state, from which a further run continues.
func ExampleInput_from() {
	agents := crew()
	out, err := deliver(delivery.Config{Limits: team.Limits{Calls: 8}}, agents)
	fmt.Println(out.Status, errors.Is(err, orchestrator.ErrBudget), out.Report.Unfinished)

	flow, err := delivery.New(delivery.Config{Agents: delivery.Agents{Planner: "ann", Coder: "bob", Tester: "cleo", Supervisor: "dan"}})
	if err != nil {
		log.Fatal(err)
	}
	engine, err := orchestrator.NewLocal(orchestrator.Config{Agents: agents})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close(context.Background()) //nolint:errcheck // nothing is left to close
	next, err := flow.Run(context.Background(), engine, delivery.Input{From: &out.State})
	fmt.Println(next.Status, err, next.State.Metrics.ReplanCount)
	// Output:
	// partial true [p1.s2]
	// completed <nil> 0
}

// Ten minutes, shared out over a plan of two steps.
func ExampleShares() {
	a := delivery.DefaultRules().Allocator.Allocate(delivery.Timing{Total: 10 * time.Minute, Steps: 2})
	fmt.Println(a.Planning, a.Execution, a.Verification, a.Step, a.Fix)
	// Output: 1m0s 8m0s 1m0s 4m0s 1m12s
}
