package blackboard

import (
	"errors"
	"slices"
	"time"
)

// Evaluate returns the changes that are due, in the order in which their tasks were added.
// The caller applies them in that order; Evaluate itself changes nothing.
//
// A PLANNED task becomes READY if all that it needs is COMPLETE, else BLOCKED. A BLOCKED
// task that waits for tasks becomes READY when all of them are COMPLETE. Afterwards no
// task is PLANNED. The cost depends on the number of changes, not on the size of the board.
func (e *Editor) Evaluate(at time.Time) []Change {
	move := func(id string, m Move) Change { return Change{By: RoleDirector, At: at, Task: id, Do: m} }
	e.planned = slices.DeleteFunc(e.planned, func(id string) bool { return e.b.Tasks[e.index[id]].Status != Planned })
	changes := make([]Change, 0, len(e.planned))
	for _, id := range e.planned {
		t := &e.b.Tasks[e.index[id]]
		if why := e.Waits(id); why != nil {
			changes = append(changes, move(t.ID, Move{Event: EventBlock, Blocked: why}))
		}
	}
	for _, id := range e.graph.Due() {
		event := EventUnblock
		if e.b.Tasks[e.index[id]].Status == Planned {
			event = EventReady
		}
		changes = append(changes, move(id, Move{Event: event}))
	}
	slices.SortStableFunc(changes, func(a, b Change) int { return e.index[a.Task] - e.index[b.Task] })
	return changes
}

// Waits returns which tasks the task waits for, and why. Nil means that it waits for none,
// or that there is no such task. ByAbandoned means that the director has to decide.
func (e *Editor) Waits(id string) *BlockedReason {
	t, err := e.task(id)
	if err != nil {
		return nil
	}
	unmet := e.unmet(t)
	if len(unmet) == 0 {
		return nil
	}
	why := &BlockedReason{Type: ByDependency, WaitingOn: unmet}
	for _, need := range unmet {
		if e.b.Tasks[e.index[need]].Status == Abandoned {
			why.Type = ByAbandoned
			return why
		}
		if slices.Contains(t.WaitingFor, need) {
			why.Type = BySubtask
		}
	}
	return why
}

// unmet returns the tasks that t needs and that are not COMPLETE, in the order of t. The
// graph is not asked, because it has them in another order.
func (e *Editor) unmet(t *Task) []string {
	return slices.DeleteFunc(t.needs(), func(id string) bool { return e.b.Tasks[e.index[id]].Status == Complete })
}

// Reblock is an [Action] of the director: it gives a BLOCKED task another reason, after
// what the task waits for has changed.
type Reblock struct {
	Blocked BlockedReason `json:"blocked"` // the new reason; Since is set by the editor
}

func (Reblock) kind() string { return "reblock" }

func (r Reblock) apply(e *Editor, c Change) error {
	if err := c.checkRole(director); err != nil {
		return err
	}
	t, err := e.live(c.Task)
	if err != nil {
		return err
	}
	m := Move{Event: EventBlock, Blocked: &r.Blocked}
	if t.Status != Blocked {
		return notBlocked(t)
	}
	if err := m.blockFault(e, t); err != nil {
		return err
	}
	if err := e.setNode(t.ID, Blocked, m.Blocked, c.At); err != nil {
		return err
	}
	e.happen(t, m, Blocked, c.At)
	return nil
}

// Forgive is an [Action] of the director: it lowers the RetryCount of a task by one,
// because the last failure was not the worker's fault. A RetryCount of 0 is refused.
type Forgive struct{}

func (Forgive) kind() string { return "forgive" }

func (Forgive) apply(e *Editor, c Change) error {
	if err := c.checkRole(director); err != nil {
		return err
	}
	t, err := e.live(c.Task)
	if err != nil {
		return err
	}
	if t.RetryCount == 0 {
		return errors.New("no attempt has failed")
	}
	t.RetryCount--
	t.UpdatedAt = c.At
	return nil
}

// Abandon returns the changes that abandon a task, for the caller to apply in that order.
// The error is [ErrNoTask] or [ErrTerminal].
//
// Where drop returns true for a direct dependent, that task loses its dependency. The
// other dependents become BLOCKED until the director decides. A nil drop returns false.
func (e *Editor) Abandon(id, reason string, drop func(dependent string) bool, at time.Time) ([]Change, error) {
	if _, err := e.live(id); err != nil {
		return nil, namedError("abandon", id, err)
	}
	change := func(id string, a Action) Change { return Change{By: RoleDirector, At: at, Task: id, Do: a} }
	changes := []Change{change(id, Move{Event: EventAbandon, Reason: reason})}
	for _, dependent := range e.graph.Dependents(id) {
		t := &e.b.Tasks[e.index[dependent]]
		why := BlockedReason{Type: ByAbandoned}
		switch {
		case t.Final():
		case drop != nil && drop(dependent):
			changes = append(changes, change(dependent, Edit{DropNeeds: []string{id}}))
		case t.Status == Blocked && t.Blocked.Type.byTasks():
			changes = append(changes, change(dependent, Reblock{Blocked: why}))
		case t.Status == Planned:
			changes = append(changes, change(dependent, Move{Event: EventBlock, Blocked: &why}))
		}
	}
	return changes, nil
}

// AbandonBranch returns the changes that abandon a task and all tasks that wait for it,
// directly or through others. The error is [ErrNoTask] or [ErrTerminal].
func (e *Editor) AbandonBranch(id, reason string, at time.Time) ([]Change, error) {
	if _, err := e.live(id); err != nil {
		return nil, namedError("abandon branch", id, err)
	}
	var changes []Change
	for _, id := range append([]string{id}, e.graph.Descendants(id)...) {
		if !e.b.Tasks[e.index[id]].Final() {
			changes = append(changes, Change{By: RoleDirector, At: at, Task: id, Do: Move{Event: EventAbandon, Reason: reason}})
		}
	}
	return changes, nil
}
