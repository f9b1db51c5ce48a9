package discussion

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/internal/prompt"
	"github.com/convene-go/convene/orchestrator"
)

// validate has the moderator score the ideas (D22-D28).
func (r *run) validate(c *orchestrator.Context) error {
	switch {
	case !r.cfg.has(Moderator):
		r.fire(c, "to_selection")
		return nil
	case len(r.out.Discussion.Ideas) == 0:
		return ErrNoIdeas
	}
	r.fire(c, "to_validation")
	var found []Evaluation
	_, err := r.say(c, speech{
		role: Moderator, kind: TypeValidation, prompt: validatePrompt, output: evaluationsWanted,
		read: func(text string) (err error) {
			found, err = ParseEvaluations(text)
			return err
		},
	})
	if errors.Is(err, orchestrator.ErrMalformed) && !stops(err) { // it has answered: the transcript is still of use (DC11)
		r.warn(c, "validation.unusable", Moderator, Event{Text: err.Error()})
		r.fire(c, "unusable")
		return nil
	}
	if err != nil {
		return fatal(ErrValidation, err)
	}
	r.apply(c, found)
	r.fire(c, "scored")
	return nil
}

// apply puts evaluations to their ideas; of two for one idea the last counts (DC20).
func (r *run) apply(c *orchestrator.Context, found []Evaluation) {
	for _, e := range found {
		idea := r.evaluated(e)
		if idea == nil {
			r.warn(c, "evaluation.unknown", Moderator, Event{Text: fmt.Sprintf("an evaluation of %q, which is no idea", cmp.Or(e.IdeaID, e.Title))})
			continue
		}
		score, err := grading.IdeaScore(e.Score, e.Criteria)
		if err != nil {
			r.warn(c, "evaluation.invalid", Moderator, Event{Text: fmt.Sprintf("the evaluation of %s: %v", idea.ID, err)})
			continue
		}
		idea.Score, idea.Validated = score, true
		idea.Criteria, idea.Pros, idea.Cons, idea.Feedback = e.Criteria, e.Pros, e.Cons, e.Feedback
		idea.Eligible = grading.Round6(score) >= grading.Round6(r.cfg.MinScoreThreshold)
	}
	for _, idea := range r.out.Discussion.Ideas {
		if idea.Validated {
			r.emit(c, "idea.scored", Event{Idea: &idea})
		}
	}
}

// evaluated is the idea that e is of: by ID, else by title, of equal titles the latest
// (DC20); nil: none.
func (r *run) evaluated(e Evaluation) *Idea {
	ideas := r.out.Discussion.Ideas
	for i := range ideas {
		if ideas[i].ID == e.IdeaID {
			return &ideas[i]
		}
	}
	for i := range slices.Backward(ideas) {
		if title := strings.TrimSpace(e.Title); title != "" && strings.EqualFold(strings.TrimSpace(ideas[i].Title), title) {
			return &ideas[i]
		}
	}
	return nil
}

// scored tells whether an idea has a score.
func (r *run) scored() bool {
	return slices.ContainsFunc(r.out.Discussion.Ideas, func(i Idea) bool { return i.Validated })
}

// choose has the leader pick an idea, and takes the one with the highest score (D29,
// D30). Without any score the leader's is taken (DC14).
func (r *run) choose(c *orchestrator.Context) error {
	if len(r.out.Discussion.Ideas) == 0 { // DC17
		r.warn(c, "selection.skipped", "", Event{Text: "there are no ideas"})
		return nil
	}
	m, err := r.say(c, speech{role: TeamLeader, kind: TypeSelection, prompt: selectPrompt})
	switch {
	case err == nil:
		r.out.LeaderChoice = named(m.Content, r.out.Discussion.Ideas)
	case c.IsCanceled(err) || errors.Is(err, orchestrator.ErrFlow):
		return err
	case orchestrator.IsOver(err) && !r.scored():
		return err
	case orchestrator.IsOver(err): // what there is will do (DX13)
		r.warn(c, "budget", TeamLeader, Event{Text: err.Error()})
	default: // the score decides anyway (DC1)
		r.warn(c, "agent.failed", TeamLeader, Event{Text: err.Error()})
	}
	r.decide(c)
	return nil
}

// decide takes the idea with the highest score, or without any score the leader's.
func (r *run) decide(c *orchestrator.Context) {
	ideas := r.out.Discussion.Ideas
	scores, valid := make([]float64, len(ideas)), make([]bool, len(ideas))
	for i, idea := range ideas {
		scores[i], valid[i] = idea.Score, idea.Validated
	}
	for _, i := range grading.Shortlist(scores, valid, r.cfg.MinScoreThreshold) {
		r.out.Shortlist = append(r.out.Shortlist, ideas[i])
	}
	top := grading.Top(scores, valid)
	switch {
	case top >= 0:
		r.settle(c, ideas[top])
	case r.out.LeaderChoice != nil:
		r.out.FinalIdea, r.out.SelectedBy = r.out.LeaderChoice, ByLeader
	default:
		r.warn(c, "selection.none", "", Event{Text: "no idea has a score, and the leader named none clearly"})
		return
	}
	if f := r.out.FinalIdea; f != nil {
		r.state.Best = f.Title
		r.emit(c, "selection.made", Event{Idea: f, Text: string(r.out.SelectedBy)})
	}
}

// settle makes the idea with the highest score the final one (DC2, DC19).
func (r *run) settle(c *orchestrator.Context, best Idea) {
	r.out.BelowThreshold = !best.Eligible
	if r.out.BelowThreshold {
		r.warn(c, "selection.below_threshold", "", Event{
			Idea: &best, Text: fmt.Sprintf("the best score is %v, want at least %v", best.Score, r.cfg.MinScoreThreshold),
		})
		if r.cfg.RequireThreshold {
			return
		}
	}
	r.out.FinalIdea, r.out.SelectedBy, r.out.Score = &best, ByScore, &best.Score
	if l := r.out.LeaderChoice; l != nil && l.ID != best.ID {
		r.emit(c, "selection.overruled", Event{Idea: l})
	}
}

// named is the one idea that the leader's text names: by the field idea_id, else by
// the one title that stands in it as a whole (DC14); nil: none, or several.
func named(text string, ideas []Idea) *Idea {
	if found, err := choiceIn.Find(nil, text); err == nil {
		var choice struct {
			ID string `json:"idea_id"` //nolint:tagliatelle // as prompts call it
		}
		if json.Unmarshal(found, &choice) == nil {
			for _, idea := range ideas {
				if idea.ID == strings.TrimSpace(choice.ID) {
					return &idea
				}
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
		without, ok := remove(rest, title)
		if !ok {
			if one != nil && strings.EqualFold(prompt.OneLine(one.Title), title) {
				return nil // two ideas of the same title
			}
			continue
		}
		if one != nil {
			return nil
		}
		one, rest = &idea, without
	}
	return one
}

// remove takes every occurrence of title as a whole out of text, and tells whether
// there was one.
func remove(text, title string) (string, bool) {
	found := false
	for from := 0; title != ""; {
		i := strings.Index(text[from:], title)
		if i < 0 {
			break
		}
		at, end := from+i, from+i+len(title)
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[end:])
		if inWord(before) || inWord(after) {
			from = end
			continue
		}
		found = true
		text = text[:at] + "\n" + text[end:]
		from = at + 1
	}
	return text, found
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
