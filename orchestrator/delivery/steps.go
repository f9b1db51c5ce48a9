package delivery

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/convene-go/convene/orchestrator"
)

// stepBudget is why a step whose time is up fails.
const stepBudget = "step budget"

// moveStep fires an event of a step.
func moveStep(s *Step, on Move) { shift("step "+s.ID, stepPhases, &s.Status, on) }

// execute executes a plan. For a sub-plan the text says why it failed; a root plan
// continues after failed steps. errLate: its time is up, and steps are left.
func (r *run) execute(c *orchestrator.Context, id string, until time.Duration) (string, error) {
	r.state.PlanStack = append(r.state.PlanStack, id)
	r.state.CurrentPlan = id
	steps := r.state.plan(id).Steps
	positions, _ := order(steps) // the gate found no circle
	failed := 0
	for _, i := range positions {
		s := &steps[i]
		r.state.plan(id).CurrentStepIndex = i
		switch lost := lostNeed(steps, *s); {
		case s.Status != stepPending: // done by a previous run
		case lost > 0:
			r.skip(c, s, lost)
		default:
			if err := r.late(c, until); err != nil {
				if errors.Is(err, errLate) {
					c.Emit(EventBudgetExceeded, Event{Target: id, Text: "execution budget"})
				}
				return "", err
			}
			if err := r.step(c, s, share(c.Elapsed(), until, open(steps))); err != nil {
				return "", err
			}
		}
		if s.Status == StepCompleted {
			continue
		}
		if s.Depth > 0 {
			return fmt.Sprintf("step %d of its sub-plan: %s", s.Number, s.FailReason), nil
		}
		if s.Status == StepFailed {
			failed++
		}
		if failed >= r.Retry.FailedSteps {
			r.send(c, Header{Message: EscalationSent, From: conductor, To: Supervisor, Target: id}, Escalation{Issues: failed, Level: LevelRefocus})
			return "", nil
		}
	}
	return "", nil
}

// share is when the time of a step ends that begins now, with more steps after it.
func share(now, until time.Duration, steps int) time.Duration {
	if until == endless {
		return endless
	}
	return now + stepTime(until-now, steps)
}

// open counts the steps that are still pending.
func open(steps []Step) (n int) {
	for _, s := range steps {
		if s.Status == stepPending {
			n++
		}
	}
	return n
}

// lostNeed is the number of a step that s needs and that was not completed; 0: there is
// none.
func lostNeed(steps []Step, s Step) int {
	for _, needed := range steps {
		if needed.Status != StepCompleted && slices.Contains(s.DependsOn, needed.Number) {
			return needed.Number
		}
	}
	return 0
}

// skip blocks a step, because one that it needs was not completed.
func (r *run) skip(c *orchestrator.Context, s *Step, lost int) {
	moveStep(s, moveSkip)
	s.FailReason = fmt.Sprintf("it needs step %d, which was not completed", lost)
	r.fire(c, moveStepSkipped)
	r.blocked(c, s, s.FailReason)
	r.reasons = append(r.reasons, s.ID+": "+s.FailReason)
}

func (r *run) blocked(c *orchestrator.Context, s *Step, why string) {
	r.send(c, Header{Message: StepIsBlocked, From: Coder, To: conductor, Target: s.ID}, why)
	c.Emit(EventStepBlocked, Event{Target: s.ID, Text: why})
}

// result is the result of an attempt at a step.
type result int

const (
	accepted result = iota
	refused         // another attempt may succeed
	lost            // the step has failed
	stuck           // it needs a sub-plan
)

// work is the step that is being executed.
type work struct {
	*Step

	begun, end time.Duration // of its time
	base       string        // the workspace's state before it
	feedback   []string      // why earlier attempts were not accepted
}

// step executes a step: attempts, then a sub-plan. It ends completed or failed, unless the
// error ends more.
func (r *run) step(c *orchestrator.Context, s *Step, end time.Duration) error {
	moveStep(s, moveStart)
	w := &work{Step: s, begun: c.Elapsed(), end: end}
	if r.resumed[s.ID] {
		delete(r.resumed, s.ID)
		s.Attempts--
	}
	e := Event{Target: s.ID, Attempt: s.Attempts + 1, Percent: r.percent()}
	if end != endless {
		e.Left = end - w.begun
	}
	c.Emit(EventStepStarted, e)
	if why, err := r.keep(c, w); err != nil || why != "" {
		return r.lose(c, w, why, err)
	}
	for {
		s.Attempts++
		got, why, err := r.attempt(c, w)
		switch {
		case err != nil || got == lost:
			return r.lose(c, w, why, err)
		case got == accepted:
			return nil
		}
		w.feedback = append(w.feedback, why)
		if got == stuck || s.Attempts >= s.MaxAttempts {
			return r.descend(c, w)
		}
		if late := r.late(c, w.end); errors.Is(late, errLate) {
			return r.lose(c, w, "", late)
		}
		if why, err := r.restore(c, w.base); err != nil || why != "" {
			return r.lose(c, w, why, err)
		}
		moveStep(s, moveRetry)
		r.fire(c, moveStepRetried)
	}
}

