package flowtest

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// Some checks of a sweep and of a replay only fail with a faulty engine. They are called by
// themselves here, each in a process of its own, because they have to fail.
var failingCheck = flag.String("flowtest.check", "", "the check that TestFailingCheck runs")

func TestFailingCheck(t *testing.T) {
	if *failingCheck != "" {
		checks[*failingCheck].run(t)
	}
}

// call1 is the record of a call with usage.
func call1(used providers.Usage) runlog.Record {
	return runlog.Record{Run: caseID, Seq: 1, Kind: runlog.Called, Branch: "0", N: 1, Name: "writer", Hash: "h", Data: agent.JSON(engine.CalledData{Response: &agent.Response{Text: "x", Usage: used}})}
}

// logOf is a log of a start and the records.
func logOf(recs ...runlog.Record) []runlog.Record {
	return append([]runlog.Record{{Run: caseID, Kind: runlog.Started, Name: "f"}}, recs...)
}

// storeOf is a store with that log.
func storeOf(t *testing.T, recs ...runlog.Record) runlog.Store {
	t.Helper()
	s := runlog.NewMemory()
	require.NoError(t, s.Append(t.Context(), logOf(recs...)))
	return s
}

// balanceOf compares what agents were paid with the end of a run.
func balanceOf(t *testing.T, paid providers.Usage, end engine.End) {
	t.Helper()
	w := newWorld(t, nil, 0)
	w.pay(&agent.Response{Usage: paid}, nil)
	w.balance(end)
}

// An agent is paid for what it reports in a response, in an error, and in both at once.
func TestWhatAgentsArePaid(t *testing.T) {
	failed := &agent.Error{Message: "busy", Usage: providers.Usage{Calls: 1, Cost: 3}}
	w := newWorld(t, nil, 0)
	w.pay(&agent.Response{Usage: providers.Usage{Calls: 2, Cost: 5}}, failed)
	w.pay(&agent.Response{}, failed)
	w.pay(&agent.Response{Usage: providers.Usage{Cost: -9}}, nil)
	assert.Equal(t, providers.Usage{Calls: 4, Cost: 11}, w.paid)
}

// again returns rec as a later record.
func again(rec runlog.Record) runlog.Record {
	rec.Seq++
	return rec
}

var (
	one  = providers.Usage{Calls: 1, Cost: 5}
	done = ending{out: []byte(`1`), unpaid: []byte(`0`), end: engine.End{Status: engine.Completed}, used: used{all: one, sure: one}}
)

var checks = map[string]struct {
	want string // "": it passes
	run  func(t *testing.T)
}{
	"the same ending": {"", func(t *testing.T) { done.compare(t, done) }},
	"another status": {`the status differs: "completed" uninterrupted, "failed" resumed`, func(t *testing.T) {
		got := done
		got.end.Status = engine.Failed
		done.compare(t, got)
	}},
	"other usage": {"what was spent differs", func(t *testing.T) {
		got := done
		got.used.sure.Calls++
		done.compare(t, got)
	}},
	"another result": {"the result differs", func(t *testing.T) {
		got := done
		got.out = []byte(`2`)
		done.compare(t, got)
	}},
	"another usage of calls that were given up": {"", func(t *testing.T) {
		got := done
		got.out = []byte(`2`)
		got.used.all.Calls++
		done.compare(t, got)
	}},
	"another result beside calls that were given up": {"the result differs", func(t *testing.T) {
		got := done
		got.unpaid = []byte(`2`)
		got.used.all.Calls++
		done.compare(t, got)
	}},
	"another error": {"the error differs", func(t *testing.T) {
		got := done
		got.err = errors.New("boom")
		done.compare(t, got)
	}},
	"a call once":  {"", func(t *testing.T) { unique(t, storeOf(t, call1(one))) }},
	"a call twice": {`run case: the record called writer case/`, func(t *testing.T) { unique(t, storeOf(t, call1(one), again(call1(one)))) }},
	"a recorded call again": {"the call k is on record and was made again", func(t *testing.T) {
		repeated(t, map[string]bool{"k": true}, map[string]call{"k": {times: 1}}, map[string]call{"k": {times: 2}})
	}},
	"another call again": {"", func(t *testing.T) {
		repeated(t, map[string]bool{"k": true}, map[string]call{"k": {times: 1}, "l": {times: 1}}, map[string]call{"k": {times: 1}, "l": {times: 2}})
	}},
	"usage as on record": {"", func(t *testing.T) { usedBy(t, storeOf(t, call1(one)), caseID).told(t, one) }},
	"too few calls told": {"the run tells of", func(t *testing.T) { usedBy(t, storeOf(t, call1(one)), caseID).told(t, providers.Usage{Cost: 5}) }},
	"too many calls told": {"the run tells of", func(t *testing.T) {
		usedBy(t, storeOf(t, call1(one)), caseID).told(t, providers.Usage{Calls: 2, Cost: 5})
	}},
	"too little cost told": {"the run tells of", func(t *testing.T) {
		usedBy(t, storeOf(t, call1(one)), caseID).told(t, providers.Usage{Calls: 1, Cost: 4})
	}},
	"too much cost told": {"the run tells of", func(t *testing.T) {
		usedBy(t, storeOf(t, call1(one)), caseID).told(t, providers.Usage{Calls: 1, Cost: 6})
	}},
	"agents paid as told":  {"", func(t *testing.T) { balanceOf(t, one, engine.End{Spent: one}) }},
	"agents paid more":     {"money is lost", func(t *testing.T) { balanceOf(t, providers.Usage{Cost: 6}, engine.End{Spent: one}) }},
	"agents paid less":     {"the run tells of", func(t *testing.T) { balanceOf(t, providers.Usage{Cost: 4}, engine.End{Spent: one}) }},
	"tokens that are lost": {"money is lost", func(t *testing.T) { balanceOf(t, providers.Usage{Cost: 5, Input: 1}, engine.End{Spent: one}) }},
	"agents paid more, as reserved": {"", func(t *testing.T) {
		balanceOf(t, providers.Usage{Cost: 6, Output: 1}, engine.End{Spent: one, Lost: engine.Lost{Calls: 1, Cost: 1, Tokens: 1}})
	}},
	"the same log":     {"", func(t *testing.T) { sameLog(t, logOf(call1(one)), logOf(call1(one))) }},
	"a shorter replay": {"the replay ended after 1 records of 2", func(t *testing.T) { sameLog(t, logOf(call1(one)), logOf()) }},
	"a replay with a resumption": {"", func(t *testing.T) {
		sameLog(t, logOf(call1(one)), logOf(runlog.Record{Run: caseID, Kind: runlog.Resumed}, call1(one)))
	}},
	"another request": {"record 1 differs", func(t *testing.T) {
		rec := call1(one)
		rec.Hash = "other"
		sameLog(t, logOf(call1(one)), logOf(rec))
	}},
	"another agent": {"record 1 differs", func(t *testing.T) {
		rec := call1(one)
		rec.Name = "reader"
		sameLog(t, logOf(call1(one)), logOf(rec))
	}},
	"other data": {"differs:", func(t *testing.T) { sameLog(t, logOf(call1(one)), logOf(call1(providers.Usage{Calls: 2}))) }},
}

func TestChecks(t *testing.T) {
	for name, check := range checks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFailingCheck$", "-flowtest.check="+name).CombinedOutput() //nolint:gosec // this test itself
			if check.want == "" {
				require.NoError(t, err, "%s", out)
				return
			}
			require.Error(t, err)
			assert.Contains(t, string(out), check.want)
		})
	}
}
