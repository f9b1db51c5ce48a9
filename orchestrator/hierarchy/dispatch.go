package hierarchy

import (
	"fmt"
	"slices"

	"github.com/convene-go/convene/orchestrator"
)

// dispatch lets the chosen departments work, wave after wave; those of one wave
// work side by side (H79-H81, HC15). One failure stops no other (H70).
func (r *run) dispatch(c *orchestrator.Context) {
	r.open(c)
	for i, wave := range r.out.Route.Waves {
		var ready []*department
		for _, id := range wave {
			if d := r.find(id); !d.skip(c) {
				ready = append(ready, d)
			}
		}
		for j, done := range orchestrator.Map(c, ready, r.cfg.Limits.ParallelDepartments, func(c *orchestrator.Context, d *department) (struct{}, error) {
			d.work(c.WithBudget(orchestrator.Budget{}), r.needs(d))
			return struct{}{}, nil
		}) {
			if done.Err != nil { // the run was canceled before it began
				r.stops(c, done.Err)
				ready[j].abandon(c)
			}
		}
		if r.canceled {
			break
		}
		if i < len(r.out.Route.Waves)-1 {
			r.actor.fire("wave_done")
		}
	}
	for _, d := range r.departments {
		if d.report.Status == "" {
			d.abandon(c)
		}
	}
}

// open prepares the chosen departments and what is shown of them.
func (r *run) open(c *orchestrator.Context) {
	ids := append([]string{r.out.Route.Primary}, r.out.Route.Supporting...)
	r.state.Departments = make([]DepartmentState, len(ids))
	for i, id := range ids {
		configured, _ := r.cfg.department(id)
		state := &r.state.Departments[i]
		state.ID, state.Specialists = id, []SpecialistState{}
		path := "dept/" + id
		r.departments = append(r.departments, &department{
			Department: configured,
			run:        r,
			state:      state,
			actor:      newActor(path, DepartmentTable, &state.Phase),
			report: Report{
				DepartmentID: id, DepartmentName: configured.Name, HeadExecutionID: c.RunID() + "/" + path,
				Gate: *configured.Gate, Specialists: []SpecialistResult{}, Flags: []string{},
			},
		})
	}
}

// find returns the chosen department of that ID, or nil.
func (r *run) find(id string) *department {
	for _, d := range r.departments {
		if d.ID == id {
			return d
		}
	}
	return nil
}

// needs are the reports of the chosen departments that d depends on, in the order
// of the route.
func (r *run) needs(d *department) []Report {
	var reports []Report
	for _, other := range r.departments {
		if slices.Contains(d.DependsOn, other.ID) {
			reports = append(reports, other.report)
		}
	}
	return reports
}

// skip reports whether a dependency of d is missing, and ends d if so (HC32).
func (d *department) skip(c *orchestrator.Context) bool {
	for _, need := range d.run.needs(d) {
		if need.Status != Done {
			d.stage = "dependencies"
			d.actor.fire("dependency_failed")
			message := fmt.Sprintf("%s is %s", need.DepartmentID, need.Status)
			d.run.errors = append(d.run.errors, DepartmentError{d.ID, d.stage, message})
			d.finish(c, "department.skipped", message)
			return true
		}
	}
	return false
}

// abandon ends a department that a canceled run did not begin.
func (d *department) abandon(c *orchestrator.Context) {
	d.stage = "waiting"
	d.actor.fire("cancel")
	d.fail(c, errCanceled)
}
