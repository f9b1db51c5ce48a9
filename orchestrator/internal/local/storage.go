package local

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// storage is what an engine asks of its store, or of the memory that it has in place
// of one. A stand-in answers for each face that a store does not have. What stores
// keep beside the log is in Data already.
type storage struct {
	runlog.Store
	runlog.Inbox
	runlog.Owners
	runlog.Messenger
	runlog.Blobs
	runlog.Deleter
}

// use lets the engine work with s; nil: in memory.
func (e *Engine) use(s runlog.Store) {
	if s == nil {
		e.memory = &memory{runs: map[string]*runLog{}}
		e.store = storage{e.memory, here{e}, none{}, none{}, none{}, e.memory}
		return
	}
	e.commit = &committer{e: e}
	e.store = storage{
		s, or[runlog.Inbox](s, here{e}), or[runlog.Owners](s, none{}), or[runlog.Messenger](s, none{}),
		or[runlog.Blobs](s, none{}), or[runlog.Deleter](s, none{}),
	}
	if _, ok := s.(runlog.Blobs); ok {
		e.large = largeData
	}
}

// or is s as a T, or what stands in for it.
func or[T any](s runlog.Store, standIn T) T {
	if face, ok := s.(T); ok {
		return face
	}
	return standIn
}

// Records yields records with what is kept beside the log.
func (s storage) Records(ctx context.Context, run string, from int64) iter.Seq2[runlog.Record, error] {
	return s.expanded(ctx, s.Store.Records(ctx, run, from))
}

// Asks yields records as Records does.
func (s storage) Asks(ctx context.Context, run, key string) iter.Seq2[runlog.Record, error] {
	return s.expanded(ctx, s.Inbox.Asks(ctx, run, key))
}

