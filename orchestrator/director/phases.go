package director

import (
	"github.com/convene-go/convene/fsm"
	"github.com/convene-go/convene/orchestrator"
)

// Phase is the state of a run: see [Phases].
type Phase string

// The phases. The last six are the ends of runs.
const (
	opening     Phase = "opening"     // the board is taken over, and the repository opened
	decomposing Phase = "decomposing" // the director plans the tasks
	working     Phase = "working"     // workers, reviews and merges are under way
	replanning  Phase = "replanning"  // the director changes the tasks; no attempt begins

	Completed       Phase = "completed"        // every task is COMPLETE or ABANDONED
	Waiting         Phase = "waiting_human"    // the open tasks wait for people
	Stuck           Phase = "stuck"            // the open tasks wait for something that will not happen
	BudgetExhausted Phase = "budget_exhausted" // money, calls or time are used up
	Canceled        Phase = "canceled"         // the run was canceled
	Failed          Phase = "failed"           // the input, the plan, a rule or the repository cannot be used
)

// The moves of a run from one phase to another.
const (
	moveDecompose  = "decompose"
	moveDecomposed = "decomposed"
	moveContinue   = "continue" // the tasks were given
	moveReplan     = "replan"
	moveReplanned  = "replanned"

	moveComplete  = "complete"
	moveWait      = "wait"
	moveStick     = "stick"
	moveOverspend = "overspend"
	moveCancel    = "cancel"
	moveFail      = "fail"
)

// Phases returns the table of what may happen in a run. The table of its tasks is
// [blackboard.TaskTable].
func Phases() *fsm.Table[Phase, string, string] { return phases }

var phases = fsm.MustNew(fsm.Definition[Phase, string, string]{
	Initial:  opening,
	States:   []Phase{opening, decomposing, working, replanning, Completed, Waiting, Stuck, BudgetExhausted, Canceled, Failed},
	Terminal: []Phase{Completed, Waiting, Stuck, BudgetExhausted, Canceled, Failed},
	Rules: []fsm.Rule[Phase, string, string]{
		{On: moveDecompose, From: []Phase{opening}, To: decomposing},
		{On: moveDecomposed, From: []Phase{decomposing}, To: working},
		{On: moveContinue, From: []Phase{opening}, To: working},
		{On: moveReplan, From: []Phase{working}, To: replanning},
		{On: moveReplanned, From: []Phase{replanning}, To: working},

		{On: moveComplete, From: []Phase{working}, To: Completed},
		{On: moveWait, From: []Phase{decomposing, working}, To: Waiting},
		{On: moveStick, From: []Phase{working}, To: Stuck},
		{On: moveOverspend, To: BudgetExhausted},
		{On: moveCancel, To: Canceled},
		{On: moveFail, To: Failed},
	},
})

// fire moves the run to another phase. A refusal by the table is a mistake of the team.
func (r *run) fire(c *orchestrator.Context, on string) {
	from := r.state.Phase
	to := r.machine.Fire(c, on)
	r.Emit(c, EventPhaseChanged, &Event{From: string(from), To: string(to), On: on})
}
