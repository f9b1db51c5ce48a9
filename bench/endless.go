package main

import (
	"context"
	"iter"

	"github.com/convene-go/convene/blackboard"
)

// endless is a store whose runs have not ended, and that takes nothing: each resume
// replays the same log.
type endless struct{ blackboard.Store }

// Append implements blackboard.Store.
func (endless) Append(context.Context, []blackboard.Record) error { return nil }

// Records implements blackboard.Store.
func (s endless) Records(ctx context.Context, run string, from int64) iter.Seq2[blackboard.Record, error] {
	return func(yield func(blackboard.Record, error) bool) {
		for rec, err := range s.Store.Records(ctx, run, from) {
			if rec.Kind == blackboard.Ended {
				return
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}
