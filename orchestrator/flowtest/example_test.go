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
