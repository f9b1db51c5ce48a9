package delivery

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/page"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// code lets the coder do a step once, and judges the code.
func (r *run) code(c *orchestrator.Context, w *work) (result, string, error) {
	data := promptData{Rejected: len(w.feedback) > 0}
	in := CodeInput{
		Goal: r.state.PrimaryGoal, Context: r.in.Context, TimeLeft: r.timeLeft(c), Step: w.task(), Needs: r.needs(w),
		Guidance: r.guided(Coder, &data),
	}
	if in.Guidance.fresh() {
		data.Rejected = false
	} else {
		in.Feedback = w.feedback
		if !w.next.Fresh {
			in.Previous = shownCode(w.Code)
		}
	}
	got, err := ask[CodeOutput](r, c, call{
		role: Coder, agent: w.next.Agent, op: OpCode, tmpl: "code.tmpl", target: w.ID, until: w.end, request: codeRequest, reply: codeResponse, data: data, input: in,
	})
	if err != nil {
		return refused, "", err
	}
	if cause := got.failed; cause != nil {
		return refused, coderFailed(cause), nil
	}
	r.tell(r.title(w.ID), got.value.turn())
	switch out := got.value; {
	case out.NeedsSubPlan:
		return stuck, blockedWords(out), nil
	case out.Blocked:
		return refused, blockedWords(out), nil
	}
	w.Code = &got.value
	gate, err := r.judgeCode(c, w, draftCode{got.value, got.value, got.backup})
	w.ruling = gate
	if err != nil || gate.standing == rejected {
		return refused, gate.why, err
	}
	r.fire(c, gate.kept(moveCodeApproved, moveCodeUnverified))
	return accepted, "", nil
}

func coderFailed(cause error) string { return "the coder failed: " + prompt.OneLine(cause.Error()) }

func blockedWords(out CodeOutput) string {
	return "the coder is blocked: " + text.Cut(out.Reason, quoted)
}

// needs are the steps that a step depends on.
func (r *run) needs(w *work) []doneStep {
	var done []doneStep
	plan := r.state.plan(r.state.CurrentPlan)
	for _, number := range w.DependsOn {
		for _, s := range plan.Steps {
			if s.Number == number {
				done = append(done, doneStep{s.task(), shownCode(s.Code)})
			}
		}
	}
	return done
}

// draftCode is code before its gate.
type draftCode struct {
	changed, whole CodeOutput // whole is the attempt with the changed files
	backup         bool       // it is from Rules.Fallback
}

// judgeCode judges code: first by rules, then by a model. Accepted code is applied.
func (r *run) judgeCode(c *orchestrator.Context, w *work, d draftCode) (ruling, error) {
	task := w.task()
	job := review{gate: gateCode, target: w.ID, judged: Coder, until: w.end, input: VerifyInput{Step: &task, Code: shownCode(&d.whole)}, backup: d.backup}
	if why := d.whole.faults(); why != "" {
		return r.reject(c, job, why)
	}
	gate, err := r.verify(c, job)
	if err != nil || gate.standing == rejected {
		return gate, err
	}
	if why, err := r.apply(c, d.changed); err != nil || why != "" {
		if err == nil {
			return r.reject(c, job, why)
		}
		return gate, err
	}
	return gate, nil
}

// tests tests an attempt, and lets the coder fix it while tests fail.
func (r *run) tests(c *orchestrator.Context, w *work) (result, string, error) {
	coder, fixEnd := cmp.Or(w.next.Agent, r.agent(Coder)), endless
	var tries []orchestrator.Try
	for {
		tests, err := r.test(c, w, OpCheck)
		if err != nil {
			return lost, "", err
		}
		if tests.standing != rejected {
			r.fire(c, tests.kept(moveTestsPassed, moveTestsUnverified))
			return accepted, "", nil
		}
		w.ruling = tests.ruling
		if fixEnd == endless {
			fixEnd = after(c.Elapsed(), w.fix)
		}
		tries = append(tries, tests.try(coder))
		for fixed := false; !fixed; {
			next, got, why, err := r.mayFix(c, w, tests.why, tries, min(fixEnd, w.end))
			if err != nil || got != accepted {
				return got, why, err
			}
			gate, got, err := r.fix(c, w, fixing{len(tries), next}, tests)
			if err != nil || got != accepted {
				return got, gate.why, err
			}
			if fixed = gate.standing != rejected; !fixed {
				r.fire(c, moveFixRejected)
				tests.verdict = cmp.Or(gate.verdict, tests.verdict)
				tries = append(tries, gate.try(cmp.Or(next.Agent, coder)))
				continue
			}
			r.fire(c, gate.kept(moveCodeApproved, moveCodeUnverified))
		}
	}
}

