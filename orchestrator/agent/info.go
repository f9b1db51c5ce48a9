package agent

import (
	"context"
	"log/slog"
	"strconv"
)

// Info says which call an agent serves.
type Info struct {
	Run, Flow, Agent string
	Branch           string       // of the flow; "" is the root
	N                int64        // of the call in its branch
	Key              string       // the call's idempotency key: the same at every attempt and after a resume, and no other call's
	Attempt          int          // from 1; starts again after a resume
	Log              *slog.Logger // never nil; silent unless the host gave the engine one
	Watcher          Watcher      // of Report, for WithInfo alone: InfoFrom leaves it out
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

// InfoValue is for authors of engines that have a context type of their own: it
// answers ctx.Value(key) for a context of the call i. ok is false for other keys.
func InfoValue(key any, i *Info) (v any, ok bool) {
	_, ok = key.(infoKey)
	return i, ok
}

// WithInfo returns ctx for a call, for tests of agents. Without a Watcher in i, that
// of ctx stays.
func WithInfo(ctx context.Context, i Info) context.Context {
	if i.Watcher == nil {
		i.Watcher = infoOf(ctx).Watcher
	}
	return context.WithValue(ctx, infoKey{}, &i)
}
