package portfolio

import (
	"cmp"
	"errors"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// start begins a round, under its budget if there is one; false: it has no input.
func (r *run[I, O]) start(c *orchestrator.Context, p *project[I, O], budget providers.NanoUSD) bool {
	in := p.in
	if r.Rules.Brief != nil {
		var err error
		in, err = team.Rule(r.Run, c, p.ID, "Rules.Brief", func() (I, error) {
			return r.Rules.Brief(team.Clone(p.Project), team.Clone(p.in), team.Clone(p.Last)), nil
		})
		if err != nil {
			p.Score, p.unfit, r.broken = nil, true, cmp.Or(r.broken, err)
			return false
		}
	}
	p.Rounds++
	r.running++
	p.running, p.budget = true, budget
	r.Emit(c, EventRoundStarted, &Event{Project: p.ID, Stage: p.Stage, Round: p.Rounds, Budget: budget})
	r.queue.Go(p.ID, func(c *orchestrator.Context) (round[O], error) {
		c = c.WithBudget(orchestrator.Budget{Cost: budget, AllowUnpriced: c.Left().AllowUnpriced})
		out, err := r.Work.Child(c, in)
		return round[O]{out, c.Spent()}, err
	})
	return true
}

// finished takes in what came of a round. One that money, time or a cancel of its own
// ended is graded by what it has, too.
func (r *run[I, O]) finished(c *orchestrator.Context, next orchestrator.Result[round[O]]) {
	p, used := r.project(next.Key), next.Value.used
	r.running--
	p.running, p.budget, p.judged, p.Score, p.Last, p.Error = false, 0, false, nil, &next.Value.out, ""
	p.Spent = p.Spent.Add(used)
	cut := errors.Is(next.Err, orchestrator.ErrBudget) || errors.Is(next.Err, orchestrator.ErrCanceled)
	switch {
	case cut:
		p.Error = "it was cut off"
	case next.Err != nil:
		p.Error = next.Err.Error()
	}
	switch {
	case c.Err() != nil:
	case next.Err == nil || cut:
		r.grade(c, p)
		r.cut = r.cut || cut
	default:
		r.Warn(c, r.Code("round-failed"), p.ID, "%s", p.Error)
	}
	r.Emit(c, EventRoundFinished, &Event{
		Event: team.Event{Text: p.Error, Usage: &used}, Project: p.ID, Stage: p.Stage, Round: p.Rounds, Score: p.Score,
	})
}

// grade gives a project the score of its last round.
func (r *run[I, O]) grade(c *orchestrator.Context, p *project[I, O]) {
	score, err := team.Rule(r.Run, c, p.ID, "Rules.Score", func() (*float64, error) {
		var f team.Faults
		score := team.Clone(r.Rules.Score(team.Clone(p.Project), team.Clone(*p.Last)))
		f.WithinIfSet("the score", score, 0, 1)
		return score, f.Err()
	})
	switch {
	case err != nil:
		r.broken = cmp.Or(r.broken, err)
	case score == nil:
		r.Warn(c, r.Code("ungraded"), p.ID, "round %d could not be graded", p.Rounds)
	default:
		p.Score, p.LastProgress = score, c.Now()
		r.graded++
	}
}
