package blackboard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"sync"
	"time"
)

// Memory is a store that lives as long as the process. The zero value is empty
// and ready to use; a Memory must not be copied. It is a [Store], [Owners],
// [Notifier], [Inbox], [Blobs] and [Deleter].
type Memory struct {
	mu       sync.Mutex
	runs     map[string]*memoryRun
	alive    map[string]time.Time // until when, by engine
	watchers map[*watcher]bool
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory { return new(Memory) }

// memoryRun is what Memory knows of a run. It exists without records when blobs
// came first.
type memoryRun struct {
	recs     []Record // only grows: a part of it may be read without the lock
	listing  Listing
	asks     map[string]string // the newest kind by the key of the question
	canceled bool
	letters  []Letter // those that are not in recs
	blobs    map[string][]byte
}

// run returns the run of that ID, made if need be.
func (m *Memory) run(id string) *memoryRun {
	r := m.runs[id]
	if r == nil {
		r = &memoryRun{asks: make(map[string]string), blobs: make(map[string][]byte)}
		if m.runs == nil {
			m.runs = make(map[string]*memoryRun)
		}
		m.runs[id] = r
	}
	return r
}

// Append implements [Store].
func (m *Memory) Append(ctx context.Context, recs []Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	data, err := m.check(recs)
	if err != nil {
		return err
	}
	for i, rec := range recs {
		m.run(rec.Run).append(rec, data[i])
		m.notify(rec.Run)
	}
	return nil
}

// closed stands for the Seq of the next record of an ended run.
const closed = -1

// check returns the listed data of recs if all of them continue their logs.
func (m *Memory) check(recs []Record) (map[int]*listedData, error) {
	var data map[int]*listedData
	next := make(map[string]int64)
	for i, rec := range recs {
		want, ok := next[rec.Run]
		if known := m.runs[rec.Run]; !ok && known != nil {
			want = known.next()
		}
		if want == closed {
			return nil, fmt.Errorf("%w: record %d of run %q, which has ended", ErrConflict, rec.Seq, rec.Run)
		}
		if rec.Seq != want {
			return nil, fmt.Errorf("%w: record %d of run %q, the next is %d", ErrConflict, rec.Seq, rec.Run, want)
		}
		d, err := listedDataOf(rec)
		if err != nil {
			return nil, err
		}
		if d != nil {
			if data == nil {
				data = make(map[int]*listedData)
			}
			data[i] = d
		}
		next[rec.Run] = want + 1
		if rec.Kind == Ended {
			next[rec.Run] = closed
		}
	}
	return data, nil
}

func (r *memoryRun) next() int64 {
	if r.listing.Ended {
		return closed
	}
	return int64(len(r.recs))
}

func (r *memoryRun) append(rec Record, d *listedData) {
	rec.At = rec.At.Round(0).UTC()
	r.recs = append(r.recs, own(rec))
	r.listing.add(rec, d)
	if AskKind(rec.Kind) {
		r.asks[rec.Name] = rec.Kind
	}
	r.canceled = r.canceled || rec.Kind == Canceled
	if key, ok := Removes(rec); ok {
		r.dropLetter(key)
	}
	if rec.Kind == Ended {
		r.letters = nil
	}
}

// own returns rec with Data of its own.
func own(rec Record) Record {
	rec.Data = ownData(rec.Data)
	return rec
}

// ownData returns a copy of data, and nil for empty data.
func ownData(data json.RawMessage) json.RawMessage {
	if len(data) == 0 {
		return nil
	}
	return bytes.Clone(data)
}

// Records implements [Store].
func (m *Memory) Records(ctx context.Context, run string, from int64) iter.Seq2[Record, error] {
	return yieldAll(ctx, own, func() ([]Record, error) { return m.log(run, from), nil })
}

// log returns the records of run from Seq from on, for reading only.
func (m *Memory) log(run string, from int64) []Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.runs[run]
	if r == nil {
		return nil
	}
	return r.recs[min(max(from, 0), int64(len(r.recs))):]
}

// Last implements [Store].
func (m *Memory) Last(ctx context.Context, run string) (Record, error) {
	if err := ctx.Err(); err != nil {
		return Record{}, err
	}
	recs := m.log(run, 0)
	if len(recs) == 0 {
		return Record{}, fmt.Errorf("%w: %q", ErrNoRun, run)
	}
	return own(recs[len(recs)-1]), nil
}

// Delete implements [Deleter].
func (m *Memory) Delete(ctx context.Context, runs ...string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, run := range runs {
		delete(m.runs, run)
	}
	return nil
}

// yieldAll yields a copy of each value that take returns, and the error of ctx as
// soon as it is done.
func yieldAll[T any](ctx context.Context, own func(T) T, take func() ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		vs, err := take()
		for _, v := range vs {
			if ctx.Err() != nil {
				break
			}
			if !yield(own(v), nil) {
				return
			}
		}
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}
