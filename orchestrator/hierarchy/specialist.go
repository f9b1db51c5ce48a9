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
)

type specialist struct {
	assignment
	*team.Machine[SpecialistPhase, Move]

	state   *SpecialistState
	stopped error // why there were no more tries; nil: its verdict says it
}

// specialists runs the chosen agents on the brief, in parallel or, in a serial department, one
// after the other, and returns their results in the order of selection. They get only the
// brief. The error is what a rule did to one of them, or else that one was refused.
func (d *department) specialists(c *orchestrator.Context, brief string, chosen []Agent) (results []SpecialistResult, broken error) {
	d.state.Specialists = make([]SpecialistState, len(chosen))
	staff := make([]*specialist, len(chosen))
	for i, a := range chosen {
		staff[i] = d.specialist(a, brief, &d.state.Specialists[i])
	}
	limit := d.run.cfg.Bounds.ParallelSpecialists
	if d.Serial {
		limit = 1
	}
	for i, done := range orchestrator.Map(c, staff, limit, func(c *orchestrator.Context, s *specialist) (SpecialistResult, error) {
		return s.result(c.WithBudget(orchestrator.Budget{})), nil
	}) {
		if done.Err != nil { // the run was canceled before it began
			staff[i].Fire(c, moveStop)
			continue
		}
		results = append(results, done.Value)
		d.desk.Outcome.Warnings = append(d.desk.Outcome.Warnings, staff[i].desk.Outcome.Warnings...)
		if err := staff[i].stopped; d.desk.IsHostError(err) && (broken == nil || errors.Is(err, ErrRule) && !errors.Is(broken, ErrRule)) {
			broken = err
		}
	}
	return results, broken
}

func (d *department) specialist(a Agent, brief string, state *SpecialistState) *specialist {
	s := &specialist{state: state, assignment: assignment{
		department: d, desk: d.desk.Part(), agent: a, role: "specialist", brief: brief, prompt: brief, most: a.Attempts, graded: true, attempts: []Attempt{},
	}}
	s.state.AgentID = a.ID
	s.Machine = team.NewMachine(s.desk, "dept/"+d.ID+"/spec/"+a.ID, specialistPhases, &s.state.Phase)
	s.start = func(c *orchestrator.Context) error { return s.Go(c, moveStart) }
	s.moved = func(c *orchestrator.Context, m Move) { s.Fire(c, m) }
	s.emit = func(c *orchestrator.Context, kind team.Kind, e *Event) {
		s.state.Attempts, s.state.Score = *e.Attempt+1, cmp.Or(e.Score, s.state.Score)
		s.Emit(c, kind, e)
	}
	return s
}

// result makes the attempts of a specialist. Its context has a budget of its own, which
// counts its usage.
func (s *specialist) result(c *orchestrator.Context) SpecialistResult {
	s.stopped = s.work(c)
	r := SpecialistResult{
		AgentID: s.agent.ID, AgentName: s.agent.Name, Specialization: s.agent.Specialization, Threshold: s.gate, Usage: c.Spent(),
	}
	for _, a := range s.attempts {
		r.ExecutionTime += a.Duration
	}
	if len(s.attempts) > 0 {
		b := best(s.attempts)
		r.Output, r.Score, r.ScoreDefaulted, r.Ungraded, r.Assumed = b.Output, b.Score, b.ScoreDefaulted, b.Ungraded, b.Assumed
		if b.Output == nil {
			r.ReviewNotes = "no output: " + s.attempts[len(s.attempts)-1].Error
		}
	}
	if s.stopped != nil {
		r.ReviewNotes = "stopped: " + prompt.OneLine(s.stopped.Error())
	}
	told := r // its attempts are in records already
	s.Emit(c, EventSpecialistFinished, &Event{Event: team.Event{Status: orchestrator.Status(s.Phase())}, Result: &told})
	s.warnAbout(c)
	if len(s.attempts) == 0 && !s.desk.IsHostError(s.stopped) && c.Err() == nil {
		s.desk.Warn(c, s.desk.Code("agent-failed"), r.AgentID, "%s", r.ReviewNotes)
	}
	r.Attempts = s.attempts
	return r
}

// review sets the verdict of every result, by the specialist's own threshold and its
// score, and returns the results for the synthesis. The error is that of the gate.
func (d *department) review(c *orchestrator.Context, results []SpecialistResult) (through []SpecialistResult, err error) {
	reviewed := &Event{}
	for i := range results {
		s := &results[i]
		err = cmp.Or(err, d.verdict(c, s))
		reviewed.Reviews, reviewed.Agents = append(reviewed.Reviews, s.ReviewStatus), append(reviewed.Agents, s.AgentID)
		if s.passed(d.run.cfg.Policy.StrictReview) {
			through = append(through, *s)
		}
	}
	meta := &d.report.Metadata
	meta.SpecialistsUsed, meta.SuccessfulSpecialists, meta.FailedSpecialists = len(results), len(through), len(results)-len(through)
	d.report.Specialists = results
	d.Emit(c, EventDepartmentReviewed, reviewed)
	return through, err
}

// verdict sets the review of a result. One without an output never passes, and one without
// a score only where no gate is set. The error is that of the gate.
func (d *department) verdict(c *orchestrator.Context, s *SpecialistResult) (err error) {
	s.ReviewStatus = grading.Rejected
	switch {
	case s.Output == nil:
		s.ReviewNotes = cmp.Or(s.ReviewNotes, "no output")
		return nil
	case s.Ungraded != "" && s.Threshold == 0:
		s.ReviewStatus = grading.Approved
	case s.Ungraded == "":
		a := d.Agents[slices.IndexFunc(d.Agents, func(a Agent) bool { return a.ID == s.AgentID })]
		n := best(s.Attempts).Number
		status, failed := team.Decide(d.desk, c, a.ID, "Rules.Gates.Review", d.run.cfg.Rules.Gates.Review, grading.Standing{
			Of: subject(a, d.Department), Score: s.Score, Threshold: s.Threshold, Before: scores(s.Attempts[:n]), Try: n + 1, Most: a.Attempts,
		}, grading.Approved, grading.RevisionNeeded, grading.Rejected)
		if err = failed; err == nil {
			s.ReviewStatus = status
		}
	}
	s.ReviewNotes = s.notes()
	return err
}

// notes explains the verdict of a result that has an output.
func (s *SpecialistResult) notes() string {
	verdict, ungraded := "", ""
	switch {
	case s.ReviewStatus == grading.Approved:
		verdict = s.approval()
	case s.ReviewStatus == grading.RevisionNeeded:
		verdict = fmt.Sprintf("score %s is acceptable but could be improved", number(s.Score))
	case s.Ungraded != "":
	case grading.Passes(s.Score, s.Threshold):
		verdict = fmt.Sprintf("the review rejected score %s", number(s.Score))
	default:
		verdict = fmt.Sprintf("score %s is below the threshold of %s", number(s.Score), number(s.Threshold))
	}
	if s.Ungraded != "" {
		ungraded = "not graded: " + s.Ungraded
	}
	return strings.Join(slices.DeleteFunc([]string{verdict, ungraded, s.ReviewNotes}, text.IsBlank), "; ")
}

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
