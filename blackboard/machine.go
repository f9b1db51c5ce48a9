package blackboard

import "github.com/convene-go/convene/fsm"

// State is the state of a task.
type State string

// The states of tasks. COMPLETE and ABANDONED are final.
const (
	Planned      State = "PLANNED"       // added, not evaluated yet
	Ready        State = "READY"         // may be dispatched
	Blocked      State = "BLOCKED"       // waits; its BlockedReason says for what
	Active       State = "ACTIVE"        // a worker works on it
	AwaitingQA   State = "AWAITING_QA"   // the artifact is frozen and under review
	FailedQA     State = "FAILED_QA"     // the review, or the merge after it, failed
	Complete     State = "COMPLETE"      // the work is merged
	WaitingHuman State = "WAITING_HUMAN" // a person was asked and has not answered
	Abandoned    State = "ABANDONED"     // will not be done; kept for the record
)

// Role is the part that the maker of a change plays in the team.
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
	EventReady    Event = "ready"    // all that it needs is complete
	EventBlock    Event = "block"    // it waits for something
	EventUnblock  Event = "unblock"  // all that it waited for is complete
	EventDispatch Event = "dispatch" // a worker begins an attempt
	EventDeliver  Event = "deliver"  // the worker is done, or a person accepts the artifact
	EventPause    Event = "pause"    // the worker waits for subtasks or something outside
	EventLose     Event = "lose"     // the attempt failed by a crash, a stall or the like; costs a retry
	EventRelease  Event = "release"  // the attempt was canceled or interrupted; costs no retry
	EventResolve  Event = "resolve"  // the worker's question is answered
	EventAsk      Event = "ask"      // a person is asked
	EventPass     Event = "pass"     // reviewed and merged
	EventFail     Event = "fail"     // the review failed; costs a retry
	EventConflict Event = "conflict" // the merge failed; costs no retry
	EventUngraded Event = "ungraded" // there was no review; costs no retry
	EventPhoenix  Event = "phoenix"  // another attempt starts from a wiped memory
	EventWaitFix  Event = "wait_fix" // other tasks have to fix the code first
	EventEscalate Event = "escalate" // no attempt is left
	EventRetry    Event = "retry"    // a person wants another attempt
	EventAccept   Event = "accept"   // a person takes the last reviewed artifact as it is
	EventAbandon  Event = "abandon"  // it will not be done
)

// TaskTable says which event leads from which state to which, and which roles may cause it.
// [Editor.Apply] checks further conditions: the fields that an event needs are in [Move],
// and a task becomes ACTIVE only when all that it needs is COMPLETE.
//
// For example, a task that passes at its second attempt takes this way:
//
//	PLANNED  ready→  READY  dispatch→  ACTIVE  deliver→  AWAITING_QA  fail→  FAILED_QA
//	  phoenix→  READY  dispatch→  ACTIVE  deliver→  AWAITING_QA  pass→  COMPLETE
//
// COMPLETE and ABANDONED are final: no event leaves them.
func TaskTable() *fsm.Table[State, Event, Role] { return taskTable }

var taskTable = fsm.MustNew(fsm.Definition[State, Event, Role]{
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

// StrategyTable says which event changes the strategy, and which roles may cause it.
func StrategyTable() *fsm.Table[Strategy, StrategyEvent, Role] { return strategyTable }

var strategyTable = fsm.MustNew(fsm.Definition[Strategy, StrategyEvent, Role]{
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
