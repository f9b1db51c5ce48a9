package hierarchy_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/hierarchy"
)

// bytesOf returns what a run of n departments allocates. Each but the first needs the first.
func bytesOf(b *testing.B, n int) float64 {
	b.Helper()
	cfg := hierarchy.Config{Rules: hierarchy.Rules{Grader: hierarchy.SelfGrader}}
	roster := agent.Roster{"head": agent.Func(func(context.Context, agent.Request) (agent.Response, error) { return agent.Response{Text: "done"}, nil })}
	for i := range n {
		d := hierarchy.NewDepartment(fmt.Sprintf("d%04d", i), fmt.Sprintf("h%04d", i))
		d.Keywords = map[string]int{"go": 80}
		if i > 0 {
			d.DependsOn = []string{"d0000"}
		}
		roster[d.Head] = roster["head"]
		cfg.Departments = append(cfg.Departments, d)
	}
	flow, err := hierarchy.New(cfg)
	require.NoError(b, err)
	eng, err := orchestrator.NewLocal(orchestrator.Config{Agents: roster})
	require.NoError(b, err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out, err := flow.Run(b.Context(), eng, hierarchy.Input{Prompt: "go"})
	runtime.ReadMemStats(&after)
	require.NoError(b, err)
	require.Len(b, out.Output, n)
	require.NoError(b, eng.Close(b.Context()))
	return float64(after.TotalAlloc - before.TotalAlloc)
}

// BenchmarkDepartments shows what 1,000 departments allocate, and how many times as much as
// 100 do: ratio is 10 where memory is linear.
func BenchmarkDepartments(b *testing.B) {
	var small, large float64
	for b.Loop() {
		small += bytesOf(b, 100)
		large += bytesOf(b, 1000)
	}
	b.ReportMetric(large/float64(b.N), "B/1000")
	b.ReportMetric(large/small, "ratio")
}
