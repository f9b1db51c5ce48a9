package discussion

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/orchestrator/agent"
)

// Evaluation is the evaluation of one idea.
type Evaluation struct {
	IdeaID   string             // ID of the idea; "": it is named by its title
	Title    string             // title of the idea, in any case; "": it is named by its ID
	Score    *float64           // score, 0 to 10; nil: Rules.Scorer makes one of Criteria
	Criteria map[string]float64 // marks, 0 to 10, by criterion; a missing one was not given, or was dropped
	Dropped  []string           // faults of marks that are no numbers of 0 to 10, with their names
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

// evaluationsIn returns the list of evaluations with marks of these names, which may stand
// under criteria or beside it.
func evaluationsIn(names []string) list {
	fields := anyOf(append([]string{"idea_id", "id", "title", "score", "pros", "cons", "feedback"}, names...)...)
	fields["criteria"] = map[string]any{"properties": anyOf(names...)}
	return listOfEntries("evaluations", fields)
}

var errNoEvaluations = errors.New(`there is no JSON object with "evaluations", of which one has a "score" within 0 to 10 or all "criteria"`)

// parseEvaluations reads the evaluations in an answer, with marks of these names: a JSON
// object with "evaluations", or a bare list, also in a fence or inside of prose. It is an
// error if none is rated. extra has the names of the fields that are left out.
func parseEvaluations(text string, names []string) (all []Evaluation, extra []string, err error) {
	items, extra, err := evaluationsIn(names).entries(text)
	if err != nil {
		return nil, nil, err
	}
	all = make([]Evaluation, len(items))
	for i, item := range items {
		e := &all[i]
		*e = Evaluation{
			IdeaID: cmp.Or(textOf(item["idea_id"]), textOf(item["id"])), Title: textOf(item["title"]), Criteria: map[string]float64{},
			Pros: listOf(item["pros"]), Cons: listOf(item["cons"]), Feedback: textOf(item["feedback"]),
		}
		mark := func(name string) *float64 { // numbers in quotes count, too
			v := item[name]
			said := textOf(v)
			if n, ok := answer.Figure(said, maxScore); ok { // 8/10, 80 %
				said = n.String()
			}
			x, err := strconv.ParseFloat(said, 64)
			if err == nil && inRange(name, x) == nil {
				return &x
			}
			if v != nil {
				e.Dropped = append(e.Dropped, fmt.Sprintf("%s is %.40v, want a number of 0 to %d", name, v, maxScore))
			}
			return nil
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
	}
	if !slices.ContainsFunc(all, func(e Evaluation) bool { return e.rated(names) }) {
		return nil, nil, errNoEvaluations
	}
	return all, extra, nil
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

// readEvaluations is parseEvaluations, with an error if none that is rated is of one of the
// ideas that were asked about, of all.
func readEvaluations(text string, names []string, all, asked []Idea) (found []Evaluation, extra []string, err error) {
	found, extra, err = parseEvaluations(text, names)
	if err != nil {
		return nil, nil, err
	}
	ids := idsOf(asked)
	if slices.ContainsFunc(found, func(e Evaluation) bool {
		idea := e.of(all)
		return e.rated(names) && idea != nil && slices.Contains(ids, idea.ID)
	}) {
		return found, extra, nil
	}
	return nil, nil, fmt.Errorf(`no evaluation with a score is of one of the ideas: want as "idea_id" one of %s`, strings.Join(ids, ", "))
}

func idsOf(ideas []Idea) []string {
	ids := make([]string, len(ideas))
	for i, idea := range ideas {
		ids[i] = idea.ID
	}
	return ids
}

// of finds the idea of e: by ID, else by title, of equal titles the latest; nil: none.
func (e Evaluation) of(ideas []Idea) *Idea {
	if idea := byID(e.IdeaID, ideas); idea != nil {
		return idea
	}
	for i := len(ideas) - 1; i >= 0; i-- {
		if e.Title != "" && fold(strings.TrimSpace(ideas[i].Title)) == fold(e.Title) {
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
