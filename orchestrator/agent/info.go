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

// InfoFrom returns the [Info] of the call that ctx belongs to; outside of one, it
// is empty but for a silent Log. The call's deadline is ctx.Deadline.
func InfoFrom(ctx context.Context) Info {
	var i Info
	if p, ok := ctx.Value(infoKey{}).(*Info); ok {
		i = *p
		i.Watcher = nil
	}
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

// WithInfo returns ctx for a call. Engines use it, and tests of agents. Without a
// Watcher in i, that of ctx stays.
func WithInfo(ctx context.Context, i Info) context.Context {
	if i.Watcher == nil {
		if p, ok := ctx.Value(infoKey{}).(*Info); ok {
			i.Watcher = p.Watcher
		}
	}
	return &infoContext{ctx, i}
}

// infoContext is context.WithValue with one allocation instead of two: it is on
// the path of every call.
type infoContext struct {
	context.Context //nolint:containedctx // it is one
	info            Info
}

func (c *infoContext) Value(key any) any {
	if _, ok := key.(infoKey); ok {
		return &c.info
	}
	return c.Context.Value(key)
}
