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
	letters  []Letter          // those that are not in recs
	blobs    map[string][]byte // by hash; the data never changes
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

// logged returns the run of that ID, or [ErrNoRun] if it has no records.
func (m *Memory) logged(id string) (*memoryRun, error) {
	if r := m.runs[id]; r != nil && len(r.recs) > 0 {
		return r, nil
	}
	return nil, fmt.Errorf("%w: %q", ErrNoRun, id)
}

// locked calls f under the lock, unless ctx is done.
func (m *Memory) locked(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return f()
}

// yieldAll yields a copy of each value that take, under the lock, returns, and the
// error of ctx as soon as it is done.
func yieldAll[T any](ctx context.Context, m *Memory, own func(T) T, take func() ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var vs []T
		err := m.locked(ctx, func() (err error) {
			vs, err = take()
			return err
		})
		for _, v := range vs {
			if err = ctx.Err(); err != nil {
				break
			}
			if !yield(own(v), nil) {
				return
			}
		}
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}

// Append implements [Store].
func (m *Memory) Append(ctx context.Context, recs []Record) error {
	return m.locked(ctx, func() error {
		listings := make(map[string]Listing)
		for _, rec := range recs {
			l, ok := listings[rec.Run]
			if known := m.runs[rec.Run]; !ok && known != nil {
				l = known.listing
			}
			if l.Ended || rec.Seq != l.Next {
				return fmt.Errorf("%w: record %d of run %q, which has %d records, ended: %t", ErrConflict, rec.Seq, rec.Run, l.Next, l.Ended)
			}
			rec.At = utc(rec.At)
			if err := l.Add(rec); err != nil {
				return err
			}
			listings[rec.Run] = l
		}
		for _, rec := range recs {
			m.run(rec.Run).append(own(rec))
			m.notify(rec.Run)
		}
		for run, l := range listings {
			m.runs[run].listing = l
		}
		return nil
	})
}

func (r *memoryRun) append(rec Record) {
	r.recs = append(r.recs, rec)
	if AskKind(rec.Kind) {
		r.asks[rec.Name] = AskState(r.asks[rec.Name], rec)
	}
	r.canceled = r.canceled || rec.Kind == Canceled
	if key, ok := Removes(rec); ok {
		r.dropLetter(key)
	}
	if rec.Kind == Ended {
		r.letters = nil
	}
}

// own returns rec with Data of its own, and its time in UTC.
func own(rec Record) Record {
	rec.At = utc(rec.At)
	rec.Data = ownData(rec.Data)
	return rec
}

// utc returns t as it comes back from a store.
func utc(t time.Time) time.Time { return t.Round(0).UTC() }

// ownData returns a copy of data, and nil for empty data.
func ownData(data json.RawMessage) json.RawMessage {
	if len(data) == 0 {
		return nil
	}
	return bytes.Clone(data)
}

// Records implements [Store].
func (m *Memory) Records(ctx context.Context, run string, from int64) iter.Seq2[Record, error] {
	return yieldAll(ctx, m, own, func() ([]Record, error) {
		r, err := m.logged(run)
		if err != nil {
			return nil, nil //nolint:nilerr // an unknown run has no records
		}
		return r.recs[min(max(from, 0), int64(len(r.recs))):], nil
	})
}

// Last implements [Store].
func (m *Memory) Last(ctx context.Context, run string) (rec Record, err error) {
	err = m.locked(ctx, func() error {
		r, err := m.logged(run)
		if err == nil {
			rec = own(r.recs[len(r.recs)-1])
		}
		return err
	})
	return rec, err
}

// Delete implements [Deleter].
func (m *Memory) Delete(ctx context.Context, runs ...string) error {
	return m.locked(ctx, func() error {
		for _, run := range runs {
			delete(m.runs, run)
		}
		return nil
	})
}
