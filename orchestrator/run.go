package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// Run is one run, by its ID, whatever its types: for handlers and tools. It
// holds nothing; any number may exist for one run.
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

// Info tells where the run is and what it has used.
func (r *Run) Info(ctx context.Context) (Info, error) {
	v, err := r.engine.driver.Look(ctx, r.id)
	if err != nil {
		return Info{}, err
	}
	info := infoOf(&v)
	info.ByAgent = map[string]providers.Usage{}
	for rec, err := range r.engine.driver.Log(ctx, r.id, 0) {
		if err == nil {
			err = info.add(&rec)
		}
		if err != nil {
			return info, err
		}
	}
	return info, nil
}

// State decodes into v what the flow exposes now, or at its end. The engine of another
// process is asked through the store, if that is a runlog.Messenger. ErrNoState: it
// exposes nothing, no engine works on the run, or that engine does not reply within 5 s.
func (r *Run) State(ctx context.Context, v any) error {
	data, err := r.engine.driver.State(ctx, r.id)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// Events yields the run's records from Seq from on and then each new one, until
// the run has ended or ctx is done (not an error). A from behind the last record
// waits for it, or yields nothing if the run has ended. Readers may be slow; leaving
// the loop frees everything. Records hold the answers of models: filter them
// before they go to a browser.
func (r *Run) Events(ctx context.Context, from int64) iter.Seq2[runlog.Record, error] {
	return func(yield func(runlog.Record, error) bool) {
		d, next, ended := r.engine.driver, max(from, 0), false
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
			err := d.Changed(ctx, r.id, next)
			if err == nil && next == before { // the log is read once more before the end counts
				var v engine.View
				v, err = d.Look(ctx, r.id)
				ended = v.Ended
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
// run, or none has resumed it for Config.Leases.For, or that engine does not reply.
func (r *Run) Progress(ctx context.Context) iter.Seq2[agent.Progress, error] {
	return r.engine.driver.Watch(ctx, r.id)
}

// Answer answers a question of the run, in any process, and returns when the answer
// is kept. The first answer counts: a later one is nil if it is equal JSON, else
// ErrAnswered. A question that has expired or was withdrawn, or whose run has ended,
// is ErrNoQuestion. An answer that does not fit the question's type is
// ErrMalformed, and the question stays open. One may come before its question; if
// it then does not fit, it is dropped, and Question.Rejected says why. A run that
// no engine works on is resumed, if its flow is in Config.Flows.
func (r *Run) Answer(ctx context.Context, key string, value any) error {
	malformed := func(err error) error {
		return agent.ErrorOf(fmt.Errorf("%w: answer to the question %q: %w", ErrMalformed, key, err))
	}
	data, err := engine.Encode(value)
	if key == "" {
		err = errors.New("its key is empty")
	}
	if err != nil {
		return malformed(err)
	}
	v, err := r.engine.driver.Look(ctx, r.id)
	if err != nil {
		return err
	}
	for _, a := range v.Questions {
		if a.Key == key {
			shape, err := answer.FromSchema(a.Schema)
			if err == nil {
				_, err = shape.Find(data, "")
			}
			if err != nil {
				return malformed(err)
			}
		}
	}
	return r.engine.driver.Tell(ctx, r.id, engine.Command{Kind: engine.AnswerIt, Key: key, Data: data})
}

// Cancel ends the run for good: every effect returns ErrCanceled, the flow
// returns what it has. It does not wait. A stuck run ends without its flow, with its
// stuck children. Canceling a run that has ended is no error.
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
	ID            string                     `json:"id"`
	Flow          string                     `json:"flow"`
	Version       int                        `json:"version,omitempty"`
	Status        Status                     `json:"status"`
	Outcome       *Outcome                   `json:"outcome,omitempty"` // of a run that ended, if its Out has one
	Err           string                     `json:"error,omitempty"`   // of a run that ended with one, is stuck, or cannot be resumed here
	Labels        map[string]string          `json:"labels,omitempty"`
	Owner         string                     `json:"owner,omitempty"`         // the engine that works on it, or did
	Questions     []Question                 `json:"questions,omitempty"`     // that wait for an answer
	Spent         providers.Usage            `json:"spent,omitzero"`          // calls under way not included
	Lost          Lost                       `json:"lost,omitzero"`           // not in Spent
	ByAgent       map[string]providers.Usage `json:"byAgent,omitempty"`       // Spent by agent
	ContinuedFrom string                     `json:"continuedFrom,omitempty"` // see StartOptions
	Parent        string                     `json:"parent,omitempty"`        // of a child: the run that started it
	Started       time.Time                  `json:"started"`
	Changed       time.Time                  `json:"changed"`
}

// Lost is what budgets hold against calls that were under way when a process was
// killed, or whose agents were left behind: what they really used is not known.
type Lost struct {
	Calls  int64             `json:"calls,omitempty"`
	Cost   providers.NanoUSD `json:"cost,omitempty"`
	Tokens int64             `json:"tokens,omitempty"`
}

// Status is where a run is, or how it ended.
type Status string

// Of a run that has not ended: Running, Waiting (for answers alone), Suspended (no
// process works on it), Stuck (its flow failed: Info.Err says why; Run.Retry tries
// again). Of one that has ended: all others.
const (
	Running     = Status(engine.Running)
	Waiting     = Status(engine.Waiting)
	Suspended   = Status(engine.Suspended)
	Stuck       = Status(engine.Stuck)
	Completed   = Status(engine.Completed)
	Partial     = Status(engine.Partial) // something is missing or below its gate
	OutOfBudget = Status(engine.OutOfBudget)
	Canceled    = Status(engine.Canceled)
	Failed      = Status(engine.Failed)
)

// infoOf is what a list shows of a run, with its questions where v has them.
func infoOf(v *engine.View) Info {
	i := Info{
		ID: v.Run, Flow: v.Flow, Version: v.Version, Status: Status(v.Status), Err: v.Err, Labels: v.Labels,
		Owner: v.Owner, Parent: v.Parent, Started: v.Started, Changed: v.Changed,
	}
	for _, a := range v.Questions {
		i.Questions = append(i.Questions, Question(a.Question))
	}
	return i
}

// add takes in what a record of the log tells.
func (i *Info) add(rec *runlog.Record) error {
	var d struct {
		ContinuedFrom string                          // Started
		Usage         providers.Usage                 // Used
		Response      struct{ Usage providers.Usage } // Called
		Error         struct{ Usage providers.Usage } // Called
		Lost                                          // Lost
		Spent         providers.Usage                 // Ended
		AllLost       Lost                            `json:"lost"` // Ended
		Outcome       *Outcome                        // Ended
	}
	switch rec.Kind {
	case runlog.Started, runlog.Called, runlog.Used, runlog.Lost, runlog.Ended:
		if err := json.Unmarshal(rec.Data, &d); err != nil {
			return fmt.Errorf("orchestrator: log of run %q: record %d: %w: %w", rec.Run, rec.Seq, runlog.ErrDamaged, err)
		}
	}
	switch rec.Kind {
	case runlog.Started:
		i.ContinuedFrom = d.ContinuedFrom
	case runlog.Called, runlog.Used:
		used := d.Usage.Add(d.Response.Usage).Add(d.Error.Usage)
		i.Spent = i.Spent.Add(used)
		i.ByAgent[rec.Name] = i.ByAgent[rec.Name].Add(used)
	case runlog.Lost:
		i.Lost = Lost{i.Lost.Calls + d.Calls, i.Lost.Cost + d.Cost, i.Lost.Tokens + d.Tokens}
	case runlog.Ended:
		i.Spent, i.Lost, i.Outcome = d.Spent, d.AllLost, d.Outcome
	}
	return nil
}
