package flowtest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

// console is the *testing.T of these examples.
type console struct{ testing.TB }

func (console) Helper()                   {}
func (console) Cleanup(func())            {}
func (console) Errorf(f string, a ...any) { fmt.Printf(f+"\n", a...) }

// A script is an agent: it answers by what is in the prompt, else in turn. What nobody
// expected fails the test.
func ExampleScript() {
	var t console // the test's own *testing.T
	writer := flowtest.NewScript(t, "Dear guest").On("Ann", "Dear Ann")
	for _, name := range []string{"Ann", "Bob", "Eve"} {
		resp, err := writer.Call(context.Background(), agent.Request{Prompt: "Invite " + name})
		fmt.Println(resp.Text, err)
	}
	// Output:
	// Dear Ann <nil>
	// Dear guest <nil>
	// script of agent "": call 2 () was not expected; its prompt is "Invite Eve"
	//  the script of agent "" has no more answers
}

// When answers by operation and task, so that no prompt has to be read. Several answers are
// given in turn: those for one task do not depend on what others ask meanwhile.
func ExampleScript_When() {
	var t console // the test's own *testing.T
	worker := flowtest.NewScript(t).
		When(flowtest.Match{Op: "work", Task: "t-1"}, "a draft", "a better draft").
		When(flowtest.Match{Op: "work", Task: "t-2"}, "a table").
		When(flowtest.Match{Op: "check"}, "fine")
	for i, task := range []string{"t-1", "t-2", "t-1"} {
		ctx := agent.WithInfo(context.Background(), agent.Info{Key: fmt.Sprint("run/", i), Attempt: 1})
		resp, err := worker.Call(ctx, agent.Request{Op: "work", Task: task, Prompt: "Do your task."})
		fmt.Println(task, resp.Text, err)
	}
	// Output:
	// t-1 a draft <nil>
	// t-2 a table <nil>
	// t-1 a better draft <nil>
}

// Fail fails the first attempts, as an agent does that is busy.
func ExampleFail() {
	var t console
	writer := flowtest.NewScript(t).On("Bob", flowtest.Fail(1, agent.Transient(agent.Code("acme/busy"), time.Minute), "Dear Bob"))
	for attempt := 1; attempt <= 2; attempt++ { // an engine makes them
		ctx := agent.WithInfo(context.Background(), agent.Info{Agent: "writer", Key: "run/0", Attempt: attempt})
		resp, err := writer.Call(ctx, agent.Request{Prompt: "Invite Bob"})
		fmt.Println(resp.Text, err)
	}
	// Output:
	//  acme/busy
	// Dear Bob <nil>
}

// Clockless leaves out what differs from run to run.
func ExampleClockless() {
	out := orchestrator.Outcome{Status: orchestrator.Completed, Elapsed: 3 * time.Second}
	fmt.Println(flowtest.Clockless(out).Elapsed, flowtest.Clockless(out).Status)
	// Output: 0s completed
}
