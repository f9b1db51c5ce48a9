package research

import (
	"fmt"
	"slices"
	"time"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/internal/team"
	"github.com/convene-go/convene/providers"
)

// ErrInfeasible says that no plan with the critical workers meets money and time.
const ErrInfeasible = agent.Code("research/infeasible-plan")

// Bounds are what a plan may take. A zero field is no bound, a negative one allows
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
	Swapped      []string          `json:"swapped,omitempty"`      // workers, as "dear -> cheap"
	UnmetNeeds   []string          `json:"unmet_needs,omitempty"`  // of critical workers, as "writer needs analysis"
	TimeSaved    time.Duration     `json:"time_saved"`             // of the estimate
	CostSaved    providers.NanoUSD `json:"cost_saved"`
	Unmet        []string          `json:"unmet,omitempty"` // bounds that the plan exceeds: there is no plan that does not
}

// Optimise returns the best plan within bounds that can be made of p. It is a pure
// function, and a second time nothing changes.
//
// Workers of a step work side by side where none needs another one, and steps of one
// category that follow each other are joined, where that holds for all their workers.
// What does not fit then is left out, or done by Worker.Cheaper, so that of all plans
// that fit the best remains: first by what becomes of the critical workers, which all
// stay; then by how many of their needs are met; then by what becomes of the others,
// those that matter most first: by priority, then writing, analysis, research, quality,
// then in the order of the plan. A plan with research workers keeps one, and an
// optional worker stays only if what it needs is made before it, as far as anybody in p
// makes it.
//
// Where no plan fits, Report.Unmet says why, and the plan has what must stay. A plan
// that is too large or too entangled is ErrInvalidPlan.
func Optimise(p Plan, within Bounds, workers []Worker) (Plan, Report, error) {
	if err := p.tooLarge(); err != nil {
		return p, Report{}, team.Fail(ErrInvalidPlan, "%w", err)
	}
	var report Report
	workers = withDefaults(workers)
	before := p.complete(workers).without(nobody).estimated(workers, within.StepLimit)
	all := before.arranged(workers, &report)
	s := newSelection(all, within, workers)
	feasible := s.choose(&report)
	if s.checks > maxChecks {
		return p, Report{}, team.Fail(ErrInvalidPlan, "the plan is too entangled: more than %d combinations of its workers were tried", maxChecks)
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

// selection decides who of a plan stays.
type selection struct {
	within Bounds
	steps  []*stage // behind them one with the end of the plan
	order  []*item  // by value, critical ones first; without the end
	checks int
	keep   bool            // what completes a plan stays picked
	made   map[string]bool // reused by each check
}

// stage are the items of a step.
type stage struct {
	items []*item
	known bool // what their picks cost and take
	cost  providers.NanoUSD
	took  time.Duration
}

// item is a place of a worker in a plan.
type item struct {
	Worker
	step    *stage
	at      int
	options []*option // the worker, its cheaper one, and nobody unless it is critical
	open    *option   // what it costs and takes at least while it is undecided
	pick    *option   // one of these
}

// option is who does the part of an item. Nobody has no ID.
type option struct {
	Worker
	wants []string // what it needs of what can be made before it
	needs []string // of these, what must be made before it
	makes []string
}

// Products beside those that workers name.
const (
	presence = ""     // of a research worker
	decision = "\x00" // of nobody: an undecided critical item needs it
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

// newOption is a worker behind those who can make what is possible. What a critical one
// wants it need not have.
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

// rank is by what workers are ordered: what matters more has less.
func (w Worker) rank() int {
	return 100*slices.Index([]bool{true, false}, w.Critical) + 10*slices.Index([]Priority{High, Medium, Low}, w.Priority) +
		slices.Index([]Category{Writing, Analysing, Researching, Checking}, w.Category)
}

// choose decides each item, and reports needs of critical items that are not met.
// false: no plan fits; then what must stay is kept whatever it costs.
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

// reduce picks what must stay, whatever it costs.
func (s *selection) reduce() {
	s.within, s.keep = Bounds{}, true
	for _, it := range s.order {
		if it.set(it.open); it.Critical {
			it.set(it.options[len(it.options)-1])
		}
	}
	s.valid()
}

// best picks the first option of an item with which there is a valid plan; false: none.
func (s *selection) best(it *item) bool {
	return slices.ContainsFunc(it.options, func(o *option) bool { return s.try(it, o) })
}

// try picks an option, and tells whether there is a valid plan with it. A cheaper worker
// stands for one worker alone.
func (s *selection) try(it *item, o *option) bool {
	it.set(o)
	return !slices.ContainsFunc(s.order, func(other *item) bool {
		return o.ID != "" && other.pick.ID == o.ID && other.ID != it.ID
	}) && s.valid()
}

// valid tells whether what is undecided can complete what is picked to a valid plan: it
// looks for who can make the first product that lacks, by value, and so on.
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

// look tells whether what is picked is within the bounds, and at which item a product
// lacks first; nil: nowhere.
func (s *selection) look() (fits bool, where *item, lack string) {
	var cost providers.NanoUSD
	var took time.Duration
	clear(s.made)
	for _, step := range s.steps {
		for _, it := range step.items {
			for _, product := range it.pick.needs {
				if where == nil && !s.made[product] {
					where, lack = it, product
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
	return !exceeds(cost, s.within.Cost) && !exceeds(took, s.within.Time), where, lack
}

// selected is p with who was picked.
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
	return p.without(nobody)
}
