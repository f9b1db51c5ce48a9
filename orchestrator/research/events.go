package research

import (
	"fmt"
	"slices"
	"time"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/providers"
)

// Event is the data of the records that a run emits (RX20); which fields are set
// depends on the record's kind:
//
//	rejected                     Text: every fault of the brief (R32)
//	action                       Action (R106)
//	phase                        From, Phase
//	plan                         Plan, Iteration
//	optimized                    Plan, Report
//	step_started, step_finished  Step, Percent
//	worker_started               Worker, Step, Attempt
//	worker_retry                 Worker, Step, Attempt, Wait, Text
//	worker_finished              Worker, Step, Usage, Percent
//	worker_skipped               Worker, Step, Text
//	worker_fallback              Worker, Step, Text: who takes its place
//	evaluated                    Score, Threshold, Decision, Iteration
//	replan                       Iteration, Text: the feedback
//	warning                      Warning
//	output                       Status, Score
//	failed                       Status: the type, Text
type Event struct {
	From      Phase            `json:"from,omitempty"`
	Phase     Phase            `json:"phase,omitempty"`
	Action    *Action          `json:"action,omitempty"`
	Plan      *Plan            `json:"plan,omitempty"`
	Report    *Report          `json:"report,omitempty"`
	Iteration int              `json:"iteration,omitempty"`
	Step      string           `json:"step,omitempty"`
	Worker    string           `json:"worker,omitempty"`
	Attempt   int              `json:"attempt,omitempty"`
	Wait      time.Duration    `json:"wait,omitempty"` // nanoseconds
	Percent   *int             `json:"percent,omitempty"`
	Score     *float64         `json:"score,omitempty"`
	Threshold *float64         `json:"threshold,omitempty"`
	Decision  grading.Verdict  `json:"decision,omitempty"`
	Warning   *Warning         `json:"warning,omitempty"`
	Usage     *providers.Usage `json:"usage,omitempty"`
	Status    string           `json:"status,omitempty"`
	Text      string           `json:"text,omitempty"`
}

// fire moves the phase machine: the change is noted, then the phase is set, then the
// action is logged (R23, R24). A refused event is a mistake in this package.
func (r *run) fire(c *orchestrator.Context, event, established string) {
	entry, err := r.machine.Fire(event, stateManager, established)
	if err != nil {
		panic(fmt.Errorf("research: %w", err))
	}
	r.state.Phases = append(r.state.Phases, PhaseChange{entry.From, entry.To, c.Now()})
	r.state.Phase = entry.To
	r.act(c, stateManager, "transition_phase", map[string]any{"from": string(entry.From), "to": string(entry.To)})
	c.Emit("phase", Event{From: entry.From, Phase: entry.To})
}

// act logs what an agent of the team did (R106).
func (r *run) act(c *orchestrator.Context, who, what string, details map[string]any) {
	a := Action{Agent: who, Action: what, Details: details, At: c.Now()}
	r.state.Actions = append(r.state.Actions, a)
	c.Emit("action", Event{Action: &a})
}

// warn notes what went wrong without ending the run. The same one is noted once.
func (r *run) warn(c *orchestrator.Context, code, format string, args ...any) {
	w := Warning{code, fmt.Sprintf(format, args...)}
	if slices.Contains(r.state.Warnings, w) {
		return
	}
	r.state.Warnings = append(r.state.Warnings, w)
	c.Emit("warning", Event{Warning: &w})
}

// percent is how much of this iteration's plan is finished (RX20).
func (r *run) percent() *int {
	finished, planned := 0, len(r.state.Plan.workers())
	for _, t := range r.state.Tasks {
		over := t.Status != TaskPending && t.Status != TaskRunning
		if t.Iteration == r.state.Iteration && t.FallbackOf == "" && over {
			finished++
		}
	}
	p := 100
	if planned > 0 {
		p = min(100*finished/planned, 100)
	}
	return &p
}
