package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// waits calls an agent and waits for an answer.
var waits = orchestrator.Flow[int, string]{Name: "waits", Do: func(c *orchestrator.Context, _ int) (string, error) {
	if _, err := c.Call("a", agent.Request{Prompt: "p"}); err != nil {
		return "", err
	}
	return orchestrator.Await[string](c, orchestrator.Question{Key: "q"})
}}

// TestHundredOrphans has a process that is killed with a hundred runs, which another
// engine resumes.
func TestHundredOrphans(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts servers, stops them or waits for them")
	}
	t.Run("N7 a hundred runs are taken over within 2 s of a kill", func(t *testing.T) {
		const n = 100
		cfg := config(t)
		ctx := context.WithoutCancel(t.Context())
		echo := agent.Roster{"a": agent.Func(func(_ context.Context, r agent.Request) (agent.Response, error) {
			return agent.Response{Text: r.Prompt}, nil
		})}
		start := func() *orchestrator.Engine {
			e, err := orchestrator.NewLocal(orchestrator.Config{Store: open(t, cfg), Flows: []orchestrator.AnyFlow{waits}, Agents: echo})
			require.NoError(t, err)
			return e
		}
		first := startEngine(t, cfg, dsn(t)) // the engine "ann", which lives in another process
		second := start()
		t.Cleanup(func() { assert.NoError(t, second.Close(ctx)) })

		// The runs of a third engine are ann's from here on.
		third := start()
		for i := range n {
			_, err := waits.Start(ctx, third, i, orchestrator.StartOptions{ID: fmt.Sprint("orphan-", i)})
			require.NoError(t, err)
		}
		s := open(t, cfg)
		count := func(q runlog.Query, f func(runlog.Listing)) (n int) {
			for l, err := range s.List(ctx, q) {
				require.NoError(t, err)
				if l.Flow == waits.Name {
					n++
					f(l)
				}
			}
			return n
		}
		for settled := 0; settled < n; {
			settled = 0
			count(runlog.Query{}, func(l runlog.Listing) {
				if l.Next == 3 { // started, called, asked
					settled++
				}
			})
		}
		require.NoError(t, third.Close(ctx))
		var taken []runlog.Record
		count(runlog.Query{}, func(l runlog.Listing) {
			taken = append(taken, runlog.Record{Run: l.Run, Seq: l.Next, Kind: runlog.Resumed, At: time.Now(), Data: []byte(`{"owner":"ann"}`)})
		})
		require.NoError(t, s.Append(ctx, taken))
		res, err := second.Resume(ctx)
		require.NoError(t, err)
		require.Len(t, res.Held, n+1) // and the run "r"

		first.kill()
		began := time.Now()
		for count(runlog.Query{Owner: "ann"}, func(runlog.Listing) {}) > 0 {
			<-time.After(10 * time.Millisecond)
		}
		took := time.Since(began)
		t.Logf("%v", took)
		assert.Less(t, took, 2*time.Second)
	})
}
