package research

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/convene-go/convene/internal/prompt"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/internal/team"
	"github.com/convene-go/convene/providers"
)

// execute runs the plan step by step.
func (r *run) execute(c *orchestrator.Context) error {
	for i, s := range r.state.Plan.Steps {
		c.Emit(EventStepStarted, Event{Step: s.ID, Percent: r.percent()})
		err := r.step(c, i)
		if err == nil {
			r.state.StepIndex = i + 1
			r.act(c, conductor, "execute_step", map[string]any{"step": s.ID, "mode": string(s.Mode), "workers": s.Workers})
		}
		c.Emit(EventStepFinished, Event{Step: s.ID, Percent: r.percent()})
		if err != nil {
			return err
		}
	}
	r.fire(c, "executed")
	return nil
}

// part is a worker's part in a step, and what came of it.
type part struct {
	worker Worker
	step   string
	task   int            // its index in State.Tasks
	made   []WorkerOutput // by it, or by who did its part
	filled bool           // by what another worker had made already
	short  bool           // it was skipped for want of money or time
	drafts []WorkerOutput // that the worker has read
}

// step has all workers of a step work. What they made is kept in the order of the plan.
func (r *run) step(c *orchestrator.Context, at int) error {
	s := r.state.Plan.Steps[at]
	parts := make([]*part, len(s.Workers))
	for i, w := range s.members(r.Workers) {
		parts[i] = &part{worker: w, step: s.ID, task: r.task(w, s.ID, "")}
	}
	var err error
	if s.Mode == Sequential {
		err = r.inTurn(c, parts)
	} else {
		err = r.sideBySide(c, parts)
	}
	if err != nil {
		for _, p := range parts {
			if t := &r.state.Tasks[p.task]; t.Status == TaskPending || t.Status == TaskRunning {
				t.Status = TaskCanceled
			}
		}
		return err
	}
	if !slices.ContainsFunc(parts, func(p *part) bool { return p.made != nil || p.filled }) {
		return r.missing(c, at, parts)
	}
	return nil
}

// task makes a task before its worker starts.
func (r *run) task(w Worker, step, fallbackOf string) int {
	n := len(r.state.Tasks)
	r.state.Tasks = append(r.state.Tasks, Task{
		ID: "task-" + strconv.Itoa(n+1), Worker: w.ID, Step: step, Plan: r.state.Plan.ID, Iteration: r.state.Iteration,
		Priority: w.Priority, Status: TaskPending, FallbackOf: fallbackOf,
	})
	return n
}

// inTurn has workers work one after another; each gets what those before it in the step
// made.
func (r *run) inTurn(c *orchestrator.Context, parts []*part) error {
	var before []string
	for _, p := range parts {
		err := r.work(c, p, before)
		r.keep(c, p)
		if err != nil {
			return err
		}
		for _, o := range p.made {
			before = append(before, o.Worker)
		}
	}
	return nil
}

