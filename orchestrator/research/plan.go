package research

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// The modes of steps.
const parallel, sequential = "PARALLEL", "SEQUENTIAL"

// Plan says which workers do what, in which order.
type Plan struct {
	ID         string            `json:"id,omitzero"`      // plan-1, plan-2, …; "": the plan is not made yet
	Complexity float64           `json:"complexity"`       // 0 to 1
	Steps      []Step            `json:"steps"`            // in the order of execution
	EstTime    time.Duration     `json:"estTime,omitzero"` // sum of the steps' times; 0: not known
	EstCost    providers.NanoUSD `json:"estCost,omitzero"` // sum of the steps' costs; 0: not known
	Notes      []string          `json:"notes,omitempty"`  // remarks of the planner; nil: none
	Drop       []string          `json:"drop,omitempty"`   // workers that the planner finds unnecessary
}

// Step is work that ends before the next step begins.
type Step struct {
	ID        string            `json:"id"`                  // name, unique in the plan
	Name      string            `json:"name,omitempty"`      // title for people; "": none
	Category  Category          `json:"category"`            // kind of work
	Workers   []string          `json:"workers"`             // IDs
	Mode      string            `json:"mode"`                // PARALLEL: workers at once; SEQUENTIAL: one after another, each with the results of those before it
	DependsOn []string          `json:"dependsOn,omitempty"` // IDs of earlier steps
	EstTime   time.Duration     `json:"estTime,omitzero"`    // 0: not known
	EstCost   providers.NanoUSD `json:"estCost,omitzero"`    // 0: not known
}

// The limits of plans: steps, and workers in all of them.
const maxSteps, maxWorkers = 64, 256

// complete is p with IDs, modes and categories set, and each worker once per step.
func (p Plan) complete(workers []Worker) Plan {
	p.Steps = slices.Clone(p.Steps)
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.ID == "" {
			s.ID = p.free(fmt.Sprintf("step-%d", i+1))
		}
		s.Mode, s.Workers = strings.ToUpper(s.Mode), replaced(s.Workers, nil)
		for _, w := range s.members(workers) {
			s.Category = cmp.Or(s.Category, w.Category)
		}
	}
	return p
}

// free returns id, or with a number behind it, that no step has or names.
func (p Plan) free(id string) string {
	taken := func(id string) bool {
		return slices.ContainsFunc(p.Steps, func(s Step) bool { return s.ID == id || slices.Contains(s.DependsOn, id) })
	}
	name := id
	for n := 2; taken(name); n++ {
		name = fmt.Sprintf("%s-%d", id, n)
	}
	return name
}

// workers returns the IDs of all workers, step by step.
func (p Plan) workers() []string {
	var all []string
	for _, s := range p.Steps {
		all = append(all, s.Workers...)
	}
	return all
}

// without returns p without the workers for which gone is true, and without empty steps:
// what depended on them depends on their dependencies.
func (p Plan) without(gone func(id string) bool) Plan {
	steps, passed := []Step{}, map[string][]string{}
	for _, s := range p.Steps {
		s.Workers = slices.DeleteFunc(slices.Clone(s.Workers), gone)
		s.DependsOn = replaced(s.DependsOn, passed)
		if len(s.Workers) > 0 {
			steps = append(steps, s)
		} else {
			passed[s.ID] = s.DependsOn
		}
	}
	p.Steps = steps
	return p
}

// noID matches an empty place for a worker.
func noID(id string) bool { return id == "" }

// replaced returns names, each once, with names that by has replaced by those in by.
func replaced(names []string, by map[string][]string) (all []string) {
	for _, name := range names {
		others, ok := by[name]
		if !ok {
			others = []string{name}
		}
		for _, other := range others {
			if !slices.Contains(all, other) {
				all = append(all, other)
			}
		}
	}
	return all
}

// members returns the workers of a step.
func (s Step) members(workers []Worker) []Worker {
	all := make([]Worker, len(s.Workers))
	for i, id := range s.Workers {
		all[i] = find(workers, id)
	}
	return all
}

// tooLarge returns an error for a plan beyond the limits.
func (p Plan) tooLarge() error {
	if n := len(p.workers()); len(p.Steps) > maxSteps || n > maxWorkers {
		return fmt.Errorf("the plan has %d steps and %d workers, want at most %d and %d", len(p.Steps), n, maxSteps, maxWorkers)
	}
	return nil
}

