package research

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// Mode is how the workers of a step work.
type Mode string

// The modes.
const (
	Parallel   Mode = "PARALLEL"   // side by side
	Sequential Mode = "SEQUENTIAL" // one after another; each sees what those before it made
)

// Plan is who does what, in which order.
type Plan struct {
	ID         string            `json:"id"`         // plan-1, plan-2, …
	Complexity float64           `json:"complexity"` // 0 to 1
	Steps      []Step            `json:"steps"`
	EstTime    time.Duration     `json:"est_time"` // the sum of the steps', as EstCost
	EstCost    providers.NanoUSD `json:"est_cost"`
	Notes      []string          `json:"notes,omitempty"`
	Drop       []string          `json:"drop,omitempty"` // workers that the planner finds unnecessary
}

// Step is work that is done before the next step begins.
type Step struct {
	ID        string            `json:"id"`
	Name      string            `json:"name,omitempty"`
	Category  Category          `json:"category"`
	Workers   []string          `json:"workers"`
	Mode      Mode              `json:"mode"`
	DependsOn []string          `json:"depends_on,omitempty"` // earlier steps
	EstTime   time.Duration     `json:"est_time"`
	EstCost   providers.NanoUSD `json:"est_cost"`
}

// ErrInvalidPlan says that a plan is of no use.
const ErrInvalidPlan = agent.Code("research/invalid-plan")

// The largest plans.
const (
	maxSteps   = 64
	maxWorkers = 256 // places in all steps
)

// proposal is a plan as planners write and read it: without estimates.
type proposal struct {
	Complexity float64        `json:"complexity"`
	Steps      []proposedStep `json:"steps"`
	Notes      []string       `json:"notes,omitempty"`
	Drop       []string       `json:"drop,omitempty"`
}

type proposedStep struct {
	ID        string   `json:"id,omitempty"`
	Name      string   `json:"name,omitempty"`
	Category  Category `json:"category"`
	Workers   []string `json:"workers"`
	Mode      Mode     `json:"mode"`
	DependsOn []string `json:"depends_on,omitempty"`
}

// proposal is p as planners read it.
func (p Plan) proposal() proposal {
	q := proposal{Complexity: p.Complexity, Notes: p.Notes, Drop: p.Drop}
	for _, s := range p.Steps {
		q.Steps = append(q.Steps, proposedStep{s.ID, s.Name, s.Category, s.Workers, s.Mode, s.DependsOn})
	}
	return q
}

// plan is q with IDs and categories filled in. A worker is in a step once.
func (q proposal) plan(workers []Worker) Plan {
	p := Plan{Complexity: q.Complexity, Notes: q.Notes, Drop: q.Drop}
	for i, s := range q.Steps {
		t := Step{
			ID: cmp.Or(s.ID, fmt.Sprintf("step-%d", i+1)), Name: s.Name, Category: s.Category,
			Mode: Mode(strings.ToUpper(string(s.Mode))), DependsOn: s.DependsOn,
		}
		for _, id := range s.Workers {
			if !slices.Contains(t.Workers, id) {
				t.Workers = append(t.Workers, id)
			}
			w, _ := find(workers, id)
			t.Category = cmp.Or(t.Category, w.Category)
		}
		p.Steps = append(p.Steps, t)
	}
	return p
}

// workers returns the IDs of all workers, step by step.
func (p Plan) workers() []string {
	var all []string
	for _, s := range p.Steps {
		all = append(all, s.Workers...)
	}
	return all
}

// clone returns p sharing nothing with it.
func (p Plan) clone() Plan {
	p.Steps = slices.Clone(p.Steps)
	for i, s := range p.Steps {
		p.Steps[i].Workers = slices.Clone(s.Workers)
		p.Steps[i].DependsOn = slices.Clone(s.DependsOn)
	}
	p.Notes, p.Drop = slices.Clone(p.Notes), slices.Clone(p.Drop)
	return p
}

// without returns p without the workers that gone names, and without the steps that are
// empty then: what depended on them depends on what they depended on.
func (p Plan) without(gone func(step int, id string) bool) Plan {
	p = p.clone()
	steps, passed := []Step{}, map[string][]string{}
	for i, s := range p.Steps {
		s.Workers = slices.DeleteFunc(s.Workers, func(id string) bool { return gone(i, id) })
		s.DependsOn = inherit(s.DependsOn, passed)
		if len(s.Workers) > 0 {
			steps = append(steps, s)
		} else {
			passed[s.ID] = s.DependsOn
		}
	}
	p.Steps = steps
	return p
}

// inherit returns names, each once, with those that passed has in the place of others.
func inherit(names []string, passed map[string][]string) []string {
	var all []string
	for _, name := range names {
		for _, heir := range inPlaceOf(name, passed) {
			if !slices.Contains(all, heir) {
				all = append(all, heir)
			}
		}
	}
	return all
}

func inPlaceOf(name string, passed map[string][]string) []string {
	if heirs, ok := passed[name]; ok {
		return heirs
	}
	return []string{name}
}

// members returns the workers of a step.
func (s Step) members(workers []Worker) []Worker {
	all := make([]Worker, len(s.Workers))
	for i, id := range s.Workers {
		all[i], _ = find(workers, id)
	}
	return all
}

// connected tells whether one of these workers makes what another one needs, or is it.
func connected(some, others []Worker) bool {
	return slices.ContainsFunc(some, func(a Worker) bool {
		return slices.ContainsFunc(others, func(b Worker) bool { return a.feeds(b) || b.feeds(a) || a.ID == b.ID })
	})
}

