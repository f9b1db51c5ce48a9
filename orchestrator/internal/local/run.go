package local

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// run is one run that this engine works on: the engine.Port of its flow.
type run struct {
	e    *Engine
	id   string
	prog *engine.Program
	in   engine.Input

	lived    chan struct{} // of a resumed run: closed when it is behind its log; nil: it is from its start
	started  chan struct{} // closed when it is on record, or failed to be
	recorded bool          // it is on record; under e.mu
	done     chan struct{} // closed when it has ended or stopped
	end      engine.End    // once done
	err      error         // once done: why it did not end

	flow sync.Mutex // held by the goroutine that drives the run
	// Under flow:
	exec      engine.Execution
	clock     engine.Clock
	questions engine.Questions
	replay    *engine.Replay      // what the log has that the flow has not done again; nil: live
	ready     []engine.Completion // that need no record of their own
	later     job                 // the newest call, for the driver to make
	state     func() (json.RawMessage, error)
	wasStuck  string // why the flow failed before; "": it did not
	resumed   bool   // that the run is resumed is on record
	fenced    bool   // another engine resumed it first
	isOver    bool

	queue   queue
	records *runLog // &log, or that of the run that this one retries
	log     runLog
	answers answers
	parent  *flight     // of a child: what started it, if that was this engine
	cut     atomic.Bool // calls that fail do so because the run stops

	mu       sync.Mutex
	flights  []*flight // under way
	watchers watchers
}

func newRun(e *Engine, id string, p *engine.Program) *run {
	r := &run{e: e, id: id, prog: p, started: make(chan struct{}), done: make(chan struct{})}
	r.records = &r.log
	r.queue.driving = true // begin drives first
	return r
}

func now() time.Time { return time.Now().Round(0).UTC() }

// over tells whether the run has ended or stopped.
func (r *run) over() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// begun waits until the run is on record, or failed to be, and tells which.
func (r *run) begun(ctx context.Context) (bool, error) {
	select {
	case <-r.started:
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	r.e.mu.Lock()
	defer r.e.mu.Unlock()
	return r.recorded, nil
}

// sameLog compares the log of r's ID with r.
func (e *Engine) sameLog(ctx context.Context, r *run) error {
	for rec, err := range e.Log(ctx, r.id, 0) {
		if err != nil {
			return err
		}
		var d engine.StartedData
		if err := json.Unmarshal(rec.Data, &d); err != nil {
			return fmt.Errorf("log of run %q: record 0: %w: %w", r.id, blackboard.ErrDamaged, err)
		}
		return same(r.id, rec.Name, &d.Input, r.prog.Name, &r.in)
	}
	return agent.ErrorOf(fmt.Errorf("%w: %q", engine.ErrNoRun, r.id))
}

// same returns ErrExists, naming the first field in which a run that is there
// differs from the one that is started under its ID.
func same(id, flow string, have *engine.Input, wantFlow string, want *engine.Input) error {
	differs := ""
	switch {
	case flow != wantFlow:
		return agent.ErrorOf(fmt.Errorf("%w: run %q is of flow %q, not %q", engine.ErrExists, id, flow, wantFlow))
	case !bytes.Equal(have.Data, want.Data):
		differs = "input"
	case have.Parent != want.Parent:
		differs = "parent"
	case want.Parent != "": // what is left for a child may differ from what was left
	case have.Budget != want.Budget:
		differs = "StartOptions.Budget"
	case !maps.Equal(have.Labels, want.Labels):
		differs = "StartOptions.Labels"
	case have.ContinuedFrom != want.ContinuedFrom:
		differs = "StartOptions.ContinuedFrom"
	}
	if differs == "" {
		return nil
	}
	return agent.ErrorOf(fmt.Errorf("%w: run %q of flow %q was started with another %s", engine.ErrExists, id, flow, differs))
}

// status is where the run is.
func (r *run) status() engine.Status {
	switch {
	case r.over() && r.err == nil:
		return r.end.Status
	case r.over() && isStuck(r.err):
		return engine.Stuck
	case r.over():
		return engine.Suspended
	case len(r.flying(engine.Call, engine.Child, engine.Sleep)) == 0 && len(r.flying(engine.Await)) > 0:
		return engine.Waiting
	}
	return engine.Running
}
