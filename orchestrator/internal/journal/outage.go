package journal

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/final"
)

// outages has what a store is asked tried again while it fails. Its time is one for all
// that is asked. It is safe for concurrent use.
type outages struct {
	length time.Duration   // how long the store may fail
	log    *slog.Logger    // told of outages
	life   context.Context //nolint:containedctx // ends each attempt
	open   context.Context //nolint:containedctx // ends trying again

	failing atomic.Int64 // time since which the store fails, in Unix nanoseconds; 0: it does not

	mu    sync.Mutex
	limit context.Context //nolint:containedctx // context of an attempt; those of a few seconds share it, because one costs as much as they do
	renew time.Time       // time from which limit is replaced
}

// try calls f until it succeeds or meets a final error, with growing waits, until the
// outage is over. again says that what became of the call before is not known.
func (o *outages) try(again bool, f func(ctx context.Context, again bool) error) (err error) {
	final := func(again bool) bool {
		o.mu.Lock()
		if t := time.Now(); t.After(o.renew) {
			o.renew = t.Add(AppendLimit)
			var cancel context.CancelFunc
			o.limit, cancel = context.WithTimeout(o.life, 2*AppendLimit)
			context.AfterFunc(o.limit, cancel)
		}
		limit := o.limit
		o.mu.Unlock()
		err = f(limit, again)
		works := err == nil || final.Is(err)
		if works {
			o.failing.Store(0)
		}
		return works
	}
	if final(again) || o.open.Err() != nil {
		return err
	}
	o.failing.CompareAndSwap(0, time.Now().UnixNano())
	since := time.Unix(0, o.failing.Load()) // requests at the end of an outage get one more attempt
	wait := untilEnd{backoff.NewExponentialBackOff(backoff.WithInitialInterval(50*time.Millisecond), backoff.WithMaxInterval(5*time.Second), backoff.WithMaxElapsedTime(0)), since.Add(o.length)}
	o.log.Warn("the store fails; trying again", "err", err, "for", time.Until(wait.end))
	if backoff.Retry(func() error {
		if final(true) {
			return nil
		}
		return err
	}, backoff.WithContext(wait, o.open)) == nil {
		return err
	}
	return agent.ErrorOf(fmt.Errorf("%w: %w: the store failed for %v, and the run is suspended: %w", engine.ErrStopped, ErrOutage, time.Since(since).Round(time.Millisecond), err))
}

// untilEnd is how long to wait between attempts. The last one is at end.
type untilEnd struct {
	backoff.BackOff
	end time.Time
}

// NextBackOff implements backoff.BackOff.
func (u untilEnd) NextBackOff() time.Duration {
	left := time.Until(u.end)
	if left <= 0 {
		return backoff.Stop
	}
	return min(u.BackOff.NextBackOff(), left)
}
