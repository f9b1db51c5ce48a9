package discussion_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

// BenchmarkRounds reports the time of a round of 100, and how many times as long these take as
// 10 (at most 11): ten runs of 10 are beside each of 100. See TestCostOfRounds for what is counted.
func BenchmarkRounds(b *testing.B) {
	took := func(rounds int) time.Duration {
		cfg, roster := long(rounds)
		flow, err := discussion.New(cfg)
		require.NoError(b, err)
		engine := orchestrator.Local(roster)
		runtime.GC()
		begun := time.Now()
		_, err = flow.Run(b.Context(), engine, discussion.Input{Topic: topic})
		require.NoError(b, err)
		return time.Since(begun)
	}
	var few, many time.Duration
	for b.Loop() {
		for range 10 {
			few += took(10) / 10
		}
		many += took(100)
	}
	b.ReportMetric(float64(many.Microseconds())/float64(100*b.N), "µs/round")
	b.ReportMetric(float64(many)/float64(few), "times")
}
