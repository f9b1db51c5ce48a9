package delivery

import (
	"cmp"

	"github.com/convene-go/convene/orchestrator"
)

// test lets the tester test a step, or the whole for OpIntegrate, beside a real run, and the
// supervisor review the report. The ruling is that tests are rejected if they have not passed.
func (r *run) test(c *orchestrator.Context, w *work, op string) (gate ruling, report TestResult, err error) {
	if err := r.late(c, w.end); err != nil {
		return gate, report, err
	}
	real, err := r.runTests(c, w)
	if err != nil {
		return gate, report, err
	}
	in := TestInput{Goal: r.state.PrimaryGoal, Context: r.in.Context, Run: shownReport(real)}
	if op == OpIntegrate {
		in.Steps = r.state.summaries()
	} else {
		task := w.task()
		in.Step, in.Code = &task, shownCode(w.Code)
	}
	got, err := r.askTester(c, w, op, in)
	if err != nil {
		return gate, report, err
	}
	report = got.value
	if real != nil {
		report = report.with(*real)
	}
	if got.failed == nil {
		report = report.covering(r.Policy.Thresholds.Coverage, real)
	}
	if w.Step != nil {
		w.Tests = &report
	}
	gate.why = report.fails()
	if got.failed == nil {
		var reviewed ruling
		reviewed, err = r.verify(c, review{
			gate: gateTest, target: w.target(), judged: Tester, until: w.end, revises: w.Step != nil && w.Depth == 0, backup: got.backup,
			input: VerifyInput{Step: in.Step, Code: in.Code, Tests: shownReport(&report)},
		})
		if reviewed.standing == rejected {
			gate.verdict, gate.why = reviewed.verdict, cmp.Or(gate.why, "the report was rejected: "+reviewed.why)
		} else if gate.why == "" {
			gate = reviewed
		}
	}
	return gate, report, err
}

// askTester asks the tester for a report. Without one, the value has the reason.
func (r *run) askTester(c *orchestrator.Context, w *work, op string, in TestInput) (answered[TestResult], error) {
	if err := r.monitor(c, Tester, w.target(), w.end); err != nil {
		return answered[TestResult]{}, err
	}
	q := call{role: Tester, op: op, tmpl: "test.tmpl", target: w.target(), until: w.end, request: testRequest, reply: testResponse}
	in.Guidance, q.data.Ran = r.guided(&q), in.Run != nil
	q.input = in
	got, err := ask[reportAnswer](r, c, q)
	a := got.value
	report := TestResult{Passed: a.Passed, Issues: a.Issues, Suggestions: a.Suggestions, Coverage: a.Coverage, FixPlan: a.FixPlan}
	switch {
	case err != nil:
	case got.failed != nil:
		report.Reason = "the tester gave no answer"
	default:
		r.tell(r.title(w.target()), a.turn())
	}
	return answered[TestResult]{report, got.backup, got.failed}, err
}

// target is the step's ID, "goal" for the whole.
func (w *work) target() string {
	if w.Step == nil {
		return "goal"
	}
	return w.ID
}

// judgeGoal verifies the result of a root plan: first by rules and tests, then by a model. again
// says whether a further iteration may succeed.
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
	tests, report, err := r.test(c, &work{end: r.limit}, OpIntegrate)
	if isLost(err) { // ungraded: no further iteration
		return false, false, r.unmet(c, id, "integration: "+lossOf(err))
	}
	if err != nil {
		return false, false, err
	}
	if tests.standing == rejected {
		return false, true, r.unmet(c, id, "integration: "+tests.why)
	}
	r.fire(c, tests.kept(moveIntegrationPassed))
	gate, err := r.verify(c, review{
		gate: gateGoal, target: "goal", judged: Planner, until: r.limit, input: VerifyInput{Plan: root.bare(), Tests: shownReport(&report)},
	})
	if gate.verdict != nil {
		r.out.Score = new(gate.verdict.Score)
	}
	if err != nil {
		return false, false, r.unjudged(id, err)
	}
	if gate.standing != approved {
		r.ends(id, gate)
		return false, gate.verdict != nil, nil
	}
	r.movePlan(id, moveComplete)
	r.send(c, Header{Message: goalComplete, From: Supervisor, To: conductor, Target: "goal"}, nil)
	r.fire(c, moveGoalApproved)
	return true, false, nil
}

// unmet rejects the goal by a rule, without asking a model.
func (r *run) unmet(c *orchestrator.Context, id, why string) error {
	r.ends(id, ruling{why: why})
	_, err := r.reject(c, review{gate: gateGoal, target: "goal", judged: Planner}, why)
	return tolerated(err) // r.hostErr has the others
}

// unjudged ends an iteration whose goal a rule or a Permit of the host kept from its
// verdict; another error is passed on.
func (r *run) unjudged(id string, err error) error {
	if tolerated(err) == nil {
		r.ends(id, ruling{why: lossOf(err)})
	}
	return tolerated(err)
}

// ends records the result of an iteration.
func (r *run) ends(id string, gate ruling) {
	r.movePlan(id, moveFail)
	r.last = &lastIteration{Reason: gate.why, Verdict: gate.verdict, Completed: []StepSummary{}, Failed: []StepSummary{}, gate: gate}
	for _, s := range r.state.plan(id).Steps {
		if s.Status == StepCompleted {
			r.last.Completed = append(r.last.Completed, s.summary())
		} else {
			r.last.Failed = append(r.last.Failed, s.summary())
		}
	}
}
