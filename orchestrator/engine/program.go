package engine

import (
	"encoding/json"
	"time"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// Program is a flow with its types erased.
type Program struct {
	Name    string   // name of the flow, required
	Version int      // version of the flow: only a program of this version resumes its runs
	Agents  []string // names that it may call, sorted; nil: not declared

	// Roles says what the flow wants agents for, by their names; nil: it does not say.
	Roles map[string]string

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
	// Advance executes branches until every one waits. done: the flow has ended, the
	// children that it started have ended, and each call that it gave up has been
	// completed or lost. An error means that its code panicked, broke a rule or waits
	// for itself: nothing more of it is to be recorded.
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
	Run           string            `json:"-"`                       // ID of the run
	Data          json.RawMessage   `json:"data,omitempty"`          // input of the flow as JSON
	Budget        Budget            `json:"budget,omitzero"`         // limits of the whole run; zero: none
	Labels        map[string]string `json:"labels,omitempty"`        // labels that the host gave the run, as they may be shown; nil: none
	Values        map[string]string `json:"values,omitempty"`        // texts for its agents, without the secret ones; nil: none
	Secret        Secret            `json:"secret,omitzero"`         // texts of Labels and further Values that must not be shown; zero: none
	ContinuedFrom string            `json:"continuedFrom,omitempty"` // ended run that this one continues; "": none
	Parent        string            `json:"parent,omitempty"`        // run that started this child; "": it is no child
	Depth         int               `json:"depth,omitempty"`         // number of runs around this child; 0: it is no child
	Figures       Figures           `json:"figures,omitempty"`       // child: figures that its parent had when it started
	Edition       int               `json:"edition,omitempty"`       // Edition of the rules by which its budgets decide; 0: that of logs from before there was any
}

// Edition is that of the rules by which budgets decide in runs that start now. A run keeps
// the one that it was started with. Since edition 1, a call reserves as many calls of
// models as its agent has used at most.
const Edition = 1

// MaxDepth is how deep children may be nested: Child of a run of that Depth is
// ErrFlow.
const MaxDepth = 64

// Figures are what a run has learned of agents, by their names. Budgets estimate
// calls by it.
type Figures map[string]Figure

// Figure is what a run has learned of one agent. A failure that used neither
// tokens nor money is not counted.
type Figure struct {
	Most    Amount `json:"most"`              // the largest cost, tokens and calls of models of one call
	Settled int64  `json:"settled,omitempty"` // number of calls that are settled
}

// End is how a run ended. Output is there beside an error, too.
type End struct {
	Status  Status          `json:"status"`            // status of the ended run, never ""
	Output  json.RawMessage `json:"output,omitempty"`  // output of the flow as JSON
	Outcome json.RawMessage `json:"outcome,omitempty"` // orchestrator.Outcome in Output; nil: it has none
	Err     *agent.Error    `json:"error,omitempty"`   // error that the flow returned, or nil
	State   json.RawMessage `json:"state,omitempty"`   // state that the flow exposed at its end; nil: none
	Spent   providers.Usage `json:"spent,omitzero"`    // usage of all calls, those of children included
	Lost    Lost            `json:"lost,omitzero"`     // lost calls, which are not in Spent
	Figures Figures         `json:"figures,omitempty"` // child: figures that it and its children learned of agents
	Elapsed time.Duration   `json:"elapsed,omitempty"` // time in which a process worked on the run

	// ByAgent is Spent by agent, that of children by flow. Nil is not said: in logs of
	// older versions, and of a child in the log of its parent.
	ByAgent map[string]providers.Usage `json:"byAgent,omitzero"`

	ContinuedFrom string `json:"continuedFrom,omitempty"` // ended run that this one continued, beside ByAgent; "": none
}

// Lost is what budgets hold against calls that were under way when a process was
// killed, and against calls and children that were left behind. What they really used
// is not known.
type Lost struct {
	Calls  int64             `json:"calls,omitempty"`  // calls of models reserved for them, at least one each; 0: none
	Cost   providers.NanoUSD `json:"cost,omitempty"`   // money reserved for them, in nano-USD; 0: nothing, or no limit
	Tokens int64             `json:"tokens,omitempty"` // tokens reserved for them; 0: nothing, or no limit
}

// Budget limits a run or a part of it. The zero Budget is no limit; a limit below 0
// allows nothing.
//
// A call without a known price is refused under a limit on Cost. Where the price shows
// only afterwards, the next call is refused.
type Budget struct {
	Cost   providers.NanoUSD `json:"cost,omitempty"`   // money in nano-USD; 0: no limit
	Tokens int64             `json:"tokens,omitempty"` // tokens of input and output together; 0: no limit
	Calls  int64             `json:"calls,omitempty"`  // calls of models, one for an agent that reports none; 0: no limit
	Wall   time.Duration     `json:"wall,omitempty"`   // run time, waits for answers included, after which calls are canceled; 0: no limit

	AllowUnpriced bool `json:"allowUnpriced,omitempty"` // calls without a known price pass a limit on Cost, which then limits only known cost
}

// Split returns an nth of b, rounded down; n below 1 counts as 1. A limit that would
// become 0 becomes -1: a share of too little is nothing, not unlimited. Wall is not
// split, because branches run side by side.
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

// The statuses. A run that has not ended is Running, Waiting, Suspended or Stuck.
const (
	Running     Status = "running"       // a process works on it
	Waiting     Status = "waiting"       // it waits only for answers
	Suspended   Status = "suspended"     // no process works on it
	Stuck       Status = "stuck"         // its flow failed: its last Stuck record says why
	Completed   Status = "completed"     // ended without an error
	Partial     Status = "partial"       // ended, but something is missing or below its gate
	OutOfBudget Status = "out-of-budget" // ended because a budget refused a call
	Canceled    Status = "canceled"      // ended because it was canceled
	Failed      Status = "failed"        // ended with any other error
)
