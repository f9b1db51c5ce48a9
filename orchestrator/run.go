package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/internal/dialect"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// Run is a handle to one run, of whatever flow, for handlers and tools. It needs no
// closing, and any number may exist for one run.
type Run struct {
	engine *Engine
	id     string
}

// ID is the run's ID.
func (r *Run) ID() string { return r.id }

// Wait waits until the run has ended, stops here (ErrStopped, or why it stopped),
// is stuck (then the error says why), or ctx is done. It returns nil if the run
// ended, whatever its end. A run that no engine works on is resumed, if its flow is
// in Config.Flows.
func (r *Run) Wait(ctx context.Context) error {
	_, err := r.engine.driver.Wait(ctx, r.id, nil)
	return err
}

// Info tells where the run is and what it has used. Its cost does not depend on the
// length of the log, but for logs of older versions, and for a run that no engine works on
// whose last thousands of records are of no call, child or sleep. What was on record when
// Info was called is counted.
func (r *Run) Info(ctx context.Context) (Info, error) {
	v, err := r.engine.driver.Look(ctx, r.id)
	if err != nil {
		return Info{}, err
	}
	if v.ByAgent == nil {
		err = v.ReadLog(r.engine.driver.Log(ctx, r.id, 0))
	}
	info := infoOf(&v)
	if err == nil && len(v.Outcome) > 0 {
		err = json.Unmarshal(v.Outcome, &info.Outcome)
	}
	if err != nil {
		return info, fmt.Errorf("orchestrator: figures of run %q: %w", r.id, err)
	}
	return info, nil
}

