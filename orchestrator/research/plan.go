package research

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

// Mode is how the workers of a step work (R37).
type Mode string

// The modes.
const (
	Parallel   Mode = "PARALLEL"   // side by side
	Sequential Mode = "SEQUENTIAL" // one after another; each sees what those before it made
)

// Plan is who does what, in which order.
type Plan struct {
	ID         string            `json:"id"`         // plan-1, plan-2, …
	Complexity float64           `json:"complexity"` // 0 to 1 (R36)
	Steps      []Step            `json:"steps"`
	EstTime    time.Duration     `json:"est_time"` // nanoseconds; the sum of the steps'
	EstCost    providers.NanoUSD `json:"est_cost"`
	Notes      []string          `json:"notes,omitempty"`
	Drop       []string          `json:"drop,omitempty"` // workers that the planner finds unnecessary (RC34)
}

// Step is work that is done before the next step begins (R58).
type Step struct {
	ID        string            `json:"id"`
	Name      string            `json:"name,omitempty"`
	Category  Category          `json:"category"`
	Workers   []string          `json:"workers"`
	Mode      Mode              `json:"mode"`
	DependsOn []string          `json:"depends_on,omitempty"` // earlier steps (RX10)
	EstTime   time.Duration     `json:"est_time"`             // nanoseconds
	EstCost   providers.NanoUSD `json:"est_cost"`
}

// The errors of plans.
var (
	errUnknownWorker = errors.New("unknown worker")
	errBadPlan       = errors.New("bad plan")
)

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

// tidy makes a plan what code relies on: duplicates in a step and empty steps go
// (RX9), IDs and categories are filled in, the estimates are computed.
func (p Plan) tidy(reg Registry) Plan {
	p = p.clone()
	var steps []Step
	for i, s := range p.Steps {
		var once []string
		for _, id := range s.Workers {
			if !slices.Contains(once, id) {
				once = append(once, id)
			}
		}
		s.Workers = once
		if len(once) == 0 {
			continue
		}
		s.ID = or(s.ID, fmt.Sprintf("step-%d", i+1))
		s.Mode = Mode(strings.ToUpper(string(s.Mode)))
		if w, ok := reg.Worker(once[0]); ok {
			s.Category = or(s.Category, w.Category)
		}
		steps = append(steps, s)
	}
	p.Steps = steps
	return p.estimate(reg)
}

// estimate computes times and costs: side by side the longest counts, one after
// another the sum; costs always add up (R37, R38).
func (p Plan) estimate(reg Registry) Plan {
	p.EstTime, p.EstCost = 0, 0
	for i := range p.Steps {
		s := &p.Steps[i]
		s.EstTime, s.EstCost = 0, 0
		for _, id := range s.Workers {
			w, _ := reg.Worker(id)
			s.EstCost += w.EstCost
			if s.Mode == Parallel {
				s.EstTime = max(s.EstTime, w.EstTime)
			} else {
				s.EstTime += w.EstTime
			}
		}
		p.EstTime += s.EstTime
		p.EstCost += s.EstCost
	}
	return p
}

// check returns what makes a plan unusable, joined into one error: it is what a planner
// is told (RX8-RX10). errUnknownWorker is in it only if nothing else is wrong.
func (p Plan) check(reg Registry) error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: "+format, append([]any{errBadPlan}, args...)...))
	}
	if _, err := routing.BandOf(p.Complexity); err != nil {
		bad("%w", err)
	}
	if !p.hasWriter(reg) {
		bad("it needs a step with a critical worker of category %q", Writing)
	}
	var unknown []string
	earlier := map[string]bool{}
	for i, s := range p.Steps {
		at := fmt.Sprintf("steps[%d]", i)
		if s.Mode != Parallel && s.Mode != Sequential {
			bad("%s.mode is %q, want PARALLEL or SEQUENTIAL", at, s.Mode)
		}
		if !slices.Contains(categories, s.Category) {
			bad("%s.category is %q, want one of %q", at, s.Category, categories)
		}
		for _, on := range s.DependsOn {
			if !earlier[on] {
				bad("%s.depends_on names %q, which is no earlier step", at, on)
			}
		}
		if earlier[s.ID] {
			bad("%s.id is %q, as that of an earlier step", at, s.ID)
		}
		earlier[s.ID] = true
		for _, id := range s.Workers {
			if _, ok := reg.Worker(id); !ok {
				unknown = append(unknown, id)
			}
		}
	}
	if errs == nil && unknown != nil {
		return fmt.Errorf("%w %q, known: %q", errUnknownWorker, unknown, reg.ids())
	}
	return errors.Join(errs...)
}

// hasWriter tells whether a critical writer is in the plan.
func (p Plan) hasWriter(reg Registry) bool {
	return slices.ContainsFunc(p.workers(), func(id string) bool {
		w, ok := reg.Worker(id)
		return ok && w.Critical && w.Category == Writing
	})
}

func (r Registry) ids() []string {
	ids := make([]string, len(r))
	for i, w := range r {
		ids[i] = w.ID
	}
	return ids
}

// known is p without workers that are not in the registry, and who they were.
func (p Plan) known(reg Registry) (Plan, []string) {
	p = p.clone()
	var gone []string
	for i := range p.Steps {
		p.Steps[i].Workers = slices.DeleteFunc(p.Steps[i].Workers, func(id string) bool {
			_, ok := reg.Worker(id)
			if !ok {
				gone = append(gone, id)
			}
			return !ok
		})
	}
	return p.tidy(reg), gone
}

// required adds the workers that the brief demands and the planner left out (R42, R44,
// RC40).
func (p Plan) required(b Brief, reg Registry) Plan {
	p = p.clone()
	if slices.ContainsFunc(b.PreferredSources, func(s string) bool { return strings.Contains(strings.ToLower(s), "academic") }) {
		p = p.with("academic_search", reg, func(s []Step) int {
			return slices.IndexFunc(s, func(s Step) bool { return s.Category == Researching })
		})
	}
	if b.Tone == "academic" {
		p = p.with("citation_formatter", reg, func(s []Step) int {
			for i := range slices.Backward(s) {
				if s[i].Category == Checking {
					return i
				}
			}
			return -1
		})
	}
	return p.estimate(reg)
}

// with adds a worker to the step that where finds; -1: to a new one, research first and
// quality last.
func (p Plan) with(id string, reg Registry, where func([]Step) int) Plan {
	w, ok := reg.Worker(id)
	if !ok || slices.Contains(p.workers(), id) {
		return p
	}
	i := where(p.Steps)
	if i >= 0 {
		p.Steps[i].Workers = append(p.Steps[i].Workers, id)
		return p
	}
	step := Step{ID: "added-" + id, Category: w.Category, Workers: []string{id}, Mode: Sequential}
	if w.Category == Researching {
		p.Steps = append([]Step{step}, p.Steps...)
	} else {
		p.Steps = append(p.Steps, step)
	}
	return p
}
