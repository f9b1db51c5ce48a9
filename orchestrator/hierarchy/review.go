package hierarchy

import (
	"fmt"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
)

// review gives every result its verdict, by the specialist's own threshold and the
// score it has already (H55, HC4, HC5), and returns those that go into the synthesis
// (H62, HC1).
func (d *department) review(c *orchestrator.Context, results []SpecialistResult) []SpecialistResult {
	var through []SpecialistResult
	var reviews []grading.ReviewStatus
	for i := range results {
		s := &results[i]
		s.review()
		reviews = append(reviews, s.ReviewStatus)
		if s.passed(d.run.cfg.StrictReview) {
			through = append(through, *s)
		}
	}
	meta := &d.report.Metadata
	meta.SpecialistsUsed = len(results)
	meta.SuccessfulSpecialists = len(through)
	meta.FailedSpecialists = len(results) - len(through)
	d.report.Specialists = results
	d.actor.emit(c, "department.reviewed", Event{Agents: idsOf(results), Reviews: reviews})
	return through
}

// review says what a result is worth (H57-H61). One without an output never
// passes (HC41).
func (s *SpecialistResult) review() {
	if s.Output == nil {
		s.ReviewStatus = grading.Rejected
		if s.ReviewNotes == "" {
			s.ReviewNotes = "no output"
		}
		return
	}
	s.ReviewStatus = grading.Review(s.Score, s.Threshold)
	note := ""
	switch s.ReviewStatus {
	case grading.Rejected:
		note = fmt.Sprintf("score %s is below the threshold of %s", number(s.Score), number(s.Threshold))
	case grading.RevisionNeeded:
		note = fmt.Sprintf("score %s is acceptable but could be improved", number(s.Score))
	case grading.Approved:
		note = s.approval()
	}
	if s.ReviewNotes != "" { // why it was stopped
		note += "; " + s.ReviewNotes
	}
	s.ReviewNotes = note
}

// approval is the note of an approved result (H57, H61, HC26).
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

func idsOf(results []SpecialistResult) []string {
	ids := make([]string, len(results))
	for i, s := range results {
		ids[i] = s.AgentID
	}
	return ids
}
