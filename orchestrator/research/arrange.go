package research

import (
	"cmp"
	"slices"
	"time"

	"github.com/convene-go/convene/providers"
)

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
		if s.Mode == Sequential {
			atOnce = 1
		}
		s.EstCost, s.EstTime = effort(s.members(workers), atOnce)
		p.EstTime += s.EstTime
		p.EstCost += s.EstCost
	}
	return p
}

// arranged runs the workers of each step in parallel unless one needs another one, and
// joins consecutive steps of one category that need nothing of each other.
func (p Plan) arranged(workers []Worker, report *Report) Plan {
	steps, joined := []Step{}, map[string][]string{}
	for _, s := range p.Steps {
		all := s.members(workers)
		switch {
		case len(all) == 1:
		case dependent(all):
			s.Mode = Sequential
		case s.Mode != Parallel:
			s.Mode = Parallel
			report.Parallelised = append(report.Parallelised, s.ID)
		}
		s.DependsOn = replaced(s.DependsOn, joined)
		if n := len(steps); n > 0 && steps[n-1].takes(s, workers) {
			last := &steps[n-1]
			last.Workers, last.Mode = slices.Concat(last.Workers, s.Workers), Parallel
			last.DependsOn = replaced(slices.Concat(last.DependsOn, s.DependsOn), nil)
			joined[s.ID] = []string{last.ID}
			report.Merged = append(report.Merged, s.ID)
			continue
		}
		steps = append(steps, s)
	}
	p.Steps = steps
	return p
}

// takes tells whether the step after s can be joined to it.
func (s Step) takes(next Step, workers []Worker) bool {
	side := func(s Step) bool { return s.Mode == Parallel || len(s.Workers) == 1 }
	again := func(id string) bool { return slices.Contains(s.Workers, id) }
	return s.Category == next.Category && side(s) && side(next) && !slices.Contains(next.DependsOn, s.ID) &&
		!slices.ContainsFunc(next.Workers, again) && !dependent(slices.Concat(s.members(workers), next.members(workers)))
}
