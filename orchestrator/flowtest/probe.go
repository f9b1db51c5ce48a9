package flowtest

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
)

// underWay are the calls that a process has under way when it has resumed the logs
// in s as far as keep keeps them. s stays as it is, and no agent of w is reached.
func (c *Case[In, Out]) underWay(t *testing.T, s blackboard.Store, w *world, keep func(blackboard.Record) bool) map[string]call {
	t.Helper()
	probe := *c
	probe.Config.Parallel = 0
	here := newWorld(t, silent(w.roster), 0)
	begun := blackboard.NewMemory()
	copyLogs(t, s, begun, keep)
	p := probe.open(t, frozen{begun}, here)
	synctest.Wait()
	calls := here.made()
	p.close()
	return calls
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

func everything(blackboard.Record) bool { return true }

// before keeps what was on record when rec was written.
func before(rec blackboard.Record) func(blackboard.Record) bool {
	return func(r blackboard.Record) bool {
		if r.Run == rec.Run {
			return r.Seq < rec.Seq
		}
		return r.At.Before(rec.At)
	}
}

// copyLogs copies the beginning of each log in s, as far as keep keeps it.
func copyLogs(t *testing.T, s, to blackboard.Store, keep func(blackboard.Record) bool) {
	t.Helper()
	for _, run := range runsIn(t, s) {
		var log []blackboard.Record
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
