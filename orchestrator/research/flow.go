package research

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/convene-go/convene/fsm"
	"github.com/convene-go/convene/internal/prompt"
	"github.com/convene-go/convene/orchestrator"
)

// New returns the flow of a team. All faults of cfg and workers are in the one error.
func New(cfg Config, workers Registry) (orchestrator.Flow[Brief, Output], error) {
	err := errors.Join(cfg.validate(), workers.validate())
	texts, promptErr := newPrompts(cfg.Prompts)
	if err := errors.Join(err, promptErr); err != nil {
		return orchestrator.Flow[Brief, Output]{}, fmt.Errorf("research: %w", err)
	}
	cfg, workers = cfg.withDefaults(), workers.withDefaults()
	return orchestrator.Flow[Brief, Output]{
		Name:   cfg.Name,
		Agents: cfg.agents(workers),
		Do: func(c *orchestrator.Context, b Brief) (Output, error) {
			r := &run{cfg: cfg, reg: workers, prompts: texts, machine: Phases.Start(nil)}
			return r.do(c, b)
		},
	}, nil
}

// run is one run of the team. Only one branch executes at a time, so that branches may
// share it.
type run struct {
	cfg     Config
	reg     Registry
	prompts prompt.Set

	machine *fsm.Machine[Phase, string, string]
	state   State
	out     Output
	planned int         // plans so far
	marks   Marks       // of the last evaluation
	missed  []string    // workers that failed or were skipped in this iteration
	removed []string    // workers that the optimiser took out of its plan
	done    []iteration // that were evaluated
	outOf   string      // what forces the end, "": nothing but the number of iterations
}

// iteration is what one execution of a plan came to.
type iteration struct {
	score    float64
	marks    Marks
	analysis []WorkerOutput
	writing  []WorkerOutput
	quality  []WorkerOutput
}

// do is the run: admission, then plan, optimise, execute and evaluate until it is good
// enough, then merge.
func (r *run) do(c *orchestrator.Context, b Brief) (Output, error) {
	if err := r.admit(b); err != nil {
		return r.reject(c, b, err)
	}
	r.initialise(c, b)
	if err := r.work(c); err != nil {
		return r.fail(c, err)
	}
	return r.complete(c)
}

// admit is decision 1: whether a run is started at all (R30).
func (r *run) admit(b Brief) error {
	if err := b.Validate(); err != nil {
		return err
	}
	if r.cfg.Admit == nil {
		return nil
	}
	return guarded(func() error { return r.cfg.Admit(b.withDefaults()) })
}

// reject ends what never began: no execution ID, no phase (R32).
func (r *run) reject(c *orchestrator.Context, b Brief, err error) (Output, error) {
	message := err.Error()
	c.Emit("rejected", Event{Text: message})
	r.out.Status = orchestrator.Failed
	r.out.RequestID = b.RequestID
	r.out.Sources, r.out.Warnings = []Source{}, []Warning{}
	r.out.Failure = &Failure{Type: "ValidationError", Message: message}
	return r.out, fmt.Errorf("research: %w: %w", ErrRejected, err)
}

// initialise makes the state (R25-R28).
func (r *run) initialise(c *orchestrator.Context, b Brief) {
	sum := sha256.Sum256([]byte(c.RunID()))
	r.state = State{
		ExecutionID: "exec_" + c.Now().UTC().Format("20060102_150405") + "_" + hex.EncodeToString(sum[:2]),
		Phase:       r.machine.Current(), Brief: b.withDefaults(),
		Iteration: 1, MaxIterations: r.cfg.MaxIterations,
		History: []IterationRecord{}, Tasks: []Task{},
		Research: []WorkerOutput{}, Analysis: []WorkerOutput{}, Writing: []WorkerOutput{}, Quality: []WorkerOutput{},
		Phases: []PhaseChange{}, Actions: []Action{}, Warnings: []Warning{}, StartedAt: c.Now(),
	}
	c.Expose(func() any { return r.state })
	r.act(c, controller, "initialize", nil)
}

// work is the loop of R82: it returns when there is something to merge.
func (r *run) work(c *orchestrator.Context) error {
	r.fire(c, "start", "")
	for {
		for _, step := range []func(*orchestrator.Context) error{r.plan, r.optimise, r.execute} {
			if err := step(c); err != nil {
				return err
			}
		}
		again, err := r.evaluate(c)
		if err != nil || !again {
			return err
		}
		r.replan(c)
	}
}

// complete merges and ends the run (R87-R98).
func (r *run) complete(c *orchestrator.Context) (Output, error) {
	if err := r.merge(c); err != nil {
		return r.fail(c, err)
	}
	r.act(c, merger, "create_output", map[string]any{"status": string(r.out.Status), "quality": r.state.QualityScore})
	r.fire(c, "merged", "output")
	r.finish(c)
	c.Emit("output", Event{Status: string(r.out.Status), Score: r.out.Score})
	return r.out, nil
}

// finish fills in what every output has, at the run's last moment (R97, R98).
func (r *run) finish(c *orchestrator.Context) {
	now := c.Now()
	r.state.CompletedAt = &now
	r.state.Usage = c.Spent()
	r.out.RequestID, r.out.ExecutionID = r.state.Brief.RequestID, r.state.ExecutionID
	r.out.Warnings, r.out.Spent = r.state.Warnings, c.Spent()
	if r.out.Sources == nil {
		r.out.Sources = []Source{}
	}
	r.out.Metrics = r.metrics(c)
}

// fail ends a run that cannot go on, with what there is (R99-R101, RX1).
func (r *run) fail(c *orchestrator.Context, err error) (Output, error) {
	f := describe(c, err)
	f.Phase, f.ExecutionID = upper(r.state.Phase), r.state.ExecutionID
	r.out.Status = statusOf(f.Type)
	r.out.Failure = &f
	r.act(c, controller, "fail", map[string]any{"type": f.Type, "message": f.Message, "phase": f.Phase})
	r.fire(c, "fail", "")
	r.out.Partial = &PartialResults{
		Research: r.state.Research, Analysis: r.state.Analysis, Writing: r.state.Writing, Quality: r.state.Quality,
		Cost: c.Spent().Cost,
	}
	r.finish(c)
	c.Emit("failed", Event{Text: f.Message, Status: f.Type})
	return r.out, fmt.Errorf("research: %w", err)
}

// metrics are the figures of R90.
func (r *run) metrics(c *orchestrator.Context) Metrics {
	m := Metrics{
		Duration: c.Now().Sub(r.state.StartedAt), Usage: r.state.Usage, Tasks: len(r.state.Tasks), Iterations: r.state.Iteration,
	}
	for _, t := range r.state.Tasks {
		switch t.Status {
		case TaskCompleted:
			m.Succeeded++
		case TaskFailed:
			m.Failed++
		case TaskSkipped:
			m.Skipped++
		case TaskPending, TaskRunning, TaskCanceled:
		}
		m.Retries += max(t.Attempts-1, 0)
	}
	if n := len(r.done); n > 1 {
		m.Improvement = improvement(r.done[0].score, r.done[n-1].score)
	}
	return m
}

// guarded is f with a panic as an error (RX25).
func guarded(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = newPanic(v)
		}
	}()
	return f()
}
