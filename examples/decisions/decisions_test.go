package main

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/discussion"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

// The output is that of go run ./examples/decisions.
func Example() {
	for _, d := range []decision{review, panel} {
		if err := d.show(context.Background()); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// Partners may upload spreadsheets, which our service reads. What do we do first?
	//   1 attacker: A zip bomb in the file, then a formula that fetches an address of mine.
	//   1 architect: Scan uploads; Limit size and depth
	//   1 compliance: The contract wants a scan. It says nothing of what a scan misses.
	//   1 ciso: The parser is the way in. Next round: what holds even if it is broken?
	//   2 attacker: A scanner does not know my file. A parser without a network is of little use to me.
	//   2 architect: Parse in a sandbox
	//   2 compliance: A sandbox meets the clause on isolation; log what it refuses.
	//   2 ciso: Three measures; isolation holds even against a parser that is broken.
	//   1. Parse in a sandbox, 8.2
	//   2. Limit size and depth, 6.8
	//   3. Scan uploads, 5.8
	// completed: Parse in a sandbox
	// the chair preferred: Scan uploads
	// Whom do we hire as the first engineer of the payments team?
	//   1 recruiter: Ada; Ben
	//   1 critic-1: Ada has not seen a chargeback. Ben has.
	//   1 critic-2: Ben left twice when it got hard.
	//   1 future colleague: With Ada: she asks before she builds.
	//   1 recruiter: Ada would spend her first month with the bank team.
	//   1 critic-1: A month is enough for that.
	//   1 critic-2: Nothing was said about Ben.
	//   1 team_leader: Ada's gap is closed by a month with the bank team; Ben's is not.
	//   1. Ada, 8.2
	//   2. Ben, 6.1
	// completed: Ada
}

// The teams are stopped after every record.
func TestKills(t *testing.T) {
	for name, d := range map[string]decision{"review": review, "panel": panel} {
		t.Run("DC39 "+name, func(t *testing.T) {
			var cfg discussion.Config
			require.NoError(t, json.Unmarshal([]byte(d.team), &cfg))
			flow, err := discussion.New(cfg)
			require.NoError(t, err)
			c := flowtest.New(flow, discussion.Input{Topic: d.topic}, func(tb testing.TB) agent.Roster {
				tb.Helper()
				roster := agent.Roster{}
				for name, lines := range d.says {
					answers := make([]any, len(lines))
					for i, line := range lines {
						answers[i] = line
					}
					roster[name] = flowtest.NewScript(tb, answers...)
				}
				return roster
			})
			c.Quick = true
			c.Sweep(t)
		})
	}
}
