package local

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

const (
	askLimit    = 5 * time.Second       // for another engine to reply
	hold        = 2 * time.Second       // how long a reply waits for what agents report
	gather      = 20 * time.Millisecond // at least, so that a reply has all that comes side by side
	readerLimit = 2 * askLimit          // after which a reader in another process that asks no more is gone
)

// request is what an engine asks the one that works on a run.
type request struct {
	Run    string `json:"run"`
	Reader string `json:"reader,omitempty"` // the name of the watcher that wants what agents report; "": the state is wanted
	began  bool   // there was a reply for Reader
}

// reply is what it gets.
type reply struct {
	State    json.RawMessage  `json:"state,omitempty"`
	Progress []agent.Progress `json:"progress,omitempty"`
	Gone     bool             `json:"gone,omitempty"` // the engine works on the run no more
	Over     bool             `json:"-"`              // the run has ended or is stuck
	Err      *agent.Error     `json:"error,omitempty"`
}

// refuse is the error of a run that no engine replies for.
func (q request) refuse(format string, args ...any) error {
	code := engine.ErrNoState
	if q.Reader != "" {
		code = engine.ErrStopped
	}
	return agent.ErrorOf(fmt.Errorf("%w: run %q: %w", code, q.Run, fmt.Errorf(format, args...)))
}

// ask has the engine that works on a run reply, be it this one or another one.
func (e *Engine) ask(ctx context.Context, q request) (a reply, err error) {
	var owner string
	var deadline time.Time
	err = e.until(ctx, q.Run, func() (bool, error) {
		if a, err = e.reply(ctx, q, 0); err != nil || !a.Gone {
			return true, err
		}
		l, err := e.store.listing(ctx, q.Run)
		if err != nil {
			return true, err
		}
		if l.Owner != owner || deadline.IsZero() {
			owner, deadline = l.Owner, time.Now().Add(askLimit)
		}
		limited, cancel := context.WithDeadline(ctx, deadline)
		defer cancel()
		a, err = e.askOwner(limited, q, &l)
		if err != nil && limited.Err() != nil && ctx.Err() == nil {
			err = q.refuse("engine %q works on it and does not reply", owner)
		}
		now, failed := e.store.listing(ctx, q.Run)
		if failed == nil && (now.Owner != owner || e.run(q.Run) != nil || now.Ended && !l.Ended && len(a.Progress) == 0) {
			return false, nil // an engine that has lost the run may still reply
		}
		return !a.Gone, cmp.Or(err, failed)
	})
	return a, err
}

// askOwner has the owner of a run reply. Gone: it may do so in a moment.
func (e *Engine) askOwner(ctx context.Context, q request, l *runlog.Listing) (a reply, err error) {
	if l.Ended || l.Status == runlog.Stuck {
		if q.began { // which may have what was not read
			if a, err = e.request(ctx, q, l.Owner); err == nil && !a.Gone {
				return a, nil
			}
		}
		a = reply{Over: true}
		if l.Ended {
			var end engine.End
			end, err = e.end(ctx, l)
			a.State = end.State
		}
		return a, err
	}
	a, err = e.request(ctx, q, l.Owner)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		err = q.refuse("it is not running in this process, and %w", err)
	case errors.Is(err, runlog.ErrNoReply):
		if a.Gone, err = e.held(ctx, l, nil); err == nil && !a.Gone {
			err = q.refuse("no engine works on it")
		}
	case err == nil && a.Gone:
		a.Gone, err = false, q.refuse("engine %q has stopped it", l.Owner)
	case err == nil && a.Err != nil:
		err = a.Err
	}
	return a, err
}

// request carries q to another engine.
func (e *Engine) request(ctx context.Context, q request, owner string) (a reply, err error) {
	if owner == e.id {
		return reply{Gone: true}, nil
	}
	data, err := engine.Encode(q)
	if err == nil {
		data, err = e.store.Request(ctx, owner, data)
	}
	if err == nil {
		err = json.Unmarshal(data, &a)
	}
	return a, err
}

// serve replies to a request of another engine.
func (e *Engine) serve(ctx context.Context, data []byte) []byte {
	var q request
	var a reply
	err := json.Unmarshal(data, &q)
	if err == nil {
		a, err = e.reply(ctx, q, readerLimit)
	}
	a.Err = agent.ErrorOf(err)
	out, err := engine.Encode(a)
	if err != nil { // what a model gave a tool may be no JSON
		for i, p := range a.Progress {
			if p.Tool != nil {
				a.Progress[i].Tool = &providers.ToolCall{ID: p.Tool.ID, Name: p.Tool.Name}
			}
		}
		out, _ = engine.Encode(a)
	}
	return out
}

// reply is what this engine replies. Gone: it works on the run no more, and all is
// read. The limit is that of a watcher in another process; 0: it is in this one.
func (e *Engine) reply(ctx context.Context, q request, limit time.Duration) (a reply, err error) {
	if q.Reader == "" {
		r := e.run(q.Run)
		if r != nil {
			a.State, err = r.exposed(ctx)
		}
		// What was read before the run ended holds; one that stopped may be another engine's.
		a.Gone = r == nil || r.over() && (a.State == nil || r.err != nil)
		return a, err
	}
	w := e.watch(q.Run, q.Reader, limit)
	if w == nil {
		return reply{Gone: true}, nil
	}
	if limit > 0 {
		limited, cancel := context.WithTimeout(ctx, hold)
		defer cancel()
		ctx = limited
		select {
		case <-ctx.Done():
		case <-time.After(gather):
		}
	}
	a.Progress = w.read(ctx)
	if a.Gone = len(a.Progress) == 0 && w.r.over(); a.Gone {
		e.unwatch(q.Reader)
	}
	return a, nil
}
