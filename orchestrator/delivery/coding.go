package delivery

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/page"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// code lets the coder do a step once, and judges the code. The error is a setback if it is
// not accepted.
func (r *run) code(c *orchestrator.Context, w *work) error {
	if err := r.monitor(c, Coder, w.ID, w.end); err != nil {
		return err
	}
	q, in := r.coding(c, w)
	q.op, q.request, q.agent = OpCode, codeRequest, w.next.Agent
	if !in.Guidance.fresh() {
		in.Feedback, q.data.Rejected = w.feedback, len(w.feedback) > 0
		if !w.next.Fresh {
			in.Previous = shownCode(w.Code)
		}
	}
	q.input = in
	got, err := r.askCoder(c, w, q)
	if err != nil {
		return err
	}
	whole := got.value
	if w.kept != nil && whole.faults() == "" {
		whole = w.kept.fixed(got.value)
	}
	w.Code, w.Tests, w.Verification = &whole, nil, nil
	w.ruling, err = r.judgeCode(c, w, got, w.Code)
	if err != nil {
		return err
	}
	if w.ruling.standing == rejected {
		return setback{then: refused, why: w.ruling.why}
	}
	r.fire(c, w.ruling.kept(moveCodeApproved))
	return nil
}

// coding is a request to the coder, without what is special to an operation.
func (r *run) coding(c *orchestrator.Context, w *work) (q call, in CodeInput) {
	q = call{role: Coder, tmpl: "code.tmpl", target: w.ID, until: w.end, reply: codeResponse}
	in = CodeInput{
		Goal: r.state.PrimaryGoal, Context: r.in.Context, TimeLeft: r.timeLeft(c), Step: w.task(), Needs: r.needs(w),
		Guidance: r.guided(&q),
	}
	return q, in
}

// askCoder asks the coder for code. The error is a setback if there is none.
func (r *run) askCoder(c *orchestrator.Context, w *work, q call) (answered[CodeOutput], error) {
	got, err := ask[CodeOutput](r, c, q)
	if err != nil {
		return got, err
	}
	if got.failed != nil {
		return got, setback{then: refused, why: "the coder gave no answer", failed: got.failed}
	}
	r.tell(r.title(w.ID), got.value.turn())
	blocked := "the coder is blocked: " + text.Cut(got.value.Reason, quoted)
	switch {
	case got.value.NeedsSubPlan:
		return got, setback{then: stuck, why: blocked}
	case got.value.Blocked:
		return got, setback{then: refused, why: blocked}
	}
	return got, nil
}

// needs are the steps that a step depends on.
func (r *run) needs(w *work) (done []doneStep) {
	plan := r.state.plan(r.state.CurrentPlan)
	for _, number := range w.DependsOn {
		for _, s := range plan.Steps {
			if s.Number == number {
				done = append(done, doneStep{s.task(), shownCode(s.Code)})
			}
		}
	}
	return append(done, r.done(w.SubSteps)...)
}

// done are the completed ones of the steps with those IDs.
func (r *run) done(ids []string) (done []doneStep) {
	for s := range r.state.steps() {
		if s.Status == StepCompleted && slices.Contains(ids, s.ID) {
			done = append(done, doneStep{s.task(), shownCode(s.Code)})
		}
	}
	return done
}

// judgeCode judges code: first by rules, then by a model. Accepted code is applied. changed is
// what the coder wrote, whole the attempt with it.
func (r *run) judgeCode(c *orchestrator.Context, w *work, changed answered[CodeOutput], whole *CodeOutput) (ruling, error) {
	task := w.task()
	job := review{
		gate: gateCode, target: w.ID, judged: Coder, until: w.end, revises: w.Depth == 0, input: VerifyInput{Step: &task, Code: shownCode(whole)}, backup: changed.backup,
	}
	if why := whole.faults(); why != "" {
		return r.reject(c, job, why)
	}
	gate, err := r.verify(c, job)
	if err != nil || gate.standing == rejected {
		return gate, err
	}
	why, err := r.apply(c, changed.value)
	if why != "" {
		return r.reject(c, job, why)
	}
	return gate, err
}

