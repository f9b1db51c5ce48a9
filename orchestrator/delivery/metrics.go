package delivery

// Metrics are the figures of a run.
type Metrics struct {
	TotalSteps          int `json:"totalSteps"`          // number of steps of all approved plans
	CompletedSteps      int `json:"completedSteps"`      // number of those that were completed
	FailedSteps         int `json:"failedSteps"`         // number of those that failed
	BlockedSteps        int `json:"blockedSteps"`        // number of those skipped because a step before them failed
	ReplanCount         int `json:"replanCount"`         // number of plans asked for after the first
	FixCycles           int `json:"fixCycles"`           // number of fixes
	VerificationsPassed int `json:"verificationsPassed"` // number of verdicts that passed
	VerificationsFailed int `json:"verificationsFailed"` // number of verdicts that rejected, those without a model included
}

// countSteps counts the steps of the approved plans among plans.
func (m *Metrics) countSteps(plans []Plan) {
	m.TotalSteps, m.CompletedSteps, m.FailedSteps, m.BlockedSteps = 0, 0, 0, 0
	for _, p := range plans {
		if !p.Approved {
			continue
		}
		m.TotalSteps += len(p.Steps)
		for _, s := range p.Steps {
			switch s.Status {
			case StepCompleted:
				m.CompletedSteps++
			case StepFailed:
				m.FailedSteps++
			case StepBlocked:
				if s.skipped() {
					m.BlockedSteps++
				}
			case stepPending, stepInProgress: // not finished yet
			}
		}
	}
}
