package delivery

import "github.com/convene-go/convene/fsm"

// Phase is where a run is: a state of [Phases].
type Phase string

// The phases.
const (
	Initializing Phase = "initializing"
	Planning     Phase = "planning"  // plans and sub-plans, and their reviews
	Executing    Phase = "executing" // the coder, and reviews of code
	Testing      Phase = "testing"   // the tester, and reviews of reports
	Verifying    Phase = "verifying" // gates of steps and of the goal
	Completed    Phase = "completed"
	Failed       Phase = "failed"
	Aborted      Phase = "aborted"
	TimeExpired  Phase = "time_expired"
)

// Phases is the state machine of a run. Where several events are allowed, the flow
// decides: step_retried while the step has attempts left, subplan_started when it has
// none and may have a sub-plan, step_failed otherwise; goal_unmet while iterations are
// left, goal_failed otherwise. Ungraded work that is kept fires "…_unverified".
var Phases = fsm.MustNew(fsm.Definition[Phase, string, string]{
	Initial:  Initializing,
	States:   []Phase{Initializing, Planning, Executing, Testing, Verifying, Completed, Failed, Aborted, TimeExpired},
	Terminal: []Phase{Completed, Failed, Aborted, TimeExpired},
	Rules: []fsm.Rule[Phase, string, string]{
		{On: "start", From: []Phase{Initializing}, To: Planning},
		{On: "continue", From: []Phase{Initializing}, To: Executing},
		{On: "refuse", From: []Phase{Initializing}, To: Failed},

		{On: "plan_rejected", From: []Phase{Planning}, To: Planning},
		{On: "plan_approved", From: []Phase{Planning}, To: Executing},
		{On: "plan_unverified", From: []Phase{Planning}, To: Executing},
		{On: "subplan_failed", From: []Phase{Planning, Executing}, To: Executing},
		{On: "plan_failed", From: []Phase{Planning}, To: Failed},

		{On: "step_retried", From: []Phase{Executing, Verifying}, To: Executing},
		{On: "step_failed", From: []Phase{Executing, Testing, Verifying}, To: Executing},
		{On: "step_skipped", From: []Phase{Executing}, To: Executing},
		{On: "fix_rejected", From: []Phase{Executing}, To: Executing},
		{On: "subplan_started", From: []Phase{Executing, Testing, Verifying}, To: Planning},
		{On: "goal_unmet", From: []Phase{Executing, Testing, Verifying}, To: Planning},
		{On: "goal_failed", From: []Phase{Executing, Testing, Verifying}, To: Failed},
		{On: "code_approved", From: []Phase{Executing}, To: Testing},
		{On: "code_unverified", From: []Phase{Executing}, To: Testing},
		{On: "subplan_done", From: []Phase{Executing}, To: Testing},
		{On: "plan_done", From: []Phase{Executing}, To: Testing},

		{On: "tests_failed", From: []Phase{Testing}, To: Executing},
		{On: "tests_passed", From: []Phase{Testing}, To: Verifying},
		{On: "tests_unverified", From: []Phase{Testing}, To: Verifying},
		{On: "integration_passed", From: []Phase{Testing}, To: Verifying},
		{On: "integration_unverified", From: []Phase{Testing}, To: Verifying},

		{On: "step_approved", From: []Phase{Verifying}, To: Executing},
		{On: "step_unverified", From: []Phase{Verifying}, To: Executing},
		{On: "goal_approved", From: []Phase{Verifying}, To: Completed},

		{On: "expire", To: TimeExpired},
		{On: "abort", To: Aborted},
		{On: "cancel", To: Aborted},
		{On: "overspend", To: Aborted},
	},
})

// StepStatus is where a step is: a state of [StepPhases].
type StepStatus string

// The states of a step.
const (
	StepPending    StepStatus = "pending"
	StepInProgress StepStatus = "in_progress"
	StepCompleted  StepStatus = "completed"
	StepFailed     StepStatus = "failed"
	StepBlocked    StepStatus = "blocked" // a step that it needs failed, or its sub-plan is running
)

// StepPhases is the state machine of a step. A step that is skipped stays blocked; one
// that descends into a sub-plan ascends from it, or fails with it.
var StepPhases = fsm.MustNew(fsm.Definition[StepStatus, string, string]{
	Initial:  StepPending,
	States:   []StepStatus{StepPending, StepInProgress, StepCompleted, StepFailed, StepBlocked},
	Terminal: []StepStatus{StepCompleted, StepFailed},
	Rules: []fsm.Rule[StepStatus, string, string]{
		{On: "begin", From: []StepStatus{StepPending}, To: StepInProgress},
		{On: "skip", From: []StepStatus{StepPending}, To: StepBlocked},
		{On: "retry", From: []StepStatus{StepInProgress}, To: StepInProgress},
		{On: "descend", From: []StepStatus{StepInProgress}, To: StepBlocked},
		{On: "ascend", From: []StepStatus{StepBlocked}, To: StepInProgress},
		{On: "complete", From: []StepStatus{StepInProgress}, To: StepCompleted},
		{On: "fail", From: []StepStatus{StepInProgress, StepBlocked}, To: StepFailed},
	},
})

// PlanStatus is where a plan is: a state of [PlanPhases].
type PlanStatus string

// The states of a plan.
const (
	PlanPending    PlanStatus = "pending"
	PlanInProgress PlanStatus = "in_progress"
	PlanCompleted  PlanStatus = "completed"
	PlanFailed     PlanStatus = "failed"
)

// PlanPhases is the state machine of a plan.
var PlanPhases = fsm.MustNew(fsm.Definition[PlanStatus, string, string]{
	Initial:  PlanPending,
	States:   []PlanStatus{PlanPending, PlanInProgress, PlanCompleted, PlanFailed},
	Terminal: []PlanStatus{PlanCompleted, PlanFailed},
	Rules: []fsm.Rule[PlanStatus, string, string]{
		{On: "approve", From: []PlanStatus{PlanPending}, To: PlanInProgress},
		{On: "complete", From: []PlanStatus{PlanInProgress}, To: PlanCompleted},
		{On: "fail", From: []PlanStatus{PlanPending, PlanInProgress}, To: PlanFailed},
	},
})
