package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// record is a record of a run until it is committed and applied.
type record struct {
	r      *run
	op     *engine.Op // whose effect it is, until that is delivered; nil: none
	kind   string
	branch string
	n      int64
	name   string
	hash   string
	at     time.Time
	blob   string
	raw    json.RawMessage // Data; nil: what data or the answer encode to
	data   any

	// Of Called records:
	resp     *agent.Response
	err      *agent.Error
	reserved *engine.Amount
	given    []string // the blobs of what was asked

	told json.RawMessage  // of Answered and Canceled records: Data, also where that is a blob
	used *providers.Usage // of Used records
	done chan error       // nil: nothing waits
	late bool             // it comes behind the end of the log, or behind a record that failed
}

// encoded is the record's Data.
func (rec *record) encoded() (json.RawMessage, error) {
	data := rec.data
	switch {
	case rec.raw != nil:
		return rec.raw, nil
	case rec.kind == blackboard.Called && rec.err != nil:
		data = engine.CalledData{Err: rec.err, Reserved: rec.reserved, Request: rec.given}
	case rec.kind == blackboard.Called:
		data = engine.CalledData{Response: rec.resp, Reserved: rec.reserved, Request: rec.given}
	case data == nil:
		return nil, nil
	}
	raw, err := engine.Encode(data)
	if err != nil {
		return nil, fmt.Errorf("record %q of run %q: %w", rec.kind, rec.r.id, err)
	}
	return raw, nil
}

// stored is the record as stores keep it.
func (rec *record) stored(seq int64) blackboard.Record {
	return blackboard.Record{
		Run: rec.r.id, Seq: seq, Kind: rec.kind, Branch: rec.branch, N: rec.n, Name: rec.name,
		Hash: rec.hash, At: rec.at, Data: rec.raw, Blob: rec.blob,
	}
}

// largeData is the size in bytes from which Data is kept as a blob.
const largeData = 64 << 10

// prepare encodes rec, once, and moves large values beside the log. Without a store,
// an answer is encoded when it is read; what could change until then is
// encoded now.
func (r *run) prepare(rec *record) (err error) {
	if r.e.commit == nil && (rec.data != nil || rec.kind == blackboard.Called && rec.resp != nil && rec.resp.Data == nil && rec.resp.Messages == nil) {
		return nil
	}
	rec.raw, err = rec.encoded()
	if err != nil || len(rec.raw) < largeData || r.e.blobs == nil || rec.kind == blackboard.Asked { // stores read questions
		rec.data = nil
		return err
	}
	switch d := rec.data.(type) { // stores list runs by the rest of these
	case engine.StartedData:
		if d.Blob, err = r.e.commit.putBlob(r.id, d.Data); err == nil {
			d.Data = nil
			rec.raw, err = engine.Encode(d)
		}
	case engine.EndedData:
		end, encodeErr := engine.Encode(d.End)
		if encodeErr != nil {
			return encodeErr
		}
		if d.Blob, err = r.e.commit.putBlob(r.id, end); err == nil {
			d.Output, d.State = nil, nil
			rec.raw, err = engine.Encode(d)
		}
	default:
		if rec.blob, err = r.e.commit.putBlob(r.id, rec.raw); err == nil {
			rec.raw = nil
		}
	}
	rec.data = nil
	if err != nil {
		return fmt.Errorf("large value of run %q: %w", r.id, err)
	}
	return nil
}

// write commits rec and puts it in line for the driver. It returns the run that the
// caller has to drive, or nil.
func (r *run) write(rec *record) *run {
	err := r.prepare(rec)
	if errors.Is(err, engine.ErrTooLarge) && rec.resp != nil { // the call has failed, not the run
		rec.err = agent.ErrorOf(err)
		rec.err.Usage = rec.resp.Usage
		rec.resp = nil
		err = r.prepare(rec)
	}
	if err != nil {
		return rec.settle(err)
	}
	if r.e.commit == nil {
		return rec.settle(r.records.add(rec))
	}
	return r.e.commit.add(rec)
}

