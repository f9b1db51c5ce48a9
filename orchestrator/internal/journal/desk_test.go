package journal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/internal/jobs"
	"github.com/convene-go/convene/orchestrator/internal/journal"
)

// outage is how long the stores of these tests may fail.
const outage = time.Minute

// desk is a Journal and what it needs.
type desk struct {
	*journal.Journal
	pool jobs.Pool
	warn bytes.Buffer // text of the log

	life context.Context //nolint:containedctx // of the engine
	die  func()          // ends life
	shut func()          // ends Config.Open
}

// newDesk returns a desk with that store, nil for none.
func newDesk(t *testing.T, store runlog.Store) *desk {
	t.Helper()
	return newDeskFor(t, store, outage)
}

// newDeskFor is newDesk for a store that may fail so long.
func newDeskFor(t *testing.T, store runlog.Store, outage time.Duration) *desk {
	t.Helper()
	d := &desk{}
	var opened context.Context
	d.life, d.die = context.WithCancel(t.Context())
	opened, d.shut = context.WithCancel(d.life)
	log := slog.New(slog.NewTextHandler(&d.warn, nil))
	d.Journal = journal.New(journal.Config{Store: store, Outage: outage, Log: log, Do: d.pool.Do, Life: d.life, Open: opened})
	return d
}

// run is a run of a test: the Sink of its records.
type run struct {
	d   *desk
	id  string
	log *journal.Log

	mu   sync.Mutex
	told []*journal.Entry // entries whose outcome is known, in that order
	errs []error          // outcome of each of told
	next jobs.Job         // job that follows for the goroutine that tells
	look func(e *journal.Entry)
}

// run returns a run of that name whose log is opened.
func (d *desk) run(id string) *run {
	return &run{d: d, id: id, log: d.Open(id, &journal.Log{})}
}

// started returns a run that has its first record.
func (d *desk) started(t *testing.T, id string) *run {
	t.Helper()
	r := d.run(id)
	require.NoError(t, r.sync(runlog.Started, nil))
	return r
}

// Committed implements journal.Sink.
func (r *run) Committed(e *journal.Entry, err error) jobs.Job {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told, r.errs = append(r.told, e), append(r.errs, err)
	if r.look != nil {
		r.look(e)
	}
	return r.next
}

// entry returns a record that is to be written.
func (r *run) entry(kind string, value any) *journal.Entry {
	return &journal.Entry{Record: runlog.Record{Run: r.id, Kind: kind, Name: "flow"}, Value: value, Sink: r}
}

// write writes a record. Somebody else waits for it.
func (r *run) write(kind string, value any) *journal.Entry {
	e := r.entry(kind, value)
	r.d.pool.Do(r.d.Write(r.log, e))
	return e
}

// sync writes a record, and returns what became of it.
func (r *run) sync(kind string, value any) error {
	return r.d.WriteSync(context.Background(), r.log, r.entry(kind, value))
}

// outcome is what r was told: kinds of records, with "!" where they are not in the log.
func (r *run) outcome() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	kinds := make([]string, len(r.told))
	for i, e := range r.told {
		if kinds[i] = e.Kind; r.errs[i] != nil {
			kinds[i] += "!"
		}
	}
	return strings.Join(kinds, " ")
}

// err is what became of the last record that r was told of.
func (r *run) err(t *testing.T) error {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	require.NotEmpty(t, r.errs)
	return r.errs[len(r.errs)-1]
}

// records are the records of a run as the journal shows them.
func (d *desk) records(t *testing.T, id string) (recs []runlog.Record) {
	t.Helper()
	for rec, err := range d.Records(t.Context(), id, 0) {
		require.NoError(t, err)
		recs = append(recs, rec)
	}
	return recs
}

// kinds are the kinds of a run's records, whose places it checks.
func (d *desk) kinds(t *testing.T, id string) string {
	t.Helper()
	var kinds []string
	for i, rec := range d.records(t, id) {
		require.Equal(t, int64(i), rec.Seq, "places have no gaps")
		kinds = append(kinds, rec.Kind)
	}
	return strings.Join(kinds, " ")
}

// quote is a JSON string of n bytes.
func quote(n int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", n-2) + `"`) }

// tap is a store that keeps what is appended to it, and has its test look first.
type tap struct {
	*runlog.Memory

	mu      sync.Mutex
	batches []batch
	before  func(n int, recs []runlog.Record) error // it is called before each Append; n counts from 0; nil: nothing is
}

// batch is one call of Append.
type batch struct {
	recs []runlog.Record
	at   time.Time
	ctx  context.Context //nolint:containedctx // it is looked at
}

func newTap() *tap { return &tap{Memory: runlog.NewMemory()} }

// Append implements runlog.Store.
func (s *tap) Append(ctx context.Context, recs []runlog.Record) error {
	s.mu.Lock()
	n, before := len(s.batches), s.before
	s.batches = append(s.batches, batch{slices.Clone(recs), time.Now(), ctx})
	s.mu.Unlock()
	if before != nil {
		if err := before(n, recs); err != nil {
			return err
		}
	}
	return s.Memory.Append(ctx, recs)
}

// appended is what each call of Append had: runs and kinds.
func (s *tap) appended() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.batches {
		var recs []string
		for _, rec := range b.recs {
			recs = append(recs, fmt.Sprint(rec.Run, " ", rec.Kind))
		}
		all = append(all, strings.Join(recs, ", "))
	}
	return all
}

// hold has the next Append wait until the returned function is called.
func (s *tap) hold() (release func()) {
	synctest.Wait() // no goroutine commits any more
	held := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	from := len(s.batches)
	s.before = func(n int, _ []runlog.Record) error {
		if n == from {
			<-held
		}
		return nil
	}
	return func() {
		close(held)
		synctest.Wait()
	}
}

// bubble runs tests, each in a bubble of its own.
func bubble(t *testing.T, tests map[string]func(*testing.T)) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
}

// both runs a test with a store and without.
func both(t *testing.T, test func(t *testing.T, d *desk)) {
	t.Helper()
	for name, store := range map[string]func() runlog.Store{
		"with a store":    func() runlog.Store { return newTap() },
		"without a store": func() runlog.Store { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, newDesk(t, store())) })
		})
	}
}

// WriteSync writes e and waits until it is committed.
func (d *desk) WriteSync(ctx context.Context, l *journal.Log, e *journal.Entry) error {
	d.Expect(e)
	return d.Await(ctx, e, d.Write(l, e))
}
