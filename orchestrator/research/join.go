package research

import (
	"cmp"
	"slices"
	"time"

	"github.com/convene-go/convene/providers"
)

// block is a step of a plan as far as it matters for joining it to its neighbors.
type block struct {
	id       string
	category Category
	after    map[string]bool // IDs of the steps that it depends on, also through others
	at       int             // index of its step in the plan
	all      []Worker
	inTurn   bool // its workers need each other
	took     time.Duration
}

// weigh sets what follows from the workers of b, of which limit can work at once. It
// returns their cost.
func (b *block) weigh(all []Worker, limit int) (cost providers.NanoUSD) {
	b.all, b.inTurn = all, dependent(all)
	cost, b.took = effort(all, limit)
	return cost
}

// blocks returns the steps of p as blocks without workers.
func (p Plan) blocks() []*block {
	all := make([]*block, len(p.Steps))
	before := map[string]map[string]bool{}
	for i, s := range p.Steps {
		b := &block{id: s.ID, category: s.Category, at: i, after: map[string]bool{}}
		for _, on := range s.DependsOn {
			b.after[on] = true
			for id := range before[on] {
				b.after[id] = true
			}
		}
		all[i], before[s.ID] = b, b.after
	}
	return all
}

// clash tells whether b cannot be joined to the block before it.
func (b *block) clash(before *block) bool {
	if b.inTurn || before.inTurn || b.category != before.category || b.after[before.id] {
		return true
	}
	return slices.ContainsFunc(b.all, func(w Worker) bool {
		return slices.ContainsFunc(before.all, func(other Worker) bool {
			return w.ID != "" && w.ID == other.ID || w.feeds(other) || other.feeds(w)
		})
	})
}

// join returns the time of blocks if neighbors are joined so that they take the least time,
// in the fewest steps, and for each block the index of the one behind its step. limit
// workers can work at once; 0: all. More workers in a block never take less time.
func join(blocks []*block, limit int, clash func(b, before *block) bool) (took time.Duration, ends []int) {
	type rest struct {
		took       time.Duration
		steps, end int
	}
	best := make([]rest, len(blocks)+1)
	for i := len(blocks) - 1; i >= 0; i-- {
		at := clock{limit: limit}
		for end := i + 1; ; end++ {
			last := blocks[end-1]
			span := at.add(last.all)
			if end == i+1 {
				span = last.took
			}
			got := rest{span + best[end].took, 1 + best[end].steps, end}
			if old := best[i]; end == i+1 || cmp.Or(cmp.Compare(got.took, old.took), cmp.Compare(got.steps, old.steps)) <= 0 {
				best[i] = got
			}
			if end == len(blocks) || slices.ContainsFunc(blocks[i:end], func(b *block) bool { return clash(blocks[end], b) }) {
				break
			}
		}
	}
	for _, b := range best[:len(blocks)] {
		ends = append(ends, b.end)
	}
	return best[0].took, ends
}

// clock is the time of workers side by side: each one uses the place that is free first.
type clock struct {
	limit  int // number of places, at least one; 0: any
	places []time.Duration
	end    time.Duration
}

// add returns the time with these workers, too.
func (c *clock) add(all []Worker) time.Duration {
	for _, w := range all {
		until := w.EstTime
		if c.limit == 0 || len(c.places) < max(c.limit, 1) {
			c.places = append(c.places, until)
		} else {
			i := slices.Index(c.places, slices.Min(c.places))
			c.places[i] += w.EstTime
			until = c.places[i]
		}
		c.end = max(c.end, until)
	}
	return c.end
}

// arranged runs the workers of each step in parallel unless one needs another one. It joins
// consecutive steps of one category that need nothing of each other.
func (p Plan) arranged(workers []Worker, limit int, report *Report) Plan {
	p = p.parallelised(workers, report)
	blocks := p.blocks()
	for i, b := range blocks {
		b.weigh(p.Steps[i].members(workers), limit)
	}
	_, ends := join(blocks, limit, (*block).clash)
	steps, joined := []Step{}, map[string][]string{}
	for i := 0; i < len(p.Steps); i = ends[i] {
		s := p.Steps[i]
		for _, next := range p.Steps[i+1 : ends[i]] {
			s.Workers, s.Mode = slices.Concat(s.Workers, next.Workers), parallel
			s.DependsOn = slices.Concat(s.DependsOn, next.DependsOn)
			joined[next.ID] = []string{s.ID}
			report.Merged = once(report.Merged, next.ID)
		}
		s.DependsOn = replaced(replaced(s.DependsOn, joined), nil)
		steps = append(steps, s)
	}
	p.Steps = steps
	return p
}

// parallelised sets the mode of the steps with several workers.
func (p Plan) parallelised(workers []Worker, report *Report) Plan {
	p.Steps = slices.Clone(p.Steps)
	for i := range p.Steps {
		s := &p.Steps[i]
		all := s.members(workers)
		switch {
		case len(all) == 1:
		case dependent(all):
			s.Mode = sequential
		case s.Mode != parallel:
			s.Mode = parallel
			report.Parallelised = once(report.Parallelised, s.ID)
		}
	}
	return p
}

// once returns all with name, unless it is there.
func once(all []string, name string) []string {
	if slices.Contains(all, name) {
		return all
	}
	return append(all, name)
}
