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

// endings are the moves that end a run without a result, by the status that they lead to.
var endings = map[orchestrator.Status]Move{
	orchestrator.Canceled: moveCancel, orchestrator.OutOfBudget: moveRefused, orchestrator.Failed: moveFail,
}

// Phases returns the state machine of a run. A run retries nothing.
func Phases() *fsm.Table[Phase, Move, string] { return phases }

var phases = fsm.MustNew(fsm.Definition[Phase, Move, string]{
	Initial: "received",
	States: []Phase{
		"received", "routing", "dispatching", "aggregating", "validating",
		"completed", "partial", "out_of_budget", "failed", "canceled",
	},
	Terminal: []Phase{"completed", "partial", "out_of_budget", "failed", "canceled"},
	Rules: []fsm.Rule[Phase, Move, string]{
		{On: moveAccept, From: []Phase{"received"}, To: "routing"},
		{On: moveRouted, From: []Phase{"routing"}, To: "dispatching"},
		{On: moveWaveDone, From: []Phase{"dispatching"}, To: "dispatching"},
		{On: moveSomeDone, From: []Phase{"dispatching"}, To: "aggregating"},
		{On: moveRefused, To: "out_of_budget"},
		{On: moveCombined, From: []Phase{"aggregating"}, To: "validating"},
		{On: moveCheckedAll, From: []Phase{"validating"}, To: "completed"},
		{On: moveCheckedPart, From: []Phase{"validating"}, To: "partial"},
		{On: moveFail, To: "failed"},
		{On: moveCancel, To: "canceled"},
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

// DepartmentPhases returns the state machine of a department. "retry" is a further try of
// the head.
func DepartmentPhases() *fsm.Table[DepartmentPhase, Move, string] { return departmentPhases }

var departmentPhases = fsm.MustNew(fsm.Definition[DepartmentPhase, Move, string]{
	Initial: "waiting",
	States: []DepartmentPhase{
		"waiting", "analyzing", "head_direct", "specialists", "reviewing", "synthesizing",
		"fallback", "assessing", DepartmentDone, DepartmentFailed, DepartmentSkipped, DepartmentCanceled,
	},
	Terminal: []DepartmentPhase{DepartmentDone, DepartmentFailed, DepartmentSkipped, DepartmentCanceled},
	Rules: []fsm.Rule[DepartmentPhase, Move, string]{
		{On: moveReady, From: []DepartmentPhase{"waiting"}, To: "analyzing"},
		{On: moveDependencyMissing, From: []DepartmentPhase{"waiting"}, To: DepartmentSkipped},
		{On: moveDirect, From: []DepartmentPhase{"analyzing"}, To: "head_direct"},
		{On: moveSpawn, From: []DepartmentPhase{"analyzing"}, To: "specialists"},
		{On: moveAllFinished, From: []DepartmentPhase{"specialists"}, To: "reviewing"},
		{On: moveSomePass, From: []DepartmentPhase{"reviewing"}, To: "synthesizing"},
		{On: moveNonePass, From: []DepartmentPhase{"reviewing"}, To: "head_direct"},
		{On: moveRetry, From: []DepartmentPhase{"synthesizing"}, To: "synthesizing"},
		{On: moveRetry, From: []DepartmentPhase{"head_direct"}, To: "head_direct"},
		{On: moveOK, From: []DepartmentPhase{"synthesizing", "head_direct"}, To: "assessing"},
		{On: moveExhausted, From: []DepartmentPhase{"synthesizing"}, To: "fallback"},
		{On: moveTaken, From: []DepartmentPhase{"fallback"}, To: "assessing"},
		{On: moveScored, From: []DepartmentPhase{"assessing"}, To: DepartmentDone},
		{On: moveFail, To: DepartmentFailed},
		{On: moveCancel, To: DepartmentCanceled},
	},
})

// SpecialistPhase is where a specialist of a run is: a state of SpecialistPhases.
type SpecialistPhase string

// SpecialistPhases returns the state machine of a specialist. "error", "revise" and
// "discard" lead to another try. "exhausted" says that none is left, "stop" that none may
// be made.
func SpecialistPhases() *fsm.Table[SpecialistPhase, Move, string] { return specialistPhases }

var specialistPhases = fsm.MustNew(fsm.Definition[SpecialistPhase, Move, string]{
	Initial:  "pending",
	States:   []SpecialistPhase{"pending", "running", "grading", "retrying", "passed", "failed"},
	Terminal: []SpecialistPhase{"passed", "failed"},
	Rules: []fsm.Rule[SpecialistPhase, Move, string]{
		{On: moveStart, From: []SpecialistPhase{"pending", "retrying"}, To: "running"},
		{On: moveOutput, From: []SpecialistPhase{"running"}, To: "grading"},
		{On: moveError, From: []SpecialistPhase{"running"}, To: "retrying"},
		{On: moveAccept, From: []SpecialistPhase{"grading"}, To: "passed"},
		{On: moveRevise, From: []SpecialistPhase{"grading"}, To: "retrying"},
		{On: moveDiscard, From: []SpecialistPhase{"grading"}, To: "retrying"},
		{On: moveUngraded, From: []SpecialistPhase{"grading"}, To: "failed"},
		{On: moveExhausted, From: []SpecialistPhase{"running", "grading"}, To: "failed"},
		{On: moveStop, To: "failed"},
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

	// Specialists make attempts, and heads that answer or write a synthesis. Each started
	// attempt has its attempt.finished.
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
