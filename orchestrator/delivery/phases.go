package delivery

import "github.com/convene-go/convene/fsm"

// Move is an event of one of the state machines.
type Move string

// The moves of a run. A part of the run whose work has no grade makes a move "…_unverified"
// in place of "…_approved" or "…_passed".
const (
	moveStart                 Move = "start" // also of a step
	moveContinue              Move = "continue"
	moveRefuse                Move = "refuse"
	movePlanRejected          Move = "plan_rejected"
	movePlanApproved          Move = "plan_approved"
	movePlanUnverified        Move = "plan_unverified"
	movePlanFailed            Move = "plan_failed"
	moveSubPlanStarted        Move = "subplan_started"
	moveSubPlanFailed         Move = "subplan_failed"
	moveSubPlanDone           Move = "subplan_done"
	moveStepRetried           Move = "step_retried"
	moveStepFailed            Move = "step_failed"
	moveStepSkipped           Move = "step_skipped"
	moveStepApproved          Move = "step_approved"
	moveStepUnverified        Move = "step_unverified"
	moveFixRejected           Move = "fix_rejected"
	moveCodeApproved          Move = "code_approved"
	moveCodeUnverified        Move = "code_unverified"
	moveTestsFailed           Move = "tests_failed"
	moveTestsPassed           Move = "tests_passed"
	moveTestsUnverified       Move = "tests_unverified"
	movePlanDone              Move = "plan_done"
	moveIntegrationPassed     Move = "integration_passed"
	moveIntegrationUnverified Move = "integration_unverified"
	moveGoalUnmet             Move = "goal_unmet"
	moveGoalFailed            Move = "goal_failed"
	moveGoalApproved          Move = "goal_approved"
	moveFail                  Move = "fail" // also of a step or a plan
	moveExpire                Move = "expire"
	moveAbort                 Move = "abort"
	moveCancel                Move = "cancel"
	moveOverspend             Move = "overspend"
)

// The moves of a step and of a plan.
const (
	moveSkip     Move = "skip"
	moveRetry    Move = "retry"
	moveDescend  Move = "descend"
	moveAscend   Move = "ascend"
	moveApprove  Move = "approve"
	moveComplete Move = "complete"
)

// Phase is where a run is: a state of Phases.
type Phase string

const (
	phaseInitializing Phase = "initializing"
	phasePlanning     Phase = "planning"  // plans and sub-plans, and their reviews
	phaseExecuting    Phase = "executing" // the coder, and reviews of code
	phaseTesting      Phase = "testing"   // the tester, and reviews of reports
	phaseVerifying    Phase = "verifying" // gates of steps and of the goal
)

// The phases in which a run ends.
const (
	Completed  Phase = "completed"
	failedRun  Phase = "failed"
	abortedRun Phase = "aborted"
	expiredRun Phase = "time_expired"
)

// Phases returns the state machine of a run. Where several moves are allowed, the flow
// decides. A step is retried while its Retrier says so. After that it gets a sub-plan if it
// may have one, and fails otherwise.
func Phases() *fsm.Table[Phase, Move, string] { return phases }

