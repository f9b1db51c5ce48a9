package delivery

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

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
	fix        time.Duration // for all fixes of an attempt
	base       string        // the workspace's state before it
	feedback   []string      // why earlier attempts were not accepted
	next       orchestrator.Again
	ruling     ruling // the last one of the attempt
}

// step executes a step: attempts, then a sub-plan. It ends completed or failed, unless the
// error ends more. The step shares the time until then with the open ones.
func (r *run) step(c *orchestrator.Context, s *Step, until time.Duration, open int) error {
	w := &work{Step: s, begun: c.Elapsed()}
	if err := r.part(r.stepMachine(s).Allow(c, moveStart)); err != nil {
		return r.lose(c, w, "", err)
	}
	r.moveStep(s, moveStart)
	shares, err := r.allocate(c, s.ID, Timing{Total: r.limit - r.began, Execution: until - w.begun, Steps: open})
	if err != nil {
		return r.lose(c, w, "", err)
	}
	w.end, w.fix = after(w.begun, shares.Step), shares.Fix
	if r.resumed[s.ID] {
		delete(r.resumed, s.ID)
		s.Attempts--
	}
	e := Event{Event: team.Event{Try: s.Attempts + 1}, Header: Header{Target: s.ID}, Percent: r.percent()}
	if w.end != endless {
		e.Left = shares.Step
	}
	r.emit(c, EventStepStarted, e)
	if why, err := r.keep(c, w); err != nil || why != "" {
		return r.lose(c, w, why, err)
	}
	return r.attempts(c, w)
}

// attempts makes attempts at a step until one is accepted, or the Retrier says no.
func (r *run) attempts(c *orchestrator.Context, w *work) error {
	of, tries := orchestrator.Working{Role: roleStep, ID: w.ID, Group: r.state.CurrentPlan}, make([]orchestrator.Try, w.Attempts)
	for {
		w.Attempts++
		w.ruling = ruling{}
		got, why, err := r.attempt(c, w)
		switch {
		case err != nil || got == lost:
			return r.lose(c, w, why, err)
		case got == accepted:
			return nil
		}
		w.feedback, w.ruling.why = append(w.feedback, why), why
		tries = append(tries, w.ruling.try(cmp.Or(w.next.Agent, r.agent(Coder))))
		if got == stuck {
			return r.descend(c, w)
		}
		if w.next, err = r.again(c, of, tries); err != nil {
			return r.lose(c, w, "", err)
		}
		if !w.next.Retry {
			return r.descend(c, w)
		}
		if w.next.Feedback != "" || w.next.Fresh {
			w.feedback = slices.DeleteFunc([]string{w.next.Feedback}, func(s string) bool { return s == "" })
		}
		if cut := c.Sleep(r.wait(c, w.next, w.end)); cut != nil {
			return cut
		}
		if late := r.late(c, w.end); errors.Is(late, errLate) {
			return r.lose(c, w, "", late)
		}
		if why, err := r.restore(c, w.base); err != nil || why != "" {
			return r.lose(c, w, why, err)
		}
		r.moveStep(w.Step, moveRetry)
		r.fire(c, moveStepRetried)
	}
}

// lose fails a step, unless err ends more. errLate: its time is up.
func (r *run) lose(c *orchestrator.Context, w *work, why string, err error) error {
	part, ok := isPart(err)
	switch {
	case ok:
		why, err = prompt.OneLine(part.Error()), nil
	case errors.Is(err, errLate):
		why, err = stepBudget, nil
	}
	if err != nil {
		return err
	}
	if why == stepBudget {
		r.emit(c, EventBudgetExceeded, about(w.ID, stepBudget))
	}
	r.moveStep(w.Step, moveFail)
	w.FailReason = why
	r.reasons = append(r.reasons, w.ID+": "+why)
	r.fire(c, moveStepFailed)
	r.state.Metrics.countSteps(r.state.Plans)
	r.emit(c, EventStepFailed, Event{Event: team.Event{Text: why}, Header: Header{Target: w.ID}, Percent: r.percent()})
	_, err = r.restore(c, w.base)
	return err
}

// complete completes a step that passed its gate, or could not be graded.
func (r *run) complete(c *orchestrator.Context, w *work, s standing) error {
	r.moveStep(w.Step, moveComplete)
	r.state.Metrics.countSteps(r.state.Plans)
	r.send(c, Header{Message: stepComplete, From: Supervisor, To: conductor, Target: w.ID}, nil)
	r.fire(c, s.kept(moveStepApproved, moveStepUnverified))
	r.emit(c, EventStepCompleted, Event{Header: Header{Target: w.ID}, Percent: r.percent()})
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
	gate, err := r.verify(c, review{gate: gateStep, target: w.ID, judged: Coder, until: w.end, input: VerifyInput{Step: &task, Code: shownCode(w.Code), Tests: shownReport(w.Tests)}})
	w.Verification, w.ruling = gate.verdict, gate
	if err != nil || gate.standing == rejected {
		return refused, gate.why, err
	}
	return accepted, "", r.complete(c, w, gate.standing)
}

// descend makes and executes a sub-plan for a blocked step, if it may have one; then it
// tests and judges the step.
func (r *run) descend(c *orchestrator.Context, w *work) error {
	why := w.ruling.why
	if w.Depth >= r.Bounds.Depth {
		return r.lose(c, w, why, nil)
	}
	if err := r.late(c, w.end); err != nil {
		return r.lose(c, w, "", err)
	}
	if broken, err := r.restore(c, w.base); err != nil || broken != "" {
		return r.lose(c, w, broken, err)
	}
	if err := r.allow(c, "step/"+w.ID, moveSubPlanStarted); err != nil {
		return r.lose(c, w, "", err)
	}
	r.moveStep(w.Step, moveDescend)
	r.blocked(c, w.Step, why)
	why, err := r.subPlan(c, w.Step, w.end, w.feedback)
	if err != nil || why != "" {
		return r.lose(c, w, why, err)
	}
	r.moveStep(w.Step, moveAscend)
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
