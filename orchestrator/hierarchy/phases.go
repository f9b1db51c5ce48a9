package hierarchy

import (
	"github.com/convene-go/convene/fsm"
	"github.com/convene-go/convene/orchestrator"
)

// Move is an event of one of the state machines.
type Move string

// The moves of runs, departments and specialists.
const (
	moveAccept Move = "accept" // a run's request, a specialist's work
	moveCancel Move = "cancel"
	moveFail   Move = "fail"

	moveRouted      Move = "routed"
	moveWaveDone    Move = "wave_done"
	moveSomeDone    Move = "some_done"
	moveRefused     Move = "refused"
	moveCombined    Move = "combined"
	moveCheckedAll  Move = "checked_all"
	moveCheckedPart Move = "checked_part"

	moveReady             Move = "ready"
	moveDependencyMissing Move = "dependency_missing"
	moveDirect            Move = "direct"
	moveSpawn             Move = "spawn"
	moveAllFinished       Move = "all_finished"
	moveSomePass          Move = "some_pass"
	moveNonePass          Move = "none_pass"
	moveRetry             Move = "retry"
	moveOK                Move = "ok"
	moveTaken             Move = "taken"
	moveScored            Move = "scored"

	moveStart     Move = "start"
	moveOutput    Move = "output"
	moveError     Move = "error"
	moveRevise    Move = "revise"
	moveDiscard   Move = "discard"
	moveUngraded  Move = "ungraded"
	moveExhausted Move = "exhausted" // no try of a specialist or of a synthesis is left
	moveStop      Move = "stop"
)

// Phase is where a run is: a state of Phases.
type Phase string

const (
	phaseReceived    Phase = "received"
	phaseRouting     Phase = "routing"
	phaseDispatching Phase = "dispatching"
	phaseAggregating Phase = "aggregating"
	phaseValidating  Phase = "validating"
	phaseCompleted   Phase = "completed"
	phasePartial     Phase = "partial"
	phaseOutOfBudget Phase = "out_of_budget"
	phaseFailed      Phase = "failed"
	phaseCanceled    Phase = "canceled"
)

// Phases returns the state machine of a run. A run retries nothing.
func Phases() *fsm.Table[Phase, Move, string] { return phases }

var phases = fsm.MustNew(fsm.Definition[Phase, Move, string]{
	Initial: phaseReceived,
	States: []Phase{
		phaseReceived, phaseRouting, phaseDispatching, phaseAggregating, phaseValidating,
		phaseCompleted, phasePartial, phaseOutOfBudget, phaseFailed, phaseCanceled,
	},
	Terminal: []Phase{phaseCompleted, phasePartial, phaseOutOfBudget, phaseFailed, phaseCanceled},
	Rules: []fsm.Rule[Phase, Move, string]{
		{On: moveAccept, From: []Phase{phaseReceived}, To: phaseRouting},
		{On: moveRouted, From: []Phase{phaseRouting}, To: phaseDispatching},
		{On: moveWaveDone, From: []Phase{phaseDispatching}, To: phaseDispatching},
		{On: moveSomeDone, From: []Phase{phaseDispatching}, To: phaseAggregating},
		{On: moveRefused, To: phaseOutOfBudget},
		{On: moveCombined, From: []Phase{phaseAggregating}, To: phaseValidating},
		{On: moveCheckedAll, From: []Phase{phaseValidating}, To: phaseCompleted},
		{On: moveCheckedPart, From: []Phase{phaseValidating}, To: phasePartial},
		{On: moveFail, To: phaseFailed},
		{On: moveCancel, To: phaseCanceled},
	},
})

// statuses has the status of each phase in which a run ends.
var statuses = map[Phase]orchestrator.Status{
	phaseCompleted: orchestrator.Completed, phasePartial: orchestrator.Partial, phaseOutOfBudget: orchestrator.OutOfBudget,
	phaseFailed: orchestrator.Failed, phaseCanceled: orchestrator.Canceled,
}

// DepartmentPhase is where a department of a run is: a state of DepartmentPhases.
type DepartmentPhase string

const (
	departmentWaiting      DepartmentPhase = "waiting"
	departmentAnalyzing    DepartmentPhase = "analyzing"
	departmentHeadDirect   DepartmentPhase = "head_direct"
	departmentSpecialists  DepartmentPhase = "specialists"
	departmentReviewing    DepartmentPhase = "reviewing"
	departmentSynthesizing DepartmentPhase = "synthesizing"
	departmentFallback     DepartmentPhase = "fallback"
	departmentAssessing    DepartmentPhase = "assessing"
)

