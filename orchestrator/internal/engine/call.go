package engine

import (
	"fmt"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/crew"
	"github.com/convene-go/convene/orchestrator/internal/final"
	"github.com/convene-go/convene/orchestrator/internal/journal"
	"github.com/convene-go/convene/providers"
)

// call is a call under way. It tells its run what the crew tells it.
type call struct {
	effect
	crew.Call

	hash  string   // hash of the call's request, where that is recorded
	given []string // blobs of the request, likewise
	never error    // why the store never takes the request; nil: it may
}

// Begin implements crew.Client: it notes what is asked.
func (c *call) Begin() bool {
	r := c.r
	switch {
	case r.draining.Load():
		return false
	case r.journal.Stored:
		c.hash = engine.RequestHash(c.op.Name, c.Request)
		r.journal.Calls.Add(1)
	}
	if !r.requests {
		return true
	}
	parts, err := engine.SplitRequest(c.Request)
	for i := 0; i < len(parts) && err == nil; i++ {
		var hash string
		hash, err = r.journal.Keep(r.id, parts[i])
		c.given = append(c.given, hash)
	}
	switch {
	case err == nil:
	case final.IsNever(err):
		c.never = final.Coded(err)
	default:
		r.stop(fmt.Errorf("request of run %q, effect %s: %w", r.id, c.op.Key(), err))
	}
	return err == nil
}

// Done implements crew.Client. A call whose request can never be recorded fails. One that
// was not made, or that failed because its run
// stops, is made again when the run is resumed.
func (c *call) Done(called bool) job { //nolint:revive // as crew.Client wants it
	if c.hash != "" {
		defer c.r.journal.Calls.Add(-1)
	}
	if c.never != nil {
		c.given = nil
		return c.answer(agent.ErrorOf(c.never), nil, time.Time{})
	}
	if !called || c.Err != nil && c.r.cut.Load() {
		return c.used(c.Reported())
	}
	return c.answer(c.Err, c.Failed, c.Ended)
}

// Left implements crew.Client.
func (c *call) Left(err *agent.Error) job {
	r := c.r
	r.log.Warn("agent left behind: it ignores its ctx", "agent", c.op.Name, "run", r.id, "call", c.op.Key(), "grace", c.Grace())
	if r.cut.Load() {
		return nil // its usage stays unknown
	}
	return c.answer(err, c.FailedBy(err), time.Now())
}

// Late implements crew.Client.
func (c *call) Late() job {
	if c.hash != "" {
		defer c.r.journal.Calls.Add(-1)
	}
	used := c.Reported()
	used.Calls = max(used.Calls, 1)
	return c.used(used)
}

// answer puts on record what the call came to: its Response, or err, and the attempts that
// failed. at is the time of that.
func (c *call) answer(err *agent.Error, failed *engine.Attempts, at time.Time) job {
	a := &struct { // a log in memory keeps this, and nothing else of the call
		journal.Entry
		data     engine.CalledData
		response agent.Response
		reserved engine.Amount
	}{reserved: c.op.Reserved}
	a.data.Err, a.data.Attempts, a.data.Request = err, failed, c.given
	if err == nil {
		a.response = c.Response
		a.data.Response = &a.response
	}
	if a.reserved != (engine.Amount{}) {
		a.data.Reserved = &a.reserved
	}
	if c.r.records.Due.Load() {
		a.data.Tally = c.r.records.Carry()
	}
	a.Record = runlog.Record{Kind: runlog.Called, Branch: c.op.Branch, N: c.op.N, Name: c.op.Name, Hash: c.hash, At: c.r.clock.At(at)}
	a.Run, a.Op, a.Value, a.Sink = c.r.id, c.op, &a.data, c.r
	return c.r.journal.Write(c.r.records, &a.Entry)
}

// used puts on record what a call used that has no answer, or had it before.
func (c *call) used(usage providers.Usage) job {
	rec := runlog.Record{Kind: runlog.Used, Branch: c.op.Branch, N: c.op.N, Name: c.op.Name}
	return c.r.write(&journal.Entry{Record: rec, Op: c.op, Value: engine.UsedData{Usage: usage}})
}
