package research

import (
	"fmt"
	"slices"
	"time"

	"github.com/convene-go/convene/orchestrator/agent"
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
		return p, Report{}, coded(ErrInvalidPlan, "%w", err)
	}
	var report Report
	workers = withDefaults(workers)
	before := p.proposal().plan(workers).without(func(int, string) bool { return false }).estimated(workers, within.StepLimit)
	all := before.arranged(workers, &report)
	s := newSelection(all, within, workers)
	feasible := s.choose(&report)
	if s.checks > maxChecks {
		return p, Report{}, coded(ErrInvalidPlan, "the plan is too entangled: more than %d combinations of its workers were tried", maxChecks)
	}
	q := s.selected(all, &report).arranged(workers, &report).estimated(workers, within.StepLimit)
	q.ID = p.ID
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
	items  []item
	order  []int   // of items, by their value
	levels []int   // of items: an index of options, or undecided or out
	must   [][]int // needs that are to be met, of critical items and at the end of the plan
	found  []int   // the levels of the last valid plan
	names  []string
	checks int

	made, makers []int // reused by each check, by product
	times        []time.Duration
}

// item is a place of a worker in a plan.
type item struct {
	step     int
	critical bool
	options  []option // the worker itself, and its cheaper one
	least    option   // what a critical one that is not decided costs and takes at least
}

type option struct {
	Worker
	needs, uses, makes []int // products; needs without those that nobody makes before
}

// The levels beside the indexes of options, and the products beside those with a name.
const (
	undecided = -1
	out       = -2
	itself    = -1 // lacks where a critical item is not decided
	presence  = 0  // of a research worker
)

func newSelection(p Plan, within Bounds, workers []Worker) *selection {
	s := &selection{within: within, names: []string{presence: ""}}
	number := func(names []string) (all []int) {
		for _, name := range names {
			if !slices.Contains(s.names, name) {
				s.names = append(s.names, name)
			}
			all = append(all, slices.Index(s.names, name))
		}
		return all
	}
	planned, made := p.workers(), map[int]bool{} // made by somebody so far
	for step := range p.Steps {
		for _, w := range p.Steps[step].members(workers) {
			it := item{step: step, critical: w.Critical, options: []option{{Worker: w}}, least: option{Worker: w}}
			if c, ok := find(workers, w.Cheaper); ok && c.EstCost < w.EstCost && !slices.Contains(planned, c.ID) {
				it.options = append(it.options, option{Worker: c})
				it.least.EstCost, it.least.EstTime = c.EstCost, min(c.EstTime, w.EstTime)
			}
			var makes []int
			for i := range it.options {
				o := &it.options[i]
				o.uses, o.makes = number(o.Needs), number(o.Produces)
				if o.Category == Researching {
					o.makes = append(o.makes, presence)
				}
				o.needs = slices.DeleteFunc(slices.Clone(o.uses), func(n int) bool { return !made[n] })
				makes = append(makes, o.makes...)
			}
			for _, m := range makes {
				made[m] = true
			}
			s.items, s.order = append(s.items, it), append(s.order, len(s.items))
		}
	}
	s.levels, s.must = slices.Repeat([]int{undecided}, len(s.items)), make([][]int, len(s.items)+1)
	if made[presence] {
		s.must[len(s.items)] = []int{presence}
	}
	s.made, s.makers = make([]int, len(s.names)), make([]int, len(s.names))
	slices.SortStableFunc(s.order, func(a, b int) int { return slices.Compare(s.items[a].rank(), s.items[b].rank()) })
	return s
}

// rank is by what items are ordered: what matters more has less.
func (it item) rank() []int {
	critical := slices.Index([]bool{true, false}, it.critical)
	return []int{
		critical, slices.Index([]Priority{High, Medium, Low}, it.options[0].Priority),
		slices.Index([]Category{Writing, Analysing, Researching, Checking}, it.options[0].Category),
	}
}

// choose decides the level of each item, and reports needs of critical items that are
// not met. false: no plan fits; then what must stay is kept whatever it costs.
func (s *selection) choose(report *Report) bool {
	critical := slices.DeleteFunc(slices.Clone(s.order), func(i int) bool { return !s.items[i].critical })
	for _, i := range critical {
		if s.best(i) || s.checks > maxChecks {
			continue
		}
		s.within = Bounds{}
		for i := range s.levels {
			if s.levels[i] = undecided; s.items[i].critical {
				s.levels[i] = len(s.items[i].options) - 1
			}
		}
		s.valid()
		copy(s.levels, s.found)
		return false
	}
	for _, i := range critical {
		o := s.items[i].options[max(s.levels[i], 0)]
		for _, need := range o.needs {
			if s.must[i] = append(s.must[i], need); !s.valid() {
				s.must[i] = s.must[i][:len(s.must[i])-1]
				report.UnmetNeeds = append(report.UnmetNeeds, o.ID+" needs "+s.names[need])
			}
		}
	}
	for _, i := range s.order[len(critical):] {
		s.best(i)
	}
	return true
}