// The phases in which a department ends. Report.Status is one of them.
const (
	DepartmentDone     DepartmentPhase = "done"
	DepartmentFailed   DepartmentPhase = "failed"
	DepartmentSkipped  DepartmentPhase = "skipped"
	DepartmentCanceled DepartmentPhase = "canceled"
)

// DepartmentPhases returns the state machine of a department. "retry" is a further try of
// the head.
func DepartmentPhases() *fsm.Table[DepartmentPhase, Move, string] { return departmentPhases }

var departmentPhases = fsm.MustNew(fsm.Definition[DepartmentPhase, Move, string]{
	Initial: departmentWaiting,
	States: []DepartmentPhase{
		departmentWaiting, departmentAnalyzing, departmentHeadDirect, departmentSpecialists, departmentReviewing, departmentSynthesizing,
		departmentFallback, departmentAssessing, DepartmentDone, DepartmentFailed, DepartmentSkipped, DepartmentCanceled,
	},
	Terminal: []DepartmentPhase{DepartmentDone, DepartmentFailed, DepartmentSkipped, DepartmentCanceled},
	Rules: []fsm.Rule[DepartmentPhase, Move, string]{
		{On: moveReady, From: []DepartmentPhase{departmentWaiting}, To: departmentAnalyzing},
		{On: moveDependencyMissing, From: []DepartmentPhase{departmentWaiting}, To: DepartmentSkipped},
		{On: moveDirect, From: []DepartmentPhase{departmentAnalyzing}, To: departmentHeadDirect},
		{On: moveSpawn, From: []DepartmentPhase{departmentAnalyzing}, To: departmentSpecialists},
		{On: moveAllFinished, From: []DepartmentPhase{departmentSpecialists}, To: departmentReviewing},
		{On: moveSomePass, From: []DepartmentPhase{departmentReviewing}, To: departmentSynthesizing},
		{On: moveNonePass, From: []DepartmentPhase{departmentReviewing}, To: departmentHeadDirect},
		{On: moveRetry, From: []DepartmentPhase{departmentSynthesizing}, To: departmentSynthesizing},
		{On: moveRetry, From: []DepartmentPhase{departmentHeadDirect}, To: departmentHeadDirect},
		{On: moveOK, From: []DepartmentPhase{departmentSynthesizing, departmentHeadDirect}, To: departmentAssessing},
		{On: moveExhausted, From: []DepartmentPhase{departmentSynthesizing}, To: departmentFallback},
		{On: moveTaken, From: []DepartmentPhase{departmentFallback}, To: departmentAssessing},
		{On: moveScored, From: []DepartmentPhase{departmentAssessing}, To: DepartmentDone},
		{On: moveFail, To: DepartmentFailed},
		{On: moveCancel, To: DepartmentCanceled},
	},
})

// SpecialistPhase is where a specialist of a run is: a state of SpecialistPhases.
type SpecialistPhase string

const (
	specialistPending  SpecialistPhase = "pending"
	specialistRunning  SpecialistPhase = "running"
	specialistGrading  SpecialistPhase = "grading"
	specialistRetrying SpecialistPhase = "retrying"
	specialistPassed   SpecialistPhase = "passed"
	specialistFailed   SpecialistPhase = "failed"
)

// SpecialistPhases returns the state machine of a specialist. "error", "revise" and
// "discard" lead to another try. "exhausted" says that none is left, "stop" that none may
// be made.
func SpecialistPhases() *fsm.Table[SpecialistPhase, Move, string] { return specialistPhases }

var specialistPhases = fsm.MustNew(fsm.Definition[SpecialistPhase, Move, string]{
	Initial:  specialistPending,
	States:   []SpecialistPhase{specialistPending, specialistRunning, specialistGrading, specialistRetrying, specialistPassed, specialistFailed},
	Terminal: []SpecialistPhase{specialistPassed, specialistFailed},
	Rules: []fsm.Rule[SpecialistPhase, Move, string]{
		{On: moveStart, From: []SpecialistPhase{specialistPending, specialistRetrying}, To: specialistRunning},
		{On: moveOutput, From: []SpecialistPhase{specialistRunning}, To: specialistGrading},
		{On: moveError, From: []SpecialistPhase{specialistRunning}, To: specialistRetrying},
		{On: moveAccept, From: []SpecialistPhase{specialistGrading}, To: specialistPassed},
		{On: moveRevise, From: []SpecialistPhase{specialistGrading}, To: specialistRetrying},
		{On: moveDiscard, From: []SpecialistPhase{specialistGrading}, To: specialistRetrying},
		{On: moveUngraded, From: []SpecialistPhase{specialistGrading}, To: specialistFailed},
		{On: moveExhausted, From: []SpecialistPhase{specialistRunning, specialistGrading}, To: specialistFailed},
		{On: moveStop, To: specialistFailed},
	},
})
