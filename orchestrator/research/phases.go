package research

import (
	"fmt"
	"slices"
	"strings"

	"github.com/convene-go/convene/fsm"
	"github.com/convene-go/convene/orchestrator/agent"
)

// Phase is where a run is: a state of Phases (R1, R2).
type Phase string

// The phases. The last two end a run (R4).
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

// Who may write the phase, and who decides what (R24, R108, R109).
const (
	controller   = "Controller"
	stateManager = "StateManager"
	planner      = "Planner"
	strategist   = "Strategy"
	conductor    = "Orchestrator"
	supervisor   = "Supervisor"
	merger       = "Merger"
)

// Phases is what a run may do next (R6-R17). A guard is a precondition that whoever
// fires the event says is met, by its name in the note. The flow never fires
// "force_direct": that is for hosts that want no merging (RC1).
var Phases = fsm.MustNew(fsm.Definition[Phase, string, string]{
	Initial:  Initialized,
	States:   []Phase{Initialized, Planning, Strategy, Executing, Evaluating, RePlanning, Merging, Completed, Failed},
	Terminal: []Phase{Completed, Failed},
	Rules: []fsm.Rule[Phase, string, string]{
		{On: "start", From: []Phase{Initialized}, To: Planning, Roles: writers},
		{On: "planned", From: []Phase{Planning}, To: Strategy, Roles: writers, Guard: "plan"},
		{On: "optimized", From: []Phase{Strategy}, To: Executing, Roles: writers, Guard: "optimized"},
		{On: "executed", From: []Phase{Executing}, To: Evaluating, Roles: writers, Guard: "steps_done"},
		{On: "accept", From: []Phase{Evaluating}, To: Merging, Roles: writers, Guard: "good"},
		{On: "force", From: []Phase{Evaluating}, To: Merging, Roles: writers, Guard: "exhausted"},
		{On: "force_direct", From: []Phase{Evaluating}, To: Completed, Roles: writers, Guard: "forced_and_output_ready"},
		{On: "revise", From: []Phase{Evaluating}, To: RePlanning, Roles: writers, Guard: "retryable"},
		{On: "replan", From: []Phase{RePlanning}, To: Planning, Roles: writers},
		{On: "merged", From: []Phase{Merging}, To: Completed, Roles: writers, Guard: "output"},
		{On: "fail", To: Failed, Roles: []string{stateManager, controller}},
	},
	Guards: established("plan", "optimized", "steps_done", "good", "exhausted", "forced_and_output_ready", "retryable", "output"),
})

var (
	writers = []string{stateManager}
	events  = []string{"start", "planned", "optimized", "executed", "accept", "force", "force_direct", "revise", "replan", "merged", "fail"}
)

// established are guards that agree if the note says that they hold.
func established(names ...string) map[string]fsm.Guard[Phase, string, string] {
	guards := map[string]fsm.Guard[Phase, string, string]{}
	for _, name := range names {
		guards[name] = func(e fsm.Entry[Phase, string, string]) error {
			if !slices.Contains(strings.Fields(e.Note), name) {
				return fmt.Errorf("nobody has established %q", name)
			}
			return nil
		}
	}
	return guards
}

// ErrTransition says that a phase does not follow another one (R22).
const ErrTransition = agent.Code("research/invalid-transition")

// why says what is wrong with moves that people expect (R18-R20).
var why = map[[2]Phase]string{
	{Initialized, Executing}: "PLANNING and STRATEGY come first",
	{Executing, Planning}:    "the only way back leads through EVALUATING and RE_PLANNING",
	{Executing, Completed}:   "evaluate the quality first",
}

// CheckMove returns nil if a phase can follow another one by some event, and else an
// ErrTransition that names both and says why not (R17-R22). It does not ask guards.
func CheckMove(from, to Phase) error {
	var next []string
	for _, event := range events {
		target, ok := Phases.Next(from, event)
		if ok && target == to {
			return nil
		}
		if name := upper(target); ok && !slices.Contains(next, name) {
			next = append(next, name)
		}
	}
	reason := why[[2]Phase{from, to}]
	switch {
	case reason != "":
	case Phases.Terminal(from):
		reason = "the run has ended"
	case from == to:
		reason = "that is no move"
	default:
		reason = "it leads to " + strings.Join(next, ", ")
	}
	return fmt.Errorf("%w: from %s to %s: %s", ErrTransition, upper(from), upper(to), reason)
}

// upper is the name of a phase as people write it (R101).
func upper(p Phase) string { return strings.ToUpper(string(p)) }
