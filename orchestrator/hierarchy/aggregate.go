package hierarchy

import (
	"fmt"
	"slices"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/internal/prompt"
	"github.com/convene-go/convene/orchestrator"
)

// combine makes one output of those of the departments (H85) and the overall
// quality (H88). It is attempted once (H3).
func (r *run) combine(c *orchestrator.Context) error {
	done := r.done()
	for _, report := range done {
		d, _ := r.cfg.department(report.DepartmentID)
		r.out.Output[d.OutputKey] = report.Output
	}
	overall, err := r.overall(done)
	if err != nil {
		return err
	}
	r.out.Score = &overall
	if r.cfg.Master == "" {
		return nil
	}
	return r.unite(c, done)
}

// unite has the master write one result. A budget that does not allow it leaves the
// outputs as they are (HX12).
func (r *run) unite(c *orchestrator.Context, done []Report) error {
	prompt, err := r.prompts.Fill("master.tmpl", masterPrompt{r.in.Prompt, done})
	if err != nil {
		return err
	}
	master := Agent{ID: r.cfg.Master}.withDefaults()
	resp, err := c.Call(master.ID, r.request(master, prompt))
	if err != nil {
		if r.stops(c, err) && !r.canceled {
			return nil
		}
		return fmt.Errorf("master %q: %w", master.ID, err)
	}
	output, err := outputOf(resp, nil)
	if err != nil {
		return fmt.Errorf("master %q: %w", master.ID, err)
	}
	r.out.Output[resultKey] = output
	return nil
}

// overall is one figure of the departments that are done (HC13).
func (r *run) overall(done []Report) (float64, error) {
	scores := make([]DepartmentScore, len(done))
	values, weights := make([]float64, len(done)), make([]float64, len(done))
	for i, report := range done {
		scores[i] = DepartmentScore{report.DepartmentID, report.RawQuality, relevance(r.out.Route, report.DepartmentID)}
		values[i], weights[i] = scores[i].Quality, scores[i].Relevance
	}
	hook := r.cfg.Hooks.Overall
	if hook == nil {
		return grading.WeightedMean(values, weights), nil
	}
	overall, err := guard("overall", func() (float64, error) { return hook(scores), nil })
	if err == nil && !validScore(overall) {
		err = fmt.Errorf("overall: it is %v, want 0 to 100", overall)
	}
	return grading.Round6(overall), err
}

// check makes the checks of the whole result (H86, H87).
func (r *run) check(c *orchestrator.Context) {
	done := r.done()
	var across []CheckStatus
	for _, check := range r.cfg.Hooks.Validate {
		across = append(across, r.ask(c, "validation", check, done))
	}
	r.out.Checks.CrossDepartment = joined(across)
	check := r.cfg.Hooks.Consistency
	if r.cfg.Consistency != "" {
		check = r.askConsistency
	}
	if check != nil {
		r.out.Checks.Consistency = r.ask(c, "consistency", check, done)
	}
	r.actor.emit(c, "validation.finished", Event{Checks: &r.out.Checks})
}

// ask makes one check and keeps its issues. One that ended in an error failed; one
// that the budget did not allow was skipped.
func (r *run) ask(c *orchestrator.Context, stage string, check Check, done []Report) CheckStatus {
	issues, err := guard(stage, func() ([]Issue, error) { return check(c, done) })
	r.out.Checks.Issues = append(r.out.Checks.Issues, issues...)
	switch {
	case err != nil && r.stops(c, err):
		return checkSkipped
	case err != nil:
		r.out.Checks.Issues = append(r.out.Checks.Issues, Issue{Message: prompt.OneLine(err.Error())})
		return checkFailed
	case len(issues) > 0:
		return checkFailed
	default:
		return checkPassed
	}
}

// joined is the status of several checks: failed if one failed, passed if all
// passed, else skipped.
func joined(checks []CheckStatus) CheckStatus {
	switch {
	case slices.Contains(checks, checkFailed):
		return checkFailed
	case len(checks) == 0, slices.Contains(checks, checkSkipped):
		return checkSkipped
	default:
		return checkPassed
	}
}

// done returns the reports of departments that are done.
func (r *run) done() []Report {
	done := []Report{}
	for _, d := range r.departments {
		if d.report.Status == Done {
			done = append(done, d.report)
		}
	}
	return done
}
