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
)

// replanIfDue has the director change the tasks if the run stagnates, or a review says
// that the plan is wrong. No attempt begins before that.
func (r *run) replanIfDue(c *orchestrator.Context) error {
	why := r.planWrong
	if r.board.Board().Strategy == blackboard.Stagnating {
		why = fmt.Sprintf("%d reviews in a row, or of one task, have failed", max(r.failures.row, r.failures.worst))
	}
	if why == "" {
		return nil
	}
	_, err := r.replan(c, why)
	return err
}

// replan asks the director to change the tasks, as often as the run may. An answer that
// cannot be used changes nothing.
func (r *run) replan(c *orchestrator.Context, why string) (changed bool, err error) {
	if r.state.Replans >= r.Policy.Retry.Replans || r.over != nil {
		r.planWrong = ""
		return false, nil
	}
	may, refused := r.mayReplan()
	if refused != nil {
		r.planWrong = ""
		r.replanned(c, "unchanged", prompt.OneLine(refused.Error()))
	}
	if !may {
		return false, nil
	}
	r.planWrong = ""
	r.fire(c, moveReplan)
	defer r.fire(c, moveReplanned)
	q := r.toDirector(opReplan, "replan.tmpl", "", promptData{}, replanInput{Graph: r.graph(c), Why: why, Replans: r.state.Replans, Failures: r.failureTexts()})
	r.state.Replans++
	answer, changes, err := askFor(r, c, q, func(v replanAnswer) ([]blackboard.Change, error) { return r.replanning(c, v) })
	switch {
	case c.IsCanceled(err):
		return false, err
	case team.Ends(err):
		r.overspent(c, err)
		return false, nil
	}
	how, text := "unchanged", answer.Reason
	if err != nil {
		text = "the director's answer cannot be used: " + prompt.OneLine(err.Error())
		r.warn(c, "replan", "", "%s", text)
	}
	if len(changes) > 0 {
		how, changed = "changed", true
		r.abandonAll(c, changes)
	}
	r.replanned(c, how, text)
	return changed, nil
}

// replanned notes that the tasks were changed, or are not to be: failures count anew.
func (r *run) replanned(c *orchestrator.Context, how, text string) {
	r.failures.replanned()
	if r.board.Board().Strategy == blackboard.Stagnating {
		r.direct(c, "", blackboard.Steer{Event: blackboard.Replanned})
	}
	r.all(c, r.board.Evaluate(c.Now()))
	r.Emit(c, EventRunReplanned, &Event{Event: team.Event{Text: text}, Count: r.state.Replans, On: how})
}

// replanning is what an answer of the director changes, in an order in which it can be
// applied.
func (r *run) replanning(c *orchestrator.Context, v replanAnswer) ([]blackboard.Change, error) {
	var changes []blackboard.Change
	change := func(task string, do blackboard.Action) {
		changes = append(changes, byDirector(task, do))
	}
	for _, d := range v.Decisions {
		change("", blackboard.AddDecision{Decision: d.decision()})
	}
	if len(v.Add) > 0 {
		tasks, err := r.definitions(v.Add, false)
		if err != nil {
			return nil, err
		}
		change("", blackboard.AddTasks{Tasks: tasks})
	}
	for _, e := range v.Edit {
		do := blackboard.Edit{Priority: e.Priority, Criteria: e.Criteria, AddNeeds: e.AddNeeds, DropNeeds: e.DropNeeds}
		if e.Title != "" {
			do.Title = &e.Title
		}
		if e.Description != "" {
			do.Description = &e.Description
		}
		if t, ok := r.board.Task(e.ID); ok && t.Status == blackboard.Ready && len(e.AddNeeds) > 0 {
			do.AddNeeds = nil
			change(e.ID, blackboard.Move{Event: blackboard.EventBlock, Blocked: &blackboard.BlockedReason{Type: blackboard.ByDependency}, Needs: e.AddNeeds})
		}
		change(e.ID, do)
	}
	gone := map[string]bool{}
	for _, a := range v.Abandon {
		more, err := r.abandoning(c, a, gone)
		if err != nil {
			return nil, err
		}
		changes = append(changes, more...)
	}
	return append(changes, r.unblocking(v, gone)...), nil
}

// abandoning are the changes by which tasks are abandoned that were not before.
func (r *run) abandoning(c *orchestrator.Context, a abandonPlan, gone map[string]bool) ([]blackboard.Change, error) {
	why := "re-plan: " + cmp.Or(strings.TrimSpace(a.Reason), "no longer needed")
	var changes []blackboard.Change
	var err error
	if a.Branch {
		changes, err = r.board.AbandonBranch(a.ID, why, c.Now())
	} else {
		changes, err = r.board.Abandon(a.ID, why, func(id string) bool { return slices.Contains(a.CanProceed, id) }, c.Now())
	}
	if err != nil {
		return nil, err
	}
	changes = slices.DeleteFunc(changes, func(ch blackboard.Change) bool { return gone[ch.Task] })
	for _, ch := range changes {
		if m, ok := ch.Do.(blackboard.Move); ok && m.Event == blackboard.EventAbandon {
			gone[ch.Task] = true
		}
	}
	return changes, nil
}

// unblocking are the changes that unblock tasks which waited for a re-plan, but for those
// that this one abandons.
func (r *run) unblocking(v replanAnswer, gone map[string]bool) (changes []blackboard.Change) {
	if len(v.Add)+len(v.Edit)+len(v.Abandon)+len(v.Decisions) == 0 {
		return nil
	}
	for _, id := range r.board.In(blackboard.Blocked) {
		if t, _ := r.board.Task(id); t.Blocked.Type == blackboard.ByReplanning && !gone[id] && r.board.Waits(id) == nil {
			changes = append(changes, byDirector(id, blackboard.Move{Event: blackboard.EventUnblock}))
		}
	}
	return changes
}

// failureTexts are why tasks failed last.
func (r *run) failureTexts() (all []string) {
	b := r.board.Board()
	for i := range b.Tasks {
		if f := failureOf(b.Tasks[i].QA); f != nil {
			all = append(all, strings.TrimSpace(fmt.Sprintf("%s (%s): %s", b.Tasks[i].ID, f.Kind, f.Feedback)))
		}
	}
	return all
}
