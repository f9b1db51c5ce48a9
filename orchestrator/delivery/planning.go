package delivery

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// planJob is a request for a plan.
type planJob struct {
	op         string // OpPlan or OpSubPlan
	goal       string
	end        time.Duration // after which no further plan is asked for
	until      time.Duration // after which no call begins
	least      int           // steps
	parentPlan string        // of a sub-plan
	parentStep *Step
	blocked    *Blocked
}

// plan makes a plan that passes its gate, and returns its ID. If it cannot, the error is
// ErrPlanning, which ends the run only for a root plan.
func (r *run) plan(c *orchestrator.Context, j planJob) (string, error) {
	id, err := r.approvedPlan(c, j)
	if !errors.Is(err, errLate) {
		return id, err
	}
	budget := "planning budget"
	if j.parentStep != nil {
		budget = stepBudget
	}
	c.Emit(EventBudgetExceeded, Event{Target: r.state.CurrentPlan, Text: budget})
	return "", team.Fail(ErrPlanning, "planning: %s", budget)
}

// approvedPlan is plan without the limit on time: then the error is errLate.
func (r *run) approvedPlan(c *orchestrator.Context, j planJob) (string, error) {
	var before *Plan
	var reasons []string
	for try := 1; ; try++ {
		if c.Elapsed() >= j.end {
			return "", errLate
		}
		answer, err := r.askPlan(c, j, before, reasons)
		if err != nil {
			return "", err
		}
		if answer.failed != nil {
			return "", team.Fail(ErrPlanning, "planning: the planner failed: %w", answer.failed)
		}
		p := r.newPlan(c, j, answer.value)
		gate, err := r.reviewPlan(c, j, draftPlan{p, before, answer.backup})
		if err != nil {
			return "", err
		}
		if gate.standing != rejected {
			r.fire(c, gate.kept(movePlanApproved, movePlanUnverified))
			r.state.plan(p.ID).Approved = true
			r.movePlan(p.ID, moveApprove)
			r.state.Metrics.countSteps(r.state.Plans)
			return p.ID, nil
		}
		r.movePlan(p.ID, moveFail)
		reasons, before = append(reasons, gate.why), p
		if try == r.Retry.Plans {
			return "", team.Fail(ErrPlanning, "planning: no plan was approved in %d attempts: %s", try, gate.why)
		}
		r.fire(c, movePlanRejected)
	}
}

// askPlan asks the planner once. before is the plan that was rejected.
func (r *run) askPlan(c *orchestrator.Context, j planJob, before *Plan, reasons []string) (answered[planAnswer], error) {
	r.planned++
	if r.planned > 1 {
		r.state.Metrics.ReplanCount++
	}
	data := promptData{MinSteps: j.least, MaxSteps: r.Limits.MaxSteps, Iteration: r.state.Iteration, Rejected: before != nil}
	in := PlanInput{Goal: j.goal, Context: r.in.Context, TimeLeft: r.timeLeft(c), Blocked: j.blocked}
	in.Guidance = r.guided(Planner, &data)
	if j.parentStep == nil {
		in.Last = r.last
	}
	if before != nil && !in.Guidance.fresh() {
		in.Rejected, in.Reasons = before.bare(), reasons
	} else {
		data.Rejected = false
	}
	q := call{role: Planner, op: j.op, tmpl: "plan.tmpl", target: "goal", until: j.until, request: PlanRequest, reply: PlanResponse, data: data, input: in}
	if j.parentStep != nil {
		q.target, q.request, q.reply = j.parentStep.ID, ReplanRequest, SubPlanResponse
	}
	return ask[planAnswer](r, c, q)
}

// newPlan makes a plan from an answer.
func (r *run) newPlan(c *orchestrator.Context, j planJob, a planAnswer) *Plan {
	p := Plan{ID: fmt.Sprintf("p%d", len(r.state.Plans)+1), Goal: j.goal, Analysis: a.Analysis, Steps: []Step{}, ParentPlanID: j.parentPlan}
	p.Status = planPending
	parent := ""
	if j.parentStep != nil {
		p.Depth, parent = j.parentStep.Depth+1, j.parentStep.ID
	}
	for _, s := range a.Steps {
		known := Complexity(strings.ToLower(strings.TrimSpace(s.Complexity)))
		if !slices.Contains([]Complexity{Simple, Medium, Complex}, known) {
			r.warn(c, "complexity", fmt.Sprintf("%s.s%d", p.ID, s.Number), "its complexity is %q: it counts as medium", s.Complexity)
			known = Medium
		}
		p.Steps = append(p.Steps, Step{
			ID: fmt.Sprintf("%s.s%d", p.ID, s.Number), Number: s.Number, Description: s.Description, Complexity: known,
			DependsOn: s.DependsOn, Status: stepPending, Depth: p.Depth, ParentStepID: parent, MaxAttempts: r.Retry.Attempts,
		})
	}
	r.state.Plans = append(r.state.Plans, p)
	r.state.CurrentPlan = p.ID
	return &p
}

// draftPlan is a plan before its gate.
type draftPlan struct {
	*Plan

	before *Plan // that was rejected
	backup bool  // it is from Hooks.Fallback
}

// reviewPlan judges a plan: first by rules, then by a model.
func (r *run) reviewPlan(c *orchestrator.Context, j planJob, d draftPlan) (ruling, error) {
	w := review{gate: GatePlan, target: d.ID, judged: Planner, until: j.until, input: VerifyInput{Plan: d.bare()}, backup: d.backup}
	if faults := d.faults(j.least, r.Limits.MaxSteps, d.before); len(faults) > 0 {
		return r.reject(c, w, strings.Join(faults, "; "))
	}
	return r.verify(c, w)
}

// movePlan fires an event of a plan.
func (r *run) movePlan(id string, on Move) {
	shift("plan "+id, planPhases, &r.state.plan(id).Status, on)
}

// subPlan makes and executes a sub-plan for a step. The text says why it failed.
func (r *run) subPlan(c *orchestrator.Context, s *Step, end time.Duration, reasons []string) (string, error) {
	parent := r.state.PlanStack[len(r.state.PlanStack)-1]
	r.fire(c, moveSubPlanStarted)
	id, err := r.plan(c, planJob{
		op: OpSubPlan, goal: s.Description, end: end, until: end, least: 1, parentPlan: parent, parentStep: s,
		blocked: &Blocked{Step: s.task(), Attempts: s.Attempts, Reasons: reasons, Plan: *r.state.plan(parent).bare(), Depth: s.Depth},
	})
	if errors.Is(err, ErrPlanning) {
		r.fire(c, moveSubPlanFailed)
		return prompt.OneLine(err.Error()), nil
	}
	if err != nil {
		return "", err
	}
	for _, sub := range r.state.plan(id).Steps {
		s.SubSteps = append(s.SubSteps, sub.ID)
	}
	why, err := r.execute(c, id, end)
	if errors.Is(err, errLate) {
		why, err = stepBudget, nil
	}
	if err != nil {
		return "", err
	}
	r.state.PlanStack = r.state.PlanStack[:len(r.state.PlanStack)-1]
	r.state.CurrentPlan = parent
	if why != "" {
		r.movePlan(id, moveFail)
		r.fire(c, moveSubPlanFailed)
		return why, nil
	}
	r.movePlan(id, moveComplete)
	return "", nil
}
