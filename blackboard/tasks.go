package blackboard

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/convene-go/convene/routing"
)

// AddTasks is an [Action] of the director: it adds tasks, all or none. They are PLANNED
// until the changes of [Editor.Evaluate] are applied.
type AddTasks struct {
	Tasks []Definition `json:"tasks"` // at least one; they may depend on each other in any order
}

func (AddTasks) kind() string { return "add_tasks" }

func (a AddTasks) apply(e *Editor, c Change) error {
	if err := c.checkRole(director); err != nil {
		return err
	}
	nodes, err := e.define(a.Tasks, c.At)
	if err != nil {
		return err
	}
	if err := e.graph.Add(nodes...); err != nil {
		return err
	}
	e.b.Tasks = slices.Grow(e.b.Tasks, len(a.Tasks)) // one allocation: a task is large
	for _, d := range a.Tasks {
		e.insert(d, c.At)
	}
	return nil
}

// define returns the nodes of new tasks, or the faults of their definitions.
func (e *Editor) define(ds []Definition, at time.Time) ([]routing.Node, error) {
	var faults faultList
	if len(ds) == 0 {
		faults.add("tasks is empty")
	}
	nodes := make([]routing.Node, len(ds))
	for i, d := range ds {
		for _, fault := range d.faults() {
			faults.add("tasks[%d] %q: %w", i, d.ID, fault)
		}
		if _, err := e.task(d.Parent); d.Parent != "" && err != nil {
			faults.add("tasks[%d] %q: parent %q: %w", i, d.ID, d.Parent, err)
		}
		nodes[i] = (&Task{Definition: d, CreatedAt: at}).node()
	}
	return nodes, errors.Join(faults...)
}

// insert adds a PLANNED task to the board. Its node is in the graph already.
func (e *Editor) insert(d Definition, at time.Time) {
	d.DependsOn = append([]string{}, d.DependsOn...) // a copy, as it will change; "[]" in JSON, never null
	e.index[d.ID] = len(e.b.Tasks)
	e.planned = append(e.planned, d.ID)
	e.b.Tasks = append(e.b.Tasks, Task{Definition: d, Status: Planned, CreatedAt: at, UpdatedAt: at})
	e.states.note(len(e.b.Tasks)-1, &e.b.Tasks[len(e.b.Tasks)-1])
	e.parts[d.Component] = true
}

// Split is an [Action] of the director: it replaces a task by parts, and abandons it with
// the reason "split". The parts get its priority and its parent.
//
// Parts that depend on no other part depend on what the task depended on. Tasks that
// depended on the task depend on the parts that no other part depends on.
type Split struct {
	Into []Definition `json:"into"` // at least one
}

func (Split) kind() string { return "split" }

func (s Split) apply(e *Editor, c Change) error {
	if err := c.checkRole(director); err != nil {
		return err
	}
	parent, err := e.live(c.Task)
	if err != nil {
		return err
	}
	into := slices.Clone(s.Into)
	for i := range into {
		into[i].Priority, into[i].Parent, into[i].FromParent = parent.Priority, parent.Parent, parent.FromParent
	}
	nodes, err := e.define(into, c.At)
	if err != nil {
		return err
	}
	waiting, needs := e.graph.Dependents(c.Task), parent.needs()
	last, err := e.graph.Split(c.Task, nodes...)
	if err != nil {
		return err
	}
	e.abandon(parent, "split", c.At)
	for _, id := range waiting {
		t := &e.b.Tasks[e.index[id]]
		t.DependsOn = swap(t.DependsOn, c.Task, last)
		t.WaitingFor = swap(t.WaitingFor, c.Task, last)
		t.UpdatedAt = c.At
	}
	for _, d := range into {
		d.DependsOn = e.graph.Needs(d.ID)
		foreign := func(id string) bool { return !slices.Contains(needs, id) }
		if n := len(needs); len(d.DependsOn) >= n && !slices.ContainsFunc(d.DependsOn[:n], foreign) {
			copy(d.DependsOn, needs) // the graph has another order than the board
		}
		e.insert(d, c.At)
	}
	return nil
}

// swap returns ids with others in the place of one. Without one, it returns ids itself.
func swap(ids []string, one string, others []string) []string {
	i := slices.Index(ids, one)
	if i < 0 {
		return ids
	}
	return slices.Concat(ids[:i], others, ids[i+1:])
}

