package journal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/jobs"
)

// Config is what a Journal needs. All of it is required but Store.
type Config struct {
	Store  runlog.Store  // nil: records are kept in memory
	Outage time.Duration // how long the store may fail before its runs are suspended
	Log    *slog.Logger
	Pool   *jobs.Pool

	Life context.Context //nolint:containedctx // ends when the engine is closed and has waited long enough
	Open context.Context //nolint:containedctx // ends when the engine's Close begins
}

// committer stores entries. It is used only with a store.
type committer struct {
	Config

	// Calls counts the calls of agents under way, each of which ends in a record: a
	// goroutine that commits waits a moment for them.
	Calls atomic.Int64

	failing atomic.Int64 // time since which the store fails, in Unix nanoseconds; 0: it does not

	mu    sync.Mutex
	queue []*Entry
	busy  bool            // a goroutine commits
	limit context.Context //nolint:containedctx // context of Append; calls of a few seconds share it, because one costs as much as they do
	renew time.Time       // time from which limit is replaced

	// Only the goroutine that commits uses these.
	batch []*Entry
	recs  []runlog.Record
}

const (
	maxBatch = 512 // records that are appended at once

	// AppendLimit bounds one Append, which may take up to twice as long, and other short
	// requests to a store, because a store may hang.
	AppendLimit = 10 * time.Second
)

// ErrOutage marks runs that are suspended because the store failed: the engine resumes
// them by itself.
const ErrOutage = agent.Code("outage")

// Now is the time as records have it.
func Now() time.Time { return time.Now().Round(0).UTC() }

// Closed is the error of what an engine does not do any more because it is closed.
func Closed() error {
	return agent.ErrorOf(fmt.Errorf("%w: the engine is closed; the run can be resumed", engine.ErrStopped))
}

// enqueue puts e in line. If no other goroutine commits, the caller does.
func (c *committer) enqueue(e *Entry) jobs.Job {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, e)
	if c.busy {
		return nil
	}
	c.busy = true
	return c
}

// Work implements [jobs.Job]: it commits until the line is empty, and returns what
// follows for the run that was told last.
func (c *committer) Work() (next jobs.Job) {
	for {
		if c.Calls.Load() > 0 {
			runtime.Gosched() // let calls that are about to write a record do so
		}
		c.mu.Lock()
		n := min(len(c.queue), maxBatch)
		batch := append(c.batch[:0], c.queue[:n]...)
		c.queue = slices.Delete(c.queue, 0, n)
		c.busy = n > 0
		c.mu.Unlock()
		if n == 0 {
			return next
		}
		if next != nil { // this goroutine cannot drive while it commits
			c.Pool.Do(next)
			next = nil
		}
		c.commit(batch)
		for _, e := range batch {
			drive := e.settle(c.Pool)
			if next != nil && drive != nil {
				c.Pool.Do(next)
			}
			if drive != nil {
				next = drive
			}
		}
		clear(batch)
		c.batch = batch
	}
}

// commit stores a batch. What could not be stored together, each run's part is tried by
// itself, so that a run that was fenced off does not stop the others.
func (c *committer) commit(batch []*Entry) {
	recs := c.recs[:0]
	for _, e := range batch {
		if e.err = e.log.place(e); e.err == nil {
			recs = append(recs, e.Record)
		}
	}
	if err := c.append(recs); err != nil {
		c.commitApart(batch, err)
	}
	clear(recs)
	c.recs = recs
}

// commitApart stores each run's part of a batch that could not be stored because of err.
func (c *committer) commitApart(batch []*Entry, err error) {
	parts := map[*Log][]runlog.Record{}
	for _, e := range batch {
		if e.err == nil {
			parts[e.log] = append(parts[e.log], e.Record)
		}
	}
	for log, part := range parts {
		if len(parts) > 1 {
			err = c.append(part)
		}
		log.breakOff(err)
	}
}

// append stores records.
func (c *committer) append(recs []runlog.Record) error {
	if len(recs) == 0 {
		return nil
	}
	return c.try(func(ctx context.Context, again bool) error {
		err := c.Store.Append(ctx, recs)
		if again && errors.Is(err, runlog.ErrConflict) {
			stored, lookErr := c.isStored(ctx, &recs[0])
			if stored || lookErr != nil {
				return lookErr
			}
		}
		return err
	})
}

// isStored reports whether rec is in the store: then all that were appended with it are.
func (c *committer) isStored(ctx context.Context, rec *runlog.Record) (bool, error) {
	for got, err := range c.Store.Records(ctx, rec.Run, rec.Seq) {
		if err != nil {
			return false, err
		}
		return got.Kind == rec.Kind && got.Branch == rec.Branch && got.N == rec.N && got.Name == rec.Name &&
			got.At.Equal(rec.At) && string(got.Data) == string(rec.Data) && got.Blob == rec.Blob, nil
	}
	return false, nil
}

// try calls f until it succeeds or meets a conflict or damage, with growing waits, for
// Config.Outage at most. again says that what became of the call before is not known.
func (c *committer) try(f func(ctx context.Context, again bool) error) (err error) {
	final := func(again bool) bool {
		c.mu.Lock()
		if t := time.Now(); t.After(c.renew) {
			c.renew = t.Add(AppendLimit)
			var cancel context.CancelFunc
			c.limit, cancel = context.WithTimeout(c.Life, 2*AppendLimit)
			context.AfterFunc(c.limit, cancel)
		}
		limit := c.limit
		c.mu.Unlock()
		err = f(limit, again)
		works := err == nil || errors.Is(err, runlog.ErrConflict) || errors.Is(err, runlog.ErrDamaged)
		if works {
			c.failing.Store(0)
		}
		return works
	}
	if final(false) || c.Open.Err() != nil {
		return err
	}
	c.failing.CompareAndSwap(0, time.Now().UnixNano())
	left := c.Outage - time.Since(time.Unix(0, c.failing.Load()))
	c.Log.Warn("the store fails; trying again", "err", err, "for", left)
	// An outage is one for all: what comes at its end is tried once more.
	wait := backoff.NewExponentialBackOff(backoff.WithInitialInterval(50*time.Millisecond), backoff.WithMaxInterval(5*time.Second), backoff.WithMaxElapsedTime(max(left, 1)))
	if backoff.Retry(func() error {
		if final(true) {
			return nil
		}
		return err
	}, backoff.WithContext(wait, c.Open)) == nil {
		return err
	}
	return agent.ErrorOf(fmt.Errorf("%w: %w: the store failed for %v, and the run is suspended: %w", engine.ErrStopped, ErrOutage, c.Outage, err))
}
