package hierarchy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
)

// dispatch runs the chosen departments, wave after wave; those of one wave run in
// parallel. A failure does not stop the others. It is an error if no department is done.
func (r *run) dispatch(c *orchestrator.Context) error {
	r.open(c)
	refused := r.waves(c)
	for _, d := range r.departments {
		if d.report.Status == "" { // the run was canceled or a wave refused before it began
			d.finish(c, moveCancel, EventDepartmentCanceled, "")
		}
	}
	switch {
	case refused != nil:
		return refused
	case len(r.out.done()) == 0:
		return r.nothingDone()
	default:
		return r.Go(c, moveSomeDone)
	}
}

// waves runs wave after wave. The error is that of a Permit.
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
		if c.Err() != nil {
			break
		}
	}
	return nil
}

// nothingDone says why no department is done: the refusal of its calls, or the first
// failure.
func (r *run) nothingDone() error {
	if r.refused != nil {
		return fmt.Errorf("no department finished: %w", r.refused)
	}
	if err := r.broken(); err != nil {
		return fmt.Errorf("no department finished: %w", err)
	}
	i := slices.IndexFunc(r.departments, func(d *department) bool { return d.failure != nil })
	if i < 0 {
		return errors.New("no department finished")
	}
	return fmt.Errorf("no department finished: %w", r.departments[i].failure)
}

// open prepares the chosen departments, their reports and their states.
func (r *run) open(c *orchestrator.Context) {
	ids := r.out.Route.Chosen()
	r.state.Departments, r.out.Reports = make([]DepartmentState, len(ids)), make([]Report, len(ids))
	for i, id := range ids {
		configured, _ := r.cfg.department(id)
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
	needs := d.run.needs(d)
	i := slices.IndexFunc(needs, func(r Report) bool { return r.Status != DepartmentDone })
	if i < 0 {
		return false
	}
	why := fmt.Sprintf("%s is %s", needs[i].DepartmentID, needs[i].Status)
	d.warn(c, warnDepartmentSkipped, "%s", why)
	d.finish(c, moveDependencyMissing, EventDepartmentSkipped, why)
	return true
}
