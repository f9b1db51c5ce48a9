package director

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/convene-go/convene/blackboard/board"
	"github.com/convene-go/convene/internal/prompt"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/internal/team"
)

// decompose puts the first tasks on the board: those of the input, else the director's.
func (r *run) decompose(c *orchestrator.Context) error {
	tasks := slices.Clone(r.in.Tasks)
	if r.in.Board == nil && len(tasks) == 0 {
		r.fire(c, "decompose")
		var err error
		if tasks, err = r.plan(c); err != nil {
			return err
		}
	}
	code := ErrDecomposition
	if r.in.Tasks != nil {
		code = ErrInput
	}
	if len(tasks) > 0 && !r.Policy.NoTestPlaceholders && r.in.Board == nil {
		tasks = append(tasks, r.placeholders(tasks)...)
	}
	if r.Hooks.Plan != nil && len(tasks) > 0 {
		var err error
		if tasks, err = team.Guard("Hooks.Plan", func() ([]board.Definition, error) { return r.Hooks.Plan(tasks) }); err != nil {
			return team.Fail(ErrHook, "%w", err)
		}
	}
	if len(tasks) > 0 {
		for i := range tasks {
			if err := r.fits(&tasks[i]); err != nil {
				return team.Fail(code, "tasks[%d] %q: %w", i, tasks[i].ID, err)
			}
		}
		if err := r.change(c, board.Change{By: board.RoleDirector, Do: board.AddTasks{Tasks: tasks}}); err != nil {
			return team.Fail(code, "%w", err)
		}
	}
	if r.state.Phase == Decomposing {
		r.fire(c, "decomposed")
	} else {
		r.fire(c, "continue")
	}
	return nil
}

