package director

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// beginReviews begins the review of what was delivered, as many at once as there may be
// workers.
func (r *run) beginReviews() {
	for _, id := range r.board.In(blackboard.AwaitingQA) {
		t, _ := r.board.Task(id)
		if r.underWay("qa/") >= r.Bounds.Parallel {
			return
		}
		key := attemptKey("qa", id, t.Attempt)
		if r.running[key] || r.job(id).passed || r.job(id).refused {
			continue
		}
		r.start(key, func(c *orchestrator.Context) error { return r.review(c, id, t.Attempt) })
	}
}

// review is the branch of a review. What passes waits for its merge.
func (r *run) review(c *orchestrator.Context, id string, n int) error {
	t, _ := r.board.Task(id)
	qa, err := r.judgement(c, &t)
	if team.Ends(err) {
		r.job(id).refused = true
		return err
	}
	if !r.current(c, id, n, blackboard.AwaitingQA) {
		return nil
	}
	if err != nil {
		r.ungraded(c, &t, EventReviewFinished, "it could not be reviewed: "+prompt.OneLine(err.Error()), err)
		return nil
	}
	r.outages.succeeded()
	partial := qa.Outcome == string(OutcomePartial)
	passed := qa.Passed || r.Policy.AllowPartial && partial
	if partial && !passed {
		qa.Outcome = string(OutcomeFail)
	}
	r.Emit(c, EventReviewFinished, &Event{Event: team.Event{Text: qa.Feedback}, Task: id, Attempt: n, On: qa.Outcome})
	if !passed {
		r.reject(c, id, qa)
		return nil
	}
	qa.Passed, qa.Kind = true, ""
	r.pass(c, id, qa)
	return nil
}

// pass notes that work has passed: its merge is due.
func (r *run) pass(c *orchestrator.Context, id string, qa blackboard.QA) {
	r.must(c, blackboard.Change{By: blackboard.RoleStrategist, Task: id, Do: blackboard.Judge{QA: qa}})
	r.toMerge(id)
}

func (r *run) toMerge(id string) {
	r.job(id).passed = true
	if r.Rules.Permit == nil {
		r.merges = append(r.merges, id)
	} else {
		r.permits = append(r.permits, id)
	}
}

// ungraded is what follows when work could not be reviewed or merged, for no fault of its own:
// it costs no retry, and a person is asked. on is the event that tells it. An error that is
// no rule's is an outage.
func (r *run) ungraded(c *orchestrator.Context, t *blackboard.Task, on team.Kind, why string, err error) {
	qa := blackboard.QA{Kind: blackboard.NoReview, Outcome: string(OutcomeFail), Feedback: noReview}
	if !r.IsHostError(err) {
		r.warn(c, "ungraded", t.ID, "attempt %d: %s", t.Attempt, why)
	}
	r.Emit(c, on, &Event{Event: team.Event{Text: why}, Task: t.ID, Attempt: t.Attempt, On: string(qa.Kind)})
	r.move(c, blackboard.RoleStrategist, t.ID, blackboard.Move{Event: blackboard.EventUngraded, QA: &qa})
	if !r.IsHostError(err) {
		r.outage(c, t.ID, why)
	}
	r.escalateTask(c, t.ID, why)
}

// judgement reviews what was delivered.
func (r *run) judgement(c *orchestrator.Context, t *blackboard.Task) (blackboard.QA, error) {
	in, err := r.reviewInput(c, t)
	if err != nil {
		return blackboard.QA{}, err
	}
	answer, err := r.reviewOf(c, t, in)
	if err != nil {
		return blackboard.QA{}, err
	}
	qa, problems, err := judge(t.Criteria, answer, func(seen Reviewed) (ReviewOutcome, error) {
		outcome, err := team.Decide(r.Run, c, t.ID, "Rules.Gates.Review", r.Rules.Gates.Review, seen, OutcomePass, OutcomeNotes, OutcomeFail, OutcomePartial)
		return outcome, r.kept(err)
	})
	for _, problem := range problems {
		r.warn(c, "review", t.ID, "attempt %d: %s", t.Attempt, problem)
	}
	return qa, err
}

// reviewOf returns the review of the host's Grader, or of the strategist, who is asked once more
// if none comes that can be used.
func (r *run) reviewOf(c *orchestrator.Context, t *blackboard.Task, in ReviewInput) (Review, error) {
	usable := func(v Review) error { return errors.Join(v.fault(), in.Checks.fits(v)) }
	if grader := r.Rules.Graders.Work; grader != nil {
		v, failed, err := team.Grade(r.Run, c, t.ID, "Rules.Graders.Work", func() (Review, error) { return grader.Grade(c, in) }, usable)
		return v, cmp.Or(r.kept(err), failed)
	}
	q := question{
		agent: r.Agents.Strategist, role: blackboard.RoleStrategist, op: opQA, tmpl: "qa.tmpl", task: t.ID, input: in, repairs: 1,
		data: promptData{Ran: in.Checks != nil, Refine: in.Refine != nil},
	}
	v, err := ask(r, c, q, usable)
	if err != nil && !team.Ends(err) {
		v, err = ask(r, c, q, usable)
	}
	return v, err
}

