package flowtest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/providers"
)

// hedges asks three, takes the first answer and cancels the others. Their agents return
// so long after that, and are paid.
func hedges(late time.Duration, b orchestrator.Budget) faultyCase {
	f := orchestrator.Flow[int, string]{Name: "hedge", Do: func(c *orchestrator.Context, _ int) (string, error) {
		q := orchestrator.NewQueue[string](c)
		for _, name := range []string{"ann", "bob", "cy"} {
			q.Go(name, func(c *orchestrator.Context) (string, error) {
				resp, err := c.Call("expert", agent.Request{Prompt: name, Limits: agent.Limits{Estimate: providers.Dollars(0.05)}})
				return resp.Text, err
			})
		}
		first, _ := q.Next()
		q.CancelAll()
		return first.Value, first.Err
	}}
	k := flowtest.New(f, 0, func(testing.TB) agent.Roster {
		return agent.Roster{"expert": agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
			resp := agent.Response{Text: req.Prompt, Usage: providers.Usage{Calls: 1, Input: 10, Cost: providers.Dollars(0.05)}}
			if req.Prompt == "ann" {
				<-time.After(time.Minute)
				return resp, nil
			}
			<-ctx.Done()
			<-time.After(late)
			return resp, ctx.Err()
		})}
	})
	k.Options.Budget = b
	return k
}

func TestMoneyOfCallsThatAreGivenUp(t *testing.T) {
	t.Run("N9 agents that return in time", func(t *testing.T) {
		for _, b := range []orchestrator.Budget{{}, {Cost: providers.USD}} {
			hedges(900*time.Millisecond, b).Sweep(t)
			hedges(900*time.Millisecond, b).Determinism(t)
		}
	})
	t.Run("N9 agents that return too late: what they cost is reserved", func(t *testing.T) {
		hedges(1500*time.Millisecond, orchestrator.Budget{Cost: providers.USD}).Determinism(t)
	})
	t.Run("N9 agents that return too late, and nothing is reserved", func(t *testing.T) {
		for _, how := range []string{"Sweep", "Determinism"} {
			said := report(t, "hedge", how)
			assert.Contains(t, said, "money is lost: agents were paid 0.15 USD and 30 tokens; the run tells of 0.05 USD and 10 tokens spent, and of 0 USD", how)
			assert.Contains(t, said, "Limits.Grace", how)
		}
	})
}
