package research

import (
	"slices"
	"time"

	"github.com/convene-go/convene/providers"
)

// maxChecks is how many combinations of workers are tried for one plan.
const maxChecks = 100_000

// selection decides which workers of a plan stay.
type selection struct {
	within Room
	steps  []*stage // and one more for the end of the plan
	order  []*item  // items by value, critical ones first; without the end
	checks int
	keep   bool            // keep the picks that complete a plan
	made   map[string]bool // reused by each check
	apart  [][]pair        // pairs of a step and one before it, by their indexes
}

// stage are the items of a step.
type stage struct {
	*block

	items []*item
	known bool // cost and time of the picks are known
	edits int  // how often the picks changed
	cost  providers.NanoUSD
}

// pair says whether two steps cannot be joined, since the picks had that many edits.
type pair struct {
	edits [2]int
	clash bool
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
	presence = ""     // a research worker is there
	decision = "\x00" // made by no worker: an undecided critical item needs it
)

func newSelection(p Plan, within Room, workers []Worker) *selection {
	s := &selection{within: within, made: map[string]bool{}}
	planned, possible, blocks := p.workers(), map[string]bool{}, p.blocks()
	for i, step := range p.Steps {
		here := &stage{block: blocks[i]}
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
	s.steps = append(s.steps, &stage{block: new(block), items: []*item{end}})
	s.apart = make([][]pair, len(s.steps))
	for i := range s.apart {
		s.apart[i] = make([]pair, i)
	}
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
	return 100*slices.Index([]bool{true, false}, w.Critical) + 10*slices.Index([]string{high, medium, low}, w.Priority) +
		slices.Index([]Category{Writing, Analysing, Researching, Checking}, w.Category)
}

// choose decides each item, and reports needs of critical items that are not met. false:
// no plan fits.
func (s *selection) choose(report *Report) bool {
	for _, it := range s.order {
		if it.Critical && !s.best(it) {
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
			step.weigh(s.within.StepLimit)
		}
		cost, took = cost+step.cost, took+step.took
	}
	return !exceeds(cost, s.within.Cost) && (!exceeds(took, s.within.Time) || !exceeds(s.joined(), s.within.Time)), where, missing
}

// weigh sets cost and time of the picks.
func (st *stage) weigh(limit int) {
	var all []Worker
	for _, it := range st.items {
		if it.pick.ID != "" || it.pick == it.open && it.Critical {
			all = append(all, it.pick.Worker)
		}
	}
	st.cost = st.block.weigh(all, limit)
	st.known, st.edits = true, st.edits+1
}

// joined returns the time of the picks if neighbors are joined.
func (s *selection) joined() time.Duration {
	var blocks []*block
	for _, step := range s.steps {
		if len(step.all) > 0 {
			blocks = append(blocks, step.block)
		}
	}
	took, _ := join(blocks, s.within.StepLimit, s.clash)
	return took
}

// clash is [block.clash], which it remembers.
func (s *selection) clash(b, before *block) bool {
	of := &s.apart[b.at][before.at]
	if edits := [2]int{s.steps[b.at].edits, s.steps[before.at].edits}; of.edits != edits {
		*of = pair{edits, b.clash(before)}
	}
	return of.clash
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