// settle tells those who wait what became of rec. It returns the run that the caller
// has to drive, or nil.
func (rec *record) settle(err error) *run {
	drive := false
	switch {
	case err != nil:
		drive = rec.r.queue.fail(err)
	case rec.op != nil || rec.kind == blackboard.Answered || rec.kind == blackboard.Canceled:
		drive = rec.r.queue.push(rec)
	}
	if rec.done != nil {
		rec.done <- err
	}
	if !drive {
		return nil
	}
	return rec.r
}

// runLog is the end of a run's log. With a store it is the number of the next
// record; without one, the records themselves.
type runLog struct {
	seq     int64        // of the next record; of the goroutine that commits
	broken  error        // why no record can follow; the same
	closed  bool         // the run has ended; the same with a store, else under mu
	stored  atomic.Int64 // how many records there are
	stopped atomic.Bool  // the run is not driven any more

	mu      sync.Mutex
	entries [][]entry     // without a store, in parts that never move
	signal  chan struct{} // closed at the next record; nil: nothing waits for it
}

// add keeps rec in memory, unless the run has ended.
func (l *runLog) add(rec *record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.refuses(rec) {
		return errLate
	}
	l.closed = rec.kind == blackboard.Ended
	last := len(l.entries) - 1
	if last < 0 || len(l.entries[last]) == cap(l.entries[last]) {
		last++
		l.entries = append(l.entries, make([]entry, 0, min(4<<last, 256)))
	}
	l.entries[last] = append(l.entries[last], rec.entry())
	l.stored.Add(1)
	l.rouse()
	return nil
}

// refuses tells whether rec comes from the world after the run has stopped, so that it
// means nothing.
func (l *runLog) refuses(rec *record) bool {
	switch rec.kind {
	case blackboard.Slept, blackboard.Expired, blackboard.Answered, blackboard.Canceled:
		return l.stopped.Load()
	}
	return false
}

// changed tells those who watch that there is something new.
func (l *runLog) changed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rouse()
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

// from yields the records in memory.
func (l *runLog) from(run string, seq int64, yield func(blackboard.Record, error) bool) {
	l.mu.Lock()
	parts := slices.Clone(l.entries)
	l.mu.Unlock()
	next := int64(0)
	for _, part := range parts {
		for i := range part {
			if next++; next <= seq {
				continue
			}
			en := &part[i]
			data, err := en.encoded()
			rec := blackboard.Record{Run: run, Seq: next - 1, Kind: en.kind, Branch: en.branch, N: en.n, Name: en.name, Hash: en.hash, At: en.at, Data: data}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// entry is a record in memory. Its data is encoded when it is read.
type entry struct {
	kind, branch, name, hash string

	n    int64
	at   time.Time
	data any // a json.RawMessage, or what is to be encoded; *agent.Response: the Data of a Called record
}

// entry is the record for the log in memory. It keeps nothing of the call's own.
func (rec *record) entry() entry {
	en := entry{rec.kind, rec.branch, rec.name, rec.hash, rec.n, rec.at, rec.data}
	switch {
	case rec.raw != nil:
		en.data = rec.raw
	case rec.kind == blackboard.Called && rec.err != nil:
		en.data = engine.CalledData{Err: rec.err, Reserved: rec.reserved}
	case rec.kind == blackboard.Called && rec.reserved == nil:
		resp := *rec.resp
		en.data = &resp
	case rec.kind == blackboard.Called:
		resp := *rec.resp
		en.data = engine.CalledData{Response: &resp, Reserved: rec.reserved}
	}
	return en
}

func (en *entry) encoded() (json.RawMessage, error) {
	switch d := en.data.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		return d, nil
	case *agent.Response:
		return engine.Encode(engine.CalledData{Response: d})
	}
	return engine.Encode(en.data)
}
