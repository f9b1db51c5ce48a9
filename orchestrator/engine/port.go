package engine

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// Op is one effect that a flow asked for. Branch and N are its identity. A Limit belongs to
// the run: its Branch is "", and its N is -Worked. Once the completion of an Op has been
// handed over, its branch uses it again for the next effect, unless that was [ErrLeft].
type Op struct {
	Branch  string          // branch that asked for the effect; "": the root, or the run for a Limit
	N       int64           // number of the effect in its branch, from 0; a Limit: -Worked
	Kind    Kind            // kind of the effect, never 0
	Name    string          // Call: the agent; Await: the question's key; Child: the flow
	Request *agent.Request  // Call: the request; not changed once the effect has started
	Until   time.Time       // Sleep: its end; Await: when to give up, zero: never
	Worked  time.Duration   // Limit: the time worked at which it is over
	Ask     json.RawMessage // Await: an Ask
	Reject  string          // Await: why the answer that is there does not count; "": it does
	Asked   bool            // Await: the question is on record already
	Child   *Program        // Child: its flow
	Input   *Input          // Child: its input, with Run, Budget, Figures and Depth

	// Canceled says that a Child is to be told to end as soon as it has started.
	Canceled bool

	// Reserved is what budgets hold for a call until it is settled. It is recorded with
	// the call's answer. It is zero without limits, for one call of a model, and for a call
	// of unknown cost, which has its budgets for itself.
	Reserved Amount

	Private any // value of the engine; an Op that is used again keeps it
	Owner   any // value of the scheduler; engines leave it as it is
}

// Amount is money, tokens and calls of models.
type Amount struct {
	Cost   providers.NanoUSD `json:"cost,omitempty"`   // money in nano-USD; 0: none
	Tokens int64             `json:"tokens,omitempty"` // tokens of input and output together; 0: none
	Calls  int64             `json:"calls,omitempty"`  // calls of models, above 1; 0: one
}

// Key returns the identity of op as one word, unique in its run: "3" is the fourth effect
// of the root, "0.2:1" the second one of the third branch of the first.
func (op *Op) Key() string { return Key(op.Branch, op.N) }

// Key returns the identity of the nth effect of a branch as one word: see [Op.Key].
func Key(branch string, n int64) string {
	if branch == "" {
		return strconv.FormatInt(n, 10)
	}
	return branch + ":" + strconv.FormatInt(n, 10)
}

// Kind is the kind of an effect.
type Kind uint8

// The kinds. A Limit is a time limit of a budget. A Child is a run of its own: the engine
// starts it, or resumes it if it has a log.
const (
	Call Kind = iota + 1
	Sleep
	Limit
	Await
	Child
)

// Completion is a finished effect. With Op nil the run is canceled, and Err says why: see
// [CanceledBy].
type Completion struct {
	Op       *Op             // effect that is finished; nil: the run is canceled
	Response *agent.Response // nil with Err. Await: Data is the answer; Child: Data is its End, Usage what it spent
	Err      *agent.Error    // why the effect failed; nil: it did not

	// End is how a child ended. The scheduler sets it for the flow; engines leave it nil.
	End *End
}

// Port is all that an engine gives to one run. Its methods are called one at a time, while
// a method of the run's Execution other than Leave executes. Start and Recorded come on the
// goroutine that called that method. The others may come on a branch's goroutine (a
// coroutine), while that caller waits.
//
// Branches, fan-out, the completion queue, cancellation and budgets are built on top of it
// and are the same on every engine.
type Port interface { //nolint:interfacebloat // a flow needs all of them
	// Start begins an effect. It does not block and does not complete op itself.
	// The engine holds op until its completion is handed over, no longer.
	Start(op *Op)

	// Cancel says that the flow does not want the result of op any more. The completion of
	// a Sleep, a Limit or an Await may still come. A Call and a Child are told to end, and
	// are completed all the same, with ErrLeft if they do not end in time. Until then
	// budgets hold what is reserved for a call, and the run waits for a child. A call that
	// Lose lost is not completed, unless it is admitted again.
	Cancel(op *Op)

	// Now returns the time of the last completion, and how long the run had been worked on
	// by then.
	Now() (now time.Time, worked time.Duration)

	// Emit writes a record of the flow, or of the scheduler (Refused, Lost), to the log,
	// unless a replay finds it there. Branch, N, Kind, Name and Data are set. N counts the
	// emissions of the branch, its effects (Refused), or the times that Lose lost calls
	// (Lost).
	Emit(r runlog.Record)

	// Recorded returns what the whole log, later records too, knows of a call or a child
	// that the flow asks for. Budgets decide after that. It is zero outside of a replay.
	Recorded(branch string, n int64) Recorded

	// Expose says how to read the state that the flow shows. state may be called whenever
	// the Execution does not advance.
	Expose(state func() (json.RawMessage, error))
}

// Recorded is what the log knows of a call or a child. The zero value: nothing.
type Recorded struct {
	Made     bool         // the log has a Called record of it
	Reserved Amount       // Op.Reserved of the call that was made
	Refused  *RefusedData // the data of its Refused record; nil: it has none
}
