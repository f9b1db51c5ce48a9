package portfolio

import (
	"fmt"
	"strings"

	"github.com/convene-go/convene/internal/dialect"
	"github.com/convene-go/convene/orchestrator/team/page"
	"github.com/convene-go/convene/providers"
)

// Result returns the result of the last round of the most promising project that was not
// killed: its own Result, if O has such a method, else its JSON. "" means that there is
// none.
func (o Outcome[O]) Result() string {
	if p := o.best(); p != nil {
		return p.result()
	}
	return ""
}

// best returns the project with the highest score; nil: none has an outcome.
func (o Outcome[O]) best() (best *Report[O]) {
	for i := range o.Projects {
		p := &o.Projects[i]
		if p.Stage != Killed && p.Last != nil && (best == nil || p.score() > best.score()) {
			best = p
		}
	}
	return best
}

func (r Report[O]) score() float64 {
	if r.Score == nil {
		return -1
	}
	return *r.Score
}

func (r Report[O]) result() string {
	if r.Last == nil {
		return ""
	}
	switch last := any(*r.Last).(type) {
	case interface{ Result() string }:
		return last.Result()
	case string:
		return last
	}
	data, err := dialect.Encode(*r.Last)
	if err != nil {
		return ""
	}
	return string(data)
}

// Page returns the HTML page of a run: the most promising project, then all of them with
// their stages, scores and costs, and why some were killed.
func Page[O any](o Outcome[O]) (string, error) {
	p := page.Of("Portfolio", o.Asked, o.Outcome)
	p.Result = page.Card{Title: "No project has a result"}
	if best := o.best(); best != nil {
		p.Result = best.card()
		if p.Result.Won = best.Score != nil; p.Result.Won {
			p.Result.Why = "It is the most promising of the projects."
		}
	}
	projects := page.Section{ID: "projects", Title: "Projects"}
	scores := page.Section{ID: "scores", Title: "Scores"}
	for _, r := range o.Projects {
		projects.Cards = append(projects.Cards, r.card())
		if score := r.shown(); score != nil {
			scores.Bars = append(scores.Bars, page.Bar{Name: r.ID, Score: *score})
		}
	}
	p.Sections = []page.Section{scores, projects}
	return p.HTML()
}

// card shows a project.
func (r Report[O]) card() page.Card {
	card := page.Card{Label: page.Words(strings.ToLower(string(r.Stage))), Title: r.ID, Score: r.shown(), Text: r.result()}
	card.Tags = []string{fmt.Sprintf("rounds: %d", r.Rounds), fmt.Sprintf("%.4f USD", float64(r.Spent.Cost)/float64(providers.USD))}
	switch {
	case r.Killed != "":
		card.Why = "It was killed: " + r.Killed + "."
	case r.Error != "":
		card.Why = "Its last round ended with an error: " + r.Error
	}
	return card
}

// shown returns the score of a project; nil: it has none.
func (r Report[O]) shown() *page.Score {
	if r.Score == nil {
		return nil
	}
	return &page.Score{Value: *r.Score, Max: 1}
}
