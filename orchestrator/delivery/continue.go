package delivery

import "slices"

// cut is why a step failed that was in progress in a sub-plan when the run before ended.
const cut = "cut: the run before ended while it was in progress"

// continues copies what a previous run has done. Completed steps stay, those of sub-plans too.
// A sub-plan that was in progress is over, and the step that it is for begins anew, on the
// code of its completed steps.
func (r *run) continues(from State) {
	s := &r.state
	s.Plans, s.Iteration, s.Metrics = slices.Clone(from.Plans), max(1, from.Iteration), from.Metrics
	s.Unverified, s.Snapshot, s.Unrestored = slices.Clone(from.Unverified), from.Snapshot, from.Snapshot != ""
	if planner := from.Agents[Planner]; planner != nil {
		r.plans = planner.Requests
	}
	r.plans = max(r.plans, len(s.Plans))
	root := s.root()
	for i := range s.Plans {
		s.Plans[i].Steps = slices.Clone(s.Plans[i].Steps)
	}
	for i := range slices.Backward(s.Plans) { // a sub-plan stands behind the plan that it is for
		p := &s.Plans[i]
		then := stepPending
		if root == nil || p.ID != root.ID {
			then = StepFailed
		}
		if then == StepFailed && (p.Status == stepInProgress || p.Status == stepPending) {
			p.Status = StepFailed
		}
		for j := range p.Steps {
			r.interrupted(&p.Steps[j], then)
		}
	}
}

// interrupted puts a step that the previous run did not finish into another state: it begins anew,
// or has failed. What is left of its code is that of completed steps, which the workspace gets
// again.
func (r *run) interrupted(s *Step, then StepStatus) {
	if s.Status != stepInProgress && (s.Status != StepBlocked || s.skipped()) {
		return
	}
	s.Code, s.Tests, s.Verification = r.state.kept(s.SubSteps), nil, nil
	s.Status = then
	if then == StepFailed {
		s.FailReason = cut
		return
	}
	r.resumed[s.ID] = s.Attempts > 0
}

// kept is the code of the sub-steps with those IDs that stays when a run is continued: that of
// completed steps, and of what is left of others. Nil: there is none.
func (s State) kept(ids []string) *CodeOutput {
	code := merged(s.steps(), func(step *Step) bool {
		return slices.Contains(ids, step.ID) && (step.Status == StepCompleted || step.FailReason == cut)
	})
	if len(code.Files)+len(code.Tests) == 0 {
		return nil
	}
	return code
}
