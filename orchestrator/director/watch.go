package director

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
)

// watch looks at a worker between two slices: it ends an attempt that is late or silent,
// and lets the guardian check it when that is due. more says that the worker is not done.
func (r *run) watch(c *orchestrator.Context, a *attempt, more bool) error { //nolint:revive // flag-parameter: one that is done is not checked
	late := r.Bounds.TaskTime > 0 && a.total >= r.Bounds.TaskTime
	still := r.Bounds.Watch.Inactivity > 0 && a.silent >= r.Bounds.Watch.Inactivity
	if late || still {
		if err := r.idle(c, a, late); err != nil {
			return err
		}
	}
	if a.checks != nil { // the check of the slice before
		if done, ok := a.checks.Next(); ok {
			if err := r.follow(c, a, done.Value, done.Err); err != nil {
				return err
			}
		}
	}
	if !more || !checkDue(a.calls, a.every, a.since, r.Bounds.Watch.Every) {
		return nil
	}
	a.calls, a.since = 0, 0
	if r.Agents.Guardian == "" && r.Rules.Graders.Conduct == nil {
		return nil
	}
	if r.Bounds.Watch.Async {
		a.checks = orchestrator.NewQueue[Assessment](c)
		in := r.assessInput(a)
		a.checks.Go("check/"+a.id, func(c *orchestrator.Context) (Assessment, error) { return r.assess(c, a, in) })
		return nil
	}
	v, err := r.assess(c, a, r.assessInput(a))
	return r.follow(c, a, v, err)
}

// idle has the gate decide about a worker that is late or silent. One that is late ends in any
// case.
func (r *run) idle(c *orchestrator.Context, a *attempt, late bool) error {
	k := r.conduct(a)
	k.Inactive = true
	to, err := r.steer(c, a, k, Assessment{})
	switch {
	case err != nil:
		return err
	case late:
		return &attemptError{kind: blackboard.TimedOut, text: fmt.Sprintf("it was not done after %v (Bounds.TaskTime)", r.Bounds.TaskTime), told: timeoutWords}
	case to.Ends:
		return &attemptError{kind: blackboard.StalledWorker, text: fmt.Sprintf("nothing was said for %v", a.silent.Round(time.Second)), told: stallWords}
	}
	return nil
}

// dropCheck cancels a check that is under way when an attempt ends.
func (r *run) dropCheck(a *attempt) {
	if a.checks != nil {
		drain(a.checks)
	}
}

// drain cancels the branches of a queue and waits for their ends.
func drain[T any](q *orchestrator.Queue[T]) {
	q.CancelAll()
	for _, ok := q.Next(); ok; _, ok = q.Next() {
		continue
	}
}

// shownMessages is how many of the last messages the guardian sees.
const shownMessages = 30

func (r *run) assessInput(a *attempt) AssessInput {
	v, _ := r.board.View(a.id)
	w := r.board.Board().Guardian.Watches[a.id]
	in := AssessInput{
		Objective: v.Objective, Spec: v.Spec, Task: Task(v.Task.Definition), Attempt: a.n, Earlier: w.Alignments, Ignored: w.NudgesIgnored,
		Metrics: Metrics{SinceMessage: a.silent.Round(time.Second).String(), Tokens: w.Tokens, ToolCalls: w.ToolCalls, Writes: w.Writes},
	}
	last := v.Memory[max(0, len(v.Memory)-shownMessages):]
	for _, m := range last {
		said := Said{Role: string(m.Role), Text: text.Cut(m.Text, 4<<10)}
		for _, call := range m.ToolCalls {
			said.Tools = append(said.Tools, text.Shorten(call.Name+" "+string(call.Input), 400))
		}
		in.Messages = append(in.Messages, said)
	}
	return in
}

// guardianTime is how long a check may take.
const guardianTime = 60 * time.Second

// assess asks the host's Grader or the guardian.
func (r *run) assess(c *orchestrator.Context, a *attempt, in AssessInput) (Assessment, error) {
	if grader := r.Rules.Graders.Conduct; grader != nil {
		v, failed, err := team.Grade(r.Run, c, a.id, "Rules.Graders.Conduct", func() (Assessment, error) { return grader.Grade(c, in) }, Assessment.fault)
		return v, cmp.Or(r.kept(err), failed)
	}
	q := question{
		agent: r.Agents.Guardian, role: blackboard.RoleGuardian, op: opAssess, tmpl: "assess.tmpl", task: a.id, input: in, repairs: 1, total: guardianTime,
	}
	return ask[Assessment](r, c, q, nil)
}

