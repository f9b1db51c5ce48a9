package research

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/convene-go/convene/internal/prompt"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/routing"
)

// execute runs the plan step by step (R58-R66).
func (r *run) execute(c *orchestrator.Context) error {
	for i, s := range r.state.Plan.Steps {
		c.Emit("step_started", Event{Step: s.ID, Percent: r.percent()})
		if err := r.step(c, i); err != nil {
			return err
		}
		r.state.StepIndex = i + 1
		r.act(c, conductor, "execute_step", map[string]any{"step": s.ID, "mode": string(s.Mode), "workers": s.Workers})
		c.Emit("step_finished", Event{Step: s.ID, Percent: r.percent()})
	}
	r.fire(c, "executed", "steps_done")
	return nil
}

// stint is a worker's part in a step, and what it made.
type stint struct {
	worker Worker
	step   Step
	task   int            // its index in State.Tasks
	made   []WorkerOutput // by it, or by who took its place
	filled bool           // by what another worker had made already
	inputs map[string]json.RawMessage
}

// step has all workers of a step work, and looks at what they made in the order of the
// plan (R59, R66).
func (r *run) step(c *orchestrator.Context, at int) error {
	s := r.state.Plan.Steps[at]
	stints := make([]*stint, len(s.Workers))
	for i, id := range s.Workers {
		w, _ := r.reg.Worker(id)
		stints[i] = &stint{worker: w, step: s, task: r.task(w, s.ID, ""), inputs: r.inputsOf(w)}
	}
	var err error
	if s.Mode == Sequential {
		err = r.inTurn(c, stints)
	} else {
		err = r.sideBySide(c, stints)
	}
	worked := false
	for _, st := range stints {
		for _, made := range st.made {
			r.keep(made)
			worked = true
		}
		worked = worked || st.filled
	}
	if err != nil {
		return err
	}
	if !worked {
		return r.barren(c, at)
	}
	return nil
}

// task makes a task before its worker starts (R59).
func (r *run) task(w Worker, step, fallbackOf string) int {
	n := len(r.state.Tasks)
	r.state.Tasks = append(r.state.Tasks, Task{
		ID: "task-" + strconv.Itoa(n+1), Worker: w.ID, Step: step, Plan: r.state.Plan.ID, Iteration: r.state.Iteration,
		Priority: w.Priority, Status: TaskPending, FallbackOf: fallbackOf,
	})
	return n
}

// inTurn has workers work one after another; each gets what those before it in the step
// made (R61).
func (r *run) inTurn(c *orchestrator.Context, stints []*stint) error {
	for i, st := range stints {
		for _, before := range stints[:i] {
			for _, made := range before.made {
				st.inputs[made.Worker] = made.Payload
			}
		}
		if err := r.perform(c, st); err != nil {
			r.cancelFrom(stints[i+1:])
			return err
		}
	}
	return nil
}

// sideBySide has workers work at once (R60). The first that must not fail and does
// cancels the others (RX11).
func (r *run) sideBySide(c *orchestrator.Context, stints []*stint) error {
	q := orchestrator.NewQueue[struct{}](c)
	next, failed := 0, error(nil)
	for {
		for failed == nil && next < len(stints) && (r.cfg.StepLimit == 0 || q.Len() < r.cfg.StepLimit) {
			st := stints[next]
			next++
			q.Go(st.worker.ID, func(c *orchestrator.Context) (struct{}, error) { return struct{}{}, r.perform(c, st) })
		}
		done, ok := q.Next()
		if !ok {
			break
		}
		if done.Err != nil && failed == nil {
			failed = done.Err
			q.CancelAll()
		}
	}
	if failed != nil {
		r.cancelFrom(stints)
	}
	return failed
}

// cancelFrom marks what will not be done any more.
func (r *run) cancelFrom(stints []*stint) {
	for _, st := range stints {
		if t := &r.state.Tasks[st.task]; t.Status == TaskPending || t.Status == TaskRunning {
			t.Status = TaskCanceled
		}
	}
}

// perform is one worker's part: its attempts, then who takes its place, then going on
// without it or not at all (R67-R73). An error ends the run.
func (r *run) perform(c *orchestrator.Context, st *stint) error {
	w := st.worker
	if skip, why, err := r.barred(c, w); err != nil || skip {
		if skip {
			r.state.Tasks[st.task].Status = TaskSkipped
			r.miss(c, st, why)
		}
		return err
	}
	err := r.attempt(c, st, w, st.task)
	if err == nil {
		return nil
	}
	if over := r.endOfRun(err); over != nil {
		return over
	}
	substitute, hasFallback := r.reg.Worker(w.Fallback)
	switch routing.OnFailure(r.cfg.Attempts, r.cfg.Attempts, false, hasFallback, w.Critical) {
	case routing.Fallback:
		ferr := r.takePlace(c, st, substitute)
		if over := r.endOfRun(ferr); ferr == nil || over != nil {
			return over
		}
		if !w.Critical {
			break
		}
		return r.broken(w, st, err)
	case routing.Abort:
		return r.broken(w, st, err)
	case routing.Retry, routing.Skip:
	}
	r.state.Tasks[st.task].Status = TaskSkipped
	r.miss(c, st, prompt.OneLine(err.Error()))
	return nil
}

