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
)

const (
	askLimit  = readerLimit / 2 // time that another engine has to reply
	restLimit = time.Second     // time that it has where its reply is not needed
)

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
		l, err := f.listing(ctx, q.Run)
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
		now, failed := f.listing(ctx, q.Run)
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
			limited, cancel := context.WithTimeout(ctx, restLimit)
			defer cancel()
			if a, err = f.request(limited, q, l.Owner); err == nil && !a.Gone {
				return a, nil
			}
		}
		a = Reply{Over: true}
		if l.Ended {
			var end engine.EndedData
			end, err = f.end(ctx, l)
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
