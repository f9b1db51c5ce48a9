package agent_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers/fake"
)

type roll struct {
	Sides int `json:"sides" jsonschema:"of each die" min:"2"`
}

func ExampleNewTool() {
	dice, err := agent.NewTool("roll", "rolls a die", func(_ context.Context, in roll) (string, error) {
		return fmt.Sprint("a ", in.Sides), nil // a loaded die
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	player := agent.LLM{
		Model: fake.New(nil, fake.Call("c1", "roll", roll{1}), fake.Call("c2", "roll", roll{6}), fake.Text("I rolled a 6!")),
		Tools: []agent.Tool{dice},
	}
	resp, err := player.Call(context.Background(), agent.Request{Prompt: "Your turn."})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, said := range resp.Messages {
		fmt.Printf("%s: %d calls, %q\n", said.Role, len(said.ToolCalls), said.Text)
	}
	fmt.Println(resp.Text)
	fmt.Println("model calls:", resp.Usage.Calls, "tool calls:", resp.Usage.ToolCalls)
	// Output:
	// assistant: 1 calls, ""
	// tool: 0 calls, "error: the input does not fit: /sides: want {\"type\":\"integer\",\"minimum\":2}, got 1"
	// assistant: 1 calls, ""
	// tool: 0 calls, "a 6"
	// I rolled a 6!
	// model calls: 3 tool calls: 2
}

// Slices let the caller look at the work in between, and lose nothing when a process
// dies.
func ExampleLLM_slices() {
	dice, err := agent.NewTool("roll", "rolls a die", func(_ context.Context, in roll) (string, error) {
		return fmt.Sprint("a ", in.Sides), nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	player := agent.LLM{
		Model: fake.New(nil, fake.Call("c1", "roll", roll{6}), fake.Call("c2", "roll", roll{6}), fake.Text("12 together.")),
		Tools: []agent.Tool{dice},
	}
	ctx := context.Background() // in a flow it is c.Call("player", req)
	req := agent.Request{Prompt: "Roll twice.", Limits: agent.Limits{ToolCalls: 1}}
	resp, err := player.Call(ctx, req)
	for err == nil && resp.More {
		fmt.Println("so far:", resp.Messages[len(resp.Messages)-1].Text)
		req = agent.Continue(req, resp)
		resp, err = player.Call(ctx, req)
	}
	fmt.Println(resp.Text, err)
	// Output:
	// so far: a 6
	// so far: a 6
	// 12 together. <nil>
}

// An agent is any value with this method. An error that may pass is marked: the engine
// tries the call again, not before the time that it names.
func ExampleTransient() {
	busy := agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
		return agent.Response{}, agent.Transient(errors.New("the printer is warming up"), 30*time.Second)
	})
	_, err := busy.Call(context.Background(), agent.Request{Prompt: "Print this."})
	e := agent.ErrorOf(err)
	fmt.Println(e, e.Transient, e.RetryAfter)
	// Output: the printer is warming up true 30s
}
