package discussion

import (
	"github.com/convene-go/convene/fsm"
	"github.com/convene-go/convene/orchestrator"
)

// Phase is where a run is: a state of [Phases]. Those that end a run are its statuses.
type Phase string

const created Phase = "created" // before the run has begun

// Move is what moves a run from one phase to another.
type Move string

const (
	start        Move = "start"
	replied      Move = "replied"
	stepDone     Move = "step_done"
	stepFailed   Move = "step_failed"
	roundDone    Move = "round_done"
	toValidation Move = "to_validation"
	toSelection  Move = "to_selection"
	scored       Move = "scored"
	unusable     Move = "unusable"
	toReport     Move = "to_report"
	finish       Move = "finish"
	finishPartly Move = "finish_partly"
	overspend    Move = "overspend"
	fail         Move = "fail"
	cancel       Move = "cancel"
)

// endings are the moves that end a run, by the status that they lead to.
var endings = map[orchestrator.Status]Move{
	orchestrator.Completed: finish, orchestrator.Partial: finishPartly, orchestrator.OutOfBudget: overspend,
	orchestrator.Failed: fail, orchestrator.Canceled: cancel,
}

var phases = fsm.MustNew(fsm.Definition[Phase, Move, string]{
	Initial: created,
	States: []Phase{
		created, "kickoff", "exploring", "validating", "selecting", "visualizing",
		"completed", "partial", "out-of-budget", "failed", "canceled",
	},
	Terminal: []Phase{"completed", "partial", "out-of-budget", "failed", "canceled"},
	Rules: []fsm.Rule[Phase, Move, string]{
		{On: start, From: []Phase{created}, To: "kickoff"},
		{On: replied, From: []Phase{"kickoff"}, To: "exploring"},
		{On: stepDone, From: []Phase{"exploring"}, To: "exploring"},
		{On: stepFailed, From: []Phase{"exploring"}, To: "exploring"},
		{On: roundDone, From: []Phase{"exploring"}, To: "exploring"},
		{On: toValidation, From: []Phase{"exploring"}, To: "validating"},
		{On: toSelection, From: []Phase{"exploring"}, To: "selecting"},
		{On: scored, From: []Phase{"validating"}, To: "selecting"},
		{On: unusable, From: []Phase{"validating"}, To: "selecting"},
		{On: toReport, From: []Phase{"selecting"}, To: "visualizing"},
		{On: finish, From: []Phase{"selecting", "visualizing"}, To: "completed"},
		{On: finishPartly, From: []Phase{"selecting", "visualizing"}, To: "partial"},
		{On: overspend, To: "out-of-budget"},
		{On: fail, To: "failed"},
		{On: cancel, To: "canceled"},
	},
})

// Phases returns the state machine of a run. The flow decides between the moves after the
// last round: to_validation if ideas are graded and there are some, to_selection if they are
// not graded, fail without ideas; and at the end finish if the final idea has passed, else
// finish_partly.
func Phases() *fsm.Table[Phase, Move, string] { return phases }
