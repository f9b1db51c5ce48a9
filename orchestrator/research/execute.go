package research

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// execute runs the plan step by step.
func (r *run) execute(c *orchestrator.Context) error {
	for i, s := range r.state.Plan.Steps {
		r.Emit(c, eventStepStarted, &Event{Step: s.ID, Percent: r.percent()})
		err := r.step(c, i)
		if err == nil {
			r.state.StepIndex = i + 1
			r.act(c, "Orchestrator", "execute_step", map[string]any{"step": s.ID, "mode": s.Mode, "workers": s.Workers})
		}
		r.Emit(c, EventStepFinished, &Event{Step: s.ID, Percent: r.percent()})
		if err != nil {
			return err
		}
	}
	r.machine.Fire(c, moveExecuted)
	return nil
}

// part is a worker's part in a step, and its result.
type part struct {
	Worker

	step   string
	task   int            // its index in State.Tasks
	before []*part        // earlier parts of a sequential step
	made   *WorkerOutput  // result of the worker or of its fallback; nil: none
	filled bool           // an existing result of the fallback is used
	short  bool           // it was skipped for lack of money or time
	drafts []WorkerOutput // drafts that the worker has read
}

// step runs all workers of a step.
func (r *run) step(c *orchestrator.Context, at int) error {
	s := r.state.Plan.Steps[at]
	parts := make([]*part, len(s.Workers))
	for i, w := range s.members(r.Workers) {
		parts[i] = &part{Worker: w, step: s.ID, task: r.task(w, s.ID, "")}
	}
	runParts := r.runParallel
	if s.Mode == sequential {
		runParts = r.runSequential
	}
	if err := runParts(c, parts); err != nil {
		for _, p := range parts {
			if t := &r.state.Tasks[p.task]; t.Status == taskPending || t.Status == taskRunning {
				t.Status = taskCanceled
			}
		}
		return err
	}
	if !slices.ContainsFunc(parts, func(p *part) bool { return p.made != nil || p.filled }) {
		return r.missing(c, at, parts)
	}
	return nil
}

// task adds a task before its worker starts.
func (r *run) task(w Worker, step, fallbackOf string) int {
	n := len(r.state.Tasks)
	r.state.Tasks = append(r.state.Tasks, Task{
		ID: "task-" + strconv.Itoa(n+1), Worker: w.ID, Step: step, Plan: r.state.Plan.ID, Iteration: r.state.Iteration,
		Priority: w.Priority, Status: taskPending, FallbackOf: fallbackOf,
	})
	return n
}

// runSequential runs parts one after another; each gets the results of those before it.
func (r *run) runSequential(c *orchestrator.Context, parts []*part) error {
	for i, p := range parts {
		p.before = parts[:i]
		if err := r.work(c, p); err != nil {
			return err
		}
		r.keep(c, p)
	}
	return nil
}

// runParallel runs parts at once. The first failure of a critical one cancels the others.
// Results are kept in the order of the plan.
func (r *run) runParallel(c *orchestrator.Context, parts []*part) (failed error) {
	q := orchestrator.NewQueue[struct{}](c)
	for next := 0; ; {
		for ; failed == nil && next < len(parts) && (r.Bounds.StepLimit == 0 || q.Len() < r.Bounds.StepLimit); next++ {
			p := parts[next]
			q.Go(p.ID, func(c *orchestrator.Context) (struct{}, error) { return struct{}{}, r.work(c, p) })
		}
		done, ok := q.Next()
		if !ok {
			break
		}
		if failed == nil && done.Err != nil {
			failed = done.Err
			q.CancelAll()
		}
	}
	for _, p := range parts {
		r.keep(c, p)
	}
	return failed
}

// work runs one worker's part: its attempts, then its fallback; if both fail, an optional
// part is skipped. An error ends the iteration.
func (r *run) work(c *orchestrator.Context, p *part) error {
	if !p.Critical && r.timeLeft(c) < 0 {
		return r.skip(c, p, "time", timeUp)
	}
	k, err := r.try(c, p, p.Worker, p.task)
	if other := find(r.Workers, p.Fallback); err != nil && !team.Ends(err) && !r.IsHostError(err) && other.ID != "" {
		if ferr := r.replace(c, p, other, err); ferr == nil || r.breaks(c, ferr) || r.IsHostError(ferr) {
			return ferr
		}
	}
	switch {
	case err == nil, r.breaks(c, err), r.IsHostError(err):
		return err
	case p.Critical:
		return team.Fail(ErrWorker, "%s failed %s: %w", p.ID, k.after(), own(err))
	}
	code := "agent-failed"
	if orchestrator.IsOver(err) {
		code, _ = r.shortage(c)
	}
	return r.skip(c, p, code, prompt.OneLine(err.Error()))
}

// skip records that a worker's part is missing.
func (r *run) skip(c *orchestrator.Context, p *part, code, cause string) error {
	r.state.Tasks[p.task].Status = taskSkipped
	p.short = code != "agent-failed"
	r.missed = append(r.missed, p.ID)
	r.warn(c, code, p.ID, "%s", p.absence(cause))
	r.Emit(c, EventWorkerSkipped, &Event{Event: team.Event{Who: p.ID, Text: cause}, Step: p.step})
	return nil
}

// replace lets another worker do the part, or uses what that one has made already in this
// iteration. cause is how the part failed.
func (r *run) replace(c *orchestrator.Context, p *part, w Worker, cause error) error {
	r.state.Tasks[p.task].Status = taskFailed
	r.Emit(c, EventWorkerReplaced, &Event{Event: team.Event{Who: p.ID, Text: w.ID}, Step: p.step})
	p.filled = slices.ContainsFunc(r.state.Tasks, func(t Task) bool {
		return t.Worker == w.ID && t.Iteration == r.state.Iteration && t.Status == taskCompleted
	})
	if !p.filled {
		if _, err := r.try(c, p, w, r.task(w, p.step, p.ID)); err != nil {
			return err
		}
	}
	r.warn(c, "fallback", p.ID, "%s failed: %s did its part: %s", p.ID, w.ID, prompt.OneLine(cause.Error()))
	return nil
}

