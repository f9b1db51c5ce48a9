package research

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

// ErrInfeasible says that a plan cannot meet the brief's budget or time (RC36).
const ErrInfeasible = agent.Code("research/infeasible-plan")

// Report is what Optimise did.
type Report struct {
	Parallelised []string          `json:"parallelised,omitempty"` // steps
	Merged       []string          `json:"merged,omitempty"`       // steps that were joined to the one before
	Removed      []string          `json:"removed,omitempty"`      // workers
	Swapped      []string          `json:"swapped,omitempty"`      // workers, as "dear -> cheap"
	TimeSaved    time.Duration     `json:"time_saved"`             // of the estimate, nanoseconds
	CostSaved    providers.NanoUSD `json:"cost_saved"`
	Unmet        []string          `json:"unmet,omitempty"` // limits that the plan still exceeds
}

// Optimise makes a plan fit the brief's budget and time (R49-R57). It is a pure
// function: whoever wrote the plan, the same one comes out, and a second time nothing
// changes. In this order it
//
//  1. has the workers of a step work side by side where none needs another (R52),
//  2. joins steps of one category that follow each other, where that holds for all of
//     their workers (R57),
//  3. over budget, removes optional workers: the least priority first, then quality,
//     research, analysis, writing, then the last in the plan,
//  4. still over budget, takes cheaper workers, in place of the dearest first,
//  5. over time, removes like 3, but only where that saves time,
//  6. does it all again as long as something changes, for what is removed may let others
//     work side by side,
//  7. says what it could not meet.
//
// It never removes a critical worker, nor the last one of research or of writing
// (RC35).
func Optimise(p Plan, b Brief, reg Registry) (Plan, Report) {
	b = b.withDefaults()
	reg = reg.withDefaults()
	o := &optimiser{plan: p.tidy(reg), brief: b, reg: reg}
	before := o.plan
	for changes := -1; changes != o.report.changes(); {
		changes = o.report.changes()
		o.round()
	}
	if o.dear() {
		o.report.Unmet = append(o.report.Unmet, fmt.Sprintf("it costs about %s USD, the limit is %s", usd(o.plan.EstCost), usd(b.MaxBudget)))
	}
	if o.late() {
		o.report.Unmet = append(o.report.Unmet, fmt.Sprintf("it takes about %v, the limit is %v", o.plan.EstTime, b.MaxTime))
	}
	o.report.TimeSaved = before.EstTime - o.plan.EstTime
	o.report.CostSaved = before.EstCost - o.plan.EstCost
	return o.plan, o.report
}

// changes is how many there were.
func (r Report) changes() int {
	return len(r.Parallelised) + len(r.Merged) + len(r.Removed) + len(r.Swapped)
}

// round does each step of Optimise once.
func (o *optimiser) round() {
	o.parallelise()
	o.merge()
	for o.dear() && o.remove(anyCandidate) {
	}
	for o.dear() && o.swap() {
	}
	for o.late() && o.remove(savesTime) {
	}
}

func (o *optimiser) dear() bool { return o.plan.EstCost > o.brief.MaxBudget }

type optimiser struct {
	plan   Plan
	brief  Brief
	reg    Registry
	report Report
}

func (o *optimiser) late() bool { return o.brief.MaxTime > 0 && o.plan.EstTime > o.brief.MaxTime }

// independent tells whether workers can work side by side.
func (o *optimiser) independent(ids []string) bool {
	needs, produces := make([][]string, len(ids)), make([][]string, len(ids))
	for i, id := range ids {
		w, _ := o.reg.Worker(id)
		needs[i], produces[i] = w.Needs, w.Produces
	}
	return routing.Independent(needs, produces)
}

func (o *optimiser) parallelise() {
	for i := range o.plan.Steps {
		s := &o.plan.Steps[i]
		if s.Mode == Sequential && len(s.Workers) > 1 && o.independent(s.Workers) {
			s.Mode = Parallel
			o.report.Parallelised = append(o.report.Parallelised, s.ID)
		}
	}
	o.plan = o.plan.estimate(o.reg)
}