// fits says why a review cannot pass work whose command has failed: each test that failed
// must be the test's own fault.
func (k *CheckResult) fits(v Review) error {
	if k == nil || k.Passed || !v.Passed {
		return nil
	}
	if len(k.Failed) == 0 {
		return errors.New("passed is true, but the command under checks has failed, and names no test")
	}
	for _, test := range k.Failed {
		if !slices.ContainsFunc(v.Tests, func(a blackboard.TestAnalysis) bool { return a.Test == test }) {
			return fmt.Errorf("passed is true, but tests does not say whose fault it is that %s fails", test)
		}
	}
	return nil
}

// reviewInput is what the strategist sees of a task.
func (r *run) reviewInput(c *orchestrator.Context, t *blackboard.Task) (in ReviewInput, err error) {
	seen, err := r.inspect(c, t)
	if err != nil {
		return in, err
	}
	v, err := r.board.View(t.ID)
	if err != nil {
		return in, err
	}
	in = ReviewInput{
		Objective: v.Objective, Spec: v.Spec, Decisions: wireDecisions(v.Decisions), Task: Task(t.Definition), Attempt: t.Attempt, Summary: t.Summary,
		Artifact: Artifact(seen.Artifact), Diff: seen.Diff,
	}
	for i, text := range t.Criteria {
		in.Criteria = append(in.Criteria, Criterion{i + 1, text})
	}
	if p := r.placeholderOf(t); p != nil {
		in.Refine = (*Task)(&p.Definition)
	}
	in.Checks, err = r.runCheck(c, t, t.Frozen.Commit)
	return in, err
}

// placeholderOf is the TEST task whose criteria follow from what a task has built; nil:
// there is none that can still be changed.
func (r *run) placeholderOf(t *blackboard.Task) *blackboard.Task {
	if t.Phase != phaseBuild {
		return nil
	}
	return r.testOf(t.Component, func(o *blackboard.Task) bool { return o.Status != blackboard.Abandoned })
}

// untouched says whether no attempt at a task has begun.
func untouched(t *blackboard.Task) bool {
	return t.Attempt == 0 && slices.Contains([]blackboard.State{blackboard.Planned, blackboard.Blocked, blackboard.Ready}, t.Status)
}

// reject fails what was reviewed.
func (r *run) reject(c *orchestrator.Context, id string, qa blackboard.QA) {
	r.move(c, blackboard.RoleStrategist, id, blackboard.Move{Event: blackboard.EventFail, QA: &qa})
	r.failures.failed(id)
	if r.board.Board().Strategy == blackboard.Progressing && r.stagnates(c) {
		r.must(c, blackboard.Change{By: blackboard.RoleStrategist, Do: blackboard.Steer{Event: blackboard.Stagnate}})
		r.Emit(c, EventRunStagnated, &Event{Count: max(r.failures.row, r.failures.worst)})
	}
	if qa.PlanWrong {
		r.planWrong = fmt.Sprintf("the review of %s says that the plan is wrong: %s", id, prompt.OneLine(qa.Feedback))
	}
	t, _ := r.board.Task(id)
	r.afterFailure(c, &t, qa, r.after(c, &t, qa, t.RetryCount, nil))
}

// stagnates asks the gate whether the tasks are planned anew.
func (r *run) stagnates(c *orchestrator.Context) bool {
	s := Setbacks{Row: r.failures.row, Worst: r.failures.worst, Limit: r.Policy.Retry.Stagnation, Replans: r.state.Replans}
	yes, _ := rule(r, c, "Rules.Gates.Stagnation", "Gates.Stagnation", func() (bool, error) { return r.Rules.Gates.Stagnation.Decide(s), nil })
	return yes
}

// checked says whether a command is run on what a task delivers.
func (r *run) checked(t *blackboard.Task) bool {
	p, _ := r.profile(t.Profile)
	return r.Agents.Check != "" && len(p.Check) > 0
}

// runCheck runs the command of a task's profile on a commit; nil: there is none.
func (r *run) runCheck(c *orchestrator.Context, t *blackboard.Task, commit string) (*CheckResult, error) {
	p, _ := r.profile(t.Profile)
	if !r.checked(t) {
		return nil, nil //nolint:nilnil // there is nothing to run
	}
	req := agent.Request{Op: opCheck, Task: t.ID, Input: agent.JSON(CheckInput{Task: t.ID, Commit: commit, Command: p.Check})}
	req.Limits = agent.Limits{Total: within(c, r.Bounds.CallTime), Estimate: nothing}
	result, resp, err := orchestrator.Ask[CheckResult](c, r.Agents.Check, req)
	r.spend(c, blackboard.RoleStrategist, t.ID, team.Used(resp, err))
	r.WarnDropped(c, r.Agents.Check, resp.Dropped)
	return &result, err
}
