package team

import (
	"github.com/convene-go/convene/orchestrator"
)

// Draft is what the templates of [Refine] get.
type Draft[A any] struct {
	Data any                     // data that Refine was given
	Last orchestrator.Refined[A] // last graded try, with its Feedback, for the writer; the work, as Value, for the critic
}

// Refine has a writer make an A until a critic's grade passes the gate, by
// orchestrator.Refine: how says how often, and what passes. The prompts of both are made of a
// [Draft]. how.Try and how.Grade are set by it; an Again.Agent of how.Retrier writes the next
// try in the writer's place.
func Refine[A any](c *orchestrator.Context, r *Run, writer Seat[A], critic Seat[orchestrator.Verdict], how orchestrator.Refinement[A], data any) (orchestrator.Refined[A], error) { //nolint:revive // the run and its Context come first in all functions of this kind
	how.Try = func(c *orchestrator.Context, last orchestrator.Refined[A]) (A, error) {
		seat := writer
		if last.Agent != "" {
			seat.Agent = last.Agent
		}
		return seat.Ask(c, r, Draft[A]{Data: data, Last: last})
	}
	how.Grade = func(c *orchestrator.Context, work A) (orchestrator.Verdict, error) {
		return critic.Ask(c, r, Draft[A]{Data: data, Last: orchestrator.Refined[A]{Value: work}})
	}
	return orchestrator.Refine(c, how)
}
