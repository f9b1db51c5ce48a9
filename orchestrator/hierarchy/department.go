package hierarchy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
	"github.com/convene-go/convene/routing"
)

type department struct {
	Department
	*team.Machine[DepartmentPhase, Move]

	run        *run
	state      *DepartmentState
	report     *Report   // in the outcome
	desk       *team.Run // run with the warnings of the department
	failure    error     // why it failed, with the code of a rule; nil: it did not
	unverified bool      // its output was to be graded and did not pass, or is in the place of a synthesis
	least      int       // least length of a synthesis, in characters
	place      int       // place in the route, from 0
	needs      []*Report // reports of the chosen departments that it depends on, in the order of the route
}

// warn raises a warning with the code "hierarchy/<what>".
func (d *department) warn(c *orchestrator.Context, what, format string, args ...any) {
	d.desk.Warn(c, d.desk.Code(what), d.ID, format, args...)
}

// work takes a department from its brief to its report. Its context has a budget of its own,
// which counts its usage.
func (d *department) work(c *orchestrator.Context) {
	began := c.Elapsed()
	err := d.Go(c, moveReady)
	if err == nil {
		d.Emit(c, EventDepartmentStarted, &Event{})
		err = d.produce(c)
	}
	d.report.Metadata.TotalExecutionTime = c.Elapsed() - began
	d.report.Usage = c.Spent()
	switch {
	case err == nil:
		d.finish(c, moveScored, EventDepartmentFinished, "")
		d.state.QualityScore = &d.report.QualityScore
	case c.IsCanceled(err):
		d.finish(c, moveCancel, EventDepartmentCanceled, "")
	default:
		message := prompt.OneLine(err.Error())
		if d.failure = err; !d.desk.IsHostError(err) {
			d.failure = errors.New(message) // only the codes of rules are kept
		}
		d.warn(c, "department-failed", "%s", message)
		d.finish(c, moveFail, EventDepartmentFailed, message)
	}
}

// finish fires the last event of a department and writes its last record.
func (d *department) finish(c *orchestrator.Context, m Move, kind team.Kind, message string) {
	d.report.Status = d.Fire(c, m)
	e := &Event{Event: team.Event{Status: orchestrator.Status(d.report.Status), Text: message, Usage: &d.report.Usage}}
	if d.report.Status == DepartmentDone && d.report.Ungraded == "" {
		e.Score = &d.report.RawQuality
	}
	d.Emit(c, kind, e)
}

// produce sets output and scores of the report: the head decides whether specialists work,
// and answers directly or makes one result of theirs.
func (d *department) produce(c *orchestrator.Context) error {
	brief, analysis, err := d.analyze(c)
	if err != nil {
		return err
	}
	var chosen []Agent
	if *cmp.Or(d.run.in.RequiresSpecialists, new(analysis.Complexity != routing.Simple)) {
		if chosen, err = d.choose(c, brief, analysis); err != nil {
			return err
		}
		if len(chosen) == 0 {
			d.warn(c, "no-specialists", "the brief asks for specialists and none is active")
		}
	}
	if len(chosen) == 0 {
		return d.direct(c, brief, HeadOnly, moveDirect)
	}
	passing, err := d.staffWork(c, brief, chosen)
	if err != nil {
		return err
	}
	if len(passing) > 0 {
		return d.synthesize(c, brief, passing)
	}
	results := d.report.Specialists
	d.warn(c, "specialists-rejected", "none of %d specialists passed", len(results))
	quality, err := d.quality(c)
	if err != nil {
		return err
	}
	d.report.SpecialistQuality = &quality
	d.unverified = slices.ContainsFunc(results, func(s SpecialistResult) bool { return s.Ungraded != "" })
	return d.direct(c, brief, HeadAfterFailure, moveNonePass)
}

// staffWork has the chosen specialists work, reviews their results, and returns those that
// passed. A rule that broke is an error. So is a refused specialist if no other passed.
func (d *department) staffWork(c *orchestrator.Context, brief string, chosen []Agent) ([]SpecialistResult, error) {
	if err := d.Go(c, moveSpawn); err != nil {
		return nil, err
	}
	selected := &Event{}
	for _, a := range chosen {
		selected.Agents = append(selected.Agents, a.ID)
	}
	d.Emit(c, EventSpecialistsSelected, selected)
	results, broken := d.specialists(c, brief, chosen)
	d.Fire(c, moveAllFinished)
	passing, err := d.review(c, results)
	if canceled := c.Err(); canceled != nil {
		return nil, canceled
	}
	if broken != nil && (len(passing) == 0 || errors.Is(broken, ErrRule)) {
		return nil, broken
	}
	return passing, err
}

