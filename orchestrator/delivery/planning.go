package delivery

import (
	"cmp"
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
	end        time.Duration // time after which no call begins
	least      int           // least number of steps
	parentPlan string        // plan that a sub-plan is for; "": a root plan
	parentStep *Step
	blocked    *Blocked
}

// plan makes a plan that passes its gate, and returns its ID. If it cannot, the error is
// ErrPlanning, which ends the run only for a root plan.
func (r *run) plan(c *orchestrator.Context, j planJob) (string, error) {
	id, err := r.approvedPlan(c, j)
	if isLost(err) {
		return "", team.Fail(ErrPlanning, "planning: %w", errors.Unwrap(err))
	}
	if !errors.Is(err, errLate) {
		return id, err
	}
	budget := "planning budget"
	if j.parentStep != nil {
		budget = stepBudget
	}
	r.emit(c, EventBudgetExceeded, about(j.target(), budget))
	return "", team.Fail(ErrPlanning, "planning: %s", budget)
}

// approvedPlan is plan without the limit on time: then the error is errLate.
func (r *run) approvedPlan(c *orchestrator.Context, j planJob) (string, error) {
	of := orchestrator.Working{Role: rolePlan, ID: j.target(), Group: j.parentPlan}
	var tries []orchestrator.Try
	for d := (drafting{}); ; {
		p, gate, err := r.draft(c, j, d)
		if err != nil {
			return "", err
		}
		if gate.standing != rejected {
			return p.ID, nil
		}
		tries = append(tries, gate.try(r.planner(j, d)))
		d.before, d.reasons = p, append(d.reasons, gate.why)
		if d.next, err = r.again(c, of, tries, j.end); err != nil {
			return "", err
		}
		if !d.next.Retry {
			return "", team.Fail(ErrPlanning, "planning: no plan was approved in %d attempts: %s", len(tries), gate.why)
		}
		if d.next.Feedback != "" || d.next.Fresh {
			d.reasons = told(d.next)
		}
		r.fire(c, movePlanRejected)
	}
}

// draft has a plan made, and judged: first by rules, then by a model. It is in progress, unless
// the ruling is that it is rejected.
func (r *run) draft(c *orchestrator.Context, j planJob, d drafting) (*Plan, ruling, error) {
	answer, err := r.askPlan(c, j, d)
	if err != nil {
		return nil, ruling{}, err
	}
	if answer.failed != nil {
		if j.parentStep != nil { // its reason is shown to models, which are told nothing of errors of calls
			return nil, ruling{}, team.Fail(ErrPlanning, "planning: the planner gave no answer")
		}
		return nil, ruling{}, plannerFailed(answer.failed)
	}
	if j.parentStep == nil {
		r.tell("Plan", answer.value.turn("plan"))
	} else {
		r.tell("Plan for "+r.title(j.target()), answer.value.turn("sub-plan"))
	}
	p := r.newPlan(c, j, answer.value)
	w := review{
		gate: gatePlan, target: p.ID, piece: fmt.Sprint(r.state.Iteration, " ", j.target()), judged: Planner, until: j.end,
		input: VerifyInput{Plan: p.bare()}, backup: answer.backup,
	}
	var gate ruling
	if faults := p.faults(j.least, r.Bounds.MaxSteps, d.before); len(faults) > 0 {
		gate, err = r.reject(c, w, strings.Join(faults, "; "))
	} else {
		gate, err = r.verify(c, w)
	}
	if err == nil && gate.standing != rejected {
		if err = r.approve(c, p.ID, gate); err == nil {
			return p, gate, nil
		}
	}
	if err == nil || lossOf(err) != "" {
		r.movePlan(p.ID, moveFail)
	}
	return p, gate, err
}

// plannerFailed is the error of a planner that gave no plan. An error of its own that reads
// like one of the run keeps only its words.
func plannerFailed(err error) error {
	for _, code := range []error{orchestrator.ErrBudget, orchestrator.ErrCanceled, orchestrator.ErrFlow} {
		if errors.Is(err, code) {
			return team.Fail(ErrPlanning, "planning: the planner failed: %s", err.Error())
		}
	}
	return team.Fail(ErrPlanning, "planning: the planner failed: %w", err)
}

// approve has a plan executed that passed its gate, or has no grade.
func (r *run) approve(c *orchestrator.Context, id string, gate ruling) error {
	on := gate.kept(movePlanApproved)
	if err := r.allow(c, "plan/"+id, on); err != nil {
		return err
	}
	r.fire(c, on)
	p := r.state.plan(id)
	if p.Approved = true; p.Depth == 0 {
		r.out.Score = nil // the score is of the root plan before
	}
	r.movePlan(id, moveApprove)
	r.countSteps()
	return nil
}

// drafting is what is known when a further plan is made.
type drafting struct {
	before  *Plan              // plan that was rejected; nil: there is none
	reasons []string           // reasons why plans were rejected, or the Retrier's Feedback
	next    orchestrator.Again // answer of the Retrier about it
}

// target is what a plan is for: the ID of its step, "goal" for a root plan.
func (j planJob) target() string {
	if j.parentStep != nil {
		return j.parentStep.ID
	}
	return "goal"
}

