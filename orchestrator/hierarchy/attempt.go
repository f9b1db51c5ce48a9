package hierarchy

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// assignment is work that one agent tries until it passes: that of a specialist, of a
// head that answers directly, and a synthesis.
type assignment struct {
	*department

	desk   *team.Run // run with the warnings of the worker
	agent  Agent
	role   string // Working.Role
	brief  string // text by which the work is judged
	prompt string // prompt of the first try
	most   int    // number of tries that the configuration allows
	graded bool

	start func(c *orchestrator.Context) error   // moves the machine of the worker before each try
	moved func(c *orchestrator.Context, m Move) // moves it by what a try came to; stop: by why there is no more
	emit  func(c *orchestrator.Context, kind team.Kind, e *Event)

	least    int     // least length of an output, in characters
	gate     float64 // if graded; 0: every output passes
	attempts []Attempt
	tries    []orchestrator.Try // attempts as a Retrier sees them
	asked    string             // prompt of the last try
	down     bool               // the call of the last try failed, so that no work came of it
	self     *float64           // agent's own score of the last output; nil: none
	fault    error              // fault of the score that the agent gave itself; nil: none
	broken   bool               // the rule that grades failed, which is a warning already
}

// work tries until an output passes or no try is left. Its error says that the run is
// canceled or out of budget, or what a rule did; an agent that fails is no error.
func (w *assignment) work(c *orchestrator.Context) (err error) {
	if w.graded {
		w.gate, err = team.Figure(w.desk, c, w.agent.ID, "Rules.Threshold", 100, func() (float64, error) {
			return w.run.cfg.Rules.Threshold.Threshold(team.Clone(subject(w.agent, w.Department)), slices.Clone(w.run.in.History[w.agent.ID])), nil
		})
	}
	for how := (orchestrator.Again{Retry: true}); how.Retry; {
		if err == nil && how.After > 0 {
			err = c.Sleep(how.After)
		}
		if err == nil {
			err = w.start(c)
		}
		if err != nil {
			w.run.over(c, err)
			w.moved(c, moveStop)
			return err
		}
		if how, err = w.attempt(c, how); err != nil {
			return err
		}
	}
	return nil
}

// attempt makes a try, and says whether and how the next one is made. Its error is that of
// work.
func (w *assignment) attempt(c *orchestrator.Context, how orchestrator.Again) (next orchestrator.Again, err error) {
	a := Attempt{Number: len(w.attempts)}
	if how.Agent != w.agent.ID {
		a.Agent = how.Agent
	}
	feedback := how.Feedback // on the try before
	if a.Number > 0 && !how.Fresh {
		feedback = cmp.Or(feedback, w.attempts[a.Number-1].Feedback)
	}
	w.emit(c, EventAttemptStarted, &Event{Attempt: &a.Number, Feedback: feedback})
	failed := w.try(c, &a, how)
	if failed != nil {
		a.Error = prompt.OneLine(failed.Error())
	}
	if failed != nil && !w.down {
		a.Feedback = fmt.Sprintf("Attempt %d failed: %s. Improve %s.", a.Number+1, strings.TrimSuffix(a.Error, "."), strings.Join(w.run.marks, ", "))
	}
	m := moveStop
	if w.run.over(c, failed) {
		err = failed
	} else {
		if failed == nil && w.graded {
			w.moved(c, moveOutput)
			err = w.grade(c, &a)
			w.broken = err != nil
		}
		w.attempts, w.tries = append(w.attempts, a), append(w.tries, w.tried(a, failed))
		if err == nil {
			m, next, err = w.verdict(c, a)
		}
	}
	w.moved(c, m)
	told := &Event{Event: team.Event{Text: a.Error}, Attempt: &a.Number, Decision: a.Decision}
	if a.Ungraded != "" {
		told.Text = "not graded: " + a.Ungraded
	} else if a.Output != nil && w.graded {
		told.Score = &a.Score
	}
	w.emit(c, EventAttemptFinished, told)
	return next, err
}

// verdict returns the move after a try, and how the next one is made, if there is one.
func (w *assignment) verdict(c *orchestrator.Context, a Attempt) (m Move, next orchestrator.Again, err error) {
	switch {
	case a.Output != nil && (!w.graded || a.Decision == grading.Accept):
		return moveAccept, next, nil
	case a.Ungraded+a.Assumed != "":
		return moveUngraded, next, nil
	}
	of := orchestrator.Working{Role: w.role, ID: w.agent.ID, Group: w.ID, Max: w.most}
	next, err = team.Again(w.desk, c, w.run.cfg.Rules.Retrier, of, w.tries)
	switch {
	case err != nil:
		return moveStop, next, err
	case !next.Retry:
		return moveExhausted, next, nil
	case a.Output == nil:
		return moveError, next, nil
	default:
		return Move(a.Decision), next, nil
	}
}

func (w *assignment) tried(a Attempt, failed error) orchestrator.Try {
	t := orchestrator.Try{Agent: cmp.Or(a.Agent, w.agent.ID), Err: failed, Decision: string(a.Decision), Feedback: a.Feedback}
	if s := scores([]Attempt{a}); len(s) > 0 {
		t.Score = &s[0]
	}
	return t
}

