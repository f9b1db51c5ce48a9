package hierarchy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/internal/prompt"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/internal/team"
	"github.com/convene-go/convene/routing"
)

// department is one department of a run.
type department struct {
	Department
	actor[DepartmentPhase]

	run        *run
	state      *DepartmentState
	report     Report
	warnings   []orchestrator.Warning
	failure    string // why it failed
	unverified bool   // its output was to be graded and did not pass
}

func (d *department) warn(code, message string) {
	d.warnings = append(d.warnings, warning(code, d.ID, message))
}

// work takes a department from its brief to its report. needs are the reports of
// its dependencies. Its context has a budget of its own, which counts what it uses.
func (d *department) work(c *orchestrator.Context, needs []Report) {
	began := c.Elapsed()
	d.Fire("ready")
	d.emit(c, EventDepartmentStarted, Event{})
	err := d.produce(c, needs)
	d.report.Metadata.TotalExecutionTime = c.Elapsed() - began
	d.report.Usage = c.Spent()
	switch {
	case err == nil:
		d.finish(c, "scored", EventDepartmentFinished, "")
		d.state.QualityScore = &d.report.QualityScore
	case c.IsCanceled(err):
		d.finish(c, "cancel", EventDepartmentCanceled, "")
	default:
		d.failure = prompt.OneLine(err.Error())
		d.warn(WarnDepartmentFailed, d.failure)
		d.finish(c, "fail", EventDepartmentFailed, d.failure)
	}
}

// finish fires the last event of a department and writes its last record.
func (d *department) finish(c *orchestrator.Context, event, kind, message string) {
	d.report.Status = d.Fire(event)
	e := Event{Status: string(d.report.Status), Message: message, Usage: &d.report.Usage}
	if d.report.Status == DepartmentDone && d.report.Ungraded == "" {
		e.Score = &d.report.RawQuality
	}
	d.emit(c, kind, e)
}

// produce makes output and scores of the report: the head decides who works, and
// answers directly or makes one result of what its specialists did.
func (d *department) produce(c *orchestrator.Context, needs []Report) error {
	brief, analysis, err := d.analyze(c, needs)
	if err != nil {
		return err
	}
	var chosen []Agent
	if *or(d.run.in.RequiresSpecialists, analysis.Complexity != routing.Simple) {
		if chosen, err = d.choose(brief, analysis); err != nil {
			return err
		}
		if len(chosen) == 0 {
			d.warn(WarnNoSpecialists, "the brief asks for specialists and no active one is there")
		}
	}
	if len(chosen) == 0 {
		d.Fire("direct")
		return d.direct(c, brief, HeadOnly)
	}
	d.Fire("spawn")
	ids := make([]string, len(chosen))
	for i, a := range chosen {
		ids[i] = a.ID
	}
	d.emit(c, EventSpecialistsSelected, Event{Agents: ids})
	results := d.specialists(c, brief, chosen)
	d.Fire("all_finished")
	passing := d.review(c, results)
	if err := c.Err(); err != nil {
		return err
	}
	if len(passing) > 0 {
		d.Fire("some_pass")
		return d.synthesize(c, brief, passing)
	}
	d.Fire("none_pass")
	d.warn(WarnSpecialistsRejected, fmt.Sprintf("none of %d specialists passed", len(results)))
	quality, _ := d.quality()
	d.report.SpecialistQuality = &quality
	d.unverified = slices.ContainsFunc(results, func(s SpecialistResult) bool { return s.Ungraded != "" })
	return d.direct(c, brief, HeadAfterFailure)
}

// analyze returns the brief and what it asks for. The results of dependencies are
// part of the brief and not of what is judged: material makes no request more
// complex.
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

// request is what the master sends to the department.
func (d *department) request(c *orchestrator.Context, needs []Report) (string, error) {
	hook := d.run.cfg.Hooks.Brief
	if hook == nil {
		return d.run.in.Prompt, nil
	}
	request, err := team.Guard("brief", func() (string, error) { return hook(c, d.run.in, d.Department, needs) })
	if d.run.over(c, err) || err != nil {
		return "", err
	}
	if blankText(request) {
		return "", errors.New("brief: it is blank")
	}
	return request, nil
}

// choose selects the specialists.
func (d *department) choose(brief string, a routing.Analysis) ([]Agent, error) {
	staff := d.Department.specialists()
	if hook := d.run.cfg.Hooks.Select; hook != nil {
		chosen, err := team.Guard("selection", func() ([]Agent, error) {
			return hook(Selection{d.run.in, d.Department, brief, a}), nil
		})
		if err != nil {
			return nil, err
		}
		return validSelection(chosen, staff)
	}
	candidates := make([]routing.Candidate, len(staff))
	for i, s := range staff {
		candidates[i] = routing.Candidate{ID: s.ID, Skills: s.Skills, Inactive: s.Inactive, SuccessRate: s.SuccessRate}
	}
	var chosen []Agent
	for _, picked := range routing.Select(candidates, a.Skills, a.Estimate) {
		chosen = append(chosen, staff[slices.IndexFunc(staff, func(s Agent) bool { return s.ID == picked.ID })])
	}
	return chosen, nil
}

// validSelection returns the department's active specialists that a hook chose. Another
// one, or one chosen twice, is an error.
func validSelection(chosen, staff []Agent) ([]Agent, error) {
	var agents []Agent
	for _, picked := range chosen {
		same := func(s Agent) bool { return s.ID == picked.ID }
		i := slices.IndexFunc(staff, same)
		if i < 0 || staff[i].Inactive {
			return nil, fmt.Errorf("selection: %q is no active specialist of the department", picked.ID)
		}
		if slices.ContainsFunc(agents, same) {
			return nil, fmt.Errorf("selection: %q is chosen twice", picked.ID)
		}
		agents = append(agents, staff[i])
	}
	return agents, nil
}

// direct has the head answer the brief itself.
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
	d.Fire("ok")
	return nil
}

// headWork is work of the head, tried again as often as the department allows. Its
// retries are transitions of the department.
func (d *department) headWork(c *orchestrator.Context, brief, text string) (attempts []Attempt, err error) {
	head, begun := d.head(d.run.cfg), 0
	w := assignment{
		department: d.Department, agent: head, brief: brief, prompt: text,
		retries: d.MaxRetries, graded: d.run.cfg.Policy.GradeHeads, emit: d.emit,
		moved: func(event string) {
			if event != "start" {
				return
			}
			if begun++; begun > 1 {
				d.Fire("retry")
			}
		},
	}
	if w.graded {
		if w.gate, err = d.run.threshold(head, d.Department); err != nil {
			return nil, err
		}
	}
	attempts, err = d.run.work(c, w)
	d.warnings = append(d.warnings, warnings(head.ID, attempts)...)
	return attempts, err
}

// assess gives the report its quality.
func (d *department) assess(raw float64) {
	d.report.RawQuality, d.report.QualityScore = grading.Round6(raw), grading.Round(raw)
	d.report.PassedGate = grading.Passes(d.report.RawQuality, d.report.Gate)
}

// quality is what the specialists' work is worth.
func (d *department) quality() (float64, int) {
	var scored []grading.Scored
	for _, s := range d.report.Specialists {
		scored = append(scored, grading.Scored{Score: s.Score, Passed: s.passed(d.run.cfg.Policy.StrictReview), Ungraded: s.Ungraded != ""})
	}
	return grading.DepartmentQuality(scored)
}
