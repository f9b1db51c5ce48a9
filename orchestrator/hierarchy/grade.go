package hierarchy

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/convene-go/convene/grading"
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
// After an error a Grader is asked once more; then the output is ungraded. A panic, or a figure
// out of range, is a fault of the rule: see Rules. A Grade without Score and Marks means that the output is not to be graded: then
// the agent's own score counts, else 75.
var HeadGrader = orchestrator.GradeWith(func(c *orchestrator.Context, w Work) (Grade, error) {
	if w.byHead == nil {
		return Grade{}, errors.New("the work is not that of a run")
	}
	return w.byHead(c, w)
})

// SelfGrader uses the score that an agent reports for its own work: the member
// qualityScore, 0 to 100, of an answer that is a JSON object. Without one, or with null, the
// work scores 75. With one that is no number from 0 to 100 it is ungraded, as after a Grader's
// error. It makes no call.
var SelfGrader = orchestrator.GradeWith(func(*orchestrator.Context, Work) (Grade, error) { return Grade{}, nil })

func (r *run) headGrade(c *orchestrator.Context, w Work) (g Grade, err error) {
	head := w.Department.head()
	head.Schema = gradeSchema(r.marks)
	members, err := team.Seat[map[string]json.RawMessage]{
		Agent: head.ID, Prompt: "grade.tmpl", Request: r.request(head, w.Agent.ID, ""), On: team.Hooks{Quiet: true},
	}.Ask(c, r.Run, gradePrompt{Department: w.Department, Agent: w.Agent, Request: w.Brief, Output: Text(w.Output), Marks: r.own})
	if err != nil {
		return g, err
	}
	g.Marks = make(map[string]float64, len(r.marks))
	for _, name := range r.marks {
		var mark float64
		err = cmp.Or(err, json.Unmarshal(members[name], &mark))
		g.Marks[name] = mark
	}
	if raw, ok := members["suggestions"]; ok {
		err = cmp.Or(err, json.Unmarshal(raw, &g.Suggestions))
	}
	return g, err
}

var usual = []string{"quality", "relevance", "consistency"} // marks of grading.DefaultDimensions, in the order of prompts

// marksOf returns the names of the marks that a scorer of outputs takes. own are those for
// prompts, which say more about the usual ones: it is nil for them.
func marksOf(s grading.Scorer) (names, own []string) {
	if s, ok := s.(grading.Named); ok {
		names = s.Names()
	}
	if len(names) == 0 || slices.Equal(slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(usual))) {
		return usual, nil
	}
	return names, names
}

// gradeSchema returns the schema of grades with these marks.
func gradeSchema(marks []string) json.RawMessage {
	var members strings.Builder
	for _, name := range marks {
		members.WriteString(string(agent.JSON(name)) + `:{"type":"number","minimum":0,"maximum":1},`)
	}
	return json.RawMessage(`{"type":"object","properties":{` + members.String() +
		`"suggestions":{"type":["array","null"],"items":{"type":"string"}}},"required":` + string(agent.JSON(marks)) + `,"additionalProperties":false}`)
}

// grade sets the score of an attempt and decides on it. The agent's own score counts only if
// no grade was asked for. The error is that of a rule.
func (w *assignment) grade(c *orchestrator.Context, a *Attempt) error {
	r := w.run
	g, failed, err := team.Grade(w.desk, c, w.agent.ID, "Rules.Grader", func() (Grade, error) {
		return r.cfg.Rules.Grader.Grade(c, team.Clone(Work{w.Department, w.agent, w.brief, a.Output, w.gate, a.Number, r.headGrade}))
	}, Grade.check)
	r.over(c, failed)
	if failed == nil && err == nil {
		g.Score, err = w.score(c, g)
	}
	if failed == nil && err == nil && g.Score == nil {
		failed = w.fault
	}
	assumed := r.cfg.Policy.AssumeScore
	switch {
	case failed == nil && err != nil:
		a.Ungraded = prompt.OneLine(err.Error())
		return err
	case failed == nil:
		a.Score, a.ScoreDefaulted = effective(g.Score, w.self)
		if g.Score != nil {
			a.Grade = &g
		}
	case assumed == nil || c.IsCanceled(failed):
		a.Ungraded = prompt.OneLine(failed.Error())
		if w.gate == 0 {
			a.Decision = grading.Accept
		}
		return nil
	default:
		a.Score, a.Assumed = *assumed, prompt.OneLine(failed.Error())
	}
	a.Decision, err = team.Decide(w.desk, c, w.agent.ID, "Rules.Gates.Attempt", r.cfg.Rules.Gates.Attempt, grading.Standing{
		Of: subject(w.agent, w.Department), Score: a.Score, Threshold: w.gate, Before: scores(w.attempts), Try: a.Number + 1, Most: w.most,
	}, grading.Accept, grading.Revise, grading.Discard)
	if a.Decision != grading.Accept {
		a.Feedback = scoredLine(*a, w.gate, r.marks)
	}
	return err
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
	var f team.Faults
	if g.Score != nil {
		f.Within("score", *g.Score, 0, 100)
	}
	for _, name := range slices.Sorted(maps.Keys(g.Marks)) {
		f.Within(name, g.Marks[name], 0, 1)
	}
	return f.Err()
}

// score is that of a grade: its Score, or what the rule makes of Marks; nil: it has neither.
func (w *assignment) score(c *orchestrator.Context, g Grade) (*float64, error) {
	if g.Score != nil {
		return new(grading.Round6(*g.Score)), nil
	}
	if g.Marks == nil {
		return nil, nil //nolint:nilnil // no score is no fault
	}
	score, err := team.Figure(w.desk, c, w.agent.ID, "Rules.Scores.Output", 100, func() (float64, error) {
		return w.run.cfg.Rules.Scores.Output.Score(g.marks(w.run.marks))
	})
	return &score, err
}

// marks are the marks for a scorer, 0 to 100: those of names first, then others by name.
func (g Grade) marks(names []string) grading.Marks {
	var marks grading.Marks
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(g.Marks)), func(name string) bool { return slices.Contains(names, name) })
	for _, name := range slices.Concat(names, others) {
		if value, ok := g.Marks[name]; ok {
			marks = append(marks, grading.Mark{Name: name, Value: 100 * value})
		}
	}
	return marks
}

// weakest returns the names of the marks below a threshold, or all if none is.
func (g Grade) weakest(threshold float64, names []string) (below []string) {
	var all []string
	for _, m := range g.marks(names) {
		all = append(all, m.Name)
		if !grading.Passes(m.Value, threshold) {
			below = append(below, m.Name)
		}
	}
	for _, found := range [][]string{below, all} {
		if len(found) > 0 {
			return found
		}
	}
	return names
}

// number is a number as text for prompts and notes.
func number(x float64) string { return strconv.FormatFloat(grading.Round6(x), 'f', -1, 64) }

// effective returns the score of an attempt that has an output: the graded score, else the
// specialist's own, else 75, in which case defaulted is true. Nil means missing; a real 0
// stays 0.
func effective(graded, self *float64) (score float64, defaulted bool) {
	if found := cmp.Or(graded, self); found != nil {
		return *found, false
	}
	return 75, true
}
