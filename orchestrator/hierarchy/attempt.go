package hierarchy

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/internal/prompt"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// task is work that one agent tries until it passes: that of a specialist, of a
// head that answers directly, and a synthesis (HC7).
type task struct {
	agent   Agent
	prompt  string
	retries int
	gate    float64 // 0: every output passes

	// grade fills in the score of an attempt that has an output; self is the figure
	// that the agent gave it. Its error ends the task. nil: it is not graded.
	grade func(c *orchestrator.Context, a *Attempt, self *float64) error

	// begin and end are told of each attempt; feedback is the line on the one before.
	begin func(c *orchestrator.Context, number int, feedback string)
	end   func(c *orchestrator.Context, a Attempt)
}

// work makes attempts until one passes or none are left. Its error says that the
// run is canceled or out of budget; an agent that fails is no error.
func (r *run) work(c *orchestrator.Context, t task) ([]Attempt, error) {
	w := &working{run: r, task: t}
	_, err := orchestrator.Refine(c, orchestrator.Refinement[json.RawMessage]{
		Attempts: t.retries + 1,
		Gate:     t.gate,
		Try:      w.try,
		Grade:    w.judge,
	})
	if err != nil && r.stops(c, err) {
		return w.attempts, err
	}
	return w.attempts, nil // a failed try is an Attempt; which one counts is said by best
}

// working is a task with its attempts so far.
type working struct {
	run      *run
	task     task
	attempts []Attempt
	self     *float64 // the figure that the agent gave its last output
}

// try makes one attempt that has no grade yet. Each one is kept, also one that
// failed.
func (w *working) try(c *orchestrator.Context, _ orchestrator.Refined[json.RawMessage]) (json.RawMessage, error) {
	a := Attempt{Number: len(w.attempts)}
	w.task.begin(c, a.Number, w.lastFeedback())
	err := w.ask(c, &a)
	if err != nil && w.run.stops(c, err) {
		return nil, err
	}
	if err != nil {
		err = errors.New(prompt.OneLine(err.Error())) // without its codes: an agent cannot end the task
		a.Error = err.Error()
		a.Feedback = failedLine(a)
		w.task.end(c, a)
	}
	w.attempts = append(w.attempts, a)
	return a.Output, err
}

// ask has the agent make the output of an attempt.
func (w *working) ask(c *orchestrator.Context, a *Attempt) error {
	prompt, err := w.prompt()
	if err != nil {
		return err
	}
	a.Prompt = hash(prompt)
	begun := c.Elapsed()
	resp, err := c.Call(w.task.agent.ID, w.run.request(w.task.agent, prompt))
	if err != nil {
		a.Duration = millis(c.Elapsed() - begun)
		return err
	}
	a.Duration = millis(resp.Elapsed)
	w.self = selfScore(resp)
	a.Output, err = outputOf(resp, w.run.schemas[w.task.agent.ID])
	return err
}

func (w *working) lastFeedback() string {
	if len(w.attempts) == 0 {
		return ""
	}
	return w.attempts[len(w.attempts)-1].Feedback
}

// prompt is the task's own for the first attempt, unmodified, and then one that
// brings the work before and all feedback (H49, H50).
func (w *working) prompt() (string, error) {
	n := len(w.attempts)
	if n == 0 {
		return w.task.prompt, nil
	}
	return w.run.prompts.Fill("retry.tmpl", retryPrompt{
		Request:  w.task.prompt,
		Attempt:  n + 1,
		Previous: Text(w.attempts[n-1].Output),
		Feedback: feedback(w.attempts),
	})
}

// judge grades the last attempt.
func (w *working) judge(c *orchestrator.Context, _ json.RawMessage) (orchestrator.Verdict, error) {
	a := &w.attempts[len(w.attempts)-1]
	if w.task.grade == nil {
		w.task.end(c, *a)
		return orchestrator.Verdict{}, nil
	}
	if err := w.task.grade(c, a, w.self); err != nil {
		return orchestrator.Verdict{}, err
	}
	a.Decision = grading.Decide(a.Score, w.task.gate)
	if a.Decision != grading.Accept {
		a.Feedback = scoredLine(*a, w.task.gate)
	}
	w.task.end(c, *a)
	return orchestrator.Verdict{Score: a.Score, Feedback: a.Feedback}, nil
}

// request asks an agent as its settings want it.
func (r *run) request(a Agent, prompt string) agent.Request {
	return agent.Request{
		Prompt:      prompt,
		Output:      r.schemas[a.ID].request(),
		Temperature: a.Temperature,
		Limits:      agent.Limits{Total: a.Timeout},
	}
}

// best is the attempt that stands for all: the highest score, the latest of equals
// (HC24). There is at least one.
func best(attempts []Attempt) Attempt {
	chosen := attempts[0]
	for _, a := range attempts[1:] {
		if a.Score >= chosen.Score {
			chosen = a
		}
	}
	return chosen
}

// feedback is that of all attempts, a line each, oldest first.
func feedback(attempts []Attempt) string {
	var lines []string
	for _, a := range attempts {
		if a.Feedback != "" {
			lines = append(lines, a.Feedback)
		}
	}
	return strings.Join(lines, "\n")
}

// scoredLine says what a graded attempt lacked (H52, HC22).
func scoredLine(a Attempt, gate float64) string {
	var dims grading.Dimensions
	var suggestions []string
	if a.Grade != nil {
		suggestions = a.Grade.Suggestions
		if a.Grade.Dimensions != nil {
			dims = *a.Grade.Dimensions
		}
	}
	line := fmt.Sprintf("Attempt %d scored %s, below the threshold of %s. Improve %s.",
		a.Number+1, number(a.Score), number(gate), enumerate(grading.Weakest(dims, gate)))
	if len(suggestions) > 0 {
		line += " Suggestions: " + strings.Join(suggestions, "; ")
	}
	return prompt.OneLine(line)
}

// failedLine says why an attempt gave no output (HC23).
func failedLine(a Attempt) string {
	return fmt.Sprintf("Attempt %d failed: %s. Improve quality, relevance and consistency.", a.Number+1, strings.TrimSuffix(a.Error, "."))
}

func enumerate(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}