// try lets the agent make the output of an attempt.
func (w *assignment) try(c *orchestrator.Context, a *Attempt, how orchestrator.Again) (err error) {
	if w.asked, err = w.text(how); err != nil {
		return err
	}
	a.Prompt = fmt.Sprintf("%x", sha256.Sum256([]byte(w.asked)))
	began := c.Elapsed()
	resp, err := c.Call(cmp.Or(a.Agent, w.agent.ID), w.run.request(w.agent, w.agent.ID, w.asked))
	if w.down = err != nil; w.down {
		a.Duration = c.Elapsed() - began
		return err
	}
	a.Duration = resp.Elapsed
	output, err := outputOf(resp, w.agent.Schema)
	if n := length(output); err == nil && n < w.least {
		err = fmt.Errorf("the result has %d characters, want %d or more", n, w.least)
	}
	if err != nil {
		return err
	}
	a.Output = output
	w.self, w.fault = selfScore(resp)
	return nil
}

// text returns the prompt of a try. After a call that failed it is that of the last try: a
// model learns of its work, never of its connection.
func (w *assignment) text(how orchestrator.Again) (string, error) {
	n := len(w.attempts)
	switch {
	case n == 0 || how.Fresh && how.Feedback == "":
		return w.prompt, nil
	case w.down && how.Feedback == "":
		return w.asked, nil
	}
	p := retryPrompt{Request: w.prompt, Attempt: n + 1, Feedback: how.Feedback, Fresh: how.Fresh, Marks: w.run.own}
	for _, before := range w.attempts {
		if before.Feedback != "" && !how.Fresh {
			p.Previous = Text(before.Output)
		}
		if before.Feedback != "" && how.Feedback == "" {
			p.Feedback += before.Feedback + "\n"
		}
	}
	p.Feedback = strings.TrimSuffix(p.Feedback, "\n")
	return w.run.Prompts.Fill("retry.tmpl", p)
}

// request is a request to an agent with its settings. task is what it is about: the
// specialist whose work is made or graded, or the department.
func (r *run) request(a Agent, task, prompt string) agent.Request {
	return agent.Request{
		Task: task, Prompt: prompt, Output: a.Schema, Temperature: a.Temperature,
		Limits: agent.Limits{Total: a.Timeout, Estimate: cmp.Or(a.Estimate, r.Limits.Estimate)},
	}
}

// call asks an agent with the prompt that a template makes of values.
func (r *run) call(c *orchestrator.Context, a Agent, task, template string, values any) (agent.Response, error) {
	text, err := r.Prompts.Fill(template, values)
	if err != nil {
		return agent.Response{}, err
	}
	return c.Call(a.ID, r.request(a, task, text))
}

// best is the attempt that counts: the one with an output and the highest score, the
// latest of equals; one with an ungraded output only if there is none. There is at least
// one attempt.
func best(attempts []Attempt) Attempt {
	return attempts[team.Best(len(attempts), team.Last, func(i int) *float64 {
		switch a := attempts[i]; {
		case a.Output == nil:
			return new(math.Inf(-1))
		case a.Ungraded != "":
			return new(-1.0)
		default:
			return &a.Score
		}
	})]
}

// graded reports whether an attempt has a score that nobody assumed. Where nothing is graded
// all have.
func (a *Attempt) graded() bool { return a.Ungraded+a.Assumed == "" }

func (w *assignment) warnAbout(c *orchestrator.Context) {
	for i, a := range w.attempts {
		if a.Ungraded != "" && (!w.broken || i < len(w.attempts)-1) {
			w.desk.Warn(c, w.desk.Code("ungraded"), w.agent.ID, "%s", a.Ungraded)
		}
		if a.Assumed != "" {
			w.desk.Warn(c, w.desk.Code("assumed-score"), w.agent.ID, "score %s in place of a grade: %s", number(a.Score), a.Assumed)
		}
	}
	if len(w.attempts) > 0 && best(w.attempts).Output == nil {
		w.desk.Warn(c, w.desk.Code("agent-failed"), w.agent.ID, "%s", failure(w.attempts))
	}
}

func failure(attempts []Attempt) string {
	n := len(attempts)
	return fmt.Sprintf("failed %d times, last: %s", n, attempts[n-1].Error)
}

// scoredLine says what a graded attempt lacks. marks are the names of those of a grade.
func scoredLine(a Attempt, gate float64, marks []string) string {
	g := *cmp.Or(a.Grade, new(Grade{}))
	line := fmt.Sprintf("Attempt %d scored %s of 100, below the threshold of %s. Improve %s.",
		a.Number+1, number(a.Score), number(gate), strings.Join(g.weakest(gate, marks), ", "))
	if len(g.Suggestions) > 0 {
		line += " Suggestions: " + strings.Join(g.Suggestions, "; ")
	}
	return prompt.OneLine(line)
}
