package hierarchy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
	"github.com/convene-go/convene/routing"
)

// department is one department of a run.
type department struct {
	Department
	*tracker[DepartmentPhase]

	run        *run
	state      *DepartmentState
	report     *Report // in the outcome
	warnings   []orchestrator.Warning
	failure    string // why it failed
	unverified bool   // its output was to be graded and did not pass
}

func (d *department) warn(code, message string) {
	d.warnings = append(d.warnings, warning(code, d.ID, message))
}

// work takes a department from its brief to its report. needs are the reports of its
// dependencies. Its context has a budget of its own, which counts its usage.
func (d *department) work(c *orchestrator.Context, needs []Report) {
	began := c.Elapsed()
	d.Fire(moveReady)
	d.emit(c, EventDepartmentStarted, Event{})
	err := d.produce(c, needs)
	d.report.Metadata.TotalExecutionTime = c.Elapsed() - began
	d.report.Usage = c.Spent()
	switch {
	case err == nil:
		d.finish(c, moveScored, EventDepartmentFinished, "")
		d.state.QualityScore = &d.report.QualityScore
	case c.IsCanceled(err):
		d.finish(c, moveCancel, EventDepartmentCanceled, "")
	default:
		d.failure = prompt.OneLine(err.Error())
		d.warn(WarnDepartmentFailed, d.failure)
		d.finish(c, moveFail, EventDepartmentFailed, d.failure)
	}
}

// finish fires the last event of a department and writes its last record.
func (d *department) finish(c *orchestrator.Context, m Move, kind, message string) {
	d.report.Status = d.Fire(m)
	e := Event{Status: string(d.report.Status), Message: message, Usage: &d.report.Usage}
	if d.report.Status == DepartmentDone && d.report.Ungraded == "" {
		e.Score = &d.report.RawQuality
	}
	d.emit(c, kind, e)
}

// produce sets output and scores of the report: the head decides whether specialists work,
// and answers directly or makes one result of theirs.
func (d *department) produce(c *orchestrator.Context, needs []Report) error {
	brief, analysis, err := d.analyze(c, needs)
	if err != nil {
		return err
	}
	var chosen []Agent
	if *cmp.Or(d.run.in.RequiresSpecialists, new(analysis.Complexity != routing.Simple)) {
		if chosen, err = d.choose(brief, analysis); err != nil {
			return err
		}
		if len(chosen) == 0 {
			d.warn(WarnNoSpecialists, "the brief asks for specialists and none is active")
		}
	}
	if len(chosen) == 0 {
		d.Fire(moveDirect)
		return d.direct(c, brief, HeadOnly)
	}
	d.Fire(moveSpawn)
	ids := make([]string, len(chosen))
	for i, a := range chosen {
		ids[i] = a.ID
	}
	d.emit(c, EventSpecialistsSelected, Event{Agents: ids})
	results := d.specialists(c, brief, chosen)
	d.Fire(moveAllFinished)
	passing := d.review(c, results)
	if err := c.Err(); err != nil {
		return err
	}
	if len(passing) > 0 {
		d.Fire(moveSomePass)
		return d.synthesize(c, brief, passing)
	}
	d.Fire(moveNonePass)
	d.warn(WarnSpecialistsRejected, fmt.Sprintf("none of %d specialists passed", len(results)))
	d.report.SpecialistQuality = new(d.quality())
	d.unverified = slices.ContainsFunc(results, func(s SpecialistResult) bool { return s.Ungraded != "" })
	return d.direct(c, brief, HeadAfterFailure)
}

// analyze returns the brief and its analysis. The results of dependencies are part of the
// brief but are not analyzed: they do not make a request more complex.
func (d *department) analyze(c *orchestrator.Context, needs []Report) (string, routing.Analysis, error) {
	began := c.Elapsed()
	brief, err := d.request(c, needs)
	if err != nil {
		return "", routing.Analysis{}, err
	}
	rules := d.run.cfg.Policy.Rules
	for _, a := range d.Department.specialists() {
		rules.Skills = append(rules.Skills, a.Skills...)
	}
	judge := d.run.cfg.Hooks.Analyze
	if judge == nil {
		judge = func(brief string, _ Department) routing.Analysis { return routing.Analyze(brief, rules) }
	}
	analysis, err := team.Guard("analysis", func() (routing.Analysis, error) { return judge(brief, d.Department), nil })
	if err == nil && len(needs) > 0 {
		brief, err = d.run.prompts.Fill("brief.tmpl", briefPrompt{brief, needs})
	}
	if err != nil {
		return "", analysis, err
	}
	d.report.Metadata.AnalysisTime = c.Elapsed() - began
	d.emit(c, EventDepartmentAnalyzed, Event{Analysis: &analysis})
	return brief, analysis, nil
}

