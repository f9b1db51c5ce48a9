package hierarchy

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/routing"
)

func (r *run) route(c *orchestrator.Context) (err error) {
	if r.out.Route, err = r.choose(c); err != nil {
		return err
	}
	if err = r.Go(c, moveRouted); err == nil {
		r.Run.Emit(c, EventRouteDecided, &Event{Route: &r.out.Route})
	}
	return err
}

// choose returns the answer of the Router, with mode and waves by the dependencies.
func (r *run) choose(c *orchestrator.Context) (routing.Route, error) {
	targets, err := r.cfg.targets(r.in)
	if err != nil {
		return routing.Route{}, err
	}
	return team.Rule(r.Run, c, "run", "Rules.Router", func() (routing.Route, error) { return r.cfg.ask(c, r.in, targets) })
}

// targets are the departments for the Router.
func (c Config) targets(in Input) ([]routing.Target, error) {
	for _, id := range in.Only {
		if !slices.ContainsFunc(c.Departments, func(d Department) bool { return d.ID == id }) {
			return nil, fmt.Errorf("route: Only names %q, which is no department", id)
		}
	}
	targets := make([]routing.Target, len(c.Departments))
	for i, d := range c.Departments {
		targets[i] = d.target()
		targets[i].Barred = len(in.Only) > 0 && !slices.Contains(in.Only, d.ID)
	}
	return targets, nil
}

// ask asks the Router.
func (c Config) ask(of *orchestrator.Context, in Input, targets []routing.Target) (routing.Route, error) {
	route, err := c.Rules.Router.Route(of, in.Prompt, team.Clone(targets))
	if err == nil {
		err = route.Check(targets)
	}
	if err != nil {
		return route, err
	}
	route.Supporting = slices.Concat([]string{}, route.Supporting)
	return route.Arrange(c.needs())
}

// Route returns the route that a run with cfg takes for in, without a run. A Router that uses
// its Context, as one that asks a model does, has no answer then: that is an error. So are the
// faults of cfg and of in.
func Route(cfg Config, in Input) (route routing.Route, err error) {
	if _, err := New(cfg); err != nil {
		return route, err
	}
	cfg = team.Clone(cfg)
	setDefaults(&cfg)
	cfg.Rules = team.FillRules(cfg.Rules, DefaultRules())
	if err := cfg.checkInput(in); err != nil {
		return route, fmt.Errorf("hierarchy: %w", err)
	}
	targets, err := cfg.targets(in)
	if err != nil {
		return route, fmt.Errorf("hierarchy: %w", err)
	}
	defer func() {
		if panicked := recover(); panicked != nil {
			route, err = routing.Route{}, fmt.Errorf("hierarchy: Rules.Router has no answer without a run: %v", panicked)
		}
	}()
	if route, err = cfg.ask(nil, in, targets); err != nil {
		return routing.Route{}, fmt.Errorf("hierarchy: Rules.Router: %w", err)
	}
	return route, nil
}

// dispatch runs the chosen departments, wave after wave; those of one wave run in
// parallel. A failure does not stop the others. It is an error if no department is done.
func (r *run) dispatch(c *orchestrator.Context) error {
	r.open(c)
	err := r.waves(c)
	for _, d := range r.departments {
		if d.report.Status == "" { // the run was canceled or a wave refused before it began
			d.finish(c, moveCancel, EventDepartmentCanceled, "")
		}
	}
	switch {
	case err != nil:
		return err
	case len(r.out.done()) == 0:
		return r.nothingDone()
	}
	return r.Go(c, moveSomeDone)
}

// waves runs wave after wave. The error is that of a Permit, or says that the run is canceled.
func (r *run) waves(c *orchestrator.Context) error {
	for i, wave := range r.out.Route.Waves {
		if i > 0 {
			if err := r.Go(c, moveWaveDone); err != nil {
				return err
			}
		}
		var ready []*department
		for _, id := range wave {
			if d := r.byID[id]; !d.skip(c) {
				ready = append(ready, d)
			}
		}
		orchestrator.Map(c, ready, r.cfg.Bounds.ParallelDepartments, func(c *orchestrator.Context, d *department) (struct{}, error) {
			d.work(c.WithBudget(orchestrator.Budget{}))
			return struct{}{}, nil
		})
		if err := c.Err(); err != nil {
			return err
		}
	}
	return nil
}

// nothingDone says why no department is done: refused calls, else what a rule did, else the
// first failure.
func (r *run) nothingDone() error {
	why := cmp.Or(r.refused, r.broken())
	for _, d := range r.departments {
		why = cmp.Or(why, d.failure)
	}
	return fmt.Errorf("no department finished: %w", cmp.Or[error](why, orchestrator.ErrCanceled))
}

// open prepares the chosen departments, their reports and their states.
func (r *run) open(c *orchestrator.Context) {
	ids := r.out.Route.Chosen()
	r.state.Departments, r.out.Reports = make([]DepartmentState, len(ids)), make([]Report, len(ids))
	r.byID = make(map[string]*department, len(ids))
	for _, configured := range r.cfg.Departments {
		r.byID[configured.ID] = &department{Department: configured}
	}
	for i, id := range ids {
		d := r.byID[id]
		path, state, report := "dept/"+id, &r.state.Departments[i], &r.out.Reports[i]
		state.ID, state.Specialists = id, []SpecialistState{}
		*report = Report{
			DepartmentID: id, DepartmentName: d.Name, HeadExecutionID: c.RunID() + "/" + path,
			Gate: *d.Gate, Specialists: []SpecialistResult{},
		}
		d.run, d.desk, d.state, d.report, d.place = r, r.Part(), state, report, i
		d.Machine = team.NewMachine(d.desk, path, departmentPhases, &state.Phase)
		r.departments = append(r.departments, d)
	}
	for _, d := range r.departments {
		d.needs = r.needs(d)
	}
}

// needs are the reports of the chosen departments that d depends on, in the order
// of the route. They are shared by all departments that need them.
func (r *run) needs(d *department) (reports []*Report) {
	var places []int
	for _, id := range d.DependsOn {
		if need := r.byID[id]; need.run != nil {
			places = append(places, need.place)
		}
	}
	slices.Sort(places)
	for _, place := range slices.Compact(places) {
		reports = append(reports, &r.out.Reports[place])
	}
	return reports
}

// skip reports whether a dependency of d is missing, and if so ends d.
func (d *department) skip(c *orchestrator.Context) bool {
	for _, need := range d.needs {
		if need.Status != DepartmentDone {
			why := fmt.Sprintf("%s is %s", need.DepartmentID, need.Status)
			d.warn(c, "department-skipped", "%s", why)
			d.finish(c, moveDependencyMissing, EventDepartmentSkipped, why)
			return true
		}
	}
	return false
}
