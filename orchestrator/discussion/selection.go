package discussion

import (
	"slices"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
)

// entries returns ideas as a Ranker gets them, in the order in which they were proposed.
func entriesOf(ideas []Idea) []grading.Ranked {
	all := make([]grading.Ranked, len(ideas))
	for i, idea := range ideas {
		all[i] = grading.Ranked{ID: idea.ID, Marks: marksOf(idea.Criteria, inOrder(idea.Criteria))}
		if idea.scored() {
			all[i].Score = new(idea.Score)
		}
	}
	return all
}

// rank asks Rules.Ranker for the order of the ideas.
func (r *run) rank(c *orchestrator.Context) (best []Idea, err error) {
	ideas := r.out.Discussion.Ideas
	order, err := team.Rank(r.Run, c, "", r.cfg.Rules.Ranker, entriesOf(ideas))
	for _, i := range order {
		best = append(best, ideas[i])
	}
	gradedFirst(best)
	r.out.Ranking = append(r.out.Ranking, idsOf(best)...)
	return best, err
}

// gradedFirst moves ideas without a grade behind all others: they cannot win over them.
func gradedFirst(ranked []Idea) {
	slices.SortStableFunc(ranked, func(a, b Idea) int {
		switch {
		case a.Validated == b.Validated:
			return 0
		case a.Validated:
			return -1
		}
		return 1
	})
}

func (i Idea) scored() bool { return i.Validated || i.Assumed }

// scored reports whether an idea has a score.
func (r *run) scored() bool { return slices.ContainsFunc(r.out.Discussion.Ideas, Idea.scored) }

// choose lets the leader pick an idea, and then selects the one with the highest score;
// without any score, the leader's. Without scores the leader is asked once more if it named
// none, or failed.
func (r *run) choose(c *orchestrator.Context) error {
	ideas := r.out.Discussion.Ideas
	if len(ideas) == 0 {
		r.Warn(c, r.Code("no-choice"), "", "there are no ideas")
		return nil
	}
	t := turn{by: r.cfg.who(Lead), kind: "selection", prompt: "select.tmpl", output: choiceWanted, read: func(text string) ([]string, error) {
		made, extra := choiceOf(text)
		if r.out.LeaderChoice = named(text, made, ideas); r.out.LeaderChoice == nil && !r.scored() {
			return nil, errNoChoice
		}
		return extra, nil
	}}
	m, err := r.say(c, t)
	if err != nil && !team.Ends(err) && m.ID == "" && !r.scored() {
		m, err = r.say(c, t)
	}
	if team.Ends(err) && !r.scored() { // only the leader could choose
		return err
	}
	if m.ID != "" { // an answer without a choice
		err = nil
	}
	if err := r.without(c, Lead, r.Code("agent-failed"), err); err != nil {
		return err
	}
	return r.decide(c)
}

// decide makes one idea the final one. Below a threshold that is required there is none.
func (r *run) decide(c *orchestrator.Context) error {
	ranked, err := r.rank(c)
	if err != nil {
		return err
	}
	for _, idea := range ranked {
		if idea.Eligible {
			r.out.Shortlist = append(r.out.Shortlist, idea)
		}
	}
	best, leaders := &ranked[0], r.out.LeaderChoice
	switch {
	case best.scored():
		r.out.SelectedBy = ByScore
		if r.out.BelowThreshold = !best.Eligible; r.out.BelowThreshold {
			r.Warn(c, r.Code("below-threshold"), best.ID, "the best score is %v, want at least %v", best.Score, r.cfg.Policy.Threshold)
		}
		if leaders != nil && leaders.ID != best.ID {
			r.Emit(c, EventSelectionOverruled, &Event{Idea: leaders})
		}
	case leaders != nil:
		best, r.out.SelectedBy = leaders, ByLeader
		if r.cfg.grades() {
			r.Warn(c, r.Code("fallback"), best.ID, "it was to be scored and was not; the leader has chosen it")
		}
	default:
		r.out.SelectedBy = ByOrder
		r.Warn(c, r.Code("fallback"), best.ID, "no idea has a score, and the leader named none clearly: it is the first of them")
	}
	if r.cfg.Policy.RequireThreshold && !best.Eligible {
		r.out.SelectedBy = ByNone
		r.Warn(c, r.Code("no-choice"), "", "no idea has met the threshold")
		return nil
	}
	r.out.FinalIdea, r.out.Discussion.FinalIdeaID = best, best.ID
	if best.scored() {
		r.out.Score = &best.Score
	}
	r.out.Unverified = r.unverified(*best)
	r.Emit(c, EventSelectionMade, &Event{Event: team.Event{Text: string(r.out.SelectedBy)}, Idea: best})
	return nil
}

// unverified returns the ID of the final idea, if it has not passed, and of those without a
// grade beside a graded one.
func (r *run) unverified(final Idea) (ids []string) {
	if r.cfg.grades() && (!final.Validated || !final.Eligible) || r.out.SelectedBy == ByOrder {
		ids = []string{final.ID}
	}
	if final.Validated {
		ids = append(ids, idsOf(r.ungraded())...)
	}
	return ids
}
