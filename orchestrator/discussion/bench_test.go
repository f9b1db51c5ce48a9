package discussion_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/discussion"
)

// long is a Full discussion of many rounds, whose members say 1 kB each time, and read 10 kB.
func long(rounds int) (discussion.Config, agent.Roster) {
	cfg := discussion.Full(nil)
	cfg.Rounds.Max, cfg.Bounds.ContextBytes = rounds, 10_000
	roster := agent.Roster{}
	for _, m := range cfg.Team {
		line, ok := lines(m.Role)[0].(string)
		if !ok {
			line = scores(8, 7, 6, 5, 4)
		}
		if !strings.HasPrefix(line, "{") {
			line += strings.Repeat(" blah", 200)
		}
		roster[m.Agent] = agent.Func(func(context.Context, agent.Request) (agent.Response, error) { return agent.Response{Text: line}, nil })
	}
	return cfg, roster
}

// BenchmarkRounds has ten times the rounds cost at most eleven times as much: the metric
// 10x/x. See TestCostOfRounds for what is counted.
func BenchmarkRounds(b *testing.B) {
	cost := map[int]time.Duration{}
	for _, rounds := range []int{10, 100} {
		b.Run(fmt.Sprint(rounds), func(b *testing.B) {
			cfg, roster := long(rounds)
			flow, err := discussion.New(cfg)
			if err != nil {
				b.Fatal(err)
			}
			engine := orchestrator.Local(roster)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := flow.Run(b.Context(), engine, discussion.Input{Topic: topic}); err != nil {
					b.Fatal(err)
				}
			}
			cost[rounds] = b.Elapsed() / time.Duration(b.N)
			b.ReportMetric(float64(cost[rounds].Microseconds())/float64(rounds), "µs/round")
			if cost[10] > 0 && rounds > 10 {
				b.ReportMetric(float64(cost[rounds])/float64(cost[10]), "10x/x")
			}
		})
	}
}
