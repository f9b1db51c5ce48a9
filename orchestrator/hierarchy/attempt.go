package hierarchy

import (
	"crypto/sha256"
	"fmt"
	"math"
	"strings"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/internal/prompt"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/internal/team"
)

// assignment is work that one agent tries until it passes: that of a specialist, of a
// head that answers directly, and a synthesis.
type assignment struct {
	department Department
	agent      Agent
	brief      string // what the work is judged by
	prompt     string // of the first attempt
	retries    Retries
	graded     bool
	gate       float64 // 0: every output passes

	// moved fires the machine of who works: "start", "output", and what became of the
	// attempt.
	moved func(event string)
	emit  func(c *orchestrator.Context, kind string, e Event)
}

// work makes attempts until one passes or none are left. Its error says that the run
// is canceled or out of budget; an agent that fails is no error.
func (r *run) work(c *orchestrator.Context, w assignment) ([]Attempt, error) {
	var attempts []Attempt
	feedback := ""
	for {
		a := Attempt{Number: len(attempts)}
		w.moved("start")
		w.emit(c, EventAttemptStarted, Event{Attempt: &a.Number, Feedback: feedback})
		self, err := r.try(c, w, attempts, &a)
		if err != nil {
			a.Error = prompt.OneLine(err.Error())
			a.Feedback = failedLine(a)
		}
		if r.over(c, err) {
			w.moved("stop")
			w.emit(c, EventAttemptFinished, w.told(a))
			return attempts, err
		}
		if err == nil && w.graded {
			w.moved("output")
			r.grade(c, w, &a, self)
		}
		attempts = append(attempts, a)
		ends := a.Output != nil && (!w.graded || a.Ungraded+a.Assumed != "" || a.Decision == grading.Accept)
		exhausted := !ends && a.Number >= int(w.retries)
		w.moved(a.event(exhausted))
		w.emit(c, EventAttemptFinished, w.told(a))
		if ends || exhausted {
			return attempts, nil
		}
		feedback = a.Feedback
	}
}

// event is what became of an attempt.
func (a Attempt) event(exhausted bool) string {
	switch {
	case exhausted:
		return "exhausted"
	case a.Output == nil:
		return "error"
	case a.Decision != grading.Accept && a.Ungraded+a.Assumed != "":
		return "ungraded"
	default:
		return string(a.Decision)
	}
}

// told is the event of an attempt.
func (w assignment) told(a Attempt) Event {
	e := Event{Attempt: &a.Number, Decision: a.Decision, Message: a.Error}
	if a.Ungraded != "" {
		e.Message = "not graded: " + a.Ungraded
	} else if a.Output != nil && w.graded {
		e.Score = &a.Score
	}
	return e
}

// try has the agent make the output of an attempt. self is the figure that the agent
// gave it.
func (r *run) try(c *orchestrator.Context, w assignment, before []Attempt, a *Attempt) (self *float64, err error) {
	text := w.prompt
	if n := len(before); n > 0 {
		text, err = r.prompts.Fill("retry.tmpl", retryPrompt{
			Request: w.prompt, Attempt: n + 1, Previous: Text(before[n-1].Output), Feedback: allFeedback(before),
		})
		if err != nil {
			return nil, err
		}
	}
	a.Prompt = fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	began := c.Elapsed()
	resp, err := c.Call(w.agent.ID, r.request(w.agent, text))
	if err != nil {
		a.Duration = c.Elapsed() - began
		return nil, err
	}
	a.Duration = resp.Elapsed
	a.Output, err = outputOf(resp, r.shapes[w.agent.ID])
	return selfScore(resp), err
}

// request asks an agent as its settings want it.
func (r *run) request(a Agent, prompt string) agent.Request {
	return agent.Request{
		Prompt:      prompt,
		Output:      a.Schema,
		Temperature: a.Temperature,
		Limits:      agent.Limits{Total: a.Timeout, Estimate: a.Estimate},
	}
}

// best is the attempt that stands for all: the one with an output and the highest
// score, the latest of equals; one with an ungraded output only if there is none. There
// is at least one attempt.
func best(attempts []Attempt) Attempt {
	return attempts[team.Best(len(attempts), team.Last, func(i int) *float64 { return new(attempts[i].rank()) })]
}

// rank is the score, less than any for an output without one, and least without an
// output.
func (a Attempt) rank() float64 {
	switch {
	case a.Output == nil:
		return math.Inf(-1)
	case a.Ungraded != "":
		return -1
	default:
		return a.Score
	}
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

// allFeedback is that of all attempts, a line each, oldest first.
func allFeedback(attempts []Attempt) string {
	var lines []string
	for _, a := range attempts {
		lines = append(lines, a.Feedback)
	}
	return strings.Join(lines, "\n")
}

// scoredLine says what a graded attempt lacked.
func scoredLine(a Attempt, gate float64) string {
	var dims grading.Dimensions
	suggestions := ""
	if a.Grade != nil {
		if a.Grade.Dimensions != nil {
			dims = *a.Grade.Dimensions
		}
		if len(a.Grade.Suggestions) > 0 {
			suggestions = " Suggestions: " + strings.Join(a.Grade.Suggestions, "; ")
		}
	}
	return prompt.OneLine(fmt.Sprintf("Attempt %d scored %s of 100, below the threshold of %s. Improve %s.%s",
		a.Number+1, number(a.Score), number(gate), strings.Join(grading.Weakest(dims, gate), ", "), suggestions))
}

// failedLine says why an attempt gave no output.
func failedLine(a Attempt) string {
	return fmt.Sprintf("Attempt %d failed: %s. Improve quality, relevance, consistency.", a.Number+1, strings.TrimSuffix(a.Error, "."))
}
