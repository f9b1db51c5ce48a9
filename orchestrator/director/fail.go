package director

import (
	"fmt"
	"slices"
	"strings"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team/prompt"
	"github.com/convene-go/convene/providers"
)

// givenUpPrefix begins the reasons of tasks that were abandoned because no attempt was
// left.
const givenUpPrefix = "given up: "

func givenUp(reason string) bool { return strings.HasPrefix(reason, givenUpPrefix) }

// lose ends an attempt that failed before its review: another one begins, or a person is
// asked.
func (r *run) lose(c *orchestrator.Context, a *attempt, why attemptFailure) {
	t, _ := r.board.Task(a.id)
	qa := blackboard.QA{Kind: why.kind, Outcome: outcomeFail, Feedback: why.text}
	c.Emit(EventAttemptFailed, Event{Task: a.id, Attempt: a.n, On: string(why.kind), Text: why.text})
	if why.outage && r.outage(c, a.id, why.text) {
		r.release(c, a, nil, "the run is paused")
		return
	}
	if why.outage {
		r.outages.lost = append(r.outages.lost, a.id)
	}
	route := r.attempts().after(t.RetryCount+1, t.ConflictCount)
	if route == askHuman {
		r.direct(c, a.id, blackboard.Move{Event: blackboard.EventAsk, Reason: "no attempt is left: " + why.text, QA: &qa})
		return
	}
	r.direct(c, a.id, blackboard.Move{Event: blackboard.EventLose, QA: &qa, Messages: r.phoenix(c, &t, qa)})
	if route == giveUp {
		r.abandon(c, a.id, givenUpPrefix+why.text) // at once: the task is READY
		return
	}
	r.forget(c, a.id)
}

// phoenix is the one message that is left in the memory of a task after a failed attempt.
func (r *run) phoenix(c *orchestrator.Context, t *blackboard.Task, qa blackboard.QA) []providers.Message {
	data := promptData{
		Op: OpWork, Attempt: t.Attempt, Kind: string(qa.Kind), Conflict: qa.Kind == blackboard.MergeConflict || qa.Kind == blackboard.MergeBroken,
		Title: firstNonBlank(t.Title, t.ID), Feedback: qa.Feedback, Focus: qa.Focus, Criteria: unmet(qa.Criteria), Files: qa.Files,
	}
	for _, test := range qa.Tests {
		if test.Fault != blackboard.TestWrong || t.Phase == PhaseTest {
			data.Tests = append(data.Tests, test)
		}
	}
	if r.store.agent != "" && !r.Policy.DropFailed {
		data.Branch = r.store.name(c, t.ID, t.Attempt)
	}
	return r.system(c, t.ID, "phoenix.tmpl", data, fmt.Sprintf("Attempt %d at this task has failed. Begin anew.", t.Attempt))
}

func firstNonBlank(texts ...string) string {
	i := slices.IndexFunc(texts, func(s string) bool { return strings.TrimSpace(s) != "" })
	return texts[max(i, 0)]
}

// forget removes the worktree of a failed attempt, and with Policy.DropFailed its branch.
func (r *run) forget(c *orchestrator.Context, id string) {
	t, _ := r.board.Task(id)
	c.Emit(EventAttemptReset, Event{Task: id, Attempt: t.Attempt + 1})
	r.clear(c, id, r.Policy.DropFailed)
}

// afterFailure is what follows when a task is FAILED_QA: another attempt, a fix of the
// code, or a person is asked.
func (r *run) afterFailure(c *orchestrator.Context, id string, qa blackboard.QA) {
	t, _ := r.board.Task(id)
	if qa.Kind == blackboard.NoReview {
		r.escalateTask(c, id, qa.Feedback)
		return
	}
	switch r.attempts().after(t.RetryCount, t.ConflictCount) {
	case askHuman:
		r.escalateTask(c, id, "no attempt is left: "+prompt.OneLine(qa.Feedback))
	case giveUp:
		r.abandon(c, id, givenUpPrefix+prompt.OneLine(qa.Feedback))
	case phoenix:
		if fix, ok := r.fixFor(&t, qa); ok {
			r.direct(c, "", blackboard.AddTasks{Tasks: []blackboard.Definition{fix}})
			r.direct(c, id, blackboard.Move{
				Event: blackboard.EventWaitFix, Blocked: &blackboard.BlockedReason{Type: blackboard.BySubtask}, Needs: []string{fix.ID}, Messages: r.phoenix(c, &t, qa),
			})
		} else if r.board.Waits(id) != nil {
			r.direct(c, id, blackboard.Move{Event: blackboard.EventWaitFix, Blocked: &blackboard.BlockedReason{Type: blackboard.ByDependency}, Messages: r.phoenix(c, &t, qa)})
		} else {
			r.direct(c, id, blackboard.Move{Event: blackboard.EventPhoenix, Messages: r.phoenix(c, &t, qa)})
		}
		r.forget(c, id)
	}
}

func (r *run) escalateTask(c *orchestrator.Context, id, why string) {
	r.direct(c, id, blackboard.Move{Event: blackboard.EventEscalate, Reason: why})
}

// fixFor is the task that fixes the code which a TEST task found wrong.
func (r *run) fixFor(t *blackboard.Task, qa blackboard.QA) (blackboard.Definition, bool) {
	builder, ok := r.profileFor(PhaseBuild)
	if t.Phase != PhaseTest || !ok || !slices.Contains(r.Policy.Phases, PhaseBuild) || r.liveTasks() >= r.Bounds.Tasks {
		return blackboard.Definition{}, false
	}
	var criteria []string
	for _, test := range qa.Tests {
		if test.Fault != blackboard.TestWrong {
			criteria = append(criteria, fmt.Sprintf("The test %s passes: %s", test.Test, firstNonBlank(test.Analysis, "its code is wrong")))
		}
	}
	if len(criteria) == 0 {
		return blackboard.Definition{}, false
	}
	return blackboard.Definition{
		ID: r.freeID("fix-" + t.Component), Title: "Fix what the tests of " + t.Component + " found", Description: qa.Feedback,
		Component: t.Component, Phase: PhaseBuild, Profile: builder.ID, Priority: t.Priority, Criteria: criteria, Parent: t.ID,
	}, true
}

// freeID is a name with a number behind it that no task has.
func (r *run) freeID(name string) string {
	for n := 1; ; n++ {
		id := fmt.Sprintf("%s-%d", name, n)
		if _, taken := r.board.Task(id); !taken {
			return id
		}
	}
}

// outages counts failures of agents in a row at different tasks.
type outages struct {
	tasks []string // that failed since something last worked
	lost  []string // those of them that it has cost a retry
	why   string   // the last failure
}

func (o *outages) succeeded() { o.tasks, o.lost = nil, nil }

// outage notes that an agent has failed at a task, and says whether so many have that the
// run is paused. Then it has cost no task a retry.
func (r *run) outage(c *orchestrator.Context, task, why string) bool {
	o := &r.outages
	if o.why = why; !slices.Contains(o.tasks, task) {
		o.tasks = append(o.tasks, task)
	}
	if r.Policy.Retry.Outages == 0 || len(o.tasks) < r.Policy.Retry.Outages {
		return false
	}
	if !r.paused {
		r.paused = true
		r.warn(c, "outage", "", "the run is paused: agents failed at %s: %s", strings.Join(o.tasks, ", "), why)
	}
	for _, id := range o.lost {
		if t, _ := r.board.Task(id); !t.Final() && t.RetryCount > 0 {
			r.direct(c, id, blackboard.Forgive{})
		}
	}
	o.lost = nil
	return true
}
