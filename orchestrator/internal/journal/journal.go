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
)

// Config is what a Journal needs. All of it is required but Store.
type Config struct {
	Store  runlog.Store  // nil: records are kept in memory
	Outage time.Duration // how long the store may fail before its runs are suspended
	Log    *slog.Logger  // told of outages
	Do     func(Job)     // has a goroutine of the engine do a job; nil: nothing

	Life context.Context //nolint:containedctx // ends when the engine is closed and has waited long enough
	Open context.Context //nolint:containedctx // ends when the engine's Close begins
}

// Journal keeps the records of all runs of an engine. It is safe for concurrent use.
type Journal struct {
	Storage

	Stored bool         // records are kept in a store
	Calls  atomic.Int64 // calls of agents under way: a goroutine that commits waits a moment for their records

	cfg     Config
	memory  *memory      // nil with a store
	large   int          // bytes from which Data is kept as a blob; 0: never
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
	largeData = 64 << 10 // Journal.large, where the store keeps blobs
	maxBatch  = 512      // records that are appended at once
)

// New returns a Journal. It starts nothing.
func New(c Config) *Journal {
	j := &Journal{cfg: c}
	j.Storage, j.memory = open(c.Store)
	j.Stored = j.memory == nil
	if _, ok := runlog.As[runlog.Blobs](c.Store); ok {
		j.large = largeData
	}
	return j
}

