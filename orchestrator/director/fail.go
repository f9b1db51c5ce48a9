package director

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
	"github.com/convene-go/convene/providers"
)

// givenUpPrefix begins the reasons of tasks that were abandoned because no attempt was
// left.
const givenUpPrefix = "given up: "

// noneLeft begins the reasons of tasks that wait for a person because no attempt is left.
const noneLeft = "no attempt is left, and "

// lastOf says how the last attempt at a task ended.
func lastOf(qa blackboard.QA) string {
	how := "the last attempt failed"
	if isMerge(qa.Kind) {
		how = "the last merge failed"
	} else if qa.Kind == blackboard.FailedReview {
		how = "the last review says"
	}
	return how + ": " + cmp.Or(prompt.OneLine(qa.Feedback), "no reason was given")
}

func givenUp(reason string) bool { return strings.HasPrefix(reason, givenUpPrefix) }

// lose ends an attempt that failed before its review: another one begins, or a person is
// asked.
func (r *run) lose(c *orchestrator.Context, a *attempt, why attemptError) {
	t, _ := r.board.Task(a.id)
	qa := blackboard.QA{Kind: why.kind, Outcome: string(OutcomeFail), Feedback: why.feedback()}
	last := lastOf(blackboard.QA{Kind: why.kind, Feedback: why.text})
	r.Emit(c, EventAttemptFailed, &Event{Event: team.Event{Text: why.text}, Task: a.id, Attempt: a.n, On: string(why.kind)})
	if why.outage && r.outage(c, a.id, why.text) {
		r.release(c, a, nil, "the run is paused")
		return
	}
	if why.outage {
		r.outages.lost = append(r.outages.lost, a.id)
	}
	then := r.after(c, &t, qa, t.RetryCount+1, why.err)
	if !then.Retry && !then.giveUp {
		r.direct(c, a.id, blackboard.Move{Event: blackboard.EventAsk, Reason: noneLeft + last, QA: &qa})
		return
	}
	r.direct(c, a.id, r.anew(c, &t, qa, then, blackboard.Move{Event: blackboard.EventLose, QA: &qa}))
	if then.giveUp {
		r.abandon(c, a.id, givenUpPrefix+last) // at once: the task is READY
		return
	}
	r.forget(c, a.id)
}

// anew completes the move with which a task begins anew.
func (r *run) anew(c *orchestrator.Context, t *blackboard.Task, qa blackboard.QA, then next, m blackboard.Move) blackboard.Move {
	qa.Feedback = cmp.Or(then.Feedback, qa.Feedback)
	m.Messages, m.Agent, m.NotBefore = r.phoenix(c, t, qa), then.Agent, then.at(c.Now())
	if r.wakeAt(m.NotBefore); !m.NotBefore.IsZero() {
		r.lists.delayed = union(r.lists.delayed, []string{t.ID})
	}
	return m
}

// phoenix is the one message that is left in the memory of a task after a failed attempt.
func (r *run) phoenix(c *orchestrator.Context, t *blackboard.Task, qa blackboard.QA) []providers.Message {
	data := promptData{
		Op: opWork, Attempt: t.Attempt, Kind: string(qa.Kind), Conflict: isMerge(qa.Kind),
		Title: cmp.Or(strings.TrimSpace(t.Title), t.ID), Feedback: qa.Feedback, Focus: qa.Focus, Criteria: unmet(qa.Criteria), Files: qa.Files,
	}
	for _, test := range qa.Tests {
		if test.Fault != blackboard.TestWrong || t.Phase == phaseTest {
			data.Tests = append(data.Tests, test)
		}
	}
	if r.store.agent != "" && !r.Policy.DropFailed {
		data.Branch = r.store.name(c, t.ID, t.Attempt)
	}
	return r.system(c, t.ID, "phoenix.tmpl", data, fmt.Sprintf("Attempt %d at this task has failed. Begin anew.", t.Attempt))
}

// forget removes the worktree of a failed attempt, and with Policy.DropFailed its branch.
func (r *run) forget(c *orchestrator.Context, id string) {
	t, _ := r.board.Task(id)
	r.Emit(c, eventAttemptReset, &Event{Task: id, Attempt: t.Attempt + 1})
	r.clear(c, id, r.Policy.DropFailed)
}

// afterFailure carries out what follows when a task is FAILED_QA: another attempt, a fix of the
// code, or a person is asked.
func (r *run) afterFailure(c *orchestrator.Context, t *blackboard.Task, qa blackboard.QA, then next) {
	switch {
	case then.giveUp:
		r.abandon(c, t.ID, givenUpPrefix+lastOf(qa))
	case !then.Retry:
		r.escalateTask(c, t.ID, noneLeft+lastOf(qa))
	default:
		if m, ok := r.rework(c, t, qa); ok {
			r.direct(c, t.ID, r.anew(c, t, qa, then, m))
			r.forget(c, t.ID)
		}
	}
}

// rework is the move with which a FAILED_QA task begins anew: at once, or after a fix of the
// code or what it needs. False: it does not.
func (r *run) rework(c *orchestrator.Context, t *blackboard.Task, qa blackboard.QA) (m blackboard.Move, ok bool) {
	fix, needed := r.fixFor(t, qa)
	if !needed && r.board.Waits(t.ID) == nil {
		return blackboard.Move{Event: blackboard.EventPhoenix}, true
	}
	if !needed {
		return blackboard.Move{Event: blackboard.EventWaitFix, Blocked: &blackboard.BlockedReason{Type: blackboard.ByDependency}}, true
	}
	err := r.route(c, &fix)
	now, _ := r.board.Task(t.ID)
	switch {
	case team.Ends(err), now.Status != blackboard.FailedQA:
		return m, false
	case err != nil:
		r.escalateTask(c, t.ID, "nobody was chosen to fix the code: "+prompt.OneLine(err.Error()))
		return m, false
	}
	fix.ID = r.freeID("fix-" + t.Component)
	r.direct(c, "", blackboard.AddTasks{Tasks: []blackboard.Definition{fix}})
	r.job(t.ID).caused++
	return blackboard.Move{Event: blackboard.EventWaitFix, Blocked: &blackboard.BlockedReason{Type: blackboard.BySubtask}, Needs: []string{fix.ID}}, true
}

func (r *run) escalateTask(c *orchestrator.Context, id, why string) {
	r.direct(c, id, blackboard.Move{Event: blackboard.EventEscalate, Reason: why})
}

// fixFor is the task, without an ID, that fixes the code which a TEST task found wrong.
func (r *run) fixFor(t *blackboard.Task, qa blackboard.QA) (blackboard.Definition, bool) {
	if t.Phase != phaseTest || len(r.takers(phaseBuild)) == 0 || !slices.Contains(r.Policy.Phases, phaseBuild) || cmp.Or(r.room(1), r.mayCause(t.ID)) != nil {
		return blackboard.Definition{}, false
	}
	var criteria []string
	for _, test := range qa.Tests {
		if test.Fault != blackboard.TestWrong {
			criteria = append(criteria, fmt.Sprintf("The test %s passes: %s", test.Test, cmp.Or(strings.TrimSpace(test.Analysis), "its code is wrong")))
		}
	}
	if len(criteria) == 0 {
		return blackboard.Definition{}, false
	}
	return blackboard.Definition{
		Title: "Fix what the tests of " + t.Component + " found", Description: qa.Feedback,
		Component: t.Component, Phase: phaseBuild, Priority: t.Priority, Criteria: criteria, Parent: t.ID,
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
