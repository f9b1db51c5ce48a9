package discussion

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
)

// maxScore is the best mark of an idea; the worst is 0.
const maxScore = 10

// criteria are what an idea gets a mark for, unless Rules.Scorer has others.
var criteria = []string{"feasibility", "innovation", "impact", "clarity", "completeness"}

// criteria returns the names of the marks that ideas get.
func (c Config) criteria() []string {
	switch s := c.Rules.Scorer.(type) {
	case grading.Weighted:
		return inOrder(s)
	case grading.Named:
		return s.Names()
	}
	return criteria
}

// inOrder returns the names that have a figure: first those of criteria, then others.
func inOrder(figures map[string]float64) []string {
	names := slices.Sorted(maps.Keys(figures))
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(uint(slices.Index(criteria, a)), uint(slices.Index(criteria, b)))
	})
	return names
}

// validate has the ideas graded. Ideas without a score are ungraded.
func (r *run) validate(c *orchestrator.Context) error {
	ideas := r.out.Discussion.Ideas
	switch {
	case !r.cfg.grades():
		return r.phases.Go(c, toSelection)
	case len(ideas) == 0:
		return team.Fail(ErrNoIdeas, "no ideas to score")
	}
	if err := r.phases.Go(c, toValidation); err != nil {
		return err
	}
	move := scored
	w := Work{Discussion: team.Clone(r.out.Discussion)}
	if r.cfg.has(Score) {
		w.moderate = r.moderate
	}
	grade := func() ([]Evaluation, error) { return r.cfg.Rules.Grader.Grade(c, w) }
	found, failed, err := team.Grade(r.Run, c, r.cfg.judge(), "Rules.Grader", grade, outOfRange)
	if err == nil && failed == nil {
		err = r.apply(c, found)
	} else if err == nil {
		move = unusable
		r.Warn(c, r.Code("ungraded"), r.cfg.judge(), "%s", failed.Error())
	}
	if err == nil {
		err = r.assume(c)
	}
	if err == nil {
		r.phases.Fire(c, move)
	}
	return err
}

// outOfRange returns an error if a figure is no number of 0 to 10.
func outOfRange(found []Evaluation) (err error) {
	for _, e := range found {
		for _, name := range inOrder(e.Criteria) {
			err = cmp.Or(err, inRange(name, e.Criteria[name]))
		}
		if e.Score != nil {
			err = cmp.Or(err, inRange("the score", *e.Score))
		}
	}
	return err
}

func inRange(what string, x float64) error {
	if x >= 0 && x <= maxScore { // NaN is refused
		return nil
	}
	return fmt.Errorf("%s is %v, want 0 to %d", what, x, maxScore)
}

// moderate asks the moderator.
func (r *run) moderate(c *orchestrator.Context) (found []Evaluation, err error) {
	names := r.cfg.criteria()
	_, err = r.say(c, turn{
		by: r.cfg.who(Score), kind: "validation", prompt: "validate.tmpl", output: evaluationsWanted(names),
		read: func(text string) (err error) {
			found, err = readEvaluations(text, names, r.out.Discussion.Ideas)
			return err
		},
	})
	return found, err
}

// apply copies evaluations to their ideas; of two for one idea the last counts.
func (r *run) apply(c *orchestrator.Context, found []Evaluation) error {
	ideas := r.out.Discussion.Ideas
	for _, e := range found {
		idea := e.of(ideas)
		if idea == nil {
			r.Warn(c, r.Code("unknown-idea"), r.cfg.judge(), "an evaluation of %.80q, which is no idea", strings.TrimSpace(e.IdeaID+" "+e.Title))
			continue
		}
		for _, why := range e.Dropped {
			r.Warn(c, r.Code("bad-mark"), idea.ID, "%s", why)
		}
		if !e.rated(r.cfg.criteria()) {
			continue
		}
		score, err := r.score(c, idea.ID, e)
		if err == nil {
			idea.Eligible, err = r.passes(c, idea.ID, score)
		}
		if err != nil {
			return err
		}
		idea.Score, idea.Validated = score, true
		idea.Criteria, idea.Pros, idea.Cons, idea.Feedback = e.Criteria, e.Pros, e.Cons, e.Feedback
	}
	for _, idea := range ideas {
		if idea.Validated {
			r.Emit(c, EventIdeaScored, &Event{Idea: &idea})
		} else {
			r.Warn(c, r.Code("ungraded"), idea.ID, "no grade of it has a score that counts")
		}
	}
	return nil
}

// assume gives ideas without a score Policy.AssumeScore, if it is set.
func (r *run) assume(c *orchestrator.Context) (err error) {
	s := r.cfg.Policy.AssumeScore
	for i := range r.out.Discussion.Ideas {
		if idea := &r.out.Discussion.Ideas[i]; s != nil && !idea.Validated {
			if idea.Eligible, err = r.passes(c, idea.ID, *s); err != nil {
				return err
			}
			idea.Score, idea.Assumed = *s, true
			r.Warn(c, r.Code("assumed-score"), idea.ID, "it has the assumed score of %v", *s)
		}
	}
	return nil
}

// score returns the score of an evaluation that is rated: its own, else that of Rules.Scorer.
func (r *run) score(c *orchestrator.Context, id string, e Evaluation) (float64, error) {
	if e.Score != nil {
		return grading.Round6(*e.Score), nil
	}
	return team.Figure(r.Run, c, id, "Rules.Scorer", maxScore, func() (float64, error) {
		return r.cfg.Rules.Scorer.Score(marksOf(e.Criteria, r.cfg.criteria()))
	})
}

func marksOf(figures map[string]float64, names []string) (marks grading.Marks) {
	for _, name := range names {
		if x, ok := figures[name]; ok {
			marks = append(marks, grading.Mark{Name: name, Value: x})
		}
	}
	return marks
}

// passes asks Rules.Gate whether a score is good enough.
func (r *run) passes(c *orchestrator.Context, id string, score float64) (bool, error) {
	s := grading.Standing{Of: grading.Subject{ID: id}, Score: score, Threshold: r.cfg.Policy.Threshold, Try: 1, Most: 1}
	decision, err := team.Decide(r.Run, c, id, "Rules.Gate", r.cfg.Rules.Gate, s, grading.Accept, grading.Revise, grading.Discard)
	return decision == grading.Accept, err
}
