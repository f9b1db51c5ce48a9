package hierarchy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// specialist is one chosen specialist of a department.
type specialist struct {
	dept    *department
	desk    *team.Run // with the warnings of the specialist
	agent   Agent
	state   *SpecialistState
	stopped error // why there were no more tries; nil: its verdict says it
	*team.Machine[SpecialistPhase, Move]
}

// specialists runs the chosen agents on the brief, in parallel or, in a serial
// department, one after the other, and returns their results in the order of selection.
// They get only the brief, no other results. The error is what a rule did to one of them, or
// else that one was refused.
func (d *department) specialists(c *orchestrator.Context, brief string, chosen []Agent) (results []SpecialistResult, broken error) {
	d.state.Specialists = make([]SpecialistState, len(chosen))
	staff := make([]*specialist, len(chosen))
	for i, a := range chosen {
		s := &specialist{dept: d, desk: d.desk.Part(), agent: a, state: &d.state.Specialists[i]}
		s.state.AgentID = a.ID
		s.Machine = team.NewMachine(s.desk, "dept/"+d.ID+"/spec/"+a.ID, specialistPhases, &s.state.Phase)
		staff[i] = s
	}
	limit := d.run.cfg.Bounds.ParallelSpecialists
	if d.Serial {
		limit = 1
	}
	for i, done := range orchestrator.Map(c, staff, limit, func(c *orchestrator.Context, s *specialist) (SpecialistResult, error) {
		return s.work(c.WithBudget(orchestrator.Budget{}), brief), nil
	}) {
		if done.Err != nil { // the run was canceled before it began
			staff[i].Fire(c, moveStop)
			continue
		}
		results = append(results, done.Value)
		d.desk.Outcome.Warnings = append(d.desk.Outcome.Warnings, staff[i].desk.Outcome.Warnings...)
		switch code := codeOf(staff[i].stopped); {
		case code == ErrRule && codeOf(broken) != ErrRule, code != "" && broken == nil:
			broken = staff[i].stopped
		}
	}
	return results, broken
}

// work makes the attempts of one specialist. Its context has a budget of its own,
// which counts its usage.
func (s *specialist) work(c *orchestrator.Context, brief string) SpecialistResult {
	a := s.agent
	w := assignment{
		run: s.dept.run, desk: s.desk, department: s.dept.Department, agent: a, role: "specialist", brief: brief, prompt: brief, most: a.Attempts, graded: true,
		start: func(c *orchestrator.Context) error { return s.Go(c, moveStart) },
		moved: func(c *orchestrator.Context, m Move) { s.Fire(c, m) }, emit: s.told, attempts: []Attempt{},
	}
	s.stopped = w.work(c)
	result := SpecialistResult{
		AgentID: a.ID, AgentName: a.Name, Specialization: a.Specialization, Threshold: w.gate, Attempts: w.attempts, Usage: c.Spent(),
	}
	result.finish(s.stopped)
	withoutAttempts := result
	withoutAttempts.Attempts = nil // they are in records already
	s.Emit(c, EventSpecialistFinished, &Event{Event: team.Event{Status: orchestrator.Status(s.Phase())}, Result: &withoutAttempts})
	warnAbout(s.desk, c, a.ID, w.attempts)
	if len(w.attempts) == 0 && codeOf(s.stopped) == "" && c.Err() == nil {
		s.desk.Warn(c, WarnAgentFailed, a.ID, "%s", result.ReviewNotes)
	}
	return result
}

// told also updates the shown attempt.
func (s *specialist) told(c *orchestrator.Context, kind team.Kind, e *Event) {
	s.state.Attempts, s.state.Score = *e.Attempt+1, cmp.Or(e.Score, s.state.Score)
	s.Emit(c, kind, e)
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
// score, and returns the results for the synthesis. The error is that of the gate.
func (d *department) review(c *orchestrator.Context, results []SpecialistResult) (through []SpecialistResult, err error) {
	var reviews []grading.ReviewStatus
	var ids []string
	for i := range results {
		s := &results[i]
		err = cmp.Or(err, d.verdict(c, s))
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
	d.Emit(c, EventDepartmentReviewed, &Event{Agents: ids, Reviews: reviews})
	return through, err
}

// verdict sets the review of a result. One without an output never passes, and one without
// a score only where no gate is set.
func (d *department) verdict(c *orchestrator.Context, s *SpecialistResult) (err error) {
	s.ReviewStatus = grading.Rejected
	switch {
	case s.Output == nil:
		s.ReviewNotes = cmp.Or(s.ReviewNotes, "no output")
		return nil
	case s.Ungraded == "":
		s.ReviewStatus, err = d.reviewed(c, *s)
	case s.Threshold == 0:
		s.ReviewStatus = grading.Approved
	}
	s.ReviewNotes = s.notes()
	return err
}

// reviewed asks the gate about a result that has a score.
func (d *department) reviewed(c *orchestrator.Context, s SpecialistResult) (grading.ReviewStatus, error) {
	i := slices.IndexFunc(d.Agents, func(a Agent) bool { return a.ID == s.AgentID })
	n := best(s.Attempts).Number
	status, err := team.Decide(d.desk, c, s.AgentID, "Rules.Gates.Review", d.run.cfg.Rules.Gates.Review, grading.Standing{
		Of: subject(d.Agents[i], d.Department), Score: s.Score, Threshold: s.Threshold, Before: scores(s.Attempts[:n]), Try: n + 1, Most: d.Agents[i].Attempts,
	}, grading.Approved, grading.RevisionNeeded, grading.Rejected)
	if err != nil {
		status = grading.Rejected
	}
	return status, err
}

// notes explains the verdict of a result that has an output.
func (s *SpecialistResult) notes() string {
	var notes []string
	switch s.ReviewStatus {
	case grading.Approved:
		notes = append(notes, s.approval())
	case grading.RevisionNeeded:
		notes = append(notes, fmt.Sprintf("score %s is acceptable but could be improved", number(s.Score)))
	case grading.Rejected:
		switch {
		case s.Ungraded != "":
		case grading.Passes(s.Score, s.Threshold):
			notes = append(notes, fmt.Sprintf("the review rejected score %s", number(s.Score)))
		default:
			notes = append(notes, fmt.Sprintf("score %s is below the threshold of %s", number(s.Score), number(s.Threshold)))
		}
	}
	if s.Ungraded != "" {
		notes = append(notes, "not graded: "+s.Ungraded)
	}
	if s.ReviewNotes != "" { // why it was stopped
		notes = append(notes, s.ReviewNotes)
	}
	return strings.Join(notes, "; ")
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
