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

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// run is one run that this engine works on: the engine.Port of its flow.
type run struct {
	e    *Engine
	id   string
	prog *engine.Program
	in   engine.Input

	live   chan struct{} // closed when it is on record and behind its log, or over
	done   chan struct{} // closed when it has ended or stopped
	end    engine.End    // once done
	err    error         // once done: why it did not end
	fenced bool          // once done: look again, as another engine works on it, or it has not begun here

	flow sync.Mutex // held by the goroutine that drives the run
	// Under flow:
	exec      engine.Execution
	clock     engine.Clock
	questions engine.Questions
	replay    *engine.Replay // what the log has that the flow has not done again; nil: live
	later     job            // the newest call, for the driver to make
	canceled  []*flight      // calls that the flow has just given up
	state     func() (json.RawMessage, error)
	resumed   bool // that the run is resumed is on record
	isOver    bool

	records *runLog // &log, or that of the run that this one retries
	log     runLog
	asks    asks
	parent  *flight     // of a child: what started it, if that was this engine
	cut     atomic.Bool // calls that fail do so because the run stops

	mu       sync.Mutex
	line     []*record // committed and not yet applied to the flow, in log order: from head on
	head     int
	failure  error     // why the run stops
	driving  bool      // a goroutine drives; for good, once the run is over
	flights  []*flight // under way
	watchers map[*watcher]bool
}

func newRun(e *Engine, id string, p *engine.Program) *run {
	r := &run{e: e, id: id, prog: p, live: make(chan struct{}), done: make(chan struct{})}
	r.records = &r.log
	if e.memory != nil {
		r.records = e.memory.log(id, &r.log)
		r.records.stopped.Store(false)
	}
	r.driving = true // begin drives first
	return r
}

func now() time.Time { return time.Now().Round(0).UTC() }

// over tells whether the run has ended or stopped.
func (r *run) over() bool { return isClosed(r.done) }

// isLive tells whether the run is behind its log, and not over.
func (r *run) isLive() bool { return isClosed(r.live) && !r.over() }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// wait returns how the run ended, or why it stopped. mine is false if the caller has to
// look again.
func (r *run) wait(ctx context.Context) (end engine.End, mine bool, err error) {
	select {
	case <-r.done:
		return r.end, !r.fenced, r.err
	case <-ctx.Done():
		return engine.End{}, true, context.Cause(ctx)
	}
}

// await waits until c is closed. Its error says why it waits no more.
func (e *Engine) await(ctx context.Context, c <-chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-e.life.Done():
		return closedError()
	}
}

// sameLog returns the listing of a run that is there, if its log is of in.
func (e *Engine) sameLog(ctx context.Context, p *engine.Program, in *engine.Input) (l runlog.Listing, err error) {
	var d engine.StartedData
	if err = e.store.read(ctx, in.Run, 0, &d); err == nil {
		l, err = e.store.listing(ctx, in.Run)
	}
	if err == nil {
		err = same(in.Run, l.Flow, &d.Input, p.Name, in)
	}
	return l, err
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
