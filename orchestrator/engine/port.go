package engine

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
)

// Op is one effect that a flow asked for. Branch and N are its identity.
type Op struct {
	Branch  string
	N       int64
	Kind    Kind
	Name    string          // Call: the agent; Await: the question's key; Child: the flow
	Request agent.Request   // Call
	Until   time.Time       // Sleep; Await: when to give up, zero: never
	Worked  time.Duration   // Limit: over when the run has been worked on for so long
	Ask     json.RawMessage // Await: an Ask
	Child   *Program        // Child
	Input   Input           // Child: with the child's Run

	Private any // the engine's; an Op that is used again brings what the engine left there
	Owner   any // the scheduler's
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
// which the engine starts, or goes on with where its log is there.
const (
	Call Kind = iota + 1
	Sleep
	Limit
	Await
	Child
)

// Completion is a finished effect. With Op nil it is somebody's wish that the
// run be canceled, and Err says why.
type Completion struct {
	Op       *Op
	Response agent.Response // Await: Data is the answer; Child: Data is the End, Usage what it spent
	Err      *agent.Error
}

// Port is all that an engine gives to one run; one goroutine uses it at a time, and
// only while the run's Execution advances.
// Branches, fan-out, the completion queue, cancellation and budgets are built on
// top of it and are the same on every engine.
type Port interface {
	// Start begins an effect. It does not block and does not complete op itself.
	// The engine holds op until its completion is handed over, no longer.
	Start(op *Op)

	// Cancel says that the flow does not want the result of op any more. Its
	// completion may still come; the scheduler then only counts what it cost. A
	// Child is told to end, and its completion is waited for.
	Cancel(op *Op)

	// Now is the time of the last completion, and how long the run had been worked
	// on by then.
	Now() (now time.Time, worked time.Duration)

	// Emit puts a record of the flow's own into the log, unless a replay finds it
	// there. Branch, N, Kind and Data are set; N counts the emissions of the branch.
	Emit(r blackboard.Record)
}

// Exposer is a Port that shows what a flow exposes. state may be called whenever
// the Execution does not advance.
type Exposer interface {
	Expose(state func() (json.RawMessage, error))
}

// Spawner is a Port whose engine has coroutines of its own. Without it, Pull is
// used.
type Spawner interface {
	Spawn(body func(yield func() bool)) (resume func() bool, stop func())
}
