package orchestrator_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// A flow asks three agents, takes the first answer and cancels the rest. What those were
// paid until they stopped counts, too.
func ExampleQueue_hedge() {
	type result struct {
		orchestrator.Outcome
		Answer string `json:"answer"`
	}
	hedge := orchestrator.Flow[string, result]{
		Name: "hedge", Agents: []string{"ann", "bob", "cy"},
		Do: func(c *orchestrator.Context, question string) (result, error) {
			q := orchestrator.NewQueue[string](c)
			for _, name := range []string{"ann", "bob", "cy"} {
				q.Go(name, func(c *orchestrator.Context) (string, error) {
					// Under a limit on cost, Estimate is reserved until the agent has returned.
					resp, err := c.Call(name, agent.Request{Prompt: question, Limits: agent.Limits{Estimate: providers.Dollars(0.05)}})
					return resp.Text, err
				})
			}
			var out result
			for r, ok := q.Next(); ok; r, ok = q.Next() {
				if r.Err == nil && out.Answer == "" {
					out.Answer = r.Key + ": " + r.Value
					q.CancelAll()
				}
			}
			out.Spent = c.Spent() // the end of the run adds what the others use until they stop
			return out, nil
		},
	}

	var slow sync.WaitGroup // until bob and cy work, too
	slow.Add(2)
	waits := agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
		slow.Done()
		<-ctx.Done()
		return agent.Response{Usage: providers.Usage{Calls: 1, Cost: providers.Dollars(0.02)}}, ctx.Err()
	})
	answers := agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
		slow.Wait()
		return agent.Response{Text: "yes", Usage: providers.Usage{Calls: 1, Cost: providers.Dollars(0.05)}}, nil
	})
	eng, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"ann": answers, "bob": waits, "cy": waits}})
	if err != nil {
		log.Fatal(err)
	}
	out, err := hedge.Run(context.Background(), eng, "is it raining?", orchestrator.StartOptions{
		Budget: orchestrator.Budget{Cost: providers.Dollars(1)},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Answer)
	fmt.Println(out.Spent.Calls, "calls,", out.Spent.Cost.USD(), "USD")
	if err := eng.Close(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// ann: yes
	// 3 calls, 0.09 USD
}
