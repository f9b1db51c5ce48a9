package hierarchy

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"strings"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// assignment is work that one agent attempts until it passes: that of a specialist, of a
// head that answers directly, and a synthesis.
type assignment struct {
	run        *run
	department Department
	agent      Agent
	brief      string // what the work is judged by
	prompt     string // of the first attempt
	retries    Retries
	graded     bool

	// moved moves the machine of the worker: start, output, and the verdict on the attempt;
	// stop if the run allows no more.
	moved func(m Move)
	emit  func(c *orchestrator.Context, kind string, e Event)

	gate     float64 // if graded; 0: every output passes
	attempts []Attempt
}

// work makes attempts until one passes or none are left. Its error says that the run is
// canceled or out of budget, or that the threshold is invalid; an agent that fails is no
// error.
func (w *assignment) work(c *orchestrator.Context) (err error) {
	if w.graded {
		if w.gate, err = w.run.threshold(w.agent, w.department); err != nil {
			w.moved(moveStop)
			return err
		}
	}
	feedback := ""
	for {
		a := Attempt{Number: len(w.attempts)}
		w.moved(moveStart)
		w.emit(c, EventAttemptStarted, Event{Attempt: &a.Number, Feedback: feedback})
		self, err := w.try(c, &a)
		if err != nil {
			a.Error = prompt.OneLine(err.Error())
			a.Feedback = fmt.Sprintf("Attempt %d failed: %s. Improve quality, relevance, consistency.", a.Number+1, strings.TrimSuffix(a.Error, "."))
		}
		if w.run.over(c, err) {
			w.moved(moveStop)
			w.emit(c, EventAttemptFinished, w.told(a))
			return err
		}
		if err == nil && w.graded {
			w.moved(moveOutput)
			w.grade(c, &a, self)
		}
		w.attempts, feedback = append(w.attempts, a), a.Feedback
		m, last := w.verdict(a)
		w.moved(m)
		w.emit(c, EventAttemptFinished, w.told(a))
		if last {
			return nil
		}
	}
}

// verdict returns the move after an attempt, and whether it is the last one.
func (w *assignment) verdict(a Attempt) (m Move, last bool) {
	switch {
	case a.Output != nil && (!w.graded || a.Decision == grading.Accept):
		return moveAccept, true
	case a.Ungraded+a.Assumed != "":
		return moveUngraded, true
	case a.Number >= int(w.retries):
		return moveExhausted, true
	case a.Output == nil:
		return moveError, false
	default:
		return Move(a.Decision), false
	}
}

// told is the Event of an attempt.
func (w *assignment) told(a Attempt) Event {
	e := Event{Attempt: &a.Number, Decision: a.Decision, Message: a.Error}
	if a.Ungraded != "" {
		e.Message = "not graded: " + a.Ungraded
	} else if a.Output != nil && w.graded {
		e.Score = &a.Score
	}
	return e
}

// try lets the agent make the output of an attempt. self is the agent's own score of it.
func (w *assignment) try(c *orchestrator.Context, a *Attempt) (self *float64, err error) {
	text := w.prompt
	if a.Number > 0 {
		var feedback []string
		for _, before := range w.attempts {
			feedback = append(feedback, before.Feedback)
		}
		text, err = w.run.prompts.Fill("retry.tmpl", retryPrompt{
			Request: w.prompt, Attempt: a.Number + 1, Previous: Text(w.attempts[a.Number-1].Output), Feedback: strings.Join(feedback, "\n"),
		})
		if err != nil {
			return nil, err
		}
	}
	a.Prompt = fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	began := c.Elapsed()
	resp, err := c.Call(w.agent.ID, request(w.agent, w.agent.ID, text))
	if err != nil {
		a.Duration = c.Elapsed() - began
		return nil, err
	}
	a.Duration = resp.Elapsed
	a.Output, err = outputOf(resp, w.run.shapes[w.agent.ID])
	return selfScore(resp), err
}

// request is a request to an agent with its settings. task is what it is about: the
// specialist whose work is made or graded, or the department.
func request(a Agent, task, prompt string) agent.Request {
	return agent.Request{
		Task:        task,
		Prompt:      prompt,
		Output:      a.Schema,
		Temperature: a.Temperature,
		Limits:      agent.Limits{Total: a.Timeout, Estimate: a.Estimate},
	}
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

// warnings are those of an agent's attempts.
func warnings(who string, attempts []Attempt) []orchestrator.Warning {
	var found []orchestrator.Warning
	for _, a := range attempts {
		if a.Ungraded != "" {
			found = append(found, warning(WarnUngraded, who, a.Ungraded))
		}
		if a.Assumed != "" {
			found = append(found, warning(WarnAssumedScore, who, fmt.Sprintf("score %s in place of a grade: %s", number(a.Score), a.Assumed)))
		}
	}
	if n := len(attempts); n > 0 && best(attempts).Output == nil {
		found = append(found, warning(WarnAgentFailed, who, failure(attempts)))
	}
	return found
}

// failure says why no attempt has an output.
func failure(attempts []Attempt) string {
	n := len(attempts)
	return fmt.Sprintf("failed %d times, last: %s", n, attempts[n-1].Error)
}

// scoredLine says what a graded attempt lacks.
func scoredLine(a Attempt, gate float64) string {
	g := *cmp.Or(a.Grade, new(Grade{}))
	weakest := grading.Weakest(*cmp.Or(g.Dimensions, new(grading.Dimensions{})), gate)
	line := fmt.Sprintf("Attempt %d scored %s of 100, below the threshold of %s. Improve %s.",
		a.Number+1, number(a.Score), number(gate), strings.Join(weakest, ", "))
	if len(g.Suggestions) > 0 {
		line += " Suggestions: " + strings.Join(g.Suggestions, "; ")
	}
	return prompt.OneLine(line)
}
