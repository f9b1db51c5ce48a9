package flowtest

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// settleLost records the usage of the calls that were under way when a process died. It is
// nothing, because the process died before it reached the agents. A call that the flow has
// given up counts as one call, as it does without a kill.
//
// An engine that resumes the runs says which calls those are. Some of them no process had
// made so far.
func (c *Case[In, Out]) settleLost(t *testing.T, s runlog.Store, w *world) {
	t.Helper()
	resumed, _ := c.resume(t, s, w, everything)
	for _, run := range runsIn(t, s) {
		log := readLog(t, s, run)
		n := len(log)
		recs := settle(t, log[n-1], readLog(t, resumed, run)[n:])
		if recs == nil {
			continue
		}
		if err := s.Append(context.WithoutCancel(t.Context()), recs); err != nil {
			t.Fatalf("records of the calls that run %q lost: %v", run, err)
		}
	}
}

// settle returns the records of usage that follow last, the end of a log. since are the
// records that an engine wrote when it resumed the run.
func settle(t *testing.T, last runlog.Record, since []runlog.Record) (recs []runlog.Record) {
	t.Helper()
	for _, rec := range since {
		var lost engine.LostData
		if rec.Kind != runlog.Lost {
			continue
		}
		if err := json.Unmarshal(rec.Data, &lost); err != nil {
			t.Fatalf("record %d of run %q: %v", rec.Seq, rec.Run, err)
		}
		for _, call := range lost.Of {
			var used engine.UsedData
			if call.GivenUp {
				used.Usage.Calls = 1
			}
			last.Seq++
			recs = append(recs, runlog.Record{
				Run: rec.Run, Seq: last.Seq, Kind: runlog.Used, Branch: call.Branch, N: call.N,
				Name: call.Agent, At: last.At, Data: agent.JSON(used),
			})
		}
	}
	return recs
}

// resume resumes copies of the logs in s, up to the first record that keep refuses. No
// agent answers, so the process gets no further. It returns a store with the logs then,
// and the calls that reached agents. s does not change, and no agent of w is called.
func (c *Case[In, Out]) resume(t *testing.T, s runlog.Store, w *world, keep func(runlog.Record) bool) (resumed runlog.Store, under map[string]call) {
	t.Helper()
	probe := *c
	probe.Config.Parallel = 0
	here := newWorld(t, silent(w.roster), 0)
	begun := runlog.NewMemory()
	copyLogs(t, s, begun, keep)
	p := probe.open(t, frozen{begun}, here)
	synctest.Wait()
	under = here.made()
	p.close()
	return begun, under
}

// silent returns agents of the same names that never answer.
func silent(roster agent.Roster) agent.Roster {
	mute := agent.Roster{}
	for name := range roster {
		mute[name] = agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
			<-ctx.Done()
			return agent.Response{}, ctx.Err()
		})
	}
	return mute
}

func everything(runlog.Record) bool { return true }

// before returns a filter of the records that were there when rec was written.
func before(rec runlog.Record) func(runlog.Record) bool {
	return func(r runlog.Record) bool {
		if r.Run == rec.Run {
			return r.Seq < rec.Seq
		}
		return r.At.Before(rec.At)
	}
}

// copyLogs copies each log in s to another store, up to the first record that keep refuses.
func copyLogs(t *testing.T, s, to runlog.Store, keep func(runlog.Record) bool) {
	t.Helper()
	for _, run := range runsIn(t, s) {
		var log []runlog.Record
		for _, rec := range readLog(t, s, run) {
			if !keep(rec) {
				break
			}
			log = append(log, rec)
		}
		if log == nil {
			continue
		}
		if err := to.Append(context.WithoutCancel(t.Context()), log); err != nil {
			t.Fatal(err)
		}
	}
}
