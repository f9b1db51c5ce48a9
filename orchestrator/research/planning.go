package research

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
	"github.com/convene-go/convene/routing"
)

// plannerInput is what a planner gets, as JSON.
type plannerInput struct {
	Brief     Brief           `json:"brief"`
	Left      string          `json:"left"` // money and time in words
	Bands     []string        `json:"complexity_bands"`
	Workers   []catalogueItem `json:"workers"`
	Research  int             `json:"research_workers"` // how many the sources require
	Iteration int             `json:"iteration"`

	// From the second iteration on.
	Feedback  string    `json:"feedback,omitempty"`
	Issues    []string  `json:"issues,omitempty"`
	Previous  *wirePlan `json:"previous_plan,omitempty"`
	Missed    []string  `json:"failed_workers,omitempty"`
	Removed   []string  `json:"removed_workers,omitempty"` // workers that were too much for money or time
	Score     *float64  `json:"previous_score,omitempty"`
	Threshold *float64  `json:"threshold,omitempty"`
}

type catalogueItem struct {
	ID       string   `json:"id"`
	Category Category `json:"category"`
	Critical bool     `json:"critical"`
	Needs    []string `json:"needs,omitempty"`
	Produces []string `json:"produces,omitempty"`
	Cost     string   `json:"cost"` // "USD 0.20", as Time in words
	Time     string   `json:"time"`
}

// plan lets the planner make a plan and makes it valid.
func (r *run) plan(c *orchestrator.Context) error {
	p, err := r.proposed(c)
	if err != nil {
		return err
	}
	for i, s := range p.Steps {
		if len(s.Workers) == 0 {
			r.warn(c, "empty-step", "", "steps[%d] of the plan names no worker", i)
		}
	}
	p = p.without(func(id string) bool { return find(r.Workers, id).ID == "" })
	p = p.required(r.state.Input, r.Workers).estimated(r.Workers, r.Bounds.StepLimit)
	p.ID = fmt.Sprintf("plan-%d", r.state.Iteration)
	if have, want := r.researchers(p), researchWorkers(r.state.Input.MinSources); have < want {
		r.warn(c, "few-research-workers", "", "research workers: %d, want %d for %d sources", have, want, r.state.Input.MinSources)
	}
	r.state.Plan, r.state.StepIndex = &p, 0
	r.act(c, "Planner", "create_plan", map[string]any{"steps": len(p.Steps), "cost": dollars(p.EstCost)})
	r.Emit(c, eventPlanCreated, &Event{Plan: &p, Iteration: r.state.Iteration})
	return r.machine.Go(c, movePlanned)
}

// proposed is the planner's plan. A plan that was not repaired is used if unknown workers
// are its only fault.
func (r *run) proposed(c *orchestrator.Context) (last Plan, err error) {
	var unknown []string
	var wrong error
	k := r.call("plan", "planner", r.Agents.Planner, planWanted, r.plannerInput(c))
	k.repairs = 2
	k.retrier = r.retrier(c, isMalformed)
	_, err = ask(r, c, k, func(resp agent.Response, dropped *[]string) (p Plan, err error) {
		if p, err = readPlan(resp, dropped); err != nil {
			return p, err
		}
		last = p.complete(r.Workers)
		unknown, wrong = last.check(r.Workers)
		if wrong = errors.Join(wrong, last.idFaults()); wrong == nil && unknown != nil {
			return last, fmt.Errorf("%s; known are %q", strings.Join(unknown, "; "), r.Workers)
		}
		return last, wrong
	})
	switch {
	case err == nil, team.Ends(err), r.IsHostError(err):
		return last, err
	case !isMalformed(err):
		return last, team.Fail(ErrAgent, "planner failed %s: %w", k.after(), own(err))
	case last.Steps == nil:
		return last, team.Fail(ErrOutput, "planner: %w", err)
	case wrong != nil:
		return last, team.Fail(ErrInvalidPlan, "the plan cannot be used: %w", wrong)
	}
	for _, fault := range unknown {
		r.warn(c, "unknown-worker", "", "%s: it is left out", fault)
	}
	return last, nil
}

// researchers counts the places of research workers in a plan.
func (r *run) researchers(p Plan) int {
	return len(slices.DeleteFunc(p.workers(), func(id string) bool { return find(r.Workers, id).Category != Researching }))
}

func (r *run) plannerInput(c *orchestrator.Context) plannerInput {
	in := plannerInput{
		Brief: r.state.Input.brief(), Left: r.left(c),
		Research: researchWorkers(r.state.Input.MinSources), Iteration: r.state.Iteration,
	}
	for _, from := range []float64{0, 0.4, 0.7} {
		b, _ := routing.BandOf(from)
		in.Bands = append(in.Bands, fmt.Sprintf("from %.1f on: %s, %d to %d workers", from, b.Name, b.Min, b.Max))
	}
	for _, w := range r.Workers {
		in.Workers = append(in.Workers, catalogueItem{w.ID, w.Category, w.Critical, w.Needs, w.Produces, "USD " + amount(w.EstCost), minutes(w.EstTime) + " minutes"})
	}
	if len(r.state.History) > 0 {
		last := r.last()
		in.Previous, in.Score, in.Threshold = last.Plan.shown(), &last.Quality, r.state.Input.MinQuality
		in.Feedback, in.Issues, in.Missed, in.Removed = *r.state.Feedback, last.grade.Issues, r.missed, r.removed
	}
	return in
}