// broken is the failure of a critical worker (R70, RC10).
func (r *run) broken(w Worker, st *stint, err error) error {
	return fmt.Errorf("%w: %s failed after %s: %w", ErrWorker, w.ID, attempts(r.state.Tasks[st.task].Attempts), err)
}

// endOfRun is err if it is not the worker's, but means that the run ends.
func (r *run) endOfRun(err error) error {
	if err == nil {
		return nil
	}
	if orchestrator.IsOver(err) || errors.Is(err, orchestrator.ErrFlow) || errors.Is(err, orchestrator.ErrNoAgent) {
		return err
	}
	return nil
}

// barred tells whether a worker must not start: money or time are used up (RX3, RX4). A
// critical one that has no money is an error; time does not stop it.
func (r *run) barred(c *orchestrator.Context, w Worker) (skip bool, why string, err error) {
	if r.state.Brief.MaxBudget-c.Spent().Cost <= 0 {
		r.exhaust(c, "budget_exhausted", "the budget is used up", "The budget of %s USD is used up", usd(r.state.Brief.MaxBudget))
		if w.Critical {
			return false, "", fmt.Errorf("%w: nothing is left for %s", orchestrator.ErrBudget, w.ID)
		}
		return true, "the budget is used up", nil
	}
	if r.late(c) && !w.Critical {
		return true, "the time is up", nil
	}
	return false, "", nil
}

// late tells whether the brief's time is up, and notes it.
func (r *run) late(c *orchestrator.Context) bool {
	limit := r.state.Brief.MaxTime
	if limit == 0 || c.Elapsed() < limit {
		return false
	}
	r.exhaust(c, "time_exhausted", "the time limit was reached", "The time limit of %v was reached", limit)
	return true
}

// exhaust notes what makes this iteration the last one.
func (r *run) exhaust(c *orchestrator.Context, code, forced, format string, args ...any) {
	if r.outOf == "" {
		r.outOf = forced
	}
	r.warn(c, code, format, args...)
}

// miss notes that a worker's part is missing (R72).
func (r *run) miss(c *orchestrator.Context, st *stint, why string) {
	r.missed = append(r.missed, st.worker.ID)
	r.warnOf(c, st.worker.ID, why)
	c.Emit("worker_skipped", Event{Worker: st.worker.ID, Step: st.step.ID, Text: why})
}

// warnOf says what the absence of a worker means.
func (r *run) warnOf(c *orchestrator.Context, id, why string) {
	w, _ := r.reg.Worker(id)
	r.warn(c, "worker_skipped", "%s", or(w.Note, id+" unavailable: "+why))
}

// takePlace has another worker do the part, or uses what it has made already in this
// iteration (R71, RC11).
func (r *run) takePlace(c *orchestrator.Context, st *stint, w Worker) error {
	r.state.Tasks[st.task].Status = TaskFailed
	c.Emit("worker_fallback", Event{Worker: st.worker.ID, Step: st.step.ID, Text: w.ID})
	if !r.completed(w.ID) {
		if err := r.attempt(c, st, w, r.task(w, st.step.ID, st.worker.ID)); err != nil {
			return err
		}
	}
	st.filled = true
	r.warn(c, "fallback_used", "%s failed: %s took its place", st.worker.ID, w.ID)
	return nil
}

// completed tells whether a worker has done its part in this iteration.
func (r *run) completed(id string) bool {
	return slices.ContainsFunc(r.state.Tasks, func(t Task) bool {
		return t.Worker == id && t.Iteration == r.state.Iteration && t.Status == TaskCompleted
	})
}

// attempt calls a worker until it answers or has no attempts left (R62, R68, R69).
func (r *run) attempt(c *orchestrator.Context, st *stint, w Worker, task int) error {
	text, err := r.prompts.Fill("work.tmpl", promptData{Worker: w.ID, Category: w.Category, Brief: r.state.Brief, Iteration: r.state.Iteration})
	if err != nil {
		return err
	}
	in := WorkerInput{
		TaskID: r.state.Tasks[task].ID, WorkerID: w.ID, Brief: r.state.Brief, Inputs: st.inputs, Iteration: r.state.Iteration,
	}
	if r.state.Iteration > 1 {
		in.Feedback = deref(r.state.Feedback)
	}
	r.state.Tasks[task].Status = TaskRunning
	for n := 1; ; n++ {
		r.state.Tasks[task].Attempts = n
		c.Emit("worker_started", Event{Worker: w.ID, Step: st.step.ID, Attempt: n})
		made, usage, err := r.call(c, w, agent.Request{Op: "work", Prompt: text, Input: agent.JSON(in), Output: wanted(w.Category)})
		t := &r.state.Tasks[task] // others may have made tasks meanwhile
		t.Usage = t.Usage.Add(usage)
		if err == nil {
			t.Status = TaskCompleted
			st.made = append(st.made, WorkerOutput{Worker: w.ID, Iteration: r.state.Iteration, Payload: made})
			c.Emit("worker_finished", Event{Worker: w.ID, Step: st.step.ID, Usage: &usage, Percent: r.percent()})
			return nil
		}
		t.Error = prompt.OneLine(err.Error())
		most := r.cfg.Attempts
		if r.late(c) {
			most = 1 // RX3
		}
		if c.IsCanceled(err) {
			t.Status = TaskCanceled
			return err
		}
		if r.endOfRun(err) != nil || routing.OnFailure(n, most, worth(w, err), false, true) != routing.Retry {
			t.Status = TaskFailed
			return err
		}
		if err := r.pause(c, err, Event{Worker: w.ID, Step: st.step.ID, Attempt: n + 1}); err != nil {
			return err
		}
	}
}