var phases = fsm.MustNew(fsm.Definition[Phase, Move, string]{
	Initial:  phaseInitializing,
	States:   []Phase{phaseInitializing, phasePlanning, phaseExecuting, phaseTesting, phaseVerifying, Completed, failedRun, abortedRun, expiredRun},
	Terminal: []Phase{Completed, failedRun, abortedRun, expiredRun},
	Rules: []fsm.Rule[Phase, Move, string]{
		{On: moveStart, From: []Phase{phaseInitializing}, To: phasePlanning},
		{On: moveContinue, From: []Phase{phaseInitializing}, To: phaseExecuting},
		{On: moveRefuse, From: []Phase{phaseInitializing}, To: failedRun},

		{On: movePlanRejected, From: []Phase{phasePlanning}, To: phasePlanning},
		{On: movePlanApproved, From: []Phase{phasePlanning}, To: phaseExecuting},
		{On: movePlanUnverified, From: []Phase{phasePlanning}, To: phaseExecuting},
		{On: moveSubPlanFailed, From: []Phase{phasePlanning, phaseExecuting}, To: phaseExecuting},
		{On: movePlanFailed, From: []Phase{phasePlanning}, To: failedRun},

		{On: moveStepRetried, From: []Phase{phaseExecuting, phaseVerifying}, To: phaseExecuting},
		{On: moveStepFailed, From: []Phase{phaseExecuting, phaseTesting, phaseVerifying}, To: phaseExecuting},
		{On: moveStepSkipped, From: []Phase{phaseExecuting}, To: phaseExecuting},
		{On: moveFixRejected, From: []Phase{phaseExecuting}, To: phaseExecuting},
		{On: moveSubPlanStarted, From: []Phase{phaseExecuting, phaseTesting, phaseVerifying}, To: phasePlanning},
		{On: moveGoalUnmet, From: []Phase{phaseExecuting, phaseTesting, phaseVerifying}, To: phasePlanning},
		{On: moveGoalFailed, From: []Phase{phaseExecuting, phaseTesting, phaseVerifying}, To: failedRun},
		{On: moveCodeApproved, From: []Phase{phaseExecuting}, To: phaseTesting},
		{On: moveCodeUnverified, From: []Phase{phaseExecuting}, To: phaseTesting},
		{On: moveSubPlanDone, From: []Phase{phaseExecuting}, To: phaseTesting},
		{On: movePlanDone, From: []Phase{phaseExecuting}, To: phaseTesting},

		{On: moveTestsFailed, From: []Phase{phaseTesting}, To: phaseExecuting},
		{On: moveTestsPassed, From: []Phase{phaseTesting}, To: phaseVerifying},
		{On: moveTestsUnverified, From: []Phase{phaseTesting}, To: phaseVerifying},
		{On: moveIntegrationPassed, From: []Phase{phaseTesting}, To: phaseVerifying},
		{On: moveIntegrationUnverified, From: []Phase{phaseTesting}, To: phaseVerifying},

		{On: moveStepApproved, From: []Phase{phaseVerifying}, To: phaseExecuting},
		{On: moveStepUnverified, From: []Phase{phaseVerifying}, To: phaseExecuting},
		{On: moveGoalApproved, From: []Phase{phaseVerifying}, To: Completed},

		{On: moveFail, To: failedRun},
		{On: moveExpire, To: expiredRun},
		{On: moveAbort, To: abortedRun},
		{On: moveCancel, To: abortedRun},
		{On: moveOverspend, To: abortedRun},
	},
})

// StepStatus is where a step is: "pending", "in_progress" or one of these.
type StepStatus string

// The states in which a step is at the end of its plan. A run that ends earlier leaves
// steps "pending" or "in_progress".
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
var stepPhases = fsm.MustNew(fsm.Definition[StepStatus, Move, string]{
	Initial:  stepPending,
	States:   []StepStatus{stepPending, stepInProgress, StepCompleted, StepFailed, StepBlocked},
	Terminal: []StepStatus{StepCompleted, StepFailed},
	Rules: []fsm.Rule[StepStatus, Move, string]{
		{On: moveStart, From: []StepStatus{stepPending}, To: stepInProgress},
		{On: moveSkip, From: []StepStatus{stepPending}, To: StepBlocked},
		{On: moveRetry, From: []StepStatus{stepInProgress}, To: stepInProgress},
		{On: moveDescend, From: []StepStatus{stepInProgress}, To: StepBlocked},
		{On: moveAscend, From: []StepStatus{StepBlocked}, To: stepInProgress},
		{On: moveComplete, From: []StepStatus{stepInProgress}, To: StepCompleted},
		{On: moveFail, To: StepFailed},
	},
})

// planStatus is where a plan is: "pending", "in_progress", "completed" or "failed".
type planStatus string

const (
	planPending    planStatus = "pending"
	planInProgress planStatus = "in_progress"
	planCompleted  planStatus = "completed"
	planFailed     planStatus = "failed"
)

// planPhases is the state machine of a plan.
var planPhases = fsm.MustNew(fsm.Definition[planStatus, Move, string]{
	Initial:  planPending,
	States:   []planStatus{planPending, planInProgress, planCompleted, planFailed},
	Terminal: []planStatus{planCompleted, planFailed},
	Rules: []fsm.Rule[planStatus, Move, string]{
		{On: moveApprove, From: []planStatus{planPending}, To: planInProgress},
		{On: moveComplete, From: []planStatus{planInProgress}, To: planCompleted},
		{On: moveFail, To: planFailed},
	},
})
