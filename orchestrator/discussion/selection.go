package discussion

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
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
		best, r.out.Ranking = append(best, ideas[i]), append(r.out.Ranking, ideas[i].ID)
	}
	return best, err
}

func (i Idea) scored() bool { return i.Validated || i.Assumed }

// scored reports whether an idea has a score.
func (r *run) scored() bool { return slices.ContainsFunc(r.out.Discussion.Ideas, Idea.scored) }

// choose lets the leader pick an idea, and then selects the one with the highest score;
// without any score, the leader's.
func (r *run) choose(c *orchestrator.Context) error {
	if len(r.out.Discussion.Ideas) == 0 {
		r.Warn(c, r.Code("no-choice"), "", "there are no ideas")
		return nil
	}
	m, err := r.say(c, turn{by: r.cfg.who(Lead), kind: "selection", prompt: "select.tmpl"})
	if err == nil {
		r.out.LeaderChoice = named(m.Content, r.out.Discussion.Ideas)
	}
	if team.Ends(err) && !r.scored() { // only the leader could choose
		return err
	}
	if err := r.without(c, Lead, r.Code("agent-failed"), err); err != nil {
		return err
	}
	return r.decide(c)
}

// decide makes one idea the final one, or none.
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
		r.Warn(c, r.Code("no-choice"), "", "no idea has a score, and the leader named none clearly")
		return nil
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
	if r.cfg.grades() && (!best.Validated || !best.Eligible) {
		r.out.Unverified = []string{best.ID}
	}
	r.Emit(c, EventSelectionMade, &Event{Event: team.Event{Text: string(r.out.SelectedBy)}, Idea: best})
	return nil
}

var choiceIn = answer.MustFromSchema(`{"type":"object","required":["idea_id"],"properties":{"idea_id":{"type":["string","integer"]}}}`)

// named is the one idea that the leader's text names: by the field idea_id, else by the
// one title that it contains as a whole; nil: none, or several.
func named(text string, ideas []Idea) *Idea {
	if found, err := choiceIn.Find(nil, text); err == nil {
		var choice struct {
			ID any `json:"idea_id"` //nolint:tagliatelle // as prompts call it
		}
		if json.Unmarshal(found, &choice) == nil {
			if idea := byID(fmt.Sprint(choice.ID), ideas); idea != nil {
				return new(*idea)
			}
		}
	}
	// Longer titles first, and out of the text once found: "Solar" is not named by
	// "Solar roof".
	rest := strings.ToLower(prompt.OneLine(text))
	longest := slices.Clone(ideas)
	slices.SortStableFunc(longest, func(a, b Idea) int { return cmp.Compare(len(b.Title), len(a.Title)) })
	var one *Idea
	for _, idea := range longest {
		title := strings.ToLower(prompt.OneLine(idea.Title))
		whole := regexp.MustCompile(`(^|[^\pL\pN])` + regexp.QuoteMeta(title) + `($|[^\pL\pN])`)
		named := whole.MatchString(rest)
		if one != nil && (named || strings.EqualFold(prompt.OneLine(one.Title), title)) {
			return nil // several, or two of the same title
		}
		if named {
			one = &idea
		}
		for whole.MatchString(rest) {
			rest = whole.ReplaceAllString(rest, "$1\n$2")
		}
	}
	return one
}
