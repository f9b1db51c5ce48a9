package blackboard

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"
)

// Memory is a store that lives as long as the process. The zero value is empty
// and ready to use; a Memory must not be copied. It is a [Store], [Leaser],
// [Inbox], [Blobs] and [Deleter].
type Memory struct {
	mu     sync.Mutex
	runs   map[string]*memoryRun
	leases map[string]memoryLease
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory { return new(Memory) }

// memoryRun is what Memory knows of a run. It exists without records when blobs
// or letters came first.
type memoryRun struct {
	recs     []Record // only grows: a part of it may be read without the lock
	letters  []Letter // those that are not in recs
	answered map[string]bool
	canceled bool
	blobs    map[string][]byte
}

// run returns the run of that ID, made if need be.
func (m *Memory) run(id string) *memoryRun {
	r := m.runs[id]
	if r == nil {
		r = &memoryRun{answered: make(map[string]bool), blobs: make(map[string][]byte)}
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
	next := make(map[string]int64)
	for _, r := range recs {
		if _, ok := next[r.Run]; !ok {
			if known := m.runs[r.Run]; known != nil {
				next[r.Run] = int64(len(known.recs))
			}
		}
		if want := next[r.Run]; r.Seq != want {
			return fmt.Errorf("%w: record %d of run %q, the next is %d", ErrConflict, r.Seq, r.Run, want)
		}
		next[r.Run]++
	}
	for _, r := range recs {
		m.run(r.Run).append(r)
	}
	return nil
}

func (r *memoryRun) append(rec Record) {
	rec.At = rec.At.Round(0).UTC()
	r.recs = append(r.recs, own(rec))
	switch rec.Kind {
	case Answered:
		r.answered[rec.Name] = true
		r.dropLetter(rec.Name)
	case Canceled:
		r.canceled = true
		r.dropLetter("")
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
	return func(yield func(Record, error) bool) {
		for _, r := range m.log(run, from) {
			if err := ctx.Err(); err != nil {
				yield(Record{}, err)
				return
			}
			if !yield(own(r), nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(Record{}, err)
		}
	}
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

// Runs implements [Store].
func (m *Memory) Runs(ctx context.Context, open bool) iter.Seq2[[2]Record, error] {
	return func(yield func([2]Record, error) bool) {
		for _, ends := range m.ends(open) {
			if err := ctx.Err(); err != nil {
				yield([2]Record{}, err)
				return
			}
			if !yield([2]Record{own(ends[0]), own(ends[1])}, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield([2]Record{}, err)
		}
	}
}

// ends returns the first and the last records, of which the caller does not own
// Data, in the order that Runs promises.
func (m *Memory) ends(open bool) [][2]Record {
	var all [][2]Record
	m.mu.Lock()
	for _, r := range m.runs {
		n := len(r.recs)
		if n > 0 && (!open || r.recs[n-1].Kind != Ended) {
			all = append(all, [2]Record{r.recs[0], r.recs[n-1]})
		}
	}
	m.mu.Unlock()
	slices.SortFunc(all, func(a, b [2]Record) int {
		return cmp.Or(time.Time.Compare(b[0].At, a[0].At), cmp.Compare(a[0].Run, b[0].Run))
	})
	return all
}

// Delete implements [Deleter].
func (m *Memory) Delete(ctx context.Context, run string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.runs, run)
	return nil
}
