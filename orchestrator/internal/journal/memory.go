package journal

import (
	"context"
	"iter"
	"maps"
	"sync"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/engine"
)

// memory is the store of an engine that has none. The entries of a run stay in its Log,
// not encoded, until they are read: then the runlog.Memory takes them. It is not embedded,
// so that the engine does not take it for a store that knows owners.
type memory struct {
	store runlog.Memory

	mu   sync.Mutex
	logs map[string]*Log
	past []string // runs that ended or stopped, the oldest first
}

func newMemory() *memory { return &memory{logs: map[string]*Log{}} }

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

// List implements runlog.Store. Of one run only few records are encoded for it.
func (m *memory) List(ctx context.Context, q runlog.Query) iter.Seq2[runlog.Listing, error] {
	if q.Run != "" && q.After == "" {
		return m.one(ctx, q)
	}
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

// one yields the run of q, if q selects it.
func (m *memory) one(ctx context.Context, q runlog.Query) iter.Seq2[runlog.Listing, error] {
	return func(yield func(runlog.Listing, error) bool) {
		l, _, err := m.find(q.Run).look()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		if err != nil || l.Next > 0 && q.Selects(l) {
			yield(l, err)
		}
	}
}

// find returns the log of a run; one without records, if it is unknown.
func (m *memory) find(run string) *Log {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.logs[run]; l != nil {
		return l
	}
	return &Log{}
}

// hand gives the entries that are kept here to take, encoded, and forgets them if it
// takes them.
func (l *Log) hand(take func([]runlog.Record) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.note(); err != nil {
		return err
	}
	recs := make([]runlog.Record, len(l.entries))
	for i, e := range l.entries {
		if err := e.encode(); err != nil {
			return err
		}
		recs[i] = e.Record
	}
	err := take(recs)
	if err == nil {
		l.entries, l.noted = nil, 0
	}
	return err
}

// note takes in the entries that were added since. Only those that change a listing are
// encoded. l.mu is held.
func (l *Log) note() error {
	for ; l.noted < len(l.entries); l.noted++ {
		e := l.entries[l.noted]
		if runlog.Listed(e.Kind) {
			if err := e.encode(); err != nil {
				return err
			}
		}
		if err := l.listing.Add(e.Record); err != nil {
			return err
		}
		l.tally.Count(&e.Record, e.Value)
	}
	return nil
}

// look returns what a list shows of the run, and its figures, by all entries.
func (l *Log) look() (runlog.Listing, engine.Tally, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.note()
	listing := l.listing
	listing.Labels = maps.Clone(listing.Labels)
	return listing, l.tally.Clone(), err
}
