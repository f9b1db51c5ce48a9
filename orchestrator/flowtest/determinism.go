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

// Determinism runs the case 16 times, with other latencies each time, so that calls that
// run side by side come back in other orders. It replays every log. In a replay, no agent
// may be called, and the flow must return and write the same bytes.
//
// The idea: a flow that is resumed sees only its log. So all that it does must follow from
// its input and its log, never from a clock, from chance, or from the order of a map.
//
// For example, a flow ranges over a map to start its branches. It returns the same result
// in most runs. In some replay the first branch asks another question than the log has:
// the test shows both requests, line by line. Other differences are shown field by field.
//
// Records of resumptions do not count, because only a replay has them.
func (c *Case[In, Out]) Determinism(t *testing.T) {
	t.Helper()
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			Bubble(t, func(t *testing.T) { c.replayed(t, seed+1) })
		})
	}
}

// replayed runs the case, replays its log, and compares the two logs.
func (c *Case[In, Out]) replayed(t *testing.T, seed uint64) {
	t.Helper()
	s := c.empty(t)
	w := newWorld(t, c.agents(t), seed)
	p := c.open(t, s, w)
	out, err := p.result()
	p.close()
	want := readLog(t, s, caseID)
	if len(want) == 0 || want[len(want)-1].Kind != runlog.Ended {
		t.Fatalf("the run did not end: %v", err)
	}
	w.balance(c.ending(t, s, w, out, err).end)

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

// sameLog fails the test if the replay's log differs from the run's. Records of
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

// title returns the kind, key and name of a record.
func title(rec runlog.Record) string {
	return fmt.Sprintf("%q of %s (%s)", rec.Kind, keyOf(rec), rec.Name)
}

// deaf returns agents of the same names. A call of one of them fails the test.
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
