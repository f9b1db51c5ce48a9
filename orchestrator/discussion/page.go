package discussion

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator/team/page"
)

// Page makes an HTML page of a discussion, without a model: the winner and why it won,
// what it cost and what went wrong, all ideas by rank, and what was said. It is
// self-contained: it loads nothing and has no script.
//
// Text of agents is escaped. The ui_creator's own HTML is shown only inside of a frame
// that may run nothing and load nothing: its sandbox allows nothing, and the page's
// content security policy applies there, too.
func Page(o Outcome) (string, error) {
	d := o.Discussion
	p := page.Of("Discussion", d.Topic, o.Outcome).Named(func(id string) string {
		if idea := byID(id, d.Ideas); idea != nil {
			return idea.Title
		}
		return roleInWords(Role(id))
	})
	p.Facts = append([]page.Fact{
		{Name: "Rounds", Value: fmt.Sprintf("%d of %d", d.Round, d.Rounds)},
		{Name: "Ideas", Value: strconv.Itoa(len(d.Ideas))},
		{Name: "Messages", Value: strconv.Itoa(len(d.Messages))},
	}, p.Facts...)
	ideas := page.Section{ID: "ideas", Title: "Ideas by rank"}
	for i, idea := range o.Ranked() {
		card := idea.card(d)
		if card.Score != nil {
			ideas.Note = fmt.Sprintf("The line marks the threshold of %v out of %d.", d.Threshold, maxScore)
			ideas.Bars = append(ideas.Bars, page.Bar{Name: fmt.Sprintf("%d. %s", i+1, idea.Title), Score: *card.Score})
		}
		card.Won = o.FinalIdea != nil && o.FinalIdea.ID == idea.ID
		ideas.Cards = append(ideas.Cards, card)
	}
	created := page.Section{ID: "created", Title: "The UI creator's own page"}
	if i := slices.IndexFunc(d.Messages, func(m Message) bool { return m.Type == "visualization" }); i >= 0 {
		created.Frame = unfence(d.Messages[i].Content)
	}
	p.Result = result(o)
	p.Sections = []page.Section{ideas, {ID: "course", Title: "Course of the discussion", Steps: steps(d.Messages)}, created}
	return p.HTML()
}

func (i Idea) card(d Discussion) page.Card {
	c := page.Card{Title: i.Title, Tags: []string{fmt.Sprintf("round %d", i.Round)}, Text: i.Description, Pros: i.Pros, Cons: i.Cons}
	if i.Category != "" {
		c.Tags = append(c.Tags, i.Category)
	}
	switch {
	case i.Assumed:
		c.Tags = append(c.Tags, "assumed score")
	case !i.Validated:
		c.Tags = append(c.Tags, "no score")
	}
	if i.scored() {
		c.Score = &page.Score{Value: i.Score, Gate: d.Threshold, Max: maxScore}
	}
	if i.Feedback != "" {
		c.Text += "\n\nFeedback: " + i.Feedback
	}
	for _, name := range inOrder(i.Criteria) {
		c.Bars = append(c.Bars, page.Bar{Name: page.Words(name), Score: page.Score{Value: i.Criteria[name], Max: maxScore}})
	}
	return c
}

// Ranked returns the ideas by rank, the best first: as the run has ranked them, else by score.
func (o Outcome) Ranked() []Idea {
	ideas, ranking := o.Discussion.Ideas, o.Ranking
	if len(ranking) == 0 {
		for _, entry := range (grading.ByScore{}).Rank(entriesOf(ideas)) {
			ranking = append(ranking, entry.ID)
		}
	}
	var best []Idea
	for _, id := range ranking {
		if i := slices.IndexFunc(ideas, func(idea Idea) bool { return idea.ID == id }); i >= 0 {
			best = append(best, ideas[i])
		}
	}
	gradedFirst(best)
	return best
}

// result is the final idea and why it won: score, criteria, two pros, one con, the
// leader's words.
func result(o Outcome) page.Card {
	if o.FinalIdea == nil {
		return page.Card{Title: "No idea was chosen"}
	}
	c := o.FinalIdea.card(o.Discussion)
	c.Won, c.Label, c.Why, c.Text = true, "Winner", verdict(o), o.FinalIdea.Description
	c.Pros, c.Cons = c.Pros[:min(2, len(c.Pros))], c.Cons[:min(1, len(c.Cons))]
	for _, m := range o.Discussion.Messages {
		if m.Type == "selection" {
			c.Quote = &page.Turn{Who: roleInWords(Role(m.author())), Text: choiceInWords(m.Content)}
		}
	}
	return c
}

func roleInWords(r Role) string {
	if r == System {
		return "Host"
	}
	return strings.Replace(page.Words(string(r)), "Ui ", "UI ", 1)
}

// verdict is one sentence on why the final idea won.
func verdict(o Outcome) string {
	d, f := o.Discussion, o.FinalIdea
	scored := len(slices.DeleteFunc(slices.Clone(d.Ideas), func(i Idea) bool { return !i.scored() }))
	why := fmt.Sprintf("The highest of %d scores, ", scored)
	if scored == 1 {
		why = "The only score, "
	}
	switch {
	case o.SelectedBy == ByLeader:
		return "Chosen by the team leader: no idea has a score."
	case o.SelectedBy == ByOrder:
		return "The first idea: none has a score, and the team leader named none clearly."
	case f.Assumed:
		return why + "which was assumed: there is no grade."
	case o.BelowThreshold:
		return why + fmt.Sprintf("below the threshold of %v.", d.Threshold)
	case o.LeaderChoice != nil && o.LeaderChoice.ID != f.ID:
		return why + fmt.Sprintf("and the threshold of %v is met. The team leader preferred “%s”.", d.Threshold, o.LeaderChoice.Title)
	}
	return why + fmt.Sprintf("and the threshold of %v is met.", d.Threshold)
}

// steps groups the messages: before the rounds, each round, after them. The ui_creator's
// page is shown elsewhere.
func steps(messages []Message) []page.Step {
	var all []page.Step
	rounds := false
	for _, m := range messages {
		if m.Type == "visualization" {
			continue
		}
		title := "Opening"
		switch {
		case m.Round > 0:
			title, rounds = fmt.Sprintf("Round %d", m.Round), true
		case rounds:
			title = "Decision"
		}
		if n := len(all); n == 0 || all[n-1].Title != title {
			all = append(all, page.Step{Title: title})
		}
		t := page.Turn{Who: roleInWords(Role(m.author())), Text: m.Content}
		if string(m.Type) != string(m.From) {
			t.What = string(m.Type)
		}
		if m.Turn > 1 {
			t.What = strings.TrimSpace(fmt.Sprintf("%s turn %d", t.What, m.Turn))
		}
		last := &all[len(all)-1]
		last.Turns = append(last.Turns, t)
	}
	return all
}
