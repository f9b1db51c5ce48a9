package discussion

import (
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/providers"
)

//go:embed page.tmpl
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// HTML is a [Reporter] that makes the page of [Page].
type HTML struct{}

// Report implements [Reporter].
func (HTML) Report(o Outcome) (string, error) { return Page(o) }

// Page makes a page of a discussion for people: topic, winner, ranking, ideas, course
// and cost, without a model. It stands alone: it loads nothing and has no script.
//
// Text of agents is escaped. The ui_creator's own HTML is shown only inside of a frame
// that may run nothing and load nothing: its sandbox is closed, and the page's content
// security policy holds there, too.
func Page(o Outcome) (string, error) {
	var b strings.Builder
	if err := pageTemplate.Execute(&b, viewOf(o)); err != nil {
		return "", fmt.Errorf("discussion: page: %w", err)
	}
	return b.String(), nil
}

// What the template is filled with.
type (
	pageView struct {
		Topic, Status, Verdict string
		Winner                 *ideaView
		Ranking                []ideaView // with a score, the best first
		Threshold              float64
		ThresholdAt            float64 // percent of the scale
		Ideas                  []ideaView
		Rounds                 []roundView
		Warnings               []Warning
		Created                template.HTMLAttr // the ui_creator's page as what the closed frame shows
		Facts                  []fact
	}
	ideaView struct {
		Idea
		Place   int     // in the ranking, from 1; 0: no score
		Percent float64 // of the scale
		Marks   []mark
		Won     bool
	}
	mark struct {
		Name    string
		Value   float64
		Percent float64
	}
	roundView struct {
		Title    string
		Messages []Message
	}
	fact struct{ Name, Value string }
)

func viewOf(o Outcome) pageView {
	d := o.Discussion
	v := pageView{
		Topic: d.Topic, Status: string(d.Status), Threshold: d.Threshold, ThresholdAt: percent(d.Threshold),
		Rounds: courseOf(d.Messages), Warnings: o.Warnings, Facts: factsOf(o), Verdict: verdictOf(o),
	}
	for _, idea := range d.Ideas {
		v.Ideas = append(v.Ideas, ideaView{
			Idea: idea, Percent: percent(idea.Score), Marks: marksOf(idea.Criteria),
			Won: o.FinalIdea != nil && o.FinalIdea.ID == idea.ID,
		})
	}
	scores, valid := make([]float64, len(d.Ideas)), make([]bool, len(d.Ideas))
	for i, idea := range d.Ideas {
		scores[i], valid[i] = idea.Score, idea.Validated
	}
	for place, i := range grading.Shortlist(scores, valid, 0) {
		v.Ideas[i].Place = place + 1
		v.Ranking = append(v.Ranking, v.Ideas[i])
	}
	if i := slices.IndexFunc(v.Ideas, func(i ideaView) bool { return i.Won }); i >= 0 {
		v.Winner = &v.Ideas[i]
	}
	for _, m := range d.Messages {
		if m.Type == TypeVisualization {
			v.Created = srcdoc(unfence(m.Content))
		}
	}
	return v
}

// srcdoc is a page as the attribute of a frame. The template cannot make it: it takes
// the tags out of attributes.
func srcdoc(page string) template.HTMLAttr {
	return template.HTMLAttr(`srcdoc="` + template.HTMLEscapeString(page) + `"`) //nolint:gosec // escaped here, for a closed frame
}

func percent(score float64) float64 {
	return min(max(score, 0), grading.MaxIdeaScore) * 100 / grading.MaxIdeaScore
}

func marksOf(c *grading.Criteria) []mark {
	if c == nil {
		return nil
	}
	return []mark{
		{"Feasibility", c.Feasibility, percent(c.Feasibility)},
		{"Innovation", c.Innovation, percent(c.Innovation)},
		{"Impact", c.Impact, percent(c.Impact)},
		{"Clarity", c.Clarity, percent(c.Clarity)},
		{"Completeness", c.Completeness, percent(c.Completeness)},
	}
}

// courseOf groups the messages: before the rounds, each round, after them. The
// ui_creator's page is shown elsewhere.
func courseOf(messages []Message) []roundView {
	var course []roundView
	rounds := false
	for _, m := range messages {
		if m.Type == TypeVisualization {
			continue
		}
		title := "Opening"
		switch {
		case m.Round > 0:
			title, rounds = fmt.Sprintf("Round %d", m.Round), true
		case rounds:
			title = "Decision"
		}
		if n := len(course); n == 0 || course[n-1].Title != title {
			course = append(course, roundView{Title: title})
		}
		last := &course[len(course)-1]
		last.Messages = append(last.Messages, m)
	}
	return course
}

// verdictOf is one sentence on how it ended.
func verdictOf(o Outcome) string {
	switch {
	case o.FinalIdea != nil && o.SelectedBy == ByLeader:
		return "Chosen by the team leader: no idea has a score."
	case o.FinalIdea != nil && o.BelowThreshold:
		return fmt.Sprintf("The highest score, below the %.1f that were wanted.", o.Discussion.Threshold)
	case o.FinalIdea != nil && o.LeaderChoice != nil && o.LeaderChoice.ID != o.FinalIdea.ID:
		return "The highest score; the team leader preferred another idea."
	case o.FinalIdea != nil:
		return "The highest score."
	}
	return "No idea was chosen."
}

func factsOf(o Outcome) []fact {
	d := o.Discussion
	facts := []fact{
		{"Rounds", fmt.Sprintf("%d of %d", d.Round, d.MaxRounds)},
		{"Ideas", fmt.Sprint(len(d.Ideas))},
		{"Messages", fmt.Sprint(len(d.Messages))},
		{"Calls", fmt.Sprint(o.Spent.Calls)},
		{"Tokens", fmt.Sprintf("%d in, %d out", o.Spent.Input, o.Spent.Output)},
		{"Cost", costOf(o.Spent)},
	}
	if !d.Ended.IsZero() {
		facts = append(facts, fact{"Time", d.Ended.Sub(d.Started).Round(time.Second).String()})
	}
	return facts
}

func costOf(u providers.Usage) string {
	cost := fmt.Sprintf("%.4f USD", float64(u.Cost)/float64(providers.USD))
	switch {
	case u.Unpriced > 0 && u.Cost == 0:
		return "unknown"
	case u.Unpriced > 0:
		return "more than " + cost
	}
	return cost
}
