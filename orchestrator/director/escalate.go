package director

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
	"github.com/convene-go/convene/providers"
)

// escalate carries out a worker's escalation. It costs no retry.
func (r *run) escalate(c *orchestrator.Context, a *attempt, result WorkerResult) error {
	if err := r.keepWork(c, a); err != nil {
		return err
	}
	e := *result.Escalation
	m := blackboard.Move{Checkpoint: a.checkpoint(result.Checkpoint), Escalation: &blackboard.Escalation{
		Type: blackboard.EscalationType(e.Type), Reason: e.Reason, Needs: e.Needs, Affected: e.Affected,
	}}
	if r.pausedOut(c, a, m, e.Type+": "+e.Reason) {
		return nil
	}
	var err error
	switch blackboard.EscalationType(e.Type) {
	case blackboard.BlockedExternal:
		m.Event, m.Blocked = blackboard.EventPause, &blackboard.BlockedReason{
			Type: blackboard.ByExternal, Description: e.Reason, WaitingOn: []string{cmp.Or(strings.TrimSpace(e.Needs), strings.TrimSpace(e.Reason))},
		}
		r.direct(c, a.id, m)
	case blackboard.ScopeTooLarge:
		err = r.split(c, a, result, m)
	case blackboard.NeedsResearch:
		if changes, bad := r.spawning(c, a, e.Spawn, m); bad == nil {
			r.all(c, changes)
			break
		}
		err = r.resolve(c, a, result, m)
	case blackboard.NeedsReplanning, blackboard.SpecMismatch, blackboard.NeedsClarification:
		err = r.resolve(c, a, result, m)
	}
	if err == nil {
		t, _ := r.board.Task(a.id)
		r.clear(c, a.id, t.Final())
	}
	return err
}

// pausedOut counts a pause or an escalation of a task. One too many is not carried out: the
// task waits for a person, or is abandoned.
func (r *run) pausedOut(c *orchestrator.Context, a *attempt, m blackboard.Move, why string) bool {
	j := r.job(a.id)
	if j.pauses < r.Bounds.Pauses {
		j.pauses++
		return false
	}
	why = fmt.Sprintf("it has paused or escalated %d times (Bounds.Pauses), and wants to once more: %s", j.pauses, prompt.OneLine(why))
	if r.Policy.GiveUp {
		r.abandon(c, a.id, givenUpPrefix+why)
		return true
	}
	r.askPerson(c, a, m, why)
	r.clear(c, a.id, false)
	return true
}

// toEscalation is a question to the director about an escalation.
func (r *run) toEscalation(c *orchestrator.Context, op string, a *attempt, result WorkerResult) question {
	t, _ := r.board.Task(a.id)
	return r.toDirector(op, "escalate.tmpl", a.id, promptData{Type: result.Escalation.Type}, escalationInput{
		Graph: r.graph(c), Task: Task(t.Definition), Attempt: a.n, Escalation: *result.Escalation, Checkpoint: result.Checkpoint,
	})
}

// split replaces a task by smaller ones. If the director's answer cannot be used, a person
// is asked.
func (r *run) split(c *orchestrator.Context, a *attempt, result WorkerResult, m blackboard.Move) error {
	_, changes, err := askFor(r, c, r.toEscalation(c, opSplit, a, result), func(d decomposition) ([]blackboard.Change, error) {
		switch {
		case !r.stillActive(a):
			return nil, nil
		case r.depth(a.id) >= r.Bounds.Depth:
			return nil, fmt.Errorf("the task was itself caused by tasks, %d deep", r.depth(a.id))
		}
		tasks, err := r.definitions(d.Tasks, false)
		return []blackboard.Change{byDirector(a.id, blackboard.Split{Into: tasks})}, err
	})
	switch {
	case team.Ends(err), !r.stillActive(a):
		return ends(err)
	case err != nil:
		r.askPerson(c, a, m, "it is too large, and could not be split: "+prompt.OneLine(err.Error()))
		return nil
	}
	r.all(c, changes)
	delete(r.store.drafts, a.id)
	return nil
}

// askPerson makes the task wait for a person.
func (r *run) askPerson(c *orchestrator.Context, a *attempt, m blackboard.Move, why string) {
	m.Event, m.Reason = blackboard.EventAsk, why
	r.direct(c, a.id, m)
}

// resolve asks the director what to do. If the answer cannot be used, a person is asked.
func (r *run) resolve(c *orchestrator.Context, a *attempt, result WorkerResult, m blackboard.Move) error {
	answer, changes, err := askFor(r, c, r.toEscalation(c, opEscalate, a, result), func(v resolution) ([]blackboard.Change, error) {
		if !r.stillActive(a) {
			return nil, nil
		}
		return r.resolution(a, v, m)
	})
	switch {
	case team.Ends(err), !r.stillActive(a):
		return ends(err)
	case err != nil:
		r.askPerson(c, a, m, fmt.Sprintf("%s: %s\nThe director's answer cannot be used: %s", result.Escalation.Type, result.Escalation.Reason, prompt.OneLine(err.Error())))
		return nil
	case answer.Abandon:
		return r.abandonTask(c, a.id, cmp.Or(answer.Reason, result.Escalation.Reason))
	}
	r.all(c, changes)
	return nil
}

// resolution is what an answer of the director changes.
func (r *run) resolution(a *attempt, v resolution, m blackboard.Move) ([]blackboard.Change, error) {
	if v.Abandon {
		return nil, nil
	}
	if !v.Resolved && len(v.Tasks) == 0 {
		m.Event, m.Reason = blackboard.EventAsk, cmp.Or(strings.TrimSpace(v.Reason), fmt.Sprintf("%s: %s", m.Escalation.Type, m.Escalation.Reason))
		return []blackboard.Change{byDirector(a.id, m)}, nil
	}
	var changes []blackboard.Change
	for _, d := range v.Decisions {
		changes = append(changes, byDirector("", blackboard.AddDecision{Decision: d.decision()}))
	}
	for _, area := range slices.Sorted(maps.Keys(v.Spec)) {
		changes = append(changes, byDirector("", blackboard.SetSpec{Area: area, Value: v.Spec[area]}))
	}
	if len(v.Tasks) > 0 {
		tasks, err := r.definitions(v.Tasks, false)
		for i := range tasks {
			tasks[i].Parent = a.id
		}
		return append(changes, r.pausing(a.id, tasks, m)...), err
	}
	m.Event = blackboard.EventResolve
	if text := strings.TrimSpace(v.Clarification); text != "" {
		m.Messages = []providers.Message{{Role: providers.User, Text: "The director has looked at what you asked. Go on with your task.\n" + prompt.Delimit("clarification", text, 0)}}
	}
	return append(changes, byDirector(a.id, m)), nil
}