// check returns what makes a plan unusable, joined into one error for the planner. unknown
// are the unknown workers, by step; only these can be left out.
func (p Plan) check(workers []Worker) (unknown []string, err error) {
	var f team.Faults
	err = p.tooLarge()
	f.If(err != nil, "%w", err)
	writer, earlier := false, map[string]bool{}
	for i, s := range p.Steps {
		known := 0
		for _, id := range s.Workers {
			w := find(workers, id)
			if w.ID == "" {
				unknown = append(unknown, fmt.Sprintf("steps[%d] names %q, which is no worker", i, id))
				continue
			}
			known++
			writer = writer || w.writes()
		}
		f.If(known > 0 && s.Mode != parallel && s.Mode != sequential, "steps[%d].mode is %q, want PARALLEL or SEQUENTIAL", i, s.Mode)
		f.If(known > 0 && !slices.Contains(categories, s.Category), "steps[%d].category is %q, want one of %q", i, s.Category, categories)
		for _, on := range s.DependsOn {
			f.If(!earlier[on], "steps[%d].depends_on names %q, which is no earlier step", i, on)
		}
		f.If(earlier[s.ID], "steps[%d].id is %q, as that of an earlier step", i, s.ID)
		earlier[s.ID] = true
	}
	f.If(!writer, "the plan needs a step with a critical worker of category %q", Writing)
	return unknown, f.Err()
}

// idFaults returns the faults of the steps' IDs, which are a model's.
func (p Plan) idFaults() error {
	var f team.Faults
	for i, s := range p.Steps {
		if err := text.IDFault(s.ID); err != nil {
			f.Add("steps[%d].id %w", i, err)
		}
	}
	return f.Err()
}

// required adds the workers that the input requires and the planner left out.
func (p Plan) required(in Input, workers []Worker) Plan {
	for _, w := range workers {
		wanted := slices.Contains(w.For.Tones, in.Tone) || slices.ContainsFunc(in.PreferredSources, func(source string) bool {
			return slices.ContainsFunc(w.For.Sources, func(word string) bool {
				return strings.Contains(text.Fold(source), text.Fold(word))
			})
		})
		if wanted && !slices.Contains(p.workers(), w.ID) {
			p = p.with(w)
		}
	}
	return p
}

// with adds a worker: for research to the first step of its category, else to the last
// one; without such a step to a new one, research first and all others last.
func (p Plan) with(w Worker) Plan {
	at := -1
	p.Steps = slices.Clone(p.Steps)
	for i, s := range p.Steps {
		if s.Category == w.Category && (at < 0 || w.Category != Researching) {
			at = i
		}
	}
	if at < 0 {
		if at = len(p.Steps); w.Category == Researching {
			at = 0
		}
		p.Steps = slices.Insert(p.Steps, at, Step{ID: p.free("added-" + w.ID), Category: w.Category, Mode: sequential})
	}
	p.Steps[at].Workers = slices.Concat(p.Steps[at].Workers, []string{w.ID})
	return p
}

// dependent tells whether one of these workers makes what another one needs.
func dependent(all []Worker) bool {
	makers := map[string][]string{} // IDs by product
	for _, w := range all {
		for _, product := range w.Produces {
			makers[product] = append(makers[product], w.ID)
		}
	}
	return slices.ContainsFunc(all, func(w Worker) bool {
		other := func(id string) bool { return id != w.ID }
		return slices.ContainsFunc(w.Needs, func(need string) bool { return slices.ContainsFunc(makers[need], other) })
	})
}

// effort is the cost and time of the workers of a step: costs add up. Times add up if they
// run in sequence; in parallel, each uses the place that is free first, of at most limit
// (0: as many as there are workers).
func effort(all []Worker, limit int) (cost providers.NanoUSD, took time.Duration) {
	limit = max(min(cmp.Or(limit, len(all)), len(all)), 1)
	if dependent(all) {
		limit = 1
	}
	places := make([]time.Duration, limit)
	for i, w := range all {
		if limit < len(all) {
			i = slices.Index(places, slices.Min(places))
		}
		places[i] += w.EstTime
		cost += w.EstCost
	}
	return cost, slices.Max(places)
}

// estimated returns p with times and costs, if limit workers of a step run at once.
func (p Plan) estimated(workers []Worker, limit int) Plan {
	p.Steps, p.EstTime, p.EstCost = slices.Clone(p.Steps), 0, 0
	for i := range p.Steps {
		s, atOnce := &p.Steps[i], limit
		if s.Mode == sequential {
			atOnce = 1
		}
		s.EstCost, s.EstTime = effort(s.members(workers), atOnce)
		p.EstTime += s.EstTime
		p.EstCost += s.EstCost
	}
	return p
}
