package portfolio

import (
	"fmt"
	"strings"

	"github.com/convene-go/convene/internal/dialect"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/page"
	"github.com/convene-go/convene/providers"
)

// Result returns the result of the last round of the most promising project that was not
// killed: its own Result, if O has such a method, else its JSON. "" means that there is
// none.
func (o Outcome[O]) Result() string {
	if i := o.best(); i >= 0 {
		return o.Projects[i].result()
	}
	return ""
}

// best returns the index of the project with the highest score; -1: none has an outcome.
func (o Outcome[O]) best() int {
	return team.Best(len(o.Projects), team.First, func(i int) *float64 {
		p := o.Projects[i]
		if p.Stage == Killed || p.Last == nil {
			return nil
		}
		if p.Score == nil {
			return new(-1.0) // any score is better
		}
		return p.Score
	})
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

// Page returns the HTML page of a run: the most promising project with its result, then all
// of them with their stages, scores and costs, and why some were killed.
func Page[O any](o Outcome[O]) (string, error) {
	p := page.Of("Portfolio", o.Asked, o.Outcome)
	p.Result = page.Card{Title: "No project has a result"}
	projects := page.Section{ID: "projects", Title: "Projects"}
	scores := page.Section{ID: "scores", Title: "Scores"}
	best := o.best()
	for i, r := range o.Projects {
		card := r.card()
		if card.Score != nil {
			scores.Bars = append(scores.Bars, page.Bar{Name: r.ID, Score: *card.Score})
		}
		if i == best {
			p.Result = card
			if p.Result.Won = r.Score != nil; p.Result.Won {
				p.Result.Why = "It is the most promising of the projects."
			}
			card.Text = "" // it is above
		}
		projects.Cards = append(projects.Cards, card)
	}
	p.Sections = []page.Section{scores, projects}
	return p.HTML()
}

// card shows a project.
func (r Report[O]) card() page.Card {
	card := page.Card{Label: page.Words(strings.ToLower(string(r.Stage))), Title: r.ID, Text: r.result()}
	card.Tags = []string{fmt.Sprintf("rounds: %d", r.Rounds), fmt.Sprintf("%.4f USD", float64(r.Spent.Cost)/float64(providers.USD))}
	if r.Score != nil {
		card.Score = &page.Score{Value: *r.Score, Max: 1}
	}
	switch {
	case r.Killed != "":
		card.Why = "It was killed: " + r.Killed + "."
	case r.Error != "":
		card.Why = "Its last round ended with an error: " + r.Error
	}
	return card
}
