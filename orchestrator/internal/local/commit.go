package local

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// committer appends records of many runs and branches together: the goroutine that
// finds no other committing does it for all that come meanwhile.
type committer struct {
	e     *Engine
	store blackboard.Store
	calls atomic.Int64 // of agents under way, each of which ends in a record

	patient context.Context //nolint:containedctx // ends when what fails is given up
	hurry   context.CancelFunc
	failing atomic.Int64 // since when the store fails, in Unix nanoseconds; 0: it does not

	mu    sync.Mutex
	queue []*record
	busy  bool // a goroutine commits

	// Only the goroutine that commits touches these.
	spare    []*record
	recs     []blackboard.Record
	drive    []*run             // to be driven now
	limit    context.Context    //nolint:containedctx // of Append; shared by those of a few seconds, because it costs as much as they do
	endLimit context.CancelFunc // of limit
	renew    time.Time          // limit
}

const (
	maxBatch    = 512              // records that are appended at once
	appendLimit = 10 * time.Second // for one Append (up to twice as long), and for looking up what became of it
)

var (
	errLate   = errors.New("the run has ended or stopped")
	errBroken = errors.New("an earlier record was not stored")
)

// errOutage marks runs that are suspended because the store failed: the engine
// resumes them by itself.
const errOutage = agent.Code("outage")

func newCommitter(e *Engine, s blackboard.Store) *committer {
	c := &committer{e: e, store: s}
	c.patient, c.hurry = context.WithCancel(e.life)
	return c
}

// add puts rec in line; if no other goroutine commits, this one does, until the line
// is empty. It returns the run that the caller has to drive, or nil.
func (c *committer) add(rec *record) *run {
	if c.put(rec) {
		return c.flush()
	}
	return nil
}

// put puts rec in line and tells whether the caller has to flush.
func (c *committer) put(rec *record) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, rec)
	mine := !c.busy
	c.busy = true
	return mine
}

// close ends attempts to commit that fail: what cannot be stored now is given up.
func (c *committer) close() {
	if c != nil {
		c.hurry()
	}
}

// flush commits until the line is empty. It returns the run that the caller has to
// drive, or nil.
func (c *committer) flush() *run {
	var mine *run
	for {
		if c.calls.Load() > 1 {
			runtime.Gosched() // let calls that are about to add a record do so
		}
		batch := c.next()
		if batch == nil {
			return mine
		}
		for rest := batch; len(rest) > 0; {
			c.e.driveOn(mine) // this goroutine cannot drive while it commits
			n := min(len(rest), maxBatch)
			c.commit(rest[:n])
			rest = rest[n:]
			mine = c.handOut()
		}
		clear(batch)
		c.spare = batch[:0]
	}
}

// next takes what is in line; nil: it is empty, and no goroutine commits any more.
func (c *committer) next() []*record {
	c.mu.Lock()
	defer c.mu.Unlock()
	batch := c.queue
	if len(batch) == 0 {
		c.busy = false
		return nil
	}
	c.queue, c.spare = c.spare[:0], nil
	return batch
}

// handOut lets other goroutines drive the runs of a batch, but for one that it
// returns.
func (c *committer) handOut() *run {
	if len(c.drive) == 0 {
		return nil
	}
	mine := c.drive[0]
	for _, r := range c.drive[1:] {
		c.e.driveOn(r)
	}
	clear(c.drive)
	c.drive = c.drive[:0]
	return mine
}

// commit stores a batch. If that fails and it is of several runs, each run's part
// is tried by itself, so that one that was fenced off does not stop the others.
func (c *committer) commit(batch []*record) {
	err := c.append(batch)
	if err == nil || !mixed(batch) {
		c.settle(batch, err)
		return
	}
	for len(batch) > 0 {
		part, rest := batch[:1:1], []*record(nil)
		for _, rec := range batch[1:] {
			if rec.r == part[0].r {
				part = append(part, rec)
			} else {
				rest = append(rest, rec)
			}
		}
		c.settle(part, c.append(part))
		batch = rest
	}
}

func mixed(batch []*record) bool {
	for _, rec := range batch[1:] {
		if rec.r != batch[0].r {
			return true
		}
	}
	return false
}

// append stores the batch, all or none. Nothing follows a record that failed.
func (c *committer) append(batch []*record) error {
	c.recs = c.recs[:0]
	for _, rec := range batch {
		l := rec.r.records
		if rec.late = l.broken != nil || l.closed || l.refuses(rec); rec.late {
			continue
		}
		l.closed = rec.kind == blackboard.Ended
		c.recs = append(c.recs, rec.stored(l.seq))
		l.seq++
	}
	if len(c.recs) == 0 {
		return nil
	}
	err := c.appendOnce(c.recs)
	if err != nil && !errors.Is(err, blackboard.ErrConflict) && !errors.Is(err, blackboard.ErrDamaged) {
		err = c.persist(c.recs, err)
	}
	clear(c.recs)
	if err != nil {
		for _, rec := range batch {
			if !rec.late {
				rec.r.records.seq--
				rec.r.records.closed = false
			}
		}
	}
	return err
}

