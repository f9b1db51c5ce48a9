package hierarchy_test

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/hierarchy"
)

// A second implementation of the team, without engine, rules, machines and records: it plays
// the calls one after the other, and computes by hand what must come out.

// spoken is what an agent answers to one call.
type spoken struct {
	text  string // "", "null": no output; "error": the call fails
	score int    // what the grader gives; -1: it gives no grade
}

// model is a run of the second implementation.
type model struct {
	cfg    hierarchy.Config
	in     hierarchy.Input
	says   func(agent string, call int) spoken // answers of an agent, from 0
	calls  map[string]int
	codes  map[string]int // of warnings
	done   map[string]bool
	chosen []string // departments in the order of the route
	weight map[string]float64

	reports    map[string]*modelReport
	unverified []string
	score      float64 // -1: none
	status     orchestrator.Status
}

type modelReport struct {
	status  string
	basis   hierarchy.Basis
	output  string
	raw     float64
	noScore bool
	staff   []modelWork
	heads   int  // graded tries of the head
	untold  bool // no specialist passed, and one was not graded
}

// modelWork is what came of the tries of one agent.
type modelWork struct {
	id       string
	gate     float64
	tries    int
	has      bool // it has an output
	text     string
	score    float64
	ungraded bool
	assumed  bool // the score is that of the policy
	accepted bool
	review   grading.ReviewStatus
	passed   bool
}

func (m *model) play() {
	m.calls, m.codes, m.done, m.reports, m.weight = map[string]int{}, map[string]int{}, map[string]bool{}, map[string]*modelReport{}, map[string]float64{}
	m.route()
	left := slices.Clone(m.chosen)
	for len(left) > 0 { // a department at a time, whose dependencies are over
		i := slices.IndexFunc(left, func(id string) bool {
			return !slices.ContainsFunc(m.department(id).DependsOn, func(need string) bool { return slices.Contains(left, need) })
		})
		id := left[i]
		left = slices.Delete(left, i, i+1)
		m.reports[id] = &modelReport{}
		m.work(m.department(id), m.reports[id])
		m.done[id] = m.reports[id].status == "done"
	}
	m.end()
}

func (m *model) department(id string) hierarchy.Department {
	for _, d := range m.cfg.Departments {
		if d.ID == id {
			return d
		}
	}
	panic(id)
}

// route is by keywords: one word each.
func (m *model) route() {
	words := strings.Fields(m.in.Prompt)
	all := slices.Clone(m.cfg.Departments)
	matched := false
	for _, d := range all {
		points := d.Base
		for word, worth := range d.Keywords {
			if slices.Contains(words, word) {
				points += worth
				matched = true
			}
		}
		m.weight[d.ID] = float64(min(points, 100)) / 100
	}
	slices.SortFunc(all, func(a, b hierarchy.Department) int {
		order := cmp.Or(cmp.Compare(a.Priority, b.Priority), strings.Compare(a.ID, b.ID))
		if matched {
			order = cmp.Or(cmp.Compare(m.weight[b.ID], m.weight[a.ID]), order)
		}
		return order
	})
	for i, d := range all {
		if i == 0 || matched && m.weight[d.ID] > 0.30 {
			m.chosen = append(m.chosen, d.ID)
		}
	}
}

func (m *model) work(d hierarchy.Department, r *modelReport) {
	for _, need := range d.DependsOn {
		if slices.Contains(m.chosen, need) && !m.done[need] {
			r.status = "skipped"
			m.codes["department-skipped"]++
			return
		}
	}
	staff := m.staff(d)
	if staff == nil {
		r.basis = hierarchy.HeadOnly
		m.direct(d, r)
		return
	}
	for _, a := range staff {
		most := cmp.Or(a.Attempts, m.cfg.Policy.Attempts, 4)
		r.staff = append(r.staff, m.review(m.tries(a.ID, gateOf(a.PassingThreshold, d.MinQuality), most, 0, true)))
	}
	quality, passing, anyUngraded := m.quality(r.staff)
	if len(passing) == 0 {
		m.codes["specialists-rejected"]++
		r.basis = hierarchy.HeadAfterFailure
		r.untold = anyUngraded
		m.direct(d, r)
		return
	}
	r.status, r.raw = "done", quality
	m.synthesize(d, r, passing)
}

