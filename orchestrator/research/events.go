package research

import (
	"fmt"
	"slices"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
)

// The kinds of records that a run emits, beside those that each team has: see [team.Common].
// Their data is an [Event], of which the named fields are set. In an event of a call Who is a
// worker's ID, "planner", "supervisor", "strategist" or "merger", and Step is set. Score is set
// and Text says why a run failed at its end.
const (
	eventActionLogged       team.Kind = "research.action.logged"       // Action
	EventPhaseChanged       team.Kind = "research.phase.changed"       // From, Phase
	eventPlanCreated        team.Kind = "research.plan.created"        // Plan, Iteration
	EventPlanOptimized      team.Kind = "research.plan.optimized"      // Plan, Report
	eventStepStarted        team.Kind = "research.step.started"        // Step, Percent
	EventStepFinished       team.Kind = "research.step.finished"       // Step, Percent
	EventWorkerSkipped      team.Kind = "research.worker.skipped"      // Who, Step, Text
	EventWorkerReplaced     team.Kind = "research.worker.replaced"     // Who, Step, Text: which worker replaces it
	EventIterationEvaluated team.Kind = "research.iteration.evaluated" // Score (nil: ungraded), Threshold, Decision, Iteration
	EventIterationStarted   team.Kind = "research.iteration.started"   // from the second on: Iteration, Text: the feedback
)

// Event is the data of the records that a run emits.
type Event struct {
	team.Event

	From      Phase           `json:"from,omitempty"`      // phase before; "": there is none
	Phase     Phase           `json:"phase,omitempty"`     // phase now; "": it has not changed
	Action    *Action         `json:"action,omitempty"`    // nil: the record is about no action
	Plan      *Plan           `json:"plan,omitempty"`      // nil: the record is about no plan
	Report    *Report         `json:"report,omitempty"`    // changes that the Optimiser made; nil: none
	Iteration int             `json:"iteration,omitempty"` // number of the iteration, from 1
	Step      string          `json:"step,omitempty"`      // ID of the step
	Percent   *int            `json:"percent,omitempty"`   // finished part of the iteration's plan, 0 to 100
	Score     *float64        `json:"score,omitempty"`     // 0 to 1
	Threshold *float64        `json:"threshold,omitempty"` // 0 to 1
	Decision  grading.Verdict `json:"decision,omitempty"`  // verdict on the iteration; "": none
}

// changed logs a change of the phase, and the action.
func (r *run) changed(c *orchestrator.Context, from, to Phase) {
	r.state.Phases = append(r.state.Phases, phaseChange{from, to, c.Now()})
	r.act(c, "StateManager", "transition_phase", map[string]any{"from": string(from), "to": string(to)})
	r.Emit(c, EventPhaseChanged, &Event{From: from, Phase: to})
}

// act logs an action of a member of the team, named as in texts for people.
func (r *run) act(c *orchestrator.Context, who, what string, details map[string]any) {
	a := Action{Agent: who, Action: what, Details: details, At: c.Now()}
	r.state.Actions = append(r.state.Actions, a)
	r.Emit(c, eventActionLogged, &Event{Action: &a})
}

// warn records a problem that does not end the run, each one once.
func (r *run) warn(c *orchestrator.Context, code, who, format string, args ...any) {
	w := orchestrator.Warning{Code: string(r.Code(code)), Who: who, Message: fmt.Sprintf(format, args...)}
	if !slices.Contains(r.out.Warnings, w) {
		r.Warn(c, agent.Code(w.Code), who, "%s", w.Message)
	}
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
