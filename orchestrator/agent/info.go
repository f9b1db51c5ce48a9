package agent

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/convene-go/convene/providers"
)

// Info says which call an agent serves.
type Info struct {
	Run     string       // ID of the run
	Flow    string       // name of the flow
	Agent   string       // name under which the agent is called
	Branch  string       // branch of the flow; "" is the root
	N       int64        // number of the call in its branch
	Key     string       // idempotency key of the call: no other call has it, and it stays at every attempt and after a resume
	Attempt int          // number of the attempt, from 1; starts again after a resume
	Op      string       // operation that the agent is asked for, as in Request.Op; "": it has one
	Task    string       // task or step that the call is for, as in Request.Task; "": none
	Values  Values       // texts that the host gave the run or the run around it, as StartOptions.Values
	Labels  Values       // labels of the run, those of the run around it for a child
	Log     *slog.Logger // log of the call, never nil; silent unless the host gave the engine one
	Watcher Watcher      // receiver of Report, only for WithInfo: InfoFrom leaves it out
}

// Root returns the ID of the run that the host started: Run itself, or the outermost of
// the runs around a child. A trace or a bill of all children goes by it.
func (i Info) Root() string {
	root, _, _ := strings.Cut(i.Run, "/")
	return root
}

type infoKey struct{}

var silent = slog.New(slog.DiscardHandler)

// infoOf is the Info of the call that ctx belongs to, or an empty one.
func infoOf(ctx context.Context) *Info {
	if i, ok := ctx.Value(infoKey{}).(*Info); ok {
		return i
	}
	return &Info{}
}

// InfoFrom returns the [Info] of the call that ctx belongs to; outside of one, it
// is empty but for a silent Log. The call's deadline is ctx.Deadline.
func InfoFrom(ctx context.Context) Info {
	i := *infoOf(ctx)
	i.Watcher = nil
	if i.Log == nil {
		i.Log = silent
	}
	if i.Key == "" && i.Run != "" {
		i.Key = i.Run + "/"
		if i.Branch != "" {
			i.Key += i.Branch + ":"
		}
		i.Key += strconv.FormatInt(i.N, 10)
	}
	return i
}

// WithInfo returns ctx for a call, for tests of agents. Without a Watcher in i, that
// of ctx stays.
func WithInfo(ctx context.Context, i Info) context.Context {
	if i.Watcher == nil {
		i.Watcher = infoOf(ctx).Watcher
	}
	return context.WithValue(ctx, infoKey{}, &i)
}

// InfoValue is for authors of engines that have a context type of their own: it
// answers ctx.Value(key) for a context of the call i. ok is false for other keys.
func InfoValue(key any, i *Info) (v any, ok bool) {
	_, ok = key.(infoKey)
	return i, ok
}

// Progress is what an agent reports of a call while it works on it, for people who
// watch the run. It is not in the log: it may be lost, and nothing depends on it.
type Progress struct {
	Agent, Branch, Key string // call that is reported, as in Info; Report sets them
	Attempt            int    // attempt of the call; Report sets it

	Kind    ProgressKind        // kind of the report
	Turn    int                 // turn of the tool loop, from 1
	Text    string              // text by Kind: the next piece, what the model said, what the tool returned, how far it is
	Tool    *providers.ToolCall // ProgressTool and ProgressStep: call of the tool
	Err     string              // ProgressTool: failure of the tool; "": none
	Model   string              // ProgressTurn: model that answered, as provider:name; "": it did not say
	Usage   providers.Usage     // usage of only this step
	Elapsed time.Duration       // time of this step
	Lost    int                 // number of reports that a slow reader missed before this one
}

// ProgressKind says what a [Progress] reports.
type ProgressKind string

// The kinds of progress.
const (
	ProgressText ProgressKind = "text" // a piece of an answer that is being streamed
	ProgressTurn ProgressKind = "turn" // a model has answered
	ProgressTool ProgressKind = "tool" // a tool has returned
	ProgressStep ProgressKind = "step" // a tool that is still running reports how far it is

	ProgressCompact ProgressKind = "compact" // a conversation was made shorter
)

// A Watcher receives what agents report. It is for authors of engines, and safe for
// concurrent use.
type Watcher interface {
	Watching() bool    // reports whether the run is watched now
	Report(p Progress) // does not block, and keeps nothing of p that its caller may change
}

// Watched reports whether the run that ctx's call belongs to is watched, so that
// streaming is of use.
func Watched(ctx context.Context) bool {
	w := infoOf(ctx).Watcher
	return w != nil && w.Watching()
}

// Report shows p to the watchers of the run that ctx's call belongs to. It does not
// block, and does nothing if the run is not watched.
func Report(ctx context.Context, p Progress) {
	if Watched(ctx) {
		i := InfoFrom(ctx)
		p.Agent, p.Branch, p.Key, p.Attempt = i.Agent, i.Branch, i.Key, i.Attempt
		infoOf(ctx).Watcher.Report(p)
	}
}
