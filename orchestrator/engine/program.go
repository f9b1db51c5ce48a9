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

	// Fault is what is wrong with the flow itself, such as an Out that JSON loses
	// fields of; nil: nothing.
	Fault error
}

// Execution is a flow that is being executed. One goroutine at a time uses it, not
// always the same one. Its methods but End and Leave are called in the order of the
// log, only when every branch waits, and are followed by Advance.
type Execution interface { //nolint:interfacebloat // a log needs all of them
	// Advance executes branches until every one waits. done: the flow has ended, and
	// so have the children that it started. An error means that its code
	// panicked, broke a rule or waits for itself: nothing more of it is to be recorded.
	Advance() (done bool, err error)

	// Complete hands a completion to the branch that waits for it.
	Complete(c Completion)

	// Charge counts what a call used beyond what its completion said: the engine cut
	// it at Close, before it was completed, or left its agent behind ([ErrLeft]).
	Charge(op *Op, used providers.Usage)

	// Lose says that calls were lost with the process that made them: those of ops, or,
	// without ops, all that are under way, canceled ones too. At each Resumed record it
	// is called without ops. One call and what was reserved for it count as used, or
	// what was charged, if it was charged.
	//
	// A call that is still wanted is admitted again, before calls that wait. It stays
	// started: the engine makes it again. One that is not admitted at once is canceled
	// at the port; if it is admitted later, it is started there again. An op that is no
	// call under way breaks a rule, and Advance says so; a call that waits to be
	// started again is not lost twice.
	Lose(ops ...*Op)

	// End is how the flow ended, once it is done.
	End() End

	// Leave unwinds the branches that are left. It is called once, at the end,
	// whatever that is, and uses the port no more.
	Leave()
}

// Input is what a run starts from. It is recorded.
type Input struct {
	Run           string            `json:"-"`
	Data          json.RawMessage   `json:"data,omitempty"`
	Budget        Budget            `json:"budget,omitzero"`
	Labels        map[string]string `json:"labels,omitempty"`
	ContinuedFrom string            `json:"continuedFrom,omitempty"` // the ended run that this one continues
	Parent        string            `json:"parent,omitempty"`        // of a child: the run that started it
	Depth         int               `json:"depth,omitempty"`         // of a child: how many runs are around it
	Figures       Figures           `json:"figures,omitempty"`       // of a child: what its parent knew of agents when it started
}

// MaxDepth is how deep children may be nested: Child of a run of that Depth is
// ErrFlow.
const MaxDepth = 64

// Figures are what a run has learned of agents, by their names. Budgets estimate
// calls by it.
type Figures map[string]Figure

// Figure is what a run has learned of one agent. A failure that used neither
// tokens nor money is not counted.
type Figure struct {
	Most    Amount `json:"most"`              // the largest cost and tokens of one call
	Settled int64  `json:"settled,omitempty"` // calls
}

// End is how a run ended. Output is there beside an error, too.
type End struct {
	Status  Status          `json:"status"`
	Output  json.RawMessage `json:"output,omitempty"`
	Outcome json.RawMessage `json:"outcome,omitempty"` // the orchestrator.Outcome in Output, if it has one
	Err     *agent.Error    `json:"error,omitempty"`
	State   json.RawMessage `json:"state,omitempty"` // what the flow exposed, as it was at the end
	Spent   providers.Usage `json:"spent,omitzero"`
	Lost    Lost            `json:"lost,omitzero"`
	Figures Figures         `json:"figures,omitempty"` // of a child: what it and its children learned of agents
	Elapsed time.Duration   `json:"elapsed,omitempty"` // how long it was worked on
}

// Lost is what budgets hold against calls whose process was killed, and against
// calls and children that were left behind: what they used is not known.
type Lost struct {
	Calls int64 `json:"calls,omitempty"`
	Amount
}

// Budget is what orchestrator.Budget says.
type Budget struct {
	Cost   providers.NanoUSD `json:"cost,omitempty"`
	Tokens int64             `json:"tokens,omitempty"`
	Calls  int64             `json:"calls,omitempty"`
	Wall   time.Duration     `json:"wall,omitempty"`

	AllowUnpriced bool `json:"allowUnpriced,omitempty"`
}

// Split returns an nth of b, rounded down; n below 1 counts as 1. A limit that would
// become 0 becomes -1. Wall is not split, because branches run side by side.
func (b Budget) Split(n int) Budget {
	d := int64(max(n, 1))
	b.Cost = providers.NanoUSD(share(int64(b.Cost), d))
	b.Tokens = share(b.Tokens, d)
	b.Calls = share(b.Calls, d)
	return b
}

func share(limit, n int64) int64 {
	if limit < 0 || limit > 0 && limit < n {
		return -1
	}
	return limit / n
}

// Status is where a run is, or how it ended.
type Status string

// Of a run that has not ended: Running, Waiting (for answers alone), Suspended (no
// process works on it), Stuck (its flow failed; see Stuck records). Of one that has
// ended: all others.
const (
	Running     Status = "running"
	Waiting     Status = "waiting"
	Suspended   Status = "suspended"
	Stuck       Status = "stuck"
	Completed   Status = "completed"
	Partial     Status = "partial" // something is missing or below its gate
	OutOfBudget Status = "out-of-budget"
	Canceled    Status = "canceled"
	Failed      Status = "failed"
)
