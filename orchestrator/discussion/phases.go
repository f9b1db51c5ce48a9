package discussion

import "github.com/convene-go/convene/fsm"

// Phase is where a run is: a state of Phases.
type Phase string

// The phases of a run (D6). The last three end it.
const (
	Created     Phase = "created"
	Kickoff     Phase = "kickoff"
	Exploring   Phase = "exploring"
	Validating  Phase = "validating"
	Selecting   Phase = "selecting"
	Visualizing Phase = "visualizing"
	Completed   Phase = "completed"
	Failed      Phase = "failed"
	Canceled    Phase = "canceled"
)

// Phases is what a run may do next. Which of the events behind the last round comes
// is decided by the flow: "to_validation" with a moderator and ideas, "to_selection"
// without a moderator, and "fail" with a moderator and no ideas.
var Phases = fsm.MustNew(fsm.Definition[Phase, string, string]{
	Initial:  Created,
	States:   []Phase{Created, Kickoff, Exploring, Validating, Selecting, Visualizing, Completed, Failed, Canceled},
	Terminal: []Phase{Completed, Failed, Canceled},
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
		{On: "fail", To: Failed},
		{On: "cancel", To: Canceled},
	},
})
