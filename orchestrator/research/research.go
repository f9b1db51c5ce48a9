package research

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
	"github.com/convene-go/convene/providers"
)

// New returns the flow of a team. All faults of cfg are in the one error.
func New(cfg Config) (orchestrator.Flow[Input, Outcome], error) {
	return team.New(team.Definition[Config, Input, Outcome]{
		Name: "research", Prompts: ownPrompts, Samples: samples(), Rules: DefaultRules(),
		Defaults: setDefaults, Agents: Config.agents, Run: play,
		Check: func(cfg Config, f *team.Faults) {
			checkLimits(f, cfg.Limits)
			checkWorkers(f, cfg.Workers)
			share := cfg.Policy.MinShare
			f.If(share > orchestrator.None && share < 0, "Policy.MinShare is %v, want 0 to 1", share)
		},
	}, cfg)
}

// run is one run of the team. Only one branch executes at a time, so that branches may
// share it.
type run struct {
	Config
	*team.Run

	machine *team.Machine[Phase, move]
	state   State
	out     Outcome
	done    []*iteration    // evaluated, as State.History
	best    *iteration      // the first one by the Ranker; nil: none was ranked
	verdict grading.Verdict // on the last iteration
	missed  []string        // workers that failed or were skipped in this iteration
	removed []string        // workers that the optimiser removed from its plan
	because string          // why there is no further iteration

	dearest  providers.NanoUSD   // highest cost of a call of planner, supervisor, strategist or merger
	overhead orchestrator.Budget // cost and time of evaluations so far
}

// play is the run: admission, then plan, optimise, execute and evaluate until the result is
// good enough or an error ends it, then merge. The run looks after its time itself, because
// critical workers may finish when it is up.
func play(c *orchestrator.Context, start team.Start, cfg Config, in Input) (Outcome, error) {
	in.Topic = text.Newlines(in.Topic)
	r := &run{Config: cfg, because: maxIterations, out: Outcome{Sources: []Source{}}}
	r.state.Input, r.state.StartedAt = in, c.Now()
	start.Asked, start.Outcome = in.Topic, &r.out.Outcome
	start.Limits.Time = 0
	start.Limits.AllowUnpriced = start.Limits.AllowUnpriced || c.Left().AllowUnpriced
	r.Run, c = team.Begin(c, start)
	if err := r.admit(c); err != nil { // no execution ID, no phase
		err = team.Fail(ErrRejected, "%w", err)
		f, _, _ := r.describe(c, err)
		r.out.Failure = &f
		return r.finish(c, err)
	}
	r.begin(c)
	err := r.iterate(c)
	if it := r.chosen(); err != nil && it != nil && it.score != nil && !r.breaks(c, err) && !r.IsHostError(err) {
		f, code, _ := r.describe(c, err)
		r.warn(c, code, "", "iteration %d was given up: %s", r.state.Iteration, f.Message)
		r.verdict, err = grading.ForceComplete, nil
		r.machine.Fire(c, moveStop)
	}
	if err == nil {
		err = r.merge(c)
	}
	if err != nil {
		r.fail(c, err)
	}
	return r.finish(c, err)
}

// admit returns why a run is not started, or nil.
func (r *run) admit(c *orchestrator.Context) error {
	in := r.state.Input
	if err := in.Validate(); err != nil || r.Rules.Admit == nil {
		return err
	}
	var refused error
	_, err := team.Rule(r.Run, c, "", "Rules.Admit", func() (struct{}, error) {
		refused = r.Rules.Admit(in.withDefaults(r.Limits))
		return struct{}{}, nil
	})
	if refused != nil {
		err = fmt.Errorf("Rules.Admit: %w", refused)
	}
	return err
}

// begin sets the state of a run that was admitted.
func (r *run) begin(c *orchestrator.Context) {
	in, sum := r.state.Input.withDefaults(r.Limits), sha256.Sum256([]byte(c.RunID()))
	r.state = State{
		ExecutionID: fmt.Sprintf("exec_%s_%x", c.Now().UTC().Format("20060102_150405"), sum[:2]),
		Input:       in, Iteration: 1, MaxIterations: r.Policy.Iterations, StartedAt: c.Now(),
		Course: Course{[]Iteration{}, []Task{}, Results{[]WorkerOutput{}, []WorkerOutput{}, []WorkerOutput{}, []WorkerOutput{}}},
		Phases: []phaseChange{}, Actions: []Action{},
	}
	c.Expose(func() any {
		r.state.Warnings = append([]orchestrator.Warning{}, r.out.Warnings...)
		return r.state
	})
	r.machine = team.NewMachine(r.Run, "", phases, &r.state.Phase)
	r.machine.Changed = r.changed
	r.act(c, "Controller", "initialize", nil)
}

