package director

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

func TestSmoke(t *testing.T) {
	cfg := Software()
	cfg.Agents = Agents{Director: "director", Strategist: "strategist", Guardian: "guardian"}
	flow, err := New(cfg)
	require.NoError(t, err)
	always := func(v any) agent.Agent {
		return agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
			return agent.Response{Data: agent.JSON(v)}, nil
		})
	}
	c := flowtest.New(flow, Input{Objective: "x"}, func(testing.TB) agent.Roster {
		w := always(WorkerResult{Status: "complete", ResultPath: "/a.md", Artifact: "text"})
		return agent.Roster{
			"director": always(Decomposition{Tasks: []TaskPlan{
				{ID: "a", Component: "db", Phase: "plan", Criteria: []string{"x"}},
				{ID: "b", Component: "db", Phase: "build", Criteria: []string{"x"}, DependsOn: []string{"a"}},
			}}),
			"strategist": always(Review{Passed: true, Criteria: []CriterionAnswer{{Number: 1, Passed: true}}}),
			"guardian":   always(nil), "planner_worker": w, "code_worker": w, "test_worker": w, "research_worker": w, "writer_worker": w,
		}
	})
	out, _, err := c.Run(t)
	require.NoError(t, err)
	require.Equal(t, orchestrator.Completed, out.Status)
	require.Len(t, out.Board.Tasks, 3)
	c.Sweep(t)
	c.Determinism(t)
}
