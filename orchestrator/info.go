package orchestrator

import (
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

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

// infoOf is what a list shows of a run.
func infoOf(l *blackboard.Listing) Info {
	return Info{
		ID: l.Run, Flow: l.Flow, Version: l.Version, Status: Status(l.Status), Err: l.Err, Labels: l.Labels,
		Owner: l.Owner, Parent: l.Parent, Started: l.Started, Changed: l.Changed,
	}
}

// add takes in what the log tells.
func (i *Info) add(log iter.Seq2[blackboard.Record, error]) error {
	i.ByAgent = map[string]providers.Usage{}
	for rec, err := range log {
		if err != nil {
			return err
		}
		if err := i.addRecord(&rec); err != nil {
			return fmt.Errorf("orchestrator: log of run %q: record %d: %w: %w", rec.Run, rec.Seq, blackboard.ErrDamaged, err)
		}
	}
	return nil
}

func (i *Info) addRecord(rec *blackboard.Record) error {
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
	case blackboard.Started, blackboard.Called, blackboard.Used, blackboard.Lost, blackboard.Ended:
		if err := json.Unmarshal(rec.Data, &d); err != nil {
			return err
		}
	}
	switch rec.Kind {
	case blackboard.Started:
		i.ContinuedFrom = d.ContinuedFrom
	case blackboard.Called, blackboard.Used:
		used := d.Usage.Add(d.Response.Usage).Add(d.Error.Usage)
		i.Spent = i.Spent.Add(used)
		i.ByAgent[rec.Name] = i.ByAgent[rec.Name].Add(used)
	case blackboard.Lost:
		i.Lost = Lost{i.Lost.Calls + d.Calls, i.Lost.Cost + d.Cost, i.Lost.Tokens + d.Tokens}
	case blackboard.Ended:
		i.Spent, i.Lost, i.Outcome = d.Spent, d.AllLost, d.Outcome
	}
	return nil
}
