package director

import (
	"slices"

	"github.com/convene-go/convene/blackboard/board"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/internal/team"
)

// abandon abandons a task, with nobody to ask who needs it: those wait for a decision.
func (r *run) abandon(c *orchestrator.Context, id, why string) {
	r.without(c, id, why, nil)
}

// abandonTask abandons a task and asks the director which of those that need it can go on
// without; an answer that cannot be used means none.
func (r *run) abandonTask(c *orchestrator.Context, id, why string) error {
	var proceed []string
	if dependents := r.dependents(id); len(dependents) > 0 && r.Policy.OnAbandoned == Ask {
		q := r.toDirector(OpReview, "change.tmpl", id, ChangeInput{Graph: r.graph(c), Task: id, Abandoned: why, Dependents: dependents})
		q.data = promptData{Abandoned: true}
		answer, err := ask[ChangeReview](r, c, q, nil)
		if err != nil && team.Ends(err) {
			return err
		}
		if err != nil {
			r.warn(c, "dependents", id, "what needs it is blocked: %s", err)
		}
		proceed = answer.CanProceed
	}
	r.without(c, id, why, proceed)
	return nil
}

// abandonBranch abandons a task and all that need it.
func (r *run) abandonBranch(c *orchestrator.Context, id, why string) {
	changes, err := r.board.AbandonBranch(id, why, c.Now())
	if err != nil {
		return // it is final already
	}
	r.abandonAll(c, changes)
}

// without abandons a task; of those that need it, some proceed.
func (r *run) without(c *orchestrator.Context, id, why string, proceed []string) {
	changes, err := r.board.Abandon(id, why, func(dependent string) bool { return slices.Contains(proceed, dependent) }, c.Now())
	if err != nil {
		return // it is final already
	}
	r.abandonAll(c, changes)
}

// abandonAll applies changes of which some abandon tasks: what is under way for these is
// canceled, and their worktrees go.
func (r *run) abandonAll(c *orchestrator.Context, changes []board.Change) {
	for _, ch := range changes {
		before, _ := r.board.Task(ch.Task)
		r.must(c, ch)
		if m, ok := ch.Do.(board.Move); ok && m.Event == board.EventAbandon {
			r.leave(c, &before)
		}
	}
}

// leave ends what is under way for a task that was abandoned.
func (r *run) leave(c *orchestrator.Context, t *board.Task) {
	delete(r.trees.drafts, t.ID)
	key := attemptKey("work", t.ID, t.Attempt)
	r.stop(key, attemptKey("qa", t.ID, t.Attempt), attemptKey("merge", t.ID, t.Attempt), attemptKey("ask", t.ID, r.job(t.ID).asked))
	if !r.under[key] {
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
