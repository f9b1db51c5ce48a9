package team_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
)

// A team of one on the kernel: its Config is read from JSON, and its run is an Outcome.
func Example() {
	ctx := context.Background()
	var cfg Config
	if err := team.Decode([]byte(`{"limits": {"cost": 0.5, "time": "2m"}}`), &cfg); err != nil {
		fmt.Println(err)
	}
	flow, err := poetry(cfg)
	if err != nil {
		fmt.Println(err)
	}
	poet := agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
		return agent.Response{Text: "Steam over the cup"}, nil
	})
	eng, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"poet": poet}})
	if err != nil {
		fmt.Println(err)
	}
	defer func() { _ = eng.Close(ctx) }()
	poem, err := flow.Run(ctx, eng, Input{Topic: "tea"})
	fmt.Println(poem.Status, poem.Asked, poem.Text, err)
	// Output: completed tea Steam over the cup <nil>
}

// A seat asks a member for a value in JSON. Its copies ask for other things.
func ExampleSeat() {
	type plan struct {
		Steps []string `json:"steps"`
	}
	planner := team.Seat[plan]{
		Who: "planner", Agent: "planner", Request: agent.Request{Prompt: "Plan a party."},
		Check: func(p plan) error {
			if len(p.Steps) == 0 {
				return fmt.Errorf("steps is empty")
			}
			return nil
		},
	}
	flow := orchestrator.Flow[string, plan]{Name: "party", Do: func(c *orchestrator.Context, _ string) (plan, error) {
		r, c := team.Begin(c, team.Start{Team: "party", Outcome: &orchestrator.Outcome{}})
		return planner.Ask(c, r, nil)
	}}
	answers := []string{`{"steps":[]}`, `{"steps":["invite"]}`}
	eng, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{
		"planner": agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
			answer := answers[0]
			answers = answers[1:]
			return agent.Response{Text: answer}, nil
		}),
	}})
	if err != nil {
		fmt.Println(err)
	}
	defer func() { _ = eng.Close(context.Background()) }()
	fmt.Println(flow.Run(context.Background(), eng, ""))
	// Output: {[invite]} <nil>
}

// A fault of JSON has its path, in the names of the JSON.
func ExampleDecode() {
	var cfg Config
	fmt.Println(team.Decode([]byte(`{"limits": {"cost": "5", "tme": 3}}`), &cfg))
	// Output:
	// limits.cost is "5", want USD with at most 9 decimals
	// limits.tme is unknown
}

// A fault of a value has its path, in the names of Go.
func ExampleCheck() {
	fmt.Println(team.Check(Config{Limits: team.Limits{Calls: -5}}))
	// Output: Limits.Calls is -5, want 0 or more
}

// A limit of the Input stands over that of the Config.
func ExampleLimits_Or() {
	input, config := team.Limits{Calls: 3}, team.Limits{Calls: 100, Tokens: 5000}
	data, err := json.Marshal(input.Or(config))
	fmt.Println(string(data), err)
	// Output: {"calls":3,"tokens":5000} <nil>
}
