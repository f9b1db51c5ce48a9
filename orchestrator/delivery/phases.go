package delivery

import (
	"slices"

	"github.com/convene-go/convene/fsm"
)

// move is an event of one of the state machines.
type move string

// The moves of a run. Work that is kept without a grade makes the move "…_unverified" in place
// of "…_approved" or "…_passed": see standing.kept.
const (
	moveStart             move = "start" // a step starts with it, too
	moveContinue          move = "continue"
	moveRefuse            move = "refuse"
	movePlanRejected      move = "plan_rejected"
	movePlanApproved      move = "plan_approved"
	movePlanFailed        move = "plan_failed"
	moveSubPlanStarted    move = "subplan_started"
	moveSubPlanFailed     move = "subplan_failed"
	moveSubPlanDone       move = "subplan_done"
	moveStepRetried       move = "step_retried"
	moveStepFailed        move = "step_failed"
	moveStepSkipped       move = "step_skipped"
	moveStepApproved      move = "step_approved"
	moveFixRejected       move = "fix_rejected"
	moveCodeApproved      move = "code_approved"
	moveTestsFailed       move = "tests_failed"
	moveTestsPassed       move = "tests_passed"
	movePlanDone          move = "plan_done"
	moveIntegrationPassed move = "integration_passed"
	moveGoalUnmet         move = "goal_unmet"
	moveGoalFailed        move = "goal_failed"
	moveGoalApproved      move = "goal_approved"
	moveFail              move = "fail" // a step and a plan fail with it, too
	moveExpire            move = "expire"
	moveAbort             move = "abort"
	moveCancel            move = "cancel"
	moveOverspend         move = "overspend"
)

// The moves of a step and of a plan.
const (
	moveSkip     move = "skip"
	moveRetry    move = "retry"
	moveDescend  move = "descend"
	moveAscend   move = "ascend"
	moveApprove  move = "approve"
	moveComplete move = "complete"
)

// Phase is where a run is. It begins as "initializing" and ends as "completed", "failed",
// "aborted" or "time_expired".
type Phase string

const (
	phaseInitializing Phase = "initializing"
	phasePlanning     Phase = "planning"  // plans and sub-plans, and their reviews
	phaseExecuting    Phase = "executing" // the coder, and reviews of code
	phaseTesting      Phase = "testing"   // the tester, and reviews of reports
	phaseVerifying    Phase = "verifying" // gates of steps and of the goal
	phaseCompleted    Phase = "completed"
	phaseFailed       Phase = "failed"
	phaseAborted      Phase = "aborted"
	phaseExpired      Phase = "time_expired"
)

// to are the rules of moves that lead to one state.
func to[P ~string](state P, from []P, moves ...move) (list []fsm.Rule[P, move, string]) {
	for _, on := range moves {
		list = append(list, fsm.Rule[P, move, string]{On: on, From: from, To: state})
	}
	return list
}

