package research

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/convene-go/convene/internal/prompt"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/routing"
)

// plannerInput is what a planner gets, as JSON (R110, R47).
type plannerInput struct {
	Brief     Brief           `json:"brief"`
	Bands     []routing.Band  `json:"complexity_bands"`
	Workers   []catalogueItem `json:"workers"`
	Research  int             `json:"research_workers"` // how many the sources are worth (R43)
	Iteration int             `json:"iteration"`

	// From the second iteration on.
	Feedback  string   `json:"feedback,omitempty"`
	Issues    []string `json:"issues,omitempty"`
	Previous  *Plan    `json:"previous_plan,omitempty"`
	Missed    []string `json:"failed_workers,omitempty"`
	Removed   []string `json:"removed_workers,omitempty"` // for want of money or time
	Score     *float64 `json:"previous_score,omitempty"`
	Threshold *float64 `json:"threshold,omitempty"`
}

type catalogueItem struct {
	ID       string        `json:"id"`
	Category Category      `json:"category"`
	Critical bool          `json:"critical"`
	Needs    []string      `json:"needs,omitempty"`
	Produces []string      `json:"produces,omitempty"`
	CostUSD  string        `json:"cost_usd"`
	Time     time.Duration `json:"time"` // nanoseconds
}

// plan has the planner make a plan and makes it one that can be relied on (R36-R48).
func (r *run) plan(c *orchestrator.Context) error {
	var last Plan // that could be read at all
	ask := func() (Plan, agent.Response, error) {
		text, err := r.prompts.Fill("plan.tmpl", promptData{Iteration: r.state.Iteration})
		if err != nil {
			return Plan{}, agent.Response{}, err
		}
		req := agent.Request{Op: "plan", Prompt: text, Input: agent.JSON(r.plannerInput()), Output: planWanted, Limits: r.metaLimits()}
		return orchestrator.AskWith(c, r.cfg.Planner, req, func(resp agent.Response) (Plan, error) {
			var p Plan
			if err := read(planIn, resp, &p); err != nil {
				return Plan{}, err
			}
			last = p.tidy(r.reg)
			return last, last.check(r.reg)
		})
	}
	p, err := persist(r, c, "planner", ask)
	if errors.Is(err, orchestrator.ErrMalformed) && last.Steps != nil {
		p, err = r.salvage(c, last)
	}
	if err != nil {
		return err
	}
	p = p.required(r.state.Brief, r.reg)
	r.planned++
	p.ID = fmt.Sprintf("plan-%d", r.planned)
	r.checkResearch(c, p)
	r.state.Plan, r.state.StepIndex = &p, 0
	r.act(c, planner, "create_plan", map[string]any{"steps": len(p.Steps), "cost": dollars(p.EstCost)})
	c.Emit("plan", Event{Plan: &p, Iteration: r.state.Iteration})
	r.fire(c, "planned", "plan")
	return nil
}

// salvage makes what it can of a plan that was not repaired: unknown workers are left
// out if a critical writer remains (RX8, RX9).
func (r *run) salvage(c *orchestrator.Context, p Plan) (Plan, error) {
	if err := p.check(r.reg); !errors.Is(err, errUnknownWorker) {
		return p, fmt.Errorf("%w: %w", ErrInvalidPlan, err)
	}
	p, gone := p.known(r.reg)
	if err := p.check(r.reg); err != nil {
		return p, fmt.Errorf("%w: %w", ErrInvalidPlan, err)
	}
	for _, id := range gone {
		r.warn(c, "unknown_worker", "the plan names %q, which is no worker", id)
	}
	return p, nil
}

// checkResearch warns of too few research workers for the sources (RC8).
func (r *run) checkResearch(c *orchestrator.Context, p Plan) {
	have := 0
	for _, id := range p.workers() {
		if w, _ := r.reg.Worker(id); w.Category == Researching {
			have++
		}
	}
	if want := routing.ResearchWorkers(r.state.Brief.MinSources); have < want {
		r.warn(c, "few_research_workers", "research workers: %d, want %d for %d sources", have, want, r.state.Brief.MinSources)
	}
}

