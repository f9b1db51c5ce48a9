package orchestrator

import "github.com/convene-go/convene/orchestrator/engine"

// The errors that callers tell apart, with errors.Is. They are the same on every
// engine.
const (
	ErrBudget    = engine.ErrBudget    // the call would not fit, or the time is up
	ErrCanceled  = engine.ErrCanceled  // also context.Canceled
	ErrTimeout   = engine.ErrTimeout   // also context.DeadlineExceeded
	ErrNoAgent   = engine.ErrNoAgent   // none of that name, or not declared
	ErrNoRun     = engine.ErrNoRun     // no run of that ID
	ErrExists    = engine.ErrExists    // the ID is taken by another flow or input
	ErrNoState   = engine.ErrNoState   // the flow exposes nothing
	ErrMalformed = engine.ErrMalformed // an answer does not fit its schema
	ErrAnswered  = engine.ErrAnswered  // somebody was first
	ErrDiverged  = engine.ErrDiverged  // flow or version is not what the log is of
	ErrStopped   = engine.ErrStopped   // by Close; Resume goes on
	ErrFlow      = engine.ErrFlow      // the flow's code panicked, deadlocked or broke a rule
)