// analyze returns the brief and its analysis. The results of dependencies are part of the
// brief but are not analyzed: they do not make a request more complex.
func (d *department) analyze(c *orchestrator.Context) (string, routing.Analysis, error) {
	began := c.Elapsed()
	brief, err := d.request(c)
	if err != nil {
		return "", routing.Analysis{}, err
	}
	var skills []string
	for _, a := range d.Department.specialists() {
		skills = append(skills, a.Skills...)
	}
	analysis, err := team.Rule(d.desk, c, d.ID, "Rules.Analyzer", func() (routing.Analysis, error) {
		a := d.run.cfg.Rules.Analyzer.Analyze(brief, skills)
		if !slices.Contains([]routing.Complexity{routing.Simple, routing.Moderate, routing.Complex}, a.Complexity) || a.Estimate < 0 {
			return a, fmt.Errorf("its complexity is %q and its estimate %d, want simple, moderate or complex, and 0 or more", a.Complexity, a.Estimate)
		}
		return a, nil
	})
	if err == nil && len(d.needs) > 0 {
		brief, err = d.run.Prompts.Fill("brief.tmpl", briefPrompt{brief, d.needs})
	}
	if err != nil {
		return "", analysis, err
	}
	d.report.Metadata.AnalysisTime = c.Elapsed() - began
	d.Emit(c, EventDepartmentAnalyzed, &Event{Analysis: &analysis})
	return brief, analysis, nil
}

// request is the master's request to the department.
func (d *department) request(c *orchestrator.Context) (string, error) {
	hook := d.run.cfg.Rules.Brief
	if hook == nil {
		return d.run.in.Prompt, nil
	}
	request, err := team.Rule(d.desk, c, d.ID, "Rules.Brief", func() (string, error) {
		var needs []Report
		for _, need := range d.needs {
			needs = append(needs, team.Clone(*need))
		}
		request, err := hook(c, team.Clone(d.run.in), team.Clone(d.Department), needs)
		if err == nil && text.IsBlank(request) {
			err = errors.New("it is blank")
		}
		return request, err
	})
	d.run.over(c, err)
	return request, err
}

// choose returns the specialists that the Selector selects.
func (d *department) choose(c *orchestrator.Context, brief string, a routing.Analysis) (chosen []Agent, err error) {
	staff := d.Department.specialists()
	candidates := make([]routing.Candidate, len(staff))
	for i, s := range staff {
		about := s.Name + " " + s.Specialization + " " + strings.Join(s.Skills, " ")
		candidates[i] = routing.Candidate{ID: s.ID, Skills: s.Skills, Inactive: s.Inactive, SuccessRate: s.SuccessRate, About: about}
	}
	picked, err := team.Select(d.desk, c, d.ID, d.run.cfg.Rules.Selector, candidates, routing.Need{Brief: brief, Skills: a.Skills, Count: a.Estimate})
	for _, i := range picked {
		chosen = append(chosen, staff[i])
	}
	return chosen, err
}

// direct lets the head answer the brief itself, if the move is permitted.
func (d *department) direct(c *orchestrator.Context, brief string, basis Basis, m Move) error {
	if err := d.Go(c, m); err != nil {
		return err
	}
	d.report.Basis = basis
	d.Emit(c, EventHeadAsked, &Event{Basis: basis})
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
	d.Fire(c, moveOK)
	return nil
}

// headWork is work of the head, retried as often as the department allows. Retries are
// transitions of the department.
func (d *department) headWork(c *orchestrator.Context, brief, text string) ([]Attempt, error) {
	w := &assignment{
		department: d, desk: d.desk, agent: d.head(), role: "head", brief: brief, prompt: text, most: d.Attempts, least: d.least, graded: d.run.cfg.Policy.GradeHeads,
		moved: func(*orchestrator.Context, Move) {},
		emit:  func(c *orchestrator.Context, kind team.Kind, e *Event) { d.Emit(c, kind, e) },
	}
	w.start = func(c *orchestrator.Context) error {
		if len(w.attempts) > 0 {
			d.Fire(c, moveRetry)
		}
		return nil
	}
	err := w.work(c)
	w.warnAbout(c)
	if w.graded {
		d.report.HeadAttempts = append(d.report.HeadAttempts, w.attempts...)
	}
	return w.attempts, err
}

func (d *department) assess(raw float64) {
	d.report.RawQuality, d.report.QualityScore = grading.Round6(raw), grading.Round(raw)
	d.report.PassedGate = grading.Passes(d.report.RawQuality, d.report.Gate)
}

func (d *department) quality(c *orchestrator.Context) (float64, error) {
	marks := grading.Marks{}
	for _, s := range d.report.Specialists {
		marks = append(marks, grading.Mark{Name: s.AgentID, Value: s.Score, Passed: s.passed(d.run.cfg.Policy.StrictReview), Ungraded: s.Ungraded != ""})
	}
	return team.Figure(d.desk, c, d.ID, "Rules.Scores.Staff", 100, func() (float64, error) { return d.run.cfg.Rules.Scores.Staff.Score(marks) })
}
