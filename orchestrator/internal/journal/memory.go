package journal

import (
	"container/list"
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/engine"
)

// memory is the store of an engine that has none. The entries of a run stay in its Log,
// not encoded, until they are read: then the runlog.Memory takes them. It is not embedded,
// so that the engine does not take it for a store that knows owners.
type memory struct {
	store runlog.Memory

	forgot atomic.Bool // a run was forgotten

	mu    sync.Mutex
	logs  map[string]*Log
	past  []string                 // runs that ended or stopped and may be forgotten, the oldest first
	news  list.List                // those whose result nobody has fetched, as pieces, the oldest first
	place map[string]*list.Element // places in news, by ID
	bytes int64                    // bytes of all that are in news
}

// piece is a run whose result nobody has fetched.
type piece struct {
	run   string // ID of the run
	bytes int64  // bytes of its records, about
}

func newMemory() *memory {
	return &memory{logs: map[string]*Log{}, place: map[string]*list.Element{}}
}

// What an engine without a store can still show of runs that ended or stopped.
const (
	remembered = 256      // the last of those whose result was fetched, or that are more than the others may be
	newsRuns   = 10_000   // those whose result nobody has fetched
	newsBytes  = 64 << 20 // bytes of their records
)

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

// retire is Journal.Retire.
func (m *memory) retire(run string, fetched bool) (forgotten []string) { //nolint:revive // what is so
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if fetched {
		return m.pass(run, nil)
	}
	m.take(run)
	p := piece{run: run}
	if l := m.logs[run]; l != nil {
		p.bytes = l.size()
	}
	m.place[run] = m.news.PushBack(p)
	m.bytes += p.bytes
	for m.news.Len() > newsRuns || m.bytes > newsBytes {
		oldest, _ := m.news.Front().Value.(piece)
		m.take(oldest.run)
		forgotten = m.pass(oldest.run, forgotten)
	}
	return forgotten
}

// fetched is Journal.Fetched.
func (m *memory) fetched(run string) []string {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.take(run) {
		return nil
	}
	return m.pass(run, nil)
}

// take takes a run out of news, and tells whether it was there. m.mu is held.
func (m *memory) take(run string) bool {
	at := m.place[run]
	if at == nil {
		return false
	}
	p, _ := m.news.Remove(at).(piece)
	delete(m.place, run)
	m.bytes -= p.bytes
	return true
}

// pass makes a run one that may be forgotten. If these are too many, it forgets the oldest
// and adds it to forgotten. m.mu is held.
func (m *memory) pass(run string, forgotten []string) []string {
	if m.past = append(m.past, run); len(m.past) <= remembered {
		return forgotten
	}
	oldest := m.past[0]
	m.past = m.past[1:]
	if l := m.logs[oldest]; l == nil || !l.stopped.Load() || m.place[oldest] != nil {
		return forgotten // it was deleted, is retried, or has ended since
	}
	delete(m.logs, oldest)
	_ = m.store.Delete(context.Background(), oldest)
	m.forgot.Store(true)
	return append(forgotten, oldest)
}

// Delete implements runlog.Deleter.
func (m *memory) Delete(ctx context.Context, runs ...string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, run := range runs {
		delete(m.logs, run)
		m.take(run)
	}
	m.past = slices.DeleteFunc(m.past, func(run string) bool { return slices.Contains(runs, run) })
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
		for _, e := range l.entries {
			l.handed += e.size()
		}
		l.entries, l.noted = nil, 0
	}
	return err
}

// size is how many bytes the log takes in memory, about.
func (l *Log) size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.handed
	for _, e := range l.entries {
		n += e.size()
	}
	return n
}

// size is how many bytes the entry takes in memory, about: a record and its value share
// most.
func (e *Entry) size() int64 {
	n := 0
	switch v := e.Value.(type) {
	case *engine.CalledData:
		if v.Response != nil {
			n = len(v.Response.Text) + len(v.Response.Data)
		}
	case engine.StartedData:
		n = len(v.Data)
	case engine.EndedData:
		n = len(v.Output) + len(v.State)
	}
	return int64(max(n, len(e.Data))) + 512 // the entry itself
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
