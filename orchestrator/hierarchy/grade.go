package hierarchy

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// Work is an output to be graded.
type Work struct {
	Department Department      // Department is that of the agent
	Agent      Agent           // Agent is the one whose work it is
	Brief      string          // Brief is what the work is judged by
	Output     json.RawMessage // Output is the work: see Text
	Threshold  float64         // Threshold is what the score must reach, 0 to 100; 0: no gate
	Attempt    int             // Attempt is the number of the try, from 0

	byHead func(c *orchestrator.Context, w Work) (Grade, error)
}

// Grade is a grader's judgement of an output.
type Grade struct {
	Score       *float64           `json:"score,omitempty"`       // Score is 0 to 100; nil: what Rules.Scores.Output makes of Marks
	Marks       map[string]float64 `json:"marks,omitempty"`       // Marks are figures of 0 to 1 by name; nil: none
	Suggestions []string           `json:"suggestions,omitempty"` // Suggestions are for the next try, a sentence each; nil: none
}

// HeadGrader has the head of the department grade, by Rules.Scores.Output. An answer that
// cannot be used, such as a mark on another scale, is sent back once. A grader of the host
// may call it.
//
// After an error, or a figure out of range, a Grader is asked once more; then the output is
// ungraded. A Grade without Score and Marks means that the output is not to be graded: then
// the agent's own score counts, else 75.
var HeadGrader = orchestrator.GradeWith(func(c *orchestrator.Context, w Work) (Grade, error) {
	if w.byHead == nil {
		return Grade{}, errors.New("the work is not that of a run")
	}
	return w.byHead(c, w)
})

// SelfGrader uses the score that an agent reports for its own work: the member
// qualityScore, 0 to 100, of an answer that is a JSON object. Without one the work
// scores 75. It makes no call.
var SelfGrader = orchestrator.GradeWith(func(*orchestrator.Context, Work) (Grade, error) { return Grade{}, nil })

// headGrade lets the head of the department grade.
func (r *run) headGrade(c *orchestrator.Context, w Work) (Grade, error) {
	text, err := r.Prompts.Fill("grade.tmpl", gradePrompt{
		Department: w.Department, Agent: w.Agent, Request: w.Brief, Output: Text(w.Output), Marks: r.own,
	})
	if err != nil {
		return Grade{}, err
	}
	head := w.Department.head()
	head.Schema = r.grades.JSON()
	g, _, err := orchestrator.AskWith(c, head.ID, r.request(head, w.Agent.ID, text), func(resp agent.Response) (Grade, error) {
		members, err := answer.Read[map[string]json.RawMessage](r.grades, resp.Data, resp.Text)
		if err != nil {
			return Grade{}, err
		}
		return read(members, r.marks)
	})
	return g, err
}

// read returns the grade in an answer of the head, which fits the shape of grades.
func read(members map[string]json.RawMessage, names []string) (g Grade, err error) {
	g.Marks = map[string]float64{}
	for _, name := range names {
		var mark float64
		err = cmp.Or(err, json.Unmarshal(members[name], &mark))
		g.Marks[name] = mark
	}
	if raw, ok := members["suggestions"]; ok {
		err = cmp.Or(err, json.Unmarshal(raw, &g.Suggestions))
	}
	return g, err
}

// usual are the marks of grading.DefaultDimensions, in the order of prompts.
var usual = []string{"quality", "relevance", "consistency"}

// marksOf returns the names of the marks that a scorer of outputs takes. own are those for
// prompts, which say more about the usual ones: it is nil for them.
func marksOf(s grading.Scorer) (names, own []string) {
	switch s := s.(type) {
	case interface{ Names() []string }:
		names = s.Names()
	case grading.Weighted:
		names = slices.Sorted(maps.Keys(s))
	}
	if len(names) == 0 || slices.Equal(slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(usual))) {
		return usual, nil
	}
	return names, names
}

// shapeOf returns the shape of grades with these marks.
func shapeOf(marks []string) (*answer.Shape, error) {
	var members, required []string
	for _, name := range marks {
		members = append(members, string(agent.JSON(name))+`:{"type":"number","minimum":0,"maximum":1}`)
		required = append(required, string(agent.JSON(name)))
	}
	return answer.FromSchema([]byte(`{"type":"object","properties":{` + strings.Join(members, ",") +
		`,"suggestions":{"type":["array","null"],"items":{"type":"string"}}},"required":[` + strings.Join(required, ",") +
		`],"additionalProperties":false}`))
}

