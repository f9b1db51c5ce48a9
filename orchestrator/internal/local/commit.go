package local

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// committer appends records of many runs and branches together: the goroutine that
// finds no other committing does it for all that come meanwhile.
type committer struct {
	e     *Engine
	calls atomic.Int64 // of agents under way, each of which ends in a record

	failing atomic.Int64 // since when the store fails, in Unix nanoseconds; 0: it does not

	mu    sync.Mutex
	queue []*record
	busy  bool            // a goroutine commits
	limit context.Context //nolint:containedctx // of Append; shared by those of a few seconds, because it costs as much as they do
	renew time.Time       // limit

	// Only the goroutine that commits touches these.
	batch []*record
	recs  []runlog.Record
}

const (
	maxBatch    = 512              // records that are appended at once
	appendLimit = 10 * time.Second // for one Append (up to twice as long), and for looking up what became of it
)

// errOutage marks runs that are suspended because the store failed: the engine
// resumes them by itself.
const errOutage = agent.Code("outage")

// add puts rec in line. If no other goroutine commits, the caller does.
func (c *committer) add(rec *record) job {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, rec)
	if c.busy {
		return nil
	}
	c.busy = true
	return c
}

// work implements job: it commits until the line is empty, and goes on with a run that
// is to be driven then. What could not be stored together, each run's part is tried by
// itself, so that one that was fenced off does not stop the others.
func (c *committer) work() (next job) {
	for {
		if c.calls.Load() > 0 {
			runtime.Gosched() // let calls that are about to add a record do so
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
		c.e.pool.do(next) // this goroutine cannot drive while it commits
		next = nil
		recs := c.recs[:0]
		for _, rec := range batch {
			if rec.err = rec.r.records.add(rec); rec.err == nil {
				recs = append(recs, rec.Record)
			}
		}
		if err := c.append(recs); err != nil {
			c.appendApart(batch, err)
		}
		for _, rec := range batch {
			if rec.err == nil {
				rec.err = rec.r.records.changed()
			}
			if run := rec.r.push(rec, rec.err); run != nil {
				c.e.pool.do(next)
				next = run
			}
		}
		clear(batch)
		clear(recs)
		c.batch, c.recs = batch, recs
	}
}

// appendApart stores each run's part of a batch that could not be stored because of
// err. Nothing follows what cannot be stored then.
func (c *committer) appendApart(batch []*record, err error) {
	parts := map[*runLog][]runlog.Record{}
	for _, rec := range batch {
		if log := rec.r.records; rec.err == nil {
			parts[log] = append(parts[log], rec.Record)
		}
	}
	for log, part := range parts {
		if len(parts) > 1 {
			err = c.append(part)
		}
		log.mu.Lock()
		log.broken = err
		log.mu.Unlock()
	}
}

// append stores records. What became of an attempt that failed is looked up: they may
// have been stored all the same.
func (c *committer) append(recs []runlog.Record) error {
	if len(recs) == 0 {
		return nil
	}
	return c.try(func(ctx context.Context, again bool) error {
		err := c.e.cfg.Store.Append(ctx, recs)
		if again && errors.Is(err, runlog.ErrConflict) {
			stored, lookErr := c.isStored(ctx, &recs[0])
			if stored || lookErr != nil {
				return lookErr
			}
		}
		return err
	})
}

// isStored tells whether rec is in the store: then all that were appended with it
// are.
func (c *committer) isStored(ctx context.Context, rec *runlog.Record) (bool, error) {
	for got, err := range c.e.cfg.Store.Records(ctx, rec.Run, rec.Seq) {
		if err != nil {
			return false, err
		}
		return got.Kind == rec.Kind && got.Branch == rec.Branch && got.N == rec.N && got.Name == rec.Name &&
			got.At.Equal(rec.At) && string(got.Data) == string(rec.Data) && got.Blob == rec.Blob, nil
	}
	return false, nil
}

// putBlob keeps a value beside the log.
func (c *committer) putBlob(run string, data []byte) (hash string, err error) {
	err = c.try(func(ctx context.Context, _ bool) error {
		hash, err = c.e.store.PutBlob(ctx, run, data)
		return err
	})
	return hash, err
}

// try calls f until it succeeds or meets a conflict or damage, with growing waits, for
// Config.Outage at most. again: what became of the call before is not known.
func (c *committer) try(f func(ctx context.Context, again bool) error) (err error) {
	final := func(again bool) bool {
		err = f(c.limited(), again)
		works := err == nil || errors.Is(err, runlog.ErrConflict) || errors.Is(err, runlog.ErrDamaged)
		if works {
			c.failing.Store(0)
		}
		return works
	}
	if final(false) || c.e.open.Err() != nil {
		return err
	}
	c.failing.CompareAndSwap(0, time.Now().UnixNano())
	left := c.e.cfg.Outage - time.Since(time.Unix(0, c.failing.Load()))
	c.e.cfg.Log.Warn("the store fails; trying again", "err", err, "for", left)
	// An outage is one for all: what comes at its end is tried once more.
	wait := backoff.NewExponentialBackOff(backoff.WithInitialInterval(50*time.Millisecond), backoff.WithMaxInterval(5*time.Second), backoff.WithMaxElapsedTime(max(left, 1)))
	if backoff.Retry(func() error {
		if final(true) {
			return nil
		}
		return err
	}, backoff.WithContext(wait, c.e.open)) == nil {
		return err
	}
	return agent.ErrorOf(fmt.Errorf("%w: %w: the store failed for %v, and the run is suspended: %w", engine.ErrStopped, errOutage, c.e.cfg.Outage, err))
}

// limited is the context of one attempt.
func (c *committer) limited() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := time.Now(); t.After(c.renew) {
		c.renew = t.Add(appendLimit)
		var cancel context.CancelFunc
		c.limit, cancel = context.WithTimeout(c.e.life, 2*appendLimit)
		context.AfterFunc(c.limit, cancel)
	}
	return c.limit
}