// Write commits e as a record of log, and tells e.Sink. Run, Kind and Sink are set; a
// zero At becomes the present time. The goroutine that called it goes on with the job
// that is returned. An answer that is larger than a record can be becomes the failure of
// its call, with the usage of the answer.
func (j *Journal) Write(log *Log, e *Entry) Job {
	e.log = log
	if e.At.IsZero() {
		e.At = Now()
	}
	called, isCall := e.Value.(*engine.CalledData)
	var err error
	if j.Stored || isCall && (called.Err != nil || called.Response.Data != nil || called.Response.Messages != nil) { // the flow could change these
		if err = e.encode(); err == nil && j.large > 0 && len(e.Data) >= j.large {
			err = j.putAside(e)
		}
	}
	if isCall && called.Err == nil && errors.Is(err, engine.ErrTooLarge) {
		called.Err = agent.ErrorOf(err)
		called.Err.Usage = called.Response.Usage
		called.Response = nil
		err = e.encode()
	}
	if e.err = err; !j.Stored {
		if err == nil {
			e.err = log.place(e)
		}
		return e.Sink.Committed(e, e.err)
	}
	if err != nil {
		return e.settle(j.cfg.Do)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.queue = append(j.queue, e)
	if j.busy {
		return nil
	}
	j.busy = true
	return j // no other goroutine commits: this one does
}

// Expect prepares e for Await. It is called before Write.
func (j *Journal) Expect(e *Entry) {
	if j.Stored {
		e.done = make(chan struct{})
	}
}

// Await waits until e is committed, or until ctx or the engine's life is over: a store
// that hangs does not hold it up. It returns why e was not committed. next is what Write
// returned.
func (j *Journal) Await(ctx context.Context, e *Entry, next Job) error {
	if ctx == j.cfg.Life && next == Job(j) { // it waits anyway
		next = j.Work()
	}
	j.cfg.Do(next)
	if e.done == nil {
		return e.err
	}
	select {
	case <-e.done:
		return e.err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-j.cfg.Life.Done():
		return Closed()
	}
}

// putAside keeps large Data of e beside the log.
func (j *Journal) putAside(e *Entry) (err error) {
	if e.Kind == runlog.Asked { // lists show questions
		return nil
	}
	if e.Blob, err = j.Keep(e.Run, e.Data); err != nil {
		return fmt.Errorf("large value of run %q: %w", e.Run, err)
	}
	return e.keepListed()
}

// Keep keeps a value beside the log of a run, and returns its hash.
func (j *Journal) Keep(run string, data []byte) (hash string, err error) {
	err = j.try(func(ctx context.Context, _ bool) error {
		hash, err = j.PutBlob(ctx, run, data)
		return err
	})
	return hash, err
}

// Open returns the log of a run that begins or is resumed: fresh, which is used from now
// on, or, without a store, the one that has the run's records.
func (j *Journal) Open(run string, fresh *Log) *Log {
	if j.Stored {
		return fresh
	}
	fresh.keeps = true
	return j.memory.log(run, fresh)
}

// Retire notes that a run has ended or stopped. Without a store only so many of these are
// remembered: oldest is the one that is forgotten now; "": none.
func (j *Journal) Retire(run string) (oldest string) {
	if j.Stored {
		return ""
	}
	return j.memory.retire(run)
}

// Work implements [Job]: it commits until the line is empty, and returns what
// follows for the run that was told last.
func (j *Journal) Work() (next Job) {
	for {
		if j.Calls.Load() > 0 {
			runtime.Gosched() // let calls that are about to write a record do so
		}
		j.mu.Lock()
		n := min(len(j.queue), maxBatch)
		batch := append(j.batch[:0], j.queue[:n]...)
		j.queue = slices.Delete(j.queue, 0, n)
		j.busy = n > 0
		j.mu.Unlock()
		if n == 0 {
			return next
		}
		if next != nil { // this goroutine cannot drive while it commits
			j.cfg.Do(next)
			next = nil
		}
		j.commit(batch)
		for _, e := range batch {
			drive := e.settle(j.cfg.Do)
			if next != nil && drive != nil {
				j.cfg.Do(next)
			}
			if drive != nil {
				next = drive
			}
		}
		clear(batch)
		j.batch = batch
	}
}

// commit stores a batch. What could not be stored together, each run's part is tried by
// itself, so that a run that was fenced off does not stop the others.
func (j *Journal) commit(batch []*Entry) {
	recs := j.recs[:0]
	for _, e := range batch {
		if e.err = e.log.place(e); e.err == nil {
			recs = append(recs, e.Record)
		}
	}
	if err := j.append(recs); err != nil {
		j.commitApart(batch, err)
	}
	clear(recs)
	j.recs = recs
}

// commitApart stores each run's part of a batch that could not be stored because of err.
func (j *Journal) commitApart(batch []*Entry, err error) {
	parts := map[*Log][]runlog.Record{}
	for _, e := range batch {
		if e.err == nil {
			parts[e.log] = append(parts[e.log], e.Record)
		}
	}
	for log, part := range parts {
		if len(parts) > 1 {
			err = j.append(part)
		}
		log.breakOff(err)
	}
}

// append stores records.
func (j *Journal) append(recs []runlog.Record) error {
	if len(recs) == 0 {
		return nil
	}
	return j.try(func(ctx context.Context, again bool) error {
		err := j.cfg.Store.Append(ctx, recs)
		if again && errors.Is(err, runlog.ErrConflict) {
			stored, lookErr := j.has(ctx, &recs[0])
			if stored || lookErr != nil {
				return lookErr
			}
		}
		return err
	})
}

// try calls f until it succeeds or meets a conflict or damage, with growing waits, for
// Config.Outage at most. again says that what became of the call before is not known.
func (j *Journal) try(f func(ctx context.Context, again bool) error) (err error) {
	final := func(again bool) bool {
		j.mu.Lock()
		if t := time.Now(); t.After(j.renew) {
			j.renew = t.Add(AppendLimit)
			var cancel context.CancelFunc
			j.limit, cancel = context.WithTimeout(j.cfg.Life, 2*AppendLimit)
			context.AfterFunc(j.limit, cancel)
		}
		limit := j.limit
		j.mu.Unlock()
		err = f(limit, again)
		works := err == nil || errors.Is(err, runlog.ErrConflict) || errors.Is(err, runlog.ErrDamaged)
		if works {
			j.failing.Store(0)
		}
		return works
	}
	if final(false) || j.cfg.Open.Err() != nil {
		return err
	}
	j.failing.CompareAndSwap(0, time.Now().UnixNano())
	left := j.cfg.Outage - time.Since(time.Unix(0, j.failing.Load()))
	j.cfg.Log.Warn("the store fails; trying again", "err", err, "for", left)
	// An outage is one for all: what comes at its end is tried once more.
	wait := backoff.NewExponentialBackOff(backoff.WithInitialInterval(50*time.Millisecond), backoff.WithMaxInterval(5*time.Second), backoff.WithMaxElapsedTime(max(left, 1)))
	if backoff.Retry(func() error {
		if final(true) {
			return nil
		}
		return err
	}, backoff.WithContext(wait, j.cfg.Open)) == nil {
		return err
	}
	return agent.ErrorOf(fmt.Errorf("%w: %w: the store failed for %v, and the run is suspended: %w", engine.ErrStopped, ErrOutage, j.cfg.Outage, err))
}
