package flowtest

import (
	"fmt"
	"testing"

	"github.com/convene-go/convene/blackboard/runlog"
)

// Sweep runs the case once to its end. Then it runs it once more for every record of that
// log: killed after the record, and resumed.
//
// Where the flow waited for a record, Sweep also tries the other faults of a process or
// its store: the process is killed twice before it gets further; the store fails to write,
// writes but reports an error, does not answer, or says that another process was first.
// Records that a flow writes without a wait are only tried with a kill.
//
// These must hold after each resumption:
//
//   - The result, the error and the status are those of the uninterrupted run.
//   - No call on record was made again.
//   - No record is there twice.
//   - The usage is the same, without calls that were given up. Where some were, values of
//     type providers.Usage in the result are not compared.
//
// What the agents of the uninterrupted run say that they used must be in the usage of the
// run, or covered by what it lost: a flow that gives up calls whose agents do not return
// within their Grace fails, unless that was reserved for them.
//
// For example, a flow that asks two agents writes started, called, called and ended. Sweep
// makes a run for each of the five places before, between and after them, and each fault.
//
// Differences are shown field by field, without Case.Clocks. If the flow asks an agent in
// other words when it runs again, both requests are compared line by line.
//
// A process dies before it has reached an agent, so calls under way at that time cost
// nothing, whatever limit the run has. A call that the flow had given up counts as one.
func (c *Case[In, Out]) Sweep(t *testing.T) {
	t.Helper()
	want := c.whole(t)
	failed := 0
	for n := range len(want.waited) + 1 {
		for _, f := range want.faults(n, c.Quick) {
			if failed == mostFailures {
				t.Errorf("%d runs failed: the sweep ends behind record %d of %d", failed, n, len(want.waited))
				return
			}
			if !t.Run(fmt.Sprintf("%s %d", f, n), func(t *testing.T) { c.interrupted(t, want, f, n) }) {
				failed++
			}
		}
	}
}

// mostFailures is the number of failed runs that ends a sweep: more would tell no more.
const mostFailures = 50

// whole returns the ending of an uninterrupted run.
func (c *Case[In, Out]) whole(t *testing.T) ending {
	t.Helper()
	var e ending
	Bubble(t, func(t *testing.T) {
		kept := c.empty(t)
		s := &faulty{Store: kept, at: -1}
		w := newWorld(t, c.agents(t), 0)
		p := c.open(t, s, w)
		out, err := p.result()
		e = c.ending(t, kept, w, out, err)
		p.close() // children may still be told to end
		w.balance(e.end)
		e.waited = s.waitedFor()
	})
	return e
}

// faults returns the faults that a sweep tries after n records.
func (e ending) faults(n int, quick bool) []fault {
	switch {
	case quick && n < len(e.waited) && e.waited[n]:
		return []fault{killed}
	case quick:
		return nil
	case n > 0 && n < len(e.waited) && !e.waited[n-1] && !e.waited[n]:
		return []fault{killed}
	}
	return faults
}

// interrupted lets a fault happen after n records, resumes the run, and compares its end
// with want.
func (c *Case[In, Out]) interrupted(t *testing.T, want ending, f fault, n int) {
	t.Helper()
	Bubble(t, func(t *testing.T) {
		s := c.empty(t)
		w := newWorld(t, c.agents(t), 0)
		c.fails(t, w, newFaulty(t, s, f, n))
		if f == twice {
			c.fails(t, w, newFaulty(t, s, f, n))
		}
		recorded, before := calledIn(t, s), w.made()
		p := c.open(t, s, w)
		out, err := p.result()
		got := c.ending(t, s, w, out, err)
		p.close()

		want.compare(t, got)
		repeated(t, recorded, before, w.made())
		unique(t, s)
	})
}

// fails runs a process on a store that fails. The process stops then, or ends its run if
// the fault comes too late for it.
func (c *Case[In, Out]) fails(t *testing.T, w *world, s *faulty) {
	t.Helper()
	recorded, before := calledIn(t, s.Store), w.made()
	p := c.open(t, s, w)
	_, _ = p.result()
	p.close()
	repeated(t, recorded, before, w.made())
	c.settleLost(t, s.Store, w)
}

// repeated fails the test if a recorded call was made between the times before and after.
func repeated(t *testing.T, recorded map[string]bool, before, after map[string]call) {
	t.Helper()
	for key, made := range after {
		if recorded[key] && made.times > before[key].times {
			t.Errorf("the call %s is on record and was made again", key)
		}
	}
}

// calledIn returns the keys of the calls on record, of all runs.
func calledIn(t *testing.T, s runlog.Store) map[string]bool {
	t.Helper()
	keys := map[string]bool{}
	for _, run := range runsIn(t, s) {
		for _, rec := range readLog(t, s, run) {
			if rec.Kind == runlog.Called {
				keys[keyOf(rec)] = true
			}
		}
	}
	return keys
}

// unique fails the test if an effect or an emission is on record twice.
func unique(t *testing.T, s runlog.Store) {
	t.Helper()
	for _, run := range runsIn(t, s) {
		seen := map[string]bool{}
		for _, rec := range readLog(t, s, run) {
			if !counts(rec) {
				continue
			}
			id := fmt.Sprintf("%s %s %s", rec.Kind, rec.Name, keyOf(rec))
			if rec.Kind == runlog.Answered { // a key may have several questions
				id += " to " + rec.Hash
			}
			if seen[id] {
				t.Errorf("run %s: the record %s is there twice", run, id)
			}
			seen[id] = true
		}
	}
}
