package hierarchy

import (
	"github.com/convene-go/convene/fsm"
	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/routing"
)

// Move is an event of one of the state machines.
type Move string

// The moves of runs, departments and specialists. Exhausted says that no try of a specialist
// or of a synthesis is left.
const (
	moveAccept, moveCancel, moveFail                                    Move = "accept", "cancel", "fail"
	moveRouted, moveWaveDone, moveSomeDone, moveRefused                 Move = "routed", "wave_done", "some_done", "refused"
	moveCombined, moveCheckedAll, moveCheckedPart                       Move = "combined", "checked_all", "checked_part"
	moveReady, moveDependencyMissing, moveDirect, moveSpawn             Move = "ready", "dependency_missing", "direct", "spawn"
	moveAllFinished, moveSomePass, moveNonePass, moveRetry              Move = "all_finished", "some_pass", "none_pass", "retry"
	moveOK, moveExhausted, moveTaken, moveScored                        Move = "ok", "exhausted", "taken", "scored"
	moveStart, moveOutput, moveError, moveRevise, moveDiscard, moveStop Move = "start", "output", "error", "revise", "discard", "stop"
	moveUngraded                                                        Move = "ungraded"
)

// Phase is where a run is: a state of Phases.
type Phase string

const (
	phaseReceived, phaseRouting, phaseDispatching, phaseAggregating, phaseValidating Phase = "received", "routing", "dispatching", "aggregating", "validating"
	phaseCompleted, phasePartial, phaseOutOfBudget, phaseFailed, phaseCanceled       Phase = "completed", "partial", "out_of_budget", "failed", "canceled"
)

// endings are the moves that end a run without a result, by the status that they lead to.
var endings = map[orchestrator.Status]Move{
	orchestrator.Canceled: moveCancel, orchestrator.OutOfBudget: moveRefused, orchestrator.Failed: moveFail,
}

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

// DepartmentPhase is where a department of a run is: a state of DepartmentPhases.
type DepartmentPhase string

// The phases in which a department ends. Report.Status is one of them.
const (
	DepartmentDone     DepartmentPhase = "done"
	DepartmentFailed   DepartmentPhase = "failed"
	DepartmentSkipped  DepartmentPhase = "skipped"
	DepartmentCanceled DepartmentPhase = "canceled"
)

const (
	departmentWaiting, departmentAnalyzing, departmentHeadDirect, departmentSpecialists  DepartmentPhase = "waiting", "analyzing", "head_direct", "specialists"
	departmentReviewing, departmentSynthesizing, departmentFallback, departmentAssessing DepartmentPhase = "reviewing", "synthesizing", "fallback", "assessing"
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
	specialistPending, specialistRunning, specialistGrading SpecialistPhase = "pending", "running", "grading"
	specialistRetrying, specialistPassed, specialistFailed  SpecialistPhase = "retrying", "passed", "failed"
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

// The kinds of a run's records, and which fields of their Event are set beside Path and
// Moves. A [team.Run] adds hierarchy.run.started, hierarchy.run.finished with the Score, and
// hierarchy.warning.raised.
const (
	EventRouteDecided   team.Kind = "hierarchy.route.decided"   // Route
	EventChecksFinished team.Kind = "hierarchy.checks.finished" // Checks

	EventDepartmentStarted   team.Kind = "hierarchy.department.started"   // nothing
	EventDepartmentAnalyzed  team.Kind = "hierarchy.department.analyzed"  // Analysis
	EventHeadAsked           team.Kind = "hierarchy.head.asked"           // Basis; the head answers directly
	EventSpecialistsSelected team.Kind = "hierarchy.specialists.selected" // Agents
	EventDepartmentReviewed  team.Kind = "hierarchy.department.reviewed"  // Agents, and their Reviews in this order
	EventSynthesisReplaced   team.Kind = "hierarchy.synthesis.replaced"   // Agents, whose output is used, Score; Text says why
	EventDepartmentFinished  team.Kind = "hierarchy.department.finished"  // Status, Score, Usage
	EventDepartmentFailed    team.Kind = "hierarchy.department.failed"    // Status, Usage; Text says why
	EventDepartmentSkipped   team.Kind = "hierarchy.department.skipped"   // Status; Text says why
	EventDepartmentCanceled  team.Kind = "hierarchy.department.canceled"  // Status

	// Specialists make attempts, and heads that answer or write a synthesis. Each attempt
	// that started finishes.
	EventAttemptStarted     team.Kind = "hierarchy.attempt.started"     // Attempt, Feedback on the one before
	EventAttemptFinished    team.Kind = "hierarchy.attempt.finished"    // Attempt, Score, Decision; Text says why there is no output or no score
	EventSpecialistFinished team.Kind = "hierarchy.specialist.finished" // Status, Result without its review and attempts
)

// Event is the data of the records that a run emits. The kind says which fields are set.
// Path is "run", "dept/<id>", also for its head, or "dept/<id>/spec/<agent>".
type Event struct {
	team.Event

	Route    *routing.Route         `json:"route,omitempty"`    // Route of the request
	Analysis *routing.Analysis      `json:"analysis,omitempty"` // Analysis of the brief
	Basis    Basis                  `json:"basis,omitempty"`    // Basis says why the head answers
	Agents   []string               `json:"agents,omitempty"`   // Agents that the record is about
	Attempt  *int                   `json:"attempt,omitempty"`  // Attempt is the number of the try, from 0
	Feedback string                 `json:"feedback,omitempty"` // Feedback is what the try was told of the last one
	Score    *float64               `json:"score,omitempty"`    // Score is 0 to 100; nil: there is none
	Decision grading.Decision       `json:"decision,omitempty"` // Decision of the gate
	Result   *SpecialistResult      `json:"result,omitempty"`   // Result of the specialist
	Reviews  []grading.ReviewStatus `json:"reviews,omitempty"`  // Reviews of Agents
	Checks   *Checks                `json:"checks,omitempty"`   // Checks of the whole result
}
