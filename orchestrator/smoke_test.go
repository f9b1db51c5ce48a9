package orchestrator_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	o "github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

var double = o.Flow[int, []int]{Name: "double", Agents: []string{"two"}, Do: func(c *o.Context, n int) ([]int, error) {
	rs := o.Map(c, make([]struct{}, n), 2, func(c *o.Context, _ struct{}) (int, error) {
		if err := c.Sleep(time.Millisecond); err != nil {
			return 0, err
		}
		v, _, err := o.Ask[int](c, "two", agent.Request{Prompt: "two"})
		return v, err
	})
	c.Emit("done", n)
	return o.Values(rs)
}}

func TestSmoke(t *testing.T) {
	for _, store := range []blackboard.Store{nil, blackboard.NewMemory()} {
		e, err := o.NewLocal(o.Config{Store: store, Agents: agent.Roster{"two": agent.Func(func(ctx context.Context, r agent.Request) (agent.Response, error) {
			return agent.Response{Text: "2"}, nil
		})}})
		require.NoError(t, err)
		out, err := double.Run(t.Context(), e, 5)
		require.NoError(t, err)
		require.Equal(t, []int{2, 2, 2, 2, 2}, out)
		for info, err := range e.Runs(t.Context(), false) {
			require.NoError(t, err)
			t.Logf("%+v", info)
			r, err := e.Open(t.Context(), info.ID)
			require.NoError(t, err)
			for rec, err := range r.Events(t.Context(), 0) {
				require.NoError(t, err)
				t.Logf("%d %s %s %d %s %s", rec.Seq, rec.Kind, rec.Branch, rec.N, rec.Name, rec.Data)
			}
		}
		require.NoError(t, e.Close(t.Context()))
	}
}
