package main

import (
	"errors"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// review is a flow of its own: each one has its own log, and can be inspected alone.
var review = orchestrator.Flow[string, string]{Name: "review", Agents: []string{"reviewer"}, Do: func(c *orchestrator.Context, text string) (string, error) {
	r, err := c.Call("reviewer", agent.Request{Prompt: "Review: " + text})
	return r.Text, err
}}

// firstReviews starts a review of each section, returns the first n results, and cancels
// the others. A failed review does not count.
func firstReviews(c *orchestrator.Context, sections []Section, n int) ([]string, error) {
	share := c.Left().Split(len(sections))
	q := orchestrator.NewQueue[string](c)
	for _, s := range sections {
		q.Go(s.Title, func(c *orchestrator.Context) (string, error) { return review.Child(c.WithBudget(share), s.Text) })
	}
	var reviews []string
	for len(reviews) < n {
		r, ok := q.Next()
		if !ok {
			break
		}
		if errors.Is(r.Err, orchestrator.ErrCanceled) {
			return reviews, r.Err
		}
		if r.Err == nil {
			reviews = append(reviews, r.Key+": "+r.Value)
		}
	}
	q.CancelAll()
	return reviews, nil
}
