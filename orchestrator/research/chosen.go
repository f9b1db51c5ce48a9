package research

import (
	"errors"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
)

// iteration is an Iteration with what it was evaluated by.
type iteration struct {
	Iteration

	score            *float64 // Quality; nil: there is none
	grade            Grade
	writing, quality []WorkerOutput
}

// last returns the last iteration that was evaluated.
func (r *run) last() *iteration { return r.done[len(r.done)-1] }

// chosen returns the iteration that the article is from: the last one if it is good
// enough, else the first one by the Ranker. nil: none was evaluated.
func (r *run) chosen() *iteration {
	switch {
	case len(r.done) == 0:
		return nil
	case r.verdict == grading.Complete || r.best == nil:
		return r.last()
	default:
		return r.best
	}
}

// rank lets the Ranker choose between the iterations so far.
func (r *run) rank(c *orchestrator.Context) error {
	var entries []grading.Ranked
	byID := map[string]*iteration{}
	for _, it := range r.done {
		byID[it.Plan.ID] = it
		entries = append(entries, grading.Ranked{ID: it.Plan.ID, Score: it.score, Marks: it.grade.Marks})
	}
	ranked, err := rule(r, c, "supervisor", "Ranker", func() ([]grading.Ranked, error) { return r.Rules.Ranker.Rank(entries), nil },
		func(ranked []grading.Ranked) error {
			left := map[string]bool{}
			for _, e := range entries {
				left[e.ID] = true
			}
			for _, e := range ranked {
				if !left[e.ID] {
					return errors.New("it has " + e.ID + ", which was not given, or twice")
				}
				delete(left, e.ID)
			}
			if len(left) > 0 {
				return errors.New("it leaves out an iteration")
			}
			return nil
		})
	if err == nil {
		r.best = byID[ranked[0].ID]
	}
	return err
}