// sideBySide has workers work at once. The first that must not fail and does cancels the
// others.
func (r *run) sideBySide(c *orchestrator.Context, parts []*part) error {
	q := orchestrator.NewQueue[struct{}](c)
	next, failed := 0, error(nil)
	for {
		for failed == nil && next < len(parts) && (r.Limits.StepLimit == 0 || q.Len() < r.Limits.StepLimit) {
			p := parts[next]
			next++
			q.Go(p.worker.ID, func(c *orchestrator.Context) (struct{}, error) { return struct{}{}, r.work(c, p, nil) })
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
	for _, p := range parts {
		r.keep(c, p)
	}
	return failed
}

// work is one worker's part: its attempts, then who does it instead, then going on
// without it or not at all. An error ends the iteration.
func (r *run) work(c *orchestrator.Context, p *part, before []string) error {
	w := p.worker
	if !w.Critical && r.timeLeft(c) < 0 {
		r.skip(c, p, "time", timeUp)
		return nil
	}
	tries, err := r.try(c, p, w, p.task, before)
	switch {
	case err == nil:
		return nil
	case c.IsCanceled(err), errors.Is(err, orchestrator.ErrFlow):
		return err
	case orchestrator.IsOver(err) && !w.Critical:
		if r.timeLeft(c) < 0 {
			r.skip(c, p, "time", timeUp)
		} else {
			r.skip(c, p, "budget", prompt.OneLine(err.Error()))
		}
		return nil
	}
	if other, ok := find(r.Workers, w.Fallback); ok && !orchestrator.IsOver(err) {
		ferr := r.replace(c, p, other, before)
		if ferr == nil || c.IsCanceled(ferr) {
			return ferr
		}
	}
	if w.Critical {
		return coded(ErrWorker, "%s failed %s: %w", w.ID, after(tries), err)
	}
	r.skip(c, p, "agent-failed", prompt.OneLine(err.Error()))
	return nil
}

// skip notes that a worker's part is missing.
func (r *run) skip(c *orchestrator.Context, p *part, code, cause string) {
	r.state.Tasks[p.task].Status = TaskSkipped
	p.short = code != "agent-failed"
	r.missed = append(r.missed, p.worker.ID)
	r.warn(c, code, p.worker.ID, "%s", p.worker.absence(cause))
	c.Emit(EventWorkerSkipped, Event{Agent: p.worker.ID, Step: p.step, Text: cause})
}

// replace has another worker do the part, or uses what it has made already in this
// iteration.
func (r *run) replace(c *orchestrator.Context, p *part, w Worker, before []string) error {
	r.state.Tasks[p.task].Status = TaskFailed
	c.Emit(EventWorkerReplaced, Event{Agent: p.worker.ID, Step: p.step, Text: w.ID})
	p.filled = slices.ContainsFunc(r.state.Tasks, func(t Task) bool {
		return t.Worker == w.ID && t.Iteration == r.state.Iteration && t.Status == TaskCompleted
	})
	if !p.filled {
		if _, err := r.try(c, p, w, r.task(w, p.step, p.worker.ID), before); err != nil {
			return err
		}
	}
	r.warn(c, "fallback", p.worker.ID, "%s failed: %s did its part", p.worker.ID, w.ID)
	return nil
}

// try calls a worker until it answers or has no attempts left, and returns how many
// there were.
func (r *run) try(c *orchestrator.Context, p *part, w Worker, task int, before []string) (int, error) {
	text, err := r.prompts.Fill("work.tmpl", promptData{Worker: w.ID, Category: w.Category, Revises: w.Revises, Brief: r.state.Input, Iteration: r.state.Iteration})
	if err != nil {
		return 0, err
	}
	p.drafts = slices.DeleteFunc(slices.Clone(r.state.Writing), func(o WorkerOutput) bool {
		maker, _ := find(r.Workers, o.Worker)
		return !maker.feeds(w)
	})
	req := agent.Request{Op: "work", Prompt: text, Input: agent.JSON(r.workerInput(w, r.state.Tasks[task].ID, before)), Output: wanted(w)}
	r.state.Tasks[task].Status = TaskRunning
	worth := func(err error) bool {
		if r.Hooks.Retryable == nil {
			return team.Retryable(err)
		}
		again, panicked := team.Guard("Hooks.Retryable", func() (bool, error) { return r.Hooks.Retryable(w.ID, err), nil })
		return again && panicked == nil
	}
	made, tries, err := team.Try(c, r.attempts(c, Event{Agent: w.ID, Step: p.step}, worth), func(try int) (json.RawMessage, error) {
		r.state.Tasks[task].Attempts = try
		k := call{who: w.ID, agent: w.Agent, step: p.step, attempt: try, critical: w.Critical, limits: agent.Limits{
			Attempts: 1, Repairs: 2, Timeout: w.Timeout, Estimate: r.estimate(c, w),
		}}
		made, used, err := ask(r, c, k, req, payload(w))
		t := &r.state.Tasks[task] // others may have made tasks meanwhile
		t.Usage = t.Usage.Add(used)
		if err != nil {
			t.Error = prompt.OneLine(err.Error())
		}
		return made, err
	})
	t := &r.state.Tasks[task]
	switch {
	case err == nil:
		t.Status = TaskCompleted
		p.made = append(p.made, WorkerOutput{Worker: w.ID, Iteration: r.state.Iteration, Payload: made})
	case c.IsCanceled(err):
		t.Status = TaskCanceled
	default:
		t.Status = TaskFailed
	}
	return tries, err
}

// estimate is what is reserved for a call of a worker. A critical one is called as long
// as there is any money.
func (r *run) estimate(c *orchestrator.Context, w Worker) providers.NanoUSD {
	if left := c.Left().Cost; w.Critical && left > 0 {
		return min(w.EstCost, left)
	}
	return w.EstCost
}

// keep puts what was made where it belongs.
func (r *run) keep(c *orchestrator.Context, p *part) {
	for _, o := range p.made {
		w, _ := find(r.Workers, o.Worker)
		list := r.state.of(w.Category)
		*list = append(*list, o)
		var d Draft
		if w.Revises && len(p.drafts) > 0 && json.Unmarshal(o.Payload, &d) == nil && d.Content != "" {
			r.revise(c, p.drafts, w.ID, d)
		}
	}
}

// revise puts the text of a checker in the place of the drafts that it has read.
func (r *run) revise(c *orchestrator.Context, read []WorkerOutput, by string, d Draft) {
	d.Title = cmp.Or(d.Title, articleOf(read).Title)
	var drafts []WorkerOutput
	for _, o := range r.state.Writing {
		at := slices.IndexFunc(read, func(was WorkerOutput) bool { return was.Worker == o.Worker })
		if at < 0 {
			drafts = append(drafts, o)
			continue
		}
		if o.RevisedBy != read[at].RevisedBy {
			r.warn(c, "revision-lost", by, "%s and %s revised the same text: that of %s is used", o.RevisedBy, by, by)
		}
		if o.Worker == read[0].Worker {
			o.Payload, o.RevisedBy = agent.JSON(d), by
			drafts = append(drafts, o)
		}
	}
	r.state.Writing = drafts
}

// workerInput is what a worker gets: what it needs of all that is there, and in a step in
// turn what was made before it.
func (r *run) workerInput(w Worker, task string, before []string) WorkerInput {
	in := WorkerInput{TaskID: task, WorkerID: w.ID, Brief: r.state.Input.shown(), Inputs: map[string]json.RawMessage{}, Iteration: r.state.Iteration}
	for _, o := range r.state.all() {
		maker, _ := find(r.Workers, o.Worker)
		if !maker.feeds(w) && (o.Iteration != r.state.Iteration || !slices.Contains(before, o.Worker)) {
			continue
		}
		key := o.Worker
		for n := 2; in.Inputs[key] != nil; n++ {
			key = o.Worker + "#" + strconv.Itoa(n)
		}
		in.Inputs[key] = o.Payload
	}
	if r.state.Iteration == 1 {
		return in
	}
	in.Feedback = *r.state.Feedback
	last := r.done[len(r.done)-1]
	if w.Category == Writing && len(last.writing) > 0 {
		in.LastDraft, in.Checks = draftBy(w.ID, last.writing), map[string]json.RawMessage{}
		for _, o := range last.quality {
			in.Checks[o.Worker] = o.Payload
		}
	}
	return in
}

// draftBy is the draft of a writer, or all drafts together if it has none.
func draftBy(id string, drafts []WorkerOutput) *Draft {
	if i := slices.IndexFunc(drafts, func(o WorkerOutput) bool { return o.Worker == id }); i >= 0 {
		drafts = drafts[i : i+1]
	}
	a := articleOf(drafts)
	return &Draft{a.Title, a.Content}
}

// missing says what becomes of an iteration in which nobody of a step has worked: it ends
// if a later step needs something that only they would have made. Where money or time is
// short it goes on as far as critical workers get.
func (r *run) missing(c *orchestrator.Context, at int, parts []*part) error {
	step := r.state.Plan.Steps[at]
	have := map[string]bool{}
	for _, o := range r.state.all() {
		w, _ := find(r.Workers, o.Worker)
		for _, product := range w.Produces {
			have[product] = true
		}
	}
	for _, later := range r.state.Plan.Steps[at+1:] {
		for _, w := range later.members(r.Workers) {
			for _, need := range w.Needs {
				made := func(p *part) bool { return !p.short && slices.Contains(p.worker.Produces, need) }
				if !have[need] && slices.ContainsFunc(parts, made) {
					return coded(ErrStep, "step %q produced nothing, and %s needs its %s", step.ID, w.ID, need)
				}
			}
		}
	}
	r.warn(c, "step-failed", "", "step %q produced nothing (%s)", step.ID, strings.Join(step.Workers, ", "))
	return nil
}
