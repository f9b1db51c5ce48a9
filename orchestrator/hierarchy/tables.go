package hierarchy

import "github.com/convene-go/convene/fsm"

// RunPhase is where a run of the team is: a state of RunTable.
type RunPhase string

const (
	received    RunPhase = "received"
	choosing    RunPhase = "routing"
	dispatching RunPhase = "dispatching"
	aggregating RunPhase = "aggregating"
	validating  RunPhase = "validating"
	completed   RunPhase = "completed"
	partial     RunPhase = "partial"
	failed      RunPhase = "failed"
	canceled    RunPhase = "canceled"
)

// RunTable is what a run may do next. The events all_done and none_done, checked
// and checked_partial are decided by the flow. Nothing is tried again (H3, H73).
var RunTable = fsm.MustNew(fsm.Definition[RunPhase, string, string]{
	Initial:  received,
	States:   []RunPhase{received, choosing, dispatching, aggregating, validating, completed, partial, failed, canceled},
	Terminal: []RunPhase{completed, partial, failed, canceled},
	Rules: []fsm.Rule[RunPhase, string, string]{
		{On: "accept", From: []RunPhase{received}, To: choosing},
		{On: "reject", From: []RunPhase{received}, To: failed},
		{On: "routed", From: []RunPhase{choosing}, To: dispatching},
		{On: "error", From: []RunPhase{choosing, aggregating}, To: failed},
		{On: "wave_done", From: []RunPhase{dispatching}, To: dispatching},
		{On: "all_done", From: []RunPhase{dispatching}, To: aggregating},
		{On: "none_done", From: []RunPhase{dispatching}, To: failed},
		{On: "combined", From: []RunPhase{aggregating}, To: validating},
		{On: "checked", From: []RunPhase{validating}, To: completed},
		{On: "checked_partial", From: []RunPhase{validating}, To: partial},
		{On: "cancel", To: canceled},
	},
})

// DepartmentPhase is where a department of a run is: a state of DepartmentTable.
type DepartmentPhase string

// The phases in which a department ends, the values of Report.Status.
const (
	Done     DepartmentPhase = "done"
	Failed   DepartmentPhase = "failed"
	Skipped  DepartmentPhase = "skipped"
	Canceled DepartmentPhase = "canceled"
)

const (
	waiting      DepartmentPhase = "waiting"
	analyzing    DepartmentPhase = "analyzing"
	headDirect   DepartmentPhase = "head_direct"
	atWork       DepartmentPhase = "specialists"
	reviewing    DepartmentPhase = "reviewing"
	synthesizing DepartmentPhase = "synthesizing"
	fallback     DepartmentPhase = "fallback"
	assessing    DepartmentPhase = "assessing"
)

// DepartmentTable is what a department may do next. "error" is a hook that failed;
// "retry" and "exhausted" say whether the head has attempts left.
var DepartmentTable = fsm.MustNew(fsm.Definition[DepartmentPhase, string, string]{
	Initial:  waiting,
	States:   []DepartmentPhase{waiting, analyzing, headDirect, atWork, reviewing, synthesizing, fallback, assessing, Done, Failed, Skipped, Canceled},
	Terminal: []DepartmentPhase{Done, Failed, Skipped, Canceled},
	Rules: []fsm.Rule[DepartmentPhase, string, string]{
		{On: "ready", From: []DepartmentPhase{waiting}, To: analyzing},
		{On: "dependency_failed", From: []DepartmentPhase{waiting}, To: Skipped},
		{On: "error", From: []DepartmentPhase{analyzing}, To: Failed},
		{On: "direct", From: []DepartmentPhase{analyzing}, To: headDirect},
		{On: "spawn", From: []DepartmentPhase{analyzing}, To: atWork},
		{On: "all_finished", From: []DepartmentPhase{atWork}, To: reviewing},
		{On: "some_pass", From: []DepartmentPhase{reviewing}, To: synthesizing},
		{On: "none_pass", From: []DepartmentPhase{reviewing}, To: headDirect},
		{On: "retry", From: []DepartmentPhase{synthesizing}, To: synthesizing},
		{On: "retry", From: []DepartmentPhase{headDirect}, To: headDirect},
		{On: "ok", From: []DepartmentPhase{synthesizing, headDirect}, To: assessing},
		{On: "exhausted", From: []DepartmentPhase{synthesizing}, To: fallback},
		{On: "exhausted", From: []DepartmentPhase{headDirect}, To: Failed},
		{On: "taken", From: []DepartmentPhase{fallback}, To: assessing},
		{On: "scored", From: []DepartmentPhase{assessing}, To: Done},
		{On: "cancel", To: Canceled},
	},
})

// SpecialistPhase is where a specialist of a run is: a state of SpecialistTable.
type SpecialistPhase string

const (
	pending       SpecialistPhase = "pending"
	running       SpecialistPhase = "running"
	beingGraded   SpecialistPhase = "grading"
	retrying      SpecialistPhase = "retrying"
	passed        SpecialistPhase = "passed"
	workNotPassed SpecialistPhase = "failed"
)

// SpecialistTable is what a specialist may do next. "error", "revise" and
// "discard" lead to another attempt; "exhausted" says that none is left, "stop"
// that the run allows none.
var SpecialistTable = fsm.MustNew(fsm.Definition[SpecialistPhase, string, string]{
	Initial:  pending,
	States:   []SpecialistPhase{pending, running, beingGraded, retrying, passed, workNotPassed},
	Terminal: []SpecialistPhase{passed, workNotPassed},
	Rules: []fsm.Rule[SpecialistPhase, string, string]{
		{On: "start", From: []SpecialistPhase{pending, retrying}, To: running},
		{On: "output", From: []SpecialistPhase{running}, To: beingGraded},
		{On: "error", From: []SpecialistPhase{running}, To: retrying},
		{On: "accept", From: []SpecialistPhase{beingGraded}, To: passed},
		{On: "revise", From: []SpecialistPhase{beingGraded}, To: retrying},
		{On: "discard", From: []SpecialistPhase{beingGraded}, To: retrying},
		{On: "exhausted", From: []SpecialistPhase{running, beingGraded}, To: workNotPassed},
		{On: "stop", To: workNotPassed},
	},
})
