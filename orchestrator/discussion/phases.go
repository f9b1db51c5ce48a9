package discussion

import (
	"github.com/convene-go/convene/fsm"
	"github.com/convene-go/convene/orchestrator"
)

// Phase is where a run is: a state of Phases.
type Phase string

// The phases of a run. The last five end it; each is a status of the outcome.
const (
	Created     Phase = "created"
	Kickoff     Phase = "kickoff"
	Exploring   Phase = "exploring"
	Validating  Phase = "validating"
	Selecting   Phase = "selecting"
	Visualizing Phase = "visualizing"
	Completed   Phase = Phase(orchestrator.Completed)
	Partial     Phase = Phase(orchestrator.Partial)
	OutOfBudget Phase = Phase(orchestrator.OutOfBudget)
	Failed      Phase = Phase(orchestrator.Failed)
	Canceled    Phase = Phase(orchestrator.Canceled)
)

// Phases is the state machine of a run. The flow decides between the events after the last
// round: "to_validation" with a moderator and ideas, "to_selection" without a moderator,
// "fail" with a moderator and no ideas; and at the end "finish" if the final idea has
// passed, else "finish_partly".
var Phases = fsm.MustNew(fsm.Definition[Phase, string, string]{
	Initial:  Created,
	States:   []Phase{Created, Kickoff, Exploring, Validating, Selecting, Visualizing, Completed, Partial, OutOfBudget, Failed, Canceled},
	Terminal: []Phase{Completed, Partial, OutOfBudget, Failed, Canceled},
	Rules: []fsm.Rule[Phase, string, string]{
		{On: "start", From: []Phase{Created}, To: Kickoff},
		{On: "replied", From: []Phase{Kickoff}, To: Exploring},
		{On: "step_done", From: []Phase{Exploring}, To: Exploring},
		{On: "step_failed", From: []Phase{Exploring}, To: Exploring},
		{On: "round_done", From: []Phase{Exploring}, To: Exploring},
		{On: "to_validation", From: []Phase{Exploring}, To: Validating},
		{On: "to_selection", From: []Phase{Exploring}, To: Selecting},
		{On: "scored", From: []Phase{Validating}, To: Selecting},
		{On: "unusable", From: []Phase{Validating}, To: Selecting},
		{On: "to_report", From: []Phase{Selecting}, To: Visualizing},
		{On: "finish", From: []Phase{Selecting, Visualizing}, To: Completed},
		{On: "finish_partly", From: []Phase{Selecting, Visualizing}, To: Partial},
		{On: "overspend", To: OutOfBudget},
		{On: "fail", To: Failed},
		{On: "cancel", To: Canceled},
	},
})
