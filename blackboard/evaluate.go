package blackboard

import (
	"errors"
	"slices"
	"time"
)

// Evaluate returns the changes that follow from the state of dependencies: PLANNED tasks
// become READY or BLOCKED, and BLOCKED ones whose tasks are complete become READY, in
// the order in which they were added. The caller applies them in that order.
// After that, no task is PLANNED.
//
// Its cost depends on the number of tasks that change.
func (e *Editor) Evaluate(at time.Time) []Change {
	move := func(id string, m Move) Change { return Change{By: RoleDirector, At: at, Task: id, Do: m} }
	e.planned = slices.DeleteFunc(e.planned, func(id string) bool { return e.b.Tasks[e.at[id]].Status != Planned })
	changes := make([]Change, 0, len(e.planned))
	for _, id := range e.planned {
		t := &e.b.Tasks[e.at[id]]
		if why := e.Waits(id); why != nil {
			changes = append(changes, move(t.ID, Move{Event: EventBlock, Blocked: why}))
		}
	}
	for _, id := range e.graph.Due() {
		event := EventUnblock
		if e.b.Tasks[e.at[id]].Status == Planned {
			event = EventReady
		}
		changes = append(changes, move(id, Move{Event: event}))
	}
	slices.SortStableFunc(changes, func(a, b Change) int { return e.at[a.Task] - e.at[b.Task] })
	return changes
}

// Waits returns which tasks a task waits for and why, or nil if it waits for none. A
// task that waits for an abandoned one waits for a decision of the director.
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
		if e.b.Tasks[e.at[need]].Status == Abandoned {
			why.Type = ByAbandoned
			return why
		}
		if slices.Contains(t.WaitingFor, need) {
			why.Type = BySubtask
		}
	}
	return why
}

// unmet returns the tasks that t needs and that are not complete, in the order of t: the
// graph has the order in which they were added, which the board does not keep.
func (e *Editor) unmet(t *Task) []string {
	return slices.DeleteFunc(t.needs(), func(id string) bool { return e.b.Tasks[e.at[id]].Status == Complete })
}

// Reblock is an [Action] of the director: it changes the reason of a BLOCKED task after
// what it waits for has changed.
type Reblock struct {
	Blocked BlockedReason `json:"blocked"`
}

func (Reblock) kind() string { return "reblock" }

func (r Reblock) apply(e *Editor, c Change) error {
	if err := c.allow(director); err != nil {
		return err
	}
	t, err := e.live(c.Task)
	if err != nil {
		return err
	}
	// It is checked like a new block.
	m := Move{Event: EventBlock, Blocked: &r.Blocked}
	if t.Status != Blocked {
		return notBlocked(t)
	}
	if err := m.blockFault(e, t); err != nil {
		return err
	}
	if err := e.place(t.ID, Blocked, m.Blocked, c.At); err != nil {
		return err
	}
	e.happen(t, m, Blocked, c.At)
	return nil
}

// Forgive is an [Action] of the director: it removes the retry that a task's last failure
// cost, which was no fault of the worker. A task without failures is refused.
type Forgive struct{}

func (Forgive) kind() string { return "forgive" }

func (Forgive) apply(e *Editor, c Change) error {
	if err := c.allow(director); err != nil {
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

// Abandon returns the changes by which a task is abandoned, or an error that is
// [ErrNoTask] or [ErrTerminal].
//
// Tasks that depend on it directly lose that dependency where drop returns true, and are
// BLOCKED until the director decides elsewhere. A nil drop returns false.
func (e *Editor) Abandon(id, reason string, drop func(dependent string) bool, at time.Time) ([]Change, error) {
	if _, err := e.live(id); err != nil {
		return nil, namedError("abandon", id, err)
	}
	change := func(id string, a Action) Change { return Change{By: RoleDirector, At: at, Task: id, Do: a} }
	changes := []Change{change(id, Move{Event: EventAbandon, Reason: reason})}
	for _, dependent := range e.graph.Dependents(id) {
		t := &e.b.Tasks[e.at[dependent]]
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

// AbandonBranch returns the changes by which a task and all that wait for it, directly
// or through others, are abandoned, or an error as [Editor.Abandon].
func (e *Editor) AbandonBranch(id, reason string, at time.Time) ([]Change, error) {
	if _, err := e.live(id); err != nil {
		return nil, namedError("abandon branch", id, err)
	}
	var changes []Change
	for _, id := range append([]string{id}, e.graph.Descendants(id)...) {
		if !e.b.Tasks[e.at[id]].Final() {
			changes = append(changes, Change{By: RoleDirector, At: at, Task: id, Do: Move{Event: EventAbandon, Reason: reason}})
		}
	}
	return changes, nil
}
