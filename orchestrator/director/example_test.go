package director_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"testing/fstest"

	"github.com/convene-go/convene/blackboard/board"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
)

// answers is an agent that gives the same answer each time.
func answers(answer any) agent.Agent {
	return agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
		return agent.Response{Data: agent.JSON(answer)}, nil
	})
}

// small is a team whose members are functions: with director.Worker and agent.LLM they
// are models.
func small() agent.Roster {
	worker := answers(director.WorkerResult{Status: director.StatusComplete, ResultPath: "todo.md", Artifact: "A table of todos.", Summary: "done"})
	return agent.Roster{
		"ann": answers(director.Decomposition{Tasks: []director.TaskPlan{
			{ID: "db_plan", Component: "db", Phase: director.PhasePlan, Criteria: []string{"The columns are named"}},
			{ID: "db_build", Component: "db", Phase: director.PhaseBuild, DependsOn: []string{"db_plan"}, Criteria: []string{"Todos are stored"}},
		}}),
		"sam":            answers(director.Review{Passed: true, Criteria: []director.CriterionAnswer{{Number: 1, Passed: true, Reasoning: "it is there"}}}),
		"planner_worker": worker, "code_worker": worker, "test_worker": worker, "research_worker": worker, "writer_worker": worker,
	}
}

func run(cfg director.Config, in director.Input, roster agent.Roster) director.Outcome {
	flow, err := director.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	engine, err := orchestrator.NewLocal(orchestrator.Config{Agents: roster})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	defer func() { _ = engine.Close(ctx) }()
	out, err := flow.Run(ctx, engine, in)
	if err != nil {
		log.Fatal(err)
	}
	return out
}

// A team plans a project and does it, with artifacts in memory. With Agents.Worktree they
// are in a git repository.
func Example() {
	cfg := director.Software()
	cfg.Agents = director.Agents{Director: "ann", Strategist: "sam"}
	out := run(cfg, director.Input{Objective: "Build a todo board"}, small())
	fmt.Println(out.Status, out.End)
	for _, t := range out.Board.Tasks {
		fmt.Println(t.ID, t.Status, t.DependsOn)
	}
	// Output:
	// completed completed
	// db_plan COMPLETE []
	// db_build COMPLETE [db_plan]
	// test-db COMPLETE [db_build]
}

// Each prompt can be replaced by a file of the same name.
func ExampleConfig_prompts() {
	cfg := director.Software()
	cfg.Agents = director.Agents{Director: "ann", Strategist: "sam"}
	cfg.Prompts = fstest.MapFS{"work.tmpl": {Data: []byte("Do the task in the input.{{if .Worktree}} Write files.{{end}}")}}
	roster, worker := small(), small()["code_worker"]
	roster["code_worker"] = agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
		fmt.Println(req.Prompt)
		return worker.Call(ctx, req)
	})
	run(cfg, director.Input{Objective: "Build a todo board"}, roster)
	// Output:
	// Do the task in the input.
}

// A hook sees the plan before it is begun.
func ExampleHooks() {
	cfg := director.Software()
	cfg.Agents = director.Agents{Director: "ann", Strategist: "sam"}
	cfg.Hooks.Plan = func(tasks []board.Definition) ([]board.Definition, error) {
		for i := range tasks {
			if strings.HasPrefix(tasks[i].ID, "db_") {
				tasks[i].Priority = 10
			}
		}
		return tasks, nil
	}
	out := run(cfg, director.Input{Objective: "Build a todo board"}, small())
	fmt.Println(out.Board.Tasks[0].ID, out.Board.Tasks[0].Priority)
	// Output:
	// db_plan 10
}
