package blackboard

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/convene-go/convene/routing"
)

// AddTasks is an [Action] of the director: it adds tasks, all or none. They are PLANNED
// until [Editor.Evaluate]. They may depend on each other in any order.
type AddTasks struct {
	Tasks []Definition `json:"tasks"`
}

func (AddTasks) kind() string { return "add_tasks" }

func (a AddTasks) apply(e *Editor, c Change) error {
	if err := c.allow(director); err != nil {
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

// define returns the nodes of new tasks, or what is wrong with their definitions.
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

// insert adds a task that the graph has already.
func (e *Editor) insert(d Definition, at time.Time) {
	d.DependsOn = append([]string{}, d.DependsOn...) // it will be changed, and is never nil
	e.at[d.ID] = len(e.b.Tasks)
	e.planned = append(e.planned, d.ID)
	e.b.Tasks = append(e.b.Tasks, Task{Definition: d, Status: Planned, CreatedAt: at, UpdatedAt: at})
}

// Split is an [Action] of the director: it replaces a task by several, and abandons it
// with the reason "split". Those that depend on none of the others depend on what it
// depended on; tasks that depended on it depend on those that none of the others depends
// on. They have its priority, and its parent.
type Split struct {
	Into []Definition `json:"into"`
}

func (Split) kind() string { return "split" }

func (s Split) apply(e *Editor, c Change) error {
	if err := c.allow(director); err != nil {
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
		t := &e.b.Tasks[e.at[id]]
		t.DependsOn = swap(t.DependsOn, c.Task, last)
		t.WaitingFor = swap(t.WaitingFor, c.Task, last)
		t.UpdatedAt = c.At
	}
	for _, d := range into {
		d.DependsOn = e.graph.Needs(d.ID)
		foreign := func(id string) bool { return !slices.Contains(needs, id) }
		if n := len(needs); len(d.DependsOn) >= n && !slices.ContainsFunc(d.DependsOn[:n], foreign) {
			copy(d.DependsOn, needs) // in the order of the board
		}
		e.insert(d, c.At)
	}
	return nil
}

// swap returns ids with others in the place of one.
func swap(ids []string, one string, others []string) []string {
	i := slices.Index(ids, one)
	if i < 0 {
		return ids
	}
	return slices.Concat(ids[:i], others, ids[i+1:])
}

// Edit is an [Action] of the director: it changes what a task is. A nil field leaves
// that as it is.
type Edit struct {
	Title       *string  `json:"title,omitempty"`
	Description *string  `json:"description,omitempty"`
	Priority    *int     `json:"priority,omitempty"`
	Criteria    []string `json:"acceptance_criteria,omitempty"`

	// AddNeeds are tasks that this one depends on from now on. It must not be ACTIVE or
	// AWAITING_QA; for a READY one see [EventBlock].
	AddNeeds []string `json:"add_needs,omitempty"`

	// DropNeeds are tasks that this one no longer depends on.
	DropNeeds []string `json:"drop_needs,omitempty"`
}

func (Edit) kind() string { return "edit" }

func (a Edit) apply(e *Editor, c Change) error {
	if err := c.allow(director); err != nil {
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
			return err // never: check has seen each of them
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
	t.WaitingFor = slices.DeleteFunc(slices.Clone(t.WaitingFor), gone) // copies of the task keep theirs
	t.DependsOn = slices.DeleteFunc(slices.Clone(t.DependsOn), gone)
	for _, id := range a.AddNeeds {
		if !slices.Contains(t.DependsOn, id) {
			t.DependsOn = append(t.DependsOn, id)
		}
	}
	t.UpdatedAt = c.At
	return nil
}

func (a Edit) check(t *Task) error {
	var faults faultList
	if a.Criteria != nil {
		faults = criteriaFaults(a.Criteria)
	}
	if len(a.AddNeeds) > 0 && slices.Contains([]State{Ready, Active, AwaitingQA}, t.Status) {
		faults.add("add_needs: the task is %s", t.Status)
	}
	needs := t.needs()
	for i, id := range a.DropNeeds {
		if !slices.Contains(needs, id) || slices.Contains(a.DropNeeds[:i], id) || slices.Contains(a.AddNeeds, id) {
			faults.add("drop_needs[%d]: it does not depend on %q", i, id)
		}
	}
	return errors.Join(faults...)
}

func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

// Refine is an [Action] of the strategist: it gives a TEST task the criteria that follow
// from what was built. They take the place of a placeholder's general ones and are added
// to others. A task that has been started is refused.
type Refine struct {
	Criteria []string `json:"acceptance_criteria"`
}

func (Refine) kind() string { return "refine" }

func (r Refine) apply(e *Editor, c Change) error {
	if err := c.allow(strategist); err != nil {
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
