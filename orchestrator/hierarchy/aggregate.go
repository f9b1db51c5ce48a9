package hierarchy

import (
	"fmt"
	"slices"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
)

// combine makes one output of those of the departments, and the overall quality. It
// makes one attempt.
func (r *run) combine(c *orchestrator.Context) (err error) {
	done := r.out.done()
	for _, d := range r.departments {
		if d.report.Status == DepartmentDone {
			r.out.Output[d.OutputKey] = d.report.Output
		}
	}
	if r.out.Score, err = r.overall(c, done); err != nil {
		return err
	}
	if r.cfg.Master.Agent != "" {
		if err := r.unite(c, done); err != nil {
			return fmt.Errorf("master %q: %w", r.cfg.Master.Agent, err)
		}
	}
	return r.Go(c, moveCombined)
}

// unite lets the master write one result. If money, calls or time are used up, the
// outputs stay as they are.
func (r *run) unite(c *orchestrator.Context, done []Report) error {
	master := Agent{ID: r.cfg.Master.Agent}.withDefaults(r.cfg.Policy)
	resp, err := r.call(c, master, "", "master.tmpl", masterPrompt{r.in.Prompt, done})
	if r.over(c, err) && !c.IsCanceled(err) {
		r.Warn(c, r.Code("budget"), master.ID, "the outputs of the departments were not united: %v", err)
		return nil
	}
	if err != nil {
		return err
	}
	r.out.Output[resultKey], err = outputOf(resp, nil)
	return err
}

// overall is the overall quality of the finished departments that have one; nil: none has.
func (r *run) overall(c *orchestrator.Context, done []Report) (*float64, error) {
	weights := map[string]float64{}
	for _, target := range r.out.Route.Relevances {
		weights[target.ID] = target.Relevance
	}
	var marks grading.Marks
	for _, report := range done {
		if report.Ungraded == "" {
			id := report.DepartmentID
			marks = append(marks, grading.Mark{Name: id, Value: report.RawQuality, Weight: weights[id], Passed: report.PassedGate})
		}
	}
	if len(marks) == 0 {
		return nil, nil //nolint:nilnil // no score is no fault
	}
	overall, err := team.Figure(r.Run, c, "run", "Rules.Scores.Overall", 100, func() (float64, error) { return r.cfg.Rules.Scores.Overall.Score(marks) })
	if err != nil {
		return nil, err
	}
	return &overall, nil
}

func (r *run) check(c *orchestrator.Context) error {
	done := r.out.done()
	byHost := func(name string, check Check) CheckStatus {
		issues, err := team.Rule(r.Run, c, "run", name, func() ([]Issue, error) { return check(c, team.Clone(done)) })
		return r.found(c, "", issues, err)
	}
	var across []CheckStatus
	for i, check := range r.cfg.Rules.Validate {
		across = append(across, byHost(fmt.Sprintf("Rules.Validate[%d]", i), check))
	}
	r.out.Checks.CrossDepartment = joined(across)
	if byAgent := r.cfg.Master.Consistency; byAgent != "" {
		issues, err := r.askConsistency(c, done)
		if err != nil && !team.Ends(err) {
			r.Warn(c, r.Code("check"), byAgent, "%v", err)
		}
		r.out.Checks.Consistency = r.found(c, byAgent, issues, err)
	} else if check := r.cfg.Rules.Consistency; check != nil {
		r.out.Checks.Consistency = byHost("Rules.Consistency", check)
	}
	r.Run.Emit(c, EventChecksFinished, &Event{Checks: &r.out.Checks})
	return nil
}

// found keeps the issues of a check, and returns its status. A check with an error failed; one
// without budget was skipped. who is the agent that checked; "": none.
func (r *run) found(c *orchestrator.Context, who string, issues []Issue, err error) CheckStatus {
	r.out.Checks.Issues = append(r.out.Checks.Issues, issues...)
	switch {
	case r.over(c, err):
		r.Warn(c, r.Code("budget"), who, "the check was not made: %v", err)
		return checkSkipped
	case err != nil || len(issues) > 0:
		return checkFailed
	default:
		return checkPassed
	}
}

// askConsistency asks Master.Consistency, the agent that knows earlier facts.
func (r *run) askConsistency(c *orchestrator.Context, reports []Report) ([]Issue, error) {
	found, err := team.Seat[struct {
		Issues []Issue `json:"issues"`
	}]{
		Agent: r.cfg.Master.Consistency, Prompt: "check.tmpl", On: team.Hooks{Quiet: true},
		Request: r.request(Agent{ID: r.cfg.Master.Consistency}.withDefaults(r.cfg.Policy), "", ""),
	}.Ask(c, r.Run, checkPrompt{reports})
	return found.Issues, err
}

// joined is the worst of several statuses; without any it is skipped.
func joined(checks []CheckStatus) CheckStatus {
	for _, status := range []CheckStatus{checkFailed, checkSkipped, checkPassed} {
		if slices.Contains(checks, status) {
			return status
		}
	}
	return checkSkipped
}
