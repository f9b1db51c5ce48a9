package discussion

import (
	"cmp"
	"errors"
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
	found, failed, err := team.Grade(r.Run, c, r.cfg.judge(), "Rules.Grader", func() ([]Evaluation, error) { return r.grade(c, ideas, 0) }, outOfRange)
	if err == nil && failed == nil {
		if err = r.apply(c, found, ideas); err == nil {
			err = r.regrade(c)
		}
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

// grade asks Rules.Grader for grades of some ideas. repairs is how often the moderator is sent an
// answer back that cannot be read; 0: the default.
func (r *run) grade(c *orchestrator.Context, ideas []Idea, repairs int) ([]Evaluation, error) {
	w := Work{Discussion: team.Clone(r.out.Discussion), Ideas: team.Clone(ideas)}
	if r.cfg.has(Score) {
		w.moderate = func(c *orchestrator.Context, ideas []Idea) ([]Evaluation, error) {
			return r.moderate(c, ideas, repairs)
		}
	}
	return r.cfg.Rules.Grader.Grade(c, w)
}

// regrade asks once more for grades of the ideas that have none. Those that have none then are
// ungraded and unverified; money that is missing for it is a warning.
func (r *run) regrade(c *orchestrator.Context) error {
	var failed error
	if rest := r.ungraded(); len(rest) > 0 {
		found, err := team.Rule(r.Run, c, r.cfg.judge(), "Rules.Grader", func() (found []Evaluation, _ error) {
			if found, failed = r.grade(c, rest, orchestrator.None); failed != nil {
				found = nil
			}
			return found, outOfRange(found)
		})
		if err == nil && team.Ends(failed) {
			err = r.without(c, Score, "", failed)
		}
		if err == nil {
			err = r.apply(c, found, rest)
		}
		if err != nil {
			return err
		}
	}
	for _, idea := range r.out.Discussion.Ideas {
		switch {
		case idea.Validated:
			r.Emit(c, EventIdeaScored, &Event{Idea: &idea})
		case failed == nil || errors.Is(failed, orchestrator.ErrMalformed):
			r.Warn(c, r.Code("ungraded"), idea.ID, "no grade of it has a score that counts, although it was asked for twice")
		default:
			r.Warn(c, r.Code("ungraded"), idea.ID, "no grade of it has a score that counts, and asking for it once more failed: %s", failed.Error())
		}
	}
	return nil
}

// ungraded returns copies of the ideas that have no grade.
func (r *run) ungraded() []Idea {
	return slices.DeleteFunc(slices.Clone(r.out.Discussion.Ideas), func(i Idea) bool { return i.Validated })
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

// moderate asks the moderator about some ideas.
func (r *run) moderate(c *orchestrator.Context, ideas []Idea, repairs int) (found []Evaluation, err error) {
	names, all := r.cfg.criteria(), r.out.Discussion.Ideas
	t := turn{
		by: r.cfg.who(Score), kind: "validation", prompt: "validate.tmpl", output: evaluationsWanted(names), repairs: repairs,
		read: func(text string) (extra []string, err error) {
			found, extra, err = readEvaluations(text, names, all, ideas)
			return extra, err
		},
	}
	if len(ideas) < len(all) {
		t.only = idsOf(ideas)
	}
	_, err = r.say(c, t)
	return found, err
}

// apply copies evaluations to those of the ideas that were asked about; of two for one idea the
// last counts.
func (r *run) apply(c *orchestrator.Context, found []Evaluation, asked []Idea) error {
	ids := idsOf(asked)
	for _, e := range found {
		idea := e.of(r.out.Discussion.Ideas)
		if idea == nil {
			r.Warn(c, r.Code("unknown-idea"), r.cfg.judge(), "an evaluation of %.80q, which is no idea", strings.TrimSpace(e.IdeaID+" "+e.Title))
			continue
		}
		if !slices.Contains(ids, idea.ID) {
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
