package discussion

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
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
	case interface{ Criteria() []string }:
		return s.Criteria()
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

// Evaluation is the evaluation of one idea.
type Evaluation struct {
	IdeaID   string             // ID of the idea; "": it is named by its title
	Title    string             // title of the idea, in any case; "": it is named by its ID
	Score    *float64           // score, 0 to 10; nil: Rules.Scorer makes one of Criteria
	Criteria map[string]float64 // marks, 0 to 10, by criterion; a missing one was not given, or was dropped
	Dropped  []string           // what is wrong with marks that are no numbers of 0 to 10, by name
	Pros     []string           // points for the idea
	Cons     []string           // points against the idea
	Feedback string             // advice in words; "": none
}

// rated reports whether e has a score, or all marks of which one is made.
func (e Evaluation) rated(names []string) bool {
	return e.Score != nil || !slices.ContainsFunc(names, func(name string) bool { _, ok := e.Criteria[name]; return !ok })
}

// evaluationsWanted returns the schema that the moderator is asked for. Answers are read less
// strictly.
func evaluationsWanted(names []string) json.RawMessage {
	mark := fmt.Sprintf(`{"type":"number","minimum":0,"maximum":%d}`, maxScore)
	marks := make([]string, len(names))
	for i, name := range names {
		marks[i] = string(agent.JSON(name)) + ":" + mark
	}
	return json.RawMessage(`{"type":"object","required":["evaluations"],"additionalProperties":false,"properties":{` +
		`"evaluations":{"type":"array","items":{"type":"object","required":["idea_id","criteria"],"additionalProperties":false,"properties":{` +
		`"idea_id":{"type":"string"},"score":` + mark + `,` +
		`"criteria":{"type":"object","required":` + string(agent.JSON(names)) + `,"additionalProperties":false,"properties":{` + strings.Join(marks, ",") + `}},` +
		`"pros":{"type":"array","items":{"type":"string"}},"cons":{"type":"array","items":{"type":"string"}},"feedback":{"type":"string"}}}}}}`)
}

var (
	evaluationsIn    = answer.MustFromSchema(`{"type":"object","required":["evaluations"],"properties":{"evaluations":{"type":"array","items":{"type":"object"}}}}`)
	errNoEvaluations = errors.New(`there is no JSON object with "evaluations", of which one has a "score" within 0 to 10 or all "criteria"`)
)

// parseEvaluations reads the evaluations in an answer, with marks of these names: a JSON
// object with "evaluations", or a bare list, also in a fence or inside of prose. It is an
// error if none is rated.
func parseEvaluations(text string, names []string) ([]Evaluation, error) {
	items, err := entries(text, "evaluations", evaluationsIn)
	if err != nil {
		return nil, err
	}
	all, usable := make([]Evaluation, len(items)), false
	for i, item := range items {
		e := &all[i]
		*e = Evaluation{
			IdeaID: cmp.Or(textOf(item["idea_id"]), textOf(item["id"])), Title: textOf(item["title"]), Criteria: map[string]float64{},
			Pros: listOf(item["pros"]), Cons: listOf(item["cons"]), Feedback: textOf(item["feedback"]),
		}
		mark := func(name string) *float64 {
			x, err := markOf(name, item[name])
			if err != nil {
				e.Dropped = append(e.Dropped, err.Error())
			}
			return x
		}
		e.Score = mark("score")
		if inner, ok := item["criteria"].(map[string]any); ok {
			item = inner
		}
		for _, name := range names {
			if x := mark(name); x != nil {
				e.Criteria[name] = *x
			}
		}
		usable = usable || e.rated(names)
	}
	if !usable {
		return nil, errNoEvaluations
	}
	return all, nil
}

// markOf is a number of 0 to 10, also one in quotes; nil for none. Anything else is an
// error.
func markOf(name string, v any) (*float64, error) {
	if v == nil {
		return nil, nil //nolint:nilnil // no mark is no fault
	}
	x, err := strconv.ParseFloat(textOf(v), 64)
	if err != nil || inRange(name, x) != nil {
		return nil, fmt.Errorf("%s is %.40v, want a number of 0 to %d", name, v, maxScore)
	}
	return &x, nil
}

// listOf is a list of texts, or one text alone.
func listOf(v any) []string {
	items, ok := v.([]any)
	if !ok {
		items = []any{v}
	}
	var list []string
	for _, item := range items {
		if text := textOf(item); text != "" {
			list = append(list, text)
		}
	}
	return list
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
	found, err := r.grade(c)
	if err != nil && !r.broke(err) {
		found, err = r.grade(c)
	}
	move := scored
	switch {
	case err == nil:
		err = r.apply(c, found)
	case !r.broke(err):
		r.Warn(c, warnUngraded, string(Moderator), "%s", err.Error())
		move, err = unusable, nil
	}
	if err == nil {
		err = r.assume(c)
	}
	if err == nil {
		r.phases.Fire(c, move)
	}
	return err
}

