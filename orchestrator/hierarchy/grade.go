package hierarchy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// Grader grades an output. A Grade without a Score and Dimensions means that the output
// is not to be graded: then the agent's own score counts, else 75. After an error, or a
// score out of range, it is asked once more; then the output is ungraded.
type Grader func(c *orchestrator.Context, w Work) (Grade, error)

// Work is an output to be graded.
type Work struct {
	Department Department
	Agent      Agent
	Brief      string
	Output     json.RawMessage
	Threshold  float64
	Attempt    int // from 0
}

// Grade is a grader's judgement of an output.
type Grade struct {
	// Score is 0 to 100. nil: that of Dimensions.
	Score       *float64            `json:"score,omitempty"`
	Dimensions  *grading.Dimensions `json:"dimensions,omitempty"`
	Suggestions []string            `json:"suggestions,omitempty"` // for the next attempt
}

// SelfGrader uses the score that an agent reports for its own work: the member
// qualityScore, 0 to 100, of an answer that is a JSON object. Without one the work
// scores 75. It makes no call.
func SelfGrader(*orchestrator.Context, Work) (Grade, error) { return Grade{}, nil }

// headGrade lets the head of the department grade; an answer that cannot be used, such as
// a score on another scale, is sent back once.
func (r *run) headGrade(c *orchestrator.Context, w Work) (Grade, error) {
	text, err := r.prompts.Fill("grade.tmpl", gradePrompt{
		Department: w.Department, Agent: w.Agent, Request: w.Brief, Output: Text(w.Output),
	})
	if err != nil {
		return Grade{}, err
	}
	head := w.Department.head(r.cfg)
	head.Schema = nil // it is for its work, not for grades
	marks, _, err := orchestrator.Ask[struct {
		grading.Dimensions
		Suggestions []string `json:"suggestions,omitempty"`
	}](c, head.ID, request(head, w.Agent.ID, text))
	return Grade{Dimensions: &marks.Dimensions, Suggestions: marks.Suggestions}, err
}

// grade sets the score of an attempt and decides on it. self is the agent's own score,
// which counts only if no grade was asked for.
func (w *assignment) grade(c *orchestrator.Context, a *Attempt, self *float64) {
	r := w.run
	g, err := team.Graded(func() (Grade, error) {
		g, err := team.Guard("grader", func() (Grade, error) {
			return r.grader(c, Work{w.department, w.agent, w.brief, a.Output, w.gate, a.Number})
		})
		if err != nil {
			return Grade{}, err
		}
		return g.scored()
	})
	r.over(c, err)
	assumed := r.cfg.Policy.AssumeScore
	switch {
	case err == nil:
		a.Score, a.ScoreDefaulted = grading.Effective(g.Score, self)
		if g.Score != nil {
			a.Grade = &g
		}
	case assumed == nil || c.IsCanceled(err):
		a.Ungraded = prompt.OneLine(err.Error())
		if w.gate == 0 {
			a.Decision = grading.Accept
		}
		return
	default:
		a.Score, a.Assumed = *assumed, prompt.OneLine(err.Error())
	}
	if a.Decision = grading.Decide(a.Score, w.gate); a.Decision != grading.Accept {
		a.Feedback = scoredLine(*a, w.gate)
	}
}

// scored returns g with its Score: the one it has or that of its dimensions. A
// figure out of range is an error and never clamped.
func (g Grade) scored() (Grade, error) {
	if g.Score != nil {
		if !validScore(*g.Score) {
			return Grade{}, fmt.Errorf("grader: score is %v, want 0 to 100", *g.Score)
		}
		g.Score = new(grading.Round6(*g.Score))
	}
	if g.Dimensions != nil {
		percent, err := grading.Percent(*g.Dimensions)
		if err != nil {
			return Grade{}, err
		}
		g.Score = cmp.Or(g.Score, &percent)
	}
	return g, nil
}

// threshold is the gate for an agent's work.
func (r *run) threshold(a Agent, d Department) (float64, error) {
	hook := r.cfg.Hooks.Threshold
	if hook == nil {
		hook = func(_ Input, a Agent, d Department) float64 {
			return grading.ResolveThreshold(a.PassingThreshold, d.MinQuality)
		}
	}
	return percent("threshold", func() float64 { return hook(r.in, a, d) })
}

// percent is the result of a hook, which must be 0 to 100.
func percent(what string, hook func() float64) (float64, error) {
	x, err := team.Guard(what, func() (float64, error) { return hook(), nil })
	if err == nil && !validScore(x) {
		err = fmt.Errorf("%s: it is %v, want 0 to 100", what, x)
	}
	if err != nil {
		return 0, err
	}
	return grading.Round6(x), nil
}

func validScore(x float64) bool { return x >= 0 && x <= 100 } // also refuses NaN

// number is a number as text for prompts and notes.
func number(x float64) string { return strconv.FormatFloat(grading.Round6(x), 'f', -1, 64) }
