package engine

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// Op is one effect that a flow asked for. Branch and N are its identity; a Limit
// is the run's: its Branch is "", and N is -Worked. An Op is used again for
// the next effect of its branch once its completion has been handed over, unless
// that was [ErrLeft].
type Op struct {
	Branch  string
	N       int64
	Kind    Kind
	Name    string          // Call: the agent; Await: the question's key; Child: the flow
	Request *agent.Request  // Call; not changed once the effect has started
	Until   time.Time       // Sleep; Await: when to give up, zero: never
	Worked  time.Duration   // Limit: over when the run has been worked on for so long
	Ask     json.RawMessage // Await: an Ask
	Reject  string          // Await: why the answer that is there does not count; "": it does
	Asked   bool            // Await: it is on record already that the question is open
	Child   *Program        // Child
	Input   *Input          // Child: with its Run, Budget, Figures and Depth

	// Canceled says that a Child is to be told to end as soon as it has started.
	Canceled bool

	// Reserved is what budgets hold for a call until it is settled. It is recorded
	// with the call's answer. It is zero without a limit on cost or tokens, and for a
	// call of unknown cost, which has its budgets for itself.
	Reserved Amount

	Private any // the engine's; an Op that is used again brings what the engine left there
	Owner   any // the scheduler's
}

// Amount is money and tokens.
type Amount struct {
	Cost   providers.NanoUSD `json:"cost,omitempty"`
	Tokens int64             `json:"tokens,omitempty"`
}

// Key is the identity of op as one word, unique in its run: "3" is the fourth
// effect of the root, "0.2:1" the second one of the third branch of the first.
func (op *Op) Key() string { return Key(op.Branch, op.N) }

// Key is the identity of the nth effect of a branch as one word.
func Key(branch string, n int64) string {
	if branch == "" {
		return strconv.FormatInt(n, 10)
	}
	return branch + ":" + strconv.FormatInt(n, 10)
}

// Kind is the kind of an effect.
type Kind uint8

// The kinds. A Limit is a time limit of a budget; a Child is a run of its own,
// which the engine starts, or resumes where its log is there.
const (
	Call Kind = iota + 1
	Sleep
	Limit
	Await
	Child
)

// Completion is a finished effect. With Op nil the run is canceled, and Err says
// why: see [CanceledBy].
type Completion struct {
	Op       *Op
	Response *agent.Response // nil with Err. Await: Data is the answer; Child: Data is the End, Usage what it spent
	Err      *agent.Error

	// End is a child's. The scheduler sets it for the flow; engines leave it nil.
	End *End
}

// Port is all that an engine gives to one run. Its methods are called one at a time,
// while one of the run's Execution executes (Leave excepted). Start and
// Recorded come on the goroutine that called the Execution's method. The others may
// come on a branch's goroutine (a coroutine), while that caller waits.
// Branches, fan-out, the completion queue, cancellation and budgets are built on top
// of it and are the same on every engine.
type Port interface { //nolint:interfacebloat // what a flow can ask for, and what is around it
	// Start begins an effect. It does not block and does not complete op itself.
	// The engine holds op until its completion is handed over, no longer.
	Start(op *Op)

	// Cancel says that the flow does not want the result of op any more. That of a
	// Sleep, a Limit or an Await may still come. A Call and a Child are told to end
	// and are completed all the same, with ErrLeft if they do not end in time: until
	// then budgets hold what is reserved for a call, and the run waits for a child. A
	// call that Lose lost is not completed, unless it is admitted again.
	Cancel(op *Op)

	// Now is the time of the last completion, and how long the run had been worked
	// on by then.
	Now() (now time.Time, worked time.Duration)

	// Emit puts a record of the flow's own, or of the scheduler (a Refused or Lost
	// record), into the log, unless a replay finds it there. Branch, N, Kind, Name
	// and Data are set. N counts the emissions of the branch, the effects (Refused),
	// or the times that Lose lost calls (Lost).
	Emit(r runlog.Record)

	// Recorded is what the log knows of a call or a child that the flow asks for,
	// before budgets decide: also what comes later in the log. Outside of a replay it
	// is the zero value.
	Recorded(branch string, n int64) Recorded

	// Expose says how to read what the flow shows. state may be called whenever the
	// Execution does not advance.
	Expose(state func() (json.RawMessage, error))
}

// Recorded is what the log knows of a call or a child. The zero value: nothing.
type Recorded struct {
	Made     bool         // it has a Called record; Reserved was held for it
	Reserved Amount       // as in Op
	Refused  *RefusedData // it has a Refused record
}

// Clock is the time of a run, which follows from its log: the time of the last
// record that the flow saw, and for how long the run has been worked on.
type Clock struct {
	now    time.Time
	worked time.Duration
}

// Tick moves the clock to the next record.
func (c *Clock) Tick(at time.Time) {
	if at.After(c.now) { // clocks may be set back
		c.worked += at.Sub(c.now)
		c.now = at
	}
}

// Skip moves the clock over a time in which no process worked on the run: to its
// start, and to each Resumed record.
func (c *Clock) Skip(at time.Time) {
	if at.After(c.now) { // clocks may be set back
		c.now = at
	}
}

// Now is the run's time, and how long it has been worked on.
func (c *Clock) Now() (now time.Time, worked time.Duration) { return c.now, c.worked }

// When is the time at which the run will have been worked on for so long.
func (c *Clock) When(worked time.Duration) time.Time { return c.now.Add(worked - c.worked) }
