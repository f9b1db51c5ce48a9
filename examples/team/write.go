package main

import (
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// write writes a section until the critic accepts it. If the budget ends, it returns the
// last text beside the error.
func write(c *orchestrator.Context, title string) (Section, error) {
	best, err := orchestrator.Refine(c, orchestrator.Refinement[string]{
		Attempts: 3, Gate: 80,
		Try: func(c *orchestrator.Context, last orchestrator.Refined[string]) (string, error) {
			r, err := c.Call("writer", agent.Request{
				Prompt: "Write the section " + title + ".\n" + last.Feedback,
				Limits: agent.Limits{Timeout: time.Minute},
			})
			return r.Text, err
		},
		Grade: func(c *orchestrator.Context, text string) (orchestrator.Verdict, error) {
			v, _, err := orchestrator.Ask[orchestrator.Verdict](c, "critic", agent.Request{Prompt: "Grade 0..100: " + text})
			return v, err
		},
	})
	return Section{Title: title, Text: best.Value, Score: best.Score}, err
}
