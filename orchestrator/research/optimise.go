package research

import (
	"fmt"
	"slices"
	"time"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// ErrInfeasible says that no plan with the critical workers meets money and time.
const ErrInfeasible = agent.Code("research/infeasible-plan")

// Bounds are what a plan may use. A zero field is no bound, a negative one allows
// nothing.
type Bounds struct {
	Cost      providers.NanoUSD
	Time      time.Duration
	StepLimit int // workers of a step at once
}

// exceeds tells whether an amount is beyond its bound.
func exceeds[N ~int64](n, bound N) bool { return bound != 0 && n > bound }

// Report is what Optimise did.
type Report struct {
	Parallelised []string          `json:"parallelised,omitempty"` // steps
	Merged       []string          `json:"merged,omitempty"`       // steps that were joined to the one before
	Removed      []string          `json:"removed,omitempty"`      // workers
	Swapped      []string          `json:"swapped,omitempty"`      // workers, as "expensive -> cheap"
	UnmetNeeds   []string          `json:"unmet_needs,omitempty"`  // of critical workers, as "writer needs analysis"
	TimeSaved    time.Duration     `json:"time_saved"`             // of the estimate
	CostSaved    providers.NanoUSD `json:"cost_saved"`
	Unmet        []string          `json:"unmet,omitempty"` // bounds that every plan exceeds
}

// Optimise returns the best plan within bounds that can be made of p. It is a pure
// function, and idempotent.
//
// Workers of a step run in parallel unless one needs another one's products, and
// consecutive steps of one category are joined if their workers do not need each other.
// If that exceeds the bounds, workers are left out, or replaced by Worker.Cheaper. Of all
// plans that fit, the best is chosen: first by its critical workers, which all stay; then
// by how many of their needs are met; then by the other workers, in the order of
// priority, then writing, analysis, research, quality, then the order of the plan. A plan
// with research workers keeps one, and an optional worker stays only if its needs are
// made before it, unless no worker in p makes them.
//
// If no plan fits, Report.Unmet says why, and the plan has the critical workers, and those
// that a plan cannot do without. A plan that is too large or has too many combinations is
// ErrInvalidPlan.
func Optimise(p Plan, within Bounds, workers []Worker) (Plan, Report, error) {
	if err := p.tooLarge(); err != nil {
		return p, Report{}, team.Fail(ErrInvalidPlan, "%w", err)
	}
	var report Report
	workers = withDefaults(workers)
	before := p.complete(workers).without(noID).estimated(workers, within.StepLimit)
	all := before.arranged(workers, &report)
	s := newSelection(all, within, workers)
	feasible := s.choose(&report)
	if s.checks > maxChecks {
		return p, Report{}, team.Fail(ErrInvalidPlan, "the plan is too complex: more than %d combinations of its workers were tried", maxChecks)
	}
	q := s.selected(all, &report).arranged(workers, &report).estimated(workers, within.StepLimit)
	report.TimeSaved, report.CostSaved = before.EstTime-q.EstTime, before.EstCost-q.EstCost
	if !feasible && exceeds(q.EstCost, within.Cost) {
		report.Unmet = append(report.Unmet, fmt.Sprintf("it costs about %s USD, the limit is %s", amount(q.EstCost), amount(max(within.Cost, 0))))
	}
	if !feasible && exceeds(q.EstTime, within.Time) {
		report.Unmet = append(report.Unmet, fmt.Sprintf("it takes about %s minutes, the limit is %s", minutes(q.EstTime), minutes(max(within.Time, 0))))
	}
	return q, report, nil
}

// maxChecks is how many combinations of workers are tried for one plan.
const maxChecks = 100_000

// selection decides which workers of a plan stay.
type selection struct {
	within Bounds
	steps  []*stage // and one more for the end of the plan
	order  []*item  // by value, critical ones first; without the end
	checks int
	keep   bool            // keep the picks that complete a plan
	made   map[string]bool // reused by each check
}

// stage are the items of a step.
type stage struct {
	items []*item
	known bool // whether cost and time of their picks are known
	cost  providers.NanoUSD
	took  time.Duration
}

// item is a place of a worker in a plan.
type item struct {
	Worker
	step    *stage
	at      int
	options []*option // the worker, its cheaper one, and no worker unless it is critical
	open    *option   // the least cost and time, while it is undecided
	pick    *option   // one of these
}

// option is a worker for an item. One without an ID is no worker.
type option struct {
	Worker
	wants []string // its needs that can be made before it
	needs []string // those of wants that must be made before it
	makes []string
}

// Products beside those that workers name.
const (
	presence = ""     // of a research worker
	decision = "\x00" // made by no worker: an undecided critical item needs it
)

func newSelection(p Plan, within Bounds, workers []Worker) *selection {
	s := &selection{within: within, made: map[string]bool{}}
	planned, possible := p.workers(), map[string]bool{}
	for _, step := range p.Steps {
		here := new(stage)
		for _, w := range step.members(workers) {
			it := &item{Worker: w, step: here, at: len(s.order), options: []*option{newOption(w, possible)}, open: new(option)}
			if c := find(workers, w.Cheaper); c.ID != "" && c.EstCost < w.EstCost && !slices.Contains(planned, c.ID) {
				it.options = append(it.options, newOption(c, possible))
			}
			for _, o := range it.options {
				for _, product := range o.makes {
					possible[product] = true
				}
			}
			if least := it.options[len(it.options)-1]; w.Critical {
				it.open.needs, it.open.EstCost, it.open.EstTime = []string{decision}, least.EstCost, min(least.EstTime, w.EstTime)
			} else {
				it.options = append(it.options, new(option))
			}
			it.pick = it.open
			here.items, s.order = append(here.items, it), append(s.order, it)
		}
		s.steps = append(s.steps, here)
	}
	end := &item{at: len(s.order), pick: new(option)}
	if possible[presence] {
		end.pick.needs = []string{presence}
	}
	s.steps = append(s.steps, &stage{items: []*item{end}})
	slices.SortStableFunc(s.order, func(a, b *item) int { return a.rank() - b.rank() })
	return s
}

// newOption returns the option of a worker that follows makers of possible products. A
// critical worker stays even if its wants are not met.
func newOption(w Worker, possible map[string]bool) *option {
	o := &option{Worker: w, makes: slices.Clone(w.Produces)}
	o.wants = slices.DeleteFunc(slices.Clone(w.Needs), func(product string) bool { return !possible[product] })
	if !w.Critical {
		o.needs = o.wants
	}
	if w.Category == Researching {
		o.makes = append(o.makes, presence)
	}
	return o
}

// set picks an option.
func (it *item) set(o *option) { it.pick, it.step.known = o, false }

// rank orders workers: a lower rank matters more.
func (w Worker) rank() int {
	return 100*slices.Index([]bool{true, false}, w.Critical) + 10*slices.Index([]Priority{High, Medium, Low}, w.Priority) +
		slices.Index([]Category{Writing, Analysing, Researching, Checking}, w.Category)
}

// choose decides each item, and reports needs of critical items that are not met. false:
// no plan fits; then it keeps what reduce picks.
func (s *selection) choose(report *Report) bool {
	for _, it := range s.order {
		if it.Critical && !s.best(it) {
			s.reduce()
			return false
		}
	}
	for _, it := range s.order {
		if !it.Critical {
			s.best(it)
			continue
		}
		o := it.pick
		for _, want := range o.wants {
			if o.needs = append(o.needs, want); !s.valid() {
				o.needs = o.needs[:len(o.needs)-1]
				report.UnmetNeeds = append(report.UnmetNeeds, o.ID+" needs "+want)
			}
		}
	}
	return true
}

// reduce picks the critical workers, and what a plan cannot do without, at the least cost.
func (s *selection) reduce() {
	s.within, s.keep = Bounds{}, true
	for _, it := range s.order {
		if it.set(it.open); it.Critical {
			it.set(it.options[len(it.options)-1])
		}
	}
	s.valid()
}

// best picks the first option of an item that allows a valid plan; false: none does.
func (s *selection) best(it *item) bool {
	return slices.ContainsFunc(it.options, func(o *option) bool { return s.try(it, o) })
}

// try picks an option, and tells whether a valid plan is possible with it. A cheaper worker
// replaces only one worker.
func (s *selection) try(it *item, o *option) bool {
	it.set(o)
	return !slices.ContainsFunc(s.order, func(other *item) bool {
		return o.ID != "" && other.pick.ID == o.ID && other.ID != it.ID
	}) && s.valid()
}

// valid tells whether undecided items can complete the picks to a valid plan: it searches
// for an option that makes the first missing product, by value, recursively.
func (s *selection) valid() bool {
	if s.checks++; s.checks > maxChecks {
		return false
	}
	fits, where, product := s.look()
	if !fits || where == nil {
		return fits
	}
	for _, it := range s.order {
		for _, o := range it.options {
			serves := it.at < where.at && slices.Contains(o.makes, product)
			if it.pick != it.open || it != where && !serves {
				continue
			}
			done := s.try(it, o)
			if !done || !s.keep {
				it.set(it.open)
			}
			if done {
				return true
			}
		}
	}
	return false
}

// look tells whether the picks are within the bounds, and at which item the first product
// is missing; nil: none is.
func (s *selection) look() (fits bool, where *item, missing string) {
	var cost providers.NanoUSD
	var took time.Duration
	clear(s.made)
	for _, step := range s.steps {
		for _, it := range step.items {
			for _, product := range it.pick.needs {
				if where == nil && !s.made[product] {
					where, missing = it, product
				}
			}
			for _, product := range it.pick.makes {
				s.made[product] = true
			}
		}
		if !step.known {
			var all []Worker
			for _, it := range step.items {
				all = append(all, it.pick.Worker)
			}
			step.cost, step.took = effort(all, s.within.StepLimit)
			step.known = true
		}
		cost, took = cost+step.cost, took+step.took
	}
	return !exceeds(cost, s.within.Cost) && !exceeds(took, s.within.Time), where, missing
}

// selected is p with the picked workers.
func (s *selection) selected(p Plan, report *Report) Plan {
	p.Steps = slices.Clone(p.Steps)
	for i := range p.Steps {
		step := &p.Steps[i]
		step.Workers = nil
		for _, it := range s.steps[i].items {
			id := it.pick.ID
			if step.Workers = append(step.Workers, id); id == "" {
				report.Removed = append(report.Removed, it.ID)
			} else if id != it.ID {
				report.Swapped = append(report.Swapped, it.ID+" -> "+id)
			}
		}
	}
	return p.without(noID)
}
