package research

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/providers"
)

// The kinds of records that a run emits. Their data is an Event, of which the named
// fields are set. Each EventAgentStarted has one EventAgentFinished or EventAgentFailed.
const (
	EventRunRejected        = "research.run.rejected"        // Text: every fault of the input
	EventRunCompleted       = "research.run.completed"       // Status, Score
	EventRunFailed          = "research.run.failed"          // Status: the type, Text
	EventActionLogged       = "research.action.logged"       // Action
	EventPhaseChanged       = "research.phase.changed"       // From, Phase
	EventPlanCreated        = "research.plan.created"        // Plan, Iteration
	EventPlanOptimized      = "research.plan.optimized"      // Plan, Report
	EventStepStarted        = "research.step.started"        // Step, Percent
	EventStepFinished       = "research.step.finished"       // Step, Percent
	EventAgentStarted       = "research.agent.started"       // Agent (a worker's ID, "planner", …), Step, Attempt
	EventAgentFinished      = "research.agent.finished"      // Agent, Step, Attempt, Usage
	EventAgentFailed        = "research.agent.failed"        // Agent, Step, Attempt, Usage, Text
	EventAgentDelayed       = "research.agent.delayed"       // Agent, Step, Attempt: the next one, Wait before it, Text
	EventWorkerSkipped      = "research.worker.skipped"      // Agent, Step, Text
	EventWorkerReplaced     = "research.worker.replaced"     // Agent, Step, Text: which worker replaces it
	EventIterationEvaluated = "research.iteration.evaluated" // Score (nil: ungraded), Threshold, Decision, Iteration
	EventIterationStarted   = "research.iteration.started"   // from the second on: Iteration, Text: the feedback
	EventWarningRaised      = "research.warning.raised"      // Warning
)

// Event is the data of the records that a run emits.
type Event struct {
	From      Phase                 `json:"from,omitempty"`
	Phase     Phase                 `json:"phase,omitempty"`
	Action    *Action               `json:"action,omitempty"`
	Plan      *Plan                 `json:"plan,omitempty"`
	Report    *Report               `json:"report,omitempty"`
	Iteration int                   `json:"iteration,omitempty"`
	Step      string                `json:"step,omitempty"`
	Agent     string                `json:"agent,omitempty"`
	Attempt   int                   `json:"attempt,omitempty"`
	Wait      time.Duration         `json:"wait,omitempty"`
	Percent   *int                  `json:"percent,omitempty"` // of the iteration's plan
	Score     *float64              `json:"score,omitempty"`   // 0 to 1, as Threshold
	Threshold *float64              `json:"threshold,omitempty"`
	Decision  grading.Verdict       `json:"decision,omitempty"`
	Warning   *orchestrator.Warning `json:"warning,omitempty"`
	Usage     *providers.Usage      `json:"usage,omitempty"`
	Status    string                `json:"status,omitempty"`
	Text      string                `json:"text,omitempty"`
}

// fire makes a move of the phase machine, and logs the change and the action.
func (r *run) fire(c *orchestrator.Context, move Move) {
	from := r.state.Phase
	to, err := phases.Check(from, move, "")
	if err != nil {
		panic(fmt.Errorf("research: %w", err))
	}
	r.state.Phase = to
	r.state.Phases = append(r.state.Phases, PhaseChange{from, to, c.Now()})
	r.act(c, "StateManager", "transition_phase", map[string]any{"from": string(from), "to": string(to)})
	c.Emit(EventPhaseChanged, Event{From: from, Phase: to})
}

// act logs an action of a member of the team, named as in texts for people.
func (r *run) act(c *orchestrator.Context, who, what string, details map[string]any) {
	a := Action{Agent: who, Action: what, Details: details, At: c.Now()}
	r.state.Actions = append(r.state.Actions, a)
	c.Emit(EventActionLogged, Event{Action: &a})
}

// warn records a problem that does not end the run, each one once.
func (r *run) warn(c *orchestrator.Context, code, who, format string, args ...any) {
	w := orchestrator.Warning{Code: "research/" + code, Who: who, Message: fmt.Sprintf(format, args...)}
	if slices.Contains(r.state.Warnings, w) {
		return
	}
	r.state.Warnings = append(r.state.Warnings, w)
	c.Emit(EventWarningRaised, Event{Warning: &w})
}

// percent is the finished part of this iteration's plan.
func (r *run) percent() *int {
	finished, planned := 0, len(r.state.Plan.workers())
	for _, t := range r.state.Tasks {
		if t.Iteration == r.state.Iteration && t.FallbackOf == "" && t.Status != taskPending && t.Status != taskRunning {
			finished++
		}
	}
	return new(100 * finished / max(planned, 1))
}

// amount is money in USD with cents.
func amount(n providers.NanoUSD) string { return fmt.Sprintf("%.2f", dollars(n)) }

func dollars(n providers.NanoUSD) float64 { return float64(n) / float64(providers.USD) }

// minutes is a duration in minutes, with a tenth if it is not whole.
func minutes(d time.Duration) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Minutes()), ".0")
}
