package research

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/convene-go/convene/fsm"
)

// Phase is where a run is: a state of its machine. A run ends in completed or failed.
type Phase string

const (
	initialized Phase = "initialized"
	planning    Phase = "planning"
	strategy    Phase = "strategy"
	executing   Phase = "executing"
	evaluating  Phase = "evaluating"
	rePlanning  Phase = "re_planning"
	merging     Phase = "merging"
	completed   Phase = "completed"
	failed      Phase = "failed"
)

// move is an event of the machine.
type move string

const (
	moveStart       move = "start"
	movePlanned     move = "planned"
	moveOptimized   move = "optimized"
	moveExecuted    move = "executed"
	moveAccept      move = "accept"
	moveForce       move = "force"
	moveForceDirect move = "force_direct" // end without merging: the flow does not fire it
	moveRevise      move = "revise"
	moveReplan      move = "replan"
	moveStop        move = "stop" // leaves an iteration that cannot be finished if an earlier one was graded
	moveMerged      move = "merged"
	moveFail        move = "fail"
)

// phases is the state machine of a run.
var phases = explained{fsm.MustNew(fsm.Definition[Phase, move, string]{
	Initial:  initialized,
	States:   []Phase{initialized, planning, strategy, executing, evaluating, rePlanning, merging, completed, failed},
	Terminal: []Phase{completed, failed},
	Rules: []fsm.Rule[Phase, move, string]{
		{On: moveStart, From: []Phase{initialized}, To: planning},
		{On: movePlanned, From: []Phase{planning}, To: strategy},
		{On: moveOptimized, From: []Phase{strategy}, To: executing},
		{On: moveExecuted, From: []Phase{executing}, To: evaluating},
		{On: moveAccept, From: []Phase{evaluating}, To: merging},
		{On: moveForce, From: []Phase{evaluating}, To: merging},
		{On: moveForceDirect, From: []Phase{evaluating}, To: completed},
		{On: moveRevise, From: []Phase{evaluating}, To: rePlanning},
		{On: moveReplan, From: []Phase{rePlanning}, To: planning},
		{On: moveStop, From: []Phase{planning, strategy, executing}, To: merging},
		{On: moveMerged, From: []Phase{merging}, To: completed},
		{On: moveFail, To: failed},
	},
})}

// explained is a table that says why it refuses a move.
type explained struct {
	*fsm.Table[Phase, move, string]
}

// why has reasons for common wrong moves.
var why = map[[2]Phase]string{
	{initialized, executing}: "PLANNING and STRATEGY come first",
	{executing, planning}:    "the only way back leads through EVALUATING and RE_PLANNING",
	{executing, completed}:   "evaluate the quality first",
}

// Check returns the phase to which a move leads. The error of a refused one names both
// phases and the reason.
func (e explained) Check(from Phase, on move, by string) (Phase, error) {
	to, err := e.Table.Check(from, on, by)
	if err == nil {
		return to, nil
	}
	for _, phase := range e.States() {
		for _, option := range e.Allowed(phase) {
			if option.Event == on {
				to = option.To
			}
		}
	}
	return from, fmt.Errorf("from %s to %s: %s: %w", upper(from), upper(to), cmp.Or(why[[2]Phase{from, to}], "there is no way"), err)
}

// upper returns the name of a phase in texts for people.
func upper(p Phase) string { return strings.ToUpper(string(p)) }
