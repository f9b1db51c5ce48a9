package hierarchy

import (
	"github.com/convene-go/convene/fsm"
	"github.com/convene-go/convene/orchestrator"
)

// Phase is where a run is: a state of Phases.
type Phase string

// The phases of a run. Its status follows from the one in which it ends.
const (
	PhaseReceived    Phase = "received"
	PhaseRouting     Phase = "routing"
	PhaseDispatching Phase = "dispatching"
	PhaseAggregating Phase = "aggregating"
	PhaseValidating  Phase = "validating"
	PhaseCompleted   Phase = "completed"
	PhasePartial     Phase = "partial"
	PhaseOutOfBudget Phase = "out_of_budget"
	PhaseFailed      Phase = "failed"
	PhaseCanceled    Phase = "canceled"
)

// Phases is the state machine of a run. Nothing is retried.
var Phases = fsm.MustNew(fsm.Definition[Phase, string, string]{
	Initial: PhaseReceived,
	States: []Phase{
		PhaseReceived, PhaseRouting, PhaseDispatching, PhaseAggregating, PhaseValidating,
		PhaseCompleted, PhasePartial, PhaseOutOfBudget, PhaseFailed, PhaseCanceled,
	},
	Terminal: []Phase{PhaseCompleted, PhasePartial, PhaseOutOfBudget, PhaseFailed, PhaseCanceled},
	Rules: []fsm.Rule[Phase, string, string]{
		{On: "accept", From: []Phase{PhaseReceived}, To: PhaseRouting},
		{On: "routed", From: []Phase{PhaseRouting}, To: PhaseDispatching},
		{On: "wave_done", From: []Phase{PhaseDispatching}, To: PhaseDispatching},
		{On: "some_done", From: []Phase{PhaseDispatching}, To: PhaseAggregating},
		{On: "refused", From: []Phase{PhaseDispatching}, To: PhaseOutOfBudget},
		{On: "combined", From: []Phase{PhaseAggregating}, To: PhaseValidating},
		{On: "checked_all", From: []Phase{PhaseValidating}, To: PhaseCompleted},
		{On: "checked_part", From: []Phase{PhaseValidating}, To: PhasePartial},
		{On: "fail", From: []Phase{PhaseReceived, PhaseRouting, PhaseDispatching, PhaseAggregating}, To: PhaseFailed},
		{On: "cancel", To: PhaseCanceled},
	},
})

// statuses are those of the phases in which runs end.
var statuses = map[Phase]orchestrator.Status{
	PhaseCompleted: orchestrator.Completed, PhasePartial: orchestrator.Partial, PhaseOutOfBudget: orchestrator.OutOfBudget,
	PhaseFailed: orchestrator.Failed, PhaseCanceled: orchestrator.Canceled,
}

// DepartmentPhase is where a department of a run is: a state of DepartmentPhases.
type DepartmentPhase string

// The phases of a department. Report.Status is one of the last four.
const (
	DepartmentWaiting      DepartmentPhase = "waiting"
	DepartmentAnalyzing    DepartmentPhase = "analyzing"
	DepartmentHeadDirect   DepartmentPhase = "head_direct"
	DepartmentSpecialists  DepartmentPhase = "specialists"
	DepartmentReviewing    DepartmentPhase = "reviewing"
	DepartmentSynthesizing DepartmentPhase = "synthesizing"
	DepartmentFallback     DepartmentPhase = "fallback"
	DepartmentAssessing    DepartmentPhase = "assessing"
	DepartmentDone         DepartmentPhase = "done"
	DepartmentFailed       DepartmentPhase = "failed"
	DepartmentSkipped      DepartmentPhase = "skipped"
	DepartmentCanceled     DepartmentPhase = "canceled"
)

