package research

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
	"github.com/convene-go/convene/providers"
)

// New returns the flow of a team. All faults of cfg are in the one error.
func New(cfg Config) (orchestrator.Flow[Input, Outcome], error) {
	texts, err := newPrompts(cfg.Prompts)
	if err := errors.Join(cfg.validate(), err); err != nil {
		return orchestrator.Flow[Input, Outcome]{}, fmt.Errorf("research: %w", err)
	}
	cfg = cfg.withDefaults()
	return orchestrator.Flow[Input, Outcome]{
		Name:   cfg.Name,
		Agents: cfg.agents(),
		Do: func(c *orchestrator.Context, in Input) (Outcome, error) {
			return (&run{Config: cfg, prompts: texts, because: maxIterations, out: Outcome{Sources: []Source{}}}).do(c, in)
		},
	}, nil
}

// run is one run of the team. Only one branch executes at a time, so that branches may
// share it.
type run struct {
	Config
	prompts prompt.Set

	state   State
	done    []*iteration // evaluated, as State.History
	out     Outcome
	verdict grading.Verdict // on the last iteration
	missed  []string        // workers that failed or were skipped in this iteration
	removed []string        // workers that the optimiser removed from its plan
	because string          // why there is no further iteration

	dearest  providers.NanoUSD   // highest cost of a call of planner, supervisor, strategist or merger
	overhead orchestrator.Budget // cost and time of evaluations so far
}

// do is the run: admission, then plan, optimise, execute and evaluate until the result is
// good enough or an error ends it, then merge.
func (r *run) do(c *orchestrator.Context, in Input) (Outcome, error) {
	r.state.Input, r.state.StartedAt = in, c.Now()
	if err := r.admit(in); err != nil { // no execution ID, no phase
		r.out.Status, r.out.Failure = orchestrator.Failed, &Failure{Type: "ValidationError", Message: err.Error()}
		return r.finish(c, EventRunRejected, Event{Text: err.Error()}), team.Fail(ErrRejected, "research: %w", err)
	}
	c = r.begin(c, in)
	err := r.iterate(c)
	if it := r.chosen(); err != nil && it != nil && it.score != nil && !r.breaks(c, err) {
		f, code, _ := r.describe(c, err)
		r.warn(c, code, "", "iteration %d was given up: %s", r.state.Iteration, f.Message)
		r.verdict, err = grading.ForceComplete, nil
		r.fire(c, moveStop)
	}
	if err == nil {
		err = r.merge(c)
	}
	if err != nil {
		return r.fail(c, err)
	}
	return r.finish(c, EventRunCompleted, Event{Status: string(r.out.Status), Score: r.out.Score}), nil
}

// admit returns why a run is not started, or nil.
func (r *run) admit(in Input) error {
	if err := in.Validate(); err != nil || r.Hooks.Admit == nil {
		return err
	}
	_, err := team.Guard("Hooks.Admit", func() (any, error) { return nil, r.Hooks.Admit(in.withDefaults()) })
	return err
}

// begin sets the state, and returns c with the budget of the run.
func (r *run) begin(c *orchestrator.Context, in Input) *orchestrator.Context {
	in = in.withDefaults()
	c = c.WithBudget(orchestrator.Budget{Cost: in.MaxBudget, Calls: r.Limits.Calls, AllowUnpriced: in.AllowUnpriced || c.Left().AllowUnpriced})
	sum := sha256.Sum256([]byte(c.RunID()))
	r.state = State{
		ExecutionID: fmt.Sprintf("exec_%s_%x", c.Now().UTC().Format("20060102_150405"), sum[:2]),
		Input:       in, Iteration: 1, MaxIterations: r.Policy.Iterations, StartedAt: c.Now(),
		Course: Course{[]Iteration{}, []Task{}, Results{[]WorkerOutput{}, []WorkerOutput{}, []WorkerOutput{}, []WorkerOutput{}}},
		Phase:  initialized, Phases: []PhaseChange{}, Actions: []Action{}, Warnings: []orchestrator.Warning{},
	}
	c.Expose(func() any { return r.state })
	r.act(c, "Controller", "initialize", nil)
	return c
}

