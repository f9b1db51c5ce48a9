package director_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
)

// chain is a case of n tasks, each of which needs the one before.
func chain(n int) script {
	s := one(nil)
	s.in.Tasks = make([]blackboard.Definition, n)
	for i := range n {
		s.in.Tasks[i] = define(fmt.Sprint("t", i))
		if i > 0 {
			s.in.Tasks[i].DependsOn = []string{fmt.Sprint("t", i-1)}
		}
	}
	s.cfg.Bounds.Tasks = n
	return s
}

// chained is how long a chain of n tasks takes. It begins without the garbage of what was
// before, and nothing keeps what its agents are asked.
func chained(tb testing.TB, n int) time.Duration {
	tb.Helper()
	s := chain(n)
	flow, err := director.New(s.whole())
	require.NoError(tb, err)
	roster := agent.Roster{}
	for _, name := range flow.Agents {
		roster[name] = agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
			return respond(ctx, req, good(read(name, req)))
		})
	}
	engine, err := orchestrator.NewLocal(orchestrator.Config{Agents: roster})
	require.NoError(tb, err)
	s.in.Objective = "a chain"
	runtime.GC()
	begun := time.Now()
	out, err := flow.Run(tb.Context(), engine, s.in)
	took := time.Since(begun)
	require.NoError(tb, err)
	require.Equal(tb, n, out.Summary[blackboard.Complete])
	require.NoError(tb, engine.Close(tb.Context()))
	return took
}

// BenchmarkChain reports the time of a task in a chain of 3,000, and how many times as long
// that chain takes as one of 300 (at most 11): ten of these are run beside each of those.
func BenchmarkChain(b *testing.B) {
	var few, many time.Duration
	for b.Loop() {
		for range 10 {
			few += chained(b, 300) / 10
		}
		many += chained(b, 3000)
	}
	b.ReportMetric(float64(many.Microseconds())/float64(3000*b.N), "µs/task")
	b.ReportMetric(float64(many)/float64(few), "times")
}