// optimise makes the plan fit money and time.
func (r *run) optimise(c *orchestrator.Context) error {
	given := *r.state.Plan
	q, report, err := r.fitted(c, r.necessary(c, given))
	if err != nil {
		return err
	}
	report.TimeSaved, report.CostSaved = given.EstTime-q.EstTime, given.EstCost-q.EstCost
	if report.Unmet != nil && (!r.Policy.WarnInfeasible || r.state.Iteration > 1) {
		return team.Fail(ErrInfeasible, "no plan fits: %s", strings.Join(report.Unmet, "; "))
	}
	for _, unmet := range report.Unmet {
		r.warn(c, "infeasible-plan", "", "%s", unmet)
	}
	for _, unmet := range report.UnmetNeeds {
		r.warn(c, "unmet-need", "", "%s, and no worker that makes it fits money and time", unmet)
	}
	if band, err := routing.BandOf(q.Complexity); err == nil && len(q.workers()) < min(band.Min, len(given.workers())) {
		r.warn(c, "below-band", "", "%d workers are left, a %s task is worth %d", len(q.workers()), band.Name, band.Min)
	}
	r.missed, r.removed = nil, report.Removed
	for _, id := range report.Removed {
		r.warn(c, "removed", id, "%s", find(r.Workers, id).absence("removed to meet money and time"))
	}
	r.state.Plan = &q
	r.act(c, "Strategy", "optimize_plan", map[string]any{"timeSaved": report.TimeSaved.Minutes(), "costSaved": dollars(report.CostSaved)})
	r.Emit(c, EventPlanOptimized, &Event{Plan: &q, Report: &report})
	return r.machine.Go(c, moveOptimized)
}

// fitted returns what the Optimiser makes of a plan.
func (r *run) fitted(c *orchestrator.Context, p Plan) (q Plan, report Report, err error) {
	var refused error
	q, err = team.Rule(r.Run, c, "planner", "Rules.Optimiser", func() (q Plan, err error) {
		q, report, err = r.Rules.Optimiser.Optimise(team.Clone(p), r.room(c), team.Clone(r.Workers))
		switch {
		case errors.Is(err, ErrInvalidPlan):
			refused, err = err, nil
		case err == nil:
			err = q.fits(r.Workers)
		}
		return q, err
	})
	return q, report, cmp.Or(err, refused)
}

// fits returns what no plan of a rule may have: unknown workers, and figures off their scale.
func (p Plan) fits(workers []Worker) error {
	unknown, err := p.check(workers)
	f := team.Faults{}
	f.If(err != nil, "%w", err)
	f.If(len(unknown) > 0, "%s", strings.Join(unknown, "; "))
	f.Within("complexity", p.Complexity, 0, 1)
	f.If(p.EstTime < 0, "estTime is %v, want 0 or more", p.EstTime)
	f.If(p.EstCost < 0, "estCost is %v, want 0 or more", p.EstCost)
	for i, s := range p.Steps {
		f.If(s.EstTime < 0, "steps[%d].estTime is %v, want 0 or more", i, s.EstTime)
		f.If(s.EstCost < 0, "steps[%d].estCost is %v, want 0 or more", i, s.EstCost)
	}
	return f.Err()
}

// necessary removes what planner and strategist find unnecessary, except critical workers
// and the last one of research. A failed strategist is skipped.
func (r *run) necessary(c *orchestrator.Context, p Plan) Plan {
	names := slices.Clone(p.Drop)
	if r.Agents.Strategist != "" {
		input := map[string]any{"brief": r.state.Input.brief(), "plan": p.shown()}
		found, err := ask(r, c, r.call("strategy", "strategist", r.Agents.Strategist, dropWanted, input), read[struct{ Drop []string }](dropIn))
		if err != nil {
			r.warn(c, "agent-failed", "strategist", "the strategist failed: %s", prompt.OneLine(err.Error()))
		}
		names = append(names, found.Drop...)
	}
	researchers := r.researchers(p)
	return p.without(func(id string) bool {
		w := find(r.Workers, id)
		researches := w.Category == Researching
		if w.Critical || !slices.Contains(names, id) || researches && researchers == 1 {
			return false
		}
		if researches {
			researchers--
		}
		return true
	})
}

// replan begins the next iteration.
func (r *run) replan(c *orchestrator.Context) {
	r.state.Iteration++
	r.state.Plan, r.state.StepIndex = nil, 0
	r.state.Analysis, r.state.Writing, r.state.Quality = []WorkerOutput{}, []WorkerOutput{}, []WorkerOutput{}
	r.act(c, "Supervisor", "re_plan", map[string]any{"iteration": r.state.Iteration, "reason": "quality_low"})
	r.Emit(c, EventIterationStarted, &Event{Event: team.Event{Text: *r.state.Feedback}, Iteration: r.state.Iteration})
	r.machine.Fire(c, moveReplan)
}

// researchWorkers is how many research workers are planned for minSources: one for every
// five, rounded up, 1 to 5.
func researchWorkers(minSources int) int { return min(max((minSources+4)/5, 1), 5) }