// follow carries out what a check means for the worker. A check that failed is skipped.
func (r *run) follow(c *orchestrator.Context, a *attempt, v Assessment, err error) error {
	switch {
	case team.Ends(err):
		return err
	case r.IsHostError(err):
		return nil
	case err != nil:
		r.warn(c, "unchecked", a.id, "a check of attempt %d was skipped: %s", a.n, err)
		return nil
	case !r.stillActive(a):
		return nil
	}
	k := r.conduct(a)
	k.Alignment, k.Trajectory, k.Repeating = v.Alignment, v.Trajectory, v.Repeating
	if !slices.Contains([]string{improving, stable, worsening}, k.Trajectory) {
		k.Trajectory = trajectoryOf(append(slices.Clone(k.Earlier), k.Alignment))
	}
	to, err := r.steer(c, a, k, v)
	if err != nil || !to.Ends {
		return err
	}
	why := fmt.Sprintf("the guardian ended the attempt with the verdict %s; ignored nudges: %d", to.Verdict, to.Ignored)
	if v.Issue != "" {
		why += "; " + v.Issue
	}
	return fails(blackboard.StalledWorker, "%s", why)
}

// conduct is how a worker did at its last check.
func (r *run) conduct(a *attempt) Conduct {
	w := r.board.Board().Guardian.Watches[a.id]
	k := Conduct{Earlier: slices.Clone(w.Alignments), Trajectory: trajectoryOf(w.Alignments), Nudged: a.nudged, Ignored: w.NudgesIgnored}
	if n := len(k.Earlier); n > 0 {
		k.Alignment = k.Earlier[n-1]
	}
	return k
}

// steer has the gate decide about a worker, and notes and says what it decides.
func (r *run) steer(c *orchestrator.Context, a *attempt, k Conduct, said Assessment) (Course, error) {
	to, err := rule(r, c, a.id, "Gates.Guardian", func() (Course, error) {
		to := r.Rules.Gates.Guardian.Decide(k)
		return to, to.fault()
	})
	if err != nil {
		return to, err
	}
	e := Event{Task: a.id, Attempt: a.n, On: to.Verdict}
	w := r.board.Board().Guardian.Watches[a.id]
	if w.Verdict, w.NudgesIgnored = to.Verdict, to.Ignored; !k.Inactive {
		w.Alignments, e.Alignment = append(k.Earlier, k.Alignment), &k.Alignment
	}
	r.must(c, blackboard.Change{By: blackboard.RoleGuardian, Task: a.id, Do: blackboard.SetWatch{Watch: w, Reviewed: true}})
	r.Emit(c, EventCheckFinished, &e)
	if a.nudged = false; !to.Ends && to.Tone != "" {
		r.nudge(c, a, to, said)
	}
	return to, nil
}

// nudge says something to the worker, in its place in the conversation.
func (r *run) nudge(c *orchestrator.Context, a *attempt, to Course, v Assessment) {
	data := promptData{Tone: to.Tone, Verdict: to.Verdict, Issue: v.Issue, Nudge: v.Nudge}
	messages := r.system(c, a.id, "nudge.tmpl", data, "Go back to your task.")
	a.nudged = true
	a.req.History = append(slices.Clone(a.req.History), messages...)
	r.must(c, blackboard.Change{By: blackboard.RoleGuardian, Task: a.id, Do: blackboard.Remember{Messages: messages}})
	r.Emit(c, EventWorkerNudged, &Event{Task: a.id, Attempt: a.n, On: to.Tone})
}

// measure notes what a slice has done, for the figures that the guardian sees.
func (r *run) measure(c *orchestrator.Context, a *attempt, resp agent.Response, files int) {
	w := r.board.Board().Guardian.Watches[a.id]
	if len(resp.Messages) > 0 {
		w.LastMessage = c.Now()
	}
	w.Tokens += resp.Usage.Input + resp.Usage.Output
	w.ToolCalls += resp.Usage.ToolCalls
	w.Writes += int64(files)
	r.must(c, blackboard.Change{By: blackboard.RoleGuardian, Task: a.id, Do: blackboard.SetWatch{Watch: w}})
}
