package orchestrator_test

import (
	"testing"

	o "github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

var team = o.Flow[int, []int]{Name: "team", Agents: []string{"two"}, Do: func(c *o.Context, n int) ([]int, error) {
	a, err := double.Child(c, n)
	if err != nil {
		return nil, err
	}
	q := o.NewQueue[int](c)
	for i := range 3 {
		q.Go("x", func(c *o.Context) (int, error) {
			_, err := c.Call("two", agent.Request{Prompt: "x"})
			return i, err
		})
	}
	r, _ := q.Next()
	q.CancelAll()
	ok, err := o.Await[bool](c, o.Question{Key: "ok"})
	if ok {
		a = append(a, r.Value)
	}
	c.Emit("bye", a)
	return a, err
}}

func TestSweep(t *testing.T) {
	k := flowtest.New(team, 3, func(t testing.TB) agent.Roster {
		return agent.Roster{"two": flowtest.NewScript(t).On("x", "x").On("", 2)}
	})
	k.Answers = map[string]any{"ok": true}
	out, log, err := k.Run(t)
	t.Log(out, err)
	for _, rec := range log {
		t.Logf("%d %s %s %d %s %s", rec.Seq, rec.Kind, rec.Branch, rec.N, rec.Name, rec.Data)
	}
	t.Run("sweep", k.Sweep)
	t.Run("det", k.Determinism)
}
