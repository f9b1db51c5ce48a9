package portfolio

import (
	"github.com/convene-go/convene/fsm"
	"github.com/convene-go/convene/orchestrator"
)

// Phase is where a run is: a state of [Phases].
type Phase string

// The phases of a run. All but the first end it; each is a status of the outcome.
const (
	Running     Phase = "running"
	Completed   Phase = Phase(orchestrator.Completed)
	Partial     Phase = Phase(orchestrator.Partial)
	OutOfBudget Phase = Phase(orchestrator.OutOfBudget)
	Failed      Phase = Phase(orchestrator.Failed)
	Canceled    Phase = Phase(orchestrator.Canceled)
)

// Phases is what a run may do next.
var Phases = fsm.MustNew(fsm.Definition[Phase, string, string]{
	Initial:  Running,
	States:   []Phase{Running, Completed, Partial, OutOfBudget, Failed, Canceled},
	Terminal: []Phase{Completed, Partial, OutOfBudget, Failed, Canceled},
	Rules: []fsm.Rule[Phase, string, string]{
		{On: "allocated", From: []Phase{Running}, To: Running},
		{On: "finish", From: []Phase{Running}, To: Completed},
		{On: "finish_partly", From: []Phase{Running}, To: Partial},
		{On: "overspend", From: []Phase{Running}, To: OutOfBudget},
		{On: "fail", From: []Phase{Running}, To: Failed},
		{On: "cancel", From: []Phase{Running}, To: Canceled},
	},
})
