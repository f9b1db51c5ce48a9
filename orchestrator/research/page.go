package research

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/convene-go/convene/orchestrator/team/page"
)

// Page returns an HTML page about a run, made without a model. It has the article with its
// score, what it cost, what is unverified and the marks. Then it shows how the article came
// about: each iteration with its score and what each worker made. The page loads nothing and
// has no script, and text of agents is escaped.
func Page(o Outcome) (string, error) {
	p := page.Of("Research", o.Asked, o.Outcome)
	p.Result = o.card()
	marks := page.Section{ID: "marks", Title: "Marks"}
	for _, name := range slices.Sorted(maps.Keys(o.Quality)) {
		score := page.Score{Value: o.Quality[name], Max: 1}
		if name == "overall" {
			score.Gate = o.Threshold
		}
		marks.Bars = append(marks.Bars, page.Bar{Name: page.Words(name), Score: score})
	}
	course := page.Section{ID: "course", Title: "How it came about"}
	for i := range o.Metrics.Iterations {
		course.Steps = append(course.Steps, o.step(i+1))
	}
	sources := page.Section{ID: "sources", Title: "Sources"}
	for _, source := range o.Sources {
		card := page.Card{Title: source.Title, Text: strings.TrimSpace(source.Excerpt + "\n\n" + source.URL)}
		if source.Kind != "" {
			card.Tags = []string{source.Kind}
		}
		sources.Cards = append(sources.Cards, card)
	}
	p.Sections = []page.Section{marks, course, sources}
	return p.HTML()
}

// card shows the article, or why there is none.
func (o Outcome) card() page.Card {
	a := o.Article
	if a == nil {
		return page.Card{Title: "There is no article", Text: cmp.Or(o.Failure, new(Failure)).Message}
	}
	c := page.Card{
		Won: true, Label: "Article", Title: cmp.Or(a.Title, o.Asked), Text: a.Content, Why: o.Metrics.Improvement,
		Tags: []string{fmt.Sprintf("%d words", a.Words), fmt.Sprintf("%d minutes to read", a.ReadMinutes), fmt.Sprintf("%d sources", len(o.Sources))},
	}
	if o.Score != nil {
		c.Score = &page.Score{Value: *o.Score, Gate: o.Threshold, Max: 1}
	}
	return c
}

// step shows iteration n, from 1: its score, and the workers in the order of the plan.
func (o Outcome) step(n int) page.Step {
	step := page.Step{Title: fmt.Sprintf("Iteration %d", n)}
	if n <= len(o.Course.History) {
		if h := o.Course.History[n-1]; h.Ungraded {
			step.Title += ", not graded"
		} else {
			step.Title += ", " + page.Score{Value: h.Quality, Gate: o.Threshold, Max: 1}.String()
		}
	}
	for _, t := range o.Course.Tasks {
		if t.Iteration != n {
			continue
		}
		turn := page.Turn{Who: page.Words(t.Worker), What: strings.ToLower(t.Status), Text: cmp.Or(t.Error, o.Course.made(t))}
		if t.Attempts > 1 {
			turn.What += fmt.Sprintf(", attempt %d", t.Attempts)
		}
		if t.FallbackOf != "" {
			turn.What += ", in place of " + t.FallbackOf
		}
		step.Turns = append(step.Turns, turn)
	}
	return step
}

// made returns the answer of a task's worker. "": it was replaced by a later one.
func (r *Results) made(t Task) string {
	for _, o := range r.all() {
		if o.Worker == t.Worker && o.Iteration == t.Iteration {
			var d Draft
			if json.Unmarshal(o.Payload, &d) == nil && d.Content != "" {
				return d.Content
			}
			return string(o.Payload)
		}
	}
	return ""
}
