package research

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/routing"
)

// Rules are what the team computes. Nil is the default that [DefaultRules] has. A rule is
// called once for each decision, and again when a run is resumed, with copies of what the team
// has. In JSON a rule is the fields of its default.
type Rules struct {
	Optimiser Optimiser                                       `json:"optimiser,omitzero"` // makes a plan fit money and time; nil: BestFit{}
	Selector  routing.Selector                                `json:"selector,omitzero"`  // chooses the workers that a planner can name, in the order in which it reads them; nil: Everyone{}
	Grader    orchestrator.Grader[Work, Grade]                `json:"-"`                  // marks the result of an iteration; nil: BySupervisor{}
	Scorer    grading.Scorer                                  `json:"scorer,omitzero"`    // makes a score of 0 to 1 of the marks; nil: grading.DefaultFacets
	Gate      grading.Gate[grading.Standing, grading.Verdict] `json:"gate,omitzero"`      // decides what follows an iteration's score, 0 to 1; nil: grading.Rounds{}
	Ranker    grading.Ranker                                  `json:"ranker,omitzero"`    // puts the iteration first whose article is returned if none is good enough; nil: Best{}
	Retrier   orchestrator.Retrier                            `json:"retrier,omitzero"`   // decides about further tries of the roles "worker" and "planner"; nil: 3 tries, 2 s and 4 s apart

	// Permit lets the run make these moves, or not: start, planned, optimized (the plan is
	// final), accept, force, revise. A refused run fails with all that it has. Nil: it may.
	Permit orchestrator.Permit `json:"-"`

	// Admit returns why a valid input is refused: for its topic, or for lack of capacity. Its
	// error is the refusal, and only a panic is ErrRule. Nil: none is refused.
	Admit func(in Input) error `json:"-"`
}

// DefaultRules returns the rules of teams that are given none. Permit and Admit are nil.
func DefaultRules() Rules {
	return Rules{
		Optimiser: BestFit{}, Selector: Everyone{}, Grader: BySupervisor{}, Scorer: grading.DefaultFacets, Gate: grading.Rounds{}, Ranker: Best{},
		Retrier: orchestrator.Attempts{Max: usualTries, Wait: 2 * time.Second, Factor: 2, Final: true},
	}
}

// Optimiser is a rule that makes a plan fit money and time.
//
// It gets a plan, what the plan may use, and all workers. It returns the plan to execute and
// what it did. The plan names known workers only, and a critical writer. Report.Unmet is not
// empty if no plan fits. An error with the code ErrInvalidPlan refuses the plan. Optimise is
// a pure function.
type Optimiser interface {
	Optimise(p Plan, within Room, workers []Worker) (Plan, Report, error)
}

// OptimiserFunc is a function as an [Optimiser].
type OptimiserFunc func(p Plan, within Room, workers []Worker) (Plan, Report, error)

// Optimise returns f(p, within, workers).
func (f OptimiserFunc) Optimise(p Plan, within Room, workers []Worker) (Plan, Report, error) {
	return f(p, within, workers)
}

// Everyone is the [routing.Selector] that chooses all, in the order given.
type Everyone struct{}

// Select returns the first need.Count of the candidates that are not Inactive.
func (Everyone) Select(candidates []routing.Candidate, need routing.Need) []routing.Candidate {
	active := slices.DeleteFunc(slices.Clone(candidates), func(c routing.Candidate) bool { return c.Inactive })
	return active[:min(max(need.Count, 0), len(active))]
}

// Best is the [grading.Ranker] by score. Of equal scores the later one comes first.
type Best struct {
	Latest bool `json:"latest,omitzero"` // true: whatever has a score is ordered by time, the last one first
}

// Rank returns entries, the best first. What has no score comes last.
func (b Best) Rank(entries []grading.Ranked) []grading.Ranked {
	if !b.Latest {
		return grading.ByScore{Last: true}.Rank(entries)
	}
	var scored, others []grading.Ranked
	for _, e := range slices.Backward(entries) {
		if e.Score != nil {
			scored = append(scored, e)
		} else {
			others = append(others, e)
		}
	}
	return append(scored, others...)
}

// Work is what a Grader marks: the result of an iteration.
type Work struct {
	Input     Input    // the request, with defaults and limits
	Iteration int      // number of the iteration, from 1
	Article   Article  // merged drafts
	Sources   []Source // the most relevant first
	Results   Results  // all that workers made
	Missed    []string // workers that failed or were skipped

	read       int // number of sources that were read
	supervisor func(c *orchestrator.Context) (Grade, error)
}

// BySupervisor is the [orchestrator.Grader] that asks the supervisor of the team. A Grader
// of the host may call its Grade with the work that it got.
type BySupervisor struct{}

// Grade returns the marks of the supervisor.
func (BySupervisor) Grade(c *orchestrator.Context, work Work) (Grade, error) {
	return work.supervisor(c)
}

// Grade is what a Grader returns.
type Grade struct {
	Marks        grading.Marks // figures of 0 to 1, of any names but "overall"; nil: the work could not be graded, and Feedback says why
	Completeness *float64      // share of the expected sections, 0 to 1; nil: the mark "article"
	Feedback     string        // advice for the next plan; "": none
	Issues       []string      // single points of that
}

// completeness returns what the grade says of it.
func (g Grade) completeness() float64 {
	for _, m := range g.Marks {
		if g.Completeness == nil && m.Name == "article" {
			return m.Value
		}
	}
	return *cmp.Or(g.Completeness, new(0.0))
}

// check returns what is out of range.
func (g Grade) check() error {
	var f team.Faults
	for _, m := range g.Marks {
		f.Within(fmt.Sprintf("the mark %q", m.Name), m.Value, 0, 1)
		f.If(m.Name == "overall", `a mark has the name "overall", which the score has`)
	}
	f.WithinIfSet("Completeness", g.Completeness, 0, 1)
	return f.Err()
}

// selectWorkers lets the Selector choose the workers that planners can name.
func (r *run) selectWorkers(c *orchestrator.Context) error {
	all := make([]routing.Candidate, len(r.Workers))
	for i, w := range r.Workers {
		about := fmt.Sprintf("%s, %s: makes %v of %v", w.ID, w.Category, w.Produces, w.Needs)
		all[i] = routing.Candidate{ID: w.ID, Skills: slices.Concat(w.Produces, w.For.Sources, w.For.Tones), About: about}
	}
	in := r.state.Input
	need := routing.Need{Brief: in.Topic, Skills: append(slices.Clone(in.PreferredSources), in.Tone), Count: len(all)}
	chosen, err := team.Select(r.Run, c, "planner", r.Rules.Selector, all, need)
	if err != nil {
		return err
	}
	workers := make([]Worker, len(chosen))
	for i, at := range chosen {
		workers[i] = r.Workers[at]
	}
	r.Workers = workers
	_, err = team.Rule(r.Run, c, "planner", "Rules.Selector", func() (struct{}, error) {
		if !slices.ContainsFunc(workers, Worker.writes) {
			return struct{}{}, errors.New("no critical writer is chosen")
		}
		return struct{}{}, nil
	})
	return err
}
