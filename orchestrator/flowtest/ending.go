package flowtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// ending is the end of a run. It must be the same however often the run was interrupted.
type ending struct {
	waited []bool // one for each record that counts, of all logs: the flow waited for it
	out    json.RawMessage
	err    error
	spent  providers.Usage // usage of the calls that were not given up
	status engine.Status
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
	return ending{out: timeless(out, c.Clocks), err: err, status: end.Status, spent: spent(t, log, end.Spent)}
}

// spent returns the usage of the calls on record, without those that were given up: a
// crash may come before their end. told is the usage in the record of the run's end. The
// test fails if told is less than that, or more than all that is on record.
func spent(t *testing.T, log []runlog.Record, told providers.Usage) providers.Usage {
	t.Helper()
	var sure, all providers.Usage
	for _, rec := range log {
		var d struct {
			engine.CalledData
			engine.UsedData // late usage of a call that was given up before a kill
		}
		if rec.Kind != runlog.Called && rec.Kind != runlog.Used {
			continue
		}
		if err := json.Unmarshal(rec.Data, &d); err != nil {
			t.Fatal(err)
		}
		used := d.CalledData.Usage()
		all = all.Add(used).Add(d.UsedData.Usage)
		if (d.Err == nil || !errors.Is(d.Err, engine.ErrCanceled)) && !canceledChild(d.Response) {
			sure = sure.Add(used)
		}
	}
	if told.Calls < sure.Calls || told.Calls > all.Calls || told.Cost < sure.Cost || told.Cost > all.Cost {
		t.Errorf("the run tells of %+v spent; on record are %+v, with calls that were given up %+v", told, sure, all)
	}
	return sure
}

// canceledChild reports whether resp is the end of a canceled child, whose usage includes
// the calls that it has given up.
func canceledChild(resp *agent.Response) bool {
	var end engine.End
	return resp != nil && json.Unmarshal(resp.Data, &end) == nil && end.Status == engine.Canceled
}

// resumptions names the two sides of a comparison with an interrupted run.
var resumptions = sides{was: "uninterrupted", is: "resumed"}

func (e ending) compare(t *testing.T, got ending) {
	t.Helper()
	if d := resumptions.diffJSON(e.out, got.out); d != "" {
		t.Errorf("the result differs:%s", d)
	}
	if fmt.Sprint(e.err) != fmt.Sprint(got.err) {
		t.Errorf("the error differs:\nuninterrupted: %v\n      resumed: %v", e.err, got.err)
	}
	if e.status != got.status {
		t.Errorf("the status differs: %q uninterrupted, %q resumed", e.status, got.status)
	}
	if e.spent != got.spent {
		t.Errorf("what was spent differs:\nuninterrupted: %+v\n      resumed: %+v", e.spent, got.spent)
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
