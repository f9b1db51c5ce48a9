package orchestrator

import (
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

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

// Outcome is embedded by the Out types of teams: then lists and reports show it
// without knowing the team. With Status "", or without an Outcome, a run ends as
// its error says: nil Completed, ErrBudget OutOfBudget, ErrCanceled Canceled, else
// Failed.
type Outcome struct {
	Status     Status          `json:"status"`
	Score      *float64        `json:"score,omitempty"` // of the result, on the team's scale; nil: not graded
	Unverified []string        `json:"unverified,omitempty"`
	Spent      providers.Usage `json:"spent,omitzero"`
}

func (o Outcome) outcome() Outcome { return o }
