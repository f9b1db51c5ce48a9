package flowtest

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
)

// seeds is how many orders of completion Determinism tries.
const seeds = 16

// Determinism runs the case with random latencies, so that calls that run side by
// side come back in another order each time, and replays every log: no agent may
// be called, and what the flow returns and writes must be the same to the byte. What
// differs is shown field by field, and a request in other words line by line.
func (c *Case[In, Out]) Determinism(t *testing.T) {
	t.Helper()
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			Bubble(t, func(t *testing.T) { c.replayed(t, seed+1) })
		})
	}
}

func (c *Case[In, Out]) replayed(t *testing.T, seed uint64) {
	t.Helper()
	s := c.empty(t)
	w := newWorld(t, c.agents(t), seed)
	p := c.open(t, s, w)
	_, err := p.result()
	p.close()
	want := readLog(t, s, caseID)
	if len(want) == 0 || want[len(want)-1].Kind != runlog.Ended {
		t.Fatalf("the run did not end: %v", err)
	}

	again := c.empty(t)
	copyLogs(t, s, again, func(rec runlog.Record) bool { return rec.Run != caseID || rec.Kind != runlog.Ended })
	p = c.open(t, again, newWorld(t, deaf(t, w.roster), seed))
	_, err = p.result()
	p.close()
	got := readLog(t, again, caseID)
	if got[len(got)-1].Kind != runlog.Ended {
		t.Fatalf("the replay did not end: %v%s", err, c.whyDiverged(t, s, w, err))
	}
	sameLog(t, want, got)
}

var replays = sides{was: "in the run", is: "in its replay"}

// sameLog compares the log of a run with that of its replay, whose records of
// resumptions do not count.
func sameLog(t *testing.T, want, got []runlog.Record) {
	t.Helper()
	next := 0
	for _, rec := range got {
		if !counts(rec) {
			continue
		}
		if next == len(want) {
			break
		}
		was, is := want[next], rec
		next++
		if was.Kind != is.Kind || keyOf(was) != keyOf(is) || was.Name != is.Name || was.Hash != is.Hash {
			t.Errorf("record %d differs: %s %s, %s %s", was.Seq, title(was), replays.was, title(is), replays.is)
			return
		}
		if !bytes.Equal(was.Data, is.Data) {
			t.Errorf("record %d, %s, differs:%s", was.Seq, title(was), replays.diffJSON(was.Data, is.Data))
		}
	}
	if next != len(want) {
		t.Errorf("the replay ended after %d records of %d", next, len(want))
	}
}

// title says which record it is.
func title(rec runlog.Record) string {
	return fmt.Sprintf("%q of %s (%s)", rec.Kind, keyOf(rec), rec.Name)
}

// deaf is a roster of the same names that must not be called.
func deaf(t *testing.T, roster agent.Roster) agent.Roster {
	t.Helper()
	d := agent.Roster{}
	for name := range roster {
		d[name] = agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
			t.Errorf("the replay called agent %q (%s)", name, agent.InfoFrom(ctx).Key)
			return agent.Response{}, fmt.Errorf("agent %q must not be called in a replay", name)
		})
	}
	return d
}
