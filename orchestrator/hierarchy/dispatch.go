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
	for _, id := range r.in.Only {
		if !slices.ContainsFunc(r.cfg.Departments, func(d Department) bool { return d.ID == id }) {
			return routing.Route{}, fmt.Errorf("route: Only names %q, which is no department", id)
		}
	}
	targets := make([]routing.Target, len(r.cfg.Departments))
	for i, d := range r.cfg.Departments {
		targets[i] = d.target()
		targets[i].Barred = len(r.in.Only) > 0 && !slices.Contains(r.in.Only, d.ID)
	}
	return team.Rule(r.Run, c, "run", "Rules.Router", func() (routing.Route, error) {
		route, err := r.cfg.Rules.Router.Route(c, r.in.Prompt, team.Clone(targets))
		if err == nil {
			err = route.Check(targets)
		}
		if err != nil {
			return route, err
		}
		route.Supporting = slices.Concat([]string{}, route.Supporting)
		return route.Arrange(r.cfg.needs())
	})
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
		for _, d := range r.departments {
			if slices.Contains(wave, d.ID) && !d.skip(c) {
				ready = append(ready, d)
			}
		}
		orchestrator.Map(c, ready, r.cfg.Bounds.ParallelDepartments, func(c *orchestrator.Context, d *department) (struct{}, error) {
			d.work(c.WithBudget(orchestrator.Budget{}), r.needs(d))
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
	for i, id := range ids {
		configured := r.cfg.Departments[slices.IndexFunc(r.cfg.Departments, func(d Department) bool { return d.ID == id })]
		path, state, report := "dept/"+id, &r.state.Departments[i], &r.out.Reports[i]
		state.ID, state.Specialists = id, []SpecialistState{}
		*report = Report{
			DepartmentID: id, DepartmentName: configured.Name, HeadExecutionID: c.RunID() + "/" + path,
			Gate: *configured.Gate, Specialists: []SpecialistResult{},
		}
		d := &department{Department: configured, run: r, desk: r.Part(), state: state, report: report}
		d.Machine = team.NewMachine(d.desk, path, departmentPhases, &state.Phase)
		r.departments = append(r.departments, d)
	}
}

// needs are the reports of the chosen departments that d depends on, in the order
// of the route.
func (r *run) needs(d *department) []Report {
	return slices.DeleteFunc(slices.Clone(r.out.Reports), func(r Report) bool { return !slices.Contains(d.DependsOn, r.DepartmentID) })
}

// skip reports whether a dependency of d is missing, and if so ends d.
func (d *department) skip(c *orchestrator.Context) bool {
	for _, need := range d.run.needs(d) {
		if need.Status != DepartmentDone {
			why := fmt.Sprintf("%s is %s", need.DepartmentID, need.Status)
			d.warn(c, "department-skipped", "%s", why)
			d.finish(c, moveDependencyMissing, EventDepartmentSkipped, why)
			return true
		}
	}
	return false
}
