package director

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/providers"
)

// A task that got a share which was too small again and again would make a run without end,
// so this is asked without one.
func TestShareThatWasTooSmall(t *testing.T) {
	flow := orchestrator.Flow[int, []float64]{Name: "shares", Agents: []string{"worker"}, Do: func(c *orchestrator.Context, _ int) (got []float64, err error) {
		r := &run{Config: Config{Bounds: Bounds{Parallel: 2, Reserve: 10}}}
		take := func(task string) {
			if s, ok := r.share(c, task); ok {
				got, r.shares.given[task] = append(got, dollars(providers.Usage{Cost: s.money})), s
			} else {
				got = append(got, 0)
			}
		}
		attempt := func(cost providers.NanoUSD) error {
			take("a")
			return r.underShare(c, "a", "a", func(c *orchestrator.Context) error {
				_, err := c.Call("worker", agent.Request{Limits: agent.Limits{Estimate: cost}})
				return err
			})
		}
		err = attempt(5 * providers.USD)
		take("b")
		take("a")
		delete(r.shares.given, "b")
		if ended := attempt(9*providers.USD + 1); !orchestrator.IsOver(ended) {
			return got, fmt.Errorf("more than all there is: %w", ended)
		}
		return got, err
	}}
	c := flowtest.New(flow, 0, func(testing.TB) agent.Roster {
		return agent.Roster{"worker": agent.Func(func(context.Context, agent.Request) (agent.Response, error) { return agent.Response{}, nil })}
	})
	c.Options.Budget.Cost = 10 * providers.USD
	got, _, err := c.Run(t)
	require.NoError(t, err)
	assert.Equal(t, []float64{4.5, 4.5, 0, 9}, got, "BC65 BX27 it waits until it is alone, and then gets all there is")
}