// iterate returns nil when there is something to merge.
func (r *run) iterate(c *orchestrator.Context) error {
	r.fire(c, moveStart)
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

// iteration is an Iteration with what it was evaluated by.
type iteration struct {
	Iteration

	score            *float64 // Quality; nil: there is none
	marks            marks
	writing, quality []WorkerOutput
}

// last returns the last iteration that was evaluated.
func (r *run) last() *iteration { return r.done[len(r.done)-1] }

// chosen returns the iteration that the article is from: the last one if it is good
// enough, else the best graded one (Policy.LastOnForce: the last graded one), else the
// last one. nil: none was evaluated.
func (r *run) chosen() *iteration {
	if len(r.done) == 0 {
		return nil
	}
	best := team.Best(len(r.done), team.Last, func(i int) *float64 {
		if r.done[i].score == nil || !r.Policy.LastOnForce {
			return r.done[i].score
		}
		return new(float64(i))
	})
	if best < 0 || r.verdict == grading.Complete {
		return r.last()
	}
	return r.done[best]
}

// fail ends a run that cannot continue, with the results so far.
func (r *run) fail(c *orchestrator.Context, err error) (Outcome, error) {
	f, _, status := r.describe(c, err)
	f.Phase, f.ExecutionID = upper(r.state.Phase), r.state.ExecutionID
	r.out.Status, r.out.Failure = status, &f
	r.act(c, "Controller", "fail", map[string]any{"type": f.Type, "message": f.Message, "phase": f.Phase})
	r.fire(c, moveFail)
	it := r.chosen()
	if it == nil && len(r.state.Writing) > 0 {
		it = &iteration{writing: r.state.Writing}
	}
	if it != nil {
		r.present(c, it, articleOf(it.writing))
	}
	return r.finish(c, EventRunFailed, Event{Text: f.Message, Status: f.Type}), fmt.Errorf("research: %w", err)
}

// finish sets what every outcome has, at the end of the run.
func (r *run) finish(c *orchestrator.Context, kind string, e Event) Outcome {
	r.state.CompletedAt, r.state.Usage = new(c.Now()), c.Spent()
	r.out.RequestID, r.out.ExecutionID, r.out.Course = r.state.Input.RequestID, r.state.ExecutionID, r.state.Course
	r.out.Asked, r.out.Threshold = r.state.Input.Topic, *cmp.Or(r.state.Input.MinQuality, new(0.0))
	r.out.Warnings, r.out.Spent, r.out.Elapsed = r.state.Warnings, c.Spent(), c.Elapsed()
	m, count := &r.out.Metrics, map[TaskStatus]int{}
	for _, t := range r.state.Tasks {
		count[t.Status]++
		m.Retries += max(t.Attempts-1, 0)
	}
	m.Duration, m.Tasks, m.Iterations = c.Now().Sub(r.state.StartedAt), len(r.state.Tasks), r.state.Iteration
	m.Succeeded, m.Failed, m.Skipped = count[taskCompleted], count[taskFailed], count[taskSkipped]
	c.Emit(kind, e)
	return r.out
}

// The errors of runs, beside ErrRejected, ErrInfeasible, ErrInvalidPlan,
// orchestrator.ErrBudget and orchestrator.ErrCanceled.
const (
	ErrWorker = agent.Code("research/worker-failed")  // a critical worker failed
	ErrStep   = agent.Code("research/step-failed")    // all workers of a step that others need
	ErrOutput = agent.Code("research/invalid-output") // the planner's answer cannot be used
	ErrAgent  = agent.Code("research/agent-failed")   // the planner failed
)

// failures are the types of these errors in a Failure.
var failures = map[agent.Code]string{
	ErrWorker: "WorkerExecutionError", ErrStep: "StepFailedError", ErrInvalidPlan: "InvalidPlanError",
	ErrInfeasible: "InfeasiblePlanError", ErrOutput: "OutputError", ErrAgent: "AgentExecutionError",
}

// describe says how err ends a run, or an iteration where an earlier one is returned: then
// code is that of the warning. Used-up money or time counts only if the engine reports
// it.
func (r *run) describe(c *orchestrator.Context, err error) (f Failure, code string, status orchestrator.Status) {
	f = Failure{Type: "SystemError", Message: prompt.OneLine(err.Error()), Stack: agent.ErrorOf(err).Stack}
	code, status, r.because = "failed", orchestrator.Failed, fmt.Sprintf("iteration %d could not be finished", r.state.Iteration)
	for known, name := range failures {
		if errors.Is(err, known) { // at most one
			f.Type, code = name, strings.TrimPrefix(string(known), "research/")
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
