package director_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
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

// chained is how long a chain of n tasks takes.
func chained(tb testing.TB, n int) time.Duration {
	tb.Helper()
	s := chain(n)
	flow, err := director.New(s.whole())
	require.NoError(tb, err)
	engine, err := orchestrator.NewLocal(orchestrator.Config{Agents: s.roster(tb, flow.Agents, newDiary())})
	require.NoError(tb, err)
	s.in.Objective = "a chain"
	begun := time.Now()
	out, err := flow.Run(tb.Context(), engine, s.in)
	took := time.Since(begun)
	require.NoError(tb, err)
	require.Equal(tb, n, out.Summary[blackboard.Complete])
	require.NoError(tb, engine.Close(tb.Context()))
	return took
}

// BenchmarkChain reports the time of a task in a chain of 3,000, and how many times as long
// that chain takes as one of 300 (at most 11). It takes the best of all rounds.
func BenchmarkChain(b *testing.B) {
	few, many := time.Hour, time.Hour
	for b.Loop() {
		for range 3 {
			few = min(few, chained(b, 300))
		}
		many = min(many, chained(b, 3000))
	}
	b.ReportMetric(float64(many.Microseconds())/3000, "µs/task")
	b.ReportMetric(float64(many)/float64(few), "times")
}
