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

// Ranking returns the ideas by rank: the highest score first, equals to six decimals in
// the order in which they were proposed, and those without a score last.
func Ranking(ideas []Idea) []Idea {
	ranked := slices.Clone(ideas)
	rank := func(i Idea) float64 {
		if !i.scored() {
			return -1
		}
		return grading.Round6(i.Score)
	}
	slices.SortStableFunc(ranked, func(a, b Idea) int { return cmp.Compare(rank(b), rank(a)) })
	return ranked
}

func (i Idea) scored() bool { return i.Validated || i.Assumed }

// scored tells whether an idea has a score.
func (r *run) scored() bool { return slices.ContainsFunc(r.out.Discussion.Ideas, Idea.scored) }

// choose lets the leader pick an idea, and then selects the one with the highest score;
// without any score, the leader's.
func (r *run) choose(c *orchestrator.Context) error {
	if len(r.out.Discussion.Ideas) == 0 {
		r.warn(c, WarnNoChoice, "", "there are no ideas")
		return nil
	}
	m, err := r.say(c, turn{role: TeamLeader, kind: TypeSelection, prompt: "select.tmpl"})
	switch {
	case err == nil:
		r.out.LeaderChoice = named(m.Content, r.out.Discussion.Ideas)
	case !team.Ends(err): // the score decides anyway
		r.warn(c, WarnAgentFailed, string(TeamLeader), err.Error())
	case !r.spent(c, err) || !r.scored():
		return err
	default: // decide without the leader
		r.warn(c, WarnBudget, string(TeamLeader), err.Error())
	}
	r.decide(c)
	return nil
}

// spent tells whether the cause of err is a budget that is used up.
func (r *run) spent(c *orchestrator.Context, err error) bool {
	return orchestrator.IsOver(err) && !c.IsCanceled(err)
}

// decide makes one idea the final one, or none.
func (r *run) decide(c *orchestrator.Context) {
	ranked := Ranking(r.out.Discussion.Ideas)
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
			r.warn(c, WarnBelowThreshold, best.ID, fmt.Sprintf("the best score is %v, want at least %v", best.Score, r.cfg.Policy.Threshold))
		}
		if leaders != nil && leaders.ID != best.ID {
			r.emit(c, EventSelectionOverruled, Event{Idea: leaders})
		}
	case leaders != nil:
		best, r.out.SelectedBy = leaders, ByLeader
		if r.cfg.has(Moderator) {
			r.warn(c, WarnFallback, best.ID, "it was to be scored and was not; the leader has chosen it")
		}
	default:
		r.warn(c, WarnNoChoice, "", "no idea has a score, and the leader named none clearly")
		return
	}
	if r.cfg.Policy.RequireThreshold && !best.Eligible {
		r.out.SelectedBy = ByNone
		r.warn(c, WarnNoChoice, "", "no idea has met the threshold")
		return
	}
	r.out.FinalIdea, r.out.Discussion.FinalIdeaID = best, best.ID
	if best.scored() {
		r.out.Score = &best.Score
	}
	if r.cfg.has(Moderator) && (!best.Validated || !best.Eligible) {
		r.out.Unverified = []string{best.ID}
	}
	r.emit(c, EventSelectionMade, Event{Idea: best, Text: string(r.out.SelectedBy)})
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
