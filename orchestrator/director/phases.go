package director

import "github.com/convene-go/convene/fsm"

// Phase is where a run is: a state of [Phases].
type Phase string

// The phases. The last six are the ends of runs.
const (
	Opening     Phase = "opening"     // what an earlier process has left is removed
	Decomposing Phase = "decomposing" // the director plans the tasks
	Working     Phase = "working"
	Replanning  Phase = "replanning" // the director changes the tasks; no attempt begins

	Completed       Phase = "completed"     // every task is COMPLETE or ABANDONED
	Waiting         Phase = "waiting_human" // what is left waits for people
	Stuck           Phase = "stuck"         // what is left waits for something that will not happen
	BudgetExhausted Phase = "budget_exhausted"
	Canceled        Phase = "canceled"
	Failed          Phase = "failed"
)

// Phases is what may happen in a run. What may happen to its tasks is blackboard.TaskTable.
var Phases = fsm.MustNew(fsm.Definition[Phase, string, string]{
	Initial:  Opening,
	States:   []Phase{Opening, Decomposing, Working, Replanning, Completed, Waiting, Stuck, BudgetExhausted, Canceled, Failed},
	Terminal: []Phase{Completed, Waiting, Stuck, BudgetExhausted, Canceled, Failed},
	Rules: []fsm.Rule[Phase, string, string]{
		{On: "decompose", From: []Phase{Opening}, To: Decomposing},
		{On: "decomposed", From: []Phase{Decomposing}, To: Working},
		{On: "continue", From: []Phase{Opening}, To: Working}, // the tasks were given
		{On: "replan", From: []Phase{Working}, To: Replanning},
		{On: "replanned", From: []Phase{Replanning}, To: Working},

		{On: "complete", From: []Phase{Working}, To: Completed},
		{On: "wait", From: []Phase{Working}, To: Waiting},
		{On: "stick", From: []Phase{Working}, To: Stuck},
		{On: "overspend", To: BudgetExhausted},
		{On: "cancel", To: Canceled},
		{On: "fail", To: Failed},
	},
})
