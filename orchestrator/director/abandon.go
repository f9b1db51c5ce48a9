package director

import (
	"slices"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
)

// abandonTask abandons a task, and asks the director before which dependents continue
// without it. An answer that cannot be used means none.
func (r *run) abandonTask(c *orchestrator.Context, id, why string) error {
	var proceed []string
	if dependents := r.dependents(id); len(dependents) > 0 && r.Policy.OnAbandoned != block {
		q := r.toDirector(opReview, "change.tmpl", id, promptData{Abandoned: true}, changeInput{Graph: r.graph(c), Task: id, Abandoned: why, Dependents: dependents})
		answer, err := ask[changeReview](r, c, q, nil)
		if team.Ends(err) {
			return err
		}
		if err != nil {
			r.warn(c, "dependents", id, "what needs it is blocked: %s", err)
		}
		proceed = answer.CanProceed
	}
	r.abandon(c, id, why, proceed...)
	return nil
}

// abandonBranch abandons a task and all that need it.
func (r *run) abandonBranch(c *orchestrator.Context, id, why string) {
	if changes, err := r.board.AbandonBranch(id, why, c.Now()); err == nil { // else it is final already
		r.abandonAll(c, changes)
	}
}

// abandon abandons a task. Dependents are blocked, but for those that proceed without it.
func (r *run) abandon(c *orchestrator.Context, id, why string, proceed ...string) {
	without := func(dependent string) bool { return slices.Contains(proceed, dependent) }
	if changes, err := r.board.Abandon(id, why, without, c.Now()); err == nil { // else it is final already
		r.abandonAll(c, changes)
	}
}

// abandonAll applies changes, and abandons the tasks that start from the work of those that
// they abandon: their results have no branch to go to any more. Then it discards the work of
// all of them: while that is done, other branches change the board.
func (r *run) abandonAll(c *orchestrator.Context, changes []blackboard.Change) {
	gone := r.apply(c, changes)
	for last := gone; len(last) > 0; {
		last = r.abandonChildren(c, last)
		gone = append(gone, last...)
	}
	for i := range gone {
		r.discard(c, &gone[i])
	}
}

// abandonChildren abandons the tasks that start from the work of abandoned parents.
func (r *run) abandonChildren(c *orchestrator.Context, parents []blackboard.Task) (gone []blackboard.Task) {
	for _, id := range r.lists.children {
		t, _ := r.board.Task(id)
		if t.Final() {
			continue
		}
		if p := slices.IndexFunc(parents, func(p blackboard.Task) bool { return p.ID == t.Parent }); p >= 0 {
			changes, _ := r.board.Abandon(t.ID, parents[p].Reason, nil, c.Now()) // no error: it is not final
			gone = append(gone, r.apply(c, changes)...)
		}
	}
	return gone
}

// apply applies changes, and returns the tasks that they abandon, as they were before, with
// the reason.
func (r *run) apply(c *orchestrator.Context, changes []blackboard.Change) (gone []blackboard.Task) {
	for _, ch := range changes {
		if m, ok := ch.Do.(blackboard.Move); ok && m.Event == blackboard.EventAbandon {
			before, _ := r.board.Task(ch.Task)
			before.Reason = m.Reason
			gone = append(gone, before)
		}
		r.must(c, ch)
	}
	return gone
}

// discard cancels what is under way for a task that was abandoned, and removes its work.
func (r *run) discard(c *orchestrator.Context, t *blackboard.Task) {
	delete(r.store.drafts, t.ID)
	key := attemptKey("work", t.ID, t.Attempt)
	r.stop(key, attemptKey("qa", t.ID, t.Attempt), attemptKey("permit", t.ID, t.Attempt), attemptKey("merge", t.ID, t.Attempt), r.job(t.ID).question)
	if !r.running[key] {
		r.clear(c, t.ID, true) // otherwise the branch does it when its worker has ended
	}
}

// dependents are the tasks that need one directly and are not final.
func (r *run) dependents(id string) (ids []string) {
	b := r.board.Board()
	for i := range b.Tasks {
		t := &b.Tasks[i]
		if !t.Final() && (slices.Contains(t.DependsOn, id) || slices.Contains(t.WaitingFor, id)) {
			ids = append(ids, t.ID)
		}
	}
	return ids
}
