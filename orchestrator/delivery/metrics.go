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

// countSteps counts the steps of all approved plans anew.
func (r *run) countSteps() {
	m, steps := &r.state.Metrics, r.state.steps()
	m.TotalSteps, m.CompletedSteps, m.FailedSteps, m.BlockedSteps = len(steps), count(steps, StepCompleted), count(steps, StepFailed), 0
	for _, s := range steps {
		if s.skipped() {
			m.BlockedSteps++
		}
	}
}