// staff are the specialists that work; nil: the head works alone.
func (m *model) staff(d hierarchy.Department) []hierarchy.Agent {
	wanted, spawns := 1, false
	switch n := len(strings.Fields(m.in.Prompt)); {
	case n > 100 || strings.Contains(m.in.Prompt, "detailed"):
		wanted, spawns = 4, true
	case n >= 50:
		wanted, spawns = 2, true
	}
	if m.in.RequiresSpecialists != nil {
		spawns = *m.in.RequiresSpecialists
	}
	if !spawns {
		return nil
	}
	var able []hierarchy.Agent
	for _, a := range d.Agents {
		if a.ID != d.Head && !a.Inactive {
			able = append(able, a)
		}
	}
	if len(able) == 0 {
		m.codes["no-specialists"]++
		return nil
	}
	rate := func(a hierarchy.Agent) float64 { return *cmp.Or(a.SuccessRate, new(0.0)) }
	slices.SortFunc(able, func(a, b hierarchy.Agent) int {
		return cmp.Or(cmp.Compare(rate(b), rate(a)), strings.Compare(a.ID, b.ID))
	})
	return able[:min(wanted, len(able))]
}

func gateOf(own, shared *float64) float64 { return *cmp.Or(own, shared, new(60.0)) }

// tries has an agent work until it passes, and returns the best of it.
func (m *model) tries(id string, gate float64, most int, least float64, graded bool) modelWork {
	best := modelWork{id: id, gate: gate, score: math.Inf(-1)}
	w := modelWork{id: id, gate: gate}
	for n := 1; n <= most; n++ {
		said := m.says(id, m.calls[id])
		m.calls[id]++
		w = modelWork{id: id, gate: gate, tries: n}
		best.tries = n
		if said.text == "error" || said.text == "" || said.text == "null" || float64(len(said.text)) < least {
			continue
		}
		w.has, w.text = true, said.text
		switch {
		case !graded:
			w.accepted = true
		case said.score >= 0:
			w.score = float64(said.score)
			w.accepted = w.score >= gate || gate == 0
		case m.cfg.Policy.AssumeScore != nil:
			w.assumed = true
			m.codes["assumed-score"]++
			w.score = *m.cfg.Policy.AssumeScore
			w.accepted = w.score >= gate || gate == 0
		default:
			m.codes["ungraded"]++
			w.ungraded, w.accepted = true, gate == 0
		}
		best = better(best, w)
		if w.accepted || w.ungraded || w.assumed {
			break
		}
	}
	if !best.has {
		m.codes["agent-failed"]++
		best.score = 0
	}
	return best
}

// better is the later of equals; what has a score is better than what has none.
func better(a, b modelWork) modelWork {
	rank := func(w modelWork) float64 {
		switch {
		case !w.has:
			return -2
		case w.ungraded:
			return -1
		}
		return w.score
	}
	if rank(b) >= rank(a) {
		return b
	}
	a.tries = b.tries
	return a
}

func (m *model) review(w modelWork) modelWork {
	w.review = grading.Rejected
	switch {
	case !w.has:
	case w.gate == 0:
		w.review = grading.Approved
	case w.ungraded || w.score < w.gate:
	case w.score < min(w.gate+10, 100):
		w.review = grading.RevisionNeeded
	default:
		w.review = grading.Approved
	}
	w.passed = w.review == grading.Approved || w.review == grading.RevisionNeeded && !m.cfg.Policy.StrictReview
	return w
}

