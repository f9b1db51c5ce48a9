package research

import (
	"time"

	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// Room is what a plan may use. Zero means that there is no bound, and a negative bound
// allows nothing.
type Room struct {
	Cost      providers.NanoUSD // money
	Time      time.Duration     // time of all steps together
	StepLimit int               // limit of workers of a step at once
}

// exceeds tells whether an amount is beyond its bound.
func exceeds[N ~int64](n, bound N) bool { return bound != 0 && n > bound }

// Report is what an Optimiser did.
type Report struct {
	Parallelised []string          `json:"parallelised,omitempty"` // steps
	Merged       []string          `json:"merged,omitempty"`       // steps that were joined to the one before
	Removed      []string          `json:"removed,omitempty"`      // workers
	Swapped      []string          `json:"swapped,omitempty"`      // workers, as "expensive -> cheap"
	UnmetNeeds   []string          `json:"unmetNeeds,omitempty"`   // needs of critical workers, as "writer needs analysis"
	TimeSaved    time.Duration     `json:"timeSaved"`              // difference of the estimates
	CostSaved    providers.NanoUSD `json:"costSaved"`              // difference of the estimates
	Unmet        []string          `json:"unmet,omitempty"`        // bounds that every plan exceeds, with the least that would do
}

// BestFit is the [Optimiser] that finds the best plan within bounds. It is idempotent.
//
// Workers of a step run in parallel unless one needs another one's products. Consecutive
// steps of one category are joined if their workers do not need each other, so that the
// plan takes the least time. If that exceeds the bounds, workers are left out, or replaced
// by Worker.Cheaper; steps that become neighbors are joined, too. Of all plans that fit, the
// best is chosen: first by its critical workers, which all stay; then
// by how many of their needs are met; then by the other workers, in the order of
// priority, then writing, analysis, research, quality, then the order of the plan. A plan
// with research workers keeps one. An optional worker stays only if its needs are made
// before it, unless no worker in p makes them.
//
// If no plan fits, Report.Unmet names the least money and time that would do. The plan has
// the critical workers, and those that it cannot do without, and exceeds the bounds as little
// as it must: the time rather than the cost. A plan that is too large or has too many combinations is
// ErrInvalidPlan.
type BestFit struct{}

// Optimise returns the best plan that can be made of p.
func (BestFit) Optimise(p Plan, within Room, workers []Worker) (Plan, Report, error) {
	if err := p.tooLarge(); err != nil {
		return p, Report{}, team.Fail(ErrInvalidPlan, "%w", err)
	}
	var report Report
	workers = withDefaults(workers)
	before := p.complete(workers).without(noID).estimated(workers, within.StepLimit)
	before.arranged(workers, within.StepLimit, &report)
	s := newSelection(before, within, workers)
	over := excess{}
	if !s.choose(&report) {
		over = s.relax()
	}
	if s.checks > maxChecks {
		return p, Report{}, team.Fail(ErrInvalidPlan, "the plan is too complex: more than %d combinations of its workers were tried", maxChecks)
	}
	q := s.selected(before, &report).arranged(workers, within.StepLimit, &report).estimated(workers, within.StepLimit)
	report.TimeSaved, report.CostSaved = before.EstTime-q.EstTime, before.EstCost-q.EstCost
	report.Unmet = over.words(q, within)
	return q, report, nil
}