// grade sets the score of an attempt and decides on it. self is the agent's own score,
// which counts only if no grade was asked for. Its error is that of a rule.
func (w *assignment) grade(c *orchestrator.Context, a *Attempt, self *float64) error {
	r := w.run
	g, err := team.Graded(func() (Grade, error) {
		g, err := team.Guard("grader", func() (Grade, error) {
			return r.cfg.Rules.Grader.Grade(c, Work{w.department, w.agent, w.brief, a.Output, w.gate, a.Number, r.headGrade})
		})
		if err != nil {
			return Grade{}, err
		}
		return g, g.check()
	})
	r.over(c, err)
	assumed := r.cfg.Policy.AssumeScore
	switch {
	case err == nil:
		if err := w.setScore(c, &g); err != nil {
			a.Ungraded = prompt.OneLine(err.Error())
			return err
		}
		a.Score, a.ScoreDefaulted = grading.Effective(g.Score, self)
		if g.Score != nil {
			a.Grade = &g
		}
	case assumed == nil || c.IsCanceled(err):
		a.Ungraded = prompt.OneLine(err.Error())
		if w.gate == 0 {
			a.Decision = grading.Accept
		}
		return nil
	default:
		a.Score, a.Assumed = *assumed, prompt.OneLine(err.Error())
	}
	a.Decision, err = team.Decide(w.desk, c, w.agent.ID, "Rules.Gates.Attempt", r.cfg.Rules.Gates.Attempt, w.standing(*a), grading.Accept, grading.Revise, grading.Discard)
	if a.Decision != grading.Accept {
		a.Feedback = scoredLine(*a, w.gate, r.marks)
	}
	return err
}

// standing is what a gate goes by.
func (w *assignment) standing(a Attempt) grading.Standing {
	return grading.Standing{
		Of: subject(w.agent, w.department), Score: a.Score, Threshold: w.gate, Before: scores(w.attempts[:a.Number]), Try: a.Number + 1, Most: w.most,
	}
}

func subject(a Agent, d Department) grading.Subject {
	return grading.Subject{ID: a.ID, Group: d.ID, Own: a.PassingThreshold, Shared: d.MinQuality}
}

// scores are those of attempts that have one, oldest first.
func scores(attempts []Attempt) (found []float64) {
	for _, a := range attempts {
		if a.Output != nil && a.Ungraded == "" {
			found = append(found, a.Score)
		}
	}
	return found
}

// check returns what is wrong with the figures of a grade, which are never clamped.
func (g Grade) check() error {
	var faults []error
	if g.Score != nil && !isPercent(*g.Score) {
		faults = append(faults, fmt.Errorf("grader: score is %v, want 0 to 100", *g.Score))
	}
	for _, name := range slices.Sorted(maps.Keys(g.Marks)) {
		if x := g.Marks[name]; !(x >= 0 && x <= 1) { // also refuses NaN
			faults = append(faults, fmt.Errorf("grader: %s is %v, want 0 to 1", name, x))
		}
	}
	return errors.Join(faults...)
}

// setScore sets the Score of a grade that has only Marks.
func (w *assignment) setScore(c *orchestrator.Context, g *Grade) error {
	switch {
	case g.Score != nil:
		g.Score = new(grading.Round6(*g.Score))
	case g.Marks != nil:
		score, err := team.Figure(w.desk, c, w.agent.ID, "Rules.Scores.Output", 100, func() (float64, error) {
			return w.run.cfg.Rules.Scores.Output.Score(g.marks(w.run.marks))
		})
		if err != nil {
			return err
		}
		g.Score = &score
	}
	return nil
}

// marks are the marks for a scorer, 0 to 100: those of names first, then others by name.
func (g Grade) marks(names []string) grading.Marks {
	var marks grading.Marks
	for _, name := range slices.Concat(names, slices.Sorted(maps.Keys(g.Marks))) {
		value, ok := g.Marks[name]
		if ok && !slices.ContainsFunc(marks, func(m grading.Mark) bool { return m.Name == name }) {
			marks = append(marks, grading.Mark{Name: name, Value: 100 * value})
		}
	}
	return marks
}

// weakest returns the names of the marks below a threshold, or all if none is.
func (g Grade) weakest(threshold float64, names []string) []string {
	if len(g.Marks) == 0 {
		return names
	}
	var below, all []string
	for _, m := range g.marks(names) {
		all = append(all, m.Name)
		if grading.Round6(m.Value) < grading.Round6(threshold) {
			below = append(below, m.Name)
		}
	}
	if len(below) == 0 {
		return all
	}
	return below
}

// threshold is the gate for the work.
func (w *assignment) threshold(c *orchestrator.Context) (float64, error) {
	return team.Figure(w.desk, c, w.agent.ID, "Rules.Threshold", 100, func() (float64, error) {
		return w.run.cfg.Rules.Threshold.Threshold(subject(w.agent, w.department), w.run.in.History[w.agent.ID]), nil
	})
}

// number is a number as text for prompts and notes.
func number(x float64) string { return strconv.FormatFloat(grading.Round6(x), 'f', -1, 64) }