// State decodes into v what the flow exposes now, or at its end. The engine of another
// process is asked through the store, if that is a runlog.Messenger. ErrNoState: it
// exposes nothing, no engine works on the run, or that engine does not reply within 5 s.
// An engine that is no engine.Watcher has no states: the error wraps
// errors.ErrUnsupported.
func (r *Run) State(ctx context.Context, v any) error {
	d, err := optional[engine.Watcher](r.engine, "tell the state of a run")
	if err != nil {
		return err
	}
	data, err := d.State(ctx, r.id)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// Events yields the run's records from Seq from on and then each new one, until
// the run has ended or ctx is done (not an error). A from behind the last record
// waits for it, or yields nothing if the run has ended. Readers may be slow; leaving
// the loop frees everything. Records hold the answers of models: filter them
// before they go to a browser. An engine that is no engine.Watcher yields the records
// that are there and, if the run has not ended, an error that wraps
// errors.ErrUnsupported.
func (r *Run) Events(ctx context.Context, from int64) iter.Seq2[runlog.Record, error] {
	return func(yield func(runlog.Record, error) bool) {
		d, next, ended := r.engine.driver, max(from, 0), false
		w, unsupported := optional[engine.Watcher](r.engine, "wait for records of a run")
		for {
			before := next
			for rec, err := range d.Log(ctx, r.id, next) {
				if err != nil && ctx.Err() != nil || !yield(rec, err) || err != nil || rec.Kind == runlog.Ended {
					return
				}
				next = rec.Seq + 1
			}
			if ended && next == before {
				return // from is behind the end
			}
			var err error
			if unsupported == nil {
				err = w.Changed(ctx, r.id, next)
			}
			if err == nil && next == before { // the log is read once more before the end counts
				var v engine.View
				v, err = r.engine.find(ctx, r.id)
				if ended = v.Ended; err == nil && !ended {
					err = unsupported
				}
			}
			if err != nil {
				if ctx.Err() == nil {
					yield(runlog.Record{}, err)
				}
				return
			}
		}
	}
}

// Progress yields what the agents of the run and of its children report of their
// work from now on: texts as they are written, turns, uses of tools. It is not
// recorded; what is worth keeping is in Events. It ends when the run has ended or is
// stuck, this engine is closed, or ctx is done (not an error). A slow reader delays
// nothing and misses some. The engine of another process is asked as by State. When
// another engine resumes the run, it continues there. ErrStopped: no engine works on the
// run, or none has resumed it for Config.Fleet.Lease, or that engine does not reply.
// An error that wraps errors.ErrUnsupported: this engine is no engine.Watcher.
func (r *Run) Progress(ctx context.Context) iter.Seq2[agent.Progress, error] {
	d, err := optional[engine.Watcher](r.engine, "show the progress of a run")
	if err != nil {
		return func(yield func(agent.Progress, error) bool) { yield(agent.Progress{}, err) }
	}
	return d.Watch(ctx, r.id)
}

// Cancel ends the run for good: every effect returns ErrCanceled, the flow
// returns what it has. It does not wait. A stuck run ends without its flow, with its
// children, and so does one that no engine works on and whose flow or version this engine
// does not have; not by an engine that only observes or does not serve it, which leave the
// request for others. Canceling a run that has ended is no error.
func (r *Run) Cancel(ctx context.Context, why string) error {
	return r.engine.driver.Tell(ctx, r.id, engine.Command{Kind: engine.CancelIt, Data: agent.JSON(why)})
}

// Retry executes the flow of a stuck run again, and of its stuck children: after
// its code was mended, or what it met has passed. An engine tries a stuck run by
// itself once. A run that is not stuck is ErrMalformed.
func (r *Run) Retry(ctx context.Context) error {
	return r.engine.driver.Tell(ctx, r.id, engine.Command{Kind: engine.RetryIt})
}

// Info is a run seen from outside.
type Info struct {
	ID            string                     `json:"id"`                      // ID of the run
	Flow          string                     `json:"flow"`                    // name of the flow
	Version       int                        `json:"version,omitempty"`       // version of the flow
	Status        Status                     `json:"status"`                  // status of the run now, or its end
	Outcome       *Outcome                   `json:"outcome,omitempty"`       // Outcome in the output of an ended run; nil: none
	Err           string                     `json:"error,omitempty"`         // failure of the run, or the reason why it is stuck or cannot be resumed here; "": none
	Labels        map[string]string          `json:"labels,omitempty"`        // labels from StartOptions; nil: none
	Owner         string                     `json:"owner,omitempty"`         // engine that works on it, or did
	Questions     []Question                 `json:"questions,omitempty"`     // questions that wait for an answer
	Spent         providers.Usage            `json:"spent,omitzero"`          // usage, without calls under way
	Lost          Lost                       `json:"lost,omitzero"`           // lost calls, which are not in Spent; until the end without those of children and those left behind
	ByAgent       map[string]providers.Usage `json:"byAgent,omitempty"`       // Spent by agent
	ContinuedFrom string                     `json:"continuedFrom,omitempty"` // ended run that it continues, from StartOptions; "": none
	Parent        string                     `json:"parent,omitempty"`        // run that started this child; "": it is no child
	Started       time.Time                  `json:"started"`                 // time of the first record
	Changed       time.Time                  `json:"changed"`                 // time of the last record
}

// MarshalJSON writes i as hosts read it: money in USD, durations as texts such as "5m0s".
func (i Info) MarshalJSON() ([]byte, error) { return dialect.Encode(i) }

// UnmarshalJSON reads what MarshalJSON has written. Fields that it does not know are left
// out: another version may have them.
func (i *Info) UnmarshalJSON(data []byte) error { return dialect.DecodeLenient(data, i) }

// Lost is what budgets hold against calls that were under way when a process was
// killed, and against calls and children that were left behind. What they really used
// is not known.
//
// Its fields:
//   - Calls: calls of models reserved for them, at least one each; 0: none
//   - Cost: money reserved for them, in nano-USD; 0: nothing, or no limit
//   - Tokens: tokens reserved for them; 0: nothing, or no limit
type Lost = engine.Lost

// Status is where a run is, or how it ended.
type Status = engine.Status

// The statuses. A run that has not ended is Running, Waiting, Suspended or Stuck.
const (
	Running     = engine.Running     // an engine works on it
	Waiting     = engine.Waiting     // it waits only for answers
	Suspended   = engine.Suspended   // no process works on it
	Stuck       = engine.Stuck       // its flow failed: Info.Err says why, and Run.Retry tries again
	Completed   = engine.Completed   // ended without an error
	Partial     = engine.Partial     // ended, but something is missing or below its gate
	OutOfBudget = engine.OutOfBudget // ended because a budget refused a call
	Canceled    = engine.Canceled    // ended because it was canceled
	Failed      = engine.Failed      // ended with any other error
)

// infoOf is what v says, but for the Outcome.
func infoOf(v *engine.View) Info {
	i := Info{
		ID: v.Run, Flow: v.Flow, Version: v.Version, Status: v.Status, Err: v.Err, Labels: v.Labels,
		Owner: v.Owner, Parent: v.Parent, Started: v.Started, Changed: v.Changed,
		Spent: v.Spent, Lost: v.Lost, ByAgent: v.ByAgent, ContinuedFrom: v.ContinuedFrom,
	}
	for _, a := range v.Questions {
		i.Questions = append(i.Questions, a.Shown())
	}
	return i
}