// iterate returns nil when there is something to merge.
func (r *run) iterate(c *orchestrator.Context) error {
	if err := r.machine.Go(c, moveStart); err != nil {
		return err
	}
	if err := r.selectWorkers(c); err != nil {
		return err
	}
	for {
		for _, step := range []func(*orchestrator.Context) error{r.plan, r.optimise, r.execute, r.evaluate} {
			if err := step(c); err != nil {
				return err
			}
		}
		if r.verdict != grading.Continue {
			return nil
		}
		r.replan(c)
	}
}

// fail ends a run that cannot continue, with the results so far.
func (r *run) fail(c *orchestrator.Context, err error) {
	f, _, status := r.describe(c, err)
	f.Phase, f.ExecutionID = upper(r.state.Phase), r.state.ExecutionID
	r.out.Status, r.out.Failure = status, &f
	r.act(c, "Controller", "fail", map[string]any{"type": f.Type, "message": f.Message, "phase": f.Phase})
	r.machine.Fire(c, moveFail)
	it := r.chosen()
	if it == nil && len(r.state.Writing) > 0 {
		it = &iteration{writing: r.state.Writing}
	}
	if it != nil {
		r.present(c, it, articleOf(it.writing))
	}
}

// finish sets what every outcome has, at the end of the run.
func (r *run) finish(c *orchestrator.Context, err error) (Outcome, error) {
	r.state.CompletedAt, r.state.Usage = new(c.Now()), c.Spent()
	r.out.RequestID, r.out.ExecutionID, r.out.Course = r.state.Input.RequestID, r.state.ExecutionID, r.state.Course
	r.out.Threshold = *cmp.Or(r.state.Input.MinQuality, new(0.0))
	m, count := &r.out.Metrics, map[string]int{}
	for _, t := range r.state.Tasks {
		count[t.Status]++
		m.Retries += max(t.Attempts-1, 0)
	}
	m.Duration, m.Tasks, m.Iterations = c.Now().Sub(r.state.StartedAt), len(r.state.Tasks), r.state.Iteration
	m.Succeeded, m.Failed, m.Skipped = count[taskCompleted], count[taskFailed], count[taskSkipped]
	e := &Event{Score: r.out.Score}
	if r.out.Failure != nil {
		e.Text = r.out.Failure.Message
	}
	r.End(c, err, e)
	if err != nil {
		err = fmt.Errorf("research: %w", err)
	}
	return r.out, err
}

// The errors of runs, beside orchestrator.ErrBudget and orchestrator.ErrCanceled.
const (
	ErrRule         = agent.Code("research/rule")            // a rule failed, panicked, or answered out of its range; the run fails with all that it has
	ErrNotPermitted = agent.Code("research/not-permitted")   // Rules.Permit refused a move
	ErrRejected     = agent.Code("research/rejected")        // the input was not admitted: no iteration was started
	ErrWorker       = agent.Code("research/worker-failed")   // a critical worker failed
	ErrStep         = agent.Code("research/step-failed")     // all workers of a step that others need failed
	ErrInvalidPlan  = agent.Code("research/invalid-plan")    // a plan cannot be used
	ErrInfeasible   = agent.Code("research/infeasible-plan") // no plan with the critical workers meets money and time
	ErrOutput       = agent.Code("research/invalid-output")  // the planner's answer cannot be used
	ErrAgent        = agent.Code("research/agent-failed")    // the planner failed
)

// failures has the types of these errors in a Failure. The first one that fits is taken.
var failures = []struct {
	code agent.Code
	name string
}{
	{ErrRule, "RuleError"},
	{ErrNotPermitted, "NotPermittedError"},
	{ErrRejected, "ValidationError"},
	{ErrWorker, "WorkerExecutionError"},
	{ErrStep, "StepFailedError"},
	{ErrInvalidPlan, "InvalidPlanError"},
	{ErrInfeasible, "InfeasiblePlanError"},
	{ErrOutput, "OutputError"},
	{ErrAgent, "AgentExecutionError"},
}

// describe says how err ends a run, or an iteration where an earlier one is returned: then
// code is that of the warning. Used-up money or time counts only if the engine reports
// it.
func (r *run) describe(c *orchestrator.Context, err error) (f Failure, code string, status orchestrator.Status) {
	f = Failure{Type: "SystemError", Message: prompt.OneLine(err.Error()), Stack: agent.ErrorOf(err).Stack}
	code, status, r.because = "failed", orchestrator.Failed, fmt.Sprintf("iteration %d could not be finished", r.state.Iteration)
	for _, known := range failures {
		if errors.Is(err, known.code) {
			f.Type, code = known.name, strings.TrimPrefix(string(known.code), "research/")
			break
		}
	}
	switch {
	case c.IsCanceled(err):
		f.Type, status, r.because = "Canceled", orchestrator.Canceled, "the run was canceled"
	case orchestrator.IsOver(err):
		f.Type, status = "BudgetExceededError", orchestrator.OutOfBudget
		code, r.because = r.shortage(c)
	}
	return f, code, status
}
