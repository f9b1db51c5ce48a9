package director

import (
	"maps"
	"slices"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
)

// open makes the board, or takes over that of an earlier run, and opens the repository.
func (r *run) open(c *orchestrator.Context) error {
	if err := r.in.validate(); err != nil {
		return err
	}
	b, err := r.in.Board, error(nil)
	if b == nil {
		b, err = blackboard.New(c.RunID(), r.in.Objective, nil)
	}
	if err == nil {
		b.RunID, r.before = c.RunID(), b.Spent
		r.board, err = blackboard.Open(b, r.preference())
	}
	if err != nil {
		return team.Fail(ErrInput, "%w", err)
	}
	if r.in.Objective != "" {
		b.Objective = r.in.Objective
	}
	for _, area := range slices.Sorted(maps.Keys(r.in.Spec)) {
		r.direct(c, "", blackboard.SetSpec{Area: area, Value: r.in.Spec[area]})
	}
	if err := r.openStore(c); err != nil {
		return err
	}
	return r.takeOver(c)
}

// takeOver makes what another run has left ready to be worked on.
func (r *run) takeOver(c *orchestrator.Context) error {
	if err := r.checkBoard(); err != nil {
		return err
	}
	r.lists.take(r.board.Board())
	for _, id := range r.board.In(blackboard.Active) {
		r.direct(c, id, blackboard.Move{Event: blackboard.EventRelease, Reason: "another run ended"})
	}
	for _, id := range r.board.In(blackboard.AwaitingQA) {
		t, _ := r.board.Task(id)
		same := r.in.Objective == "" && len(r.in.Spec) == 0
		if t.QA != nil && t.QA.Passed && (same || t.QA.By != "") {
			r.toMerge(id)
		}
	}
	for _, id := range r.board.In(blackboard.FailedQA) {
		t, _ := r.board.Task(id)
		qa := blackboard.QA{Kind: blackboard.FailedReview}
		if t.QA != nil {
			qa = *t.QA
		}
		failures := t.RetryCount
		if isMerge(qa.Kind) {
			failures = t.ConflictCount
		}
		if qa.Kind == blackboard.NoReview {
			r.escalateTask(c, id, qa.Feedback)
		} else {
			r.afterFailure(c, &t, qa, r.after(c, &t, qa, failures, nil))
		}
	}
	for _, id := range r.lists.delayed {
		if t, _ := r.board.Task(id); c.Now().Before(t.NotBefore) {
			r.wakeAt(t.NotBefore)
		}
	}
	return r.carryOutGiven(c)
}

// carryOutGiven carries out the answers that came with the board. One whose task waits no more
// is a warning: another answer may have done with it, or a run meanwhile.
func (r *run) carryOutGiven(c *orchestrator.Context) error {
	ids := slices.Sorted(maps.Keys(r.in.Answers))
	for _, id := range ids {
		if _, there := r.board.Task(id); !there {
			return team.Fail(ErrInput, "answers[%q]: the board has no such task", id)
		}
	}
	for _, id := range ids {
		t, _ := r.board.Task(id)
		if t.Status != blackboard.WaitingHuman {
			r.warn(c, "answer", id, "it waits for no answer any more: it is %s", t.Status)
			continue
		}
		if by := r.in.AnsweredBy[id]; by != "" {
			r.Emit(c, EventHumanAnswered, &Event{Event: team.Event{Who: by, Text: r.in.Answers[id].Action}, Task: id})
		}
		if err := r.carryOut(c, id, r.in.Answers[id]); err != nil {
			return err
		}
	}
	return nil
}

// checkBoard says which task this team cannot continue.
func (r *run) checkBoard() error {
	for i, t := range r.board.Board().Tasks {
		if err := r.fits(&t.Definition); err != nil && !t.Final() {
			return team.Fail(ErrInput, "blackboard: tasks[%d] %q: %w", i, t.ID, err)
		}
		if (t.Status == blackboard.AwaitingQA || t.Accepted) && r.store.lacks(t.ID) {
			return team.Fail(ErrInput, "drafts has no %q, which the board has as delivered: want Outcome.Drafts of that run", t.ID)
		}
	}
	return nil
}
