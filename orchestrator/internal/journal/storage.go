package journal

import (
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

// Storage is what an engine asks of its store, or of the memory that it has in place of
// one. A stand-in answers for each face that a store does not have. What stores keep
// beside the log is in Data already.
type Storage struct {
	runlog.Store
	runlog.Inbox // nil: the store has none
	runlog.Owners
	runlog.Messenger
	runlog.Blobs
	runlog.Deleter
}

// open returns the faces of s, or with nil those of a memory.
func open(s runlog.Store) (Storage, *memory) {
	if s == nil {
		m := &memory{logs: map[string]*Log{}}
		return Storage{m, nil, none{}, none{}, none{}, m}, m
	}
	inbox, _ := s.(runlog.Inbox)
	return Storage{
		s, inbox, or[runlog.Owners](s), or[runlog.Messenger](s), or[runlog.Blobs](s), or[runlog.Deleter](s),
	}, nil
}

// or is s as a T, or what stands in for it.
func or[T any](s runlog.Store) T {
	if face, ok := s.(T); ok {
		return face
	}
	return any(none{}).(T) //nolint:errcheck,forcetypeassert // none has all faces that are asked for
}

// Records yields records with what is kept beside the log.
func (s Storage) Records(ctx context.Context, run string, from int64) iter.Seq2[runlog.Record, error] {
	return s.whole(ctx, s.Store.Records(ctx, run, from))
}

// Asks yields the records that tell the states of a run's questions; see runlog.Asks.
func (s Storage) Asks(ctx context.Context, run, key string) iter.Seq2[runlog.Record, error] {
	return s.whole(ctx, runlog.Asks(ctx, s.Store, run, key))
}

// OpenAsks yields the questions of all runs that wait; see runlog.OpenAsks.
func (s Storage) OpenAsks(ctx context.Context, q runlog.AskQuery) iter.Seq2[runlog.OpenAsk, error] {
	return each(runlog.OpenAsks(ctx, s.Store, q), func(a *runlog.OpenAsk) error { return s.fill(ctx, &a.Record) })
}

// whole yields records with the data of their blobs.
func (s Storage) whole(ctx context.Context, recs iter.Seq2[runlog.Record, error]) iter.Seq2[runlog.Record, error] {
	return each(recs, func(rec *runlog.Record) error { return s.fill(ctx, rec) })
}

// fill takes the data of a record's blob into the record.
func (s Storage) fill(ctx context.Context, rec *runlog.Record) (err error) {
	if rec.Blob == "" {
		return nil
	}
	if rec.Data, err = s.Blob(ctx, rec.Run, rec.Blob); err != nil {
		err = fmt.Errorf("log of run %q: %w", rec.Run, err)
	}
	rec.Blob = ""
	return err
}

// each yields values after change, whose error ends the sequence.
func each[T any](seq iter.Seq2[T, error], change func(*T) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range seq {
			if err == nil {
				err = change(&v)
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// Decode decodes the Data of a record into data.
func Decode(rec *runlog.Record, data any) error {
	if err := json.Unmarshal(rec.Data, data); err != nil {
		return fmt.Errorf("log of run %q: record %d: %w: %w", rec.Run, rec.Seq, runlog.ErrDamaged, err)
	}
	return nil
}

// Read decodes the Data of record number seq of a run into data. A run or record that is
// not there is ErrNoRun.
func (s Storage) Read(ctx context.Context, run string, seq int64, data any) error {
	for rec, err := range s.Records(ctx, run, seq) {
		if err == nil {
			err = Decode(&rec, data)
		}
		return err
	}
	return NoRun(run) // it was deleted meanwhile
}

// Listing is what a list shows of a run, or ErrNoRun.
func (s Storage) Listing(ctx context.Context, run string) (runlog.Listing, error) {
	for l, err := range s.List(ctx, runlog.Query{Run: run}) {
		return l, err
	}
	return runlog.Listing{}, NoRun(run)
}

// has reports whether rec is in the store: then all that were appended with it are.
func (s Storage) has(ctx context.Context, rec *runlog.Record) (bool, error) {
	for got, err := range s.Store.Records(ctx, rec.Run, rec.Seq) {
		if err != nil {
			return false, err
		}
		return got.Kind == rec.Kind && got.Branch == rec.Branch && got.N == rec.N && got.Name == rec.Name &&
			got.At.Equal(rec.At) && string(got.Data) == string(rec.Data) && got.Blob == rec.Blob, nil
	}
	return false, nil
}

// NoRun is the error of a run that is not in the store.
func NoRun(run string) error { return agent.ErrorOf(fmt.Errorf("%w: %q", engine.ErrNoRun, run)) }

// none stands in for the faces without which an engine can do. Its other methods are
// never called.
type none struct{ runlog.Blobs }

func (none) Beat(context.Context, string, time.Duration) error        { return nil }
func (none) Leave(context.Context, string) error                      { return nil }
func (none) Alive(context.Context, string) (bool, error)              { return false, nil }
func (none) Orphans(context.Context) iter.Seq2[runlog.Listing, error] { return empty }

func (none) Request(context.Context, string, []byte) ([]byte, error) {
	return nil, fmt.Errorf("the store is no runlog.Messenger: %w", errors.ErrUnsupported)
}

func (none) Serve(context.Context, string, func(context.Context, []byte) []byte) error { return nil }

func (none) Blob(_ context.Context, _, hash string) ([]byte, error) {
	return nil, fmt.Errorf("%w: blob %s, and the store keeps none", runlog.ErrDamaged, hash)
}

func (none) Delete(context.Context, ...string) error {
	return errors.New("the store cannot delete runs: it is no runlog.Deleter")
}

func empty[T any](func(T, error) bool) {}

// memory is the store of an engine that has none. The entries of a run stay in its Log,
// not encoded, until they are read: then the runlog.Memory takes them. It is not embedded,
// so that the engine does not take it for a store that knows owners.
type memory struct {
	store runlog.Memory

	mu   sync.Mutex
	logs map[string]*Log
	past []string // runs that ended or stopped, the oldest first
}

// remembered is how many ended runs an engine without a store can still show.
const remembered = 256

// log returns the log of that run: fresh, if there is none.
func (m *memory) log(run string, fresh *Log) *Log {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.logs[run]; l != nil {
		l.stopped.Store(false)
		return l
	}
	m.logs[run] = fresh
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
	if l := m.logs[oldest]; l == nil || !l.stopped.Load() {
		return "" // it was deleted, or is retried
	}
	delete(m.logs, oldest)
	_ = m.store.Delete(context.Background(), oldest)
	return oldest
}

// Delete implements runlog.Deleter.
func (m *memory) Delete(ctx context.Context, runs ...string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, run := range runs {
		delete(m.logs, run)
	}
	return m.store.Delete(ctx, runs...)
}

// move lets the Memory take the entries of a run, or with run "" of all.
func (m *memory) move(ctx context.Context, run string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	logs := m.logs
	if l := m.logs[run]; l != nil {
		logs = map[string]*Log{run: l}
	}
	for _, l := range logs {
		if err := l.hand(func(recs []runlog.Record) error { return m.store.Append(ctx, recs) }); err != nil {
			return err
		}
	}
	return nil
}

// Append implements runlog.Store. An engine without a store keeps entries in their Logs.
func (m *memory) Append(ctx context.Context, recs []runlog.Record) error {
	return m.store.Append(ctx, recs)
}

// Last implements runlog.Store.
func (m *memory) Last(ctx context.Context, run string) (runlog.Record, error) {
	if err := m.move(ctx, run); err != nil {
		return runlog.Record{}, err
	}
	return m.store.Last(ctx, run)
}

// Records implements runlog.Store.
func (m *memory) Records(ctx context.Context, run string, from int64) iter.Seq2[runlog.Record, error] {
	if err := m.move(ctx, run); err != nil {
		return func(yield func(runlog.Record, error) bool) { yield(runlog.Record{}, err) }
	}
	return m.store.Records(ctx, run, from)
}

// List implements runlog.Store.
func (m *memory) List(ctx context.Context, q runlog.Query) iter.Seq2[runlog.Listing, error] {
	if err := m.move(ctx, q.Run); err != nil {
		return func(yield func(runlog.Listing, error) bool) { yield(runlog.Listing{}, err) }
	}
	return m.store.List(ctx, q)
}

// OpenAsks implements runlog.OpenQuestions.
func (m *memory) OpenAsks(ctx context.Context, q runlog.AskQuery) iter.Seq2[runlog.OpenAsk, error] {
	if err := m.move(ctx, q.Run); err != nil {
		return func(yield func(runlog.OpenAsk, error) bool) { yield(runlog.OpenAsk{}, err) }
	}
	return m.store.OpenAsks(ctx, q)
}