func (r *run) plannerInput() plannerInput {
	in := plannerInput{Brief: r.state.Brief, Research: routing.ResearchWorkers(r.state.Brief.MinSources), Iteration: r.state.Iteration}
	for _, complexity := range []float64{0, 0.4, 0.7} {
		band, _ := routing.BandOf(complexity)
		in.Bands = append(in.Bands, band)
	}
	for _, w := range r.reg {
		in.Workers = append(in.Workers, catalogueItem{w.ID, w.Category, w.Critical, w.Needs, w.Produces, usd(w.EstCost), w.EstTime})
	}
	if n := len(r.state.History); n > 0 {
		last := r.state.History[n-1]
		in.Previous, in.Score, in.Threshold = &last.Plan, &last.Quality, r.state.Brief.MinQuality
		in.Feedback, in.Issues, in.Missed, in.Removed = deref(r.state.Feedback), r.marks.Issues, r.missed, r.removed
	}
	return in
}

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// optimise makes the plan fit money and time (R49-R57).
func (r *run) optimise(c *orchestrator.Context) error {
	p := r.drop(c, *r.state.Plan)
	q, report := Optimise(p, r.state.Brief, r.reg)
	report.TimeSaved = r.state.Plan.EstTime - q.EstTime
	report.CostSaved = r.state.Plan.EstCost - q.EstCost
	if report.Unmet != nil {
		if !r.cfg.WarnInfeasible {
			return fmt.Errorf("%w: %q", ErrInfeasible, report.Unmet)
		}
		for _, unmet := range report.Unmet {
			r.warn(c, "constraints_unmet", "%s", unmet)
		}
	}
	if band, err := routing.BandOf(q.Complexity); err == nil && len(q.workers()) < band.Min && len(q.workers()) < len(r.state.Plan.workers()) {
		r.warn(c, "below_band", "%d workers are left, a %s task is worth %d", len(q.workers()), band.Name, band.Min)
	}
	r.missed, r.removed = nil, report.Removed
	for _, id := range report.Removed {
		r.warnOf(c, id, "removed to meet budget and time")
	}
	r.state.Plan = &q
	r.act(c, strategist, "optimize_plan", map[string]any{"time_saved": report.TimeSaved.Minutes(), "cost_saved": dollars(report.CostSaved)})
	c.Emit("optimized", Event{Plan: &q, Report: &report})
	r.fire(c, "optimized", "optimized")
	return nil
}

// drop takes out what planner and strategist find unnecessary, but for what must stay
// (R53, RC34). A strategist that fails is done without (RX27).
func (r *run) drop(c *orchestrator.Context, p Plan) Plan {
	names := slices.Clone(p.Drop)
	if r.cfg.Strategist != "" {
		text, err := r.prompts.Fill("strategy.tmpl", promptData{Iteration: r.state.Iteration})
		var found drops
		if err == nil {
			found, _, err = orchestrator.Ask[drops](c, r.cfg.Strategist, agent.Request{
				Op: "strategy", Prompt: text, Input: agent.JSON(strategyInput{r.state.Brief, p}), Limits: r.metaLimits(),
			})
		}
		if err != nil {
			r.warn(c, "strategy_unavailable", "the strategist failed: %s", prompt.OneLine(err.Error()))
		}
		names = append(names, found.Drop...)
	}
	o := &optimiser{plan: p, brief: r.state.Brief, reg: r.reg}
	for o.remove(func(_ *optimiser, c candidate) bool { return slices.Contains(names, c.ID) }) {
	}
	return o.plan
}

type strategyInput struct {
	Brief Brief `json:"brief"`
	Plan  Plan  `json:"plan"`
}

type drops struct {
	Drop []string `json:"drop"`
}

// replan is R82: the plan is in the history already (RC14); the next iteration begins.
func (r *run) replan(c *orchestrator.Context) {
	r.fire(c, "revise", "retryable")
	r.state.Iteration++
	r.state.Plan, r.state.StepIndex = nil, 0
	r.state.Analysis, r.state.Writing, r.state.Quality = []WorkerOutput{}, []WorkerOutput{}, []WorkerOutput{}
	r.act(c, supervisor, "re_plan", map[string]any{"iteration": r.state.Iteration, "reason": "quality_low"})
	c.Emit("replan", Event{Iteration: r.state.Iteration, Text: deref(r.state.Feedback)})
	r.fire(c, "replan", "")
}