// lose fails a step, unless err ends more. errLate: its time is up.
func (r *run) lose(c *orchestrator.Context, w *work, why string, err error) error {
	broken, ok := errors.AsType[brokenError](err)
	switch {
	case ok:
		why, err = string(broken), nil
	case errors.Is(err, errLate):
		why, err = stepBudget, nil
	}
	if err != nil {
		return err
	}
	if why == stepBudget {
		c.Emit(EventBudgetExceeded, Event{Target: w.ID, Text: stepBudget})
	}
	moveStep(w.Step, moveFail)
	w.FailReason = why
	r.reasons = append(r.reasons, w.ID+": "+why)
	r.fire(c, moveStepFailed)
	r.state.Metrics.countSteps(r.state.Plans)
	c.Emit(EventStepFailed, Event{Target: w.ID, Text: why, Percent: r.percent()})
	_, err = r.restore(c, w.base)
	return err
}

// complete completes a step that passed its gate, or could not be graded.
func (r *run) complete(c *orchestrator.Context, w *work, s standing) error {
	moveStep(w.Step, moveComplete)
	r.state.Metrics.countSteps(r.state.Plans)
	r.send(c, Header{Message: StepComplete, From: Supervisor, To: conductor, Target: w.ID}, nil)
	r.fire(c, s.kept(moveStepApproved, moveStepUnverified))
	c.Emit(EventStepCompleted, Event{Target: w.ID, Percent: r.percent()})
	return r.accept(c, w)
}

// attempt is one attempt at a step: code, tests with their fixes, and the step's gate.
func (r *run) attempt(c *orchestrator.Context, w *work) (result, string, error) {
	got, why, err := r.code(c, w)
	if err != nil || got != accepted {
		return got, why, err
	}
	if got, why, err = r.tests(c, w); err != nil || got != accepted {
		return got, why, err
	}
	return r.stepGate(c, w)
}

// stepGate lets the supervisor judge a step whose tests pass.
func (r *run) stepGate(c *orchestrator.Context, w *work) (result, string, error) {
	task := w.task()
	gate, err := r.verify(c, review{gate: GateStep, target: w.ID, judged: Coder, until: w.end, input: VerifyInput{Step: &task, Code: shownCode(w.Code), Tests: shownReport(w.Tests)}})
	w.Verification = gate.verdict
	if err != nil || gate.standing == rejected {
		return refused, gate.why, err
	}
	return accepted, "", r.complete(c, w, gate.standing)
}

// descend makes and executes a sub-plan for a blocked step, if it may have one; then it
// tests and judges the step.
func (r *run) descend(c *orchestrator.Context, w *work) error {
	why := w.feedback[len(w.feedback)-1]
	if w.Depth >= r.Limits.Depth {
		return r.lose(c, w, why, nil)
	}
	if err := r.late(c, w.end); err != nil {
		return r.lose(c, w, "", err)
	}
	if broken, err := r.restore(c, w.base); err != nil || broken != "" {
		return r.lose(c, w, broken, err)
	}
	moveStep(w.Step, moveDescend)
	r.blocked(c, w.Step, why)
	why, err := r.subPlan(c, w.Step, w.end, w.feedback)
	if err != nil || why != "" {
		return r.lose(c, w, why, err)
	}
	moveStep(w.Step, moveAscend)
	r.fire(c, moveSubPlanDone)
	w.Code = r.merged(w.SubSteps)
	tests, err := r.test(c, w, OpCheck)
	if err != nil || tests.standing == rejected {
		return r.lose(c, w, tests.why, err)
	}
	r.fire(c, tests.kept(moveTestsPassed, moveTestsUnverified))
	if got, why, err := r.stepGate(c, w); err != nil || got != accepted {
		return r.lose(c, w, why, err)
	}
	return nil
}

// merged is the code of several steps, in their order.
func (r *run) merged(ids []string) *CodeOutput {
	var all CodeOutput
	for _, p := range r.state.Plans {
		for _, s := range p.Steps {
			if slices.Contains(ids, s.ID) && s.Code != nil {
				summary := all.Summary
				all = all.fixed(*s.Code)
				if summary != "" {
					all.Summary = summary + "\n" + all.Summary
				}
			}
		}
	}
	return &all
}