// quality is 0.6 of the share that passed and 0.4 of the mean of those with a score.
func (m *model) quality(staff []modelWork) (quality float64, passing []modelWork, anyUngraded bool) {
	sum, n := 0.0, 0
	for _, w := range staff {
		if w.passed {
			passing = append(passing, w)
		}
		if w.ungraded {
			anyUngraded = true
			continue
		}
		sum += w.score
		n++
	}
	quality = 60 * float64(len(passing)) / float64(len(staff))
	if n > 0 {
		quality += 0.4 * sum / float64(n)
	}
	return quality, passing, anyUngraded
}

func (m *model) head(d hierarchy.Department, r *modelReport, least float64) modelWork {
	graded := m.cfg.Policy.GradeHeads
	w := m.tries(d.Head, gateOf(nil, d.MinQuality), cmp.Or(d.Attempts, m.cfg.Policy.HeadAttempts, 4), least, graded)
	if graded {
		r.heads += w.tries
	}
	return w
}

func (m *model) direct(d hierarchy.Department, r *modelReport) {
	unverified := r.untold
	w := m.head(d, r, 0)
	r.output, r.status = w.text, "done"
	switch {
	case !w.has || m.cfg.Policy.GradeHeads && !w.ungraded && !w.accepted:
		r.status = "failed"
		m.codes["department-failed"]++
		return
	case !m.cfg.Policy.GradeHeads:
		r.raw = *cmp.Or(m.cfg.Policy.HeadOnlyScore, new(85.0))
	case w.ungraded:
		r.noScore, unverified = true, !w.accepted
	default:
		r.raw, unverified = w.score, false
	}
	if unverified {
		m.unverified = append(m.unverified, d.ID)
	}
}

func (m *model) synthesize(d hierarchy.Department, r *modelReport, passing []modelWork) {
	shortest := math.Inf(1)
	for _, w := range passing {
		shortest = min(shortest, float64(len(w.text)))
	}
	r.basis = hierarchy.FromSpecialists
	draft := m.head(d, r, shortest/10)
	for range max(m.cfg.Policy.SynthesisRounds, 1) - 1 {
		if !draft.has {
			break
		}
		next := m.head(d, r, shortest/10)
		if !next.has {
			m.codes["refinement"]++
			break
		}
		if draft.ungraded || draft.assumed || !next.ungraded && !next.assumed {
			draft = better(draft, next)
		}
	}
	if draft.has {
		r.output = draft.text
		if !draft.accepted && !draft.ungraded {
			m.codes["below-gate"]++
		}
		if !draft.accepted {
			m.unverified = append(m.unverified, d.ID)
		}
		return
	}
	m.codes["fallback"]++
	r.basis = hierarchy.FallbackOutput
	best := passing[0]
	for _, w := range passing[1:] {
		isGraded, wasGraded := !w.ungraded && !w.assumed, !best.ungraded && !best.assumed
		if isGraded && !wasGraded || isGraded == wasGraded && w.score > best.score {
			best = w
		}
	}
	r.output = best.text
	m.unverified = append(m.unverified, d.ID)
}

func (m *model) end() {
	slices.SortFunc(m.unverified, func(a, b string) int { return slices.Index(m.chosen, a) - slices.Index(m.chosen, b) })
	sum, weights, plain, n, done := 0.0, 0.0, 0.0, 0, 0
	for _, id := range m.chosen {
		r := m.reports[id]
		if r.status != "done" {
			continue
		}
		done++
		if r.noScore {
			continue
		}
		n++
		sum += m.weight[id] * r.raw
		weights += m.weight[id]
		plain += r.raw
	}
	switch m.score = -1; {
	case n > 0 && weights > 0:
		m.score = sum / weights
	case n > 0:
		m.score = plain / float64(n)
	}
	switch {
	case done == 0:
		m.status = orchestrator.Failed
	case done < len(m.chosen) || len(m.unverified) > 0:
		m.status = orchestrator.Partial
	default:
		m.status = orchestrator.Completed
	}
}
