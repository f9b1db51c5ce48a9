package director_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"strings"
	"testing/fstest"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/providers/fake"
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
	worker := answers(director.WorkerResult{Status: "complete", ResultPath: "todo.md", Artifact: "A table of todos.", Summary: "done"})
	return agent.Roster{
		"ann": answers(director.Decomposition{Tasks: []director.TaskPlan{
			{ID: "db_plan", Component: "db", Phase: director.PhasePlan, Criteria: []string{"The columns are named"}},
			{ID: "db_build", Component: "db", Phase: director.PhaseBuild, DependsOn: []string{"db_plan"}, Criteria: []string{"Todos are stored"}},
		}}),
		"sam":            answers(director.Review{Passed: true, Criteria: []director.CriterionAnswer{{Number: 1, Passed: true, Reasoning: "it is there"}}}),
		"planner_worker": worker, "code_worker": worker, "test_worker": worker, "research_worker": worker, "writer_worker": worker,
	}
}

func open(cfg director.Config, roster agent.Roster) (orchestrator.Flow[director.Input, director.Outcome], *orchestrator.Engine) {
	flow, err := director.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	engine, err := orchestrator.NewLocal(orchestrator.Config{Agents: roster})
	if err != nil {
		log.Fatal(err)
	}
	return flow, engine
}

func run(cfg director.Config, in director.Input, roster agent.Roster) director.Outcome {
	flow, engine := open(cfg, roster)
	ctx := context.Background()
	defer func() { _ = engine.Close(ctx) }()
	out, err := flow.Run(ctx, engine, in)
	if err != nil {
		log.Fatal(err)
	}
	return out
}

// single is a team without second attempts, and a task for it.
func single() (director.Config, director.Input) {
	cfg := director.Software()
	cfg.Agents = director.Agents{Director: "ann", Strategist: "sam"}
	cfg.Policy.NoTestPlaceholders = true
	cfg.Policy.Retry.Attempts = 1
	return cfg, director.Input{Objective: "Build a todo board", Tasks: []blackboard.Definition{
		{ID: "db_build", Component: "db", Phase: director.PhaseBuild, Criteria: []string{"Todos are stored"}},
	}}
}

// strict is small with a strategist who fails each first attempt.
func strict() agent.Roster {
	roster := small()
	lenient := roster["sam"]
	roster["sam"] = agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
		var in director.ReviewInput
		if err := json.Unmarshal(req.Input, &in); err != nil || in.Attempt > 1 {
			return lenient.Call(ctx, req)
		}
		return agent.Response{Data: agent.JSON(director.Review{Feedback: "due dates are missing"})}, nil
	})
	return roster
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

// A worker is a model with tools. This model is a script: it calls a tool, and is done.
func ExampleWorker() {
	count, err := agent.NewTool("count_todos", "Counts todos.", func(context.Context, struct{}) (string, error) { return "3", nil })
	if err != nil {
		log.Fatal(err)
	}
	model := fake.New(nil,
		fake.Call("c1", "count_todos", struct{}{}),
		fake.JSON(director.WorkerResult{Status: "complete", ResultPath: "todo.md", Artifact: "There are 3 todos."}),
	)
	roster := small()
	roster["code_worker"] = director.Worker(model, count)
	cfg, in := single()
	out := run(cfg, in, roster)
	fmt.Println(out.Files["todo.md"], out.Board.Spent.ToolCalls, "tool call")
	// Output:
	// There are 3 todos. 1 tool call
}

// A task without attempts left is for a person. The run stays open until the answer.
func ExampleAnswer() {
	cfg, in := single()
	flow, engine := open(cfg, strict())
	ctx := context.Background()
	defer func() { _ = engine.Close(ctx) }()
	run, err := flow.Start(ctx, engine, in, orchestrator.StartOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for rec, err := range run.Events(ctx, 0) {
		if err != nil {
			log.Fatal(err)
		}
		if rec.Kind != runlog.Asked {
			continue
		}
		var q orchestrator.Question
		if err := json.Unmarshal(rec.Data, &q); err != nil {
			log.Fatal(err)
		}
		text, _, _ := strings.Cut(q.Text, "\n")
		fmt.Printf("%s: %s\n", q.Key, text)
		if err := run.Answer(ctx, q.Key, director.Answer{Action: director.ActionRetry, Guidance: "Dates are texts."}); err != nil {
			log.Fatal(err)
		}
	}
	out, err := flow.Result(ctx, run)
	fmt.Println(out.Status, err)
	// Output:
	// ask/db_build/1: Task db_build waits for a person: no attempt is left, and the last review says: due dates are missing
	// completed <nil>
}

// The board of a run that has ended continues in another one.
func ExampleInput_board() {
	cfg, in := single()
	cfg.Policy.ReturnWhenWaiting = true
	flow, engine := open(cfg, strict())
	ctx := context.Background()
	defer func() { _ = engine.Close(ctx) }()
	out, err := flow.Run(ctx, engine, in)
	fmt.Println(out.End, out.Pending, errors.Is(err, director.ErrWaiting))

	out, err = flow.Run(ctx, engine, director.Input{
		Board: out.Board, Files: out.Files, Drafts: out.Drafts,
		Answers: map[string]director.Answer{"db_build": {Action: director.ActionAccept}},
	})
	fmt.Println(out.End, out.Files["todo.md"], err)
	// Output:
	// waiting_human [db_build] true
	// completed A table of todos. <nil>
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
func ExampleRules() {
	cfg := director.Software()
	cfg.Agents = director.Agents{Director: "ann", Strategist: "sam"}
	cfg.Rules.Plan = func(tasks []blackboard.Definition) ([]blackboard.Definition, error) {
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
