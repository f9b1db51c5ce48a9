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

// settleLost puts on record what the calls have used that were under way when a process
// died: nothing, as it died before the agents were reached, and a call where the flow has
// given one up, as it has without a kill. Which calls those are says the engine that
// resumes the runs: for some of them no process had come so far yet.
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

// settle returns the records that follow the last one of a log, if an engine that
// resumed the run wrote the records since.
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

// resume is a process that resumes the logs in s as far as keep keeps them, and gets no
// further: no agent answers. It returns what is on record then, and which calls reached
// agents. s stays as it is, and no agent of w is reached.
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

// silent is a roster of the same names that does not answer.
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

// before keeps what was on record when rec was written.
func before(rec runlog.Record) func(runlog.Record) bool {
	return func(r runlog.Record) bool {
		if r.Run == rec.Run {
			return r.Seq < rec.Seq
		}
		return r.At.Before(rec.At)
	}
}

// copyLogs copies the beginning of each log in s, as far as keep keeps it.
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