// best gives an item the highest level with which there is a valid plan; false: none, so
// that it is out.
func (s *selection) best(i int) bool {
	for level := range s.items[i].options {
		if s.levels[i] = level; s.free(i) && s.valid() {
			return true
		}
	}
	s.levels[i] = out
	return false
}

// free tells whether an item may have its level: a cheaper worker stands for one alone.
func (s *selection) free(i int) bool {
	same := func(j, level int) bool {
		return level > 0 && s.items[j].options[level].ID == s.items[i].options[1].ID && s.items[j].options[0].ID != s.items[i].options[0].ID
	}
	for j, level := range s.levels {
		if s.levels[i] > 0 && same(j, level) {
			return false
		}
	}
	return true
}

// valid tells whether the decided levels can be completed to a valid plan, which found
// has then: it looks for who can make the first product that lacks, by value, and so on.
func (s *selection) valid() bool {
	if s.checks++; s.checks > maxChecks {
		return false
	}
	fits, before, lack := s.look()
	if fits && before < 0 {
		s.found = slices.Clone(s.levels)
	}
	if !fits || before < 0 {
		return fits
	}
	for _, i := range s.order {
		for level, o := range s.items[i].options {
			serves := i < before && slices.Contains(o.makes, lack)
			if s.levels[i] != undecided || !serves && (lack != itself || i != before) {
				continue
			}
			s.levels[i] = level
			done := s.free(i) && s.valid()
			if s.levels[i] = undecided; done {
				return true
			}
		}
	}
	return false
}

// look tells whether what is kept is within the bounds, and the first product that
// somebody kept lacks, who sits at before; -1: nobody.
func (s *selection) look() (fits bool, before, lack int) {
	var cost providers.NanoUSD
	var took time.Duration
	clear(s.made)
	before = -1
	lacks := func(i, product int) {
		if before < 0 {
			before, lack = i, product
		}
	}
	for from, to := 0, 0; from < len(s.items); from = to {
		s.times = s.times[:0]
		for ; to < len(s.items) && s.items[to].step == s.items[from].step; to++ {
			o := s.kept(to)
			if o == nil {
				continue
			}
			if s.levels[to] == undecided {
				lacks(to, itself)
			}
			cost += o.EstCost
			s.times = append(s.times, o.EstTime)
			needs := o.needs
			if s.items[to].critical {
				needs = s.must[to]
			}
			for _, n := range needs {
				if s.made[n] == 0 {
					lacks(to, n)
				}
			}
			for _, m := range o.makes {
				s.made[m]++
				s.makers[m]++
			}
		}
		if s.inTurn(from, to) {
			took += length(s.times, 1)
		} else {
			took += length(s.times, s.within.StepLimit)
		}
	}
	for _, n := range s.must[len(s.items)] {
		if s.made[n] == 0 {
			lacks(len(s.items), n)
		}
	}
	return !exceeds(cost, s.within.Cost) && !exceeds(took, s.within.Time), before, lack
}

// kept is what an item counts as; nil: it is not kept.
func (s *selection) kept(i int) *option {
	switch it := &s.items[i]; {
	case s.levels[i] >= 0:
		return &it.options[s.levels[i]]
	case s.levels[i] == undecided && it.critical:
		return &it.least
	}
	return nil
}

// inTurn tells whether a kept item of a step makes what another one uses, by the makers
// of the step, which it clears.
func (s *selection) inTurn(from, to int) (needed bool) {
	for i := from; i < to; i++ {
		if o := s.kept(i); o != nil {
			for _, n := range o.uses {
				needed = needed || s.makers[n] > 1 || s.makers[n] == 1 && !slices.Contains(o.makes, n)
			}
		}
	}
	for i := from; i < to; i++ {
		if o := s.kept(i); o != nil {
			for _, m := range o.makes {
				s.makers[m] = 0
			}
		}
	}
	return needed
}

// selected is p with who stays.
func (s *selection) selected(p Plan, report *Report) Plan {
	i := 0
	q := p.without(func(_ int, id string) bool {
		gone := s.levels[i] < 0
		if gone {
			report.Removed = append(report.Removed, id)
		}
		i++
		return gone
	})
	i = 0
	for _, step := range q.Steps {
		for k, id := range step.Workers {
			for s.levels[i] < 0 {
				i++
			}
			if step.Workers[k] = s.items[i].options[s.levels[i]].ID; step.Workers[k] != id {
				report.Swapped = append(report.Swapped, id+" -> "+step.Workers[k])
			}
			i++
		}
	}
	return q
}
