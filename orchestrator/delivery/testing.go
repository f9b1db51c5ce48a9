package delivery

import (
	"cmp"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// tested is the result of tests. Its standing is rejected if they have not passed, or
// the supervisor rejected their report; why is the reason.
type tested struct {
	ruling

	report TestResult
}

// test lets the tester test a step, or the whole for OpIntegrate, beside a real run, and
// the supervisor review the report.
func (r *run) test(c *orchestrator.Context, w *work, op string) (tested, error) {
	data := promptData{}
	in := TestInput{Goal: r.state.PrimaryGoal, Context: r.in.Context}
	if op == OpIntegrate {
		in.Steps = r.summaries()
	} else {
		task := w.task()
		in.Step, in.Code = &task, shownCode(w.Code)
	}
	if err := r.late(c, w.end); err != nil {
		return tested{}, err
	}
	real, err := r.runTests(c, w.end)
	if err != nil {
		return tested{}, err
	}
	if real != nil {
		r.emit(c, EventProjectTested, Event{Header: Header{Target: w.target()}, Tests: real})
		r.tell(r.title(w.target()), real.turn())
	}
	in.Run, data.Ran = shownReport(real), real != nil
	in.Guidance = r.guided(Tester, &data)
	got, err := ask[reportAnswer](r, c, call{
		role: Tester, op: op, tmpl: "test.tmpl", target: w.target(), until: w.end, request: testRequest, reply: testResponse, data: data, input: in,
	})
	if err != nil {
		return tested{}, err
	}
	a := got.value
	if got.failed == nil {
		r.tell(r.title(w.target()), a.turn())
	}
	report := TestResult{Passed: a.Passed, Issues: a.Issues, Suggestions: a.Suggestions, Coverage: a.Coverage, FixPlan: a.FixPlan}
	if cause := got.failed; cause != nil {
		report.Reason = "the tester failed: " + prompt.OneLine(cause.Error())
	}
	if real != nil {
		report = report.with(*real)
	}
	if w.Step != nil {
		w.Tests = &report
	}
	out := tested{ruling{why: report.fails()}, report}
	if got.failed == nil {
		var gate ruling
		gate, err = r.reviewReport(c, review{
			gate: gateTest, target: w.target(), judged: Tester, until: w.end, backup: got.backup,
			input: VerifyInput{Step: in.Step, Code: in.Code, Tests: shownReport(&report)},
		})
		switch {
		case gate.standing == rejected:
			out.verdict, out.why = gate.verdict, cmp.Or(out.why, "the report was rejected: "+gate.why)
		case out.why == "":
			out.ruling = gate
		}
	}
	return out, err
}

// reviewReport lets the supervisor review a report of tests.
func (r *run) reviewReport(c *orchestrator.Context, w review) (ruling, error) {
	switch {
	case !r.Policy.SkipTestReview:
		return r.verify(c, w)
	case w.backup:
		r.unverified(w.target)
		return ruling{standing: unverified}, nil
	}
	return ruling{standing: approved}, nil
}

// target is the step's ID, "goal" for the whole.
func (w *work) target() string {
	if w.Step == nil {
		return "goal"
	}
	return w.ID
}

// judgeGoal verifies the result of a root plan. again says whether a further iteration
// may succeed.
func (r *run) judgeGoal(c *orchestrator.Context, id string) (reached, again bool, err error) {
	if err := r.late(c, r.limit); err != nil {
		return false, false, err
	}
	root := r.state.plan(id)
	if why := root.unmet(r.Policy.AcceptableFailures); why != "" {
		return false, true, r.unmet(c, id, why)
	}
	if err := r.allow(c, "plan/"+id, movePlanDone); err != nil {
		return false, false, r.unjudged(id, err)
	}
	r.fire(c, movePlanDone)
	tests, err := r.test(c, &work{end: r.limit}, OpIntegrate)
	if part, ok := isPart(err); ok { // ungraded: no further iteration
		return false, false, r.unmet(c, id, "integration: "+prompt.OneLine(part.Error()))
	}
	if err != nil {
		return false, false, err
	}
	if tests.standing == rejected {
		return false, true, r.unmet(c, id, "integration: "+tests.why)
	}
	r.fire(c, tests.kept(moveIntegrationPassed, moveIntegrationUnverified))
	gate, err := r.verify(c, review{gate: GateGoal, target: "goal", judged: Planner, until: r.limit, input: VerifyInput{Plan: root.bare(), Tests: shownReport(&tests.report)}})
	if gate.verdict != nil {
		r.goal = gate.verdict
	}
	switch {
	case err != nil:
		return false, false, r.unjudged(id, err)
	case gate.standing == approved:
		r.movePlan(id, moveComplete)
		r.send(c, Header{Message: goalComplete, From: Supervisor, To: conductor, Target: "goal"}, nil)
		r.fire(c, moveGoalApproved)
		return true, false, nil
	}
	r.ends(id, gate)
	return false, gate.verdict != nil, nil
}

// unmet rejects the goal by a rule, without asking a model.
func (r *run) unmet(c *orchestrator.Context, id, why string) error {
	r.ends(id, ruling{why: why})
	_, err := r.reject(c, review{gate: GateGoal, target: "goal", judged: Planner}, why)
	if _, part := isPart(err); part {
		return nil // r.hostErr has it
	}
	return err
}

// unjudged ends an iteration whose goal a rule or a Permit of the host kept from its
// verdict; another error is passed on.
func (r *run) unjudged(id string, err error) error {
	part, ok := isPart(err)
	if ok {
		r.ends(id, ruling{why: prompt.OneLine(part.Error())})
		return nil
	}
	return err
}

// ends records the result of an iteration.
func (r *run) ends(id string, gate ruling) {
	r.movePlan(id, moveFail)
	r.last = &lastIteration{Reason: gate.why, Verdict: gate.verdict, Completed: []stepSummary{}, Failed: []stepSummary{}}
	for _, s := range r.state.plan(id).Steps {
		sum := stepSummary{s.ID, s.Description, s.Status, s.Attempts, s.FailReason}
		if s.Status == StepCompleted {
			r.last.Completed = append(r.last.Completed, sum)
		} else {
			r.last.Failed = append(r.last.Failed, sum)
		}
	}
}