// planner is the agent that makes a plan.
func (r *run) planner(j planJob, d drafting) string {
	if j.parentStep != nil {
		return cmp.Or(d.next.Agent, r.agent(Planner))
	}
	return cmp.Or(d.next.Agent, r.next.Agent, r.agent(Planner))
}

// askPlan asks the planner once.
func (r *run) askPlan(c *orchestrator.Context, j planJob, d drafting) (answered[planAnswer], error) {
	if err := r.monitor(c, Planner, j.target(), j.end); err != nil {
		return answered[planAnswer]{}, err
	}
	if err := r.late(c, j.end); err != nil {
		return answered[planAnswer]{}, err
	}
	r.plans++
	if r.plans > 1 {
		r.state.Metrics.ReplanCount++
	}
	q := call{
		role: Planner, agent: r.planner(j, d), op: j.op, tmpl: "plan.tmpl", target: j.target(), until: j.end, request: planRequest, reply: planResponse,
		data: promptData{MinSteps: j.least, MaxSteps: r.Bounds.MaxSteps, Iteration: 1},
	}
	in := PlanInput{Goal: j.goal, Context: r.in.Context, TimeLeft: r.timeLeft(c), Blocked: j.blocked, Guidance: r.guided(&q)}
	if j.parentStep != nil {
		q.request, q.reply = replanRequest, subPlanResponse
	} else if r.last != nil {
		in.Last, q.data.Iteration = r.last, r.state.Iteration
	}
	if !in.Guidance.fresh() {
		in.Reasons = d.reasons
		if d.before != nil && !d.next.Fresh {
			in.Rejected, q.data.Rejected = d.before.bare(), true
		}
	}
	q.input = in
	return ask[planAnswer](r, c, q)
}

// newPlan makes a plan from an answer.
func (r *run) newPlan(c *orchestrator.Context, j planJob, a planAnswer) *Plan {
	p := Plan{ID: fmt.Sprintf("p%d", len(r.state.Plans)+1), Goal: j.goal, Analysis: a.Analysis, Steps: []Step{}, ParentPlanID: j.parentPlan}
	p.Status = stepPending
	parent := ""
	if j.parentStep != nil {
		p.Depth, parent = j.parentStep.Depth+1, j.parentStep.ID
	}
	p.Steps = r.newSteps(c, p, parent, renumbered(a.Steps, nil))
	r.state.Plans = append(r.state.Plans, p)
	r.state.CurrentPlan = p.ID
	return &p
}

// newSteps makes steps of plan p from an answer; parent is the ID of the step that p is for.
func (r *run) newSteps(c *orchestrator.Context, p Plan, parent string, answers []stepAnswer) []Step {
	most, steps := 0, []Step{}
	if retries, ok := r.Rules.Retrier.(Retries); ok {
		most = retries.of(roleStep).Max
	}
	for _, s := range answers {
		id, known := fmt.Sprintf("%s.s%d", p.ID, s.Number), strings.ToLower(strings.TrimSpace(s.Complexity))
		if !slices.Contains([]string{"simple", medium, "complex"}, known) {
			r.warn(c, "complexity", id, "its complexity is %q: it counts as medium", s.Complexity)
			known = medium
		}
		steps = append(steps, Step{
			ID: id, Number: s.Number, Description: s.Description, Complexity: known,
			DependsOn: s.DependsOn, Status: stepPending, Depth: p.Depth, ParentStepID: parent, MaxAttempts: most,
		})
	}
	return steps
}

// movePlan fires an event of a plan.
func (r *run) movePlan(id string, on move) {
	team.MachineAt(r.kernel, "plan/"+id, planPhases, &r.state.plan(id).Status).Fire(nil, on)
}

// subPlan makes and executes a sub-plan for a step. The error is a setback if it fails.
func (r *run) subPlan(c *orchestrator.Context, w *work) error {
	s, end := w.Step, w.end
	parent := r.state.PlanStack[len(r.state.PlanStack)-1]
	r.fire(c, moveSubPlanStarted)
	id, err := r.plan(c, planJob{
		op: OpSubPlan, goal: s.Description, end: end, least: 1, parentPlan: parent, parentStep: s,
		blocked: &Blocked{
			Step: s.task(), Attempts: s.Attempts, Reasons: slices.Concat([]string{}, w.feedback), Done: r.done(s.SubSteps),
			Plan: *r.state.plan(parent).around(s.ID), Depth: s.Depth,
		},
	})
	if errors.Is(err, ErrPlanning) {
		r.fire(c, moveSubPlanFailed)
		return setback{then: lost, why: prompt.OneLine(err.Error())}
	}
	if err != nil {
		return err
	}
	for _, sub := range r.state.plan(id).Steps {
		s.SubSteps = append(s.SubSteps, sub.ID)
	}
	err = r.execute(c, id, end)
	why := lossOf(err)
	if err != nil && why == "" {
		return err
	}
	r.state.PlanStack = r.state.PlanStack[:len(r.state.PlanStack)-1]
	r.state.CurrentPlan = parent
	if why != "" {
		r.movePlan(id, moveFail)
		r.fire(c, moveSubPlanFailed)
		return setback{then: lost, why: why}
	}
	r.movePlan(id, moveComplete)
	return nil
}