func (s storage) expanded(ctx context.Context, recs iter.Seq2[runlog.Record, error]) iter.Seq2[runlog.Record, error] {
	return func(yield func(runlog.Record, error) bool) {
		for rec, err := range recs {
			if err == nil && rec.Blob != "" {
				if rec.Data, err = s.Blob(ctx, rec.Run, rec.Blob); err != nil {
					err = fmt.Errorf("log of run %q: %w", rec.Run, err)
				}
				rec.Blob = ""
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// decode decodes the Data of a record.
func decode(rec *runlog.Record, data any) error {
	if err := json.Unmarshal(rec.Data, data); err != nil {
		return fmt.Errorf("log of run %q: record %d: %w: %w", rec.Run, rec.Seq, runlog.ErrDamaged, err)
	}
	return nil
}

// read decodes the Data of the first record of a run from Seq from on.
func (s storage) read(ctx context.Context, id string, from int64, data any) error {
	for rec, err := range s.Records(ctx, id, from) {
		if err == nil {
			err = decode(&rec, data)
		}
		return err
	}
	return noRun(id) // it was deleted meanwhile
}

// listing is what a list shows of a run, or ErrNoRun.
func (s storage) listing(ctx context.Context, id string) (runlog.Listing, error) {
	for l, err := range s.List(ctx, runlog.Query{Run: id}) {
		return l, err
	}
	return runlog.Listing{}, noRun(id)
}

func noRun(id string) error { return agent.ErrorOf(fmt.Errorf("%w: %q", engine.ErrNoRun, id)) }

// none stands in for the faces without which an engine can do. It does not call what
// is not here.
type none struct{ runlog.Blobs }

func (none) Beat(context.Context, string, time.Duration) error        { return nil }
func (none) Leave(context.Context, string) error                      { return nil }
func (none) Alive(context.Context, string) (bool, error)              { return false, nil }
func (none) Orphans(context.Context) iter.Seq2[runlog.Listing, error] { return empty }

func (none) Request(context.Context, string, []byte) ([]byte, error) {
	return nil, fmt.Errorf("the store is no runlog.Messenger: %w", errors.ErrUnsupported)
}

func (none) Serve(context.Context, string, func(context.Context, []byte) []byte) error { return nil }

func empty[T any](func(T, error) bool) {}

func (none) Blob(_ context.Context, _, hash string) ([]byte, error) {
	return nil, fmt.Errorf("%w: blob %s, and the store keeps none", runlog.ErrDamaged, hash)
}

func (none) Delete(context.Context, ...string) error {
	return errors.New("the store cannot delete runs: it is no runlog.Deleter")
}

// here stands in for an inbox: a run of this process puts a letter on record at once.
type here struct{ e *Engine }

// Put implements runlog.Inbox.
func (h here) Put(ctx context.Context, l runlog.Letter) error {
	r := h.e.run(l.Run)
	if r == nil {
		listing, err := h.e.store.listing(ctx, l.Run)
		if err == nil && !listing.Ended {
			return agent.ErrorOf(fmt.Errorf("%w: run %q is not running in this process, and the store has no inbox: call Resume first", engine.ErrStopped, l.Run))
		}
		return cmp.Or(err, runlog.ErrEnded)
	}
	if err := h.e.await(ctx, r.live); err != nil {
		return err
	}
	if !r.asks.take(l) {
		return runlog.ErrConflict
	}
	if l.Expired { // it is put on record by who closes the question
		return nil
	}
	err := r.writeSync(ctx, letterRecord(&l))
	if !errors.Is(err, errLate) {
		return err
	}
	if err := h.e.await(ctx, r.done); err != nil { // it ends just now, and then its end says what is so
		return err
	}
	return h.Put(ctx, l)
}

// Letters implements runlog.Inbox.
func (here) Letters(context.Context, string) iter.Seq2[runlog.Letter, error] { return empty }

// Asks implements runlog.Inbox, but for yielding all records: asks.note skips the
// others.
func (h here) Asks(ctx context.Context, run, _ string) iter.Seq2[runlog.Record, error] {
	return h.e.store.Records(ctx, run, 0)
}

// memory is the store of an engine that has none. The records of a run stay with it,
// not encoded, until they are read: then the Memory takes them.
type memory struct {
	runlog.Memory

	mu   sync.Mutex
	runs map[string]*runLog
	past []string // runs that ended or stopped, the oldest first
}

// remembered is how many ended runs an engine without a store can still show.
const remembered = 256

// log returns the log of that run: fresh, if there is none.
func (m *memory) log(run string, fresh *runLog) *runLog {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.runs[run]; l != nil {
		return l
	}
	m.runs[run] = fresh
	return fresh
}

// retire notes that a run ended or stopped. If these are too many, it forgets the oldest
// and returns it.
func (m *memory) retire(run string) (oldest string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.past = append(m.past, run); len(m.past) > remembered {
		oldest, m.past = m.past[0], m.past[1:]
	}
	if l := m.runs[oldest]; l == nil || !l.stopped.Load() {
		return "" // it was deleted, or is retried
	}
	delete(m.runs, oldest)
	_ = m.Memory.Delete(context.Background(), oldest)
	return oldest
}

// Delete implements runlog.Deleter.
func (m *memory) Delete(ctx context.Context, runs ...string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, run := range runs {
		delete(m.runs, run)
	}
	return m.Memory.Delete(ctx, runs...)
}

// move lets the Memory take the records of a run, or with run "" of all.
func (m *memory) move(ctx context.Context, run string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	logs := m.runs
	if l := m.runs[run]; l != nil {
		logs = map[string]*runLog{run: l}
	}
	for _, l := range logs {
		if err := l.move(func(recs []runlog.Record) error { return m.Append(ctx, recs) }); err != nil {
			return err
		}
	}
	return nil
}

// Records implements runlog.Store.
func (m *memory) Records(ctx context.Context, run string, from int64) iter.Seq2[runlog.Record, error] {
	if err := m.move(ctx, run); err != nil {
		return func(yield func(runlog.Record, error) bool) { yield(runlog.Record{}, err) }
	}
	return m.Memory.Records(ctx, run, from)
}

// List implements runlog.Store.
func (m *memory) List(ctx context.Context, q runlog.Query) iter.Seq2[runlog.Listing, error] {
	if err := m.move(ctx, q.Run); err != nil {
		return func(yield func(runlog.Listing, error) bool) { yield(runlog.Listing{}, err) }
	}
	return m.Memory.List(ctx, q)
}