// fixing is a fix of an attempt.
type fixing struct {
	cycle int
	next  orchestrator.Again
}

// mayFix asks the Retrier for a fix, and waits for it. The result says what becomes of the
// step; accepted: it may be fixed.
func (r *run) mayFix(c *orchestrator.Context, w *work, failed string, tries []orchestrator.Try, end time.Duration) (orchestrator.Again, result, string, error) {
	next, err := r.again(c, orchestrator.Working{Role: roleFix, ID: w.ID, Group: r.state.CurrentPlan}, tries)
	if err != nil {
		return next, lost, "", err
	}
	if !next.Retry {
		why := fmt.Sprintf("its tests fail after %d fixes: %s", len(tries)-1, text.Cut(failed, quoted))
		if r.Policy.SubPlanOnTestFailure {
			return next, stuck, why, nil
		}
		return next, lost, why, nil
	}
	if err := c.Sleep(r.wait(c, next, end)); err != nil {
		return next, lost, "", err
	}
	if errors.Is(r.late(c, end), errLate) {
		return next, lost, stepBudget, nil
	}
	return next, accepted, "", nil
}

// fix lets the coder fix an attempt once, and judges the fix. A fix that is not accepted
// ends the attempt.
func (r *run) fix(c *orchestrator.Context, w *work, f fixing, tests tested) (gate ruling, got result, err error) {
	plan := deriveFixPlan(tests.report, tests.verdict)
	if f.next.Feedback != "" {
		plan.Items = []string{f.next.Feedback}
	}
	r.state.Metrics.FixCycles++
	if r.state.Status == phaseTesting {
		r.fire(c, moveTestsFailed)
	}
	r.send(c, Header{Message: fixPlanMessage, From: Tester, To: Coder, Target: w.ID}, plan)
	r.tell(r.title(w.ID), page.Turn{Who: "Tester", What: "fix plan", Text: bullets(plan.Items)})
	r.emit(c, eventFixStarted, Event{Event: team.Event{Try: f.cycle}, Header: Header{Target: w.ID}})
	data := promptData{}
	in := CodeInput{
		Goal: r.state.PrimaryGoal, Context: r.in.Context, TimeLeft: r.timeLeft(c), Step: w.task(), Needs: r.needs(w), Previous: shownCode(w.Code),
		Fix: &fixRequest{Items: plan.Items}, Guidance: r.guided(Coder, &data),
	}
	if !f.next.Fresh {
		in.Fix.Output = text.Cut(tests.report.Output, shownBytes)
	}
	answer, err := ask[CodeOutput](r, c, call{
		role: Coder, agent: cmp.Or(f.next.Agent, w.next.Agent), op: OpFix, tmpl: "code.tmpl", target: w.ID, until: w.end,
		request: codeFixRequest, reply: codeResponse, data: data, input: in,
	})
	if err == nil && answer.failed == nil {
		r.tell(r.title(w.ID), answer.value.turn())
	}
	switch out := answer.value; {
	case err != nil:
		return gate, refused, err
	case answer.failed != nil:
		gate.why = coderFailed(answer.failed)
	case out.NeedsSubPlan:
		return ruling{why: blockedWords(out)}, stuck, nil
	case out.Blocked:
		gate.why = blockedWords(out)
	default:
		whole := w.Code.fixed(out)
		if gate, err = r.judgeCode(c, w, draftCode{out, whole, answer.backup}); err != nil {
			return gate, refused, err
		}
		if gate.standing != rejected {
			w.Code = &whole
		}
	}
	r.emit(c, eventFixFinished, Event{Event: team.Event{Try: f.cycle, Text: gate.why}, Header: Header{Target: w.ID}})
	return gate, accepted, nil
}
