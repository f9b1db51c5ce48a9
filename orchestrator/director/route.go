package director

import (
	"fmt"
	"slices"
	"strings"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/routing"
)

// route has the Router choose the profile of a task that names none.
func (r *run) route(c *orchestrator.Context, d *blackboard.Definition) error {
	targets := r.targets(r.phase(d.Phase))
	if d.Profile != "" || len(targets) == 0 {
		return nil
	}
	chosen, err := rule(r, c, d.ID, "Router", func() (routing.Route, error) {
		words := fmt.Sprintf("%s\n%s\n%s %s\n%s", d.Title, d.Description, d.Phase, d.Component, strings.Join(d.Criteria, "\n"))
		route, err := r.Rules.Router.Route(c, strings.TrimSpace(words), slices.Clone(targets))
		if err == nil {
			err = route.Check(targets)
		}
		return route, err
	})
	d.Profile = chosen.Primary
	return err
}

// targets are the profiles as a Router sees them: first those that name the phase, then
// those that take any. Nil: none takes it.
func (r *run) targets(phase string) (all []routing.Target) {
	open := false
	for i, p := range r.Profiles {
		t := routing.Target{ID: p.ID, Priority: i, About: strings.TrimSpace(p.Does), Barred: !p.takes(phase)}
		if !slices.Contains(p.Phases, phase) {
			t.Priority += len(r.Profiles)
		}
		open = open || !t.Barred
		all = append(all, t)
	}
	if !open {
		return nil
	}
	return all
}

// routed returns changes in which every new task has a profile. The board accepts them: while
// a Router asks an agent, others change it.
func (r *run) routed(c *orchestrator.Context, changes []blackboard.Change) ([]blackboard.Change, error) {
	asked := false
	choose := func(d *blackboard.Definition) error {
		asked = asked || d.Profile == ""
		return r.route(c, d)
	}
	changes, err := eachNew(changes, choose)
	if err == nil && asked {
		err = r.trial(c, changes)
	}
	return changes, err
}

// eachNew returns a copy of changes in which do has completed each new task.
func eachNew(changes []blackboard.Change, do func(d *blackboard.Definition) error) ([]blackboard.Change, error) {
	all := func(tasks []blackboard.Definition) ([]blackboard.Definition, error) {
		tasks = slices.Clone(tasks)
		for i := range tasks {
			if err := do(&tasks[i]); err != nil {
				return nil, err
			}
		}
		return tasks, nil
	}
	changes = slices.Clone(changes)
	for i := range changes {
		var err error
		switch change := changes[i].Do.(type) {
		case blackboard.AddTasks:
			change.Tasks, err = all(change.Tasks)
			changes[i].Do = change
		case blackboard.Split:
			change.Into, err = all(change.Into)
			changes[i].Do = change
		}
		if err != nil {
			return nil, err
		}
	}
	return changes, nil
}
