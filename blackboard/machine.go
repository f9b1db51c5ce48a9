package blackboard

import "github.com/convene-go/convene/fsm"

// State is where a task stands.
type State string

// The states of tasks. COMPLETE and ABANDONED are final.
const (
	Planned      State = "PLANNED"       // added, not evaluated yet
	Ready        State = "READY"         // may be dispatched
	Blocked      State = "BLOCKED"       // waits for what its BlockedReason says
	Active       State = "ACTIVE"        // a worker works on it
	AwaitingQA   State = "AWAITING_QA"   // the artifact is frozen and reviewed
	FailedQA     State = "FAILED_QA"     // the review, or the merge after it, failed
	Complete     State = "COMPLETE"      // the work is merged
	WaitingHuman State = "WAITING_HUMAN" // a person was asked
	Abandoned    State = "ABANDONED"     // canceled, kept for the record
)

// Role is who makes a change.
type Role string

// The roles.
const (
	RoleDirector   Role = "director"
	RoleWorker     Role = "worker"
	RoleStrategist Role = "strategist"
	RoleGuardian   Role = "guardian"
)

// Event is what happens to a task.
type Event string

// The events of [TaskTable].
const (
	EventReady    Event = "ready"    // all it needs is complete
	EventBlock    Event = "block"    // it waits for something
	EventUnblock  Event = "unblock"  // what it waited for is complete
	EventDispatch Event = "dispatch" // a worker begins an attempt
	EventDeliver  Event = "deliver"  // the worker is done, or a person accepts the artifact
	EventPause    Event = "pause"    // the worker waits for subtasks or something outside
	EventLose     Event = "lose"     // the attempt failed by a crash, a stall or the like: one retry
	EventRelease  Event = "release"  // the attempt was canceled or interrupted: no retry
	EventResolve  Event = "resolve"  // what the worker asked is answered
	EventAsk      Event = "ask"      // a person is asked
	EventPass     Event = "pass"     // reviewed and merged
	EventFail     Event = "fail"     // the review failed: one retry
	EventConflict Event = "conflict" // the merge failed: no retry
	EventUngraded Event = "ungraded" // there was no review: no retry
	EventPhoenix  Event = "phoenix"  // a new attempt with a wiped memory
	EventWaitFix  Event = "wait_fix" // the code is to be fixed first
	EventEscalate Event = "escalate" // no attempt is left
	EventRetry    Event = "retry"    // a person wants another attempt
	EventAccept   Event = "accept"   // a person takes the last reviewed artifact as it is
	EventAbandon  Event = "abandon"  // it will not be done
)

// TaskTable says which events lead from state to state, and who may cause them. Other
// conditions are checked by [Editor.Apply].
var TaskTable = fsm.MustNew(fsm.Definition[State, Event, Role]{
	Initial:  Planned,
	States:   []State{Planned, Ready, Blocked, Active, AwaitingQA, FailedQA, Complete, WaitingHuman, Abandoned},
	Terminal: []State{Complete, Abandoned},
	Rules: []fsm.Rule[State, Event, Role]{
		{On: EventReady, From: []State{Planned}, To: Ready, Roles: director},
		{On: EventBlock, From: []State{Planned, Ready}, To: Blocked, Roles: director},
		{On: EventUnblock, From: []State{Blocked}, To: Ready, Roles: director},
		{On: EventDispatch, From: []State{Ready}, To: Active, Roles: director},
		{On: EventDeliver, From: []State{Active}, To: AwaitingQA, Roles: []Role{RoleWorker}},
		{On: EventPause, From: []State{Active}, To: Blocked, Roles: director},
		{On: EventLose, From: []State{Active}, To: Ready, Roles: director},
		{On: EventRelease, From: []State{Active}, To: Ready, Roles: director},
		{On: EventResolve, From: []State{Active}, To: Ready, Roles: director},
		{On: EventAsk, From: []State{Active, Blocked}, To: WaitingHuman, Roles: director},
		{On: EventPass, From: []State{AwaitingQA}, To: Complete, Roles: strategist},
		{On: EventFail, From: []State{AwaitingQA}, To: FailedQA, Roles: strategist},
		{On: EventConflict, From: []State{AwaitingQA}, To: FailedQA, Roles: strategist},
		{On: EventUngraded, From: []State{AwaitingQA}, To: FailedQA, Roles: strategist},
		{On: EventPhoenix, From: []State{FailedQA}, To: Ready, Roles: director},
		{On: EventWaitFix, From: []State{FailedQA}, To: Blocked, Roles: director},
		{On: EventEscalate, From: []State{FailedQA}, To: WaitingHuman, Roles: director},
		{On: EventRetry, From: []State{WaitingHuman}, To: Ready, Roles: director},
		{On: EventAccept, From: []State{WaitingHuman}, To: Ready, Roles: director},
		{On: EventAbandon, To: Abandoned, Roles: director},
	},
})

// Strategy says whether the run makes progress.
type Strategy string

// The states of the strategy.
const (
	Progressing Strategy = "PROGRESSING"
	Stagnating  Strategy = "STAGNATING"
)

// StrategyEvent is what happens to the strategy.
type StrategyEvent string

// The events of [StrategyTable].
const (
	Stagnate  StrategyEvent = "stagnate"  // too many failures
	Replanned StrategyEvent = "replanned" // the tasks were changed
	Progress  StrategyEvent = "progress"  // a task passed
)

// StrategyTable says how the strategy changes, and which role may change it.
var StrategyTable = fsm.MustNew(fsm.Definition[Strategy, StrategyEvent, Role]{
	Initial: Progressing,
	States:  []Strategy{Progressing, Stagnating},
	Rules: []fsm.Rule[Strategy, StrategyEvent, Role]{
		{On: Stagnate, From: []Strategy{Progressing}, To: Stagnating, Roles: strategist},
		{On: Replanned, From: []Strategy{Stagnating}, To: Progressing, Roles: director},
		{On: Progress, From: []Strategy{Stagnating}, To: Progressing, Roles: director},
	},
})

var (
	director   = []Role{RoleDirector}
	strategist = []Role{RoleStrategist}
	guardian   = []Role{RoleGuardian}
	everybody  = []Role{RoleDirector, RoleWorker, RoleStrategist, RoleGuardian}
)