func (o *optimiser) merge() {
	var steps []Step
	for _, s := range o.plan.Steps {
		if n := len(steps); n > 0 && steps[n-1].Category == s.Category && !slices.Contains(s.DependsOn, steps[n-1].ID) {
			all := slices.Concat(steps[n-1].Workers, s.Workers)
			slices.Sort(all)
			if unique := slices.Compact(slices.Clone(all)); len(unique) == len(all) && o.independent(all) {
				last := &steps[n-1]
				last.Workers = slices.Concat(last.Workers, s.Workers)
				last.Mode = Parallel
				o.report.Merged = append(o.report.Merged, s.ID)
				o.rename(s.ID, last.ID)
				continue
			}
		}
		steps = append(steps, s)
	}
	o.plan.Steps = steps
	o.plan = o.plan.estimate(o.reg)
}

// rename makes later steps depend on the step that another one was joined to.
func (o *optimiser) rename(from, to string) {
	for i := range o.plan.Steps {
		on := o.plan.Steps[i].DependsOn
		for j := range on {
			if on[j] == from {
				on[j] = to
			}
		}
	}
}

// candidate is a worker that may be removed.
type candidate struct {
	Worker
	step, place int
	position    int // in the plan
}

func anyCandidate(*optimiser, candidate) bool { return true }

func savesTime(o *optimiser, c candidate) bool {
	return o.without(c).EstTime < o.plan.EstTime
}

// remove takes the first candidate out of the plan, and tells whether there was one.
func (o *optimiser) remove(fits func(*optimiser, candidate) bool) bool {
	for _, c := range o.candidates() {
		if fits(o, c) {
			o.plan = o.without(c)
			o.report.Removed = append(o.report.Removed, c.ID)
			return true
		}
	}
	return false
}

// without is the plan without a worker, and without its step if that is empty then.
func (o *optimiser) without(c candidate) Plan {
	p := o.plan.clone()
	s := &p.Steps[c.step]
	s.Workers = slices.Delete(s.Workers, c.place, c.place+1)
	if len(s.Workers) == 0 {
		gone := s.ID
		p.Steps = slices.Delete(p.Steps, c.step, c.step+1)
		for i := range p.Steps {
			p.Steps[i].DependsOn = slices.DeleteFunc(p.Steps[i].DependsOn, func(id string) bool { return id == gone })
		}
	}
	return p.estimate(o.reg)
}

// candidates are the workers that may go, the first to go first.
func (o *optimiser) candidates() []candidate {
	count := map[Category]int{}
	var all []candidate
	for i, s := range o.plan.Steps {
		for j, id := range s.Workers {
			w, _ := o.reg.Worker(id)
			count[w.Category]++
			all = append(all, candidate{Worker: w, step: i, place: j, position: len(all)})
		}
	}
	all = slices.DeleteFunc(all, func(c candidate) bool {
		needed := (c.Category == Researching || c.Category == Writing) && count[c.Category] == 1
		return c.Critical || needed
	})
	slices.SortStableFunc(all, func(a, b candidate) int {
		return cmp.Or(
			cmp.Compare(slices.Index(leastFirst, a.Priority), slices.Index(leastFirst, b.Priority)),
			cmp.Compare(slices.Index(goFirst, a.Category), slices.Index(goFirst, b.Category)),
			cmp.Compare(b.position, a.position),
		)
	})
	return all
}

var (
	leastFirst = []Priority{Low, Medium, High}
	goFirst    = []Category{Checking, Researching, Analysing, Writing}
)

// swap takes a cheaper worker in place of the dearest that has one, and tells whether
// there was one.
func (o *optimiser) swap() bool {
	var best *candidate
	for i, s := range o.plan.Steps {
		for j, id := range s.Workers {
			w, _ := o.reg.Worker(id)
			cheap, ok := o.reg.Worker(w.Cheaper)
			if !ok || cheap.EstCost >= w.EstCost || slices.Contains(o.plan.workers(), cheap.ID) {
				continue
			}
			if best == nil || w.EstCost > best.EstCost {
				best = &candidate{Worker: w, step: i, place: j}
			}
		}
	}
	if best == nil {
		return false
	}
	o.plan = o.plan.clone()
	o.plan.Steps[best.step].Workers[best.place] = best.Cheaper
	o.plan = o.plan.estimate(o.reg)
	o.report.Swapped = append(o.report.Swapped, best.ID+" -> "+best.Cheaper)
	return true
}