// plan asks the director for the tasks. The model is told what does not fit, twice.
func (r *run) plan(c *orchestrator.Context) ([]board.Definition, error) {
	b := r.board.Board()
	q := r.toDirector(OpDecompose, "plan.tmpl", "", PlanInput{
		Objective: b.Objective, Spec: b.Spec, Profiles: r.profileInfos(), Phases: r.Policy.Phases, Components: r.Policy.Components,
		MaxTasks: r.Limits.Tasks, Left: r.left(c),
	})
	q.data = promptData{MaxTasks: r.Limits.Tasks, HasBuild: slices.Contains(r.Policy.Phases, PhaseBuild)}
	var tasks []board.Definition
	answers := 0
	_, err := ask(r, c, q, func(d Decomposition) (err error) {
		answers++
		tasks, err = r.definitions(d.Tasks, answers > q.repairs)
		if err == nil {
			err = r.trial(c, []board.Change{{By: board.RoleDirector, Do: board.AddTasks{Tasks: tasks}}})
		}
		return err
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
func (r *run) definitions(plans []TaskPlan, generic bool) ([]board.Definition, error) { //nolint:revive // flag-parameter: it is decided by the number of answers
	if len(plans) == 0 {
		return nil, errors.New("tasks is empty, want at least one")
	}
	if live := r.liveTasks(); live+len(plans) > r.Limits.Tasks {
		return nil, fmt.Errorf("tasks has %d entries beside %d that there are, want at most %d in all", len(plans), live, r.Limits.Tasks)
	}
	var faults []error
	defs := make([]board.Definition, len(plans))
	for i, p := range plans {
		defs[i] = p.definition()
		if generic && len(p.Criteria) == 0 {
			defs[i].Criteria = []string{genericCriterion}
		}
		if err := r.fits(&defs[i]); err != nil {
			faults = append(faults, fmt.Errorf("tasks[%d] %q: %w", i, p.ID, err))
		}
	}
	return defs, errors.Join(faults...)
}

func (p TaskPlan) definition() board.Definition {
	return board.Definition{
		ID: strings.TrimSpace(p.ID), Title: p.Title, Description: p.Description, Component: strings.TrimSpace(p.Component), Phase: p.Phase,
		Profile: strings.TrimSpace(p.Profile), Priority: p.Priority, DependsOn: p.DependsOn, Criteria: p.Criteria, Risk: p.Risk,
	}
}

// fits completes a task, and says what about it this team cannot do.
func (r *run) fits(d *board.Definition) error {
	d.Phase = strings.ToLower(strings.TrimSpace(d.Phase))
	if d.Phase == "implement" && !slices.Contains(r.Policy.Phases, d.Phase) {
		d.Phase = PhaseBuild
	}
	if !slices.Contains(r.Policy.Phases, d.Phase) {
		return fmt.Errorf("phase is %q, want one of %q", d.Phase, r.Policy.Phases)
	}
	if d.Profile == "" {
		p, _ := r.profileFor(d.Phase)
		d.Profile = p.ID
	}
	profile, ok := r.profile(d.Profile)
	if !ok || !profile.takes(d.Phase) {
		return fmt.Errorf("assigned_worker_profile is %q, want one that takes the phase %q: %q", d.Profile, d.Phase, r.takers(d.Phase))
	}
	if r.Policy.Components != nil && !slices.Contains(r.Policy.Components, d.Component) {
		return fmt.Errorf("component is %q, want one of %q", d.Component, r.Policy.Components)
	}
	if len(d.Criteria) == 0 {
		return errors.New("acceptance_criteria is empty, want at least one")
	}
	return nil
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
func (r *run) placeholders(tasks []board.Definition) (made []board.Definition) {
	tester, ok := r.profileFor(PhaseTest)
	if !ok || !slices.Contains(r.Policy.Phases, PhaseTest) {
		return nil
	}
	taken := map[string]bool{}
	builds := map[string][]string{}
	tested := map[string]bool{}
	priority := map[string]int{}
	var components []string
	for _, t := range tasks {
		taken[t.ID] = true
		switch strings.ToLower(strings.TrimSpace(t.Phase)) {
		case PhaseTest:
			tested[t.Component] = true
		case PhaseBuild, "implement":
			if builds[t.Component] == nil {
				components = append(components, t.Component)
				priority[t.Component] = t.Priority
			}
			builds[t.Component] = append(builds[t.Component], t.ID)
			priority[t.Component] = max(priority[t.Component], t.Priority)
		}
	}
	for _, component := range components {
		if id := "test-" + component; !tested[component] && !taken[id] {
			made = append(made, board.Definition{
				ID: id, Title: "Test " + component, Component: component, Phase: PhaseTest, Profile: tester.ID, Priority: priority[component],
				DependsOn: builds[component], Placeholder: true, Criteria: []string{"Acceptance tests of " + component + " cover what was asked for, and pass"},
			})
		}
	}
	return made
}

// liveTasks counts the tasks that are not final.
func (r *run) liveTasks() (n int) {
	b := r.board.Board()
	for i := range b.Tasks {
		if !b.Tasks[i].Final() {
			n++
		}
	}
	return n
}

// profileInfos are the profiles as models see them.
func (r *run) profileInfos() (infos []ProfileInfo) {
	for _, p := range r.Profiles {
		infos = append(infos, p.info())
	}
	return infos
}

func (p Profile) info() ProfileInfo { return ProfileInfo{p.ID, p.Phases, p.Does, p.Tools} }

// graph is what the director sees of the board.
func (r *run) graph(c *orchestrator.Context) Graph {
	b := r.board.Board()
	g := Graph{Objective: b.Objective, Spec: b.Spec, DesignLog: b.DesignLog, Profiles: r.profileInfos(), Phases: r.Policy.Phases, Left: r.left(c)}
	for i := range b.Tasks {
		g.Tasks = append(g.Tasks, taskInfo(&b.Tasks[i]))
	}
	return g
}

func taskInfo(t *board.Task) TaskInfo {
	return TaskInfo{
		ID: t.ID, Title: t.Title, Component: t.Component, Phase: t.Phase, Status: t.Status, Priority: t.Priority, DependsOn: t.DependsOn,
		Criteria: t.Criteria, Retries: t.RetryCount, Conflicts: t.ConflictCount, Blocked: t.Blocked, Failure: failureOf(t.QA), Summary: t.Summary,
	}
}

// failureOf is why an attempt failed; nil: it has not.
func failureOf(qa *board.QA) *Failure {
	if qa == nil || qa.Passed {
		return nil
	}
	return &Failure{Kind: qa.Kind, Feedback: qa.Feedback, Criteria: unmet(qa.Criteria), Files: qa.Files}
}

// unmet are the criteria that were not met.
func unmet(results []board.CriterionResult) (failed []board.CriterionResult) {
	for _, c := range results {
		if !c.Passed {
			failed = append(failed, c)
		}
	}
	return failed
}
