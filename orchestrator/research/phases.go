package research

import (
	"fmt"
	"slices"
	"strings"

	"github.com/convene-go/convene/fsm"
	"github.com/convene-go/convene/orchestrator/agent"
)

// Phase is where a run is: a state of Phases.
type Phase string

// The phases. The last two end a run.
const (
	Initialized Phase = "initialized"
	Planning    Phase = "planning"
	Strategy    Phase = "strategy"
	Executing   Phase = "executing"
	Evaluating  Phase = "evaluating"
	RePlanning  Phase = "re_planning"
	Merging     Phase = "merging"
	Completed   Phase = "completed"
	Failed      Phase = "failed"
)

// Phases is the state machine of a run. "stop" leaves an iteration that cannot be finished
// if an earlier one was graded. "force_direct" is for hosts that want no merging: the
// flow does not fire it.
var Phases = fsm.MustNew(fsm.Definition[Phase, string, string]{
	Initial:  Initialized,
	States:   []Phase{Initialized, Planning, Strategy, Executing, Evaluating, RePlanning, Merging, Completed, Failed},
	Terminal: []Phase{Completed, Failed},
	Rules: []fsm.Rule[Phase, string, string]{
		{On: "start", From: []Phase{Initialized}, To: Planning},
		{On: "planned", From: []Phase{Planning}, To: Strategy},
		{On: "optimized", From: []Phase{Strategy}, To: Executing},
		{On: "executed", From: []Phase{Executing}, To: Evaluating},
		{On: "accept", From: []Phase{Evaluating}, To: Merging},
		{On: "force", From: []Phase{Evaluating}, To: Merging},
		{On: "force_direct", From: []Phase{Evaluating}, To: Completed},
		{On: "revise", From: []Phase{Evaluating}, To: RePlanning},
		{On: "replan", From: []Phase{RePlanning}, To: Planning},
		{On: "stop", From: []Phase{Planning, Strategy, Executing}, To: Merging},
		{On: "merged", From: []Phase{Merging}, To: Completed},
		{On: "fail", To: Failed},
	},
})

// ErrTransition says that the transition between two phases is not allowed.
const ErrTransition = agent.Code("research/invalid-transition")

// why has reasons for common wrong transitions.
var why = map[[2]Phase]string{
	{Initialized, Executing}: "PLANNING and STRATEGY come first",
	{Executing, Planning}:    "the only way back leads through EVALUATING and RE_PLANNING",
	{Executing, Completed}:   "evaluate the quality first",
}

// CheckMove returns nil if an event leads from one phase to the other, else an
// ErrTransition that names both and says why not.
func CheckMove(from, to Phase) error {
	var next []string
	for _, rule := range Phases.Allowed(from) {
		if rule.To == to {
			return nil
		}
		next = append(next, upper(rule.To))
	}
	reason := why[[2]Phase{from, to}]
	switch {
	case Phases.Terminal(from):
		reason = "the run has ended"
	case from == to:
		reason = "the run is in that phase already"
	case reason == "":
		reason = "it leads to " + strings.Join(slices.Compact(next), ", ")
	}
	return fmt.Errorf("%w: from %s to %s: %s", ErrTransition, upper(from), upper(to), reason)
}

// upper is the name of a phase in texts for people.
func upper(p Phase) string { return strings.ToUpper(string(p)) }
