package portfolio_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director/portfolio"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// study is a round of work: an analyst says how promising an idea is. The flow of a
// director stands in its place as well.
var study = orchestrator.Flow[string, float64]{
	Name: "study", Agents: []string{"analyst"},
	Do: func(c *orchestrator.Context, idea string) (float64, error) {
		promise, _, err := orchestrator.Ask[float64](c, "analyst", agent.Request{Prompt: "How promising is it, from 0 to 1? " + idea})
		return promise, err
	},
}

// analyst is an agent that takes a dollar for each answer. A model takes its place.
func analyst(_ context.Context, req agent.Request) (agent.Response, error) {
	answer := "0.9"
	if strings.Contains(req.Prompt, "seeds") {
		answer = "0.1"
	}
	return agent.Response{Text: answer, Usage: providers.Usage{Calls: 1, Cost: providers.USD}}, nil
}

// Three projects share 30 dollars. One is stale, and one shows in its first round that it
// is worth nothing: their money goes to the third.
func Example() {
	flow, err := portfolio.New(portfolio.Config[string, float64]{
		Work: study, // with a director: portfolio.Config[director.Input, director.Outcome]
		Rules: portfolio.Rules[string, float64]{
			Score:     func(_ portfolio.Project, promise float64) *float64 { return &promise },
			Allocator: portfolio.Shares{Promote: 0.7, Kill: 0.2, StaleAfter: 30 * 24 * time.Hour},
		},
		Limits: team.Limits{Cost: 30 * providers.USD},
		Bounds: portfolio.Bounds{Rounds: 2},
	})
	if err != nil {
		log.Fatal(err)
	}
	engine, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"analyst": agent.Func(analyst)}})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	defer func() { _ = engine.Close(ctx) }()
	half, today := 0.5, time.Now()
	out, err := flow.Run(ctx, engine, portfolio.Input[string]{Projects: []portfolio.Entry[string]{
		{Project: portfolio.Project{ID: "clock", Stage: "VALIDATING", Score: &half, LastProgress: today}, Input: "A clock for the tide"},
		{Project: portfolio.Project{ID: "swap", Stage: "IDEA", Score: &half, LastProgress: today}, Input: "A market for seeds"},
		{Project: portfolio.Project{ID: "lamp", Stage: "BUILDING", Score: &half, LastProgress: today.AddDate(0, -2, 0)}, Input: "A lamp of moss"},
	}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Status)
	for _, p := range out.Projects {
		fmt.Printf("%s %s, rounds: %d, killed: %q\n", p.ID, p.Stage, p.Rounds, p.Killed)
	}
	// Output:
	// completed
	// clock BUILDING, rounds: 2, killed: ""
	// swap KILLED, rounds: 1, killed: "its score of 0.10 is below 0.20"
	// lamp KILLED, rounds: 0, killed: "no progress for more than 30 days"
}

// What becomes of projects, and of the money, is a pure function.
func ExampleShares() {
	now := time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)
	high, middle, low := 0.8, 0.4, 0.1
	orders, err := portfolio.DefaultShares.Allocate([]portfolio.Project{
		{ID: "clock", Stage: "VALIDATING", Score: &high, LastProgress: now},
		{ID: "swap", Stage: "RESEARCHING", Score: &middle, LastProgress: now},
		{ID: "lamp", Stage: "IDEA", Score: &low, LastProgress: now},
	}, portfolio.Means{Budget: 300 * providers.USD, Now: now})
	if err != nil {
		log.Fatal(err)
	}
	for _, o := range orders {
		fmt.Println(o.Project, o.Action, o.Stage, int64(o.Budget/providers.USD))
	}
	// Output:
	// clock promote BUILDING 200
	// swap keep RESEARCHING 100
	// lamp kill KILLED 0
}
