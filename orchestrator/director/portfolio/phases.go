package portfolio

import (
	"github.com/convene-go/convene/fsm"
	"github.com/convene-go/convene/orchestrator"
)

// running is the phase of a run that has not ended. The other phases are statuses of the
// outcome.
const running = "running"

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

// phases is what a run may do next.
var phases = fsm.MustNew(fsm.Definition[string, move, string]{
	Initial:  running,
	States:   append([]string{running}, ends...),
	Terminal: ends,
	Rules: []fsm.Rule[string, move, string]{
		{On: moveAllocated, From: []string{running}, To: running},
		{On: moveFinish, From: []string{running}, To: string(orchestrator.Completed)},
		{On: moveFinishPartly, From: []string{running}, To: string(orchestrator.Partial)},
		{On: moveOverspend, From: []string{running}, To: string(orchestrator.OutOfBudget)},
		{On: moveFail, From: []string{running}, To: string(orchestrator.Failed)},
		{On: moveCancel, From: []string{running}, To: string(orchestrator.Canceled)},
	},
})

var ends = []string{
	string(orchestrator.Completed), string(orchestrator.Partial), string(orchestrator.OutOfBudget), string(orchestrator.Failed), string(orchestrator.Canceled),
}
