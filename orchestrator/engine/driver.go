package engine

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
)

// Driver is an engine. It is safe for concurrent use.
type Driver interface {
	// Start begins a run of p and returns when its start is on record. A run that
	// is known already with the same flow and input is gone on with, unless a
	// process works on it or it has ended; with others it is ErrExists.
	Start(ctx context.Context, p Program, in Input) error

	// Wait returns how the run ended. When it stops here without an end, or ctx is
	// done, that is an error.
	Wait(ctx context.Context, run string) (End, error)

	// Tell gives a command to a run, wherever it runs, and returns when it is kept.
	Tell(ctx context.Context, run string, c Command) error

	// Resume goes on with every run that nobody works on, and returns them.
	Resume(ctx context.Context) ([]string, error)

	// Close stops all runs where they are and leaves no goroutine.
	Close(ctx context.Context) error
}

// Runner is a Driver that can carry a run out on the caller's goroutine: Start
// and Wait in one, one goroutine less. When ctx is done the run is canceled.
type Runner interface {
	Run(ctx context.Context, p Program, in Input) (End, error)
}

// Watcher is a Driver that shows what agents tell of their work, off the record.
type Watcher interface {
	// Watch yields what the agents of a run and of its children report from now on,
	// until the run has ended or stopped, or ctx is done. A reader that is slow
	// misses some. A run that this process does not work on is ErrStopped, or
	// ErrNoRun.
	Watch(ctx context.Context, run string) iter.Seq2[agent.Progress, error]
}

// Command is what a host tells a run: an answer, or, with Key "", a cancel whose
// Data is the reason as a JSON string.
type Command struct {
	Key  string
	Data json.RawMessage
}

// Viewer is a Driver that shows runs.
type Viewer interface {
	// Status tells whether the run has ended, and if not, whether this process
	// works on it. An unknown run is ErrNoRun.
	Status(ctx context.Context, run string) (Status, error)

	// State returns what the flow exposes now, or at its end, or ErrNoState.
	State(ctx context.Context, run string) (json.RawMessage, error)

	// Log yields the records of a run from Seq from on that are there now.
	Log(ctx context.Context, run string, from int64) iter.Seq2[blackboard.Record, error]

	// Changed blocks until the run has a record of Seq from or later. It returns
	// ErrStopped if the engine is closed, and the error of ctx if that is done.
	Changed(ctx context.Context, run string, from int64) error

	// Runs yields the first and the last record of runs, newest first.
	Runs(ctx context.Context, open bool) iter.Seq2[[2]blackboard.Record, error]
}
