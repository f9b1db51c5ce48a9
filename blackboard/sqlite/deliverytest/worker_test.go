//go:build unix

package deliverytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/convene-go/convene/blackboard/sqlite"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/orchestrator/delivery/workspace"
	"github.com/convene-go/convene/orchestrator/team"
)

// task is what a worker process does: it works on the run "run" until that has ended.
type task struct {
	DB     string // the database
	Calls  string // the file to which each call appends its key
	Config workspace.Config
}

// With this argument, and a task behind it, this test binary is a worker.
const asWorker = "deliver"

func TestMain(m *testing.M) {
	if len(os.Args) != 3 || os.Args[1] != asWorker {
		m.Run()
		return
	}
	var todo task
	err := json.Unmarshal([]byte(os.Args[2]), &todo)
	if err == nil {
		err = todo.work(context.Background())
	}
	if err != nil {
		panic(err)
	}
}

// work starts or resumes the run, and waits for its end.
func (todo task) work(ctx context.Context) (err error) {
	calls, err := os.OpenFile(todo.Calls, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, calls.Close()) }()
	space, err := workspace.Open(ctx, todo.Config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, space.Close()) }()
	store, err := sqlite.Open(todo.DB)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	e, err := orchestrator.NewLocal(orchestrator.Config{
		Agents: agent.Roster{"crew": noted(calls, agent.Func(crew)), "workspace": noted(calls, space)},
		Flows:  []orchestrator.AnyFlow{factory()}, Store: store,
	})
	if err != nil {
		return err
	}
	run, err := factory().Start(ctx, e, delivery.Input{Goal: "operators"}, orchestrator.StartOptions{ID: "run"})
	if err != nil {
		return err
	}
	_, err = factory().Result(ctx, run)
	return errors.Join(err, e.Close(ctx))
}

// noted is an agent whose calls are noted in the file, and told on stdout.
func noted(calls *os.File, a agent.Agent) agent.Func {
	return func(ctx context.Context, req agent.Request) (agent.Response, error) {
		if _, err := fmt.Fprintln(calls, agent.InfoFrom(ctx).Key); err != nil {
			return agent.Response{}, err
		}
		_, _ = fmt.Println(req.Op) //nolint:forbidigo // it is a program of its own
		return a.Call(ctx, req)
	}
}

// factory delivers two operators.
func factory() orchestrator.Flow[delivery.Input, delivery.Outcome] {
	flow, err := delivery.New(delivery.Config{
		Agents: delivery.Agents{Planner: "crew", Coder: "crew", Tester: "crew", Supervisor: "crew", Workspace: "workspace"},
		Policy: delivery.Policy{SkipTestReview: true}, Limits: team.Limits{Time: orchestrator.None},
	})
	if err != nil {
		panic(err)
	}
	return flow
}

// crew are all members: the first operator is wrong before it is fixed, and only the
// tests see that.
func crew(_ context.Context, req agent.Request) (agent.Response, error) {
	var in struct{ Step *delivery.Task }
	if err := json.Unmarshal(req.Input, &in); err != nil {
		return agent.Response{}, err
	}
	var answer any
	switch req.Op {
	case delivery.OpPlan:
		answer = map[string]any{"steps": []map[string]any{
			{"number": 1, "description": "Sub", "complexity": "simple"}, {"number": 2, "description": "Mul", "complexity": "simple"},
		}}
	case delivery.OpCode:
		answer = operator(in.Step.Description)
	case delivery.OpFix:
		answer = delivery.CodeOutput{Summary: "fixed", Files: []delivery.File{{Path: "sub.go", Content: source("Sub", "-")}}}
	case delivery.OpCheck, delivery.OpIntegrate:
		answer = map[string]any{"passed": true}
	default:
		answer = map[string]any{"approved": true, "score": 90, "evidence": []string{"the tests pass"}}
	}
	return agent.Response{Data: agent.JSON(answer)}, nil
}

// operator is an operator with its test. While the test runs it spoils the project, and
// leaves a process behind that holds the fifo in ALIVE.
func operator(name string) delivery.CodeOutput {
	sign, want := "+", "4" // wrong
	if name == "Mul" {
		sign, want = "*", "12"
	}
	return delivery.CodeOutput{
		Summary: name,
		Files:   []delivery.File{{Path: strings.ToLower(name) + ".go", Content: source(name, sign)}},
		Tests: []delivery.File{{Path: strings.ToLower(name) + "_test.go", Content: `package sum

import (
	"os"
	"os/exec"
	"testing"
)

func Test` + name + `(t *testing.T) {
	os.WriteFile("litter.txt", []byte("x"), 0o644)
	os.WriteFile("sum.go", []byte("half of it"), 0o644)
	if hold, err := os.OpenFile(os.Getenv("ALIVE"), os.O_RDWR, 0); err == nil {
		left := exec.Command("sleep", "60")
		left.Stdout = hold
		left.Start()
	}
	if got := ` + name + `(6, 2); got != ` + want + ` {
		t.Errorf("got %d, want ` + want + `", got)
	}
}
`}},
	}
}

func source(name, sign string) string {
	return "package sum\n\n// " + name + " is an operator.\nfunc " + name + "(a, b int) int { return a " + sign + " b }\n"
}