// try calls a worker until it answers or has no attempts left.
func (r *run) try(c *orchestrator.Context, p *part, w Worker, task int) (*call, error) {
	p.drafts = slices.DeleteFunc(slices.Clone(r.state.Writing), func(o WorkerOutput) bool { return !find(r.Workers, o.Worker).feeds(w) })
	t := func() *Task { return &r.state.Tasks[task] } // parallel parts may append tasks meanwhile
	t().Status = taskRunning
	k := &call{
		Worker: w, op: "work", step: p.step, input: r.workerInput(w, t().ID, p.before), output: wanted[w.Category], repairs: 2,
		task: t, retrier: r.retrier(c, func(error) bool { return false }),
	}
	made, err := ask(r, c, k, payload(w))
	t().Status = taskFailed
	if err == nil {
		t().Status = taskCompleted
		p.made = &WorkerOutput{Worker: w.ID, Iteration: r.state.Iteration, Payload: made}
	} else if c.IsCanceled(err) {
		t().Status = taskCanceled
	}
	return k, err
}

// keep adds a result to the state.
func (r *run) keep(c *orchestrator.Context, p *part) {
	if p.made == nil {
		return
	}
	w := find(r.Workers, p.made.Worker)
	list := r.state.of(w.Category)
	*list = append(*list, *p.made)
	if w.Category == Researching {
		r.unread(c, *p.made)
	}
	var d Draft
	if !w.Revises || len(p.drafts) == 0 || json.Unmarshal(p.made.Payload, &d) != nil || d.Content == "" || isUnchanged(d.Content) {
		return
	}
	if text, given := articleOf([]WorkerOutput{*p.made}), articleOf(p.drafts); isCut(text, given.Words) {
		r.warn(c, "text-dropped", w.ID, "%s made %d words of %d: the text stays", w.ID, text.Words, given.Words)
		return
	}
	r.revise(c, p.drafts, w.ID, d)
}

// isUnchanged tells whether a checker says that a text needs no revision.
func isUnchanged(text string) bool {
	return strings.EqualFold(strings.Trim(text, ".!*_\"' \t\r\n"), "unchanged")
}

// revise replaces drafts by the text of the checker that has read them.
func (r *run) revise(c *orchestrator.Context, read []WorkerOutput, by string, d Draft) {
	d.Title = cmp.Or(d.Title, articleOf(read).Title)
	var drafts []WorkerOutput
	for _, o := range r.state.Writing {
		at := slices.IndexFunc(read, func(was WorkerOutput) bool { return was.Worker == o.Worker })
		if at >= 0 && o.RevisedBy != read[at].RevisedBy {
			r.warn(c, "revision-lost", by, "%s and %s revised the same text: that of %s is used", o.RevisedBy, by, by)
		}
		if at == 0 {
			o.Payload, o.RevisedBy = agent.JSON(d), by
		}
		if at <= 0 {
			drafts = append(drafts, o)
		}
	}
	r.state.Writing = drafts
}

// workerInput is the input of a worker: the results that it needs, and the results before
// it in a sequential step.
func (r *run) workerInput(w Worker, task string, before []*part) WorkerInput {
	in := WorkerInput{TaskID: task, WorkerID: w.ID, Brief: r.state.Input.brief(), Inputs: map[string]json.RawMessage{}, Iteration: r.state.Iteration}
	for _, o := range r.state.all() {
		mine := func(p *part) bool {
			return p.made != nil && p.made.Worker == o.Worker && p.made.Iteration == o.Iteration
		}
		if !find(r.Workers, o.Worker).feeds(w) && !slices.ContainsFunc(before, mine) {
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
	if last := r.last(); w.Category == Writing && len(last.writing) > 0 {
		drafts := last.writing // its own, or all together if it has none
		if i := slices.IndexFunc(drafts, func(o WorkerOutput) bool { return o.Worker == w.ID }); i >= 0 {
			drafts = drafts[i : i+1]
		}
		a := articleOf(drafts)
		in.LastDraft, in.Checks = &Draft{a.Title, a.Content}, map[string]json.RawMessage{}
		for _, o := range last.quality {
			in.Checks[o.Worker] = o.Payload
		}
	}
	return in
}

// missing handles a step in which no worker succeeded: the iteration ends if a later step
// needs a product that only they would have made. Parts that were skipped for lack of
// money or time do not end it.
func (r *run) missing(c *orchestrator.Context, at int, parts []*part) error {
	step := r.state.Plan.Steps[at]
	lost := func(product string) bool {
		mine := func(p *part) bool { return !p.short && slices.Contains(p.Produces, product) }
		made := func(o WorkerOutput) bool { return slices.Contains(find(r.Workers, o.Worker).Produces, product) }
		return slices.ContainsFunc(parts, mine) && !slices.ContainsFunc(r.state.all(), made)
	}
	for _, later := range r.state.Plan.Steps[at+1:] {
		for _, w := range later.members(r.Workers) {
			if i := slices.IndexFunc(w.Needs, lost); i >= 0 {
				return team.Fail(ErrStep, "step %q produced nothing, and %s needs its %s", step.ID, w.ID, w.Needs[i])
			}
		}
	}
	r.warn(c, "step-failed", "", "step %q produced nothing (%s)", step.ID, strings.Join(step.Workers, ", "))
	return nil
}
