package hierarchy

import (
	"cmp"
	"fmt"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/internal/prompt"
	"github.com/convene-go/convene/orchestrator"
)

// specialist is one chosen specialist of a department.
type specialist struct {
	dept  *department
	agent Agent
	state *SpecialistState
	actor[SpecialistPhase]
}

// specialists lets the chosen agents work on the brief, side by side or, in a serial
// department, one after the other, and returns their results in the order of
// selection. They see the brief alone, never each other.
func (d *department) specialists(c *orchestrator.Context, brief string, chosen []Agent) []SpecialistResult {
	d.state.Specialists = make([]SpecialistState, len(chosen))
	team := make([]*specialist, len(chosen))
	for i, a := range chosen {
		s := &d.state.Specialists[i]
		s.AgentID = a.ID
		team[i] = &specialist{d, a, s, newActor(d.path+"/spec/"+a.ID, SpecialistPhases, &s.Phase)}
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
			team[i].Fire("stop")
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
// which counts what it uses.
func (s *specialist) work(c *orchestrator.Context, brief string) SpecialistResult {
	a := s.agent
	w := assignment{
		run: s.dept.run, department: s.dept.Department, agent: a, brief: brief, prompt: brief, retries: a.MaxRetries, graded: true,
		moved: s.moved, emit: s.told, attempts: []Attempt{},
	}
	stopped := w.work(c)
	result := SpecialistResult{
		AgentID: a.ID, AgentName: a.Name, Specialization: a.Specialization, Threshold: w.gate, Attempts: w.attempts, Usage: c.Spent(),
	}
	result.settle(stopped)
	streamed := result
	streamed.Attempts = nil // they were records already
	s.emit(c, EventSpecialistFinished, Event{Status: string(s.Phase()), Result: &streamed})
	return result
}

func (s *specialist) moved(event string) {
	s.Fire(event)
	if event == "start" {
		s.state.Attempts++
	}
}

func (s *specialist) told(c *orchestrator.Context, kind string, e Event) {
	s.state.Score = cmp.Or(e.Score, s.state.Score)
	s.emit(c, kind, e)
}

// settle fills in what the attempts come to; stopped is why there were no more.
func (s *SpecialistResult) settle(stopped error) {
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

// review gives every result its verdict, by the specialist's own threshold and the
// score it has already, and returns those that go into the synthesis.
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

// review says what a result is worth. One without an output never passes.
func (s *SpecialistResult) review() {
	note := ""
	switch {
	case s.Output == nil:
		s.ReviewStatus = grading.Rejected
		s.ReviewNotes = cmp.Or(s.ReviewNotes, "no output")
		return
	case s.Ungraded != "" && s.Threshold == 0:
		s.ReviewStatus, note = grading.Approved, s.approval()+"; not graded: "+s.Ungraded
	case s.Ungraded != "":
		s.ReviewStatus, note = grading.Rejected, "not graded: "+s.Ungraded
	default:
		s.ReviewStatus = grading.Review(s.Score, s.Threshold)
		switch s.ReviewStatus {
		case grading.Rejected:
			note = fmt.Sprintf("score %s is below the threshold of %s", number(s.Score), number(s.Threshold))
		case grading.RevisionNeeded:
			note = fmt.Sprintf("score %s is acceptable but could be improved", number(s.Score))
		case grading.Approved:
			note = s.approval()
		}
	}
	if s.ReviewNotes != "" { // why it was stopped
		note += "; " + s.ReviewNotes
	}
	s.ReviewNotes = note
}

// approval is the note of an approved result.
func (s *SpecialistResult) approval() string {
	retries := len(s.Attempts) - 1
	after := fmt.Sprintf("after %d retries", retries)
	if retries == 1 {
		after = "after 1 retry"
	}
	switch {
	case s.Threshold == 0 && retries > 0:
		return "auto-approved " + after + ", no threshold is set"
	case s.Threshold == 0:
		return "auto-approved, no threshold is set"
	case retries > 0:
		return "approved " + after
	default:
		return "approved by head"
	}
}

// passed reports whether the result goes into synthesis and approval rate.
func (s *SpecialistResult) passed(strict bool) bool {
	return s.ReviewStatus == grading.Approved || s.ReviewStatus == grading.RevisionNeeded && !strict
}