// Edit is an [Action] of the director: it changes the definition of a task that is not
// final. A nil field changes nothing.
type Edit struct {
	Title       *string  `json:"title,omitempty"`       // new title
	Description *string  `json:"description,omitempty"` // new description
	Priority    *int     `json:"priority,omitempty"`    // new priority; higher is more important
	Criteria    []string `json:"criteria,omitempty"`    // at least one, none blank; they replace the old ones

	// AddNeeds has IDs of tasks that this one depends on from now on. The task must not be
	// ACTIVE or AWAITING_QA, nor READY: there the event [EventBlock] adds needs.
	AddNeeds []string `json:"addNeeds,omitempty"`

	// DropNeeds has IDs of tasks that this one no longer waits for. Each must be in its
	// DependsOn or WaitingFor.
	DropNeeds []string `json:"dropNeeds,omitempty"`
}

func (Edit) kind() string { return "edit" }

func (a Edit) apply(e *Editor, c Change) error {
	if err := c.checkRole(director); err != nil {
		return err
	}
	t, err := e.live(c.Task)
	if err != nil {
		return err
	}
	if err := a.check(t); err != nil {
		return err
	}
	if err := e.graph.Depend(t.ID, a.AddNeeds...); err != nil {
		return err
	}
	for _, need := range a.DropNeeds {
		if err := e.graph.Drop(t.ID, need); err != nil {
			return err // cannot happen: check has found each of them
		}
	}
	if a.Priority != nil {
		t.Priority = *a.Priority
		e.graph.Prioritize(t.ID, t.Priority)
	}
	set(&t.Title, a.Title)
	set(&t.Description, a.Description)
	if a.Criteria != nil {
		t.Criteria = a.Criteria
	}
	gone := func(id string) bool { return slices.Contains(a.DropNeeds, id) }
	t.WaitingFor = slices.DeleteFunc(slices.Clone(t.WaitingFor), gone) // a new slice: callers of Task hold the old one
	t.DependsOn = slices.DeleteFunc(slices.Clone(t.DependsOn), gone)
	for _, id := range a.AddNeeds {
		if !slices.Contains(t.DependsOn, id) {
			t.DependsOn = append(t.DependsOn, id)
		}
	}
	t.UpdatedAt = c.At
	return nil
}

// check returns the faults of the edit of t.
func (a Edit) check(t *Task) error {
	var faults faultList
	if a.Criteria != nil {
		faults = criteriaFaults(a.Criteria)
	}
	if len(a.AddNeeds) > 0 && slices.Contains([]State{Ready, Active, AwaitingQA}, t.Status) {
		faults.add("addNeeds: the task is %s", t.Status)
	}
	needs := t.needs()
	for i, id := range a.DropNeeds {
		if !slices.Contains(needs, id) || slices.Contains(a.DropNeeds[:i], id) || slices.Contains(a.AddNeeds, id) {
			faults.add("dropNeeds[%d]: it does not depend on %q", i, id)
		}
	}
	return errors.Join(faults...)
}

// set sets field to *value, unless value is nil.
func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

// Refine is an [Action] of the strategist: it gives a task, usually a TEST task, criteria
// that follow from what was built. They replace those of a Placeholder, and are added to
// those of another task. A task that was ever dispatched is refused.
type Refine struct {
	Criteria []string `json:"criteria"` // at least one, none blank
}

func (Refine) kind() string { return "refine" }

func (r Refine) apply(e *Editor, c Change) error {
	if err := c.checkRole(strategist); err != nil {
		return err
	}
	t, err := e.live(c.Task)
	if err != nil {
		return err
	}
	if t.Attempt > 0 || !slices.Contains([]State{Planned, Blocked, Ready}, t.Status) {
		return fmt.Errorf("it has been started, and is %s", t.Status)
	}
	if faults := criteriaFaults(r.Criteria); len(faults) > 0 {
		return errors.Join(faults...)
	}
	criteria := slices.Clone(t.Criteria)
	if t.Placeholder {
		criteria = nil
	}
	for _, criterion := range r.Criteria {
		if !slices.Contains(criteria, criterion) {
			criteria = append(criteria, criterion)
		}
	}
	t.Criteria, t.Placeholder, t.UpdatedAt = criteria, false, c.At
	return nil
}
