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

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/final"
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

	cfg    Config
	large  int     // bytes from which Data is kept as a blob; 0: never
	memory *memory // nil with a store
	outages

	mu    sync.Mutex
	queue []*Entry
	busy  bool // a goroutine commits

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
	j := &Journal{cfg: c, outages: outages{length: c.Outage, each: AppendLimit, log: c.Log, life: c.Life, open: c.Open, over: suspended}}
	j.Storage, j.memory = open(c.Store)
	j.Stored = j.memory == nil
	if _, ok := runlog.As[runlog.Blobs](c.Store); ok {
		j.large = largeData
	}
	return j
}

// suspended is the error of a run whose store failed for too long.
func suspended(after time.Duration, err error) error {
	return agent.ErrorOf(fmt.Errorf("%w: %w: the store failed for %v, and the run is suspended: %w", engine.ErrStopped, ErrOutage, after, err))
}

// Write commits e as a record of log, and tells e.Sink. Run, Kind and Sink are set; a
// zero At becomes the present time. The goroutine that called it goes on with the job
// that is returned. An answer that can never be stored, because of its size or of what
// the store says, becomes the failure of its call, with the usage of the answer. The Sink
// of another such record gets an error that is [final.IsNever], and the log goes on without it.
func (j *Journal) Write(log *Log, e *Entry) Job {
	e.log = log
	if e.At.IsZero() {
		e.At = Now()
	}
	var err error
	if j.Stored || mustEncode(e.Value) {
		if err = e.encode(); err == nil && j.large > 0 && len(e.Data) >= j.large {
			err = j.putAside(e)
		}
	}
	if err != nil && final.IsNever(err) && e.failCall(err) {
		err = nil
	}
	if e.err = err; !j.Stored {
		log.order.Lock() // the flow learns of records in the order of the log
		defer log.order.Unlock()
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

// mustEncode reports whether a log in memory keeps that value encoded: the flow could
// change it, or it may be larger than a record can be.
func mustEncode(value any) bool {
	size := 0
	switch v := value.(type) {
	case engine.EndedData:
		return len(v.Output)+len(v.State) > engine.MaxData/2 // they are JSON, which becomes no longer
	case *engine.CalledData:
		if v.Err != nil || v.Response.Data != nil || v.Response.Messages != nil {
			return true
		}
		size = len(v.Response.Text)
	case engine.StartedData:
		size = len(v.Data)
	}
	return size > engine.MaxData/8 // a byte of text becomes six of JSON at most
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
	if err = j.try(false, j.vacant(e.Run, e.Kind)); err != nil { // a start that is refused leaves nothing
		return err
	}
	if e.Blob, err = j.Keep(e.Run, e.Data); err != nil {
		return fmt.Errorf("large value of run %q: %w", e.Run, err)
	}
	return e.keepListed()
}

// Keep keeps a value beside the log of a run, and returns its hash.
func (j *Journal) Keep(run string, data []byte) (hash string, err error) {
	err = j.try(false, func(ctx context.Context, _ bool) error {
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

// Retire notes that a run is over, and whether nobody needs its result. It returns the forgotten.
func (j *Journal) Retire(run string, fetched bool) []string { return j.memory.retire(run, fetched) }

// Fetched notes that somebody has the result of a run, and is like Retire then.
func (j *Journal) Fetched(run string) []string { return j.memory.fetched(run) }

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
		j.commit(batch, false)
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

// commit stores a batch. What could not be stored together is tried in halves, so that a
// run that was fenced off, or has a record that the store never takes, stops no other.
// again: what became of an attempt to store it is not known.
func (j *Journal) commit(batch []*Entry, again bool) {
	recs := j.recs[:0]
	for _, e := range batch {
		if e.err = e.log.place(e); e.err == nil {
			recs = append(recs, e.Record)
		}
	}
	err := j.append(recs, again)
	clear(recs)
	if j.recs = recs; err == nil {
		return
	}
	batch = slices.DeleteFunc(slices.Clone(batch), func(e *Entry) bool { return e.err != nil })
	if len(batch) == 1 || errors.Is(err, context.DeadlineExceeded) { // a store that hangs is not asked for each
		for _, e := range batch {
			e.err = j.giveUp(e, err)
		}
		return
	}
	for _, e := range slices.Backward(batch) {
		e.log.takeBack(e)
	}
	j.commit(batch[:len(batch)/2], !final.Is(err))
	j.commit(batch[len(batch)/2:], !final.Is(err))
}

// giveUp returns why e is not in its log, after err of the store. nil: it is there, as the
// failure of its call. Nothing can follow in a log where a record is missing, unless the
// store never takes that.
func (j *Journal) giveUp(e *Entry, err error) error {
	if final.IsNever(err) {
		if e.log.takeBack(e); !e.failCall(err) {
			return err
		}
		if err = e.log.place(e); err == nil {
			err = j.append([]runlog.Record{e.Record}, false)
		}
		if final.IsNever(err) {
			e.log.takeBack(e)
		}
		if err == nil || final.IsNever(err) {
			return err
		}
	}
	e.log.breakOff(err)
	return err
}

// append stores records. again says that what became of the attempt before is not known.
func (j *Journal) append(recs []runlog.Record, again bool) error { //nolint:revive // what is known
	if len(recs) == 0 {
		return nil
	}
	return j.try(again, func(ctx context.Context, again bool) error {
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
