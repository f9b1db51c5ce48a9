package orchestrator

import "github.com/convene-go/convene/orchestrator/engine"

// The errors that callers tell apart, with errors.Is. They are the same on every
// engine.
const (
	ErrBudget     = engine.ErrBudget     // the call would not fit, or the time is up
	ErrCanceled   = engine.ErrCanceled   // also context.Canceled
	ErrTimeout    = engine.ErrTimeout    // also context.DeadlineExceeded
	ErrNoAgent    = engine.ErrNoAgent    // none of that name, or not declared
	ErrNoRun      = engine.ErrNoRun      // no run of that ID
	ErrNoFlow     = engine.ErrNoFlow     // the run's flow is not registered, or not in its version
	ErrExists     = engine.ErrExists     // the ID is taken by a run of another flow, input, budget or labels
	ErrNoState    = engine.ErrNoState    // the flow exposes nothing
	ErrMalformed  = engine.ErrMalformed  // an answer does not fit its schema
	ErrAnswered   = engine.ErrAnswered   // the question has another answer already
	ErrNoQuestion = engine.ErrNoQuestion // the question has expired, was withdrawn, or its run has ended
	ErrDiverged   = engine.ErrDiverged   // flow or version does not match the log
	ErrStopped    = engine.ErrStopped    // by Close; Resume continues the run
	ErrRunning    = engine.ErrRunning    // the run is being worked on
	ErrFlow       = engine.ErrFlow       // the flow's code panicked, deadlocked or broke a rule
	ErrTooLarge   = engine.ErrTooLarge   // a value is larger than the engine can record
)
