package director

import (
	"fmt"
	"slices"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
)

// verdict is the result of a check.
type verdict struct {
	answer Assessment
	err    error // why there is no answer
}

// watch looks at a worker between two slices: it ends an attempt that is late or silent,
// and lets the guardian check it when that is due. more says that the worker is not done.
func (r *run) watch(c *orchestrator.Context, a *attempt, more bool) (*attemptFailure, error) { //nolint:revive // flag-parameter: one that is done is not checked
	late := r.Bounds.TaskTime > 0 && a.total >= r.Bounds.TaskTime
	still := r.Bounds.Watch.Inactivity > 0 && a.silent >= r.Bounds.Watch.Inactivity
	if late || still {
		r.noteVerdict(c, a, r.board.Board().Guardian.Watches[a.id], stalled, nil)
		if late {
			return &attemptFailure{kind: blackboard.TimedOut, text: fmt.Sprintf("it was not done after %v (Bounds.TaskTime)", r.Bounds.TaskTime)}, nil
		}
		return &attemptFailure{kind: blackboard.StalledWorker, text: fmt.Sprintf("nothing was said for %v", a.silent.Round(time.Second))}, nil
	}
	if a.checks != nil { // that of the slice before
		if done, ok := a.checks.Next(); ok && done.Value != nil {
			if why, err := r.follow(c, a, done.Value); why != nil || err != nil {
				return why, err
			}
		}
	}
	if !more || !checkDue(a.calls, a.every, a.since, r.Bounds.Watch.Every) {
		return nil, nil
	}
	a.calls, a.since = 0, 0
	if r.Agents.Guardian == "" {
		return nil, nil
	}
	if r.Bounds.Watch.Async {
		a.checks = orchestrator.NewQueue[*verdict](c)
		in := r.assessInput(a)
		a.checks.Go("check/"+a.id, func(c *orchestrator.Context) (*verdict, error) { return r.assess(c, a, in), nil })
		return nil, nil
	}
	return r.follow(c, a, r.assess(c, a, r.assessInput(a)))
}

// dropCheck cancels a check that is under way when an attempt ends.
func (r *run) dropCheck(a *attempt) {
	if a.checks == nil {
		return
	}
	a.checks.CancelAll()
	for _, ok := a.checks.Next(); ok; _, ok = a.checks.Next() {
		continue
	}
}

// shownMessages is how many of the last messages the guardian sees.
const shownMessages = 30

func (r *run) assessInput(a *attempt) AssessInput {
	v, _ := r.board.View(a.id)
	w := r.board.Board().Guardian.Watches[a.id]
	in := AssessInput{
		Objective: v.Objective, Spec: v.Spec, Task: wireTask(v.Task.Definition), Attempt: a.n, Earlier: w.Alignments, Ignored: w.NudgesIgnored,
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

// assess asks the guardian.
func (r *run) assess(c *orchestrator.Context, a *attempt, in AssessInput) *verdict {
	q := question{
		agent: r.Agents.Guardian, role: blackboard.RoleGuardian, op: OpAssess, tmpl: "assess.tmpl", task: a.id, input: in, repairs: 1, total: guardianTime,
	}
	v := new(verdict)
	v.answer, v.err = ask[Assessment](r, c, q, nil)
	return v
}

// follow carries out what a check means for the worker. A check that failed is skipped.
func (r *run) follow(c *orchestrator.Context, a *attempt, v *verdict) (*attemptFailure, error) {
	if v.err != nil {
		if team.Ends(v.err) {
			return nil, v.err
		}
		r.warn(c, "unchecked", a.id, "a check of attempt %d was skipped: %s", a.n, v.err)
		return nil, nil
	}
	if !r.stillActive(a) {
		return nil, nil
	}
	w := r.board.Board().Guardian.Watches[a.id]
	alignments := append(slices.Clone(w.Alignments), v.answer.Alignment)
	k := check{alignment: v.answer.Alignment, trajectory: trajectory(v.answer.Trajectory), repeating: v.answer.Repeating}
	if !slices.Contains([]trajectory{improving, stable, worsening}, k.trajectory) {
		k.trajectory = trajectoryOf(alignments)
	}
	k.nudgesIgnored = countIgnored(w.NudgesIgnored, a.nudged, k)
	said := k.verdict()
	w.Alignments, w.NudgesIgnored = alignments, k.nudgesIgnored
	r.noteVerdict(c, a, w, said, &v.answer.Alignment)
	a.nudged = false
	if k.ends() {
		return &attemptFailure{kind: blackboard.StalledWorker, text: fmt.Sprintf("%d nudges were ignored: %s", k.nudgesIgnored, v.answer.Issue)}, nil
	}
	if how := tone(said, k.alignment); how != "" {
		r.nudge(c, a, how, said, v.answer)
	}
	return nil, nil
}

// nudge says something to the worker, in its place in the conversation.
func (r *run) nudge(c *orchestrator.Context, a *attempt, how string, said drift, v Assessment) {
	data := promptData{Tone: how, Verdict: string(said), Issue: v.Issue, Nudge: v.Nudge}
	messages := r.system(c, a.id, "nudge.tmpl", data, "Go back to your task.")
	a.nudged = true
	a.req.History = append(slices.Clone(a.req.History), messages...)
	r.must(c, blackboard.Change{By: blackboard.RoleGuardian, Task: a.id, Do: blackboard.Remember{Messages: messages}})
	c.Emit(EventWorkerNudged, Event{Task: a.id, Attempt: a.n, On: how})
}

// noteVerdict notes a verdict; alignment is nil where no model was asked.
func (r *run) noteVerdict(c *orchestrator.Context, a *attempt, w blackboard.Watch, said drift, alignment *float64) {
	w.Verdict = string(said)
	r.must(c, blackboard.Change{By: blackboard.RoleGuardian, Task: a.id, Do: blackboard.SetWatch{Watch: w, Reviewed: true}})
	c.Emit(EventCheckFinished, Event{Task: a.id, Attempt: a.n, On: string(said), Alignment: alignment})
}

// measure notes what a slice has done, for the figures that the guardian sees.
func (r *run) measure(c *orchestrator.Context, a *attempt, resp agent.Response) {
	w := r.board.Board().Guardian.Watches[a.id]
	if len(resp.Messages) > 0 {
		w.LastMessage = c.Now()
	}
	w.Tokens += resp.Usage.Input + resp.Usage.Output
	w.ToolCalls += resp.Usage.ToolCalls
	r.must(c, blackboard.Change{By: blackboard.RoleGuardian, Task: a.id, Do: blackboard.SetWatch{Watch: w}})
}

func (r *run) measureWrites(c *orchestrator.Context, a *attempt, files int) {
	w := r.board.Board().Guardian.Watches[a.id]
	w.Writes += int64(files)
	r.must(c, blackboard.Change{By: blackboard.RoleGuardian, Task: a.id, Do: blackboard.SetWatch{Watch: w}})
}
