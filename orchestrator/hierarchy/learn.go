package hierarchy

import (
	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator/team"
)

// Experience is what outcomes show about specialists, by agent ID.
type Experience struct {
	// History has the scores of their results, 0 to 100, oldest first: for
	// Input.History.
	History map[string][]float64 `json:"history"`

	// SuccessRates has the share, 0 to 100, of their results that were approved or
	// needed revision only: for Agent.SuccessRate. See Rate.
	SuccessRates map[string]float64 `json:"successRates"`
}

// Learn computes experience from outcomes, given from the oldest to the newest. Results
// without an attempt, a review or a grade do not count. A result without an output counts
// as no success and has no score; 75 and Policy.AssumeScore do not count as scores.
func Learn(outcomes ...Outcome) Experience {
	e := Experience{History: map[string][]float64{}, SuccessRates: map[string]float64{}}
	successes, all := map[string]int{}, map[string]int{}
	for _, out := range outcomes {
		for _, report := range out.Reports {
			for _, s := range report.Specialists {
				if len(s.Attempts) == 0 || s.ReviewStatus == "" || s.Ungraded+s.Assumed != "" || s.ScoreDefaulted {
					continue
				}
				if all[s.AgentID]++; s.passed(false) {
					successes[s.AgentID]++
				}
				if s.Output != nil {
					e.History[s.AgentID] = append(e.History[s.AgentID], s.Score)
				}
			}
		}
	}
	for id, n := range all {
		e.SuccessRates[id] = grading.Round6(100 * float64(successes[id]) / float64(n))
	}
	return e
}

// Rate returns a copy of departments whose agents have the success rates of e; agents
// without one in e keep theirs.
func (e Experience) Rate(departments []Department) []Department {
	departments = team.Clone(departments)
	for _, d := range departments {
		for i, a := range d.Agents {
			if rate, ok := e.SuccessRates[a.ID]; ok {
				d.Agents[i].SuccessRate = &rate
			}
		}
	}
	return departments
}