// phases is the state machine of a run. Where several moves are allowed, the flow decides. A
// step is retried while its Retrier says so. After that it gets a sub-plan if it may have one,
// and fails otherwise.
var phases = fsm.MustNew(fsm.Definition[Phase, move, string]{
	Initial:  phaseInitializing,
	States:   []Phase{phaseInitializing, phasePlanning, phaseExecuting, phaseTesting, phaseVerifying, phaseCompleted, phaseFailed, phaseAborted, phaseExpired},
	Terminal: []Phase{phaseCompleted, phaseFailed, phaseAborted, phaseExpired},
	Rules: slices.Concat(
		to(phasePlanning, []Phase{phaseInitializing}, moveStart),
		to(phaseExecuting, []Phase{phaseInitializing}, moveContinue),
		to(phaseFailed, []Phase{phaseInitializing}, moveRefuse),

		to(phasePlanning, []Phase{phasePlanning}, movePlanRejected),
		to(phaseExecuting, []Phase{phasePlanning}, movePlanApproved, unverified.kept(movePlanApproved)),
		to(phaseExecuting, []Phase{phasePlanning, phaseExecuting}, moveSubPlanFailed),
		to(phaseFailed, []Phase{phasePlanning}, movePlanFailed),

		to(phaseExecuting, []Phase{phaseExecuting, phaseVerifying}, moveStepRetried),
		to(phaseExecuting, []Phase{phaseExecuting, phaseTesting, phaseVerifying}, moveStepFailed),
		to(phaseExecuting, []Phase{phaseExecuting}, moveStepSkipped, moveFixRejected),
		to(phasePlanning, []Phase{phaseExecuting, phaseTesting, phaseVerifying}, moveSubPlanStarted, moveGoalUnmet),
		to(phaseFailed, []Phase{phaseExecuting, phaseTesting, phaseVerifying}, moveGoalFailed),
		to(phaseTesting, []Phase{phaseExecuting}, moveCodeApproved, unverified.kept(moveCodeApproved), moveSubPlanDone, movePlanDone),

		to(phaseExecuting, []Phase{phaseTesting}, moveTestsFailed),
		to(phaseVerifying, []Phase{phaseTesting}, moveTestsPassed, unverified.kept(moveTestsPassed)),
		to(phaseVerifying, []Phase{phaseTesting}, moveIntegrationPassed, unverified.kept(moveIntegrationPassed)),

		to(phaseExecuting, []Phase{phaseVerifying}, moveStepApproved, unverified.kept(moveStepApproved)),
		to(phaseCompleted, []Phase{phaseVerifying}, moveGoalApproved),

		to(phaseFailed, nil, moveFail),
		to(phaseExpired, nil, moveExpire),
		to(phaseAborted, nil, moveAbort, moveCancel, moveOverspend),
	),
})

// StepStatus is where a step or a plan is. A run that ends early leaves them "pending" or
// "in_progress".
type StepStatus string

// The states in which steps are at the end of their plan. A plan is never blocked.
const (
	StepCompleted StepStatus = "completed"
	StepFailed    StepStatus = "failed"
	StepBlocked   StepStatus = "blocked" // a step that it needs failed, or its sub-plan is running
)

const (
	stepPending    StepStatus = "pending"
	stepInProgress StepStatus = "in_progress"
)

// stepPhases is the state machine of a step. A step that is skipped stays blocked. A
// step that descends into a sub-plan ascends from it, or fails with it.
var stepPhases = fsm.MustNew(fsm.Definition[StepStatus, move, string]{
	Initial:  stepPending,
	States:   []StepStatus{stepPending, stepInProgress, StepCompleted, StepFailed, StepBlocked},
	Terminal: []StepStatus{StepCompleted, StepFailed},
	Rules: slices.Concat(
		to(stepInProgress, []StepStatus{stepPending}, moveStart),
		to(StepBlocked, []StepStatus{stepPending}, moveSkip),
		to(stepInProgress, []StepStatus{stepInProgress}, moveRetry),
		to(StepBlocked, []StepStatus{stepInProgress}, moveDescend),
		to(stepInProgress, []StepStatus{StepBlocked}, moveAscend),
		to(StepCompleted, []StepStatus{stepInProgress}, moveComplete),
		to(StepFailed, nil, moveFail),
	),
})

// planPhases is the state machine of a plan.
var planPhases = fsm.MustNew(fsm.Definition[StepStatus, move, string]{
	Initial:  stepPending,
	States:   []StepStatus{stepPending, stepInProgress, StepCompleted, StepFailed},
	Terminal: []StepStatus{StepCompleted, StepFailed},
	Rules: slices.Concat(
		to(stepInProgress, []StepStatus{stepPending}, moveApprove),
		to(StepCompleted, []StepStatus{stepInProgress}, moveComplete),
		to(StepFailed, nil, moveFail),
	),
})
