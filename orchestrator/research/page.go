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

// Page makes an HTML page of a run, without a model: the article with its score, what it
// cost, what is unverified, the marks, and how it came about: each iteration with its
// score and the result of each worker. s is the state at the run's end (Run.State). The
// page is self-contained: it loads nothing and has no script, and text of agents is
// escaped.
func Page(s State, o Outcome) (string, error) {
	p := page.Of("Research", s.Input.Topic, o.Outcome)
	gate := *cmp.Or(s.Input.MinQuality, new(0.0))
	p.Result = result(s, o, gate)
	marks := page.Section{ID: "marks", Title: "Marks"}
	for _, name := range slices.Sorted(maps.Keys(o.Quality)) {
		score := page.Score{Value: o.Quality[name], Max: 1}
		if name == "overall" {
			score.Gate = gate
		}
		marks.Bars = append(marks.Bars, page.Bar{Name: page.Words(name), Score: score})
	}
	course := page.Section{ID: "course", Title: "How it came about"}
	for i := range s.Iteration {
		course.Steps = append(course.Steps, s.step(i+1, gate))
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

func result(s State, o Outcome, gate float64) page.Card {
	a := o.Article
	if a == nil {
		return page.Card{Title: "There is no article", Text: cmp.Or(o.Failure, new(Failure)).Message}
	}
	c := page.Card{
		Won: true, Label: "Article", Title: cmp.Or(a.Title, s.Input.Topic), Text: a.Content, Why: o.Metrics.Improvement,
		Tags: []string{fmt.Sprintf("%d words", a.Words), fmt.Sprintf("%d minutes to read", a.ReadMinutes), fmt.Sprintf("%d sources", len(o.Sources))},
	}
	if o.Score != nil {
		c.Score = &page.Score{Value: *o.Score, Gate: gate, Max: 1}
	}
	return c
}

// step is iteration n, from 1: its score, and the workers in the order of the plan.
func (s *State) step(n int, gate float64) page.Step {
	step := page.Step{Title: fmt.Sprintf("Iteration %d", n)}
	if n <= len(s.History) {
		if h := s.History[n-1]; h.Ungraded {
			step.Title += ", not graded"
		} else {
			step.Title += ", " + page.Score{Value: h.Quality, Gate: gate, Max: 1}.String()
		}
	}
	for _, t := range s.Tasks {
		if t.Iteration != n {
			continue
		}
		turn := page.Turn{Who: page.Words(t.Worker), What: strings.ToLower(string(t.Status)), Text: cmp.Or(t.Error, s.made(t))}
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

// made is the answer of a task's worker, if the state still has it.
func (s *State) made(t Task) string {
	for _, o := range s.all() {
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
