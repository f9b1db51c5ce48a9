package hierarchy

import (
	"fmt"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
)

// SelfGrader takes the figure that an agent reports of its own work: the member
// qualityScore, 0 to 100, of an answer that is a JSON object. Without one the work
// scores 75 (HC5, HC37). It asks nobody.
func SelfGrader(*orchestrator.Context, Work) (Grade, error) { return Grade{}, nil }

// marks is what a head answers when it grades. A figure on another scale does not
// fit and is never clamped (HX6).
type marks struct {
	Quality     float64  `json:"quality" min:"0" max:"1"`
	Relevance   float64  `json:"relevance" min:"0" max:"1"`
	Consistency float64  `json:"consistency" min:"0" max:"1"`
	Suggestions []string `json:"suggestions,omitempty"`
}

// headGrade has the head of the department grade; an answer that cannot be used is
// sent back once (HX6).
func (r *run) headGrade(c *orchestrator.Context, w Work) (Grade, error) {
	prompt, err := r.prompts.Fill("grade.tmpl", gradePrompt{
		Department: w.Department, Agent: w.Agent, Request: w.Brief, Output: Text(w.Output),
	})
	if err != nil {
		return Grade{}, err
	}
	head := w.Department.head()
	req := r.request(head, prompt)
	req.Output = nil // that of its work, not of its grades
	m, _, err := orchestrator.Ask[marks](c, head.ID, req)
	if err != nil {
		return Grade{}, err
	}
	dims := grading.Dimensions{Quality: m.Quality, Relevance: m.Relevance, Consistency: m.Consistency}
	return Grade{Dimensions: &dims, Suggestions: m.Suggestions}, nil
}

// grade gives an attempt its score: that of the grader, else the agent's own
// figure, else 75 (HC5). A grader that fails has not graded (HX6); only the end of
// the run is an error.
func (r *run) grade(c *orchestrator.Context, a *Attempt, w Work, self *float64) error {
	g, err := guard("grader", func() (Grade, error) { return r.grader(c, w) })
	if err != nil && r.stops(c, err) && r.canceled {
		return err
	}
	if err == nil {
		g, err = g.scored()
	}
	if err == nil && g.Score != nil {
		a.Grade = &g
	} else {
		g = Grade{}
	}
	a.Score, a.ScoreDefaulted = grading.Effective(g.Score, self)
	return nil
}

// scored returns g with its Score: the one it has or that of its dimensions. A
// figure out of range is an error and never clamped.
func (g Grade) scored() (Grade, error) {
	if g.Score != nil && !validScore(*g.Score) {
		return Grade{}, fmt.Errorf("score is %v, want 0 to 100", *g.Score)
	}
	if g.Dimensions != nil {
		percent, err := grading.Percent(*g.Dimensions)
		if err != nil {
			return Grade{}, err
		}
		g.Score = or(g.Score, percent)
	}
	if g.Score != nil {
		g.Score = new(grading.Round6(*g.Score))
	}
	return g, nil
}
