package flowtest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// used is the usage on record of a run, with that of its children.
type used struct {
	all  providers.Usage
	sure providers.Usage // usage of the calls that were not given up: a crash may come before the end of the others
}

// gaveUp reports whether calls that were given up have used something.
func (u used) gaveUp() bool { return u.all != u.sure }

// told fails the test if the record of the run's end tells of another usage than is on
// record.
func (u used) told(t *testing.T, spent providers.Usage) {
	t.Helper()
	if spent != u.all {
		t.Errorf("the run tells of %+v spent; on record are %+v", spent, u.all)
	}
}

// usedBy adds up the usage on record of a run.
func usedBy(t *testing.T, s runlog.Store, run string) (u used) {
	t.Helper()
	for _, rec := range readLog(t, s, run) {
		var d struct {
			engine.CalledData
			engine.UsedData // late usage of a call, or usage of one that was given up before a kill
		}
		if rec.Kind != runlog.Called && rec.Kind != runlog.Used {
			continue
		}
		if err := json.Unmarshal(rec.Data, &d); err != nil {
			t.Fatal(err)
		}
		here := d.CalledData.Usage()
		u.all = u.all.Add(here).Add(d.UsedData.Usage)
		switch child := usedByChild(t, s, rec); {
		case child != nil:
			u.sure = u.sure.Add(child.sure)
		case d.Err == nil || !errors.Is(d.Err, engine.ErrCanceled):
			u.sure = u.sure.Add(here)
		}
	}
	return u
}

// usedByChild returns the usage on record of the child whose end rec is; nil: rec is the
// answer of an agent.
func usedByChild(t *testing.T, s runlog.Store, rec runlog.Record) *used {
	t.Helper()
	if _, err := s.Last(context.WithoutCancel(t.Context()), keyOf(rec)); err != nil {
		return nil
	}
	u := usedBy(t, s, keyOf(rec))
	return &u
}

// pay notes what an agent says that a call used.
func (w *world) pay(resp *agent.Response, err error) {
	u := resp.Usage
	if err != nil {
		u = u.Add(agent.ErrorOf(err).Usage)
	}
	if u.Negative() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paid = w.paid.Add(u)
}

// balance fails the test if agents were paid what the end of the run does not tell of. It
// is called when no agent works any more, and no process was killed.
func (w *world) balance(end engine.End) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	tokens, told := w.paid.Input+w.paid.Output, end.Spent.Input+end.Spent.Output
	if end.Spent.Cost > w.paid.Cost || told > tokens {
		w.t.Errorf("the run tells of %s USD and %d tokens spent; agents were paid %s USD and %d tokens", end.Spent.Cost.USD(), told, w.paid.Cost.USD(), tokens)
	}
	covered := end.Lost.Cost > 0 && end.Lost.Tokens == 0 // there is no Estimate of tokens
	if w.paid.Cost > end.Spent.Cost+end.Lost.Cost || tokens > told+end.Lost.Tokens && !covered {
		w.t.Errorf("money is lost: agents were paid %s USD and %d tokens; the run tells of %s USD and %d tokens spent, and of %s USD and %d tokens lost. "+
			"An agent that returns later than Limits.Grace after its call was given up is paid, and not counted: let it obey its ctx, give it more Grace, or reserve what it costs by Limits.Estimate under a limit on Cost",
			w.paid.Cost.USD(), tokens, end.Spent.Cost.USD(), told, end.Lost.Cost.USD(), end.Lost.Tokens)
	}
}
