package portfolio

import (
	"github.com/convene-go/convene/fsm"
	"github.com/convene-go/convene/orchestrator"
)

// move is an event of a run's machine.
type move string

const (
	moveAllocated    move = "allocated"
	moveFinish       move = "finish"
	moveFinishPartly move = "finish_partly"
	moveOverspend    move = "overspend"
	moveFail         move = "fail"
	moveCancel       move = "cancel"
)

var ends = []orchestrator.Status{orchestrator.Completed, orchestrator.Partial, orchestrator.OutOfBudget, orchestrator.Failed, orchestrator.Canceled}

// phases is what a run may do next. It is running until it has the status of its outcome.
var phases = fsm.MustNew(fsm.Definition[orchestrator.Status, move, string]{
	Initial:  orchestrator.Running,
	States:   append([]orchestrator.Status{orchestrator.Running}, ends...),
	Terminal: ends,
	Rules: []fsm.Rule[orchestrator.Status, move, string]{
		{On: moveAllocated, From: []orchestrator.Status{orchestrator.Running}, To: orchestrator.Running},
		{On: moveFinish, To: orchestrator.Completed},
		{On: moveFinishPartly, To: orchestrator.Partial},
		{On: moveOverspend, To: orchestrator.OutOfBudget},
		{On: moveFail, To: orchestrator.Failed},
		{On: moveCancel, To: orchestrator.Canceled},
	},
})
