package director

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// decompose puts the first tasks on the board: those of the input, else the director's.
func (r *run) decompose(c *orchestrator.Context) error {
	tasks := slices.Clone(r.in.Tasks)
	fresh := len(r.board.Board().Tasks) == 0
	if fresh && len(tasks) == 0 {
		r.fire(c, moveDecompose)
		var err error
		if tasks, err = r.plan(c); err != nil {
			return err
		}
	}
	code := ErrDecomposition
	if r.in.Tasks != nil {
		code = ErrInput
	}
	if len(tasks) > 0 && !r.Policy.NoTestPlaceholders && fresh {
		tasks = append(tasks, r.placeholders(tasks)...)
	}
	if len(tasks) > 0 {
		if err := r.begun(c, tasks, code); err != nil {
			return err
		}
	}
	if r.state.Phase == opening {
		r.fire(c, moveContinue)
		return nil
	}
	if err := r.kept(r.machine.Allow(c, moveDecomposed)); err != nil {
		return err
	}
	r.fire(c, moveDecomposed)
	return nil
}

// begun puts the tasks on the board that the host's Plan leaves.
func (r *run) begun(c *orchestrator.Context, tasks []blackboard.Definition, code agent.Code) (err error) {
	for i := range tasks {
		if err := r.route(c, &tasks[i]); err != nil {
			return err
		}
	}
	if r.Rules.Plan != nil {
		if tasks, err = r.ownPlan(c, tasks); err != nil {
			return err
		}
	}
	for i := range tasks {
		err := r.fits(&tasks[i])
		if err == nil {
			err = r.route(c, &tasks[i])
		}
		if err != nil {
			return team.Fail(code, "tasks[%d] %q: %w", i, tasks[i].ID, err)
		}
	}
	if err := r.change(c, byDirector("", blackboard.AddTasks{Tasks: tasks})); err != nil {
		return team.Fail(code, "%w", err)
	}
	return nil
}

// ownPlan returns what the host's Plan makes of the tasks. Tasks that cannot be done are its fault.
func (r *run) ownPlan(c *orchestrator.Context, tasks []blackboard.Definition) ([]blackboard.Definition, error) {
	return rule(r, c, "Rules.Plan", "Plan", func() ([]blackboard.Definition, error) {
		tasks, err := r.Rules.Plan(slices.Clone(tasks))
		if err == nil && len(tasks) == 0 {
			err = errors.New("it returned no tasks")
		}
		for i := range tasks {
			if fault := r.fits(&tasks[i]); err == nil && fault != nil {
				err = fmt.Errorf("tasks[%d] %q: %w", i, tasks[i].ID, fault)
			}
		}
		if err == nil {
			err = r.trial(c, []blackboard.Change{byDirector("", blackboard.AddTasks{Tasks: tasks})})
		}
		return tasks, err
	})
}

// plan asks the director for the tasks. The model is told what does not fit, twice.
func (r *run) plan(c *orchestrator.Context) ([]blackboard.Definition, error) {
	b := r.board.Board()
	data := promptData{MaxTasks: r.Bounds.Tasks, HasBuild: slices.Contains(r.Policy.Phases, phaseBuild)}
	q := r.toDirector(opDecompose, "plan.tmpl", "", data, planInput{
		Objective: b.Objective, Spec: b.Spec, Profiles: each(r.Profiles, Profile.info), Phases: r.Policy.Phases, Components: r.Policy.Components,
		MaxTasks: r.Bounds.Tasks, Left: r.left(c),
	})
	var tasks []blackboard.Definition
	answers := 0
	_, _, err := askFor(r, c, q, func(d decomposition) (_ []blackboard.Change, err error) {
		answers++
		tasks, err = r.definitions(d.Tasks, answers > q.repairs)
		return []blackboard.Change{byDirector("", blackboard.AddTasks{Tasks: tasks})}, err
	})
	if err != nil && !team.Ends(err) {
		err = team.Fail(ErrDecomposition, "the director's plan: %s", prompt.OneLine(err.Error()))
	}
	return tasks, err
}

// genericCriterion is what a task is reviewed against that was planned without criteria.
const genericCriterion = "The artifact fulfils the task description"

// definitions are planned tasks as the board has them, or what is wrong with them.
// Generic says that tasks without criteria get one.
func (r *run) definitions(plans []TaskPlan, generic bool) ([]blackboard.Definition, error) { //nolint:revive // flag-parameter: it is decided by the number of answers
	if len(plans) == 0 {
		return nil, errors.New("tasks is empty, want at least one")
	}
	if err := r.room(len(plans)); err != nil {
		return nil, fmt.Errorf("tasks has %d entries, and %w", len(plans), err)
	}
	var faults []error
	defs := make([]blackboard.Definition, len(plans))
	for i, p := range plans {
		defs[i] = p.definition()
		if generic && len(p.Criteria) == 0 {
			defs[i].Criteria = []string{genericCriterion}
		}
		if err := cmp.Or(idFault(defs[i].ID), componentFault(defs[i].Component), r.fits(&defs[i])); err != nil {
			faults = append(faults, fmt.Errorf("tasks[%d] %q: %w", i, text.Shorten(p.ID, maxID), err))
		}
	}
	return defs, errors.Join(faults...)
}

