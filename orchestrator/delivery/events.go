package delivery

import (
	"fmt"
	"slices"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/page"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// The kinds of records that a run emits, beside those of [team.Common]. Their data is an Event,
// of which the named fields are set.
const (
	EventMessageSent    team.Kind = "delivery.message.sent"    // Header, Payload
	eventPhaseChanged   team.Kind = "delivery.phase.changed"   // Moves: the move of the run
	EventStepStarted    team.Kind = "delivery.step.started"    // Target, Try, Left: of the step's time, Percent
	EventStepCompleted  team.Kind = "delivery.step.completed"  // Target, Percent
	EventStepFailed     team.Kind = "delivery.step.failed"     // Target, Text, Percent
	EventStepBlocked    team.Kind = "delivery.step.blocked"    // Target, Text
	EventPlanRevised    team.Kind = "delivery.plan.revised"    // Target, Text: the difference, "-" and "+" before each step; Percent
	eventFixStarted     team.Kind = "delivery.fix.started"     // Target, Try: number of the fix
	eventFixFinished    team.Kind = "delivery.fix.finished"    // Target, Try, Text: "": the fix was accepted
	EventBudgetExceeded team.Kind = "delivery.budget.exceeded" // Target, Text: which time is up
	EventWorkJudged     team.Kind = "delivery.work.judged"     // Target, Verdict, Text: why the work is rejected; "": it passes
	EventProjectTested  team.Kind = "delivery.project.tested"  // Target, Tests: the result of a real run
	EventProjectChanged team.Kind = "delivery.project.changed" // Target, Text: the difference that a step made
)

// The messages between members of the team.
const (
	planRequest     = "PLAN_REQUEST"
	replanRequest   = "REPLAN_REQUEST"
	planResponse    = "PLAN_RESPONSE"    // payload: a plan, with analysis and steps
	subPlanResponse = "SUBPLAN_RESPONSE" // payload: a plan for a step
	codeRequest     = "CODE_REQUEST"
	codeFixRequest  = "CODE_FIX_REQUEST"
	codeResponse    = "CODE_RESPONSE" // payload: a CodeOutput
	testRequest     = "TEST_REQUEST"
	testResponse    = "TEST_RESPONSE"
	fixPlanMessage  = "FIX_PLAN" // payload: a FixPlan
	verifyRequest   = "VERIFY_REQUEST"
	verifyResponse  = "VERIFY_RESPONSE"
	correction      = "CORRECTION"
	escalationSent  = "ESCALATION"
	stepComplete    = "STEP_COMPLETE"
	stepIsBlocked   = "STEP_BLOCKED"
	goalComplete    = "GOAL_COMPLETE"
	abortSent       = "ABORT"
)

// Beside the roles, messages go to or come from these.
const (
	conductor Role = "orchestrator"
	everybody Role = "all"
)

// Header is a message without its payload.
type Header struct {
	ID       string   `json:"id,omitempty"`       // number of the message: m1, m2, …
	Message  string   `json:"message,omitempty"`  // type of the message, such as "CODE_REQUEST"
	From     Role     `json:"from,omitempty"`     // sender: a role, or "orchestrator"
	To       Role     `json:"to,omitempty"`       // receiver: a role, "orchestrator" or "all"
	Answers  string   `json:"answers,omitempty"`  // ID of the request; "": it answers none
	PlanPath []string `json:"planPath,omitempty"` // IDs of the plans that are executed, the root first
	Depth    int      `json:"depth,omitempty"`    // depth of the last of them
	Target   string   `json:"target,omitempty"`   // ID of the plan or step; "goal": the whole
}

// Event is the data of the records that a run emits. The kind says which fields are set.
type Event struct {
	team.Event
	Header // header of the message; another record has only Target

	Payload any           `json:"payload,omitempty"` // content of the message, as JSON
	Left    time.Duration `json:"left,omitzero"`     // time of a step; 0: not limited
	Percent *int          `json:"percent,omitempty"` // part of the root plan that is finished; nil: there is none
	Verdict *Verdict      `json:"verdict,omitempty"` // verdict that was given
	Tests   *TestResult   `json:"tests,omitempty"`   // result of a real run of the tests
}

func (e Event) MarshalJSON() ([]byte, error)     { return team.Encode(e) }
func (e *Event) UnmarshalJSON(data []byte) error { return team.DecodeLenient(data, e) }

const (
	keptHeaders = 1000 // largest number of headers in a State
	keptTurns   = 1000 // number of turns that an Outcome keeps at least
)

// fire moves the run's state machine.
func (r *run) fire(c *orchestrator.Context, on move) {
	r.machine.Fire(c, on)
	r.emit(c, eventPhaseChanged, Event{})
}

// about is an event with its target and a text.
func about(target, text string) Event {
	return Event{Event: team.Event{Text: text}, Header: Header{Target: target}}
}

func (r *run) emit(c *orchestrator.Context, kind team.Kind, e Event) { r.kernel.Emit(c, kind, &e) }

// send emits a message and returns its ID.
func (r *run) send(c *orchestrator.Context, h Header, payload any) string {
	h.ID, h.PlanPath = fmt.Sprintf("m%d", r.state.Dropped+len(r.state.EventLog)+1), slices.Clone(r.state.PlanStack)
	h.Depth = max(0, len(h.PlanPath)-1)
	r.state.EventLog = append(r.state.EventLog, h)
	if extra := len(r.state.EventLog) - keptHeaders; extra > 0 {
		r.state.EventLog = r.state.EventLog[extra:] // append moves the rest once in many messages
		r.state.Dropped += extra
	}
	e := Event{Header: h}
	if payload != nil {
		e.Payload = agent.JSON(payload)
	}
	r.emit(c, EventMessageSent, e)
	return h.ID
}

// warn records a problem that does not end the run, each one once.
func (r *run) warn(c *orchestrator.Context, code, who, format string, args ...any) {
	w := orchestrator.Warning{Code: string(r.kernel.Code(code)), Who: who, Message: prompt.OneLine(fmt.Sprintf(format, args...))}
	if !slices.Contains(r.out.Warnings, w) {
		r.kernel.Warn(c, agent.Code(w.Code), who, "%s", w.Message)
	}
}

// tell adds a turn to the course of the run, under a title, or under the last one for "".
func (r *run) tell(title string, turn page.Turn) {
	course := &r.out.Course
	if n := len(*course); n == 0 || title != "" && (*course)[n-1].Title != title {
		*course = append(*course, page.Step{Title: title})
	}
	last := &(*course)[len(*course)-1]
	r.changed(last.Title, turn)
	last.Turns = append(last.Turns, turn)
	r.turns++
	if oldest := len((*course)[0].Turns); r.turns-oldest >= keptTurns {
		r.turns -= oldest
		*course = (*course)[1:]
	}
}

// percent is the finished part of the root plan.
func (r *run) percent() *int {
	root := r.state.root()
	if root == nil {
		return nil
	}
	finished := 0
	for i := range root.Steps {
		if !root.Steps[i].open() {
			finished++
		}
	}
	return new(100 * finished / max(len(root.Steps), 1))
}
