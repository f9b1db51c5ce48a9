package fleet

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
	// askLimit is how long another engine may take to reply.
	askLimit = 5 * time.Second

	// readerLimit is the time after which a reader in another process that asks no more
	// is gone.
	readerLimit = 2 * askLimit
)

// Request is what an engine asks the one that works on a run.
type Request struct {
	Run    string `json:"run"`
	Reader string `json:"reader,omitempty"` // name of the reader that wants what agents report; "": the state is wanted
	Began  bool   `json:"-"`                // there was a reply for Reader
}

// Reply is what it gets.
type Reply struct {
	State    json.RawMessage  `json:"state,omitempty"`
	Progress []agent.Progress `json:"progress,omitempty"`
	Gone     bool             `json:"gone,omitempty"` // the engine works on the run no more
	Over     bool             `json:"-"`              // the run has ended or is stuck
	Err      *agent.Error     `json:"error,omitempty"`
}

// refuse is the error of a run that no engine replies for.
func (q Request) refuse(format string, args ...any) error {
	code := engine.ErrNoState
	if q.Reader != "" {
		code = engine.ErrStopped
	}
	return agent.ErrorOf(fmt.Errorf("%w: run %q: %w", code, q.Run, fmt.Errorf(format, args...)))
}

// Ask has the engine that works on a run reply, be it this one or another one. It asks
// again while the run is changing hands.
func (f *Fleet) Ask(ctx context.Context, q Request) (a Reply, err error) {
	var owner string
	var deadline time.Time
	err = f.Until(ctx, q.Run, func() (bool, error) {
		if a, err = f.host.Reply(ctx, q, 0); err != nil || !a.Gone {
			return true, err
		}
		l, err := f.Store.Listing(ctx, q.Run)
		if err != nil {
			return true, err
		}
		if l.Owner != owner || deadline.IsZero() {
			owner, deadline = l.Owner, time.Now().Add(askLimit)
		}
		limited, cancel := context.WithDeadline(ctx, deadline)
		defer cancel()
		a, err = f.askOwner(limited, q, &l)
		if err != nil && limited.Err() != nil && ctx.Err() == nil {
			err = q.refuse("engine %q works on it and does not reply", owner)
		}
		now, failed := f.Store.Listing(ctx, q.Run)
		_, owns := f.host.Owns(q.Run)
		if failed == nil && (now.Owner != owner || owns || now.Ended && !l.Ended && len(a.Progress) == 0) {
			return false, nil // an engine that has lost the run may still reply
		}
		return !a.Gone, cmp.Or(err, failed)
	})
	return a, err
}

// askOwner has the owner of a run reply. Gone: it may do so in a moment.
func (f *Fleet) askOwner(ctx context.Context, q Request, l *runlog.Listing) (a Reply, err error) {
	if l.Ended || l.Status == runlog.Stuck {
		if q.Began { // the old owner may still have reports that were not read
			if a, err = f.request(ctx, q, l.Owner); err == nil && !a.Gone {
				return a, nil
			}
		}
		a = Reply{Over: true}
		if l.Ended {
			var end engine.EndedData
			err = f.Store.Read(ctx, l.Run, l.Next-1, &end)
			a.State = end.State
		}
		return a, err
	}
	a, err = f.request(ctx, q, l.Owner)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		err = q.refuse("it is not running in this process, and %w", err)
	case errors.Is(err, runlog.ErrNoReply):
		var c Claim
		if c, err = f.Claim(ctx, l, Wish{}); err == nil && c.Holder == "" {
			err = q.refuse("no engine works on it")
		}
		a.Gone = c.Holder != ""
	case err == nil && a.Gone:
		a.Gone, err = false, q.refuse("engine %q has stopped it", l.Owner)
	case err == nil && a.Err != nil:
		err = a.Err
	}
	return a, err
}

// request carries q to another engine.
func (f *Fleet) request(ctx context.Context, q Request, owner string) (a Reply, err error) {
	if owner == f.ID {
		return Reply{Gone: true}, nil
	}
	data, err := engine.Encode(q)
	if err == nil {
		data, err = f.Store.Request(ctx, owner, data)
	}
	if err == nil {
		err = json.Unmarshal(data, &a)
	}
	return a, err
}

// serve replies to a request of another engine.
func (f *Fleet) serve(ctx context.Context, data []byte) []byte {
	var q Request
	var a Reply
	err := json.Unmarshal(data, &q)
	if err == nil {
		a, err = f.host.Reply(ctx, q, readerLimit)
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
