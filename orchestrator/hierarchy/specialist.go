package hierarchy

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// specialist is one chosen specialist of a department.
type specialist struct {
	dept  *department
	agent Agent
	state *SpecialistState
	*tracker[SpecialistPhase]
}

// specialists runs the chosen agents on the brief, in parallel or, in a serial
// department, one after the other, and returns their results in the order of selection.
// They get only the brief, no other results.
func (d *department) specialists(c *orchestrator.Context, brief string, chosen []Agent) []SpecialistResult {
	d.state.Specialists = make([]SpecialistState, len(chosen))
	team := make([]*specialist, len(chosen))
	for i, a := range chosen {
		s := &d.state.Specialists[i]
		s.AgentID = a.ID
		team[i] = &specialist{d, a, s, newTracker(d.path+"/spec/"+a.ID, specialistPhases, &s.Phase)}
	}
	limit := d.run.cfg.Limits.ParallelSpecialists
	if d.Serial {
		limit = 1
	}
	var results []SpecialistResult
	for i, done := range orchestrator.Map(c, team, limit, func(c *orchestrator.Context, s *specialist) (SpecialistResult, error) {
		return s.work(c.WithBudget(orchestrator.Budget{}), brief), nil
	}) {
		if done.Err != nil { // the run was canceled before it began
			team[i].Fire(moveStop)
			continue
		}
		results = append(results, done.Value)
		d.warnings = append(d.warnings, warnings(done.Value.AgentID, done.Value.Attempts)...)
		if len(done.Value.Attempts) == 0 && c.Err() == nil {
			d.warnings = append(d.warnings, warning(WarnAgentFailed, done.Value.AgentID, done.Value.ReviewNotes))
		}
	}
	return results
}

// work makes the attempts of one specialist. Its context has a budget of its own,
// which counts its usage.
func (s *specialist) work(c *orchestrator.Context, brief string) SpecialistResult {
	a := s.agent
	w := assignment{
		run: s.dept.run, department: s.dept.Department, agent: a, brief: brief, prompt: brief, retries: a.MaxRetries, graded: true,
		moved: func(m Move) { s.Fire(m) }, emit: s.told, attempts: []Attempt{},
	}
	stopped := w.work(c)
	result := SpecialistResult{
		AgentID: a.ID, AgentName: a.Name, Specialization: a.Specialization, Threshold: w.gate, Attempts: w.attempts, Usage: c.Spent(),
	}
	result.finish(stopped)
	withoutAttempts := result
	withoutAttempts.Attempts = nil // they are in records already
	s.emit(c, EventSpecialistFinished, Event{Status: string(s.Phase()), Result: &withoutAttempts})
	return result
}

// told also updates the shown attempt.
func (s *specialist) told(c *orchestrator.Context, kind string, e Event) {
	s.state.Attempts, s.state.Score = *e.Attempt+1, cmp.Or(e.Score, s.state.Score)
	s.emit(c, kind, e)
}

// finish sets the result from the attempts; stopped is why there were no more.
func (s *SpecialistResult) finish(stopped error) {
	for _, a := range s.Attempts {
		s.ExecutionTime += a.Duration
	}
	if len(s.Attempts) > 0 {
		b := best(s.Attempts)
		s.Output, s.Score, s.ScoreDefaulted, s.Ungraded, s.Assumed = b.Output, b.Score, b.ScoreDefaulted, b.Ungraded, b.Assumed
		if b.Output == nil {
			s.ReviewNotes = "no output: " + s.Attempts[len(s.Attempts)-1].Error
		}
	}
	if stopped != nil {
		s.ReviewNotes = "stopped: " + prompt.OneLine(stopped.Error())
	}
}

// review sets the verdict of every result, by the specialist's own threshold and its
// score, and returns the results for the synthesis.
func (d *department) review(c *orchestrator.Context, results []SpecialistResult) []SpecialistResult {
	var through []SpecialistResult
	var reviews []grading.ReviewStatus
	var ids []string
	for i := range results {
		s := &results[i]
		s.review()
		reviews, ids = append(reviews, s.ReviewStatus), append(ids, s.AgentID)
		if s.passed(d.run.cfg.Policy.StrictReview) {
			through = append(through, *s)
		}
	}
	meta := &d.report.Metadata
	meta.SpecialistsUsed = len(results)
	meta.SuccessfulSpecialists = len(through)
	meta.FailedSpecialists = len(results) - len(through)
	d.report.Specialists = results
	d.emit(c, EventDepartmentReviewed, Event{Agents: ids, Reviews: reviews})
	return through
}

// review sets the verdict of a result. One without an output never passes.
func (s *SpecialistResult) review() {
	if s.Output == nil {
		s.ReviewStatus, s.ReviewNotes = grading.Rejected, cmp.Or(s.ReviewNotes, "no output")
		return
	}
	s.ReviewStatus = grading.Review(s.Score, s.Threshold) // without a grade the score is 0
	var notes []string
	switch s.ReviewStatus {
	case grading.Approved:
		notes = append(notes, s.approval())
	case grading.RevisionNeeded:
		notes = append(notes, fmt.Sprintf("score %s is acceptable but could be improved", number(s.Score)))
	case grading.Rejected:
		if s.Ungraded == "" {
			notes = append(notes, fmt.Sprintf("score %s is below the threshold of %s", number(s.Score), number(s.Threshold)))
		}
	}
	if s.Ungraded != "" {
		notes = append(notes, "not graded: "+s.Ungraded)
	}
	if s.ReviewNotes != "" { // why it was stopped
		notes = append(notes, s.ReviewNotes)
	}
	s.ReviewNotes = strings.Join(notes, "; ")
}

// approval is the note of an approved result.
func (s *SpecialistResult) approval() string {
	how := ""
	switch retries := len(s.Attempts) - 1; {
	case retries == 1:
		how = " after 1 retry"
	case retries > 1:
		how = fmt.Sprintf(" after %d retries", retries)
	case s.Threshold > 0:
		how = " by head"
	}
	if s.Threshold == 0 {
		return "auto-approved" + how + ", no threshold is set"
	}
	return "approved" + how
}

// passed reports whether the result counts for synthesis and approval rate.
func (s *SpecialistResult) passed(strict bool) bool {
	return s.ReviewStatus == grading.Approved || s.ReviewStatus == grading.RevisionNeeded && !strict
}
