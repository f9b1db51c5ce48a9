package discussion

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
)

// maxScore is the best mark of an idea; the worst is 0.
const maxScore = 10

// Criterion is what an idea gets a mark for.
type Criterion string

// The criteria.
const (
	Feasibility  Criterion = "feasibility"
	Innovation   Criterion = "innovation"
	Impact       Criterion = "impact"
	Clarity      Criterion = "clarity"
	Completeness Criterion = "completeness"
)

var criteria = []Criterion{Feasibility, Innovation, Impact, Clarity, Completeness}

// Criteria are the marks of an idea, 0 to 10 each; a missing one was not given, or was
// dropped.
type Criteria map[Criterion]float64

// Mean returns the arithmetic mean of all five marks, rounded to six decimals; false if
// one is missing.
func (c Criteria) Mean() (float64, bool) {
	sum := 0.0
	for _, name := range criteria {
		mark, ok := c[name]
		if !ok {
			return 0, false
		}
		sum += mark
	}
	return grading.Round6(sum / float64(len(criteria))), true
}

// Evaluation is a moderator's evaluation of one idea.
type Evaluation struct {
	IdeaID   string   // or
	Title    string   // of the idea, in any case
	Score    *float64 // nil: none
	Criteria Criteria
	Dropped  []string // what is wrong with marks that are no numbers of 0 to 10, by name
	Pros     []string
	Cons     []string
	Feedback string
}

// Rating is the explicit score, else the mean of the criteria; false if there is
// neither.
func (e Evaluation) Rating() (float64, bool) {
	if e.Score != nil {
		return grading.Round6(*e.Score), true
	}
	return e.Criteria.Mean()
}

// evaluationsWanted is the schema that the moderator is asked for. Answers are read less
// strictly.
var evaluationsWanted = json.RawMessage(strings.ReplaceAll(`{"type":"object","required":["evaluations"],"additionalProperties":false,"properties":{`+
	`"evaluations":{"type":"array","items":{"type":"object","required":["idea_id","criteria"],"additionalProperties":false,"properties":{`+
	`"idea_id":{"type":"string"},"score":MARK,`+
	`"criteria":{"type":"object","required":["feasibility","innovation","impact","clarity","completeness"],"additionalProperties":false,"properties":{`+
	`"feasibility":MARK,"innovation":MARK,"impact":MARK,"clarity":MARK,"completeness":MARK}},`+
	`"pros":{"type":"array","items":{"type":"string"}},"cons":{"type":"array","items":{"type":"string"}},"feedback":{"type":"string"}}}}}}`,
	"MARK", fmt.Sprintf(`{"type":"number","minimum":0,"maximum":%d}`, maxScore)))

var (
	evaluationsIn    = answer.MustFromSchema(`{"type":"object","required":["evaluations"],"properties":{"evaluations":{"type":"array","items":{"type":"object"}}}}`)
	errNoEvaluations = errors.New(`there is no JSON object with "evaluations", of which one has a "score" within 0 to 10 or all five "criteria"`)
)

// ParseEvaluations reads the evaluations in an answer: a JSON object with "evaluations",
// or a bare list, also in a fence or inside of prose. It is an error if none has a
// Rating.
func ParseEvaluations(text string) ([]Evaluation, error) {
	items, err := entries(text, "evaluations", evaluationsIn)
	if err != nil {
		return nil, err
	}
	all, usable := make([]Evaluation, len(items)), false
	for i, item := range items {
		e := &all[i]
		*e = Evaluation{
			IdeaID: cmp.Or(textOf(item["idea_id"]), textOf(item["id"])), Title: textOf(item["title"]), Criteria: Criteria{},
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
		for _, name := range criteria {
			if x := mark(string(name)); x != nil {
				e.Criteria[name] = *x
			}
		}
		_, ok := e.Rating()
		usable = usable || ok
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
	if err != nil || !(x >= 0 && x <= maxScore) { // NaN is refused too
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

// validate lets the moderator score the ideas. Ideas without a score are ungraded.
func (r *run) validate(c *orchestrator.Context) error {
	ideas := r.out.Discussion.Ideas
	switch {
	case !r.cfg.has(Moderator):
		r.fire(c, "to_selection")
		return nil
	case len(ideas) == 0:
		return team.Fail(ErrNoIdeas, "no ideas to score")
	}
	r.fire(c, "to_validation")
	found, err := team.Graded(func() (found []Evaluation, err error) {
		_, err = r.say(c, turn{
			role: Moderator, kind: TypeValidation, prompt: "validate.tmpl", output: evaluationsWanted,
			read: func(text string) (err error) {
				found, err = readEvaluations(text, ideas)
				return err
			},
		})
		return found, err
	})
	if team.Ends(err) {
		return err
	}
	event := "scored"
	if err == nil {
		r.apply(c, found)
	} else {
		event = "unusable"
		r.warn(c, WarnUngraded, string(Moderator), err.Error())
	}
	r.assume(c)
	r.fire(c, event)
	return nil
}

// readEvaluations is ParseEvaluations, with an error if none is of one of the ideas.
func readEvaluations(text string, ideas []Idea) ([]Evaluation, error) {
	found, err := ParseEvaluations(text)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(ideas))
	for i, idea := range ideas {
		ids[i] = idea.ID
	}
	for _, e := range found {
		if _, ok := e.Rating(); ok && e.of(ideas) != nil {
			return found, nil
		}
	}
	return nil, fmt.Errorf(`no evaluation with a score is of one of the ideas: want as "idea_id" one of %s`, strings.Join(ids, ", "))
}

// apply copies evaluations to their ideas; of two for one idea the last counts.
func (r *run) apply(c *orchestrator.Context, found []Evaluation) {
	ideas := r.out.Discussion.Ideas
	for _, e := range found {
		idea := e.of(ideas)
		if idea == nil {
			r.warn(c, WarnUnknownIdea, string(Moderator), fmt.Sprintf("an evaluation of %.80q, which is no idea", strings.TrimSpace(e.IdeaID+" "+e.Title)))
			continue
		}
		for _, why := range e.Dropped {
			r.warn(c, WarnBadMark, idea.ID, why)
		}
		if score, ok := e.Rating(); ok {
			idea.Score, idea.Validated = score, true
			idea.Criteria, idea.Pros, idea.Cons, idea.Feedback = e.Criteria, e.Pros, e.Cons, e.Feedback
			idea.Eligible = r.meets(score)
		}
	}
	for _, idea := range ideas {
		if idea.Validated {
			r.emit(c, EventIdeaScored, Event{Idea: &idea})
		} else {
			r.warn(c, WarnUngraded, idea.ID, "the moderator gave it no score that counts")
		}
	}
}

// assume gives ideas without a score Policy.AssumeScore, if it is set.
func (r *run) assume(c *orchestrator.Context) {
	s := r.cfg.Policy.AssumeScore
	for i := range r.out.Discussion.Ideas {
		if idea := &r.out.Discussion.Ideas[i]; s != nil && !idea.Validated {
			idea.Score, idea.Assumed, idea.Eligible = *s, true, r.meets(*s)
			r.warn(c, WarnAssumedScore, idea.ID, fmt.Sprintf("it has the assumed score of %v", *s))
		}
	}
}

func (r *run) meets(score float64) bool {
	return grading.Round6(score) >= grading.Round6(r.cfg.Policy.Threshold)
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
