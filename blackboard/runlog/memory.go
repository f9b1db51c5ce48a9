package runlog

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"
)

// Memory is a store that lives as long as the process. The zero value is empty
// and ready to use; a Memory must not be copied. It is a [Store], [Owners],
// [Notifier], [Messenger], [Inbox], [Questions], [OpenQuestions], [Blobs] and [Deleter].
type Memory struct {
	mu       sync.Mutex
	runs     map[string]*memoryRun
	alive    map[string]time.Time              // until when an engine is alive, by its name
	servers  map[string]*memoryServer          // calls of Serve, by the name of the engine
	watchers map[chan struct{}]map[string]bool // runs that a loop over Changes has to yield, by the channel that wakes it
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory { return new(Memory) }

// memoryRun is what Memory knows of a run. It exists without records when blobs
// came first.
type memoryRun struct {
	recs    []Record // only grows: a part of it may be read without the lock
	listing Listing
	asks    openAsks          // last changes of its questions; nil: none was asked, or the run has ended
	letters []Letter          // letters that were not taken
	used    map[address]bool  // addresses of all letters; nil: none
	blobs   map[string][]byte // data by hash; it never changes
}

// run returns the run of that ID, an empty one if it is unknown.
func (m *Memory) run(id string) memoryRun {
	if r := m.runs[id]; r != nil {
		return *r
	}
	return memoryRun{}
}

// change returns the run of that ID, made if need be.
func (m *Memory) change(id string) *memoryRun {
	r := m.runs[id]
	if r == nil {
		r = &memoryRun{blobs: make(map[string][]byte)}
		m.runs[id] = r
	}
	return r
}

// locked calls f under the lock, unless ctx is done.
func (m *Memory) locked(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runs == nil {
		m.runs = make(map[string]*memoryRun)
		m.alive = make(map[string]time.Time)
		m.servers = make(map[string]*memoryServer)
		m.watchers = make(map[chan struct{}]map[string]bool)
	}
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
		for i := 0; i < len(vs) && err == nil; i++ {
			if err = ctx.Err(); err == nil && !yield(own(vs[i]), nil) {
				return
			}
		}
		if err != nil {
			yield(*new(T), err)
		}
	}
}

// Append implements [Store].
func (m *Memory) Append(ctx context.Context, recs []Record) error {
	return m.locked(ctx, func() error {
		listings := make(map[string]Listing)
		for _, rec := range recs {
			l, ok := listings[rec.Run]
			if !ok {
				l = m.run(rec.Run).listing
			}
			if l.Ended || rec.Seq != l.Next {
				return fmt.Errorf("%w: record %d of run %q, which has %d records, ended: %t", ErrConflict, rec.Seq, rec.Run, l.Next, l.Ended)
			}
			rec.At = rec.At.Round(0).UTC()
			if err := l.Add(rec); err != nil {
				return err
			}
			listings[rec.Run] = l
		}
		for _, rec := range recs {
			r := m.change(rec.Run)
			r.recs = append(r.recs, own(rec))
			r.listing = listings[rec.Run]
			r.index(rec)
			m.notify(rec.Run)
		}
		return nil
	})
}

// index takes in what rec says of questions.
func (r *memoryRun) index(rec Record) {
	switch {
	case rec.Kind == Ended:
		r.asks = nil
	case AskKind(rec.Kind):
		if r.asks == nil {
			r.asks = openAsks{}
		}
		r.asks.add(r.recs[len(r.recs)-1])
	}
}

// own returns rec as it comes back from a store, with Data of its own.
func own(rec Record) Record {
	rec.At = rec.At.Round(0).UTC()
	rec.Data = append(json.RawMessage(nil), rec.Data...) // nil if it is empty
	return rec
}

// Records implements [Store].
func (m *Memory) Records(ctx context.Context, run string, from int64) iter.Seq2[Record, error] {
	return yieldAll(ctx, m, own, func() ([]Record, error) {
		recs := m.run(run).recs
		return recs[min(max(from, 0), int64(len(recs))):], nil
	})
}

// Last implements [Store].
func (m *Memory) Last(ctx context.Context, run string) (last Record, err error) {
	err = m.locked(ctx, func() error {
		recs := m.run(run).recs
		if len(recs) == 0 {
			return fmt.Errorf("%w: %q", ErrNoRun, run)
		}
		last = own(recs[len(recs)-1])
		return nil
	})
	return last, err
}

// List implements [Store].
func (m *Memory) List(ctx context.Context, q Query) iter.Seq2[Listing, error] {
	return yieldAll(ctx, m, ownListing, func() ([]Listing, error) {
		after := m.run(q.After).listing
		if q.After != "" && after.Next == 0 {
			return nil, fmt.Errorf("%w: %q", ErrNoRun, q.After)
		}
		newestFirst := func(a, b Listing) int { return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(a.Run, b.Run)) }
		list := m.selected(newestFirst, func(l Listing) bool {
			return q.Selects(l) && (q.After == "" || newestFirst(after, l) < 0)
		})
		if q.Limit > 0 && q.Limit < len(list) {
			list = list[:q.Limit]
		}
		return list, nil
	})
}

// selected returns the runs for which selects is true.
func (m *Memory) selected(order func(a, b Listing) int, selects func(Listing) bool) (list []Listing) {
	for _, r := range m.runs {
		if len(r.recs) > 0 && selects(r.listing) {
			list = append(list, r.listing)
		}
	}
	slices.SortFunc(list, order)
	return list
}

func ownListing(l Listing) Listing {
	l.Labels = maps.Clone(l.Labels)
	return l
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
