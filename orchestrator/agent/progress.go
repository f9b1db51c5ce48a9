package agent

import (
	"context"
	"time"

	"github.com/convene-go/convene/providers"
)

// Progress is what an agent reports of a call while it works on it, for people who
// watch the run. It is not in the log: it may be lost, it is not there after a
// restart, and nothing depends on it.
type Progress struct {
	Agent, Branch, Key string // of the call, as in Info; set by Report
	Attempt            int    // the same

	Kind    ProgressKind
	Turn    int                 // of the tool loop, from 1
	Text    string              // by Kind: the next piece, what the model said, what the tool returned, how far it is
	Tool    *providers.ToolCall // ProgressTool and ProgressStep: what was called
	Err     string              // ProgressTool: why it failed; "": it did not
	Usage   providers.Usage     // of this step alone
	Elapsed time.Duration       // of this step
	Lost    int                 // how many the reader missed before this one, being slow
}

// ProgressKind says what a [Progress] reports.
type ProgressKind string

// The kinds of progress.
const (
	ProgressText ProgressKind = "text" // a piece of an answer that is being streamed
	ProgressTurn ProgressKind = "turn" // a model has answered
	ProgressTool ProgressKind = "tool" // a tool has returned
	ProgressStep ProgressKind = "step" // a tool that is still running reports how far it is
)

// Report shows p to the watchers of the run that ctx's call belongs to. It does not
// block, and does nothing if the run is not watched.
func Report(ctx context.Context, p Progress) {
	if Watched(ctx) {
		i := InfoFrom(ctx)
		p.Agent, p.Branch, p.Key, p.Attempt = i.Agent, i.Branch, i.Key, i.Attempt
		infoOf(ctx).Watcher.Report(p)
	}
}

// Watched reports whether the run that ctx's call belongs to is watched, so that
// streaming is of use.
func Watched(ctx context.Context) bool {
	w := infoOf(ctx).Watcher
	return w != nil && w.Watching()
}

// A Watcher receives what agents report. It is for authors of engines, and safe for
// concurrent use.
type Watcher interface {
	// Watching reports whether the run is watched now.
	Watching() bool

	// Report does not block, and keeps nothing of p that its caller may change.
	Report(p Progress)
}