// appendOnce tries once.
func (c *committer) appendOnce(recs []blackboard.Record) error {
	if c.limit == nil || time.Now().After(c.renew) {
		if c.limit != nil {
			c.endLimit()
		}
		c.renew = time.Now().Add(appendLimit)
		c.limit, c.endLimit = context.WithTimeout(c.e.life, 2*appendLimit)
	}
	return c.seen(c.store.Append(c.limit, recs))
}

// seen notes that the store works, if err says so.
func (c *committer) seen(err error) error {
	if (err == nil || errors.Is(err, blackboard.ErrConflict)) && c.failing.Load() != 0 {
		c.failing.Store(0)
	}
	return err
}

// persist tries again to store what could not be stored. What became of an attempt
// is looked up before the next one: it may have been stored all the same.
func (c *committer) persist(recs []blackboard.Record, err error) error {
	err = c.retry(err, func() error {
		stored, err := c.isStored(&recs[0])
		if err == nil && !stored {
			err = c.appendOnce(recs)
		}
		return err
	})
	if errors.Is(err, blackboard.ErrConflict) {
		if stored, lookErr := c.isStored(&recs[0]); lookErr == nil && stored {
			return nil // an attempt before was late
		}
	}
	return err
}

// putBlob keeps a value beside the log.
func (c *committer) putBlob(run string, data []byte) (hash string, err error) {
	put := func() error {
		ctx, cancel := context.WithTimeout(c.e.life, appendLimit)
		defer cancel()
		hash, err = c.e.blobs.PutBlob(ctx, run, data)
		return c.seen(err)
	}
	if err := put(); err != nil {
		return hash, c.retry(err, put)
	}
	return hash, nil
}

// retry calls f, with growing waits, until it succeeds or meets a conflict, for
// Config.Outage at most. err is what went wrong before.
func (c *committer) retry(err error, f func() error) error {
	if c.patient.Err() != nil {
		return err
	}
	c.failing.CompareAndSwap(0, time.Now().UnixNano())
	left := c.e.cfg.Outage - time.Since(time.Unix(0, c.failing.Load()))
	c.e.cfg.Log.Warn("the store fails; trying again", "err", err, "for", left)
	// An outage is one for all: what comes at its end is tried once more.
	wait := backoff.NewExponentialBackOff(backoff.WithInitialInterval(50*time.Millisecond), backoff.WithMaxInterval(5*time.Second), backoff.WithMaxElapsedTime(max(left, 1)))
	final := backoff.Retry(func() error {
		err = c.seen(f())
		if err == nil || errors.Is(err, blackboard.ErrConflict) {
			return nil
		}
		return err
	}, backoff.WithContext(wait, c.patient))
	if final == nil {
		return err
	}
	return agent.ErrorOf(fmt.Errorf("%w: %w: the store failed for %v, and the run is suspended: %w", engine.ErrStopped, errOutage, c.e.cfg.Outage, err))
}

// isStored tells whether rec is in the store: then all that were appended with it
// are.
func (c *committer) isStored(rec *blackboard.Record) (bool, error) {
	ctx, cancel := context.WithTimeout(c.e.life, appendLimit)
	defer cancel()
	for got, err := range c.store.Records(ctx, rec.Run, rec.Seq) {
		if err != nil {
			return false, err
		}
		return got.Kind == rec.Kind && got.Branch == rec.Branch && got.N == rec.N && got.Name == rec.Name &&
			got.At.Equal(rec.At) && string(got.Data) == string(rec.Data) && got.Blob == rec.Blob, nil
	}
	return false, nil
}

// settle tells those who wait for the batch what became of it.
func (c *committer) settle(batch []*record, err error) {
	for _, rec := range batch {
		l, err := rec.r.records, err
		switch {
		case rec.late && l.broken != nil:
			err = fmt.Errorf("%w: %w", errBroken, l.broken)
		case rec.late:
			err = errLate
		case err != nil:
			l.broken = err
		default:
			l.stored.Add(1)
			l.changed()
		}
		if r := rec.settle(err); r != nil {
			c.drive = append(c.drive, r)
		}
	}
}

// writeSync is write for a goroutine that waits until rec is durable.
func (r *run) writeSync(ctx context.Context, rec *record) error {
	if r.e.commit == nil {
		err := r.prepare(rec)
		if err == nil {
			err = r.records.add(rec)
		}
		if drive := rec.settle(err); drive != nil {
			r.e.driveOn(drive)
		}
		return err
	}
	rec.done = make(chan error, 1)
	if r.e.commit == nil || ctx == r.e.life {
		r.e.driveOn(r.write(rec))
	} else { // a store that hangs does not hold up a caller whose ctx is done
		r.e.pool.do(jobFunc(func() { r.driveHere(r.write(rec)) }))
	}
	select {
	case err := <-rec.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.e.life.Done():
		return closedError()
	}
}