// worth tells whether another attempt may help (RX12).
func worth(w Worker, err error) bool {
	if w.Retryable == nil {
		return retryable(err)
	}
	again := false
	if perr := guarded(func() error { again = w.Retryable(err); return nil }); perr != nil {
		return false
	}
	return again
}

// call is one attempt, with the money that is left and no more time than there is
// (RX3, RX5, RX14).
func (r *run) call(c *orchestrator.Context, w Worker, req agent.Request) (json.RawMessage, usage, error) {
	req.Limits = agent.Limits{Attempts: 1, Repairs: 2, Timeout: w.Timeout}
	if limit := r.state.Brief.MaxTime; limit > c.Elapsed() && !w.Critical {
		req.Limits.Timeout = min(req.Limits.Timeout, max(limit-c.Elapsed(), time.Millisecond))
	}
	spent := c.Spent()
	c = c.WithBudget(orchestrator.Budget{Cost: max(r.state.Brief.MaxBudget-spent.Cost, 1)})
	made, resp, err := orchestrator.AskWith(c, w.Agent, req, func(resp agent.Response) (json.RawMessage, error) {
		return payload(w.Category, resp)
	})
	used := resp.Usage
	if e, ok := errors.AsType[*agent.Error](err); ok {
		used = used.Add(e.Usage)
	}
	return made, used, err
}

// keep puts what a worker made where it belongs (R63).
func (r *run) keep(o WorkerOutput) {
	w, _ := r.reg.Worker(o.Worker)
	switch w.Category {
	case Researching:
		r.state.Research = append(r.state.Research, o)
	case Analysing:
		r.state.Analysis = append(r.state.Analysis, o)
	case Writing:
		r.state.Writing = append(r.state.Writing, o)
	case Checking:
		r.state.Quality = append(r.state.Quality, o)
	}
}

// inputsOf is what a worker needs of what is there (R111).
func (r *run) inputsOf(w Worker) map[string]json.RawMessage {
	inputs := map[string]json.RawMessage{}
	for _, list := range [][]WorkerOutput{r.state.Research, r.state.Analysis, r.state.Writing, r.state.Quality} {
		for _, o := range list {
			maker, _ := r.reg.Worker(o.Worker)
			if slices.ContainsFunc(w.Needs, func(n string) bool { return slices.Contains(maker.Produces, n) }) {
				key := o.Worker
				for n := 2; inputs[key] != nil; n++ {
					key = o.Worker + "#" + strconv.Itoa(n)
				}
				inputs[key] = o.Payload
			}
		}
	}
	return inputs
}

// barren says what becomes of a run in which nobody of a step has worked: it fails if a
// later step needs something that only they would have made (RC12). Without money or
// time it goes on as far as critical workers get (RX3, RX4).
func (r *run) barren(c *orchestrator.Context, at int) error {
	have := map[string]bool{}
	for _, list := range [][]WorkerOutput{r.state.Research, r.state.Analysis, r.state.Writing, r.state.Quality} {
		for _, o := range list {
			w, _ := r.reg.Worker(o.Worker)
			for _, p := range w.Produces {
				have[p] = true
			}
		}
	}
	steps := r.state.Plan.Steps
	for _, id := range steps[at].Workers {
		w, _ := r.reg.Worker(id)
		for _, p := range w.Produces {
			if user := r.firstThatNeeds(p, steps[at+1:]); user != "" && !have[p] && r.outOf == "" {
				return fmt.Errorf("%w: no worker of step %q has worked, and %s needs their %s", ErrStep, steps[at].ID, user, p)
			}
		}
	}
	r.warn(c, "step_failed", "no worker of step %q has worked (%s)", steps[at].ID, strings.Join(steps[at].Workers, ", "))
	return nil
}

func (r *run) firstThatNeeds(product string, steps []Step) string {
	for _, s := range steps {
		for _, id := range s.Workers {
			if w, _ := r.reg.Worker(id); slices.Contains(w.Needs, product) {
				return id
			}
		}
	}
	return ""
}