// broke reports whether err ends the run: by itself, or because a rule is broken.
func (r *run) broke(err error) bool { return team.Ends(err) || errors.Is(err, r.Code("rule")) }

// grade asks Rules.Grader once. That it fails is no fault of the rule.
func (r *run) grade(c *orchestrator.Context) ([]Evaluation, error) {
	w := Work{Discussion: r.out.Discussion.copied()}
	if r.cfg.has(Moderator) {
		w.moderate = r.moderate
	}
	var failed error
	found, err := team.Rule(r.Run, c, string(Moderator), "Rules.Grader", func() (found []Evaluation, err error) {
		if found, failed = r.cfg.Rules.Grader.Grade(c, w); failed == nil {
			err = outOfRange(found)
		}
		return found, err
	})
	return found, cmp.Or(failed, err)
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
		role: Moderator, kind: typeValidation, prompt: "validate.tmpl", output: evaluationsWanted(names),
		read: func(text string) (err error) {
			found, err = readEvaluations(text, names, r.out.Discussion.Ideas)
			return err
		},
	})
	return found, err
}

// readEvaluations is parseEvaluations, with an error if none that is rated is of one of the
// ideas.
func readEvaluations(text string, names []string, ideas []Idea) ([]Evaluation, error) {
	found, err := parseEvaluations(text, names)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(found, func(e Evaluation) bool { return e.rated(names) && e.of(ideas) != nil }) {
		return found, nil
	}
	ids := make([]string, len(ideas))
	for i, idea := range ideas {
		ids[i] = idea.ID
	}
	return nil, fmt.Errorf(`no evaluation with a score is of one of the ideas: want as "idea_id" one of %s`, strings.Join(ids, ", "))
}

// apply copies evaluations to their ideas; of two for one idea the last counts.
func (r *run) apply(c *orchestrator.Context, found []Evaluation) error {
	ideas := r.out.Discussion.Ideas
	for _, e := range found {
		idea := e.of(ideas)
		if idea == nil {
			r.Warn(c, warnUnknownIdea, string(Moderator), "an evaluation of %.80q, which is no idea", strings.TrimSpace(e.IdeaID+" "+e.Title))
			continue
		}
		for _, why := range e.Dropped {
			r.Warn(c, warnBadMark, idea.ID, "%s", why)
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
			r.Warn(c, warnUngraded, idea.ID, "the moderator gave it no score that counts")
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
			r.Warn(c, warnAssumedScore, idea.ID, "it has the assumed score of %v", *s)
		}
	}
	return nil
}

// score returns the score of an evaluation that is rated: its own, else that of Rules.Scorer.
func (r *run) score(c *orchestrator.Context, id string, e Evaluation) (float64, error) {
	if e.Score != nil {
		return grading.Round6(*e.Score), nil
	}
	return team.Rule(r.Run, c, id, "Rules.Scorer", func() (float64, error) {
		score, err := r.cfg.Rules.Scorer.Score(marksOf(e.Criteria, r.cfg.criteria()))
		return grading.Round6(score), cmp.Or(err, inRange("the score", score))
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
	return team.Rule(r.Run, c, id, "Rules.Gate", func() (bool, error) {
		s := grading.Standing{Of: grading.Subject{ID: id}, Score: score, Threshold: r.cfg.Policy.Threshold, Try: 1, Most: 1}
		switch decision := r.cfg.Rules.Gate.Decide(s); decision {
		case grading.Accept, grading.Revise, grading.Discard:
			return decision == grading.Accept, nil
		default:
			return false, fmt.Errorf("the decision is %q, want one of grading's", decision)
		}
	})
}

// of finds the idea of e: by ID, else by title, of equal titles the latest; nil: none.
func (e Evaluation) of(ideas []Idea) *Idea {
	if idea := byID(e.IdeaID, ideas); idea != nil {
		return idea
	}
	for i := len(ideas) - 1; i >= 0; i-- {
		if e.Title != "" && strings.EqualFold(strings.TrimSpace(ideas[i].Title), e.Title) {
			return &ideas[i]
		}
	}
	return nil
}

// idForm are the ways in which models write the ID of an idea: idea-3, Idea 3, [idea-3],
// "#3", 3.
var idForm = regexp.MustCompile(`(?i)^[^\pL\pN]*(?:idea)?[^\pL\pN]*0*(\d{1,9})[^\pL\pN]*$`)

// byID is the idea of an ID as a model writes it; nil: none.
func byID(id string, ideas []Idea) *Idea {
	if m := idForm.FindStringSubmatch(id); m != nil {
		if n, _ := strconv.Atoi(m[1]); n >= 1 && n <= len(ideas) {
			return &ideas[n-1]
		}
	}
	return nil
}