// request is the master's request to the department.
func (d *department) request(c *orchestrator.Context, needs []Report) (string, error) {
	hook := d.run.cfg.Hooks.Brief
	if hook == nil {
		return d.run.in.Prompt, nil
	}
	request, err := team.Guard("brief", func() (string, error) { return hook(c, d.run.in, d.Department, needs) })
	if d.run.over(c, err) || err != nil {
		return "", err
	}
	if blank(request) {
		return "", errors.New("brief: it is blank")
	}
	return request, nil
}

// choose selects specialists: active ones of the department, each once.
func (d *department) choose(brief string, a routing.Analysis) ([]Agent, error) {
	hook := d.run.cfg.Hooks.Select
	if hook == nil {
		hook = bySkills
	}
	picked, err := team.Guard("selection", func() ([]Agent, error) { return hook(Selection{d.run.in, d.Department, brief, a}), nil })
	staff := d.Department.specialists()
	var chosen []Agent
	for _, p := range picked {
		same := func(s Agent) bool { return s.ID == p.ID }
		i := slices.IndexFunc(staff, same)
		if i < 0 || staff[i].Inactive {
			return nil, fmt.Errorf("selection: %q is no active specialist of the department", p.ID)
		}
		if slices.ContainsFunc(chosen, same) {
			return nil, fmt.Errorf("selection: %q is chosen twice", p.ID)
		}
		chosen = append(chosen, staff[i])
	}
	return chosen, err
}

// bySkills selects by the skills that the brief names.
func bySkills(s Selection) (chosen []Agent) {
	var candidates []routing.Candidate
	for _, a := range s.Department.specialists() {
		candidates = append(candidates, routing.Candidate{ID: a.ID, Skills: a.Skills, Inactive: a.Inactive, SuccessRate: a.SuccessRate})
	}
	for _, picked := range routing.Select(candidates, s.Analysis.Skills, s.Analysis.Estimate) {
		chosen = append(chosen, Agent{ID: picked.ID})
	}
	return chosen
}

// direct lets the head answer the brief itself.
func (d *department) direct(c *orchestrator.Context, brief string, basis Basis) error {
	d.report.Basis = basis
	d.emit(c, EventHeadAsked, Event{Basis: basis})
	attempts, err := d.headWork(c, brief, brief)
	if len(attempts) == 0 {
		return err
	}
	b := best(attempts)
	d.report.Output = b.Output
	graded := d.run.cfg.Policy.GradeHeads
	switch {
	case err != nil: // money ended before the next attempt
		return err
	case b.Output == nil:
		return fmt.Errorf("%s %s", d.Head, failure(attempts))
	case !graded:
		d.assess(*d.run.cfg.Policy.HeadOnlyScore)
	case b.Ungraded != "":
		d.report.Ungraded = b.Ungraded
		d.unverified = b.Decision != grading.Accept
	case b.Decision != grading.Accept:
		return fmt.Errorf("%s: the best of %d attempts scored %s, below its threshold", d.Head, len(attempts), number(b.Score))
	default:
		d.assess(b.Score)
		d.unverified = false
	}
	d.Fire(moveOK)
	return nil
}

// headWork is work of the head, retried as often as the department allows. Retries are
// transitions of the department.
func (d *department) headWork(c *orchestrator.Context, brief, text string) ([]Attempt, error) {
	w := &assignment{
		run: d.run, department: d.Department, agent: d.head(d.run.cfg), brief: brief, prompt: text,
		retries: d.MaxRetries, graded: d.run.cfg.Policy.GradeHeads, emit: d.emit,
	}
	w.moved = func(m Move) {
		if m == moveStart && len(w.attempts) > 0 {
			d.Fire(moveRetry)
		}
	}
	err := w.work(c)
	d.warnings = append(d.warnings, warnings(d.Head, w.attempts)...)
	return w.attempts, err
}

// assess sets the quality of the report.
func (d *department) assess(raw float64) {
	d.report.RawQuality, d.report.QualityScore = grading.Round6(raw), grading.Round(raw)
	d.report.PassedGate = grading.Passes(d.report.RawQuality, d.report.Gate)
}

// quality is the quality of the specialists' work.
func (d *department) quality() float64 {
	var scored []grading.Scored
	for _, s := range d.report.Specialists {
		scored = append(scored, grading.Scored{Score: s.Score, Passed: s.passed(d.run.cfg.Policy.StrictReview), Ungraded: s.Ungraded != ""})
	}
	raw, _ := grading.DepartmentQuality(scored)
	return raw
}