func (p TaskPlan) definition() blackboard.Definition {
	return blackboard.Definition{
		ID: strings.TrimSpace(p.ID), Title: p.Title, Description: p.Description, Component: strings.TrimSpace(p.Component), Phase: p.Phase,
		Profile: strings.TrimSpace(p.Profile), Priority: p.Priority, DependsOn: p.DependsOn, Criteria: p.Criteria, Risk: p.Risk,
	}
}

// fits sets the phase of a task, and says what about it this team cannot do. The profile of
// one that names none is chosen later: see route.
func (r *run) fits(d *blackboard.Definition) error {
	d.Phase = r.phase(d.Phase)
	if !slices.Contains(r.Policy.Phases, d.Phase) {
		return fmt.Errorf("phase is %q, want one of %q", d.Phase, r.Policy.Phases)
	}
	profile, ok := r.profile(d.Profile)
	if takers := r.takers(d.Phase); (!ok || !profile.takes(d.Phase)) && (d.Profile != "" || len(takers) == 0) {
		return fmt.Errorf("assigned_worker_profile is %q, want one that takes the phase %q: %q", d.Profile, d.Phase, takers)
	}
	if r.Policy.Components != nil && !slices.Contains(r.Policy.Components, d.Component) {
		return fmt.Errorf("component is %q, want one of %q", d.Component, r.Policy.Components)
	}
	if len(d.Criteria) == 0 {
		return errors.New("acceptance_criteria is empty, want at least one")
	}
	return nil
}

// phase is the phase that a name means.
func (r *run) phase(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	if name == "implement" && !slices.Contains(r.Policy.Phases, name) {
		return phaseBuild
	}
	return name
}

// takers are the IDs of the profiles that take a phase.
func (r *run) takers(phase string) (ids []string) {
	for _, p := range r.Profiles {
		if p.takes(phase) {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// placeholders are TEST tasks for the components that are built and have none.
func (r *run) placeholders(tasks []blackboard.Definition) (made []blackboard.Definition) {
	if len(r.takers(phaseTest)) == 0 || !slices.Contains(r.Policy.Phases, phaseTest) {
		return nil
	}
	taken, tested := map[string]bool{}, map[string]bool{} // IDs, components
	for _, t := range tasks {
		taken[t.ID] = true
		if r.phase(t.Phase) == phaseTest {
			tested[t.Component] = true
		}
	}
	at := map[string]int{} // places of components in made
	for _, t := range tasks {
		id := "test-" + t.Component
		if r.phase(t.Phase) != phaseBuild || tested[t.Component] || taken[id] {
			continue
		}
		i, ok := at[t.Component]
		if !ok {
			i, at[t.Component] = len(made), len(made)
			made = append(made, blackboard.Definition{
				ID: id, Title: "Test " + t.Component, Component: t.Component, Phase: phaseTest, Priority: t.Priority,
				Placeholder: true, Criteria: []string{"Acceptance tests of " + t.Component + " cover what was asked for, and pass"},
			})
		}
		p := &made[i]
		p.Priority, p.DependsOn = max(p.Priority, t.Priority), append(p.DependsOn, t.ID)
	}
	return made
}

// liveTasks counts the tasks that are not final.
func (r *run) liveTasks() int {
	return len(r.board.Board().Tasks) - r.board.Count(blackboard.Complete, blackboard.Abandoned)
}

// info returns the profile as models see it.
func (p Profile) info() profileInput { return profileInput{p.ID, p.Phases, p.Does, p.Tools} }

// graph is what the director sees of the board.
func (r *run) graph(c *orchestrator.Context) graphInput {
	b := r.board.Board()
	g := graphInput{Objective: b.Objective, Spec: b.Spec, DesignLog: wireDecisions(b.DesignLog), Profiles: each(r.Profiles, Profile.info), Phases: r.Policy.Phases, Left: r.left(c)}
	for i := range b.Tasks {
		g.Tasks = append(g.Tasks, taskInfo(&b.Tasks[i]))
	}
	return g
}

func taskInfo(t *blackboard.Task) taskInput {
	return taskInput{
		ID: t.ID, Title: t.Title, Component: t.Component, Phase: t.Phase, Status: t.Status, Priority: t.Priority, DependsOn: t.DependsOn,
		Criteria: t.Criteria, Retries: t.RetryCount, Conflicts: t.ConflictCount, Blocked: (*wireBlocked)(t.Blocked), Failure: failureOf(t.QA), Summary: t.Summary,
	}
}

// failureOf is why an attempt failed; nil: it has not.
func failureOf(qa *blackboard.QA) *failureInput {
	if qa == nil || qa.Passed {
		return nil
	}
	return &failureInput{Kind: qa.Kind, Feedback: qa.Feedback, Criteria: unmet(qa.Criteria), Files: qa.Files}
}

// unmet are the criteria that were not met.
func unmet(results []blackboard.CriterionResult) []blackboard.CriterionResult {
	return slices.DeleteFunc(slices.Clone(results), func(c blackboard.CriterionResult) bool { return c.Passed })
}