// tests tests an attempt, and lets the coder fix it while tests fail. The error is a setback if
// they do not pass.
func (r *run) tests(c *orchestrator.Context, w *work) error {
	coder, fixEnd := cmp.Or(w.next.Agent, r.agent(Coder)), endless
	author := coder // agent whose code is tested
	var tries []orchestrator.Try
	for {
		tests, _, err := r.test(c, w, OpCheck)
		if err != nil {
			return err
		}
		if tests.standing != rejected {
			r.fire(c, tests.kept(moveTestsPassed))
			return nil
		}
		w.ruling = tests
		if fixEnd == endless {
			fixEnd = after(c.Elapsed(), w.fix)
		}
		tries = append(tries, tests.try(author))
		for fixed := false; !fixed; {
			next, err := r.mayFix(c, w, tests.why, tries, min(fixEnd, w.end))
			if err != nil {
				return err
			}
			gate, err := r.fix(c, w, next, len(tries), tests.verdict)
			if err != nil {
				return err
			}
			if fixed = gate.standing != rejected; fixed {
				author = cmp.Or(next.Agent, coder)
				r.fire(c, gate.kept(moveCodeApproved))
				continue
			}
			r.fire(c, moveFixRejected)
			tests.verdict = cmp.Or(gate.verdict, tests.verdict)
			tries = append(tries, gate.try(cmp.Or(next.Agent, coder)))
		}
	}
}

// mayFix asks the Retrier for a fix, and waits for it. The error is a setback if there is none.
func (r *run) mayFix(
	c *orchestrator.Context, w *work, failed string, tries []orchestrator.Try, end time.Duration,
) (orchestrator.Again, error) {
	next, err := r.again(c, orchestrator.Working{Role: roleFix, ID: w.ID, Group: r.state.CurrentPlan}, tries, end)
	if err != nil {
		return next, err
	}
	if !next.Retry {
		back := setback{then: lost, why: fmt.Sprintf("its tests fail after %d fixes: %s", len(tries)-1, text.Cut(failed, quoted))}
		if r.Policy.SubPlanOnTestFailure {
			back.then = stuck
		}
		return next, back
	}
	return next, r.late(c, end)
}

// fix lets the coder fix an attempt for the n-th time, and judges the fix. v rejected what was
// there. Without a fix the ruling says why.
func (r *run) fix(c *orchestrator.Context, w *work, next orchestrator.Again, n int, v *Verdict) (ruling, error) {
	plan := deriveFixPlan(*w.Tests, v)
	if next.Feedback != "" {
		plan.Items = []string{next.Feedback}
	}
	r.state.Metrics.FixCycles++
	if r.state.Status == phaseTesting {
		r.fire(c, moveTestsFailed)
	}
	r.send(c, Header{Message: fixPlanMessage, From: Tester, To: Coder, Target: w.ID}, plan)
	r.tell(r.title(w.ID), page.Turn{Who: "Tester", What: "fix plan", Text: bullets(plan.Items)})
	if err := r.monitor(c, Coder, w.ID, w.end); err != nil {
		return ruling{}, err
	}
	e := Event{Event: team.Event{Try: n}, Header: Header{Target: w.ID}}
	r.emit(c, eventFixStarted, e)
	q, in := r.coding(c, w)
	q.op, q.request, q.agent = OpFix, codeFixRequest, cmp.Or(next.Agent, w.next.Agent)
	in.Previous, in.Fix = shownCode(w.Code), &fixRequest{Items: plan.Items}
	if !next.Fresh {
		in.Fix.Output = text.Cut(w.Tests.Output, shownBytes)
	}
	q.input = in
	gate, err := r.judgeFix(c, w, q)
	if e.Text = gate.why; err != nil {
		e.Text = prompt.OneLine(err.Error())
	}
	r.emit(c, eventFixFinished, e)
	return gate, err
}

// judgeFix asks the coder for a fix, and judges it. Without a fix the ruling says why.
func (r *run) judgeFix(c *orchestrator.Context, w *work, q call) (ruling, error) {
	got, err := r.askCoder(c, w, q)
	if back, ok := errors.AsType[setback](err); ok && back.then == refused {
		return ruling{why: back.why}, nil
	}
	if err != nil {
		return ruling{}, err
	}
	whole := w.Code.fixed(got.value)
	gate, err := r.judgeCode(c, w, got, &whole)
	if err == nil && gate.standing != rejected {
		w.Code = &whole
	}
	return gate, err
}
