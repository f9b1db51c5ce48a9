package flowtest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// A process that resumes the run loses its last call and ends, which cancels the child:
// by then it has come to the child's own call, however long the child's log is.
func TestCallsOfAChildWhoseParentEnds(t *testing.T) {
	const steps = 2000
	ask := func(c *orchestrator.Context) (int, error) {
		_, err := c.Call("writer", agent.Request{})
		return 1, err
	}
	child := orchestrator.Flow[int, int]{Name: "child", Do: func(c *orchestrator.Context, _ int) (int, error) {
		for range steps {
			c.Emit("step", nil)
		}
		return ask(c)
	}}
	parent := orchestrator.Flow[int, int]{Name: "parent", Do: func(c *orchestrator.Context, _ int) (int, error) {
		q := orchestrator.NewQueue[int](c)
		q.Go("child", func(c *orchestrator.Context) (int, error) {
			return child.Child(c.WithBudget(orchestrator.Budget{Calls: 1}), 0)
		})
		q.Go("call", ask)
		r, _ := q.Next()
		return r.Value, r.Err
	}}
	k := New(parent, 0, func(tb testing.TB) agent.Roster {
		tb.Helper()
		return agent.Roster{"writer": NewScript(tb).Else(agent.Response{Usage: providers.Usage{Calls: 1}})}
	})
	k.Options.Budget.Calls = 2
	Bubble(t, func(t *testing.T) {
		mem := runlog.NewMemory()
		w := newWorld(t, k.agents(t), 0)
		k.fails(t, w, newFaulty(t, mem, killed, 2+steps))
		runs := runsIn(t, mem)
		require.Len(t, runs, 2)
		for _, run := range runs {
			log := readLog(t, mem, run)
			assert.Equal(t, runlog.Used, log[len(log)-1].Kind, run)
		}
	})
}
