package fake_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
)

// In a test, give New the *testing.T instead of nil, and leave out Check.
func Example() {
	m := fake.New(nil, fake.Call("call-1", "search", map[string]string{"q": "convene"}), fake.Text("It means to meet."))
	m.When(fake.Rule{Text: "review", Times: 1, Answer: fake.Text("Looks good.")})

	ask := func(text string) {
		resp, err := m.Generate(context.Background(), providers.Request{
			Messages: []providers.Message{{Role: providers.User, Text: text}},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, c := range resp.ToolCalls {
			fmt.Printf("%s %s\n", c.Name, c.Input)
		}
		if resp.Text != "" {
			fmt.Println(resp.Text)
		}
	}
	ask("What does convene mean?")
	ask("Please review this.")
	ask("Found: to come together.")
	fmt.Println("script played:", m.Check() == nil)
	ask("One more?")
	// Output:
	// search {"q":"convene"}
	// Looks good.
	// It means to meet.
	// script played: true
	// fake:model: invalid: no answer is scripted for this call
}

// A rule can name the task that a flow's call is for, and its attempt: one model answers
// for several tasks that are worked on at once.
func ExampleRule() {
	m := fake.New(nil)
	m.When(fake.Rule{Task: "t-1", Attempt: 1, Answer: fake.Fail(providers.Transient, 0)})
	m.When(fake.Rule{Op: "work", Task: "t-1", Answer: fake.Text("a draft")})
	m.When(fake.Rule{Op: "work", Task: "t-2", Answer: fake.Text("a table")})

	flow := orchestrator.Flow[[]string, []string]{Name: "tasks", Do: func(c *orchestrator.Context, tasks []string) (done []string, _ error) {
		for _, r := range orchestrator.Map(c, tasks, 0, func(c *orchestrator.Context, task string) (agent.Response, error) {
			return c.Call("worker", agent.Request{Op: "work", Task: task, Prompt: "Do your task."})
		}) {
			done = append(done, r.Value.Text)
		}
		return done, nil
	}}
	engine, err := orchestrator.NewLocal(orchestrator.Config{
		Agents: agent.Roster{"worker": agent.LLM{Model: m}}, Retry: orchestrator.Attempts{Wait: time.Millisecond},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = engine.Close(context.Background()) }()
	fmt.Println(flow.Run(context.Background(), engine, []string{"t-1", "t-2"}))
	// Output: [a draft a table] <nil>
}

// A model that calls every tool that it is offered, and then answers with data of
// the right shape: for tests of everything around it.
func ExampleFromSchema() {
	m := fake.New(nil)
	m.When(fake.Rule{Role: providers.ToolRole, Answer: fake.FromSchema()})
	m.When(fake.Rule{Answer: fake.CallTools()})

	req := providers.Request{
		Messages: []providers.Message{{Role: providers.User, Text: "What is the weather like?"}},
		Tools:    []providers.Tool{{Name: "weather", Input: json.RawMessage(`{"type":"object","properties":{"days":{"type":"integer","minimum":3}}}`)}},
		Output:   json.RawMessage(`{"type":"object","properties":{"sky":{"enum":["clear","grey"]},"degrees":{"type":"number"}}}`),
	}
	first, err := m.Generate(context.Background(), req)
	fmt.Printf("%s %s %s %v\n", first.ToolCalls[0].ID, first.ToolCalls[0].Name, first.ToolCalls[0].Input, err)

	req.Messages = append(req.Messages,
		providers.Message{Role: providers.Assistant, ToolCalls: first.ToolCalls},
		providers.Message{Role: providers.ToolRole, ToolID: first.ToolCalls[0].ID, Text: "cold"})
	second, err := m.Generate(context.Background(), req)
	fmt.Println(second.Text, err)
	// Output:
	// call-1 weather {"days":3} <nil>
	// {"degrees":1,"sky":"clear"} <nil>
}

// Every role of a team has a script of its own.
func ExampleRoles() {
	roles, err := fake.Roles(map[string]*fake.Model{
		"writer": fake.New(nil, fake.Text("A draft."), fake.Text("A better draft.")),
		"critic": fake.New(nil, fake.JSON(map[string]int{"score": 4}), fake.JSON(map[string]int{"score": 9})),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, role := range []string{"writer", "critic", "writer", "critic"} {
		m, err := roles.Model(role)
		if err != nil {
			fmt.Println(err)
			return
		}
		resp, err := m.Generate(context.Background(), providers.Request{})
		fmt.Println(role+":", resp.Text, err)
	}
	// Output:
	// writer: A draft. <nil>
	// critic: {"score":4} <nil>
	// writer: A better draft. <nil>
	// critic: {"score":9} <nil>
}
