package hierarchy

import (
	"errors"
	"strings"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/internal/prompt"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/routing"
)

// department is one department of a run.
type department struct {
	Department

	run    *run
	actor  *actor[DepartmentPhase]
	state  *DepartmentState
	report Report
	stage  string // what it is at, for errors
}

// work takes a department from its brief to its report. needs are the reports of
// its dependencies. Its context has a budget of its own, which counts what it uses.
func (d *department) work(c *orchestrator.Context, needs []Report) {
	begun := c.Elapsed()
	d.actor.fire("ready")
	d.actor.emit(c, "department.started", Event{})
	err := d.produce(c, needs)
	d.report.Metadata.TotalExecutionTime = millis(c.Elapsed() - begun)
	d.report.Usage = c.Spent()
	switch {
	case err == nil:
		d.actor.fire("scored")
		d.state.QualityScore = &d.report.QualityScore
		d.finish(c, "department.finished", "")
	case d.run.canceled:
		if !d.actor.is(Failed) { // the head had failed before the cancel came
			d.actor.fire("cancel")
		}
		d.fail(c, err)
	default:
		if d.actor.is(analyzing) {
			d.actor.fire("error")
		}
		d.fail(c, err)
	}
}

func (d *department) fail(c *orchestrator.Context, err error) {
	message := prompt.OneLine(err.Error())
	d.run.errors = append(d.run.errors, DepartmentError{d.ID, d.stage, message})
	d.finish(c, "department.failed", message)
}

// finish writes the last record of a department.
func (d *department) finish(c *orchestrator.Context, kind, message string) {
	d.report.Status = d.actor.machine.Current()
	e := Event{Status: string(d.report.Status), Message: message}
	if d.report.Status == Done {
		e.Score = &d.report.RawQuality
	}
	d.actor.emit(c, kind, e)
}

// produce makes output and scores of the report: the head decides who works (H24,
// H30-H32), and answers directly or makes one result of what its specialists did.
func (d *department) produce(c *orchestrator.Context, needs []Report) error {
	brief, analysis, err := d.analyze(c, needs)
	if err != nil {
		return err
	}
	var chosen []Agent
	if d.wantsSpecialists(analysis) {
		if chosen, err = d.choose(brief, analysis); err != nil {
			return err
		}
		if len(chosen) == 0 {
			d.flag(flagNoSpecialists)
		}
	}
	if len(chosen) == 0 {
		d.actor.fire("direct")
		return d.direct(c, brief, HeadOnly)
	}
	d.actor.fire("spawn")
	d.actor.emit(c, "specialists.selected", Event{Agents: agentIDs(chosen)})
	d.stage = "specialists"
	results := d.specialists(c, brief, chosen)
	d.actor.fire("all_finished")
	passing := d.review(c, results)
	switch {
	case d.run.canceled:
		return errCanceled
	case len(passing) > 0:
		d.actor.fire("some_pass")
		return d.synthesize(c, brief, passing)
	}
	d.actor.fire("none_pass")
	d.flag(flagAllFailed)
	quality, _ := d.quality()
	d.report.SpecialistQuality = &quality
	return d.direct(c, brief, HeadAfterFailure)
}

// analyze returns the brief and what it asks for. The results of dependencies are
// part of the brief and not of what is judged: material makes no request more
// complex.
func (d *department) analyze(c *orchestrator.Context, needs []Report) (string, routing.Analysis, error) {
	begun := c.Elapsed()
	brief, err := d.request(c, needs)
	if err != nil {
		return "", routing.Analysis{}, err
	}
	d.stage = "analysis"
	analysis, err := guard("analysis", func() (routing.Analysis, error) { return d.judge(brief), nil })
	if err == nil && len(needs) > 0 {
		brief, err = d.run.prompts.Fill("brief.tmpl", briefPrompt{brief, needs})
	}
	if err != nil {
		return "", analysis, err
	}
	d.report.Metadata.AnalysisTime = millis(c.Elapsed() - begun)
	d.actor.emit(c, "department.analyzed", Event{Analysis: &analysis})
	return brief, analysis, nil
}

// request is what the master sends to the department (HC9).
func (d *department) request(c *orchestrator.Context, needs []Report) (string, error) {
	d.stage = "brief"
	hook := d.run.cfg.Hooks.Brief
	if hook == nil {
		return d.run.in.Prompt, nil
	}
	request, err := guard("brief", func() (string, error) { return hook(c, d.run.in, d.Department, needs) })
	if err != nil {
		d.run.stops(c, err)
		return "", err
	}
	if strings.TrimSpace(request) == "" {
		return "", errors.New("brief: it is blank")
	}
	return request, nil
}

func (d *department) judge(request string) routing.Analysis {
	if hook := d.run.cfg.Hooks.Analyze; hook != nil {
		return hook(request, d.Department)
	}
	rules := d.run.cfg.Rules
	rules.Skills = d.skills()
	return routing.Analyze(request, rules)
}

func (d *department) wantsSpecialists(a routing.Analysis) bool {
	if requires := d.run.in.RequiresSpecialists; requires != nil {
		return *requires
	}
	return a.Complexity != routing.Simple
}

// assess gives the report its quality (H69, HC11, HC34).
func (d *department) assess(raw float64) {
	d.report.RawQuality, d.report.QualityScore = grading.Round6(raw), grading.Round(raw)
	d.report.PassedGate = grading.Passes(d.report.RawQuality, d.report.Gate)
}

// quality is what the specialists' work is worth (H67-H69).
func (d *department) quality() (float64, int) {
	var scored []grading.Scored
	for _, s := range d.report.Specialists {
		scored = append(scored, grading.Scored{Score: s.Score, Passed: s.passed(d.run.cfg.StrictReview)})
	}
	return grading.DepartmentQuality(scored)
}

func (d *department) flag(text string) { d.report.Flags = append(d.report.Flags, text) }
