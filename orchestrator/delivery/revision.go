package delivery

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator"
)

// revision is a plan whose rest the planner may change.
type revision struct {
	Plan *Plan  `json:"plan"` // the plan with all its steps, without their work
	Why  string `json:"why"`  // event after which it is asked for
}

// named is what verdicts on a step say of later ones.
type named struct {
	numbers []int  // numbers of later steps that should change
	why     string // words of the supervisor
}

// names keeps the later steps that a verdict names.
func (r *run) names(v *Verdict) {
	if len(v.Revise) == 0 {
		return
	}
	later := r.named[v.Target]
	later.numbers, later.why = append(later.numbers, v.Revise...), strings.TrimSpace(cmp.Or(v.Recommendation, v.Reason))
	r.named[v.Target] = later
}

// revise has the planner revise the steps of a root plan that have not begun, if the end of step s
// gives a reason. A revision that does not pass the gate of plans changes nothing.
func (r *run) revise(c *orchestrator.Context, id string, s Step, until time.Duration) error {
	plan := r.state.plan(id)
	why := r.toRevise(plan, s)
	isOver := count(plan.Steps, stepPending) == 0 || count(plan.Steps, StepFailed) >= r.Bounds.FailedSteps || c.Elapsed() >= min(until, r.limit)
	if why == "" || s.Depth > 0 || plan.Revisions >= r.Policy.Revisions || isOver {
		return nil
	}
	plan.Revisions++
	if err := r.revised(c, *plan, why, until); lossOf(err) == "" {
		return err
	}
	return nil // it comes too late, or is lost
}

// toRevise says why the rest of a plan may need a revision after step s; "": it does not.
func (r *run) toRevise(plan *Plan, s Step) string {
	switch {
	case s.Status == StepFailed:
		return fmt.Sprintf("step %d failed: %s", s.Number, s.FailReason)
	case s.skipped():
		return fmt.Sprintf("step %d was skipped: %s", s.Number, s.FailReason)
	}
	said := r.named[s.ID]
	var later []int
	for _, other := range plan.Steps {
		if other.Status == stepPending && slices.Contains(said.numbers, other.Number) {
			later = append(later, other.Number)
		}
	}
	if len(later) == 0 {
		return ""
	}
	return strings.TrimSuffix(fmt.Sprintf("a verdict on step %d names steps %s: %s", s.Number, join(later), said.why), ": ")
}

// revised asks for a revision of a plan, has it judged, and puts it in the plan's place.
func (r *run) revised(c *orchestrator.Context, plan Plan, why string, until time.Duration) error {
	r.plans++
	r.state.Metrics.ReplanCount++
	q := call{
		role: Planner, op: OpRevise, tmpl: "plan.tmpl", target: plan.ID, until: until, request: planRequest, reply: planResponse,
		data: promptData{MinSteps: r.Bounds.MinSteps, MaxSteps: r.Bounds.MaxSteps, Iteration: 1},
	}
	q.input = PlanInput{
		Goal: r.state.PrimaryGoal, Context: r.in.Context, TimeLeft: r.timeLeft(c), Revise: &revision{plan.bare(), why}, Guidance: r.guided(&q),
	}
	got, err := ask[planAnswer](r, c, q)
	if err != nil || got.failed != nil {
		return err
	}
	r.tell("Plan", got.value.turn("revision"))
	draft := plan
	draft.Steps = r.rest(c, plan, got.value)
	change := difference(plan.Steps, draft.Steps)
	if change == "" {
		return nil
	}
	w := review{
		gate: gatePlan, target: plan.ID, judged: Planner, until: until,
		input: VerifyInput{Plan: draft.bare()}, backup: got.backup,
	}
	var gate ruling
	if faults := draft.faults(r.Bounds.MinSteps, r.Bounds.MaxSteps, nil); len(faults) > 0 {
		gate, err = r.reject(c, w, strings.Join(faults, "; "))
	} else {
		gate, err = r.verify(c, w)
	}
	if err != nil || gate.standing == rejected {
		return err
	}
	r.state.plan(plan.ID).Steps = draft.Steps
	r.countSteps()
	e := about(plan.ID, change)
	e.Percent = r.percent()
	r.emit(c, EventPlanRevised, e)
	return nil
}

// rest returns the steps of a plan that have begun, and behind them those of an answer.
func (r *run) rest(c *orchestrator.Context, plan Plan, a planAnswer) []Step {
	begun := slices.DeleteFunc(slices.Clone(plan.Steps), func(s Step) bool { return s.Status == stepPending })
	var taken []int
	for _, s := range begun {
		taken = append(taken, s.Number)
	}
	return append(begun, r.newSteps(c, plan, "", renumbered(a.Steps, taken))...)
}

// difference is how the steps of a plan differ from those before, a line for each: "-" for one
// that goes, "+" for one that comes. "": they do not.
func difference(before, now []Step) string {
	line := func(s Step) string {
		needs := ""
		if len(s.DependsOn) > 0 {
			needs = ", after " + join(s.DependsOn)
		}
		return fmt.Sprintf("%d %s (%s%s)", s.Number, text.Shorten(text.OneLine(s.Description), 200), s.Complexity, needs)
	}
	var lines []string
	for _, s := range before {
		if !slices.ContainsFunc(now, s.same) {
			lines = append(lines, "- "+line(s))
		}
	}
	for _, s := range now {
		if !slices.ContainsFunc(before, s.same) {
			lines = append(lines, "+ "+line(s))
		}
	}
	return strings.Join(lines, "\n")
}
