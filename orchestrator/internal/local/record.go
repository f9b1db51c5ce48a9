package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// record is a record of a run, until it is committed and applied. The log in memory
// keeps it for good.
type record struct {
	runlog.Record
	data any // what Data is encoded from; an engine.CalledData by pointer

	r    *run
	op   *engine.Op    // whose effect it is, until that is delivered; nil: none
	done chan struct{} // nil: nothing waits
	err  error         // why it was not committed
}

// newRecord is a record of the effect op.
func newRecord(op *engine.Op, kind string, data any) *record {
	return &record{Record: runlog.Record{Kind: kind, Branch: op.Branch, N: op.N, Name: op.Name}, op: op, data: data}
}

// largeData is the size in bytes from which Data is kept as a blob.
const largeData = 64 << 10

// encode makes Data, once, and moves large values beside the log. Without a store,
// most are encoded when they are read; what the flow could change until then is
// encoded now.
func (rec *record) encode() (err error) {
	e := rec.r.e
	switch d := rec.data.(type) {
	case nil:
	case json.RawMessage:
		rec.Data = d
	default:
		called, ok := d.(*engine.CalledData)
		if e.commit == nil && (!ok || called.Err == nil && called.Response.Data == nil && called.Response.Messages == nil) {
			return nil
		}
		if rec.Data, err = engine.Encode(d); err != nil {
			return fmt.Errorf("record %q of run %q: %w", rec.Kind, rec.Run, err)
		}
	}
	if len(rec.Data) < e.large || rec.Kind == runlog.Asked { // stores read questions
		return nil
	}
	if rec.Blob, err = e.commit.putBlob(rec.Run, rec.Data); err != nil {
		return fmt.Errorf("large value of run %q: %w", rec.Run, err)
	}
	rec.Data = nil
	switch d := rec.data.(type) { // stores list runs by the rest of these
	case engine.StartedData:
		d.Data = nil
		rec.Data, err = engine.Encode(d)
	case engine.EndedData:
		d.Output, d.State = nil, nil
		rec.Data, err = engine.Encode(d)
	}
	return err
}

// write commits rec, and brings it to the driver where the flow has to learn of it.
func (r *run) write(rec *record) job {
	rec.r, rec.Run = r, r.id
	if rec.At.IsZero() {
		rec.At = now()
	}
	err := rec.encode()
	if d, ok := rec.data.(*engine.CalledData); ok && d.Err == nil && errors.Is(err, engine.ErrTooLarge) { // the call has failed, not the run
		d.Err = agent.ErrorOf(err)
		d.Err.Usage = d.Response.Usage
		d.Response = nil
		err = rec.encode()
	}
	switch {
	case err != nil:
		return r.push(rec, err)
	case r.e.commit == nil:
		return r.push(rec, r.records.add(rec))
	}
	return r.e.commit.add(rec)
}

// writeSync is write for a goroutine that waits until rec is committed. A store that
// hangs does not hold up one whose ctx is done.
func (r *run) writeSync(ctx context.Context, rec *record) error {
	if r.e.commit != nil {
		rec.done = make(chan struct{})
	}
	next := r.write(rec)
	if ctx == r.e.life && next == job(r.e.commit) { // it waits anyway
		next = next.work()
	}
	r.e.pool.do(next)
	if rec.done != nil {
		if err := r.e.await(ctx, rec.done); err != nil {
			return err
		}
	}
	return rec.err
}

// runLog is a run's log, or, with a store, what its end is.
type runLog struct {
	stopped atomic.Bool // the run is not driven any more

	mu     sync.Mutex
	seq    int64         // of the next record
	ended  bool          // it has an Ended record
	broken error         // why no record can follow
	recs   []*record     // without a store: those that were not moved
	signal chan struct{} // closed at the next record; nil: nothing waits for it
}

var (
	errLate   = errors.New("the run has ended or stopped")
	errBroken = errors.New("an earlier record was not stored")
)

// add gives rec its place, unless nothing can follow. Without a store it is kept here.
func (l *runLog) add(rec *record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch rec.Kind {
	case runlog.Slept, runlog.Expired, runlog.Answered, runlog.Canceled: // the world is too late
		if l.stopped.Load() {
			return errLate
		}
	}
	switch {
	case rec.Kind == runlog.Started && l.seq > 0:
		return runlog.ErrConflict
	case l.broken != nil:
		return fmt.Errorf("%w: %w", errBroken, l.broken)
	case l.ended:
		return errLate
	}
	l.ended = rec.Kind == runlog.Ended
	rec.Seq = l.seq
	l.seq++
	if rec.r.e.commit == nil {
		if l.recs == nil {
			l.recs = make([]*record, 0, 4) // a small run has its start and end in it
		}
		l.recs = append(l.recs, rec)
		l.rouse()
	}
	return nil
}

// changed tells those who watch to look, and returns why what is new was not stored.
func (l *runLog) changed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rouse()
	return l.broken
}

func (l *runLog) rouse() {
	if l.signal != nil {
		close(l.signal)
		l.signal = nil
	}
}

// watch returns a channel that is closed at the next record.
func (l *runLog) watch() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.signal == nil {
		l.signal = make(chan struct{})
	}
	return l.signal
}

// move gives the records in memory to take, and forgets them if it takes them.
func (l *runLog) move(take func([]runlog.Record) error) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	recs := make([]runlog.Record, len(l.recs))
	for i, rec := range l.recs {
		if recs[i] = rec.Record; rec.Data == nil && rec.data != nil {
			if recs[i].Data, err = engine.Encode(rec.data); err != nil {
				return err
			}
		}
	}
	if err = take(recs); err == nil {
		l.recs = nil
	}
	return err
}
