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

	// Begin makes an execution of the flow over p. Nothing of it is executed yet.
	Begin func(p Port, in Input) (Execution, error)
}

// Execution is a flow under way. One goroutine at a time uses it, not always the
// same one.
type Execution interface {
	// Advance executes branches until every one waits. done says that the flow has
	// ended. An error means that it did not and cannot go on: nothing more of it is
	// to be recorded, and it can be resumed.
	Advance() (done bool, err error)

	// Complete hands a completion to whoever waits for it; Advance then goes on.
	// Completions come in the order that a replay will see again, and only when
	// every branch waits.
	Complete(c Completion)

	// End is how the flow ended, once it is done.
	End() End

	// Leave unwinds the branches that are left. It is called once, at the end,
	// however that came, and tells the port nothing.
	Leave()
}

// Waiter is a Port of an engine that gives every run a goroutine of its own.
type Waiter interface {
	Port

	// Next blocks for the next completion. An error unwinds the run: it is stopped,
	// diverged, or its log cannot be written.
	Next() (Completion, error)
}

// Run drives the flow over w until it ends. An error means that the run did not
// end: nothing more of it is to be recorded, and it can be resumed.
func (p Program) Run(w Waiter, in Input) (End, error) {
	x, err := p.Begin(w, in)
	if err != nil {
		return End{}, err
	}
	defer x.Leave()
	for {
		done, err := x.Advance()
		switch {
		case err != nil:
			return End{}, err
		case done:
			return x.End(), nil
		}
		c, err := w.Next()
		if err != nil {
			return End{}, err
		}
		x.Complete(c)
	}
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
