package flowtest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/providers"
)

// say calls the writer n times, one after the other, and tells how often it answered.
func say(c *orchestrator.Context, n int, limits agent.Limits) (int, error) {
	for i := range n {
		if _, err := c.Call("writer", agent.Request{Prompt: fmt.Sprint(i), Limits: limits}); err != nil {
			return i, err
		}
	}
	return n, nil
}

// spoken is a child run that calls the writer.
var spoken = orchestrator.Flow[int, int]{Name: "spoken", Do: func(c *orchestrator.Context, n int) (int, error) {
	return say(c, n, agent.Limits{})
}}

// inTurn calls the writer until it is refused.
func inTurn(c *orchestrator.Context, n int) (int, error) { return say(c, n, agent.Limits{}) }

// estimated is inTurn with an estimate.
func estimated(c *orchestrator.Context, n int) (int, error) {
	return say(c, n, agent.Limits{Estimate: 10})
}

// sideBySide calls the writer in branches, twice in each.
func sideBySide(c *orchestrator.Context, n int) (said int, err error) {
	for _, r := range orchestrator.Map(c, make([]int, n), 0, func(c *orchestrator.Context, _ int) (int, error) {
		return say(c, 2, agent.Limits{})
	}) {
		said += r.Value
		if r.Err != nil {
			err = r.Err
		}
	}
	return said, err
}

// firstOf takes the first answer of two, gives the other call up, and goes on.
func firstOf(prompts ...string) func(*orchestrator.Context, int) (int, error) {
	return func(c *orchestrator.Context, n int) (int, error) {
		q := orchestrator.NewQueue[string](c)
		for _, prompt := range prompts {
			q.Go(prompt, func(c *orchestrator.Context) (string, error) {
				resp, err := c.Call("writer", agent.Request{Prompt: prompt})
				return resp.Text, err
			})
		}
		if first, _ := q.Next(); first.Err != nil {
			return 0, first.Err
		}
		q.CancelAll()
		return say(c, n, agent.Limits{})
	}
}

// besideAChild calls the writer beside a child that does so, too, and ends with the
// first refusal.
func besideAChild(c *orchestrator.Context, n int) (int, error) {
	q := orchestrator.NewQueue[int](c)
	q.Go("child", func(c *orchestrator.Context) (int, error) {
		return spoken.Child(c.WithBudget(orchestrator.Budget{Calls: 2}), 2)
	})
	q.Go("calls", func(c *orchestrator.Context) (int, error) { return say(c, n, agent.Limits{}) })
	said := 0
	for r, ok := q.Next(); ok; r, ok = q.Next() {
		if said += r.Value; r.Err != nil {
			return said, r.Err
		}
	}
	return said, nil
}

// inAPart calls the writer under a budget of its own, and then under the run's.
func inAPart(c *orchestrator.Context, n int) (int, error) {
	part, _ := sideBySide(c.WithBudget(orchestrator.Budget{Calls: 3}), 2)
	said, err := say(c, n, agent.Limits{})
	return part + said, err
}

// A call that a killed process had under way costs nothing in a sweep, and neither does
// one that is asked for by the process that resumes the run alone. So runs that end by a
// limit end by the same call, however often they were killed.
func TestSweepOfLimits(t *testing.T) {
	type budget = orchestrator.Budget
	for name, tt := range map[string]struct {
		do     func(*orchestrator.Context, int) (int, error)
		n      int
		budget budget
		said   int
	}{
		"calls in turn":                    {inTurn, 9, budget{Calls: 3}, 3},
		"cost in turn":                     {inTurn, 9, budget{Cost: 30}, 3},
		"cost with an estimate":            {estimated, 9, budget{Cost: 35}, 3},
		"tokens in turn":                   {inTurn, 9, budget{Tokens: 20}, 4},
		"calls side by side":               {sideBySide, 4, budget{Calls: 5}, 5},
		"cost side by side":                {sideBySide, 4, budget{Cost: 50}, 5},
		"calls, and the last is canceled":  {firstOf("now", "hang"), 9, budget{Calls: 5}, 3},
		"calls, and the first is canceled": {firstOf("hang", "now"), 9, budget{Calls: 5}, 3},
		"calls beside a child":             {besideAChild, 9, budget{Calls: 4}, 4},
		"calls of a part, then of all":     {inAPart, 9, budget{Calls: 5}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			k := flowtest.New(orchestrator.Flow[int, int]{Name: "limited", Do: tt.do}, tt.n, func(tb testing.TB) agent.Roster {
				tb.Helper()
				used := agent.Response{Text: "fine", Usage: providers.Usage{Calls: 1, Input: 2, Output: 3, Cost: 10}}
				return agent.Roster{"writer": flowtest.NewScript(tb).On("hang", flowtest.Delay(time.Hour, used)).On("", used)}
			})
			k.Options.Budget = tt.budget
			out, _, err := k.Run(t)
			require.ErrorIs(t, err, orchestrator.ErrBudget)
			assert.Equal(t, tt.said, out)
			k.Sweep(t)
			k.Determinism(t)
		})
	}
}