// inTurn tells whether one of these workers makes what another one needs.
func inTurn(all []Worker) bool {
	for i := range all {
		if connected(all[:i], all[i:i+1]) {
			return true
		}
	}
	return false
}

// estimated returns p with times and costs. Costs always add up. Times do where workers
// work in turn; side by side each works on the place that is free first, of at most
// limit (0: as many as there are workers).
func (p Plan) estimated(workers []Worker, limit int) Plan {
	p = p.clone()
	p.EstTime, p.EstCost = 0, 0
	for i := range p.Steps {
		s := &p.Steps[i]
		all := s.members(workers)
		times := make([]time.Duration, len(all))
		s.EstCost = 0
		for j, w := range all {
			times[j] = w.EstTime
			s.EstCost += w.EstCost
		}
		if s.Mode == Sequential || inTurn(all) {
			s.EstTime = length(times, 1)
		} else {
			s.EstTime = length(times, limit)
		}
		p.EstTime += s.EstTime
		p.EstCost += s.EstCost
	}
	return p
}

// length is how long workers take, at most limit side by side (0: all).
func length(times []time.Duration, limit int) time.Duration {
	if limit == 0 {
		limit = len(times)
	}
	places := make([]time.Duration, max(min(limit, len(times)), 1))
	for _, t := range times {
		places[slices.Index(places, slices.Min(places))] += t
	}
	return slices.Max(places)
}

// arranged has the workers of each step work side by side unless one needs another one,
// and joins steps of one category that follow each other and need nothing of each other.
func (p Plan) arranged(workers []Worker, report *Report) Plan {
	p = p.clone()
	steps, joined := []Step{}, map[string][]string{}
	for _, s := range p.Steps {
		all := s.members(workers)
		mode := Parallel
		if inTurn(all) {
			mode = Sequential
		}
		if len(all) > 1 && s.Mode != mode {
			s.Mode = mode
			if mode == Parallel {
				report.Parallelised = append(report.Parallelised, s.ID)
			}
		}
		s.DependsOn = inherit(s.DependsOn, joined)
		if n := len(steps); n > 0 && steps[n-1].takes(s, workers) {
			last := &steps[n-1]
			last.Workers, last.Mode = append(last.Workers, s.Workers...), Parallel
			last.DependsOn = inherit(append(last.DependsOn, s.DependsOn...), nil)
			joined[s.ID] = []string{last.ID}
			report.Merged = append(report.Merged, s.ID)
			continue
		}
		steps = append(steps, s)
	}
	p.Steps = steps
	return p
}

// takes tells whether the step behind s can be joined to it.
func (s Step) takes(next Step, workers []Worker) bool {
	side := func(s Step) bool { return s.Mode == Parallel || len(s.Workers) == 1 }
	return s.Category == next.Category && side(s) && side(next) && !slices.Contains(next.DependsOn, s.ID) &&
		!connected(s.members(workers), next.members(workers))
}

// tooLarge returns an error for a plan beyond what is planned.
func (p Plan) tooLarge() error {
	if n := len(p.workers()); len(p.Steps) > maxSteps || n > maxWorkers {
		return fmt.Errorf("the plan has %d steps and %d workers, want at most %d and %d", len(p.Steps), n, maxSteps, maxWorkers)
	}
	return nil
}

// check returns what makes a plan unusable, joined into one error: it is what a planner
// is told. unknown are the workers that are not known, by step; only they can be left
// out.
func (p Plan) check(workers []Worker) (unknown []string, err error) {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf(format, args...))
	}
	if err := p.tooLarge(); err != nil {
		errs = append(errs, err)
	}
	writer, earlier := false, map[string]bool{}
	for i, s := range p.Steps {
		known := 0
		for _, id := range s.Workers {
			w, ok := find(workers, id)
			if !ok {
				unknown = append(unknown, fmt.Sprintf("steps[%d] names %q, which is no worker", i, id))
				continue
			}
			known++
			writer = writer || w.writes()
		}
		if known > 0 && s.Mode != Parallel && s.Mode != Sequential {
			bad("steps[%d].mode is %q, want PARALLEL or SEQUENTIAL", i, s.Mode)
		}
		if known > 0 && !slices.Contains(categories, s.Category) {
			bad("steps[%d].category is %q, want one of %q", i, s.Category, categories)
		}
		for _, on := range s.DependsOn {
			if !earlier[on] {
				bad("steps[%d].depends_on names %q, which is no earlier step", i, on)
			}
		}
		if earlier[s.ID] {
			bad("steps[%d].id is %q, as that of an earlier step", i, s.ID)
		}
		earlier[s.ID] = true
	}
	if !writer {
		bad("the plan needs a step with a critical worker of category %q", Writing)
	}
	return unknown, errors.Join(errs...)
}

// required adds the workers that the input calls for and the planner left out.
func (p Plan) required(in Input, workers []Worker) Plan {
	p = p.clone()
	for _, w := range workers {
		wanted := slices.Contains(w.For.Tones, in.Tone)
		for _, source := range in.PreferredSources {
			for _, word := range w.For.Sources {
				wanted = wanted || strings.Contains(strings.ToLower(source), strings.ToLower(word))
			}
		}
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
	for i, s := range p.Steps {
		if s.Category == w.Category && (at < 0 || w.Category != Researching) {
			at = i
		}
	}
	step := Step{ID: "added-" + w.ID, Category: w.Category, Workers: []string{w.ID}, Mode: Sequential}
	switch {
	case at >= 0:
		p.Steps[at].Workers = append(p.Steps[at].Workers, w.ID)
	case w.Category == Researching:
		p.Steps = slices.Insert(p.Steps, 0, step)
	default:
		p.Steps = append(p.Steps, step)
	}
	return p
}