// DepartmentPhases is the state machine of a department. "retry" is a further attempt of
// the head.
var DepartmentPhases = fsm.MustNew(fsm.Definition[DepartmentPhase, string, string]{
	Initial: DepartmentWaiting,
	States: []DepartmentPhase{
		DepartmentWaiting, DepartmentAnalyzing, DepartmentHeadDirect, DepartmentSpecialists, DepartmentReviewing, DepartmentSynthesizing,
		DepartmentFallback, DepartmentAssessing, DepartmentDone, DepartmentFailed, DepartmentSkipped, DepartmentCanceled,
	},
	Terminal: []DepartmentPhase{DepartmentDone, DepartmentFailed, DepartmentSkipped, DepartmentCanceled},
	Rules: []fsm.Rule[DepartmentPhase, string, string]{
		{On: "ready", From: []DepartmentPhase{DepartmentWaiting}, To: DepartmentAnalyzing},
		{On: "dependency_missing", From: []DepartmentPhase{DepartmentWaiting}, To: DepartmentSkipped},
		{On: "direct", From: []DepartmentPhase{DepartmentAnalyzing}, To: DepartmentHeadDirect},
		{On: "spawn", From: []DepartmentPhase{DepartmentAnalyzing}, To: DepartmentSpecialists},
		{On: "all_finished", From: []DepartmentPhase{DepartmentSpecialists}, To: DepartmentReviewing},
		{On: "some_pass", From: []DepartmentPhase{DepartmentReviewing}, To: DepartmentSynthesizing},
		{On: "none_pass", From: []DepartmentPhase{DepartmentReviewing}, To: DepartmentHeadDirect},
		{On: "retry", From: []DepartmentPhase{DepartmentSynthesizing}, To: DepartmentSynthesizing},
		{On: "retry", From: []DepartmentPhase{DepartmentHeadDirect}, To: DepartmentHeadDirect},
		{On: "ok", From: []DepartmentPhase{DepartmentSynthesizing, DepartmentHeadDirect}, To: DepartmentAssessing},
		{On: "exhausted", From: []DepartmentPhase{DepartmentSynthesizing}, To: DepartmentFallback},
		{On: "taken", From: []DepartmentPhase{DepartmentFallback}, To: DepartmentAssessing},
		{On: "scored", From: []DepartmentPhase{DepartmentAssessing}, To: DepartmentDone},
		{On: "fail", From: []DepartmentPhase{DepartmentAnalyzing, DepartmentHeadDirect}, To: DepartmentFailed},
		{On: "cancel", To: DepartmentCanceled},
	},
})

// SpecialistPhase is where a specialist of a run is: a state of SpecialistPhases.
type SpecialistPhase string

// The phases of a specialist.
const (
	SpecialistPending  SpecialistPhase = "pending"
	SpecialistRunning  SpecialistPhase = "running"
	SpecialistGrading  SpecialistPhase = "grading"
	SpecialistRetrying SpecialistPhase = "retrying"
	SpecialistPassed   SpecialistPhase = "passed"
	SpecialistFailed   SpecialistPhase = "failed"
)

// SpecialistPhases is the state machine of a specialist. "error", "revise" and "discard"
// lead to another attempt; "exhausted" says that none is left, "stop" that the run
// allows none.
var SpecialistPhases = fsm.MustNew(fsm.Definition[SpecialistPhase, string, string]{
	Initial:  SpecialistPending,
	States:   []SpecialistPhase{SpecialistPending, SpecialistRunning, SpecialistGrading, SpecialistRetrying, SpecialistPassed, SpecialistFailed},
	Terminal: []SpecialistPhase{SpecialistPassed, SpecialistFailed},
	Rules: []fsm.Rule[SpecialistPhase, string, string]{
		{On: "start", From: []SpecialistPhase{SpecialistPending, SpecialistRetrying}, To: SpecialistRunning},
		{On: "output", From: []SpecialistPhase{SpecialistRunning}, To: SpecialistGrading},
		{On: "error", From: []SpecialistPhase{SpecialistRunning}, To: SpecialistRetrying},
		{On: "accept", From: []SpecialistPhase{SpecialistGrading}, To: SpecialistPassed},
		{On: "revise", From: []SpecialistPhase{SpecialistGrading}, To: SpecialistRetrying},
		{On: "discard", From: []SpecialistPhase{SpecialistGrading}, To: SpecialistRetrying},
		{On: "ungraded", From: []SpecialistPhase{SpecialistGrading}, To: SpecialistFailed},
		{On: "exhausted", From: []SpecialistPhase{SpecialistRunning, SpecialistGrading}, To: SpecialistFailed},
		{On: "stop", From: []SpecialistPhase{SpecialistPending, SpecialistRunning}, To: SpecialistFailed},
	},
})
