package hierarchy

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/convene-go/convene/orchestrator/team/page"
)

// Page makes an HTML page of an outcome, without a model: the result, what it cost, what
// is unverified, and how it came about: each department with the attempts of its
// specialists, their scores and gates, and those of its head that were graded. The page is
// self-contained: it loads nothing and has no script, and text of agents is escaped.
func Page(o Outcome) (string, error) {
	names := map[string]string{}
	departments := page.Section{ID: "departments", Title: "Departments"}
	course := page.Section{ID: "course", Title: "How it came about"}
	for _, r := range o.Reports {
		names[r.DepartmentID] = r.DepartmentName
		departments.Cards = append(departments.Cards, r.card())
		step := page.Step{Title: r.DepartmentName}
		for _, s := range r.Specialists {
			names[s.AgentID] = s.AgentName
			step.Turns = append(step.Turns, turns(s.AgentName, s.Threshold, s.Attempts)...)
		}
		step.Turns = append(step.Turns, turns("Head", 0, r.HeadAttempts)...)
		if len(step.Turns) > 0 {
			course.Steps = append(course.Steps, step)
		}
	}
	p := page.Of("Hierarchy", o.Asked, o.Outcome).Named(func(id string) string { return cmp.Or(names[id], id) })
	p.Result, p.Sections = o.result(), []page.Section{departments, course}
	return p.HTML()
}

// result is the master's text, or what the departments made.
func (o Outcome) result() page.Card {
	if len(o.Output) == 0 {
		return page.Card{Title: unableToGenerate}
	}
	c := page.Card{Won: true, Label: "Result", Title: "What the team made", Text: o.Result(), Why: fmt.Sprintf("By %d of %d departments.", len(o.done()), len(o.Reports))}
	if o.Score != nil {
		c.Score = &page.Score{Value: *o.Score, Max: 100}
	}
	return c
}

func (r Report) card() page.Card {
	c := page.Card{Title: r.DepartmentName, Tags: []string{string(r.Status)}, Text: Text(r.Output), Won: r.Status == DepartmentDone}
	if r.Basis != "" {
		c.Tags = append(c.Tags, strings.ReplaceAll(string(r.Basis), "-", " "))
	}
	if r.Status == DepartmentDone && r.Ungraded == "" {
		c.Score = &page.Score{Value: r.RawQuality, Gate: r.Gate, Max: 100}
	} else if r.Status == DepartmentDone {
		c.Tags, c.Why = append(c.Tags, "no score"), "Not graded: "+r.Ungraded
	}
	return c
}

// turns are the attempts of one agent. gate is the threshold of their scores; 0: not said.
func turns(who string, gate float64, attempts []Attempt) []page.Turn {
	var turns []page.Turn
	for i, a := range attempts {
		t := page.Turn{Who: who, What: fmt.Sprintf("try %d of %d", i+1, len(attempts)), Text: Text(a.Output)}
		switch {
		case a.Output == nil:
			t.Text = "It failed: " + a.Error
		case a.Ungraded != "":
			t.Text += "\n\nNot graded: " + a.Ungraded
		default:
			t.Score = &page.Score{Value: a.Score, Gate: gate, Max: 100}
		}
		if a.Feedback != "" {
			t.Text += "\n\nFeedback: " + a.Feedback
		}
		turns = append(turns, t)
	}
	return turns
}
