package delivery

import (
	"fmt"
	"slices"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// The kinds of records that a run emits. Their data is an Event, of which the named
// fields are set.
const (
	EventMessageSent    = "delivery.message.sent"    // Header, Payload
	EventPhaseChanged   = "delivery.phase.changed"   // From, Phase, On
	EventStepStarted    = "delivery.step.started"    // Target, Attempt, Left: of the step's time, Percent
	EventStepCompleted  = "delivery.step.completed"  // Target, Percent
	EventStepFailed     = "delivery.step.failed"     // Target, Text, Percent
	EventStepBlocked    = "delivery.step.blocked"    // Target, Text
	EventFixStarted     = "delivery.fix.started"     // Target, Attempt: the cycle
	EventFixFinished    = "delivery.fix.finished"    // Target, Attempt, Text: "": the fix was accepted
	EventBudgetExceeded = "delivery.budget.exceeded" // Target, Text: which one
	EventAgentRetried   = "delivery.agent.retried"   // Role, Attempt: the next one, Left: the wait before it, Text
	EventAgentFailed    = "delivery.agent.failed"    // Role, Target, Text
	EventWarningRaised  = "delivery.warning.raised"  // Warning
	EventWorkJudged     = "delivery.work.judged"     // Target, Verdict, Text: why the work is rejected; "": it passes
	EventProjectTested  = "delivery.project.tested"  // Target, Tests: the result of a real run
	EventProjectChanged = "delivery.project.changed" // Target, Text: the difference that a step made
	EventRunFinished    = "delivery.run.finished"    // Status, Text, Percent
)

// Message is the type of a message between members of the team.
type Message string

// The messages.
const (
	PlanRequest     Message = "PLAN_REQUEST"
	PlanResponse    Message = "PLAN_RESPONSE"
	ReplanRequest   Message = "REPLAN_REQUEST"
	SubPlanResponse Message = "SUBPLAN_RESPONSE"
	CodeRequest     Message = "CODE_REQUEST"
	CodeResponse    Message = "CODE_RESPONSE"
	CodeFixRequest  Message = "CODE_FIX_REQUEST"
	TestRequest     Message = "TEST_REQUEST"
	TestResponse    Message = "TEST_RESPONSE"
	FixPlanMessage  Message = "FIX_PLAN"
	VerifyRequest   Message = "VERIFY_REQUEST"
	VerifyResponse  Message = "VERIFY_RESPONSE"
	Correction      Message = "CORRECTION"
	EscalationSent  Message = "ESCALATION"
	StepComplete    Message = "STEP_COMPLETE"
	StepIsBlocked   Message = "STEP_BLOCKED"
	GoalComplete    Message = "GOAL_COMPLETE"
	Abort           Message = "ABORT"
)

// Messages are all of them.
var Messages = []Message{
	PlanRequest, PlanResponse, ReplanRequest, SubPlanResponse, CodeRequest, CodeResponse, CodeFixRequest, TestRequest, TestResponse,
	FixPlanMessage, VerifyRequest, VerifyResponse, Correction, EscalationSent, StepComplete, StepIsBlocked, GoalComplete, Abort,
}

// Beside the roles, messages go to or come from these.
const (
	conductor Role = "orchestrator"
	everybody Role = "all"
)

// Header is a message without its payload.
type Header struct {
	ID       string   `json:"id"` // m1, m2, …
	Message  Message  `json:"message"`
	From     Role     `json:"from"`
	To       Role     `json:"to"`
	Answers  string   `json:"correlationId,omitempty"` // the ID of the request
	PlanPath []string `json:"planPath,omitempty"`      // IDs, the root first
	Depth    int      `json:"depth"`
	Target   string   `json:"target,omitempty"` // the ID of the plan or step; "goal"
}

// Event is the data of the records that a run emits.
type Event struct {
	*Header

	Payload any                   `json:"payload,omitempty"` // as JSON
	From    Phase                 `json:"fromPhase,omitempty"`
	Phase   Phase                 `json:"phase,omitempty"`
	On      Move                  `json:"on,omitempty"`
	Target  string                `json:"of,omitempty"`
	Role    Role                  `json:"role,omitempty"`
	Attempt int                   `json:"attempt,omitempty"`
	Left    time.Duration         `json:"left,omitempty"` // in nanoseconds
	Percent *int                  `json:"percent,omitempty"`
	Verdict *Verdict              `json:"verdict,omitempty"`
	Tests   *TestResult           `json:"tests,omitempty"`
	Warning *orchestrator.Warning `json:"warning,omitempty"`
	Status  orchestrator.Status   `json:"status,omitempty"`
	Text    string                `json:"text,omitempty"`
}

// keptHeaders is how many headers a State has.
const keptHeaders = 1000

// fire moves the run's state machine.
func (r *run) fire(c *orchestrator.Context, on Move) {
	from := r.state.Status
	shift("run", phases, &r.state.Status, on)
	c.Emit(EventPhaseChanged, Event{From: from, Phase: r.state.Status, On: on})
}

// send emits a message and returns its ID.
func (r *run) send(c *orchestrator.Context, h Header, payload any) string {
	r.sent++
	h.ID, h.PlanPath = fmt.Sprintf("m%d", r.sent), slices.Clone(r.state.PlanStack)
	h.Depth = max(0, len(h.PlanPath)-1)
	r.state.EventLog = append(r.state.EventLog, h)
	if extra := len(r.state.EventLog) - keptHeaders; extra > 0 {
		r.state.EventLog = slices.Delete(r.state.EventLog, 0, extra)
		r.state.Dropped += extra
	}
	e := Event{Header: &h}
	if payload != nil {
		e.Payload = agent.JSON(payload)
	}
	c.Emit(EventMessageSent, e)
	return h.ID
}

// warn records a problem that does not end the run, each one once.
func (r *run) warn(c *orchestrator.Context, code, who, format string, args ...any) {
	w := orchestrator.Warning{Code: "delivery/" + code, Who: who, Message: prompt.OneLine(fmt.Sprintf(format, args...))}
	if slices.Contains(r.state.Warnings, w) {
		return
	}
	r.state.Warnings = append(r.state.Warnings, w)
	c.Emit(EventWarningRaised, Event{Warning: &w})
}

// percent is the finished part of the root plan.
func (r *run) percent() *int {
	root := r.state.root()
	if root == nil {
		return nil
	}
	finished := 0
	for _, s := range root.Steps {
		if s.Status == StepCompleted || s.Status == StepFailed || s.skipped() {
			finished++
		}
	}
	return new(100 * finished / max(len(root.Steps), 1))
}
