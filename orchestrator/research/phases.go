package research

import (
	"fmt"
	"slices"
	"strings"

	"github.com/convene-go/convene/fsm"
	"github.com/convene-go/convene/orchestrator/agent"
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
var phases = fsm.MustNew(fsm.Definition[Phase, move, string]{
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
})

// ErrTransition says that the transition between two phases is not allowed.
const ErrTransition = agent.Code("research/invalid-transition")

// why has reasons for common wrong transitions.
var why = map[[2]Phase]string{
	{initialized, executing}: "PLANNING and STRATEGY come first",
	{executing, planning}:    "the only way back leads through EVALUATING and RE_PLANNING",
	{executing, completed}:   "evaluate the quality first",
}

// CheckMove returns nil if a move leads from one phase to the other. Else it returns an
// ErrTransition that names both phases and the reason.
func CheckMove(from, to Phase) error {
	var next []string
	for _, rule := range phases.Allowed(from) {
		if rule.To == to {
			return nil
		}
		next = append(next, upper(rule.To))
	}
	reason := why[[2]Phase{from, to}]
	switch {
	case phases.Terminal(from):
		reason = "the run has ended"
	case from == to:
		reason = "the run is in that phase already"
	case reason == "":
		reason = "it leads to " + strings.Join(slices.Compact(next), ", ")
	}
	return fmt.Errorf("%w: from %s to %s: %s", ErrTransition, upper(from), upper(to), reason)
}

// upper returns the name of a phase in texts for people.
func upper(p Phase) string { return strings.ToUpper(string(p)) }
