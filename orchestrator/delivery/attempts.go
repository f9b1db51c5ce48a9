package delivery

import (
	"cmp"
	"errors"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
)

// setback is the error of a part of the run that has failed, such as an attempt at a step.
type setback struct {
	then result
	why  string
	err  error // error of a rule of the host, or of its Permit; nil: none

	failed error // error of all calls of the coder, which no model is told; nil: it answered
}

// result is what becomes of a step after a setback.
type result int

const (
	refused result = iota // another attempt may succeed
	stuck                 // it needs a sub-plan
	lost                  // it has failed, as has any other part: neither another try nor a fix would help
)

func (s setback) Error() string { return s.why }
func (s setback) Unwrap() error { return s.err }

// lossOf returns why err fails a part of the run; "": it is nil, or ends more.
func lossOf(err error) string {
	if back, ok := errors.AsType[setback](err); ok {
		return back.why
	}
	if errors.Is(err, errLate) {
		return stepBudget
	}
	return ""
}

// isLost reports whether err fails a part of the run at once.
func isLost(err error) bool {
	back, ok := errors.AsType[setback](err)
	return ok && back.then == lost
}

// tolerated returns err if it ends more than a part of the run.
func tolerated(err error) error {
	if isLost(err) {
		return nil
	}
	return err
}

// work is the step that is being executed.
type work struct {
	*Step

	end      time.Duration // end of its time
	fix      time.Duration // time for all fixes of an attempt
	base     string        // the workspace's state before it
	start    string        // the workspace's state from which each attempt starts
	kept     *CodeOutput   // code of sub-steps that an earlier run completed; nil: none
	feedback []string      // why earlier attempts were not accepted
	next     orchestrator.Again
	ruling   ruling // the last one of the attempt
}

// step executes a step: attempts, then a sub-plan. It ends completed or failed, unless the
// error ends more. The step shares the time until then with the open ones.
func (r *run) step(c *orchestrator.Context, s *Step, until time.Duration, open int) error {
	w := &work{Step: s}
	err := r.beginStep(c, w, until, open)
	if err == nil {
		err = r.attempts(c, w)
	}
	why := lossOf(err)
	if why == "" {
		return err
	}
	if why == stepBudget {
		r.emit(c, EventBudgetExceeded, about(w.ID, stepBudget))
	}
	r.moveStep(w.Step, moveFail)
	w.FailReason = why
	r.out.Report.FailReasons = append(r.out.Report.FailReasons, w.ID+": "+why)
	r.fire(c, moveStepFailed)
	r.countSteps()
	r.emit(c, EventStepFailed, Event{Event: team.Event{Text: why}, Header: Header{Target: w.ID}, Percent: r.percent()})
	return tolerated(r.restore(c, w.base))
}

// beginStep begins a step, if it is permitted: it has a share of the time until then.
func (r *run) beginStep(c *orchestrator.Context, w *work, until time.Duration, open int) error {
	begun := c.Elapsed()
	if err := r.part(r.stepMachine(w.Step).Allow(c, moveStart)); err != nil {
		return err
	}
	r.moveStep(w.Step, moveStart)
	shares, err := r.allocate(c, w.ID, Timing{Total: r.limit - r.began, Execution: until - begun, Steps: open})
	if err != nil {
		return err
	}
	w.end, w.fix = after(begun, shares.Step), shares.Fix
	if r.resumed[w.ID] {
		delete(r.resumed, w.ID)
		w.Attempts--
	}
	w.kept = r.state.kept(w.SubSteps)
	e := Event{Event: team.Event{Try: w.Attempts + 1}, Header: Header{Target: w.ID}, Percent: r.percent()}
	if w.end != endless {
		e.Left = shares.Step
	}
	r.emit(c, EventStepStarted, e)
	return r.keep(c, w)
}

// attempts makes attempts at a step until one is accepted, or the Retrier says no.
func (r *run) attempts(c *orchestrator.Context, w *work) error {
	of, tries := orchestrator.Working{Role: roleStep, ID: w.ID, Group: r.state.CurrentPlan}, make([]orchestrator.Try, w.Attempts)
	for {
		w.Attempts++
		w.ruling = ruling{}
		err := r.attempt(c, w)
		back, ok := errors.AsType[setback](err)
		if !ok || back.then == lost {
			return err
		}
		w.ruling.why = back.why
		try := w.ruling.try(cmp.Or(w.next.Agent, r.agent(Coder)))
		if try.Err = back.failed; back.failed == nil {
			w.feedback = append(w.feedback, back.why)
		}
		tries = append(tries, try)
		if back.then == stuck {
			return r.descend(c, w)
		}
		if w.next, err = r.again(c, of, tries, w.end); err != nil {
			return err
		}
		if !w.next.Retry {
			return r.descend(c, w)
		}
		if w.next.Feedback != "" || w.next.Fresh {
			w.feedback = told(w.next)
		}
		if err := r.late(c, w.end); errors.Is(err, errLate) {
			return err
		}
		if err := r.restore(c, w.start); err != nil {
			return err
		}
		r.moveStep(w.Step, moveRetry)
		r.fire(c, moveStepRetried)
	}
}

// attempt is one attempt at a step: code, tests with their fixes, and the step's gate.
func (r *run) attempt(c *orchestrator.Context, w *work) error {
	if err := r.code(c, w); err != nil {
		return err
	}
	if err := r.tests(c, w); err != nil {
		return err
	}
	return r.stepGate(c, w)
}

// stepGate lets the supervisor judge a step whose tests pass, and completes it if it passes or
// could not be graded.
func (r *run) stepGate(c *orchestrator.Context, w *work) error {
	task := w.task()
	gate, err := r.verify(c, review{
		gate: gateStep, target: w.ID, judged: Coder, until: w.end, revises: w.Depth == 0,
		input: VerifyInput{Step: &task, Code: shownCode(w.Code), Tests: shownReport(w.Tests)},
	})
	w.Verification, w.ruling = gate.verdict, gate
	if err != nil {
		return err
	}
	if gate.standing == rejected {
		return setback{then: refused, why: gate.why}
	}
	r.moveStep(w.Step, moveComplete)
	r.countSteps()
	r.send(c, Header{Message: stepComplete, From: Supervisor, To: conductor, Target: w.ID}, nil)
	r.fire(c, gate.kept(moveStepApproved))
	r.emit(c, EventStepCompleted, Event{Header: Header{Target: w.ID}, Percent: r.percent()})
	return r.accept(c, w)
}

// descend makes and executes a sub-plan for a blocked step, if it may have one; then it
// tests and judges the step.
func (r *run) descend(c *orchestrator.Context, w *work) error {
	why := w.ruling.why
	if w.Depth >= r.Bounds.Depth {
		return setback{then: lost, why: why}
	}
	if err := r.late(c, w.end); err != nil {
		return err
	}
	if err := r.restore(c, w.start); err != nil {
		return err
	}
	if err := r.allow(c, "step/"+w.ID, moveSubPlanStarted); err != nil {
		return err
	}
	r.moveStep(w.Step, moveDescend)
	r.blocked(c, w.Step, why)
	if err := r.subPlan(c, w); err != nil {
		return err
	}
	r.moveStep(w.Step, moveAscend)
	r.fire(c, moveSubPlanDone)
	w.Code = r.state.kept(w.SubSteps)
	tests, _, err := r.test(c, w, OpCheck)
	if err != nil {
		return err
	}
	if tests.standing == rejected {
		return setback{then: lost, why: tests.why}
	}
	r.fire(c, tests.kept(moveTestsPassed))
	return r.stepGate(c, w)
}
