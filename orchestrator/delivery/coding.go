package delivery

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator"
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
		in.Previous, in.Feedback = shownCode(w.Code), w.feedback
	}
	got, err := ask[CodeOutput](r, c, call{
		role: Coder, op: OpCode, tmpl: "code.tmpl", target: w.ID, until: w.end, request: CodeRequest, reply: CodeResponse, data: data, input: in,
	})
	if err != nil {
		return refused, "", err
	}
	if cause := got.failed; cause != nil {
		return refused, coderFailed(cause), nil
	}
	switch out := got.value; {
	case out.NeedsSubPlan:
		return stuck, blockedWords(out), nil
	case out.Blocked:
		return refused, blockedWords(out), nil
	}
	w.Code = &got.value
	gate, err := r.judgeCode(c, w, draftCode{got.value, got.value, got.backup})
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
func (r *run) needs(w *work) []Done {
	var done []Done
	plan := r.state.plan(r.state.CurrentPlan)
	for _, number := range w.DependsOn {
		for _, s := range plan.Steps {
			if s.Number == number {
				done = append(done, Done{s.task(), shownCode(s.Code)})
			}
		}
	}
	return done
}

// draftCode is code before its gate.
type draftCode struct {
	changed, whole CodeOutput // whole is the attempt with the changed files
	backup         bool       // it is from Hooks.Fallback
}

// judgeCode judges code: first by rules, then by a model. Accepted code is applied.
func (r *run) judgeCode(c *orchestrator.Context, w *work, d draftCode) (ruling, error) {
	task := w.task()
	job := review{gate: GateCode, target: w.ID, judged: Coder, until: w.end, input: VerifyInput{Step: &task, Code: shownCode(&d.whole)}, backup: d.backup}
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
	cycle, fixEnd := 0, endless
	for {
		tests, err := r.test(c, w, OpCheck)
		if err != nil {
			return lost, "", err
		}
		if tests.standing != rejected {
			r.fire(c, tests.kept(moveTestsPassed, moveTestsUnverified))
			return accepted, "", nil
		}
		if fixEnd == endless && w.end != endless {
			fixEnd = c.Elapsed() + fixTime(w.end-w.begun)
		}
		for fixed := false; !fixed; {
			if got, why := r.unfixable(c, w, tests.why, fixing{cycle, fixEnd}); got != accepted {
				return got, why, nil
			}
			cycle++
			gate, got, err := r.fix(c, w, cycle, tests)
			if err != nil || got != accepted {
				return got, gate.why, err
			}
			if fixed = gate.standing != rejected; !fixed {
				r.fire(c, moveFixRejected)
				tests.verdict = cmp.Or(gate.verdict, tests.verdict)
				continue
			}
			r.fire(c, gate.kept(moveCodeApproved, moveCodeUnverified))
		}
	}
}

// fixing is the progress of the fixes of an attempt.
type fixing struct {
	cycle int
	end   time.Duration // no fix begins after it
}

// unfixable returns the result for a step whose tests fail, if no further fix is allowed
// after cycle, or at this time.
func (r *run) unfixable(c *orchestrator.Context, w *work, failed string, f fixing) (result, string) {
	switch {
	case f.cycle >= r.Retry.FixCycles:
		why := fmt.Sprintf("its tests fail after %d fixes: %s", f.cycle, text.Cut(failed, quoted))
		if r.Policy.SubPlanOnTestFailure {
			return stuck, why
		}
		return lost, why
	case errors.Is(r.late(c, min(f.end, w.end)), errLate):
		return lost, stepBudget
	}
	return accepted, ""
}

// fix lets the coder fix an attempt once, and judges the fix. A fix that is not accepted
// ends the attempt.
func (r *run) fix(c *orchestrator.Context, w *work, cycle int, tests tested) (gate ruling, got result, err error) {
	plan := DeriveFixPlan(tests.report, tests.verdict)
	r.state.Metrics.FixCycles++
	if r.state.Status == phaseTesting {
		r.fire(c, moveTestsFailed)
	}
	r.send(c, Header{Message: FixPlanMessage, From: Tester, To: Coder, Target: w.ID}, plan)
	c.Emit(EventFixStarted, Event{Target: w.ID, Attempt: cycle})
	data := promptData{}
	in := CodeInput{
		Goal: r.state.PrimaryGoal, Context: r.in.Context, TimeLeft: r.timeLeft(c), Step: w.task(), Needs: r.needs(w), Previous: shownCode(w.Code),
		Fix: &Fix{plan, text.Cut(tests.report.Output, shownBytes)}, Guidance: r.guided(Coder, &data),
	}
	answer, err := ask[CodeOutput](r, c, call{
		role: Coder, op: OpFix, tmpl: "code.tmpl", target: w.ID, until: w.end, request: CodeFixRequest, reply: CodeResponse, data: data, input: in,
	})
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
	c.Emit(EventFixFinished, Event{Target: w.ID, Attempt: cycle, Text: gate.why})
	return gate, accepted, nil
}
