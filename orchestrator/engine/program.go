package engine

import (
	"encoding/json"
	"time"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// Program is a flow with its types erased.
type Program struct {
	Name    string
	Version int
	Agents  []string // what it may call, sorted; nil: not declared

	// Run drives the flow over p until it ends. An error means that the run did
	// not end: nothing of it is to be recorded, and it can be resumed.
	Run func(p Port, in Input) (End, error)
}

// Input is what a run starts from. It is recorded.
type Input struct {
	Run           string            `json:"-"`
	Data          json.RawMessage   `json:"data"`
	Budget        Budget            `json:"budget,omitzero"`
	Labels        map[string]string `json:"labels,omitempty"`
	ContinuedFrom string            `json:"continuedFrom,omitempty"` // the ended run that this one goes on from
	Parent        string            `json:"parent,omitempty"`        // of a child: the run that started it
}

// End is how a run ended. Output is there beside an error, too.
type End struct {
	Status  Status          `json:"status"`
	Output  json.RawMessage `json:"output,omitempty"`
	Outcome json.RawMessage `json:"outcome,omitempty"` // the orchestrator.Outcome in Output, if it has one
	Err     *agent.Error    `json:"error,omitempty"`
	State   json.RawMessage `json:"state,omitempty"` // what the flow exposed, as it was at the end
	Spent   providers.Usage `json:"spent,omitzero"`
	Elapsed time.Duration   `json:"elapsed,omitempty"` // how long it was worked on
}

// Status is where a run is, or how it ended.
type Status string

// Of a run that goes on: Running, Waiting (for answers alone), Suspended (no
// process works on it: Resume). Of one that ended: all others.
const (
	Running     Status = "running"
	Waiting     Status = "waiting"
	Suspended   Status = "suspended"
	Completed   Status = "completed"
	Partial     Status = "partial" // something is missing or below its gate
	OutOfBudget Status = "out-of-budget"
	Canceled    Status = "canceled"
	Failed      Status = "failed"
)
