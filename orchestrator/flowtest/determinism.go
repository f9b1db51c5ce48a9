package flowtest

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
)

// seeds is how many orders of completion Determinism tries.
const seeds = 16

// Determinism runs the case with random latencies, so that calls that run side by
// side come back in another order each time, and replays every log: no agent may
// be called, and what the flow returns and writes must be the same to the byte.
func (c *Case[In, Out]) Determinism(t *testing.T) {
	t.Helper()
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.replayed(t, seed+1) })
		})
	}
}

func (c *Case[In, Out]) replayed(t *testing.T, seed uint64) {
	t.Helper()
	mem := blackboard.NewMemory()
	p := c.open(t, plain{mem}, &world{roster: c.agents(t), seed: seed})
	_, _ = p.result()
	p.close()

	again := blackboard.NewMemory()
	for _, run := range runsIn(t, mem) {
		log := readLog(t, mem, run)
		if run == caseID {
			if log[len(log)-1].Kind != blackboard.Ended {
				t.Fatalf("the run did not end; its last record is %q", log[len(log)-1].Kind)
			}
			log = log[:len(log)-1]
		}
		if err := again.Append(t.Context(), log); err != nil {
			t.Fatal(err)
		}
	}
	p = c.open(t, plain{again}, &world{roster: deaf(t, c.agents(t))})
	_, err := p.result()
	p.close()
	same(t, readLog(t, mem, caseID), readLog(t, again, caseID), err)
}

// same compares the log of a run with that of its replay, which has one record
// more: that it was resumed.
func same(t *testing.T, want, got []blackboard.Record, err error) {
	t.Helper()
	if len(got) != len(want)+1 {
		t.Fatalf("the replay wrote %d records, want 2 (resumed, ended): %v", len(got)-len(want)+1, err)
	}
	a, b := want[len(want)-1], got[len(got)-1]
	if !bytes.Equal(a.Data, b.Data) {
		t.Errorf("the end differs:\n   run: %s\nreplay: %s", a.Data, b.Data)
	}
}

// deaf is a roster that must not be called. The scripts of roster are asked for
// nothing, which is no fault here.
func deaf(t *testing.T, roster agent.Roster) agent.Roster {
	t.Helper()
	d := agent.Roster{}
	for name, a := range roster {
		if s, ok := a.(*Script); ok {
			s.mu.Lock()
			s.next = len(s.answers)
			s.mu.Unlock()
		}
		d[name] = agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
			t.Errorf("the replay called agent %q (%s)", name, agent.InfoFrom(ctx).Key)
			return agent.Response{}, fmt.Errorf("agent %q must not be called in a replay", name)
		})
	}
	return d
}
