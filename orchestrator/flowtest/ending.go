package flowtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/engine"
)

// ending is the end of a run. It must be the same however often the run was interrupted.
type ending struct {
	waited []bool // one for each record that counts, of all logs: the flow waited for it
	out    json.RawMessage
	unpaid json.RawMessage // out without what was used
	err    error
	used   used       // usage on record
	end    engine.End // record of the end
}

// ending returns the end of the run of a case. A run that has not ended fails the test.
func (c *Case[In, Out]) ending(t *testing.T, s runlog.Store, w *world, out Out, err error) ending {
	t.Helper()
	log := readLog(t, s, caseID)
	if len(log) == 0 || log[len(log)-1].Kind != runlog.Ended {
		t.Fatalf("the run did not end: %v%s", err, c.whyDiverged(t, s, w, err))
	}
	var end engine.End
	if err := json.Unmarshal(log[len(log)-1].Data, &end); err != nil {
		t.Fatal(err)
	}
	e := ending{out: timeless(out, c.Clocks, clockTypes), unpaid: timeless(out, c.Clocks, unsteadyTypes), err: err, end: end, used: usedBy(t, s, caseID)}
	e.used.told(t, end.Spent)
	return e
}

// resumptions names the two sides of a comparison with an interrupted run.
var resumptions = sides{was: "uninterrupted", is: "resumed"}

func (e ending) compare(t *testing.T, got ending) {
	t.Helper()
	was, is := e.out, got.out
	if e.used.gaveUp() || got.used.gaveUp() {
		was, is = e.unpaid, got.unpaid
	}
	if d := resumptions.diffJSON(was, is); d != "" {
		t.Errorf("the result differs:%s", d)
	}
	if fmt.Sprint(e.err) != fmt.Sprint(got.err) {
		t.Errorf("the error differs:\nuninterrupted: %v\n      resumed: %v", e.err, got.err)
	}
	if e.end.Status != got.end.Status {
		t.Errorf("the status differs: %q uninterrupted, %q resumed", e.end.Status, got.end.Status)
	}
	if e.used.sure != got.used.sure {
		t.Errorf("what was spent differs:\nuninterrupted: %+v\n      resumed: %+v", e.used.sure, got.used.sure)
	}
}

// whyDiverged returns, if err is ErrDiverged, how the first request differs that the flow
// made otherwise than recorded; "": none was found.
func (c *Case[In, Out]) whyDiverged(t *testing.T, s runlog.Store, w *world, err error) string {
	t.Helper()
	if !errors.Is(err, orchestrator.ErrDiverged) {
		return ""
	}
	made := w.made()
	for _, run := range runsIn(t, s) {
		for _, rec := range readLog(t, s, run) {
			was, ok := made[keyOf(rec)]
			if rec.Kind != runlog.Called || !ok {
				continue
			}
			_, under := c.resume(t, s, w, before(rec))
			is, ok := under[keyOf(rec)]
			if !ok {
				continue
			}
			if d := diffRequests(was.req, is.req); d != "" {
				return fmt.Sprintf("\ncall %s of agent %q is asked in other words when the flow runs again:%s", keyOf(rec), rec.Name, d)
			}
		}
	}
	return ""
}
